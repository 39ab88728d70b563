"""The table of a sweep: one SQLite file, a row of JSON a finished cell, and what is read from it."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.study.result_table import Tabled
from fedbounds.study.settings import NAMES, Settings
from fedbounds.study.study_file import Grid
from fedbounds.theory.verdict import Evidence, Status

TABLE = "sweep.sqlite"
# The layout of the table; it changes when a reader of the old one would misunderstand the new one.
FORMAT = 3
# Seconds to wait for a reader of the table (a picture being drawn) to finish.
PATIENCE = 30.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One verdict of a cell, with what was measured of its run."""

    weighting: str
    claim: str
    reading: str
    evidence: Evidence
    status: Status
    margin: float | None = None
    tightness: float | None = None
    worst_t: int | None = None
    rho_bar: float | None = None
    rho_bar_sync: float | None = None
    rho_tilde: float | None = None
    N: int | None = None
    d: int | None = None
    L: float | None = None
    mu: float | None = None
    kappa: float | None = None
    Gamma: float | None = None
    speed: float | None = None
    error: float | None = None
    gap_last: float | None = None
    floor_low: float | None = None
    floor_high: float | None = None
    floor: str | None = None
    engine_used: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class CellResult:
    """A computed cell: its settings and what was measured, or the message of its failure."""

    settings: dict[str, Any]
    rows: tuple[Measured, ...] = ()
    message: str | None = None


MEASURED = tuple(item.name for item in fields(Measured))
COLUMNS = ("cell", *NAMES, "number", *MEASURED, "message")


class Summary(NamedTuple):
    """What a run of a sweep did: cells of the study, those computed now, and those that failed (now or before)."""

    total: int
    computed: int
    failed: int


NOTHING = Summary(0, 0, 0)


@dataclass(frozen=True, repr=False)
class SweepResult(Tabled):
    """What the table in ``folder`` holds: key -> cell in the order of their settings; and what the last run did."""

    folder: Path
    cells: dict[str, CellResult]
    summary: Summary = NOTHING

    def rows(self) -> list[dict[str, Any]]:
        """The tidy table without timings: a row a verdict; a failed cell is one row with a ``message``."""
        return [
            dict.fromkeys(COLUMNS) | {"cell": key, "message": cell.message, **_flat(cell), **row}
            for key, cell in self.cells.items()
            for row in [{**io.plain(row), "number": number} for number, row in enumerate(cell.rows)] or [{}]
        ]

    @property
    def counts(self) -> Counter[tuple[str, str, str, str]]:
        """(claim, reading, evidence, status) -> how many verdicts."""
        every = (row for cell in self.cells.values() for row in cell.rows)
        return Counter((row.claim, row.reading, str(row.evidence), str(row.status)) for row in every)

    @property
    def failures(self) -> list[tuple[str, int]]:
        """The messages of failed cells with how many have them, the commonest first."""
        messages = Counter(cell.message for cell in self.cells.values() if cell.message is not None)
        return sorted(messages.items(), key=lambda item: (-item[1], item[0]))

    def export(self, path: Path) -> Path:
        """Write the rows as CSV; neither the number of workers nor interruptions change its bytes."""
        text = StringIO(newline="")
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return io.write_text(path, text.getvalue())


def read_table(folder: str | Path, keys: Collection[str] | None = None) -> SweepResult:
    """The table in ``folder``, also while a sweep runs or after it was killed; ``keys``: of these cells alone."""
    path = Path(folder) / TABLE
    if not path.is_file():
        raise reject("a folder must hold a sweep", str(folder), f"run fedbounds sweep STUDY --out {folder} first")
    with opened(path) as table:
        _require_format(table)
        cells = cells_of(table, path)
    ordered = sorted(
        ((key, cell) for key, cell in cells.items() if keys is None or key in keys),
        key=lambda item: [*map(_order, _flat(item[1]).values())],
    )
    return SweepResult(Path(folder), dict(ordered))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The table at ``path``; what SQLite says of it is one sentence."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as table:
            # Committed cells survive a power cut, not only a killed process.
            table.execute("PRAGMA synchronous = FULL")
            yield table
    except (sqlite3.Error, UnicodeDecodeError) as wrong:  # its message may quote any bytes of the file
        remedy = "free some space or choose another folder; every cell finished before is kept"
        raise reject(f"{path} must be a table that can be read and written", f"{wrong}", remedy) from wrong


def prepare(table: sqlite3.Connection, path: Path, study: Grid) -> None:
    """A table of this version that names the study, for whoever wants to repeat it."""
    version = metadata.version("fedbounds")
    if table.execute("PRAGMA user_version").fetchone() == (0,):
        table.executescript(
            "BEGIN; CREATE TABLE meta (name TEXT, value TEXT, UNIQUE (name, value));"
            f"INSERT INTO meta VALUES ('version', '{version}');"
            f"CREATE TABLE cells (key TEXT PRIMARY KEY, result TEXT); PRAGMA user_version = {FORMAT}; COMMIT;"
        )
    _require_format(table)
    written_by = table.execute("SELECT value FROM meta WHERE name = 'version'").fetchall()
    if written_by != [(version,)]:
        received = f"{path} was computed by fedbounds {', '.join(str(value) for (value,) in written_by)}"
        raise reject(received, f"version {version}", "use another folder for --out")
    table.execute("INSERT OR IGNORE INTO meta VALUES ('study', ?)", (study.text,))


def _require_format(table: sqlite3.Connection) -> None:
    (version,) = table.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise sqlite3.DatabaseError(f"it has format {version}; this version reads format {FORMAT}")


def cells_of(table: sqlite3.Connection, path: Path) -> dict[str, CellResult]:
    """The cells by their keys, each checked against its type: a file may come from anybody."""
    cells, name = {}, f"a cell of {path}"
    for key, text in table.execute("SELECT key, result FROM cells ORDER BY key"):
        value = io.parse_json(text if isinstance(text, str) else "", name)
        cells[io.shaped(key, str, name)] = cell = io.shaped(value, CellResult, name)
        Settings.of(cell.settings)
    return cells


def keep(table: sqlite3.Connection, key: str, cell: CellResult) -> None:
    """Commit a finished cell: all of it or, whatever happens, nothing."""
    text = json.dumps(io.plain(cell), sort_keys=True, allow_nan=False)
    table.execute("INSERT OR REPLACE INTO cells VALUES (?, ?)", (key, text))


def _flat(cell: CellResult) -> dict[str, Any]:
    """The settings of a cell as columns: a list is its JSON, yes and no are 1 and 0."""
    columns: dict[str, Any] = {}
    for name in NAMES:
        value = cell.settings.get(name)
        value = json.dumps(value, separators=(",", ":"), ensure_ascii=False) if isinstance(value, list) else value
        columns[name] = int(value) if isinstance(value, bool) else value
    return columns


def _order(value: Any) -> tuple[int, float, str]:
    """Nothing before numbers, and these before texts."""
    number = isinstance(value, int | float)
    return (0 if value is None else 1 if number else 2), float(value) if number else 0.0, f"{value}"
