"""Claims as cases of claims about steps: T = R tau, T = tau from a round's start, the least of T by their mean.

Steps tuned to the horizon, as eta = c/sqrt(T) or its minimum with c/L, are cases of every constant step. Of a bound
a start/(eta T) + sum_k eta^k v_k on every constant step, eta = min(A, B) makes at most a start/(A T) + a start/(B T)
+ sum_k B^k v_k. So a claim whose bound is the latter follows from one whose bound is the former.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import sympy as sp

from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.sums_over_steps import least_over_steps, sum_over_steps

R, T, tau = sy.R, sy.T, sy.tau
# What is measured after R rounds, and the same at step T; at the end of a round, at its start, and where it is a run.
AT_STEP = {sy.Delta_round: sy.Delta_T, sy.gap_round: sy.gap}
AT_ROUND = {
    sy.Delta_round_next: (sy.Delta_T, sy.Delta_round, sy.Delta_0),
    sy.gap_round_next: (sy.gap, sy.gap_round, sy.gap_0),
}
FIRST_ROUND = Assumption("first-round-only", "T <= tau", sp.Le(T, tau, evaluate=False))
# Constants of the class, or bounds on what a whole run meets, which bound what a part of it meets.
CONSTANTS = {sy.L, sy.mu, tau, sy.N, sy.m, sy.eta, sy.eta_0, sy.p_sq}
CONSTANTS |= {sy.sigma_sq, sy.sigma_p_sq, sy.G_sq, sy.zeta_sq, sy.zeta_star_sq, sy.Gamma}
PARTICIPATION = {"C", "pi_min", "pi_max", "p_min"}
AFTER_ROUNDS = "At T = R tau, after R rounds, this is the statement."
OF_MEAN = "The least of T values is at most their mean."
AFTER_ONE = "At T = tau, from the start of a round, this is the statement: what follows it is a run of its own."


def restated(claim: Claim) -> Iterator[tuple[Claim, str]]:
    """Claims that imply one about whole rounds, or about a least value, each with why."""
    every = at_every_step(claim)
    if every is not None:
        yield every, AFTER_ROUNDS
    yield from ((first, AFTER_ONE) for first in in_first_round(claim))
    mean = of_mean(claim)
    if mean is not None:
        yield mean, OF_MEAN


def at_every_step(claim: Claim) -> Claim | None:
    """The claim with T for R tau, which implies it; None where it speaks of more that varies in time than R."""
    if claim.scope != "horizon" or claim.lhs not in AT_STEP or claim.repair is not None:
        return None
    terms = {name: _joined(sp.sympify(term)).xreplace({R: T / tau}) for name, term in claim.terms.items()}
    varying = {s for term in claim.terms.values() for s in sp.sympify(term).free_symbols if _varies(s)}
    back = all(
        sp.expand(_joined(term.xreplace({T: R * tau}) - _joined(sp.sympify(claim.terms[name])))) == 0
        for name, term in terms.items()
    )
    return replace(claim, lhs=AT_STEP[claim.lhs], terms=terms) if varying <= {R} and back else None


def of_mean(claim: Claim) -> Claim | None:
    """The claim about the mean over t < T in place of the least value; None where T may be 0, or it is about more."""
    # The least value is at most the mean, not equal to it.
    if claim.scope != "horizon" or claim.kind is not Kind.INEQUALITY or claim.repair is not None:
        return None
    of = of_least(sp.sympify(claim.lhs))
    if of is None:
        return None
    bottom = sp.fraction(sp.cancel(sp.Add(*claim.terms.values())))[1]
    begun = any(Part(sp.Integer(1), "<=", T) in item.parts for item in claim.assumptions)
    if not (begun or (bottom.is_polynomial(T) and bottom.subs(T, 0) == 0)):
        return None
    total = sy.gap_sum if of == sy.gap_t else sum_over_steps(of)
    return replace(claim, lhs=total / T)


def of_least(quantity: sp.Basic) -> Quantity | None:
    """What a quantity is the least of over the steps; None where it is of nothing."""
    return next((q for q in sy.QUANTITIES.values() if _least(q) == quantity), None)


def _least(quantity: Quantity) -> sp.Basic | None:
    visited = quantity.statistic == "measured" and quantity.on_path is not None
    return least_over_steps(quantity) if visited else None


def in_first_round(claim: Claim) -> Iterator[Claim]:
    """Claims about T <= tau that are, at T = tau, a claim about one round: from its start a run goes on as a new one.

    It must be of a constant step size and linear in what is measured at the start, whose mean it then bounds.
    """
    constant = claim.eta == sy.eta_0 or any(item == SHIPPED["constant-steps"] for item in claim.assumptions)
    if claim.scope != "step" or claim.lhs not in AT_ROUND or claim.repair is not None or not constant:
        return
    left, start, begun = AT_ROUND[claim.lhs]
    stated = sp.expand(sp.Add(*claim.terms.values()))
    share, fixed = stated.coeff(start), stated.coeff(start, 0)
    linear = sp.expand(stated - start * share - fixed) == 0
    constants = share.free_symbols | fixed.free_symbols <= CONSTANTS
    if not (linear and constants and all(map(_restarts, claim.assumptions))):
        return
    assumed = (*claim.assumptions, FIRST_ROUND)
    written = {
        name: sp.sympify(term).xreplace({start: begun, sy.eta: sy.eta_0}) for name, term in claim.terms.items()
    }
    of_all = {name: term.xreplace({tau: T}) for name, term in written.items()}
    of_one = {name: _one_factor(term) for name, term in written.items()}
    for terms in (of_all,) if of_one == of_all else (of_all, of_one):
        yield replace(claim, scope="horizon", lhs=left, terms=terms, assumptions=assumed)


def _restarts(item: Assumption) -> bool:
    """Whether an assumption about a run holds of the run that begins with a later round."""
    if item.parts and item.gives is None:
        return item.symbols() <= {symbol.name for symbol in CONSTANTS} | PARTICIPATION
    return SHIPPED.get(item.key) is item


def _one_factor(term: sp.Expr) -> sp.Expr:
    """T for tau in exponents, and for one factor tau of each term."""
    exponents = {
        power: power.base ** power.exp.xreplace({tau: T}) for power in term.atoms(sp.Pow) if power.exp.has(tau)
    }
    factors = sp.Mul.make_args(term.xreplace(exponents))
    if tau in factors:
        return sp.Mul(T, *(factor for k, factor in enumerate(factors) if k != factors.index(tau)))
    return sp.Mul(*factors)


def _varies(symbol: sp.Basic) -> bool:
    """Whether a symbol may differ between the steps of a run."""
    return symbol in (sy.t, T, sy.eta) or getattr(symbol, "statistic", "") in ("measured", "scheduled")


def _joined(expression: sp.Expr) -> sp.Expr:
    """(x^a)^b as x^(a b), which it is for whole numbers a and b: products of whole numbers, R and tau."""

    def of_powers(power: sp.Basic) -> bool:
        return (
            isinstance(power, sp.Pow)
            and isinstance(power.base, sp.Pow)
            and whole(power.exp)
            and whole(power.base.exp)
        )

    def whole(exponent: sp.Expr) -> bool:
        factors = sp.Mul.make_args(exponent)
        return all(factor in (R, tau) or (factor.is_Integer and factor > 0) for factor in factors)

    return expression.replace(of_powers, lambda power: power.base.base ** (power.base.exp * power.exp))


L, mu = sy.L, sy.mu
# What a bound on a sum of gaps or of slopes has of the start, over eta T.
SHARES = (sp.Rational(1, 2), sp.Integer(1), sp.Integer(2))
WHY = "For the step that is tuned to T this is at most the bound of the statement."


def at_any_step(claim: Claim) -> Iterator[tuple[Claim, str]]:
    """Claims about every constant step up to a limit that imply one about a tuned step, each with why."""
    if claim.scope != "horizon" or claim.repair is not None or not claim.tuned or claim.eta is None:
        return
    if claim.kind is not Kind.INEQUALITY:  # a bound for every step is at least that for the tuned one
        return
    size = sp.sympify(claim.eta).xreplace(dict(claim.definitions))
    if any("step" in getattr(symbol, "scopes", ()) or symbol in (sy.t, sy.eta_0) for symbol in size.free_symbols):
        return  # steps of one run must be alike
    pieces = size.args if isinstance(size, sp.Min) else (size,)
    falling, fixed = ([piece for piece in pieces if piece.has(T) == of_time] for of_time in (True, False))
    if len(falling) != 1 or not all(piece.free_symbols <= {L, mu} for piece in fixed):
        return
    first = falling[0].subs(T, 1)
    power = sp.powdenest(falling[0] / first, force=True).as_base_exp() if first.is_finite is not False else ()
    if not (power and power[0] == T and power[1].is_negative):  # then it is at most ``first``, as T >= 1
        return
    fixed = fixed or [first] * (first.free_symbols <= {L, mu})
    limits = tuple(
        Assumption(f"tuned-limit-{k}", f"eta <= {piece}", sp.Le(sy.eta / piece, 1, evaluate=False))
        for k, piece in enumerate(fixed)
    )
    claimed = sp.Add(*claim.terms.values()).xreplace(dict(claim.definitions))
    if size == first / sp.sqrt(T):
        direct = claimed.xreplace({1 / sp.sqrt(T): sy.eta_0 / first})
        if not _has_roots(direct):
            yield _with_constant_steps(claim, direct, limits), WHY
    symbols = claimed.free_symbols | size.free_symbols
    if not all(symbol.is_nonnegative for symbol in symbols):
        return
    roots = {symbol: sp.Dummy(symbol.name, positive=True) for symbol in symbols}
    for start in {sy.Delta_0, sy.gap_0} & symbols:
        for share in SHARES:
            spent = share * start / T * sp.Add(*(1 / piece for piece in pieces))
            bound = _at_any_step(_in_roots(claimed - spent, roots), _in_roots(falling[0], roots), roots)
            if bound is not None:
                yield _with_constant_steps(claim, share * start / (T * sy.eta_0) + bound, limits), WHY


def _with_constant_steps(claim: Claim, bound: sp.Expr, limits: tuple[Assumption, ...]) -> Claim:
    return replace(claim, eta=sy.eta_0, terms={"all": bound}, assumptions=(*claim.assumptions, *limits))


def _in_roots(expression: sp.Expr, roots: Mapping[sp.Symbol, sp.Symbol]) -> sp.Expr:
    """An expression in the roots of its symbols, in which it has none itself."""
    return sp.expand(sp.powdenest(expression.xreplace({s: root**2 for s, root in roots.items()}), force=True))


def _at_any_step(rest: sp.Expr, size: sp.Expr, roots: Mapping[sp.Symbol, sp.Symbol]) -> sp.Expr | None:
    """What a bound has beside the start, with the step for the falling ``size``; None where it is not so made."""
    back = {root: sp.sqrt(symbol) for symbol, root in roots.items()}
    total = sp.Integer(0)
    for term in sp.Add.make_args(rest):
        k = -term.as_powers_dict().get(roots[T], 0)
        value = term.xreplace(back)
        if _has_roots(value) and k > 0:  # eta^k is at most that of the falling size
            value = sy.eta_0**k * sp.cancel(term / size**k).xreplace(back)
        if not term.is_nonnegative or _has_roots(value):
            return None
        total += value
    return total


def _has_roots(value: sp.Expr) -> bool:
    return any(not power.exp.is_Integer for power in value.atoms(sp.Pow))
