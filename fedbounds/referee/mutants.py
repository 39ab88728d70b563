"""Mutants: claims made wrong on purpose, to see whether the checker notices.

A mutant is a `Claim` built with ``dataclasses.replace``; no file is edited. Its parts are found in the
sympy terms themselves: every named term, and every addend of every inner sum (and argument of every Max
and Min), so that a coefficient hidden inside a term is varied like one in front of it.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sympy as sp

from fedbounds.study.bounds import main_bound
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Delta, Delta_next, L, N, T, eta, mu, rho_bar, rho_tilde, t, tau

# What a part is multiplied by: deleted, sign flipped, divided and multiplied by powers of ten.
FACTORS: Mapping[str, sp.Rational] = {
    "deleted": sp.Integer(0),
    "sign flipped": sp.Integer(-1),
    "divided by 10": sp.Rational(1, 10),
    "divided by 100": sp.Rational(1, 100),
    "divided by 1000": sp.Rational(1, 1000),
    "times 10": sp.Integer(10),
    "times 100": sp.Integer(100),
    "times 1000": sp.Integer(1000),
}


@dataclass(frozen=True)
class Part:
    """A piece of a claim's right-hand side: a term's name, and the path of an addend inside it (() for all).

    ``whole`` is the sum (or Max, Min) that an addend belongs to.
    """

    term: str
    path: tuple[int, ...]
    expression: sp.Expr
    whole: sp.Expr

    @property
    def label(self) -> str:
        """The term's name, and the addend's formula if it is not the whole term."""
        return f"{self.term}: {self.expression} of {self.whole}" if self.path else self.term


@dataclass(frozen=True)
class Mutant:
    """A claim changed in one place: which part, how, and the changed claim."""

    of: Claim
    part: str
    change: str
    claim: Claim


def parts(claim: Claim) -> list[Part]:
    """Every named term, then every addend of every inner sum, Max and Min of it, from the outside in.

    Sums with the time T in them (T + gamma) are left to `shifted`.
    """
    result = []
    for name, stated in claim.terms.items():
        term = sp.sympify(stated)
        result.append(Part(name, (), term, term))
        result += [Part(name, path, piece, whole) for path, piece, whole in _addends(term, ())]
    return result


def _addends(expression: sp.Expr, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], sp.Expr, sp.Expr]]:
    for k, piece in enumerate(expression.args):
        here = (*path, k)
        if isinstance(expression, sp.Add | sp.Max | sp.Min) and not expression.has(T):
            yield here, piece, expression
        yield from _addends(piece, here)


def replaced_at(expression: sp.Expr, path: tuple[int, ...], piece: sp.Expr) -> sp.Expr:
    if not path:
        return piece
    arguments = list(expression.args)
    arguments[path[0]] = replaced_at(arguments[path[0]], path[1:], piece)
    return expression.func(*arguments)


def scaled(claim: Claim, part: Part, factor: sp.Expr | float, change: str = "scaled") -> Mutant:
    """The claim with one part multiplied by ``factor`` (0 deletes it, -1 flips its sign), exactly."""
    return _with_terms(claim, part.label, change, {**claim.terms, part.term: scaled_term(claim, part, factor)})


def scaled_term(claim: Claim, part: Part, factor: sp.Expr | float) -> sp.Expr:
    """The term that a part belongs to, with that part multiplied by ``factor``."""
    return replaced_at(sp.sympify(claim.terms[part.term]), part.path, _exact(factor) * part.expression)


def _exact(number: sp.Expr | float) -> sp.Expr:
    return sp.Rational(float(number)) if isinstance(number, float) else sp.sympify(number)


def _with_terms(claim: Claim, part: str, change: str, terms: Mapping[str, sp.Expr]) -> Mutant:
    return Mutant(claim, part, change, replace(claim, key=f"{claim.key} ({part}, {change})", terms=terms))


def mutants(claim: Claim, reading: Reading) -> Iterator[Mutant]:
    """All of a claim: each part scaled by each factor, the shifts, swaps and dropped conditions, and the slips."""
    for part, (change, factor) in itertools.product(parts(claim), FACTORS.items()):
        yield scaled(claim, part, factor, change)
    yield from (*shifted(claim), *swapped(claim), *dropped(claim, reading), *slips(claim))


def shifted(claim: Claim) -> Iterator[Mutant]:
    """An index off by one: eta_t for eta_{t+1}, Delta_t for Delta_{t+1} on either side, T for T + 1.

    The shift of eta is a formula only for the theory's own step size, which that mutant then requires.
    """
    used = set().union(*(sp.sympify(term).free_symbols for term in claim.terms.values()))
    if eta in used:
        main = main_bound()
        mutant = _substituted(claim, "eta", "eta_t read as eta_{t+1}", {eta: next_step(main.steps)})
        definitions = {**claim.definitions, **main.definitions}
        yield replace(mutant, claim=replace(mutant.claim, eta=main.eta, definitions=definitions))
    if Delta in used:
        yield _substituted(claim, "Delta_t", "Delta_t read as Delta_{t+1}", {Delta: Delta_next})
    if claim.lhs == Delta_next:
        key = f"{claim.key} (left side, a step earlier)"
        yield Mutant(claim, "left side", "Delta_{t+1} read as Delta_t", replace(claim, key=key, lhs=Delta))
    if T in used:
        yield _substituted(claim, "T", "T read as T + 1", {T: T + 1})


@lru_cache(maxsize=8)
def next_step(steps: sp.Expr) -> sp.Expr:
    """eta_{t+1} in terms of eta_t, for a step size that determines t."""
    (when,) = sp.solve(sp.Eq(eta, steps), t)
    return sp.factor(steps.subs(t, when + 1))


def swapped(claim: Claim) -> Iterator[Mutant]:
    """rho_bar and rho_tilde exchanged: in each term that has one of them, and in all terms at once."""
    exchange = {rho_bar: rho_tilde, rho_tilde: rho_bar}
    having = [name for name, term in claim.terms.items() if sp.sympify(term).free_symbols & set(exchange)]
    change = "rho_bar and rho_tilde swapped"
    for name in having:
        term = sp.sympify(claim.terms[name]).subs(exchange, simultaneous=True)
        yield _with_terms(claim, name, change, {**claim.terms, name: term})
    if len(having) > 1:
        yield _substituted(claim, "all terms", change, exchange)


def _substituted(claim: Claim, part: str, change: str, exchange: Mapping[sp.Symbol, sp.Expr]) -> Mutant:
    terms = {name: sp.sympify(term).subs(exchange, simultaneous=True) for name, term in claim.terms.items()}
    return _with_terms(claim, part, change, terms)


def dropped(claim: Claim, reading: Reading) -> Iterator[Mutant]:
    """One assumption fewer (the step size and the repair's conditions included), or one repair substitution fewer."""
    changed = [(item.statement, replace(claim, assumptions=rest)) for item, rest in _left_out(claim.assumptions)]
    changed += [(f"eta_t = {claim.eta}", replace(claim, eta=None))] * (claim.eta is not None)
    if reading.repaired and (repair := claim.repair) is not None:
        for item, rest in _left_out(repair.assumptions):
            changed.append((item.statement, replace(claim, repair=replace(repair, assumptions=rest))))
        for (symbol, value), others in _left_out(tuple(repair.substitutions.items())):
            less = replace(repair, substitutions=dict(others))
            changed.append((f"{symbol} replaced by {value}", replace(claim, repair=less)))
    for words, mutant in changed:
        yield Mutant(claim, words, "condition dropped", replace(mutant, key=f"{claim.key} (without {words})"))


def _left_out(items: tuple[Any, ...]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Each of several, with the others."""
    return [(item, (*items[:k], *items[k + 1 :])) for k, item in enumerate(items)]


def with_definitions(claim: Claim, reading: Reading) -> Claim:
    """The claim with its repair and definitions already substituted: the same statement, quicker to evaluate.

    The repair's and the step size's assumptions become its own.
    """
    left, _, terms = claim.sides(reading)
    stated = claim.assumptions_in(reading)
    return replace(claim, lhs=left, terms=terms, assumptions=stated, definitions={}, eta=None, repair=None)


def without_assumptions(read: Claim) -> Claim:
    """A claim without what it assumes of a run, at the times of which it speaks."""
    return replace(read, assumptions=tuple(item for item in read.assumptions if item.limits_times))


# What an exponent may be off by one of; eta L and kappa are pure numbers, so that no dimension gives the slip away.
BASES = {"T": T, "tau": tau, "N": N, "kappa": L / mu, "eta": eta * L}
# The kinds of changes, as the report counts them.
CONSTANT, INDEX, ASSUMPTION = "constant or sign", "an index t for t + 1", "an assumption dropped"
WEIGHTS = "rho_bar for rho_tilde"
LOGARITHM, CLIENTS, MEAN = "logarithm dropped", "1/N dropped or added", "mean for max"


def kind(change: str) -> str:
    """The kind of a mutant's change."""
    if change in FACTORS:
        return CONSTANT
    if change == "condition dropped":
        return ASSUMPTION
    if change.startswith("rho_bar"):
        return WEIGHTS
    return INDEX if " read as " in change else change.partition(" (")[0]


def slips(claim: Claim) -> Iterator[Mutant]:
    """A claim with one such slip in one of its terms; its assumptions and its left side stay."""
    for name, stated in claim.terms.items():
        term = sp.sympify(stated)
        for change, wrong in slipped(term):
            key = f"{claim.key} ({name}, {change})"
            yield Mutant(claim, name, change, replace(claim, key=key, terms={**claim.terms, name: wrong}))


def slipped(term: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """(kind and detail, the term with that slip)."""
    if term.has(sp.log):
        yield LOGARITHM, term.replace(sp.log, lambda *argument: sp.Integer(1))
    if term.has(sp.Max):
        yield MEAN, term.replace(sp.Max, lambda *of: sp.Add(*of) / len(of))
    for name, base in BASES.items():
        if base.free_symbols <= term.free_symbols and name != "N":
            yield f"exponent of {name} (times {base})", term * base
            yield f"exponent of {name} (divided by {base})", term / base
    yield f"{CLIENTS} (divided by N)", term / N
    if N in term.free_symbols:
        yield f"{CLIENTS} (times N)", term * N
