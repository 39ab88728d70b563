"""Quantities of a step in the words of Rocq's model: what they are after one history, in vectors and losses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.kernel import claim_statement
from fedbounds.evidence.kernel.point_statement import PointClaim
from fedbounds.evidence.kernel.rocq_terms import over_path, rocq
from fedbounds.evidence.prover.special_cases import of_least
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, OWN, W_NEXT, W_STAR, P, W, X
from fedbounds.evidence.symbolic.proof_objects import averaging_weights, sums_of
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Noise

VECTORS = {
    **{W: "(w M c k)", X: "(x M c k i)", W_NEXT: "(w_next M c k s)", NOISE: "(xi M c k s i)"},
    **{W_STAR: "(w_star P)", OWN: "(w_i_star P i)"},
}
NUMBERS = (sy.L, sy.mu)


@dataclass(frozen=True)
class AfterHistory(PointClaim):
    """Points as they are after one history of the model."""

    def weights(self, given: sp.Expr) -> str:
        return {P: "(p P)", ALPHA: "(alpha M c)"}[given]

    def vector(self, atom: sp.Expr) -> str:
        return VECTORS[atom] if atom in VECTORS else super().vector(atom)


@dataclass(frozen=True)
class OfAClient(PointClaim):
    """A claim about any point of one client, which is one of the model's after a history."""

    def vector(self, atom: sp.Expr) -> str:
        return {definitions.Y: "(x M c k i)", OWN: "(w_i_star P i)"}.get(atom) or super().vector(atom)


def meaning_of(claim: Claim, side: sp.Expr) -> sp.Expr:
    """A side of a claim in vectors and losses."""
    states = definitions.meanings(True, False, claim)
    states = {key: value for key, value in states.items() if key not in (W, sy.sigma_p_sq, sy.p_sq)}
    for _ in range(3):
        side = sp.sympify(side).xreplace(states)
    return side


def after_history(claim: Claim, symbol: sp.Symbol) -> str | None:
    """What a quantity is after one history, a mean over the step's noise where it has that; None without a word."""
    meaning = meaning_of(claim, symbol)
    numbers = meaning.free_symbols & {*NUMBERS, sy.eta}
    writer = AfterHistory(claim, meaning, meaning, (), frozenset(), {"eta": "(eta M)"}, tuple(numbers))
    try:
        text = writer.number(meaning)
    except (InputError, KeyError):
        return None
    return f"given_past M c k (fun s => {text})" if meaning.has(W_NEXT, Noise) else text


def words(claim: Claim) -> Mapping[str, str]:
    """Terms of the quantities of a claim for which the model has no name: of a step, else of constants alone."""
    sides = (claim.lhs, *claim.terms.values())
    known = {*claim_statement.MEASURED, *claim_statement.TIED}
    result = {}
    for one in set().union(*(sp.sympify(side).free_symbols for side in sides)):
        fixed = getattr(one, "statistic", "") == "constant"
        if one.name not in known and (fixed or claim.scope == "step"):
            text = after_history(claim, one)
            if text is not None:
                result[one.name] = text if fixed else f"expected M (fun c k => {text})"
        elif one.name not in known and over_path(one):
            result |= _over_path(claim, one)
        elif one.name not in known and at_end(claim, one) is not None:
            text = after_history(of_step(claim, one), one)
            result |= {} if text is None else {one.name: at_time(f"expected M (fun c k => {text})", "T")}
    return result | {q.name: text.format("T") for q, (text, _, _) in sums(claim).items()}


def _over_path(claim: Claim, one: sp.Symbol) -> Mapping[str, str]:
    """The term of what is of all iterates of a run together."""
    if (weights := averaging_weights(one)) is not None:
        return {one.name: f"gap_of_weighted T n odds W (fun s => {weights_in_words(weights)})"}
    least = of_least(one)
    text = None if least is None else after_history(of_step(claim, least), least)
    return {} if text is None else {one.name: f"least_of T n odds W (fun v => {text.replace('(w M c k)', 'v')})"}


def weights_in_words(weights: sp.Expr) -> str:
    """The weight of an iterate in a mean of them, at step s."""
    return rocq(weights, {"t": "INR s", "eta": "(eta (M s))"})


def at_end(claim: Claim, quantity: sp.Expr) -> sp.Expr | None:
    """What a quantity of a claim about a run is at w_T, where it is of that point and has no name here."""
    if claim.scope != "horizon" or not isinstance(quantity, Quantity) or quantity in definitions.SEQUENCES:
        return None
    meaning = definitions.meaning_of(quantity, claim.scope)
    return meaning if meaning is not None and meaning.has(definitions.W_T) else None


def sums(claim: Claim) -> Mapping[sp.Symbol, tuple[str, sp.Symbol, sp.Expr]]:
    """The sums over steps of a claim about a run: that up to a time in words, the symbol of it at t, and its term."""
    result = {}
    for q, (_, so_far, after) in sums_of(claim).items():
        term = sp.expand(after - so_far)
        known = {**claim_statement.MEASURED, "t": "INR s", **words(of_step(claim, term))}
        result[q] = (f"sum {{}} (fun s => {at_time(rocq(term, known), 's')})", so_far, term)
    return result


def of_step(claim: Claim, term: sp.Expr) -> Claim:
    """A claim about one step that speaks of a term."""
    return replace(claim, scope="step", lhs=term, terms={"all": term}, eta=None, definitions={}, repair=None)


def at_time(text: str, time: str) -> str:
    """A text about a step M as one about that of a run."""
    return re.sub(r"\bM\b", f"(M {time})", text)


def statement(claim: Claim, reading: Reading) -> str:
    """The claim as a proposition about one step of the algorithm, its quantities written out."""
    return claim_statement.statement(claim, reading, beside=words(claim) if reading.virtual == "alpha" else {})
