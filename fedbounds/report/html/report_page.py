"""A study or a sweep as one HTML page: what `fedbounds report` writes."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from fedbounds import io
from fedbounds.errors import of_kind, reject
from fedbounds.plugins import PluginFile, load_plugin
from fedbounds.report.html.study_sections import PageBlock, page, setting
from fedbounds.report.html.templates import blocks_page
from fedbounds.report.number_format import counted
from fedbounds.report.table import ORDER, Bullets, Cell, Code, Heading, Phrase, Table
from fedbounds.study import saved_study
from fedbounds.study.ledger import Line, claims_of, ledger_lines
from fedbounds.study.result import Result
from fedbounds.study.sweep_table import TABLE, Stored, read_table
from fedbounds.theory.verdict import Evidence, shown


@dataclass(frozen=True)
class Page:
    """A self-contained page, the ledger on it (none of a sweep), and the saved plug-ins that were not run."""

    html: str
    lines: tuple[Line, ...] = ()
    not_run: tuple[PluginFile, ...] = ()

    def save(self, path: str | Path) -> Path:
        return io.write_text(path, self.html)

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Page: {len(self.html.encode()) / 1e6:.1f} MB of HTML; .save(PATH) writes it"


def report(study: Result | str | Path, out: str | Path | None = None, *, trust_plugins: bool = False) -> Page:
    """One page of a study, or of a folder that ``check --out`` or ``sweep --out`` wrote; ``out``: where to write it.

    The plug-ins that a saved study holds are run only if ``trust_plugins``; their claims are left out otherwise.
    Raises InputError where the folder holds neither a study nor a sweep.

    >>> done = sweep("grid.toml", "swept", jobs=1)
    >>> report("swept", out="report.html")
    Page: 0.0 MB of HTML; .save(PATH) writes it
    """
    of_kind("a study", study, (Result, str, Path), "a Result, or the folder of one")
    name = Path("report.html") if out is None else Path(out)
    io.require_writable(name.parent) if out is not None else None
    made = _swept(study, name) or _studied(study, name, trust_plugins)
    if out is not None:
        made.save(name)
    return made


def _swept(study: Result | str | Path, name: Path) -> Page | None:
    """The page of a sweep, None for a study."""
    if isinstance(study, Result):
        return None
    folder = Path(study)
    if (folder / TABLE).is_file():
        return Page(sweep_page(folder, name))
    if not (folder / saved_study.RESULT).is_file():
        remedy = "give a folder that fedbounds check --out or fedbounds sweep --out wrote"
        raise reject("a study or a sweep must exist in the folder", str(folder), remedy)
    return None


def _studied(study: Result | str | Path, name: Path, trust: bool) -> Page:
    """The page of a study, made of a result of this process or of the files of a saved one."""
    saved = not isinstance(study, Result)
    result, drawn = saved_study.read(study) if not isinstance(study, Result) else (study, saved_study.series(study))
    extra = [load_plugin(file) for file in result.plugin_files] if trust and saved else []
    lines = ledger_lines(claims_of(result, extra), result.verdicts)
    html = page(result, lines, drawn, command(result, name))
    return Page(html, tuple(lines), result.plugin_files if saved and not trust else ())


def command(result: Result, out: Path = Path("report.html")) -> str:
    """The command line that repeats a study, a flag a line, or nothing where a part of it was made in Python."""
    if result.objects:
        return ""
    return " \\\n  ".join(["fedbounds report", *map(shlex.join, [*result.settings.words(), ["--out", str(out)]])])


HEAD = ("claim", "reading", "evidence", "cells x weightings")


def sweep_page(folder: Path, out: Path = Path("report.html")) -> str:
    """The report of the sweep in ``folder`` as HTML, self-contained; ``out`` is named in the command.

    Errors: InputError for a folder without a sweep or a table without cells.
    """
    stored = read_table(folder)
    if not stored.cells:
        raise reject("a report needs a finished cell", f"the sweep {folder} without any", "run the sweep first")
    words = [["sweep", "study.toml", "--out", str(folder)], ["report", str(folder), "--out", str(out)]]
    failures = sum(count for _, count in stored.failures)
    varying = {name.replace("_", " "): values for name, values in stored.varying().items()}
    over = f" over {', '.join(f'{name} ({len(values)})' for name, values in varying.items())}" if varying else ""
    axes = [f"{name}: {'; '.join(map(setting, values))}" for name, values in varying.items()]
    failed = Table.of(("Error", "cells"), stored.failures, "Failed cells")
    lead = f"{counted(len(stored.cells), 'cell')}{over}{f'; {failures} failed' if failures else ''}"
    blocks: list[PageBlock] = [f"{lead}\nComputed by fedbounds {stored.version}." if stored.version else lead]
    blocks += [Bullets("Varied", tuple(axes))] if axes else []
    blocks += [Heading("The ledger"), counts_table(stored)]
    blocks += [Heading("Failed cells"), failed] if failures else []
    blocks += [Heading("Do it again"), Code("\n".join(shlex.join(["fedbounds", *line]) for line in words))]
    blocks += ["Each of these in turn is study.toml; a setting that it does not name has its default."]
    blocks += map(Code, stored.studies)
    return blocks_page("Where in a grid of studies do these claims hold?", blocks)


def counts_table(stored: Stored) -> Table:
    """One row a claim, reading and evidence: how many verdicts of each status."""
    counts, rows = stored.counts, []
    for *about, kind in sorted({key[:3] for key in counts}):
        result = [(status, counts[(*about, kind, str(status))]) for status in ORDER]  # type: ignore[index]
        cell = Cell(
            tuple(
                Phrase(f"{shown(status, Evidence(kind))} {n}", status, on_run=Evidence(kind).on_run)
                for status, n in result
                if n
            )
        )
        rows.append([*about, kind, cell])
    return Table.of(HEAD, rows, "How many cells x weightings have each status")
