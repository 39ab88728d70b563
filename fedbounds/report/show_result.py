"""How a result is shown outside the terminal: as HTML for a notebook, as LaTeX, and in a picture."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.errors import of_kind, reject
from fedbounds.plugins import nearest
from fedbounds.referee.trial import Trial
from fedbounds.report import study_figures
from fedbounds.report import trial_text as trials
from fedbounds.report.check_text import check_blocks
from fedbounds.report.figure_styles import Plot
from fedbounds.report.html_pages import notebook, write_page
from fedbounds.report.number_format import number
from fedbounds.report.table import Block, Cell, Phrase, Table
from fedbounds.report.verdict_tables import ledger_table
from fedbounds.study import run_series
from fedbounds.study.ledger import Line, ledger_lines
from fedbounds.study.result import Result
from fedbounds.study.result_table import Findings, Tabled
from fedbounds.theory.verdict import Status


def to_html(result: Tabled) -> str:
    """A result as an HTML fragment, for notebooks: of a study what `check` shows first.

    >>> to_html(refute("rate")).startswith("<div>")
    True
    """
    return notebook(_blocks(result))


def report(result: Tabled, out: str | Path) -> Path:
    """Write a study as its page, with the grounds of every verdict, anything else as its table."""
    if not isinstance(result, Result):
        return io.write_text(Path(out), to_html(result))
    lines = ledger_lines(result.claims, result.verdicts)
    return write_page(result, lines, run_series.series(result), Path(out))


def save(result: Result, folder: str | Path) -> Path:
    """Write a study with its arrays into a folder."""
    return run_series.write_study(result, run_series.series(result), folder)


def _blocks(result: Tabled) -> Sequence[Block]:
    items = _items(result)
    if isinstance(result, Result):
        return check_blocks(result, ledger_lines(result.claims, result.verdicts))
    if items and isinstance(items[0], Trial):
        return ["\n".join(trials.verdict(item)) for item in items]
    return [_table(result)]


def _items(result: Tabled) -> tuple[Any, ...]:
    """The items of findings; a trial is one by itself."""
    of_kind("what is shown", result, Tabled, "the result of a question")
    return result.items if isinstance(result, Findings) else (result,) if isinstance(result, Trial) else ()


def _table(result: Tabled) -> Table:
    """A result as one table: of lines of the ledger by kind of evidence, else its rows without empty columns."""
    items = result.items if isinstance(result, Findings) else ()
    if items and isinstance(items[0], Line):
        return ledger_table(items)
    rows = result.rows()
    head = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table.of(head, [[_entry(name, row.get(name)) for name in head] for row in rows]).without_empty()


def _entry(name: str, value: Any) -> Cell:
    if value is None or value == "":
        return Cell()
    status = Status(value) if name == "status" else None
    return Cell((Phrase(number(value) if isinstance(value, float) else str(value), status),))


def to_latex(result: Tabled) -> str:
    """A result in LaTeX, a table (booktabs).

    >>> "tabular" in to_latex(refute("rate"))
    True
    """
    return _table(result).to_latex()


def plot(result: Tabled, kind: str = "") -> Plot:
    """A picture of a study; of nothing else is there one.

    ``kind`` is bounds (the default), one-step or skew, which need a study of this process.

    >>> plot(check(rounds=5))
    Plot: .save(PATH) writes it as PNG and SVG, .build() is the figure
    """
    if not isinstance(result, Result):
        raise reject("what is drawn must be a study", type(result).__name__, "show the table instead")
    if kind and kind not in study_figures.FIGURES:
        raise nearest("picture", kind, study_figures.FIGURES)
    return Plot(partial(study_figures.picture, kind or "bounds", result, run_series.series(result), result.claims))
