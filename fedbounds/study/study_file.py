"""A TOML file of a study or a sweep: fixed settings, and a list for every axis of the grid.

    [base]                      # settings of every cell
    rounds = 200
    [grid]                      # every combination is a cell
    data = ["quadratics:0", "quadratics:1"]
    weightings = [["fedavg", "fedmax"], "fedsoftmax:1"]

A setting that is itself a list (weightings, claims, readings, p, plugins) takes one list a cell; a text alone
is a list of one. Errors name the line.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds.errors import InputError, of_kind, quoted, reject
from fedbounds.io import read_bytes
from fedbounds.plugins import load_file, nearest
from fedbounds.study.objects_from_settings import name_checks
from fedbounds.study.settings import Settings, checked

SECTIONS = ("base", "grid")
# More cells than this is a slip of the pen: a table of millions of rows, and weeks of computing.
MAX_CELLS = 1_000_000
# No study is longer; keys of keys take a time that grows with their square.
LONGEST, LINES = 2**16, 1_000
Axes = dict[str, list[Any]]


@dataclass(frozen=True)
class Cell:
    """One ``check(**settings)``; ``settings`` holds every field of `Settings`, ``key`` names them canonically."""

    key: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Grid:
    """The cells of a sweep, in the order of the grid, the settings that vary, and the TOML that says so."""

    cells: tuple[Cell, ...]
    axes: tuple[str, ...]
    text: str


def settings_from(path: str | Path) -> dict[str, Any]:
    """The settings in a study file (TOML), a line each: keywords of `check`.

    InputError names the file, the line and the nearest valid name.

    >>> files = Path("study.toml").write_text("tau = 3")
    >>> settings_from("study.toml")
    {'tau': 3}
    """
    file = _opened(path)
    if not file.table:
        raise reject(f"{file.name} must hold settings of a study", "none", "write them one a line, as tau = 5")
    return {key: file.value(key, value) for key, value in file.table.items()}


def read_grid(path: str | Path) -> Grid:
    """The sweep described by a TOML file; InputError names the file, the line and the nearest valid name."""
    file = _opened(path)
    if not any(file.table.values()):
        raise reject(f"{file.name} must hold a study", "none", "write settings under [base] and lists under [grid]")
    return _grid(file)


def parse_grid(text: str, name: str = "study.toml") -> Grid:
    """The sweep described by TOML ``text``; ``name`` stands for the file in errors."""
    return _grid(_File(text, name))


def _grid(file: _File) -> Grid:
    for section, value in file.table.items():
        with file.at(section):
            if section not in SECTIONS:
                raise nearest("section", section, SECTIONS)
            if not isinstance(value, dict):
                raise reject(f"{section} must be a table", quoted(value), "see the documentation of sweeps")
    axes = _axes(file)
    _check_names(axes, file)
    count = math.prod(map(len, axes.values()))
    if count > MAX_CELLS:
        raise reject(f"{file.name}: a sweep takes at most {MAX_CELLS} cells", count, "make the grid smaller")
    cells = (_cell(dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values()))
    return Grid(tuple(cells), tuple(file.table.get("grid", {})), file.text)


def _cell(chosen: Mapping[str, Any]) -> Cell:
    """The cell of these settings; its key changes with any of them and with the text of a plug-in file."""
    settings = Settings(**chosen).to_json()
    plugins = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in settings["plugins"]]
    text = json.dumps([settings, plugins], sort_keys=True, allow_nan=False, separators=(",", ":"))
    return Cell(hashlib.sha256(text.encode()).hexdigest()[:32], settings)


def _opened(path: str | Path) -> _File:
    of_kind("a study", path, (str, Path), "the path of a TOML file")
    try:
        return _File(read_bytes(path).decode(), Path(path).name)
    except UnicodeDecodeError as wrong:
        raise reject("a study needs a TOML file", f"{path} ({wrong})", "write it in UTF-8") from None


class _File:
    """The text of a TOML file, its table, and the line at fault before an input error."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        if len(text) > LONGEST or text.count("\n") > LINES:
            remedy = "write what varies as a list on one line"
            raise reject(f"{name} must have at most {LONGEST} characters in {LINES} lines", "more", remedy)
        try:
            self.table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as wrong:
            line = re.search(r" \(at line (\d+), column \d+\)", str(wrong))
            number, message = (line[1], str(wrong).replace(line[0], "")) if line else (len(text.splitlines()), wrong)
            raise InputError(f"{name}, line {number}: not valid TOML: {message}.") from None
        except (RecursionError, ValueError) as wrong:
            # Brackets within brackets without end, or an integer of thousands of digits.
            raise reject(f"{name} must be a study", f"{type(wrong).__name__}: {wrong}", "write it again") from None

    def value(self, name: str, value: Any, section: str = "") -> Any:
        with self.at(name, section):
            return checked(name, value)

    @contextlib.contextmanager
    def at(self, key: str, section: str = "") -> Iterator[None]:
        """Errors inside name the line of ``key`` in a section."""
        try:
            yield
        except InputError as wrong:
            begun = not section
            for line, text in enumerate(self.text.splitlines(), 1):
                begun = begun or bool(re.match(rf"""\s*\[*["']?{section}\b""", text))
                if begun and re.search(rf"""(^|[\s.{{,\[])["']?{re.escape(key)}["']?\s*[]=.]""", text):
                    raise InputError(f"{self.name}, line {line}: {wrong}") from None
            raise InputError(f"{self.name}: {wrong}") from None


def _axes(file: _File) -> Axes:
    """Field -> its values, one for a fixed setting."""
    base, grid = file.table.get("base", {}), file.table.get("grid", {})
    axes: Axes = {name: [file.value(name, value)] for name, value in base.items()}
    for name, values in grid.items():
        with file.at(name, "grid"):
            if name in base:
                raise reject(f"{name} must be fixed or vary", "both", "keep it in [base] or in [grid]")
            if not isinstance(values, list) or not values:
                raise reject(f"{name} in [grid] needs a list of values", quoted(values), "write [VALUE, ...]")
            axes[name] = [checked(name, value) for value in values]
            if len({json.dumps(value) for value in axes[name]}) < len(axes[name]):
                raise reject(f"{name} must list each value once", quoted(values), "remove the repetition")
    return axes


def _check_names(axes: Axes, file: _File) -> None:
    """Refuse names that no cell could use, before any work."""
    with file.at("plugins"):
        checks = name_checks([load_file(path) for path in itertools.chain.from_iterable(axes.get("plugins", ()))])
    for name in axes.keys() & checks.keys():
        with file.at(name):
            for value in axes[name]:
                for part in value if isinstance(value, tuple) else (value,):
                    checks[name](part)
