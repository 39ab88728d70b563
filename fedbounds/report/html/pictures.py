"""Which pictures a report shows, and beside which claim."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote

from markupsafe import Markup
from matplotlib.figure import Figure

from fedbounds.engine.parallel import in_processes
from fedbounds.report.figures import files, study_figures
from fedbounds.report.figures.styles import READING_STYLES
from fedbounds.study.result import Result
from fedbounds.study.run_series import RunSeries
from fedbounds.theory.claim import Claim

Drawn = Sequence[RunSeries]
# Characters of a picture that stand as they are in an address of data, and in an attribute.
UNQUOTED = " !$()*+,-./:;=?@_~"
# The scopes over which both sides of a claim are drawn: how, and what the picture shows.
OF_CLAIM = {
    "horizon": (
        study_figures.bounds_figure,
        "what was measured (black, with its simultaneous band) and the right side of the claim. The distance between "
        "them is how loose it is on this run.",
    ),
    "step": (
        study_figures.ratio_figure,
        "left side over right side at each step, with the band of the left side. Above 1 the claim is violated; far "
        "below 1 it is loose.",
    ),
}
OF_RUN = ((study_figures.skew_figure, "The weighting skew along the run, between the extremes that the bounds use."),)


@dataclass(frozen=True)
class Picture:
    """A picture that a page carries in itself, and the words below it."""

    image: Markup
    caption: str


def picture(caption: str, build: Callable[[], Figure]) -> Picture:
    """The figure that ``build`` makes, as an image in a page."""
    data = quote(files.svg(build), safe=UNQUOTED)
    return Picture(Markup('<img alt="{}" src="data:image/svg+xml,{}">').format(caption, data), caption)


def all_pictures(claims: Iterable[Claim], result: Result, drawn: Drawn) -> tuple[list[Picture], list[Picture | None]]:
    """The pictures of the run, and that of each claim, side by side."""
    tasks: list[Callable[[], Picture | None]] = [partial(claim_picture, claim, result, drawn) for claim in claims]
    of_run = in_processes([partial(picture, caption, partial(build, result, drawn)) for build, caption in OF_RUN])
    return of_run, in_processes(tasks)


def claim_picture(claim: Claim, result: Result, drawn: Drawn) -> Picture | None:
    """Both sides of a claim over time, one panel a weighting; None where no run has them."""
    drawn_readings = {reading for run in drawn for key, reading in run.sides if key == claim.key}
    if not drawn_readings or claim.scope not in OF_CLAIM:
        return None
    build, words = OF_CLAIM[claim.scope]
    styles = {
        name: READING_STYLES.get(name, READING_STYLES["sync"]) for name in claim.readings if name in drawn_readings
    }
    lines = {(claim.key, name): (name, style) for name, style in styles.items()}
    return picture(f"{claim.title}: {words}", partial(build, result, drawn, lines))
