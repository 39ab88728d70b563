"""The values of symbols of one's own: on a run, on an instance in fractions, on a population of instances.

A symbol that cannot be evaluated is handed back with the reason: whoever examines a claim with it has to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds.theory.claim import Claim
from fedbounds.theory.own import Losses, Own, Path

# (probability, path) of each outcome; None for the probability where paths are repetitions, one row each.
Paths = Callable[[], Iterable[tuple[Any, Path]]]


@dataclass(frozen=True)
class Quadratic:
    """F_i = sum_k c_ik (w_k - m_ik)^2 / 2 as `Losses`: ``curvatures``, ``minima`` (N, d), ``p`` (N,)."""

    curvatures: Any
    minima: Any
    p: Any
    L: Any
    mu: Any

    @cached_property
    def w_star(self) -> Any:
        weighted = self.p[:, None] * self.curvatures
        return (weighted * self.minima).sum(0) / weighted.sum(0)

    @property
    def w_i_star(self) -> Any:
        return self.minima

    def grads(self, w: Any) -> Any:
        return self.curvatures * (w[..., None, :] - self.minima)

    def excess(self, w: Any) -> Any:
        return (self.curvatures * (w[..., None, :] - self.minima) ** 2).sum(-1) / 2

    def gap(self, w: Any) -> Any:
        return ((self.p[:, None] * self.curvatures).sum(0) * (w - self.w_star) ** 2).sum(-1) / 2


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


def values(claim: Claim, losses: Losses, protocol: Path, paths: Paths) -> Values:
    """Evaluate a claim's own symbols on an experiment. ``paths`` raises ValueError with the reason where it has none.

    A measured field has one value a step, and one at T too for a horizon: (T,), or (R, T) of repetitions.
    """
    count = {"step": len(protocol.eta), "horizon": len(protocol.eta) + 1}.get(claim.scope)
    found = Values()
    drawn: list[tuple[Any, Path]] = []
    for symbol in claim.own:
        try:
            if symbol.kind == "constant":
                found.constants[symbol.name] = _one(_checked(symbol, symbol.of(losses), protocol))
            elif symbol.kind == "known":
                found.fields[symbol.name] = _column(symbol, protocol, count)
            else:
                drawn = drawn or list(paths())
                _measure(symbol, drawn, count, found)
        except Exception as wrong:  # whatever a function of the user's raises is a reason
            said = str(wrong) if type(wrong) is ValueError else f"{type(wrong).__name__}: {wrong}"
            found.lacking[symbol.name] = said
    return found


def _measure(symbol: Own, drawn: list[tuple[Any, Path]], count: int | None, found: Values) -> None:
    if symbol.kind == "largest":
        found.constants[symbol.name] = max(max(_checked(symbol, symbol.of(path), path)) for _, path in drawn)
        return
    rows = [(chance, _column(symbol, path, count)) for chance, path in drawn]
    if rows[0][0] is not None:
        found.fields[symbol.name] = sum(chance * row for chance, row in rows)
        return
    found.fixed[symbol.name] = _column(symbol, _shaken(drawn[0][1]), count) == rows[0][1]
    found.fields[symbol.name] = np.stack([row for _, row in rows])


def _shaken(path: Path) -> Path:
    """The path with other weights and, from t = 1 on, other models: what stays as it was hangs on the start alone."""
    rng = np.random.default_rng(0)
    w, X, alpha = path.w.copy(), path.X.copy(), rng.random(path.alpha.shape)
    for moved in (w[1:], X[1:]):
        moved[:] += rng.normal(size=moved.shape) * (1 + np.abs(moved))
    return replace(path, w=w, X=X, alpha=alpha / alpha.sum(axis=-1, keepdims=True))


def _one(row: Any) -> Any:
    if len(row) != 1:
        raise ValueError(f"a constant is one number, not {len(row)}")
    return row[0]


def _column(symbol: Own, path: Path, count: int | None) -> Any:
    """One value at each of the ``count`` times of the claim."""
    if count is None:
        raise ValueError("it varies along a run, as a claim about points or constants does not")
    row = _checked(symbol, symbol.of(path), path)
    if len(row) not in (count, len(path.eta) + 1):
        raise ValueError(f"it gives {len(row)} values where the claim has {count} times")
    return row[:count]


def _checked(symbol: Own, found: Any, path: Path) -> Any:
    """The values as a vector: fractions where the path is in fractions, with the sign that was declared."""
    row = np.atleast_1d(np.asarray(found))
    if path.eta.dtype == object:
        if not all(isinstance(x, Rational) for x in row.ravel()):
            raise ValueError("it is no fraction here")
        row = np.array([Fraction(int(x.numerator), int(x.denominator)) for x in row.ravel()], dtype=object)
    elif row.ndim != 1 or not np.isfinite(row.astype(float)).all():
        raise ValueError("it is no finite vector here")
    if not all(symbol.admits(x) for x in row):
        raise ValueError("its value has not the sign that is declared")
    return row
