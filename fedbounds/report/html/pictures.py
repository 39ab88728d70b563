"""Which pictures a report shows, and beside which claim."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from fedbounds.engine.processes import in_processes
from fedbounds.report.figures.line_styles import READING_STYLES, Lines
from fedbounds.study.result import Result
from fedbounds.study.store import RunSeries
from fedbounds.theory.claim import Claim

Drawn = Sequence[RunSeries]

# The scopes over which both sides of a claim are drawn.
DRAWN = ("horizon", "step")


@dataclass(frozen=True)
class Picture:
    """One picture: its SVG and the words below it."""

    svg: Markup
    caption: str


def all_pictures(claims: Iterable[Claim], result: Result, drawn: Drawn) -> tuple[list[Picture], list[Picture | None]]:
    """(`run_pictures`, `claim_picture` of each claim), side by side."""

    tasks: list[Callable[[], Any]] = [partial(run_pictures, result, drawn)]
    tasks += [partial(claim_picture, f"p{k}", claim, result, drawn) for k, claim in enumerate(claims)]
    of_runs, *of_claims = in_processes(tasks)
    return of_runs, of_claims


def claim_picture(name: str, claim: Claim, result: Result, drawn: Drawn) -> Picture | None:
    """Both sides of a claim over time, one panel a weighting; None where no run has them.

    ``name`` begins every id in the picture, so a short one keeps the page small.
    """
    from fedbounds.report.figures import study_figures

    values = {reading for run in drawn for key, reading in run.sides if key == claim.key}
    if not values or claim.scope not in DRAWN:
        return None
    lines = styles(claim, values)
    if claim.scope == "horizon":
        caption = (
            f"{claim.title}: what was measured (black, with its simultaneous band) and the right side of "
            "the claim. The distance between them is how loose it is on this run."
        )
        return _picture(name, caption, lambda: study_figures.bounds_figure(result, drawn, lines))
    caption = (
        f"{claim.title}: left side over right side at each step, with the band of the left side. "
        "Above 1 the claim is violated; far below 1 it is loose."
    )
    return _picture(name, caption, lambda: study_figures.ratio_figure(result, drawn, lines))


def styles(claim: Claim, readings: Collection[str]) -> Lines:
    order = [reading for reading in claim.readings if reading in readings]
    return {(claim.key, name): (name, READING_STYLES.get(name, READING_STYLES["sync"])) for name in order}


def run_pictures(result: Result, drawn: Drawn) -> list[Picture]:
    """The pictures that are about the run rather than about a claim."""
    from fedbounds.report.figures import study_figures

    wanted: dict[str, tuple[str, Callable[[Result, Drawn], Any]]] = {
        "skew": (
            "The weighting skew along the run, between the extremes that the bounds use.",
            study_figures.skew_figure,
        ),
        "weights": ("How far each client's weight was from its share p.", study_figures.weights_figure),
        "participation": (
            "Who took part: the mean weight of each client in each round.",
            study_figures.participation_figure,
        ),
    }
    return [
        _picture(f"run-{name[0]}", caption, lambda build=build: build(result, drawn))  # type: ignore[misc]
        for name, (caption, build) in wanted.items()
    ]


def _picture(name: str, caption: str, build: Callable[[], Any]) -> Picture:
    from fedbounds.report.figures import files

    return Picture(inline(files.svg(build), name, caption), caption)


# Black and white of a picture are the page's ink and paper, in its light and in its dark theme.
THEME = {"#000000": "var(--ink)", "#ffffff": "var(--paper)"}
PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
# The date and the style sheet, which would reach beyond the picture.
EXTRAS = re.compile(r"\s*<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", re.DOTALL)
# A tenth of a point cannot be seen.
COORDINATE = re.compile(r"-?\d+\.\d{2,}")
PATH = re.compile(r'(?<= [dxy]=")[^"]*(?=")|(?<= points=")[^"]*(?=")|(?<=translate\()[^)]*(?=\))')
ID = re.compile(r' id="([^"]*)"')
REFERENCE = re.compile(r'(href="#|url\(#)([^")]*)')
ROOT = re.compile(r'<svg [^>]*?viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


def inline(drawn: str, name: str, description: str) -> Markup:
    """An SVG document as an element of a page: every id begins with ``name``, which no other picture may have."""
    body = EXTRAS.sub("", PROLOGUE.sub("", drawn, count=1)).replace("xlink:href", "href")
    body = _renamed(body, name)
    body = PATH.sub(lambda result: COORDINATE.sub(_rounded, " ".join(result[0].split())), body)
    for colour, variable in THEME.items():
        body = re.sub(rf"(fill|stroke): {colour}", rf"\1: {variable}", body)
    width, height = ROOT.search(body).groups()  # type: ignore[union-attr]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(description)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    )
    return Markup(re.sub(r">\s+<", "><", ROOT.sub(head, body, count=1)))


def _renamed(body: str, name: str) -> str:
    """Short ids of the picture's own for what is referred to; what is not needs none."""
    used = dict.fromkeys(result[2] for result in REFERENCE.finditer(body))
    short = {old: f"{name}-{k}" for k, old in enumerate(used)}
    body = ID.sub(lambda result: f' id="{short[result[1]]}"' if result[1] in short else "", body)
    return REFERENCE.sub(lambda result: result[1] + short[result[2]], body)


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")
