"""Which definitions hold in a reading of a claim."""

from __future__ import annotations

from functools import partial

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.theory import assumptions as shipped
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import OWN_STEPS, Claim
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
    sigma^2 = 0, that Gamma = 0, T > 0, and that its divisors are not 0, a claim says.
    """
    sides = (claim.lhs, *claim.stated(reading.repaired).values()) if claim is not None else ()
    by = granted_by(reading, claim)
    lacking = {
        "rho-bar": reading.skew != "all-steps",
        "single-step": "single-step" not in by,
        "no-noise": "no-noise" not in by,
        "common-optimum": "common-optimum" not in by,
        "some-time": not any(_divides_by_time(sp.sympify(side)) for side in sides),
    }
    found = {key: definition for key, definition in definitions.DEFINITIONS.items() if not lacking.get(key, False)}
    for x in {power.base for side in sides for power in sp.sympify(side).atoms(sp.Pow) if power.exp.is_negative}:
        if x.is_Add and x.has(sy.T):
            key = divisor_key(x)
            found[key] = Assumption(key, f"{x} is not 0, as the statement divides by it", gives=partial(_not_zero, x))
    if claim is not None and "first-step" in by:
        first = sp.sympify(claim.eta).subs(sy.t, 0)
        found["first-step"] = Assumption(
            "first-step", "eta_0 is the step size at t = 0", sp.Eq(sy.eta_0, first, evaluate=False)
        )
    return found | {one.key: one for one in (PRESENT, shipped.unbiased) if one.key in by}


def granted_by(reading: Reading, claim: Claim | None) -> dict[str, frozenset[str]]:
    """Definition -> the keys of the claim's assumptions that grant it, for those that only an assumption grants."""
    stated = claim.assumptions_in(reading) if claim is not None else ()

    def those(*relations: tuple[sp.Symbol, int]) -> frozenset[str]:
        return frozenset(
            one.key for one in stated for part in one.parts for relation in relations if _says(part, *relation)
        )

    alone = those((sy.N, 1))
    found = {"single-step": alone | those((sy.tau, 1)), "no-noise": those((sy.sigma_sq, 0))}
    found["common-optimum"] = those((sy.Gamma, 0))
    keys = {one.key for one in stated}
    found["first-step"] = frozenset({OWN_STEPS} & keys)
    found |= {key: alone for key in (PRESENT.key, shipped.unbiased.key) if key not in keys}
    return {key: grounds for key, grounds in found.items() if grounds}


def _says(part: Part, symbol: sp.Symbol, value: int) -> bool:
    """Whether a relation says that a symbol has the value, which is its least."""
    sides = (part.left, part.right)
    return (
        sides == (symbol, sp.Integer(value))
        if part.sign == "<="
        else (part.sign == "=" and set(sides) == {symbol, sp.Integer(value)})
    )


def divisor_key(x: sp.Expr) -> str:
    """What grants that a divisor of the statement is not 0."""
    return f"divisor {x}"


def _not_zero(x: sp.Expr, o: object) -> Part:
    return Part(sp.Integer(0), "<", x**2)


def _divides_by_time(side: sp.Expr) -> bool:
    """Whether a side has a power of T itself in a denominator, so that it says nothing at T = 0."""
    return any(power.base == sy.T and power.exp.is_negative for power in side.atoms(sp.Pow))
