"""A sweep as one page: its grid, a ledger of counts, a picture, what failed and how to repeat it."""

import shlex
from functools import partial
from pathlib import Path

from fedbounds.errors import InputError, reject
from fedbounds.report.figures import files
from fedbounds.report.figures.sweep_figures import lines_of, panels_figure, positions_of
from fedbounds.report.html.page import render, setting
from fedbounds.report.html.pictures import Picture, inline
from fedbounds.report.table import ORDER, Cell, Phrase, Table
from fedbounds.study.bounds import main_tightness
from fedbounds.study.sweep.table import Stored, read_table
from fedbounds.theory.labels import shown
from fedbounds.theory.verdict import Evidence

# Settings that a picture sums up or draws as lines instead of having them as its axis.
SUMMED = ("seed", "weightings")
HEAD = ("claim", "reading", "evidence", "cells x weightings")
CAPTION = "Bound over measured of the repaired corollary, a line a weighting. A bar is the range over other settings."


def sweep_page(folder: Path, out: Path = Path("report.html")) -> str:
    """The report of the sweep in ``folder`` as HTML, self-contained; ``out`` is named in the command.

    Errors: InputError for a folder without a sweep or a table without cells.
    """
    stored = read_table(folder)
    if not stored.cells:
        raise reject("a report needs a finished cell", f"the sweep {folder} without any", "run the sweep first")
    words = [["sweep", "study.toml", "--out", str(folder)], ["report", str(folder), "--out", str(out)]]
    return render(
        "sweep.html.jinja",
        title=f"sweep of {len(stored.cells)} cells",
        total=len(stored.cells),
        axes=[(name, [setting(value) for value in values]) for name, values in stored.varying().items()],
        ledger=counts_table(stored),
        picture=_picture(stored),
        failed=Table.of(("Error", "cells"), stored.failures(), "Failed cells"),
        failures=sum(count for _, count in stored.failures()),
        studies=stored.studies,
        command="\n".join(shlex.join(["fedbounds", *line]) for line in words),
        version=stored.version,
    )


def counts_table(stored: Stored) -> Table:
    """One row a claim, reading and evidence: how many verdicts of each status."""
    counts, rows = stored.counts(), []
    for *about, kind in sorted({key[:3] for key in counts}):
        result = [(status, counts[(*about, kind, str(status))]) for status in ORDER]  # type: ignore[index]
        cell = Cell(tuple(Phrase(f"{shown(status, Evidence(kind))} {n}", status) for status, n in result if n))
        rows.append([*about, kind, cell])
    return Table.of(HEAD, rows, "How many cells x weightings have each status")


def _picture(stored: Stored) -> Picture | None:
    """Tightness of the main bound against the first numeric setting; None where nothing can be drawn."""
    for name, values in stored.varying().items():
        known = [value for value in values if value is not None]
        if name not in SUMMED and len(known) > 1 and not positions_of(known)[1]:
            try:
                drawn = {"tightness": lines_of(stored, name, where=main_tightness())}
            except InputError:
                return None  # a sweep without the main bound, or one whose cells all failed
            return Picture(inline(files.svg(partial(panels_figure, drawn, name)), "sweep", CAPTION), CAPTION)
    return None
