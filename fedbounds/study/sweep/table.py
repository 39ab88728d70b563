"""The table of a sweep: one SQLite file, one transaction a finished cell.

``cells`` holds a row a cell (key, settings as JSON, message of a failure, seconds), ``verdicts`` a row for each
weighting, claim, reading and evidence, and the view ``results`` joins them, one column a setting: the tidy table.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from fedbounds import io
from fedbounds.errors import reject
from fedbounds.study.settings import Settings
from fedbounds.study.sweep.grid import Cell
from fedbounds.theory.verdict import Evidence, Status

TABLE = "sweep.sqlite"
# The layout of the table; it changes when a reader of the old one would misunderstand the new one.
FORMAT = 1
# Seconds to wait for a reader of the table (a picture being drawn) to finish.
PATIENCE = 30.0
# What is measured in a cell: column -> SQLite type.
MEASURED = {
    "number": "INTEGER",
    "weighting": "TEXT",
    "claim": "TEXT",
    "reading": "TEXT",
    "evidence": "TEXT",
    "status": "TEXT",
    "margin": "REAL",
    "tightness": "REAL",
    "worst_t": "INTEGER",
    "rho_bar": "REAL",
    "rho_bar_sync": "REAL",
    "rho_tilde": "REAL",
    "N": "INTEGER",
    "d": "INTEGER",
    "L": "REAL",
    "mu": "REAL",
    "kappa": "REAL",
    "Gamma": "REAL",
    "speed": "REAL",
    "error": "REAL",
    "gap_last": "REAL",
    "floor_low": "REAL",
    "floor_high": "REAL",
    "floor": "TEXT",
    "engine_used": "TEXT",
    "detail": "TEXT",
}
SETTINGS = tuple(item.name for item in fields(Settings))
COLUMNS = ("cell", *SETTINGS, *MEASURED, "message")
TIMINGS = ("seconds",)


@dataclass(frozen=True)
class CellOutcome:
    """A computed cell: its rows (keys of MEASURED), or the message of its failure; wall-clock ``seconds``."""

    key: str
    seconds: float
    rows: Sequence[Mapping[str, Any]] = field(default=())
    message: str | None = None


class SweepTable:
    """The results of a sweep in a folder, open for writing by one process at a time."""

    def __init__(self, folder: str | Path) -> None:
        with contextlib.ExitStack() as opened:
            self.path = opened.enter_context(io.locked(folder)) / TABLE
            opened.enter_context(explained(self.path))
            self._open = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            opened.enter_context(contextlib.closing(self._open))
            _create(self._open)
            self._opened = opened.pop_all()

    def __enter__(self) -> SweepTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def claim_version(self, version: str) -> None:
        """Refuse to mix results of two versions of this package in one table."""
        with explained(self.path):
            self._open.execute("INSERT OR IGNORE INTO meta VALUES ('version', ?)", (version,))
            (found,) = self._open.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
        if found != version:
            raise reject(
                f"{self.path} was computed by fedbounds {found}", f"version {version}", "use another folder for --out"
            )

    def keep_study(self, text: str) -> None:
        """Keep the TOML of a study whose cells this table gets, for whoever wants to repeat it."""
        with explained(self.path):
            name = f"study {hashlib.sha256(text.encode()).hexdigest()}"
            self._open.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, text))

    def known(self) -> dict[str, bool]:
        """Key -> whether the cell succeeded, for every cell in the table."""
        with explained(self.path):
            return {key: message is None for key, message in self._open.execute("SELECT key, message FROM cells")}

    def add(self, cell: Cell, outcome: CellOutcome) -> None:
        """Keep a finished cell: all of it or, whatever happens, nothing."""
        head = (cell.key, json.dumps(cell.settings, sort_keys=True), outcome.message, outcome.seconds)
        marks = ", ".join("?" * (len(MEASURED) + 1))
        rows = [(cell.key, *(row[name] for name in MEASURED)) for row in outcome.rows]
        with explained(self.path), self._open as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM verdicts WHERE cell = ?", (cell.key,))
            connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?)", head)
            connection.executemany(f"INSERT INTO verdicts VALUES ({marks})", rows)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says about ``path`` into one sentence."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as wrong:  # what it says may quote a file's bytes, of any kind
        remedy = "free some space or choose another folder; every cell finished before is kept"
        raise reject(f"{path} must be a table that can be read and written", f"{wrong}", remedy) from wrong


def _schema() -> str:
    """The statements that make the table, with all that its content keeps to: types, words, finite numbers."""
    finite = {"REAL": f'CHECK (abs("{{}}") <= {sys.float_info.max!r})'}
    words = {"status": f"CHECK (status IN {tuple(map(str, Status))})"}
    words["evidence"] = f"CHECK (evidence IN {tuple(map(str, Evidence))})"
    measured = ", ".join(
        f'"{name}" {kind} {finite.get(kind, words.get(name, "")).format(name)}' for name, kind in MEASURED.items()
    )
    settings = ", ".join(f"json_extract(c.settings, '$.{name}') AS \"{name}\"" for name in SETTINGS)
    values = ", ".join(f'v."{name}"' for name in MEASURED)
    return f"""
        CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;
        CREATE TABLE cells
            (key TEXT PRIMARY KEY NOT NULL, settings TEXT NOT NULL, message TEXT, seconds REAL NOT NULL) STRICT;
        CREATE TABLE verdicts (cell TEXT NOT NULL REFERENCES cells(key), {measured},
            PRIMARY KEY (cell, number)) STRICT;
        CREATE VIEW results AS SELECT c.key AS cell, {settings}, {values}, c.message, c.seconds
            FROM cells c LEFT JOIN verdicts v ON v.cell = c.key;"""


def _create(connection: sqlite3.Connection) -> None:
    """Make the table where there is none; InputError where another is."""
    # Committed cells survive a power cut, not only a killed process.
    connection.execute("PRAGMA synchronous = FULL")
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        connection.executescript(f"BEGIN; {_schema()} PRAGMA user_version = {FORMAT}; COMMIT;")
    _check(connection)


def _check(connection: sqlite3.Connection) -> None:
    """Refuse a table of another layout, and one whose content does not keep its own: a file may come from anybody."""
    with contextlib.closing(sqlite3.connect(":memory:")) as own:
        own.executescript(_schema())
        listed = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
        same = own.execute(listed).fetchall() == connection.execute(listed).fetchall()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not same or version != FORMAT:
        raise sqlite3.DatabaseError(f"it has format {version} or another layout; this version reads format {FORMAT}")
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok" or connection.execute("PRAGMA foreign_key_check").fetchone():
        raise sqlite3.DatabaseError("rows that cannot be: " + found)


def _text(content: bytes) -> str:
    """Text of a table, which no terminal would obey."""
    try:
        text = content.decode()
    except UnicodeDecodeError as wrong:
        raise sqlite3.DatabaseError(f"{wrong}") from None
    if not text.replace("\n", "").replace("\t", "").isprintable():
        raise sqlite3.DatabaseError("control characters")
    return text


@contextlib.contextmanager
def reading(folder: str | Path) -> Iterator[sqlite3.Connection]:
    """A connection to the table in ``folder``, also while a sweep runs or after it was killed."""
    path = Path(folder) / TABLE
    if not path.is_file():
        raise reject("a folder must hold a sweep", str(folder), f"run fedbounds sweep STUDY --out {folder} first")
    with explained(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None
        )
        with contextlib.closing(connection):
            connection.text_factory = _text
            _check(connection)
            yield connection


def export(folder: str | Path, path: str | Path, keys: Iterable[str] | None = None) -> Path:
    """Write the sorted table without timings as CSV or JSON (by the suffix of ``path``).

    The bytes depend on the cells alone: neither on the number of workers nor on interruptions. ``keys``: only
    these cells. A failed cell is one row with a ``message`` and nothing measured.
    """
    path = Path(path)
    if path.suffix not in (".csv", ".json"):
        raise reject("an export must end in .csv or .json", path.name, "rename it")
    with reading(folder) as connection:
        rows = _sorted(connection, keys)
        fill = _fill_csv if path.suffix == ".csv" else _fill_json
        return io.write(path, lambda file: fill(file, rows))


def tidy(folder: str | Path, keys: Iterable[str]) -> list[dict[str, Any]]:
    """The sorted table without timings, a dictionary a row."""
    with reading(folder) as connection:
        return [dict(zip(COLUMNS, row, strict=True)) for row in _sorted(connection, keys)]


def verdicts(folder: str | Path, keys: Iterable[str] | None = None) -> dict[tuple[str, ...], int]:
    """(claim, reading, evidence, status) -> how many verdicts, over the cells ``keys``."""
    query = "SELECT claim, reading, evidence, status, count(*) FROM results {} GROUP BY 1, 2, 3, 4"
    with reading(folder) as connection:
        found = connection.execute(query.format(_wanted(connection, keys, "claim IS NOT NULL")))
        return {tuple(names): count for *names, count in found}


def failures(folder: str | Path, keys: Iterable[str] | None = None) -> list[tuple[str, int]]:
    """The messages of failed cells with how many have them, the commonest first."""
    query = "SELECT message, count(*) FROM results {} GROUP BY message ORDER BY count(*) DESC, message"
    with reading(folder) as connection:
        return list(connection.execute(query.format(_wanted(connection, keys, "message IS NOT NULL"))))


def _wanted(connection: sqlite3.Connection, keys: Iterable[str] | None, test: str = "1") -> str:
    """The WHERE clause that keeps the cells ``keys``."""
    if keys is None:
        return f"WHERE {test}"
    connection.execute("CREATE TEMP TABLE wanted (key TEXT PRIMARY KEY)")
    connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", ((key,) for key in keys))
    return f"WHERE {test} AND cell IN (SELECT key FROM wanted)"


def _sorted(connection: sqlite3.Connection, keys: Iterable[str] | None) -> Iterator[tuple[Any, ...]]:
    columns, order = (", ".join(f'"{name}"' for name in names) for names in (COLUMNS, (*SETTINGS, "cell", "number")))
    yield from connection.execute(f"SELECT {columns} FROM results {_wanted(connection, keys)} ORDER BY {order}")


def _fill_csv(file: IO[bytes], rows: Iterable[tuple[Any, ...]]) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    text.flush()
    text.detach()


def _fill_json(file: IO[bytes], rows: Iterable[tuple[Any, ...]]) -> None:
    between = b"[\n"
    for row in rows:
        text = json.dumps(dict(zip(COLUMNS, row, strict=True)), allow_nan=False, ensure_ascii=False)
        file.write(between + text.encode())
        between = b",\n"
    file.write(b"[]\n" if between == b"[\n" else b"\n]\n")
