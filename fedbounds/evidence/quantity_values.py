"""The values of symbols of one's own: on a run, on an instance in fractions, on a population of instances.

A symbol that cannot be evaluated is handed back with the reason: whoever examines a claim with it has to say so.
"""

import contextlib
import copy
import os
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from functools import partial
from numbers import Rational
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from fedbounds.evidence.ball_arithmetic import Ball, enclosed, in_bits
from fedbounds.evidence.evaluate import NoFraction, fraction_root
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Formula, Losses, Path, Quantity

# Bits of what is no fraction, unless more are set: enough to compare short fractions with.
BITS = 512
IRRATIONAL = (np.sqrt, np.exp, np.log)


class Exact(np.ndarray):
    """Fractions and balls; what numpy calls a root is a fraction where it is one, and else a ball."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        if ufunc is np.power and isinstance(inputs[1], float | Fraction) and inputs[1] == 0.5:
            ufunc, inputs = np.sqrt, inputs[:1]
        if ufunc in IRRATIONAL and method == "__call__" and inputs[0].dtype == object:
            result = np.frompyfunc(partial(_irrational, ufunc.__name__), 1, 1)(np.asarray(inputs[0]))
            return np.asarray(result, dtype=object).view(Exact)[()]
        if "out" in more:
            more["out"] = tuple(map(_plain, more["out"]))
        result = getattr(ufunc, method)(*map(_plain, inputs), **more)
        return result.view(Exact) if isinstance(result, np.ndarray) and result.dtype == object else result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.linalg.norm and len(args) == 1 and kwargs.keys() <= {"axis", "keepdims"}:
            return np.sqrt(np.asarray((args[0] ** 2).sum(**kwargs), dtype=object).view(Exact))
        return super().__array_function__(function, types, args, kwargs)


def _plain(item: Any) -> Any:
    return item.view(np.ndarray) if isinstance(item, Exact) else item


def _irrational(name: str, number: Any) -> Any:
    """The root, exponential or logarithm of a fraction or ball; of a ball around 0 the root of what is not below."""
    if name == "sqrt":
        with contextlib.suppress(NoFraction):
            return fraction_root(number)
    ball = enclosed(number)
    if name == "sqrt" and ball.contains(0):
        ball = ball.max(arb(0))
    result = getattr(ball, name)()
    if result.is_nan():
        raise ValueError(f"{name} of a number that has none")
    return Ball(result)


EXTREMES: dict[str, Callable[[Any], Any]] = {"largest": max, "smallest": min}
# (probability, path) of each outcome; None for the probability where paths are repetitions, one row each.
Paths = Callable[[], Iterable[tuple[Any, Path]]]

# By how much of its size a path is moved, up, down and both ways, to see what a symbol looks at: comparisons flip.
SHAKES = tuple((10.0**power, lean) for power in range(-6, 7) for lean in (1, -1, 0))
ARRAYS = ("eta", "shares", "w", "X", "alpha", "X_next")
# What problems compute of themselves once and keep, which one symbol's function must not change under another's.
KEPT = ("w_star", "w_i_star", "F_i_star", "star_excess", "client_optima")


@dataclass(frozen=True)
class Values:
    """Of symbols by name: ``constants``; ``fields``, one value a time; and why the others are ``lacking``.

    ``fixed`` are the times at which a field is the same in every repetition, since it hangs on the start alone.
    """

    constants: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, NDArray[np.bool_]] = field(default_factory=dict)

    def why(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names with the reasons why they have no value."""
        return tuple(f"{name} ({self.lacking[name]})" if name in self.lacking else name for name in names)


def values(claim: Claim, losses: Losses, protocol: Path, paths: Paths, unknown: Collection[Quantity] = ()) -> Values:
    """Evaluate a claim's own symbols on an experiment, but the ``unknown`` ones.

    ``paths`` raises ValueError with the reason where it has none. A measured field has one value a step, and one at T
    too for a horizon: (T,), or (R, T) of repetitions. In fractions roots are balls where they are no fractions.
    """
    with in_bits(max(ctx.prec, BITS)) if protocol.eta.dtype == object else contextlib.nullcontext():
        return _evaluated(claim, _read_only(losses), _sealed_path(protocol), paths, unknown)


def _evaluated(claim: Claim, losses: Losses, protocol: Path, paths: Paths, unknown: Collection[Quantity]) -> Values:
    count = {"step": len(protocol.eta), "horizon": len(protocol.eta) + 1}.get(claim.scope)
    result = Values()
    drawn: list[tuple[Any, Path]] = []
    for symbol in [item for item in claim.computed if item not in unknown]:
        try:
            if symbol.statistic == "constant":
                result.constants[symbol.name] = _single(_checked(symbol, _on_path(symbol)(losses), protocol))
            elif symbol.statistic == "scheduled":
                result.fields[symbol.name] = _column(symbol, protocol, count)
            else:
                drawn = drawn or [(chance, _sealed_path(path, losses=losses)) for chance, path in paths()]
                _measure(symbol, drawn, count, result)
        except Exception as error:  # whatever a function of the user's raises is a reason
            result.lacking[symbol.name] = _reason(symbol, error)
    return result


def _reason(symbol: Quantity, error: Exception) -> str:
    """Why a symbol has no value: what its function raised, at which line, or what is wrong with its value."""
    file = getattr(getattr(symbol.on_path, "__code__", None), "co_filename", None)
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    if not lines and type(error) is ValueError:
        return str(error)
    where = f"its function fails at {os.path.basename(str(file))}, line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {error}"


def _read_only(losses: Losses) -> Losses:
    """The same losses, whose arrays a function cannot change."""
    for name in KEPT:
        with contextlib.suppress(Exception):  # raised again where a function asks for it
            getattr(losses, name)
    shown = copy.copy(losses)
    for name, value in vars(shown).items():
        object.__setattr__(shown, name, _sealed(value))
    return shown


def _sealed_path(path: Path, **changes: Any) -> Path:
    """The path, whose fractions have roots."""
    if path.eta.dtype != object:
        return replace(path, **changes) if changes else path
    arrays = {name: _sealed(value) for name in ARRAYS if (value := getattr(path, name)) is not None}
    return replace(path, **(arrays | changes))


def _sealed(value: Any) -> Any:
    """Arrays as views for reading, also those in tuples and dataclasses."""
    if isinstance(value, np.ndarray):
        value = value.view(Exact) if value.dtype == object else value.view()
        value.flags.writeable = False
    elif type(value) is tuple:
        value = tuple(map(_sealed, value))
    elif is_dataclass(value) and not isinstance(value, type):
        value = copy.copy(value)
        for name, inside in list(getattr(value, "__dict__", {}).items()):
            object.__setattr__(value, name, _sealed(inside))
    return value


def _measure(symbol: Quantity, drawn: list[tuple[Any, Path]], count: int | None, result: Values) -> None:
    if symbol.statistic in EXTREMES:
        extreme = EXTREMES[symbol.statistic]
        values = [extreme(_checked(symbol, _on_path(symbol)(path), path)) for _, path in drawn]
        result.constants[symbol.name] = extreme(values)
        return
    rows = [(chance, _column(symbol, path, count)) for chance, path in drawn]
    if rows[0][0] is not None:
        result.fields[symbol.name] = sum(chance * row for chance, row in rows)
        return
    column, (_, first) = np.stack([row for _, row in rows]), drawn[0]
    if (_column(symbol, first, count) != column[0]).any():
        raise ValueError("it gives other values when it is called again")
    result.fixed[symbol.name] = (column == column[0]).all(axis=0) & _unmoved(symbol, first, column[0])
    result.fields[symbol.name] = column


def _unmoved(symbol: Quantity, path: Path, row: Any) -> NDArray[np.bool_]:
    """The times at which a symbol's value stays as it was however the path is shaken: it hangs on the start alone."""
    same = np.ones(len(row), dtype=bool)
    for shaken in _shaken(path):
        try:
            with np.errstate(all="ignore"):
                same &= np.atleast_1d(_on_path(symbol)(shaken))[: len(row)] == row
        except Exception:  # a function that cannot be seen through is not known to hang on the start
            return np.zeros(len(row), dtype=bool)
        if not same.any():
            break
    return same


def _shaken(path: Path) -> Iterator[Path]:
    """The path with other weights and, from t = 1 on, other models, once for each of SHAKES."""
    rng = np.random.default_rng(0)
    random, clients = rng.random(path.alpha.shape), path.alpha.shape[-1]
    alone = np.eye(clients)[rng.integers(clients, size=len(random))]
    weights = (random / random.sum(axis=-1, keepdims=True), alone, 0 * random, 0 * random + 1)
    models = {name: getattr(path, name) for name in ("w", "X", "X_next")}
    moves = {name: rng.normal(size=x.shape) * (1 + np.abs(x)) for name, x in models.items()}
    moves["w"][0] = moves["X"][0] = 0
    for k, (scale, lean) in enumerate(SHAKES):
        moved = {
            name: x + scale * (lean * np.abs(moves[name]) if lean else moves[name]) for name, x in models.items()
        }
        yield replace(path, alpha=weights[k % len(weights)], **moved)


def _single(row: Any) -> Any:
    if len(row) != 1:
        raise ValueError(f"a constant is one number, not {len(row)}")
    return row[0]


def _on_path(symbol: Quantity) -> Formula:
    assert symbol.on_path is not None  # as of every computed quantity
    return symbol.on_path


def _column(symbol: Quantity, path: Path, count: int | None) -> Any:
    """One value at each of the ``count`` times of the claim."""
    if count is None:
        raise ValueError("it varies along a run, as a claim about points or constants does not")
    row = _checked(symbol, _on_path(symbol)(path), path)
    if len(row) not in (count, len(path.eta) + 1):
        raise ValueError(f"it gives {len(row)} values where the claim has {count} times")
    return row[:count]


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number.numerator), int(number.denominator))


def _checked(symbol: Quantity, result: Any, path: Path) -> Any:
    """The values as a vector: fractions where the path is in fractions, with the sign that was declared."""
    row = np.atleast_1d(np.asarray(result))
    if path.eta.dtype == object:
        if not all(isinstance(x, Rational | Ball) for x in row.ravel()):
            raise ValueError("it is no fraction here")
        row = np.array([x if isinstance(x, Ball) else _fraction(x) for x in row.ravel()], dtype=object)
    elif row.ndim != 1 or not np.isfinite(row.astype(float)).all():
        raise ValueError("it is no finite vector here")
    # Of a ball the sign is known where it is certain, and nothing else.
    shown = [Fraction(1 if x > 0 else -1, 2) if isinstance(x, Ball) else x for x in row]
    if not symbol.admits(np.array(shown, dtype=row.dtype)):
        raise ValueError("its value has not the sign that is declared")
    return row
