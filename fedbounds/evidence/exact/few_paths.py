"""Runs along few of the outcomes of the noise, and what these give without error.

A linear run needs 2 N T + 1 paths for a quadratic quantity. In one round the clients meet only in the mean at its
end: a quantity that is quadratic in the local models needs the noise of every two clients jointly, not of all. So
paths of s bits that are independent for every two clients do: u + a_i v in the field of 2^s elements, for all u and
v and a different a_i for each client, are 4^s outcomes for up to 2^s clients.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.evidence.exact.quadratics import Numbers
from fedbounds.theory import points as at
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import Delta_round, Delta_round_next, gap_round, gap_sum
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import in_scope
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Vec

# The fields of 2^s elements: their irreducible polynomials, bits of the coefficients.
POLYNOMIALS = {1: 0b11, 2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011}
# Points that do not move with the noise; and those of one client's path alone.
FIXED = (at.w_star, at.w_alpha, at.w_i_star, at.w_0)
OF_ONE = (at.w_i, at.w_i_next)
# Shipped functions of a path that are quadratic in the averaged models, the losses only where F is quadratic.
DISTANCES, LOSSES = (Delta_round, Delta_round_next), (gap_round, gap_sum)


def field_size(clients: int, tau: int) -> int:
    """The smallest s with 2^s of at least so many clients and paths of tau values; 0 where none is known."""
    return next((s for s in POLYNOMIALS if s >= tau and 2**s >= clients), 0)


def pairwise_shocks(noisy: Numbers, tau: int) -> tuple[Numbers, Numbers]:
    """xi = 1 or -1 over a round (tau, M, N), independent for every two clients, and the probabilities (M,).

    ``noisy`` (N,) holds 1 for clients with noise, else 0, in floats or fractions.
    """
    one: Any = Fraction(1) if noisy.dtype == object else 1.0
    signs = _signs(len(noisy), tau)
    return signs * one * noisy, np.full(signs.shape[1], one / signs.shape[1], dtype=noisy.dtype)


@lru_cache(maxsize=16)
def _signs(clients: int, tau: int) -> Numbers:
    s = field_size(clients, tau)
    elements = range(2**s)
    drawn = np.array([[u ^ _product(a, v, s) for a in range(clients)] for u in elements for v in elements])
    return 1 - 2 * (drawn >> np.arange(tau)[:, None, None] & 1)


def _product(a: int, b: int, s: int) -> int:
    """a b in the field of 2^s elements."""
    total = 0
    for k in range(s):
        total ^= (b << k) * (a >> k & 1)
    for k in reversed(range(s, 2 * s)):
        total ^= (POLYNOMIALS[s] << (k - s)) * (total >> k & 1)
    return total


def needs_every_outcome(claim: Claim, reading: Reading, bent: bool = False, biased: bool = False) -> tuple[str, ...]:
    """The symbols of a claim that runs along few paths do not give; of losses that are ``bent``, no quadratics.

    ``biased`` where weights are not p.
    """
    sides = {s for side in claim.sides(reading)[:2] for s in sp.sympify(side).free_symbols}
    assumed = {name for item in claim.assumptions_in(reading) for name in item.symbols()}
    own = {q.name for q in claim.computed if q.statistic not in ("constant", "scheduled") and not _given(q, bent)}
    sources = in_scope(claim.scope)
    lacking = {"rho_pairs", *(("rho_bar",) if reading.skew != "sync" else ())} if biased else set()
    lacking |= {name for name, source in sources.items() if bent and source == "gap"}
    lacking |= own | (set(sources) if claim.scope == "point" else set())
    return tuple(sorted(lacking & (assumed | {s.name for s in sides})))


def _given(quantity: Any, bent: bool) -> bool:
    """Whether a quantity's expectation is that of a quadratic expression of points."""
    if any(quantity.on_path is shipped.on_path for shipped in (*DISTANCES, *(() if bent else LOSSES))):
        return True
    expression = quantity.expression
    return quantity.statistic == "measured" and expression is not None and degree(expression, bent) <= 2


def degree(expression: sp.Expr, bent: bool = False) -> float:
    """The degree of an expression in the local models, functions of one client's model being of degree 1.

    >>> degree(at.norm_sq(at.grad(at.w))), degree(at.F(at.w), bent=True), degree(at.mean(at.F_i(at.w_i)), bent=True)
    (2, inf, 1)
    >>> degree(at.norm_sq(at.w_i_next - at.w_round)), degree(at.norm_sq(at.grad(at.w_0)))
    (2, 0)
    """
    if isinstance(expression, Vec):
        return int(expression not in FIXED)
    if isinstance(expression, Grad | Loss):
        inside = degree(expression.args[0], bent)
        if bent and inside:
            return 1 if expression.args[0] in OF_ONE else math.inf
        return inside * (1 if isinstance(expression, Grad) else 2)
    if isinstance(expression, Mean | Centre):
        return degree(expression.args[1], bent)
    parts = [degree(part, bent) for part in expression.args]
    if isinstance(expression, sp.Pow):
        power = expression.exp
        return 0 if not parts[0] else parts[0] * int(power) if power.is_Integer and power > 0 else math.inf
    return (sum if isinstance(expression, sp.Mul | Inner) else max)([0, *parts])
