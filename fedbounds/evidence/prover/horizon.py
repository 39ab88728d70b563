"""Whole runs by induction: a step's inequality that is proved first, then the claim's own bound as the hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import sympy as sp

from fedbounds.evidence.prover import (
    facts,
    local_steps,
    partial_participation,
    potentials,
    summed_steps,
    telescoping,
    telescoping_with_drift,
)
from fedbounds.evidence.prover.gap_steps import gap_steps
from fedbounds.evidence.prover.recursions import DISTANCE, GAP, LOCAL_MODELS, Followed, OneStep, as_claimed, one_steps
from fedbounds.evidence.prover.run_setting import CAPPED, L, Proposal, Setting, T, eta, setting_of, t
from fedbounds.evidence.prover.step_facts import TIME
from fedbounds.evidence.prover.termwise import Rest, termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, W_T, P, W
from fedbounds.evidence.symbolic.untrusted_expressions import shown_positive
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.path_quantities import client_error
from fedbounds.theory.reading import Reading
from fedbounds.theory.vector_normal_form import spread

# What an induction bounds at the end of a run, and at every t by the sequence that it follows.
AT_END = (sy.Delta_T, sy.gap)
AT_T = {sy.Delta: DISTANCE, sy.gap_t: DISTANCE, client_error: LOCAL_MODELS}


def proposals(claim: Claim, reading: Reading, universe: dict[str, Assumption]) -> Iterator[d.Derivation]:
    """Proofs by induction that may show a claim about T, or about every t."""
    setting = setting_of(claim, reading, universe)
    if setting is None:
        return
    right = sp.Add(*claim.stated(reading.repaired).values())
    short = right.xreplace({value: eta if name == CAPPED else name for name, value in setting.abbreviations.items()})
    if any(part.has(T, t) for part in short.atoms(sp.Min, sp.Max)):  # which may be of 1/T, at T = 0 too
        return
    label = d.step("conclude", claim.lhs, "<=", right)
    for steps, last, conditions in _proposals(setting, short):
        yield d.Derivation(
            f"found-{claim.key}",
            claim.title,
            (*setting.steps, *steps, label.by(*last)),
            claim=claim.key,
            readings=(reading.name,),
            conditions=(*setting.conditions, *conditions),
            abbreviations=setting.abbreviations,
        )


def _proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Steps, what the last line uses, and conditions: by what the claim is about."""
    if setting.claim.scope == "horizon":
        yield from telescoping.proposals(setting, right)
        yield from telescoping_with_drift.proposals(setting, right)
        yield from summed_steps.proposals(setting, right)
        yield from partial_participation.proposals(setting, right)
        yield from _distances(setting, right)
        yield from potentials.proposals(setting, right)
    elif right.has(sy.local_step):
        yield from local_steps.proposals(setting, right)
    elif setting.claim.lhs not in AT_T:
        yield from local_steps.of_one_step(setting, right)
    elif right.has(t) and not right.has(T):
        yield from _distances(setting, right.xreplace({t: T}))


def _divisors(setting: Setting, right: sp.Expr) -> tuple[list[d.Step], sp.Expr] | None:
    """The steps that show divisors such as T + gamma - 1 positive at all times, and the product of the others.

    Those are positive where the statement says something. None where one is not seen to be at least 0.
    """
    lines: dict[sp.Expr, d.Step] = {}
    others = sp.Integer(1)
    for power in sorted(right.atoms(sp.Pow), key=sp.default_sort_key):
        if power.base == T and power.exp.is_negative and "some-time" in setting.universe:
            lines[T] = TIME
            others *= T**-power.exp
        before = any(line.relation == ">" and line.lhs == power.base for line in setting.steps)
        if not (power.exp.is_negative and power.base.is_Add) or power.base.is_positive or before:
            continue
        times = dict.fromkeys(power.base.xreplace({T: time}) for time in (T, t, t + 1, 0))
        shown = [setting.letters.positive(base) for base in times]
        if shown[0] is None:
            return None
        if all(item is not None and shown_positive(item) for item in shown):
            for base, item in zip(times, shown, strict=True):
                lines.setdefault(base, d.step(f"divisor-{len(lines)}", base, ">", 0).by((item, d.ONE)))
            continue
        label, base = f"divisor-{len(lines)}", power.base
        lines[-base] = d.step(f"{label}-sign", 0, "<=", base).by((shown[0], d.ONE))
        lines[base] = d.step(label, base, ">", 0).by(d.Divisor(f"{label}-sign"))
        others *= base**-power.exp
    return list(lines.values()), others


def _distances(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """E||w_T - w*||^2, or the gap by smoothness, within the claim's bound: divisor z_T <= bound by induction."""
    divisors, left, at_t = _divisors(setting, right), setting.claim.lhs, setting.claim.scope == "step"
    if divisors is None or left not in (AT_T if at_t else AT_END):
        return
    shown, divisor = divisors
    of_gap = left in (sy.gap, sy.gap_t)
    whole = d.Hypothesis("all", "shown at t") if at_t else d.Earlier("all")
    bound = spread(2 * right / L) if of_gap else right
    steps = chain(one_steps(setting), as_claimed(setting, bound, DISTANCE))
    followed = (step for step in steps if not at_t or step.of == AT_T[left])
    for of, lines, conditions in _inductions(setting, divisor, bound, sy.Delta_0, followed):
        scale = (L / 2 if of_gap else 1) / divisor
        near: list[d.Written] = [d.Earlier("smooth")] if of_gap else []
        near += [(scale * divisor, fact) for fact in (() if at_t else of.to_end)]
        smooth = [_smoothness(at_t)] if of_gap else []
        yield (*shown, *lines, *smooth), ((scale, whole), *near), conditions
    if of_gap:
        steps = chain(gap_steps(setting), as_claimed(setting, right, GAP))
        followed = (step for step in steps if not (at_t and step.of.to_end))
        for of, lines, conditions in _inductions(setting, divisor, right, sy.gap_0, followed):
            yield (*shown, *lines), ((1 / divisor, whole), *of.to_end), conditions


def _inductions(
    setting: Setting, divisor: sp.Expr, bound: sp.Expr, start: sp.Expr, followed: Iterable[OneStep]
) -> Iterator[tuple[Followed, tuple[d.Step, ...], tuple[d.Condition, ...]]]:
    """What is followed, and the lines and conditions of an induction that shows divisor z_T <= divisor bound."""
    bound = bound if divisor == 1 else _times(bound, divisor)
    sides = [side.xreplace({T: sp.Integer(0)}) for side in (divisor * start, bound)]
    base = termwise(setting, sides[1] - sides[0])
    if base is None:
        return
    first = d.step("base", sides[0], "<=", sides[1]).by(*base.uses)
    for one_step in followed:
        induction = _induction(setting, one_step, divisor, bound)
        proof = None if induction is None else one_step.proof()
        if induction is None or proof is None:
            continue
        carry, more = induction
        extra = more.after(base)
        every = d.step("all", divisor * one_step.of.last, "<=", bound).by(d.Induction("base", "carry"))
        lines = (*extra.steps, *proof.steps, first, carry, every)
        yield one_step.of, lines, (*proof.conditions, *extra.conditions)


def _times(bound: sp.Expr, divisor: sp.Expr) -> sp.Expr:
    """A bound without one of its divisors, as a sum."""
    top, bottom = sp.fraction(sp.cancel(bound * divisor))
    return sp.Add(*(term / sp.factor(bottom) for term in sp.Add.make_args(sp.expand(top))))


def _induction(setting: Setting, one_step: OneStep, divisor: sp.Expr, bound: sp.Expr) -> tuple[d.Step, Rest] | None:
    """The step from t to t + 1, and what it needs shown first; None where it is not seen to hold."""
    of = one_step.of
    kept, added = (part.subs({eta: setting.eta}) for part in (one_step.kept, one_step.added))
    now, then, before, after = (side.xreplace({T: time}) for side in (bound, divisor) for time in (t, t + 1))
    kept = sp.cancel(after * kept / before) if divisor != 1 else kept
    share, whole = setting.letters.positive(kept), setting.letters.positive(after)
    rest = termwise(setting, then - kept * now - after * added) if share is not None and whole is not None else None
    if rest is None:
        return None
    bridge = setting.bridge(one_step.kept * of.now + one_step.added)
    line = d.step("carry", after * of.next, "<=", then).by(
        (whole, d.Earlier("recursion")),
        *((whole * multiplier, fact) for multiplier, fact in bridge),
        (share, d.Hypothesis("all")),
        *rest.uses,
    )
    return line, rest


def _smoothness(at_t: bool) -> d.Step:
    point, left, right = (W, sy.gap_t, sy.Delta) if at_t else (W_T, sy.gap, sy.Delta_T)
    upper = d.averaged(P, facts.smooth(W_STAR, point))
    return d.step("smooth", left, "<=", L / 2 * right).by(upper, (-1, d.premise("optimum", point - W_STAR)))
