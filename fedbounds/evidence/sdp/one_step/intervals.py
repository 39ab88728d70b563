"""Settings over an interval: from a file, and at one point inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fedbounds.errors import reject
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.rational_functions import Function, Interval, read, variable
from fedbounds.io import plain

# What may be a function; weights and tau are not.
NAMES = ("mu", "L", "rho_bar", "rho_tilde", "eta")


def setting_over(data: Mapping[str, object], over: Interval | None) -> Setting:
    """The setting of a JSON object, whose numbers may be functions over an interval.

    InputError where kappa, or eta L, is not the parameter of the interval.
    """
    if over is None:
        return Setting.from_json(data)
    given = {name: _read(data[name], over) for name in NAMES if name in data}
    there = plain({name: _at(value, next(over.inside())) for name, value in given.items()})
    sample = Setting.from_json({**data, **there})
    result = _each(sample, given.get)
    x = variable(over)
    pairs = [(x * result.mu, result.L)] if over.parameter == "kappa" else [(eta * result.L, x) for eta in result.eta]
    if any(one != other for one, other in pairs) or isinstance(result.L, Function):
        raise reject(f"a setting must have the parameter {over.parameter}", str(pairs[0][0]), "write it again")
    return result


def somewhere(setting: Setting) -> Setting:
    """The setting, or the one at a point inside where it is over an interval."""
    over = setting.over
    return setting if over is None else _each(setting, lambda _, value: _at(value, next(over.inside())))


def _each(setting: Setting, number: Callable[[str, Any], Any]) -> Setting:
    return replace(setting, **{name: number(name, getattr(setting, name)) for name in NAMES})


def _read(value: Any, over: Interval) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_read(one, over) for one in value)
    return value if value is None else read(value, over)


def _at(value: Any, point: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_at(one, point) for one in value)
    return value.at(point) if isinstance(value, Function) else value
