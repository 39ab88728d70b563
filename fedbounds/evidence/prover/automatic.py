"""Proofs without a human: what is proposed for a claim, handed to the checker, and believed only if it accepts.

A claim about whole rounds is proposed as one about steps whose case it is, and a claim that follows from a shipped
one under its own assumptions as that, term by term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from fedbounds.evidence.prover import horizon, inequality
from fedbounds.evidence.prover.draws import Draws
from fedbounds.evidence.prover.goal import ELL, limits
from fedbounds.evidence.prover.rationals import Letters
from fedbounds.evidence.prover.run_setting import MORE, ROOM, A, B, cap_of
from fedbounds.evidence.prover.special_cases import at_any_step, restated
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.definitions import ALPHA, START, W, X
from fedbounds.evidence.symbolic.permitted_assumptions import granted as granted_definitions
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.evidence.symbolic.render import render_text
from fedbounds.plugins import claims
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.quantity import without_facet
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Mean, norm_sq
from fedbounds.theory.verdict import Status, Verdict


def implied_proposals(claim: Claim, reading: Reading, universe: Mapping[str, Assumption]) -> Iterator[d.Derivation]:
    """Proofs that cite a derivation whose last line has the same left side, or bounds it."""
    right = sp.Add(*claim.stated(reading.repaired).values())
    about: dict[sp.Expr, tuple[d.Written, ...]] = {claim.lhs: ()}
    if claim.lhs == sy.drift:
        about[Mean(ALPHA, norm_sq(X - START))] = (d.Square(W - START, "a variance is below any second moment"),)
    for cited in verified_proofs.installed().values():
        line = cited.steps[-1]
        if line.lhs not in about or line.relation != "<=" or (cited.claim and reading.name not in cited.readings):
            continue
        rest = sp.expand(right - line.rhs)
        equal, conditions, letters = _letters(universe, rest, claim.eta)
        uses = _termwise(letters, rest.subs(equal[0]) if equal else rest)
        if uses is None:
            continue
        checked = verified_proofs.checked_named(cited.key, reading)
        if (
            checked.fault
            or checked.schedule
            or any(checked.universe.get(key) != universe.get(key) for key in checked.assumptions)
        ):
            continue
        if equal:
            (symbol, value), premise = next(iter(equal[0].items())), equal[1]
            quotient = sp.cancel((rest - rest.subs(symbol, value)) / (value - symbol))
            uses.append((quotient, premise))
        used = {symbol for multiplier, _ in uses for symbol in multiplier.free_symbols}
        last = d.step("conclude", claim.lhs, "<=", right).by(d.Cited(cited.key), *about[line.lhs], *uses)
        yield d.Derivation(
            f"found-{claim.key}",
            claim.title,
            (last,),
            claim=claim.key,
            readings=(reading.name,),
            conditions=tuple(condition for condition in conditions if condition.symbol in used),
        )


# What the last line of a proof says of the sides of a claim.
RELATIONS: Mapping[Kind, d.Relation] = {Kind.INEQUALITY: "<=", Kind.IDENTITY: "="}
Equal = tuple[dict[sp.Basic, sp.Expr], d.Premise]


def _letters(
    universe: Mapping[str, Assumption], rest: sp.Expr, steps: sp.Expr | None
) -> tuple[Equal | None, list[d.Condition], Letters]:
    """A symbol that an assumption makes a number, and the letters of what is left."""
    equal: Equal | None = None
    for item in universe.values():
        for k, part in enumerate(item.parts if item.gives is None else ()):
            if part.sign == "=" and part.left in rest.free_symbols and part.right.is_Rational:
                index = (sp.Integer(k),) if len(item.parts) > 1 else ()
                equal = ({part.left: part.right}, d.premise(item.key, *index))
    values: dict[sp.Basic, sp.Expr] = {sy.tau: MORE + 1}
    conditions = [d.Condition(MORE, d.premise("whole-steps"))]
    if {"smooth", "strongly-convex"} <= universe.keys():
        values[sy.L] = sy.mu + ELL
        conditions.append(d.Condition(ELL, d.premise("curvatures")))
    if steps is not None:
        return equal, conditions, Letters({**values, sy.eta: sp.sympify(steps)})
    for key, index, value, _ in limits(universe.values()):
        top, slope = value.subs(sy.eta, 0), sp.cancel(-value.coeff(sy.eta) / sy.L)
        if top.is_Rational and slope.is_Rational and slope > 0 and sy.L in values:
            conditions.append(d.Condition(ROOM, d.premise(key, *index)))
            put = {sy.mu: A / sy.eta, ELL: B / sy.eta, sy.L: (A + B) / sy.eta}
            named = {A: sy.eta * sy.mu, B: sy.eta * ELL}
            return equal, conditions, Letters({**values, **put}, (A, B, ROOM), (slope * (A + B) + ROOM) / top, named)
    return equal, conditions, Letters(values)


def _termwise(letters: Letters, number: sp.Expr) -> list[d.Use] | None:
    """The terms of a number, each of whose coefficients is not negative on sight."""
    parameters = {sy.L, sy.mu, sy.eta, sy.tau, sy.N, sy.eta_ratio}
    atoms = sorted(number.free_symbols - parameters, key=str)
    uses: list[d.Use] = []
    try:
        poly = sp.Poly(sp.expand(number), *atoms) if atoms else None
    except sp.PolynomialError:
        return None
    terms = [((), sp.sympify(number))] if poly is None else poly.terms()
    for monomial, coefficient in terms:
        form = letters.positive(coefficient)
        if form is None or not all(atom.is_nonnegative for atom in atoms):
            return None
        if form != 0:
            uses.append((form * sp.Mul(*(x**k for x, k in zip(atoms, monomial, strict=True))), d.ONE))
    return uses


# Polynomials of a higher degree than this take the proposals hours.
HIGHEST = 20


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """The verdict of a proof that was found, with the proof in words in its data; None where none was found."""
    result = proved(claim, reading)
    return None if result is None else result[0]


def proved(claim: Claim, reading: Reading) -> tuple[Verdict, d.Derivation] | None:
    """The same with the derivation: of the claim, or of one about steps whose case it is."""
    for stated, why in (*(((claim, ""),) if not claim.tuned else ()), *restated(claim), *at_any_step(claim)):
        for proposed in proposals(stated, reading):
            checked = check(proposed, stated, reading)
            verdict = verified_proofs.judge(checked, stated, reading, claim)
            if verdict.status is Status.HOLDS:
                proof = render_text(checked, verdict).splitlines()
                proof += ["", f"  {why}"] if why else []
                return replace(verdict, data={**verdict.data, "found by": "the prover", "proof": proof}), proposed
    return None


def why_none(claim: Claim, reading: Reading) -> str:
    """Why the prover has no proof of a claim, as far as its form says it."""
    if claim.tuned:
        return (
            f"no bound on every constant step was found that makes it at the step tuned to {', '.join(claim.tuned)}"
        )
    about = next((stated for stated, _ in restated(claim)), claim)
    limits = {name for item in about.assumptions if item.limits_times for name in item.symbols()} - about.symbols
    unread = without_facet([q for q in about.computed if q.name not in limits], "in_proof")
    if claim.kind not in RELATIONS or not claim.on_fedavg:
        alone = ", and no round in which nobody takes part" * claim.by_coins
        return f"the prover knows inequalities and identities about FedAvg{alone}"
    if unread:
        return f"nothing tells a proof what {', '.join(unread)} {'is' if len(unread) == 1 else 'are'}"
    sides = (claim.lhs, *claim.stated(reading.repaired).values())
    if any(power.exp == sp.Rational(1, 2) for side in sides for power in sp.sympify(side).atoms(sp.Pow)):
        return "proofs have no roots: square both sides"
    if claim.scope in ("point", "constant"):
        return f"no combination of the class's inequalities was found, of degree {inequality.ATTEMPTS[-1][0]} at most"
    assumed = claim.assumptions_in(reading)
    local = not any(sp.Eq(sy.tau, 1) == item.relation for item in assumed) and a.bounded_gradient not in assumed
    of_runs = ", with local steps and no bound G on gradients" * local
    return f"no inequality of one step was found{of_runs}, from which it follows at once or by induction"


def proof_of(verdict: Verdict) -> tuple[str, ...]:
    """The proof in words, of a verdict of the prover's; empty for any other."""
    lines: Any = verdict.data.get("proof", ())
    return tuple(lines)


def check(proposed: d.Derivation, claim: Claim, reading: Reading) -> Checked:
    """What the checker says of a proposed proof, which may cite the installed ones."""
    derivations = {**verified_proofs.installed(), proposed.key: proposed}
    return verified_proofs.check(
        proposed.key, verified_proofs.shelf(derivations, {**claims(), claim.key: claim}), reading
    )


def proposals(claim: Claim, reading: Reading) -> Iterator[d.Derivation]:
    """Derivations that may prove a claim."""
    if claim.kind not in RELATIONS or not claim.on_fedavg:
        return
    right = sp.Add(*claim.stated(reading.repaired).values())
    powers = (claim.lhs - right).atoms(sp.Pow)
    if any(power.exp.is_Integer and abs(power.exp) > HIGHEST for power in powers):
        return
    universe = granted_definitions(reading, claim)
    identity = claim.kind is Kind.IDENTITY
    if not identity:
        yield from implied_proposals(claim, reading, {item.key: item for item in claim.assumptions_in(reading)})
    universe |= {item.key: item for item in claim.assumptions_in(reading)}
    cap = cap_of(claim.steps)
    limits = () if cap is None else ((d.Condition(ROOM, d.Earlier("cap")), cap.room),)
    put = {} if cap is None else {cap.steps: sy.eta, sy.eta_0: sy.eta}
    left, bound = (sp.sympify(side).xreplace(put) for side in (claim.lhs, right))
    # One local step is the general search's, which Rocq follows; it is slow where losses after the step are compared.
    of_distance = inequality.SAME_STEP in universe and claim.lhs == sy.Delta_next
    known = claim.scope == "step" and not identity and not of_distance
    if known:
        yield from horizon.proposals(claim, reading, universe)
    steps = claim.steps if cap is None else None
    goal = inequality.Goal(left, bound, claim.scope, universe, steps, limits, claim, identity)
    result = inequality.prove(goal)
    if result is not None:
        result = replace(result, steps=(*Draws.of(universe).steps, *result.steps))
        if cap is not None:
            rest = sp.expand((right - claim.lhs).xreplace({cap.steps: sy.eta}) - (bound - left))
            first = ((sp.cancel(rest / (sy.eta - sy.eta_0)), d.premise("first-step")),) if rest != 0 else ()
            result = replace(result, steps=(cap.line, *result.steps), uses=(*result.uses, *first))
        yield derivation(claim, reading, result, {} if cap is None else cap.abbreviations)
    elif claim.scope in ("horizon", "step") and not (known or identity):
        yield from horizon.proposals(claim, reading, universe)


def derivation(
    claim: Claim, reading: Reading, lines: inequality.Lines, abbreviations: dict[sp.Expr, sp.Expr]
) -> d.Derivation:
    """The lines that were found as a proof of the claim."""
    right = sp.Add(*claim.stated(reading.repaired).values())
    sign = -1 if claim.kind is Kind.IDENTITY else 1  # what shows right - left = 0 shows left - right = 0
    uses = [(sign * multiplier, fact) for multiplier, fact in lines.uses]
    last = d.step("conclude", claim.lhs, RELATIONS[claim.kind], right).by(*uses)
    return d.Derivation(
        f"found-{claim.key}",
        claim.title,
        (*lines.steps, last),
        claim=claim.key,
        readings=(reading.name,),
        conditions=lines.conditions,
        abbreviations=abbreviations,
    )
