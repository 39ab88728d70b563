"""The table of a sweep: one SQLite file, a row of JSON a finished cell, and what is read from it."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.study.settings import Settings
from fedbounds.theory.verdict import Evidence, Status

TABLE = "sweep.sqlite"
# The layout of the table; it changes when a reader of the old one would misunderstand the new one.
FORMAT = 2
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
    """A computed cell: what was measured, or the message of its failure, and the wall-clock ``seconds``."""

    key: str
    settings: dict[str, Any]
    rows: tuple[Measured, ...] = ()
    message: str | None = None
    seconds: float = 0.0


SETTINGS = tuple(item.name for item in fields(Settings))
MEASURED = tuple(item.name for item in fields(Measured))
NUMBERS = tuple(item.name for item in fields(Measured) if str(item.type).startswith(("int", "float")))
COLUMNS = ("cell", *SETTINGS, "number", *MEASURED, "message")


class SweepTable:
    """The results of a sweep in a folder, open for writing by one process at a time.

    Errors: InputError for a folder that cannot be written, and for results of another ``version`` of this package.
    """

    def __init__(self, folder: str | Path, version: str) -> None:
        with contextlib.ExitStack() as opened:
            self.path = opened.enter_context(io.locked(folder)) / TABLE
            self._connection = opened.enter_context(_connected(self.path))
            with _explained(self.path):
                # Committed cells survive a power cut, not only a killed process.
                self._connection.execute("PRAGMA synchronous = FULL")
                if self._connection.execute("PRAGMA user_version").fetchone() == (0,):
                    self._connection.executescript(
                        "BEGIN; CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);"
                        "CREATE TABLE cells (key TEXT PRIMARY KEY, result TEXT);"
                        f"PRAGMA user_version = {FORMAT}; COMMIT;"
                    )
                _require_format(self._connection)
                self._keep("version", version)
                (result,) = self._connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
            if result != version:
                remedy = "use another folder for --out"
                raise reject(f"{self.path} was computed by fedbounds {result}", f"version {version}", remedy)
            self._opened = opened.pop_all()

    def __enter__(self) -> SweepTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _keep(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))

    def add_study(self, text: str) -> None:
        """Keep the TOML of a study whose cells this table gets, for whoever wants to repeat it."""
        with _explained(self.path):
            self._keep(f"study {hashlib.sha256(text.encode()).hexdigest()}", text)

    def add(self, result: CellResult) -> None:
        """Keep a finished cell: all of it or, whatever happens, nothing."""
        with _explained(self.path):
            row = result.key, json.dumps(io.plain(result), sort_keys=True, allow_nan=False)
            self._connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?)", row)

    def finished(self) -> dict[str, bool]:
        """Key -> whether the cell succeeded, for every cell in the table."""
        return {cell.key: cell.message is None for cell in _cells(self._connection, self.path)}


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    with _explained(path):
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    with contextlib.closing(connection):
        yield connection


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says about ``path`` into one sentence."""
    try:
        yield
    except (sqlite3.Error, TypeError, UnicodeDecodeError) as wrong:  # its message may quote any bytes of the file
        remedy = "free some space or choose another folder; every cell finished before is kept"
        raise reject(f"{path} must be a table that can be read and written", f"{wrong}", remedy) from wrong


def _require_format(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise sqlite3.DatabaseError(f"it has format {version}; this version reads format {FORMAT}")


def _cells(connection: sqlite3.Connection, path: Path) -> list[CellResult]:
    """The cells, each checked against its type: a file may come from anybody."""
    with _explained(path):
        texts = connection.execute("SELECT key, result FROM cells ORDER BY key").fetchall()
    values = [(key, io.parse_json(text if isinstance(text, str) else "", f"a cell of {path}")) for key, text in texts]
    cells = [(key, io.shaped(value, CellResult, f"a cell of {path}")) for key, value in values]
    for key, cell in cells:
        if key != cell.key:
            raise reject(f"a cell of {path} must have the key of its row", cell.key, "compute the sweep again")
        Settings.of(cell.settings)
    return [cell for _, cell in cells]


@dataclass(frozen=True)
class Stored:
    """What the table in a folder holds: its cells in the order of their settings, and the studies of them."""

    cells: tuple[CellResult, ...]
    studies: tuple[str, ...]
    version: str

    def rows(self) -> list[dict[str, Any]]:
        """The tidy table without timings: a row a verdict; a failed cell is one row with a ``message``."""
        return [
            dict.fromkeys(COLUMNS) | _flat(cell) | row | {"number": number if row else None}
            for cell in self.cells
            for number, row in enumerate([io.plain(row) for row in cell.rows] or [{}])
        ]

    def counts(self) -> Counter[tuple[str, str, str, str]]:
        """(claim, reading, evidence, status) -> how many verdicts."""
        every = (row for cell in self.cells for row in cell.rows)
        return Counter((row.claim, row.reading, str(row.evidence), str(row.status)) for row in every)

    def failures(self) -> list[tuple[str, int]]:
        """The messages of failed cells with how many have them, the commonest first."""
        messages = Counter(cell.message for cell in self.cells if cell.message is not None)
        return sorted(messages.items(), key=lambda item: (-item[1], item[0]))

    def varying(self) -> dict[str, list[Any]]:
        """Setting -> its values in order, of those that take several."""
        every = [_flat(cell) for cell in self.cells]
        values = {name: {_order(row[name]): row[name] for row in every} for name in SETTINGS}
        return {name: [of[key] for key in sorted(of)] for name, of in values.items() if len(of) > 1}


def read_table(folder: str | Path, keys: Collection[str] | None = None) -> Stored:
    """The table in ``folder``, also while a sweep runs or after it was killed; ``keys``: of these cells alone."""
    path = Path(folder) / TABLE
    if not path.is_file():
        raise reject("a folder must hold a sweep", str(folder), f"run fedbounds sweep STUDY --out {folder} first")
    with _connected(path) as connection:
        with _explained(path):
            _require_format(connection)
            meta = connection.execute("SELECT name, value FROM meta ORDER BY rowid").fetchall()
        cells = [cell for cell in _cells(connection, path) if keys is None or cell.key in keys]
    named = io.shaped(list(map(list, meta)), list[tuple[str, str]], f"the studies of {path}")
    io.parse_json(json.dumps(named), f"the studies of {path}")  # no text that a terminal would obey
    studies = tuple(value for name, value in named if name.startswith("study "))
    ordered = sorted(cells, key=lambda cell: [*map(_order, _flat(cell).values())])
    return Stored(tuple(ordered), studies, dict(named).get("version", ""))


def _flat(cell: CellResult) -> dict[str, Any]:
    """The settings of a cell as columns: a list is its JSON, yes and no are 1 and 0."""
    columns: dict[str, Any] = {}
    for name in SETTINGS:
        value = cell.settings.get(name)
        value = json.dumps(value, separators=(",", ":"), ensure_ascii=False) if isinstance(value, list) else value
        columns[name] = int(value) if isinstance(value, bool) else value
    return {**columns, "cell": cell.key, "message": cell.message}


def _order(value: Any) -> tuple[int, float, str]:
    """Nothing before numbers, and these before texts."""
    number = isinstance(value, int | float)
    return (0 if value is None else 1 if number else 2), float(value) if number else 0.0, f"{value}"


def export(stored: Stored, path: str | Path) -> Path:
    """Write the sorted table without timings as CSV or JSON (by the suffix of ``path``).

    The bytes depend on the cells alone: neither on the number of workers nor on interruptions.
    """
    path, rows = Path(path), stored.rows()
    if path.suffix == ".json":
        lines = ",\n".join(json.dumps(row, allow_nan=False, ensure_ascii=False) for row in rows)
        return io.write_text(path, f"[\n{lines}\n]\n" if rows else "[]\n")
    if path.suffix != ".csv":
        raise reject("an export must end in .csv or .json", path.name, "rename it")
    text = StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return io.write_text(path, text.getvalue())
