"""A TOML file of a study or a sweep: fixed settings, and a list for every axis of the grid.

    [base]                      # settings of every cell
    rounds = 200
    [grid]                      # every combination is a cell
    data = ["quadratics:0", "quadratics:1"]
    weightings = [["fedavg", "fedmax"], "fedsoftmax:1"]

A setting that is itself a list (weightings, claims, readings, p, plugins) takes one list a cell; a text alone
is a list of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
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
LONGEST = 2**16
Axes = dict[str, list[Any]]


@dataclass(frozen=True)
class Cell:
    """One ``check(**settings)``; ``settings`` holds every field of `Settings`, ``key`` names them canonically."""

    key: str
    settings: dict[str, Any]


def settings_from(path: str | Path) -> dict[str, Any]:
    """The settings in a study file (TOML), a line each: keywords of `check`.

    InputError names the file, the setting and the nearest valid name.

    >>> files = Path("study.toml").write_text("tau = 3")
    >>> settings_from("study.toml")
    {'tau': 3}
    """
    with _named(path):
        table = _table(_text(path))
        if not table:
            raise reject("a study must hold settings", "none", "write them one a line, as tau = 5")
        return {name: checked(name, value) for name, value in table.items()}


def read_grid(path: str | Path) -> tuple[Cell, ...]:
    """The cells of the sweep in a TOML file, in the order of its grid; InputError names file and setting."""
    with _named(path):
        text = _text(path)
        if not any(_table(text).values()):
            raise reject("a sweep must hold a study", "none", "write settings under [base] and lists under [grid]")
        return parse_grid(text)


def parse_grid(text: str) -> tuple[Cell, ...]:
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


def _text(path: str | Path) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as wrong:
        raise reject("a study needs a TOML file", wrong, "write it in UTF-8") from None


def _table(text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise reject(f"a study must have at most {LONGEST} characters", len(text), "make it shorter")
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as wrong:  # also brackets without end, or an integer of thousands of digits
        raise reject("a study must be valid TOML", wrong, "mend it") from None


def _axes(table: Mapping[str, Any]) -> Axes:
    """Field -> its values, one for a fixed setting; names that no cell could use are refused before any work."""
    for section, value in table.items():
        if section not in SECTIONS:
            raise nearest("section", section, SECTIONS)
        if not isinstance(value, dict):
            raise reject(f"{section} must be a table", quoted(value), "see the documentation of sweeps")
    base, grid = (table.get(section, {}) for section in SECTIONS)
    axes: Axes = {name: [checked(name, value)] for name, value in base.items()}
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
