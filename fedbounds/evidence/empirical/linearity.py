"""Whether a claim is linear in what is random, and both sides of one that is from the streamed moments of a run.

A symbol such as Delta_T stands for an expectation, and only of a linear side is the mean over replicates an estimate
of it: in general E f(X) is not f(E X). Each side is then c + a.x with x the random symbols at one time, its mean
c + a.E[x], and the variance of lhs - rhs a'Cov(x)a.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.evaluate import Numbers, evaluate
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import PATH_FIELDS
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import measured_fields

# A covariance entry is off by so much of the product of its standard deviations; what is left of the variance of
# a difference after cancellation must not be read as smaller than that.
COVARIANCE_ROUNDING = 64 * float(np.finfo(float).eps)
# The step by which a derivative in a symbol's relative size is taken; the side is linear or nearly so in it.
NUDGE = 2.0**-20


@dataclass(frozen=True)
class Means:
    """``lhs`` and ``rhs`` (m,) are means over replicates and ``std`` that of lhs - rhs, divisor R - 1.

    ``rounding`` (m,): the sum over symbols of how far lhs - rhs moves, on any replicate, by a relative unit of it.
    """

    lhs: Array
    rhs: Array
    std: Array
    rounding: Array


def moving(symbols: Iterable[sp.Basic]) -> set[str]:
    """Names of the symbols of one's own that stand for an expectation."""
    return {symbol.name for symbol in symbols if isinstance(symbol, Quantity) and symbol.statistic == "measured"}


@lru_cache(maxsize=512)
def is_affine(expression: sp.Expr) -> bool:
    """Whether an expression is, as it stands or expanded, c + a.x in the symbols x that stand for expectations."""
    random = set(measured_fields()) | moving(expression.free_symbols)
    return _written_affine(expression, random) or _written_affine(sp.expand(expression), random)


def _written_affine(expression: sp.Basic, random: Set[str]) -> bool:
    """Derivatives would not tell: those of a step function are 0."""
    inside = [part for part in expression.args if random & {s.name for s in part.free_symbols}]
    if isinstance(expression, sp.Piecewise):
        pieces = [_written_affine(value, random) for value, _ in expression.args]
        return all(pieces) and not any(random & {s.name for s in where.free_symbols} for _, where in expression.args)
    if not inside or expression.is_Add or (expression.is_Mul and len(inside) == 1):
        return all(_written_affine(part, random) for part in inside)
    return False


def both_sides(left: sp.Expr, right: sp.Expr, claim: Claim, run: MeasuredRun, values: Mapping[str, Numbers]) -> Means:
    """The means of both sides over all replicates of a streamed run. Errors: InputError if not linear."""
    assert run.trajectory.streamed is not None
    path = run.trajectory.streamed.paths[run.reading.virtual]
    behind = measured_fields()
    names = [name for name in behind if name in values]
    m = np.shape(values[names[0]])[-1]
    at = [PATH_FIELDS.index(behind[name]) for name in names]
    mean, high = path.mean[:m, at].T, path.high[:m, at].T
    covariance = path.covariance[:m][:, at][:, :, at]
    others = {name: value for name, value in values.items() if name not in names}
    (c_left, a_left), (c_right, a_right) = (_affine(side, names, others, m, claim) for side in (left, right))
    a = a_left - a_right
    variance = np.einsum("jm,mjk,km->m", a, covariance, a)
    scale = (np.abs(a) * np.sqrt(np.einsum("mjj->jm", covariance))).sum(axis=0)
    std = np.sqrt(np.maximum(variance, 0.0) + COVARIANCE_ROUNDING * scale**2)
    rounding = (np.abs(a) * high).sum(axis=0)
    for name in sorted({s.name for s in (left - right).free_symbols} - set(names)):
        nudged = others | {name: np.asarray(others[name]) * (1 + NUDGE)}
        c, b = _affine(left - right, names, nudged, m, claim)
        with np.errstate(invalid="ignore"):
            moved = np.abs(c - (c_left - c_right)) + (np.abs(b - a) * high).sum(axis=0)
        rounding = rounding + np.nan_to_num(moved / NUDGE, nan=0.0, posinf=0.0)
    return Means(c_left + (a_left * mean).sum(0), c_right + (a_right * mean).sum(0), std, rounding)


def _affine(
    side: sp.Expr, names: Sequence[str], others: Mapping[str, Numbers], m: int, claim: Claim
) -> tuple[Array, Array]:
    """c (m,) and a (len(names), m) of c + a.x."""
    random = {s.name: s for s in side.free_symbols if s.name in names}
    slopes = {name: sp.diff(side, symbol) for name, symbol in random.items()}
    if not is_affine(side):
        raise reject(f"claim {claim.key} must be linear in what is random", side, 'use statistics="stored"')
    at_zero = side.subs(dict.fromkeys(random.values(), 0))
    rows = [evaluate(slopes.get(name, sp.Integer(0)), others) for name in names]
    return np.broadcast_to(evaluate(at_zero, others), (m,)), np.stack([np.broadcast_to(row, (m,)) for row in rows])
