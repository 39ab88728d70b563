"""A sweep as one page: its grid, a ledger of counts, a picture, what failed and how to repeat it."""

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from fedbounds import plugins
from fedbounds.errors import InputError, reject
from fedbounds.io import parse_json, shaped
from fedbounds.report.check_text import ranked
from fedbounds.report.html.mathml import prose
from fedbounds.report.html.page import render, setting
from fedbounds.report.html.pictures import Picture, inline
from fedbounds.report.number_format import times
from fedbounds.report.table import ORDER, Entry, Said, Table
from fedbounds.study.bounds import main_tightness
from fedbounds.study.settings import Settings
from fedbounds.study.sweep.lines import Series, axis, series
from fedbounds.study.sweep.table import SETTINGS, reading, verdicts
from fedbounds.theory.labels import LABELS, shown
from fedbounds.theory.verdict import Evidence, Status

# Failed cells listed one by one; a longer list says little, and the table holds every one.
LISTED = 200
# Settings that a picture sums up or draws as lines instead of having them as its axis.
SUMMED = ("seed", "weightings")
CAPTION = (
    "How many cells × weightings have each status; then the smallest bound / measured, below 1 if violated, and the "
    "weighting and cell where it occurs. A dash: this kind says nothing."
)
TIGHTEST = """
SELECT claim, reading, evidence, tightness, weighting, cell FROM (
    SELECT *, row_number() OVER (PARTITION BY claim, reading, evidence ORDER BY tightness, cell, number) AS place
    FROM verdicts WHERE tightness IS NOT NULL)
WHERE place = 1"""


def sweep_page(folder: Path, out: Path = Path("report.html")) -> str:
    """The report of the sweep in ``folder`` as HTML, self-contained; ``out`` is named in the command.

    Errors: InputError for a folder without a sweep or a table without cells.
    """
    with reading(folder) as connection:
        found = connection.execute("SELECT key, settings, message FROM cells ORDER BY key").fetchall()
        smallest = connection.execute(TIGHTEST).fetchall()
        version = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
        studies = connection.execute("SELECT value FROM meta WHERE name LIKE 'study %' ORDER BY rowid").fetchall()
    if not found:
        raise reject("a report needs a finished cell", f"the sweep {folder} without any", "run the sweep first")
    settings = {
        key: Settings.of(shaped(parse_json(text, "settings"), dict[str, Any], "settings")).to_json()
        for key, text, _ in found
    }
    axes = axes_of(list(settings.values()))
    ordered = sorted(found, key=lambda row: [place(settings[row[0]][name]) for name in axes])
    failed = [(described(settings[key], axes), message) for key, _, message in ordered if message is not None]
    words = [["sweep", "study.toml", "--out", str(folder)], ["report", str(folder), "--out", str(out)]]
    return render(
        "sweep.html.jinja",
        title=f"sweep of {len(found)} cells",
        total=len(found),
        axes=[(label, [setting_word(label, value) for value in values]) for label, values in axes.items()],
        ledger=counted(folder, smallest, settings, axes),
        picture=sweep_picture(folder, axes),
        failed=Table.of(("Cell", "Error"), failed[:LISTED], failed_words(len(failed), len(found))),
        failures=len(failed),
        studies=[text for (text,) in studies],
        command="\n".join(shlex.join(["fedbounds", *line]) for line in words),
        version=version[0] if version else "",
    )


def failed_words(failed: int, total: int) -> str:
    more = f"; the first {LISTED} are listed, and the table holds every one" if failed > LISTED else ""
    return f"{failed} of {total} cells failed{more}"


def counted(
    folder: Path,
    smallest: Sequence[tuple[Any, ...]],
    settings: Mapping[str, Mapping[str, Any]],
    axes: Mapping[str, Any],
) -> Table:
    """The ledger in the order of the registry: how often each status, and what TIGHTEST finds (``smallest``)."""
    counts = {(*key[:3], Status(key[3])): count for key, count in verdicts(folder).items()}
    least = {row[:3]: row[3:] for row in smallest}
    known = plugins.claims()
    order = {name: j for j, name in enumerate(known)}
    kinds = [kind for kind in Evidence if any(key[2] == kind for key in counts)]
    body = []
    for claim, named in sorted({key[:2] for key in counts}, key=lambda k: (order.get(k[0], len(order)), k)):
        title = prose(known[claim].title) if claim in known else Markup("")
        first = Said(Markup('{} <span class="quiet">{}</span>').format(claim, title))
        row = [Entry((first,), place=claim), Entry((Said(named),), place=named)]
        for kind in kinds:
            found = {status: counts.get((claim, named, kind, status), 0) for status in ORDER}
            said = [Said(f"{shown(status, kind)} {count}", status) for status, count in found.items() if count]
            ratio, weighting, cell = least.get((claim, named, str(kind)), (None, "", ""))
            if times(ratio):
                said.append(Said(times(ratio), None, placed(weighting, settings[cell], axes)))
            row.append(ranked(said, kind))
        body.append(row)
    return Table.of(("Claim", "Reading", *(LABELS[kind] for kind in kinds)), body, CAPTION)


def described(cell: Mapping[str, Any], axes: Mapping[str, Any]) -> str:
    return "; ".join(f"{name.replace('_', ' ')} {setting_word(name, cell[name])}" for name in axes)


def placed(weighting: str, cell: Mapping[str, Any], axes: Mapping[str, Any]) -> str:
    """A weighting in a cell, which a cell of that weighting alone need not name twice."""
    shown = [name for name in axes if name != "weightings" or cell[name] != [weighting]]
    return "; ".join(filter(None, [weighting, described(cell, dict.fromkeys(shown))]))


def setting_word(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return "full" if name == "batch" and value is None else setting(value)


def sweep_picture(folder: Path, axes: Mapping[str, Sequence[Any]]) -> Picture | None:
    """Tightness of the corollary, and the floor, against the first numeric axis; None where nothing can be drawn."""
    from fedbounds.report.figures import files
    from fedbounds.report.sweep_plot import panels_figure

    name = next((name for name, values in axes.items() if name not in SUMMED and _numeric(values)), None)
    if name is None:
        return None
    panels = {
        "tightness": _lines(folder, name, "tightness", main_tightness()),
        "floor": _lines(folder, name, "floor", {}),
    }
    drawn = {quantity: lines for quantity, lines in panels.items() if lines}
    if not drawn:
        return None
    said = {
        "tightness": "bound over measured of the repaired corollary (below 1: violated)",
        "floor": "the mean gap at the end with the interval of its floor",
    }
    caption = (
        f"Against {name.replace('_', ' ')}, a line a weighting: {'; '.join(said[quantity] for quantity in drawn)}. "
        "A point is the median over the other axes and the seeds; a bar of tightness is its range."
    )
    return Picture(inline(files.svg(partial(panels_figure, drawn, name)), "sweep", caption), caption)


def _lines(folder: Path, x: str, y: str, where: Mapping[str, str]) -> list[Series]:
    try:
        return series(folder, x, y, "weighting", where)
    except InputError:
        # Nothing matches: a sweep without the corollary, or one whose cells all failed.
        return []


def _numeric(values: Sequence[Any]) -> bool:
    """Whether a setting lies on a numeric axis: numbers, or texts such as quadratics:0.5."""
    known = [value for value in values if value is not None]
    if len(known) < 2 or any(isinstance(value, bool | list) for value in known):
        return False
    return not axis(known)[1]


def axes_of(cells: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Setting -> its values in order, of those that take several among the settings of ``cells``."""
    found = {name: {_written(cell[name]): cell[name] for cell in cells} for name in SETTINGS}
    return {name: sorted(values.values(), key=place) for name, values in found.items() if len(values) > 1}


def place(value: Any) -> tuple[bool, float, str]:
    """Sorts numbers by size, before everything else by its text."""
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, _written(value)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
