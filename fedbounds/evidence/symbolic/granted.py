"""Which assumptions and definitions a derivation may name, in a reading of a claim."""

from __future__ import annotations

from functools import partial

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.derivation import Derivation
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.theory import assumptions as shipped
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.reading import Reading

# One client takes part in every round, with all of the weight; of C itself this says nothing.
PRESENT = Assumption(
    definitions.ALL_PRESENT,
    "N = 1: the one client takes part in every round",
    gives=lambda o: definitions.zero(sp.Integer(0)),
)


def admit_assumptions(derivation: Derivation, claim: Claim | None, reading: Reading) -> dict[str, Assumption]:
    """Every assumption that a derivation may name: the claim's, those it adds, and the reading's definitions."""
    stated = claim.assumptions_in(reading) if claim is not None else ()
    universe = granted(reading, claim)
    for assumption in (*stated, *derivation.assumes):
        key = assumption.key
        if key in definitions.DEFINITIONS:
            raise Unproved(f"{key} is a definition, which the reading grants and nobody assumes")
        if SHIPPED.get(key, assumption) is not assumption:
            raise Unproved(f"{key} is the name of another assumption")
        if universe.setdefault(key, assumption) != assumption:
            raise Unproved(f"two assumptions are called {key}")
    return universe


def granted(reading: Reading, claim: Claim | None = None) -> dict[str, Assumption]:
    """The definitions that hold in a reading of a claim.

    rho_bar bounds the skew at every t only where it is taken there; that tau = 1 or N = 1, that
    sigma^2 = 0, that Gamma = 0, that the F_i are one function, T > 0, and that its divisors are not 0, a claim says.
    """
    by = granted_by(reading, claim)
    lacking = {
        "rho-bar": reading.skew != "all-steps",
        "single-step": "single-step" not in by,
        "no-noise": "no-noise" not in by,
        "common-optimum": "common-optimum" not in by,
        "one-function": "one-function" not in by,
        **{key: key not in by for key in (*definitions.DRAWN, "one-drawn-client")},
        "some-time": claim is None or not _divides_by_time(claim, reading),
    }
    result = {key: definition for key, definition in definitions.DEFINITIONS.items() if not lacking.get(key, False)}
    for x in _divisors(claim, reading) if claim is not None else ():
        key = divisor_key(x)
        result[key] = Assumption(key, f"{x} is not 0, as the statement divides by it", gives=partial(_not_zero, x))
    if claim is not None and "first-step" in by:
        first = sp.sympify(claim.eta).subs(sy.t, 0)
        result["first-step"] = Assumption(
            "first-step", "eta_0 is the step size at t = 0", sp.Eq(sy.eta_0, first, evaluate=False)
        )
    return result | {item.key: item for item in (PRESENT, shipped.unbiased) if item.key in by}


def granted_by(reading: Reading, claim: Claim | None) -> dict[str, frozenset[str]]:
    """Definition -> the keys of the claim's assumptions that grant it, for those that only an assumption grants."""
    stated = claim.assumptions_in(reading) if claim is not None else ()

    def those(*relations: tuple[sp.Symbol, int]) -> frozenset[str]:
        return frozenset(
            item.key for item in stated for part in item.parts for relation in relations if _says(part, *relation)
        )

    alone = those((sy.N, 1))
    result = {"single-step": alone | those((sy.tau, 1)), "no-noise": those((sy.sigma_sq, 0))}
    result["one-function"] = frozenset(item.key for item in stated if item == shipped.identical)
    result["common-optimum"] = those((sy.Gamma, 0)) | result["one-function"]
    keys = {item.key for item in stated}
    drawn = _drawn(stated)
    result |= dict.fromkeys(definitions.DRAWN, drawn and those((sy.tau, 1)) and drawn | those((sy.tau, 1)))
    alone_drawn = those((sy.m, 1))
    result["one-drawn-client"] = result["drawn-clients"] and alone_drawn and result["drawn-clients"] | alone_drawn
    result["first-step"] = (
        frozenset({OWN_STEPS} & keys) if claim is not None and claim.eta is not None else frozenset()
    )
    result |= {key: alone for key in (PRESENT.key, shipped.unbiased.key) if key not in keys}
    return {key: grounds for key, grounds in result.items() if grounds}


def _drawn(stated: tuple[Assumption, ...]) -> frozenset[str]:
    """The keys of what says that m clients of equal weight are drawn uniformly; none where nothing does."""
    for together in ((shipped.without_replacement,), (shipped.equal_selection, shipped.unbiased)):
        if all(item in stated for item in (*together, shipped.equal_p)):
            return frozenset(item.key for item in (*together, shipped.equal_p))
    return frozenset()


def _says(part: Part, symbol: sp.Symbol, value: int) -> bool:
    """Whether a relation says that a symbol has the value, which is its least."""
    sides, wanted = (part.left, part.right), (symbol, sp.Integer(value))
    return (part.sign != "<" and sides == wanted) or (part.sign == "=" and sides == wanted[::-1])


def divisor_key(x: sp.Expr) -> str:
    """What grants that a divisor of the statement is not 0."""
    return f"divisor {x}"


def _not_zero(x: sp.Expr, o: object) -> Part:
    return Part(sp.Integer(0), "<", x**2)


def _divisors(claim: Claim, reading: Reading) -> list[sp.Expr]:
    """Sums such as T + gamma - 1 that divide what is compared once cancelled: it says nothing where one is 0."""
    compared = sp.sympify(claim.lhs) - sp.Add(*claim.stated(reading.repaired).values())
    written = {power.base for power in compared.atoms(sp.Pow) if power.exp.is_negative}
    written = {x for x in written if x.is_Add and x.has(sy.T) and x.is_polynomial(sy.T)}
    if not written:
        return []
    powers = {power: sp.Dummy() for power in compared.atoms(sp.Pow) if power.exp.has(sy.T)}
    bottom = sp.fraction(sp.cancel(compared.xreplace(powers).subs(dict(claim.definitions))))[1]
    if not bottom.is_polynomial(sy.T):
        return []
    kept = [x for x in written if sp.rem(bottom, x.subs(dict(claim.definitions)), sy.T) == 0]
    return sorted(kept, key=sp.default_sort_key)


def _divides_by_time(claim: Claim, reading: Reading) -> bool:
    """Whether a power of T divides what is compared, once it is cancelled, so that it says nothing at T = 0."""

    def divides(expression: sp.Expr) -> bool:
        return any(power.base == sy.T and power.exp.is_negative for power in expression.atoms(sp.Pow))

    compared = sp.sympify(claim.lhs) - sp.Add(*claim.stated(reading.repaired).values())
    return divides(compared) and divides(sp.cancel(compared))
