"""Which definitions hold in a reading of a claim."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.theory import assumptions as shipped
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

# One client takes part in every round, with all of the weight; of C itself this says nothing.
PRESENT = Assumption(
    definitions.ALL_PRESENT,
    "N = 1: the one client takes part in every round",
    gives=lambda o: definitions.zero(sp.Integer(0)),
)


def granted(reading: Reading, claim: Claim | None = None) -> dict[str, Assumption]:
    """The definitions that hold in a reading of a claim.

    rho_bar bounds the skew at every t only where it is taken there; that tau = 1 or N = 1, that
    sigma^2 = 0, and T > 0, a claim says.
    """
    parts = [part for one in claim.assumptions_in(reading) for part in one.parts] if claim is not None else []
    sides = (claim.lhs, *claim.stated(reading.repaired).values()) if claim is not None else ()
    lacking = {
        "rho-bar": reading.skew != "all-steps",
        "single-step": not any(_is_one(part, symbol) for part in parts for symbol in (sy.tau, sy.N)),
        "no-noise": not any(part.sign == "=" and {part.left, part.right} == {sy.sigma_sq, 0} for part in parts),
        "some-time": not any(_divides_by_time(sp.sympify(side)) for side in sides),
    }
    found = {key: definition for key, definition in definitions.DEFINITIONS.items() if not lacking.get(key, False)}
    if claim is not None and any(_is_one(part, sy.N) for part in parts):
        stated = {one.key for one in claim.assumptions_in(reading)}
        found |= {one.key: one for one in (PRESENT, shipped.unbiased) if one.key not in stated}
    if claim is not None and claim.eta is not None:
        first = sp.sympify(claim.eta).subs(sy.t, 0)
        found["first-step"] = Assumption(
            "first-step", "eta_0 is the step size at t = 0", sp.Eq(sy.eta_0, first, evaluate=False)
        )
    return found


def _is_one(part: Part, symbol: sp.Symbol) -> bool:
    """Whether a relation says that a whole number, which is at least 1, is 1."""
    sides = (part.left, part.right)
    return (
        sides == (symbol, sp.Integer(1))
        if part.sign == "<="
        else part.sign == "=" and set(sides) == {symbol, sp.Integer(1)}
    )


def _divides_by_time(side: sp.Expr) -> bool:
    """Whether a side has a power of T itself in a denominator, so that it says nothing at T = 0."""
    return any(power.base == sy.T and power.exp.is_negative for power in side.atoms(sp.Pow))
