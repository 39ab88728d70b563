"""Instances read from and written to JSON: numbers are written "p/q", and floats, rounded already, are refused."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq

from fedbounds.errors import InputError, reject
from fedbounds.evidence.ball_arithmetic import Ball, midpoint
from fedbounds.evidence.exact.instance import BENT, Instance, Rows, Vector
from fedbounds.io import as_fraction

# What reading a value of another type or length raises.
MALFORMED = (KeyError, TypeError, ValueError, IndexError, ArithmeticError, AttributeError)
# Ten times the steps of the longest instance that is shipped.
MOST = 1000


def fraction(text: object) -> Fraction:
    """A fraction from "p/q" or a whole number; floats are refused, being rounded already."""
    if isinstance(text, Fraction):
        return text
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise reject("numbers must be written as fractions", repr(text), 'write "p/q" in quotes, or a whole number')
    return as_fraction(text)


def whole(number: object) -> int:
    """A count of a document: more than `MOST` would keep exact arithmetic busy for ever."""
    result = fraction(number)
    if result.denominator > 1 or not 0 <= result <= MOST:
        raise reject(f"a count must be a whole number from 0 to {MOST}", repr(number), "mend the file")
    return int(result)


def vector(numbers: object) -> Vector:
    """A tuple of fractions from a list, or from a single number."""
    if isinstance(numbers, Sequence) and not isinstance(numbers, str):
        return tuple(fraction(x) for x in numbers)
    return (fraction(numbers),)


def rows(numbers: Sequence[object]) -> Rows:
    """A tuple of vectors; in one dimension a row may be a bare number."""
    return tuple(vector(row) for row in numbers)


def from_json(data: Mapping[str, Any]) -> Instance:
    """An instance from its JSON object; unknown or missing keys raise InputError.

    ``eta`` is a list, or {"mu", "gamma", "steps"} for eta_t = 1/(mu (t + gamma)).
    """
    readers: dict[str, Any] = {
        **dict.fromkeys(("curvatures", "minima", "weights", *BENT), rows),
        **dict.fromkeys(("p", "w0", "noise", "floor", "growth"), vector),
        "eta": _steps,
        **dict.fromkeys(("L", "mu", "rare", "server_step", "radius", "q"), fraction),
        **dict.fromkeys(("tau", "present"), whole),
        "weighting": str,
    }
    try:
        unknown = sorted(set(data) - set(readers))
        missing = sorted({"curvatures", "minima", "p", "w0", "eta"} - set(data))
        if unknown or missing:
            given = f"unknown {unknown}, missing {missing}"
            raise reject("an instance has fixed keys", given, f"use {sorted(readers)}")
        return Instance(**{name: readers[name](value) for name, value in data.items()})
    except InputError:
        raise
    except MALFORMED as error:
        raise reject("an instance must be an object of fractions", repr(error), "mend the file") from None


def to_json(instance: Instance) -> dict[str, Any]:
    """The JSON object of an instance, without what has its default."""
    flat = instance.d == 1
    result: dict[str, Any] = {
        "curvatures": _written(instance.curvatures, flat),
        "minima": _written(instance.minima, flat),
        **{name: list(map(text, getattr(instance, name))) for name in ("p", "w0", "eta")},
        "tau": instance.tau,
        "weighting": instance.weighting,
    }
    if instance.weights:
        result["weights"] = _written(instance.weights, False)
    result |= {name: _written(v, False) for name in BENT if (v := getattr(instance, name))}
    result |= {name: list(map(text, v)) for name in ("noise", "growth", "floor") if any(v := getattr(instance, name))}
    result |= {"rare": text(instance.rare)} if instance.rare != 1 else {}
    result |= {"server_step": text(instance.server_step)} if instance.server_step != 1 else {}
    result |= {name: text(v) for name in ("radius", "q") if (v := getattr(instance, name))}
    if instance.present < instance.N:
        result["present"] = instance.present
    spectrum = instance.spectrum
    given = {"L": (instance.L, max(spectrum)), "mu": (instance.mu, min(spectrum))}
    return result | {name: text(value) for name, (value, default) in given.items() if value != default}


def _steps(given: Any) -> Vector:
    if not isinstance(given, Mapping):
        return vector(given)
    mu, gamma = fraction(given["mu"]), fraction(given["gamma"])
    return tuple(1 / (mu * (t + gamma)) for t in range(whole(given["steps"])))


def _written(table: Rows, flat: bool) -> list[Any]:
    return [text(row[0]) if flat else list(map(text, row)) for row in table]


def text(x: Any) -> str:
    """A fraction as p/q, however many digits it has: Python writes at most 4,300. A ball as what it is about."""
    if isinstance(x, Ball):
        return f"about {midpoint(x):.6g}"
    return str(fmpq(x.numerator, x.denominator))
