"""A sweep's TOML file: fixed settings, a list for every axis of the grid, cells left out; errors name the line.

    [base]                      # settings of every cell
    rounds = 200
    [grid]                      # every combination is a cell
    data = ["quadratics:0", "quadratics:1"]
    weightings = [["fedavg", "fedmax"], "fedsoftmax:1"]
    [[exclude]]                 # cells that match every line of the block are left out
    data = "quadratics:0"
    weightings = "fedsoftmax:1"

A setting that is itself a list (weightings, claims, readings, p, plugins) takes one list a cell; a text alone
is a list of one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fedbounds.errors import InputError, of_kind, quoted, reject
from fedbounds.io import read_bytes
from fedbounds.plugins import load_file, nearest
from fedbounds.study.resolve import name_checks
from fedbounds.study.settings import Settings, checked

SECTIONS = ("base", "grid", "exclude")
# More cells than this is a slip of the pen: a table of a million rows and more, and weeks of computing.
MAX_CELLS = 1_000_000
# To find the line at fault, the study is parsed once for each of its lines; keys of keys take time with their square.
LONGEST, LINES = 2**16, 1_000
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)")
Axes = dict[str, list[Any]]
At = tuple[str | int, ...]


@dataclass(frozen=True)
class Cell:
    """One ``check(**settings)``; ``settings`` holds every field of `Settings`, ``key`` names them canonically."""

    key: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """The cells of a sweep, in the order of the grid, the settings that vary, and the TOML that says so."""

    cells: tuple[Cell, ...]
    axes: tuple[str, ...]
    text: str


def read(path: str | Path) -> Grid:
    """The study described by a TOML file; InputError names the file, the line and the nearest valid name."""
    return parse(_text(Path(path)), Path(path).name)


def settings_from(path: str | Path) -> dict[str, Any]:
    """The settings in a study file, a line each (TOML), or in the table [tool.fedbounds] of a pyproject.toml.

    They are keywords of `check`. InputError names the file, the line and the nearest valid name.

    >>> files = Path("study.toml").write_text("tau = 3")
    >>> settings_from("study.toml")
    {'tau': 3}
    """
    of_kind("a study", path, (str, Path), "the path of a TOML file")
    text, name = _text(Path(path)), Path(path).name
    place: At = ()
    table = _table(text, name)
    if "tool" in table:
        place = ("tool", "fedbounds")
        table = table["tool"].get("fedbounds", {}) if isinstance(table["tool"], dict) else {}
    if not isinstance(table, dict) or not table:
        raise reject(f"{name} must hold settings of a study", "none", "write them one a line, as tau = 5")
    said, found = _Said(text, name), {}
    for key, value in table.items():
        with said.at(*place, key):
            found[key] = checked(key, value)
    return found


def _text(path: Path) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as wrong:
        raise reject("a study needs a TOML file", f"{path} ({wrong})", "write it in UTF-8") from None


def _table(text: str, name: str) -> dict[str, Any]:
    if len(text) > LONGEST or text.count("\n") > LINES:
        remedy = "write what varies as a list on one line"
        raise reject(f"{name} must have at most {LONGEST} characters in {LINES} lines", "more", remedy)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        line = _TOML_LINE.search(str(wrong))
        number = line[1] if line else len(text.splitlines())
        raise InputError(f"{name}, line {number}: not valid TOML: {_TOML_LINE.sub('', str(wrong))}.") from None
    except (RecursionError, ValueError) as wrong:
        # Brackets within brackets without end, or an integer of thousands of digits.
        raise reject(f"{name} must be a study", f"{type(wrong).__name__}: {wrong}", "write it again") from None


def parse(text: str, name: str = "study.toml") -> Grid:
    """The study described by TOML ``text``; ``name`` stands for the file in errors."""
    table = _table(text, name)
    said = _Said(text, name)
    for section, value in table.items():
        with said.at(section):
            if section not in SECTIONS:
                raise nearest("section", section, SECTIONS)
            blocks = value if section == "exclude" else [value]
            if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
                raise reject(f"{section} must be a table", quoted(value), "see the documentation of sweeps")
    axes = _axes(table.get("base", {}), table.get("grid", {}), said)
    _check_names(axes, table.get("grid", {}), said)
    cells = _cells(axes, _excludes(table.get("exclude", []), axes, said), name)
    return Grid(cells, tuple(table.get("grid", {})), text)


class _Said:
    """Puts the file and the line at fault before an input error."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self._path: At = ()

    def at(self, *path: str | int) -> _Said:
        """The context in which errors belong to the key at ``path``."""
        self._path = path
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, wrong: BaseException | None, trace: object) -> None:
        if isinstance(wrong, InputError):
            line = line_of(self._text, self._path)
            raise InputError(f"{self._name}, line {line}: {wrong}") from None


def line_of(text: str, path: At) -> int:
    """The line (from 1) on which the key at ``path`` begins.

    It follows the longest beginning of the text that is valid TOML and lacks the key, whatever the notation.
    """
    lines, before = text.splitlines(keepends=True), 0
    for count in range(len(lines) + 1):
        try:
            table = tomllib.loads("".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        if _has(table, path):
            break
        before = count
    return before + 1


def _has(table: Any, path: At) -> bool:
    for step in path:
        try:
            table = table[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _axes(base: Mapping[str, Any], grid: Mapping[str, Any], said: _Said) -> Axes:
    """Field -> its values, one for a fixed setting."""
    axes: Axes = {}
    for name, value in base.items():
        with said.at("base", name):
            axes[name] = [checked(name, value)]
    for name, values in grid.items():
        with said.at("grid", name):
            if name in base:
                raise reject(f"{name} must be fixed or vary", "both", "keep it in [base] or in [grid]")
            if not isinstance(values, list) or not values:
                raise reject(f"{name} in [grid] needs a list of values", quoted(values), "write [VALUE, ...]")
            axes[name] = [checked(name, value) for value in values]
            if len({json.dumps(value) for value in axes[name]}) < len(axes[name]):
                raise reject(f"{name} must list each value once", quoted(values), "remove the repetition")
    return axes


def _check_names(axes: Axes, grid: Mapping[str, Any], said: _Said) -> None:
    """Refuse names that no cell could use, before any work."""
    extra: list[ModuleType] = []
    for path in itertools.chain.from_iterable(axes.get("plugins", ())):
        with said.at("grid" if "plugins" in grid else "base", "plugins"):
            extra.append(load_file(path))
    checks = name_checks(extra)
    for name in axes.keys() & checks.keys():
        with said.at("grid" if name in grid else "base", name):
            for value in axes[name]:
                for part in value if isinstance(value, tuple) else (value,):
                    checks[name](part)


def _excludes(blocks: Sequence[Mapping[str, Any]], axes: Axes, said: _Said) -> list[Axes]:
    """Every block of [[exclude]] as field -> values, each of which some cell takes."""
    excludes: list[Axes] = []
    for j, block in enumerate(blocks):
        found: Axes = {}
        for name, value in block.items():
            with said.at("exclude", j, name):
                if name not in axes:
                    raise nearest("excluded setting", name, axes)
                found[name] = [checked(name, part) for part in (value if isinstance(value, list) else [value])]
                for part in found[name]:
                    if part not in axes[name]:
                        raise reject(f"an excluded {name} must occur in the grid", quoted(part), "correct it")
        with said.at("exclude", j):
            if not found:
                raise reject("a block of [[exclude]] needs a setting", "none", "remove the block")
        excludes.append(found)
    return excludes


def _cells(axes: Axes, excludes: Sequence[Axes], name: str) -> tuple[Cell, ...]:
    count = math.prod(len(values) for values in axes.values())
    if count > MAX_CELLS:
        raise reject(f"{name}: a sweep takes at most {MAX_CELLS} cells", count, "make the grid smaller")
    kept = [chosen for chosen in _product(axes) if not any(_matches(chosen, block) for block in excludes)]
    if not kept:
        raise reject(f"{name}: a sweep needs a cell", "none", "exclude less")
    return tuple(make_cell(chosen) for chosen in kept)


def _product(axes: Axes) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _matches(chosen: Mapping[str, Any], block: Axes) -> bool:
    return all(chosen[name] in values for name, values in block.items())


def make_cell(chosen: Mapping[str, Any]) -> Cell:
    """The cell of these settings; its key changes with any of them and with the text of a plug-in file."""
    settings = Settings(**chosen).to_json()
    plugins = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in settings["plugins"]]
    text = json.dumps([settings, plugins], sort_keys=True, allow_nan=False, separators=(",", ":"))
    return Cell(hashlib.sha256(text.encode()).hexdigest()[:32], json.loads(json.dumps(settings)))
