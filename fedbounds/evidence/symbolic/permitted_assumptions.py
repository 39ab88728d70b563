"""Which assumptions and definitions a derivation may name, and what each gives: no more than its relation says."""

import inspect
from functools import partial
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.derivation import Derivation
from fedbounds.evidence.symbolic.gate import meaningful
from fedbounds.evidence.symbolic.proof_objects import WEIGHTED_AVERAGE, WeightedMean, averaging_weights
from fedbounds.evidence.symbolic.proof_state import Context, Unproved
from fedbounds.evidence.symbolic.untrusted_expressions import (
    clear_sympy_caches,
    indices,
    rebuilt,
)
from fedbounds.evidence.symbolic.weight_definitions import (
    OF_DRAWN_BY_P,
    OF_DRAWN_MODELS,
    OF_DRAWN_WEIGHTS,
    OF_DRAWS,
    OF_DRAWS_BY_P,
    OVER_DRAWS,
)
from fedbounds.theory import assumptions as shipped
from fedbounds.theory import symbols as sy
from fedbounds.theory import vectors as formal
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.reading import Reading

OF_ONE_FUNCTION = ("one-function", "one-function-apart", "next-gaps", "mean-gap")
OF_ONE_ROUND = ("first-round", "first-round-start")
OF_ONE_STEP = ("single-step", "single-step-gradients")
# Definitions that only an assumption of the claim grants: see `granted_by`.
GRANTED = {
    *(*OF_DRAWS, *OF_DRAWN_WEIGHTS, *OF_DRAWN_MODELS, *OF_DRAWN_BY_P, *OF_DRAWS_BY_P, "one-drawn-client"),
    *(*OF_ONE_FUNCTION, *OF_ONE_ROUND, *OF_ONE_STEP, "no-noise", "gradient-dominance", "common-optimum"),
}
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
        if key in (*definitions.DEFINITIONS, WEIGHTED_AVERAGE):
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
    lacking = GRANTED - by.keys() | ({"rho-bar"} if reading.skew != "all-steps" else set())
    lacking |= {"some-time"} if claim is None or not _divides_by_time(claim, reading) else set()
    result = {key: definition for key, definition in definitions.DEFINITIONS.items() if key not in lacking}
    for x in _divisors(claim, reading) if claim is not None else ():
        key = divisor_key(x)
        result[key] = Assumption(key, f"{x} is not 0, as the statement divides by it", gives=partial(_not_zero, x))
    for q in claim.computed if claim is not None else ():
        if (weights := averaging_weights(q)) is not None:
            words = f"F is convex: at the mean of w_t, t < T, with weights {weights} it is at most that mean of F"
            result[WEIGHTED_AVERAGE] = Assumption(WEIGHTED_AVERAGE, words, gives=WeightedMean(q, weights))
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
            item.key for item in stated for part in item.parts for relation in relations if _is_least(part, *relation)
        )

    alone = those((sy.N, 1))
    one_step = those((sy.tau, 1))
    result = {"no-noise": those((sy.sigma_sq, 0)), **dict.fromkeys(OF_ONE_STEP, alone | one_step)}
    result["gradient-dominance"] = frozenset(item.key for item in stated if item == shipped.polyak_lojasiewicz)
    result |= dict.fromkeys(OF_ONE_FUNCTION, frozenset(item.key for item in stated if item == shipped.identical))
    result["common-optimum"] = those((sy.Gamma, 0)) | result["one-function"]
    if claim is not None and claim.scope == "horizon":
        within = Part(sy.T, "<=", sy.tau)
        result |= dict.fromkeys(OF_ONE_ROUND, frozenset(item.key for item in stated if within in item.parts))
    keys = {item.key for item in stated}
    drawn = _drawn(stated)
    # Of those drawn twice the p-weighted iterate makes too little.
    twice = shipped.with_replacement in stated and reading.virtual == "alpha"
    by_p = frozenset({shipped.with_replacement.key} if twice else ())
    result |= dict.fromkeys(OF_DRAWN_MODELS, drawn or by_p) | dict.fromkeys(OF_DRAWN_BY_P, by_p)
    result |= dict.fromkeys(OF_DRAWS_BY_P, by_p and one_step and by_p | one_step)
    if drawn:
        result |= dict.fromkeys(OF_DRAWN_WEIGHTS, drawn) | dict.fromkeys(OF_DRAWS, one_step and drawn | one_step)
    alone_drawn = those((sy.m, 1))
    several = result.get("drawn-clients")
    result["one-drawn-client"] = several | alone_drawn if several and alone_drawn else frozenset()
    result["first-step"] = frozenset({OWN_STEPS} & keys if claim is not None and claim.eta is not None else ())
    result |= {key: alone for key in (PRESENT.key, shipped.unbiased.key) if key not in keys}
    return {key: grounds for key, grounds in result.items() if grounds}


def _drawn(stated: tuple[Assumption, ...]) -> frozenset[str]:
    """The keys of what says that m clients of equal weight are drawn uniformly; none where nothing does."""
    for together in ((shipped.without_replacement,), (shipped.equal_selection, shipped.unbiased)):
        if all(item in stated for item in (*together, shipped.equal_p)):
            return frozenset(item.key for item in (*together, shipped.equal_p))
    return frozenset()


def _is_least(part: Part, symbol: sp.Symbol, value: int) -> bool:
    """Whether a relation says that a symbol has the value, which is its least."""
    sides, wanted = (part.left, part.right), (symbol, sp.Integer(value))
    return (part.sign != "<" and sides == wanted) or (part.sign == "=" and sides == wanted[::-1])


def divisor_key(x: sp.Expr) -> str:
    """What grants that a divisor of the statement is not 0."""
    return f"divisor {x}"


def _not_zero(x: sp.Expr, o: object) -> Part:
    return Part(sp.Integer(0), "<", x**2)


def _divisors(claim: Claim, reading: Reading) -> list[sp.Expr]:
    """Sums such as T + gamma - 1 and of steps, and N - 1, that divide what is compared: it is void where one is 0."""
    compared = sp.sympify(claim.lhs) - sp.Add(*claim.stated(reading.repaired).values())
    written = {power.base for power in compared.atoms(sp.Pow) if power.exp.is_negative}
    alone = {sy.N - 1: sy.N, sy.eta_sum: sy.eta_sum}
    written = {x for x in written if x in alone or (x.is_Add and x.has(sy.T) and x.is_polynomial(sy.T))}
    if not written:
        return []
    powers = {power: sp.Dummy() for power in compared.atoms(sp.Pow) if power.exp.has(sy.T)}
    bottom = sp.fraction(sp.cancel(compared.xreplace(powers).subs(dict(claim.definitions))))[1]
    if not bottom.is_polynomial(sy.T, sy.N, sy.eta_sum):
        return []
    times = {x: alone.get(x, sy.T) for x in written}
    remaining = [x for x, of in times.items() if sp.rem(bottom, x.subs(dict(claim.definitions)), of) == 0]
    return sorted(remaining, key=sp.default_sort_key)


def _divides_by_time(claim: Claim, reading: Reading) -> bool:
    """Whether a power of T divides what is compared, once it is cancelled, so that it says nothing at T = 0."""

    def divides(expression: sp.Expr) -> bool:
        return any(power.base == sy.T and power.exp.is_negative for power in expression.atoms(sp.Pow))

    compared = sp.sympify(claim.lhs) - sp.Add(*claim.stated(reading.repaired).values())
    return divides(compared) and divides(1 / sp.factor(sp.fraction(sp.cancel(compared))[1]))


def given(assumption: Assumption, points: tuple[Any, ...]) -> Part:
    """What an assumption gives at points: by its own function, or where it is stated as a relation by that alone."""
    shipped_so = assumption in (SHIPPED.get(assumption.key), definitions.DEFINITIONS.get(assumption.key))
    if assumption.gives is not None and (shipped_so or not assumption.parts):
        try:
            part = assumption.gives(definitions.Formal(), *points)
        except (TypeError, KeyError, AttributeError) as fault:
            where = ", ".join(map(str, points)) or "no point"
            raise Unproved(f"{assumption.key} gives nothing at {where}") from fault
        if type(part) is not Part or type(part.sign) is not str or part.sign not in ("<", "<=", "="):
            raise Unproved(f"{assumption.key} gives no Part")
        if not shipped_so:
            clear_sympy_caches()
            part = Part(*rebuilt(tuple(part)))
            _require_some_step(assumption, part, points)
        return part
    facts = assumption.facts()
    if points and points[-1] in (sy.eta_0, definitions.ETA_S):
        facts, points = _at_another_step(facts, points[-1]), points[:-1]
    if points and not points[0].is_Integer:
        raise Unproved(f"{assumption.key} gives no fact at {points[0]}: its facts are counted")
    which = int(points[0]) if points else 0
    if not 0 <= which < len(facts) or (len(facts) > 1 and not points):
        raise Unproved(f"cannot express {assumption.key}: it gives no fact to a proof")
    return facts[which]


def _at_another_step(facts: tuple[Part, ...], size: sp.Expr) -> tuple[Part, ...]:
    """What relations in step sizes and constants, which hold at every step, say at t = 0, or earlier in the round."""
    if any(not part.right.free_symbols <= {sy.eta, sy.L, sy.mu} | ({sy.eta_0} - {size}) for part in facts):
        raise Unproved("at another step only relations among step sizes, L and mu are read")
    return tuple(part._replace(right=part.right.subs(sy.eta, size)) for part in facts)


def require_own_words(assumption: Assumption, points: tuple[Any, ...], value: sp.Expr, scope: Context) -> None:
    """Raise where an assumption, which gave ``value``, speaks of a symbol that the derivation gives a meaning."""
    meanings = meaningful(scope.derivation)
    # What the points bring with them is the proof's own: there it has another name.
    fresh = {symbol: _renamed(symbol) for symbol in meanings}
    part = given(assumption, tuple(sp.sympify(point).xreplace(fresh) for point in points))
    repeated = sp.sympify(part.right - part.left)
    if repeated.xreplace({name: symbol for symbol, name in fresh.items()}) != value:
        raise Unproved(f"{assumption.key} says another thing each time that it is asked")
    taken = meanings & repeated.atoms(sp.Symbol, formal.Slack)
    if taken:
        names = ", ".join(sorted(map(str, taken)))
        raise Unproved(f"{assumption.key} speaks of {names}, which the proof gives another meaning")


def _renamed(symbol: sp.Expr) -> sp.Expr:
    if isinstance(symbol, formal.Slack):
        return formal.Slack(sp.Symbol(f"{symbol.args[0]}'"), *symbol.args[1:])
    return sp.Dummy(symbol.name, **symbol.assumptions0)


def takes_points(assumption: Assumption) -> bool:
    """Whether what an assumption gives depends on where it is asked."""
    return assumption.gives is not None and len(inspect.signature(assumption.gives).parameters) > 1


def in_expectation(assumption: Assumption, expression: sp.Expr) -> bool:
    """Whether a fact is about the whole run's expectations: a relation between run symbols, or made of them."""
    if not formal.random(expression) or (assumption.gives is not None and SHIPPED.get(assumption.key) is assumption):
        return False
    if assumption.key in definitions.DEFINITIONS:
        return assumption.key in OVER_DRAWS
    states = {s for s in expression.free_symbols if getattr(s, "statistic", "") == "measured"}
    return assumption.gives is None or bool(assumption.parts) or bool(states)


def _require_some_step(assumption: Assumption, part: Part, points: tuple[Any, ...]) -> None:
    """Raise where a fact of nobody's relation is about each earlier step of a round, of which there may be none."""
    about = definitions.S in indices(sp.sympify(part.right - part.left))
    if about and not any(definitions.S in indices(sp.sympify(point)) for point in points):
        raise Unproved(f"{assumption.key} speaks of earlier steps of a round, and the first step has none")
