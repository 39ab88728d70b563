"""The study file that repeats the cells of a sweep's table, written from the settings that the table holds."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedbounds.study.settings import Settings
from fedbounds.study.sweep.table import SETTINGS

Json = Mapping[str, Any]

# More blocks than this describe no grid but a union of several, which a reader has study files for.
MAX_EXCLUDED = 100


def axes_of(cells: Sequence[Json]) -> dict[str, list[Any]]:
    """Setting -> its values in order, of those that take several among the settings of ``cells``."""
    found = {name: {_written(cell[name]): cell[name] for cell in cells} for name in SETTINGS}
    return {name: sorted(values.values(), key=place) for name, values in found.items() if len(values) > 1}


def place(value: Any) -> tuple[bool, float, str]:
    """Sorts numbers by size, before everything else by its text."""
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, _written(value)


def study_file(cells: Sequence[Json]) -> str:
    """TOML of a study with just these cells, or nothing where no grid short of MAX_EXCLUDED exclusions has them."""
    axes = axes_of(cells)
    count = math.prod(map(len, axes.values()))
    if count - len(cells) > MAX_EXCLUDED:
        return ""
    usual = json.loads(json.dumps(Settings().to_json()))
    fixed = {name: value for name, value in cells[0].items() if name not in axes and value != usual[name]}
    present = {_combination(cell[name] for name in axes) for cell in cells}
    missing = [chosen for chosen in itertools.product(*axes.values()) if _combination(chosen) not in present]
    blocks = [["[base]", *(f"{name} = {_toml(name, value)}" for name, value in fixed.items())]] if fixed else []
    if axes:
        blocks.append(["[grid]", *(f"{name} = {_list(name, values)}" for name, values in axes.items())])
    for chosen in missing:
        blocks.append(
            ["[[exclude]]", *(f"{name} = {_list(name, [v])}" for name, v in zip(axes, chosen, strict=True))]
        )
    return "\n\n".join("\n".join(block) for block in blocks)


def _combination(values: Any) -> tuple[str, ...]:
    return tuple(map(_written, values))


def _list(name: str, values: Sequence[Any]) -> str:
    return f"[{', '.join(_toml(name, value) for value in values)}]"


def _toml(name: str, value: Any) -> str:
    """A value of a setting in TOML; only the batch has a word for None."""
    return '"full"' if name == "batch" and value is None else _written(value)


def _written(value: Any) -> str:
    # JSON writes these values as TOML does, but for one character that TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
