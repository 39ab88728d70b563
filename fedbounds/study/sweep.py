"""Sweeps: every cell of a grid examined by ``check``, on all cores, each kept as it ends.

A TOML file has the settings of every cell, and a list for every axis of the grid:

    [base]
    rounds = 200
    [grid]                      # every combination is a cell
    data = ["quadratics:0", "quadratics:1"]
    weightings = [["fedavg", "fedmax"], "fedsoftmax:1"]

A setting that is itself a list (weightings, claims, readings, p, plugins) takes one list a cell; a text alone is a
list of one. A finished cell is a file of JSON, written whole or not at all; the same call continues after any end.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedbounds import io
from fedbounds.errors import DivergedError, InputError, of_kind, quoted, readable, reject, whole
from fedbounds.model import Progress
from fedbounds.plugins import load_file, nearest
from fedbounds.study import parallel
from fedbounds.study.objects_from_settings import name_checks
from fedbounds.study.result_table import Tabled
from fedbounds.study.settings import NAMES, Settings, checked
from fedbounds.theory.verdict import finite_or_none

if TYPE_CHECKING:
    from fedbounds.study.result import Result


# The folder of the finished cells.
CELLS = "cells"
SECTIONS = ("base", "grid")
# More cells than this is a slip of the pen: a table of millions of rows, and weeks of computing.
MAX_CELLS = 1_000_000
# No study is longer; keys of keys take a time that grows with their square, some seconds for so many.
LONGEST = 2**15


@dataclass(frozen=True)
class Cell:
    """One ``check(**settings)``; ``settings`` holds every field of `Settings`, ``key`` names them canonically."""

    key: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class CellResult:
    """A computed cell: its settings and a row of `MEASURED` a verdict, or the message of its failure.

    ``version`` is that of fedbounds, which a sweep is not continued with another one of.
    """

    settings: dict[str, Any]
    rows: tuple[dict[str, str | int | float | None], ...] = ()
    message: str | None = None
    version: str = metadata.version("fedbounds")


# What is measured: of a verdict, and of the run and the problem that it is about.
OF_VERDICT = ("claim", "reading", "evidence", "status", "margin", "tightness", "worst_t", "detail")
OF_RUN = ("weighting", "rho_bar", "rho_bar_sync", "rho_tilde", "speed", "error")
MEASURED = (
    *("weighting", "claim", "reading", "evidence", "status", "margin", "tightness", "worst_t"),
    *("rho_bar", "rho_bar_sync", "rho_tilde", "N", "d", "L", "mu", "kappa", "Gamma", "speed", "error"),
    *("gap_last", "floor_low", "floor_high", "floor", "engine_used", "detail"),
)
COLUMNS = ("cell", *NAMES, "number", *MEASURED, "message")


class Summary(NamedTuple):
    """What a run of a sweep did: cells of the study, those computed now, and those that failed (now or before)."""

    total: int
    computed: int
    failed: int


NOTHING = Summary(0, 0, 0)


@dataclass(frozen=True, repr=False)
class SweepResult(Tabled):
    """The finished cells, key -> cell in the order of the grid; and what the last run did."""

    cells: dict[str, CellResult]
    summary: Summary = NOTHING

    def rows(self) -> list[dict[str, Any]]:
        """The tidy table without timings: a row a verdict; a failed cell is one row with a ``message``."""
        return [
            dict.fromkeys(COLUMNS) | {"cell": key, "message": cell.message, **_flat(cell), **row}
            for key, cell in self.cells.items()
            for row in [{**row, "number": number} for number, row in enumerate(cell.rows)] or [{}]
        ]

    @property
    def counts(self) -> Counter[tuple[Any, ...]]:
        """(claim, reading, evidence, status) -> how many verdicts."""
        names = ("claim", "reading", "evidence", "status")
        return Counter(tuple(row[name] for name in names) for cell in self.cells.values() for row in cell.rows)

    @property
    def failures(self) -> list[tuple[str, int]]:
        """The messages of failed cells with how many have them, the commonest first."""
        messages = Counter(cell.message for cell in self.cells.values() if cell.message is not None)
        return sorted(messages.items(), key=lambda item: (-item[1], item[0]))


def read_table(folder: str | Path, keys: Sequence[str] | None = None) -> SweepResult:
    """The cells in ``folder``, also while a sweep runs or after it was killed; ``keys``: these, in this order."""
    if not (Path(folder) / CELLS).is_dir():
        raise reject("a folder must hold a sweep", str(folder), f"run fedbounds sweep STUDY --out {folder} first")
    cells = cells_in(Path(folder))
    return SweepResult(cells if keys is None else {key: cells[key] for key in keys if key in cells})


def cells_in(folder: Path) -> dict[str, CellResult]:
    """The finished cells by their keys, each checked against its type: a file may come from anybody."""
    cells = {}
    for path in sorted((folder / CELLS).glob("*.json")):
        cells[path.stem] = cell = io.shaped(io.read_json(path), CellResult, f"{path}")
        if any(set(row) != set(MEASURED) for row in cell.rows):
            raise reject(f"{path} must have the columns of a sweep", "others", "compute it again in another folder")
        Settings.of(cell.settings)
    return cells


def keep(folder: Path, key: str, cell: CellResult) -> None:
    """Write a finished cell: all of it or, whatever happens, nothing."""
    io.write_json(folder / CELLS / f"{key}.json", io.plain(cell))


def _flat(cell: CellResult) -> dict[str, Any]:
    """The settings of a cell as columns: a list is its JSON."""
    given = {name: cell.settings.get(name) for name in NAMES}
    return {
        name: json.dumps(value, separators=(",", ":"), ensure_ascii=False) if isinstance(value, list) else value
        for name, value in given.items()
    }


def sweep(
    study: str | Path | tuple[Cell, ...] = "",
    out: str | Path | None = None,
    *,
    jobs: int = -1,
    progress: Progress | None = None,
    compute: Callable[[Cell], CellResult] | None = None,
) -> SweepResult:
    """Examine every cell of the grid in ``study`` (a TOML file) and keep the verdicts in ``out``.

    The same call continues a sweep that was stopped, and computes cells that failed again. Each cell is written as it
    finishes. ``jobs``: processes (-1: one a core); ``compute`` replaces ``check`` (a picklable function).
    Writes a file a cell, and sweep.csv. Errors: InputError for a folder that cannot be written or a full disk.

    >>> print(Path("grid.toml").read_text())
    base = {problem = "quadratic", claims = "lemma-1", weightings = "fedavg", rounds = 2, replicates = 8}
    grid = {tau = [1, 2]}
    >>> len(sweep("grid.toml", "swept", jobs=1).rows())
    2
    """
    folder = Path(of_kind("the output of a sweep", out, (str, Path), "the path of a folder"))
    whole("jobs", jobs, -1)
    cells = study if isinstance(study, tuple) else read_grid(study)
    with io.locked(folder):
        before = cells_in(folder)
        for cell in before.values():
            if cell.version != CellResult.version:
                received = f"{folder} was computed by fedbounds {cell.version}"
                raise reject(received, f"version {CellResult.version}", "use another folder for --out")
        left = [cell for cell in cells if cell.key not in before or before[cell.key].message is not None]
        done = len(cells) - len(left)
        tell = progress or (lambda *_: None)
        tell("cells", done, len(cells))
        # Workers compute and this process alone writes.
        with contextlib.closing(parallel.as_completed(compute or compute_cell, left, jobs)) as outcomes:
            for k, outcome in outcomes:
                died = isinstance(outcome, parallel.Died)
                keep(folder, left[k].key, CellResult(left[k].settings, message=str(outcome)) if died else outcome)
                done += 1
                tell("cells", done, len(cells))
    result = read_table(folder, [cell.key for cell in cells])
    result.save(folder / "sweep.csv")
    return replace(result, summary=Summary(len(cells), len(left), sum(count for _, count in result.failures)))


def compute_cell(cell: Cell) -> CellResult:
    """``check`` on the settings of a cell; whatever goes wrong becomes the result's message."""
    from threadpoolctl import threadpool_limits

    try:
        from fedbounds.study.run_study import resolve, run_condensed

        # Sums of BLAS depend on its number of threads in the last bits; processes use the cores already.
        with threadpool_limits(1):
            request = resolve(cell.settings)
            result, gaps = run_condensed(request, lambda run: float(run.trajectory.paths["alpha"].gap[:, -1].mean()))
            return CellResult(cell.settings, measured(result, gaps))
    except (InputError, DivergedError) as wrong:
        return CellResult(cell.settings, message=str(wrong))
    except Exception as wrong:
        return CellResult(cell.settings, message=readable(f"{type(wrong).__name__}: {wrong}"))


def measured(result: Result, last_gaps: Sequence[float]) -> tuple[dict[str, Any], ...]:
    """One row a weighting, claim, reading and evidence; ``last_gaps`` are the mean gaps at the end of each run."""
    problem, rows, none = result.problem, [], dict.fromkeys(MEASURED)
    of_problem = {"N": problem.N, "d": problem.d, "L": problem.L, "mu": problem.mu, "kappa": problem.L / problem.mu}
    of_problem["Gamma"] = problem.Gamma.value
    for run, last in zip(result.runs, last_gaps, strict=True):
        of_run = {name: getattr(run, name) for name in OF_RUN} | {"engine_used": run.engine, "gap_last": last}
        if run.decay is not None:
            of_run |= {name: getattr(run.decay, name) for name in ("floor_low", "floor_high")}
            of_run["floor"] = run.decay.decision
        for verdict in run.verdicts:
            row = none | of_problem | of_run | {name: getattr(verdict, name) for name in OF_VERDICT}
            rows.append({name: finite_or_none(v) if type(v) is float else v for name, v in row.items()})
    return tuple(rows)


def settings_from(path: str | Path) -> dict[str, Any]:
    """The settings in a study file (TOML), a line each: keywords of `check`.

    InputError names the file, the setting and the nearest valid name.

    >>> files = Path("study.toml").write_text("tau = 3")
    >>> settings_from("study.toml")
    {'tau': 3}
    """
    with _named(path):
        table = _table(io.read_bytes(path))
        if not table:
            raise reject("a study must hold settings", "none", "write them one a line, as tau = 5")
        return {name: checked(name, value) for name, value in table.items()}


def read_grid(path: str | Path) -> tuple[Cell, ...]:
    """The cells of the sweep in a TOML file, in the order of its grid; InputError names file and setting."""
    with _named(path):
        text = io.read_bytes(path)
        if not any(_table(text).values()):
            raise reject("a sweep must hold a study", "none", "write settings under [base] and lists under [grid]")
        return parse_grid(text)


def parse_grid(text: str | bytes) -> tuple[Cell, ...]:
    """The cells of the sweep described by TOML ``text``."""
    axes = _axes(_table(text))
    count = math.prod(map(len, axes.values()))
    if count > MAX_CELLS:
        raise reject(f"a sweep takes at most {MAX_CELLS} cells", count, "make the grid smaller")
    return tuple(_cell(dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values()))


def _cell(chosen: Mapping[str, Any]) -> Cell:
    """The cell of these settings; its key changes with any of them and with the text of a plug-in file."""
    settings = Settings(**chosen).to_json()
    plugins = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in settings["plugins"]]
    text = json.dumps([settings, plugins], sort_keys=True, allow_nan=False, separators=(",", ":"))
    return Cell(hashlib.sha256(text.encode()).hexdigest()[:32], settings)


@contextlib.contextmanager
def _named(path: str | Path) -> Iterator[None]:
    """Errors inside name the file."""
    of_kind("a study", path, (str, Path), "the path of a TOML file")
    try:
        yield
    except InputError as wrong:
        raise InputError(f"{Path(path).name}: {wrong}") from None


def _table(text: str | bytes) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise reject(f"a study must have at most {LONGEST} characters", len(text), "make it shorter")
    try:
        return tomllib.loads(text if isinstance(text, str) else text.decode())
    except (RecursionError, ValueError) as wrong:  # also brackets without end, or an integer of thousands of digits
        raise reject("a study must be valid TOML", wrong, "mend it") from None


def _axes(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Field -> its values, one for a fixed setting; names that no cell could use are refused before any work."""
    for section, value in table.items():
        if section not in SECTIONS:
            raise nearest("section", section, SECTIONS)
        if not isinstance(value, dict):
            raise reject(f"{section} must be a table", quoted(value), "see the documentation of sweeps")
    base, grid = (table.get(section, {}) for section in SECTIONS)
    axes: dict[str, list[Any]] = {name: [checked(name, value)] for name, value in base.items()}
    for name, values in grid.items():
        if name in base:
            raise reject(f"{name} must be fixed or vary", "both", "keep it in [base] or in [grid]")
        if not isinstance(values, list) or not values:
            raise reject(f"{name} in [grid] needs a list of values", quoted(values), "write [VALUE, ...]")
        axes[name] = [checked(name, value) for value in values]
        if len({json.dumps(value) for value in axes[name]}) < len(axes[name]):
            raise reject(f"{name} must list each value once", quoted(values), "remove the repetition")
    checks = name_checks([load_file(path) for path in itertools.chain.from_iterable(axes.get("plugins", ()))])
    for name in axes.keys() & checks.keys():
        for value in axes[name]:
            for part in value if isinstance(value, tuple) else (value,):
                checks[name](part)
    return axes
