"""Sums over a run weighted by the step sizes, and sums of slopes: what each step gains, by an induction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.prover import draws, facts, inequality
from fedbounds.evidence.prover.drifts import Drift, drifts
from fedbounds.evidence.prover.gap_steps import SLOPE
from fedbounds.evidence.prover.goal import ONE_FUNCTION
from fedbounds.evidence.prover.recursions import recursion
from fedbounds.evidence.prover.run_setting import L, Proposal, Setting, T, eta
from fedbounds.evidence.prover.step_facts import TIME
from fedbounds.evidence.prover.telescoping_with_drift import with_gap
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    GAP_NEXT,
    GAPS,
    MODELS,
    MODELS_NEXT,
    MODELS_T,
    W_STAR,
    WEIGHTED,
    WEIGHTED_T,
    G,
    P,
    W,
    X,
)
from fedbounds.evidence.symbolic.proof_objects import WEIGHTED_AVERAGE, averaging_weights, sums_of
from fedbounds.theory import symbols as sy
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.vector_normal_form import normal
from fedbounds.theory.vectors import Mean, norm_sq

DIVISOR = (
    d.step("steps-sign", 0, "<=", sy.eta_sum).by((sy.eta_sum, d.ONE)),
    d.step("steps", sy.eta_sum, ">", 0).by(d.Divisor("steps-sign")),
)
TOGETHER = Drift(
    sp.Integer(0),
    (d.step("drift", sy.drift, "<=", 0).by(d.averaged(ALPHA, (-1, d.premise(inequality.SAME_STEP, X - W)))),),
    d.Earlier("drift"),
    (),
)


@dataclass(frozen=True)
class Gain:
    """A step takes from z, given at 0, t + 1 and T, but for its ``cost``, ``gained`` eta_t times what is summed.

    By ``at_end`` z at T is at least a symbol that is not negative, ``least``.
    """

    gained: sp.Expr
    z: tuple[sp.Expr, sp.Expr, sp.Expr]
    cost: sp.Expr
    steps: tuple[d.Step, ...]
    uses: tuple[d.Written, ...]
    conditions: tuple[d.Condition, ...] = ()
    at_end: tuple[d.Premise, ...] = ()

    @property
    def least(self) -> sp.Expr:
        return sy.Delta_T if self.at_end else self.z[2]


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about one such sum, or about the mean with its weights."""
    for q, (now, last, term) in _summed(setting).items():
        share = sp.cancel(setting.claim.lhs / q)
        mean = WEIGHTED_AVERAGE if averaging_weights(q) is not None else "average" if q == sy.average_gap else ""
        share = share / {WEIGHTED_AVERAGE: sy.eta_sum, "average": T}.get(mean, 1)
        if share.has(q) or not share.free_symbols <= {T, sy.eta_sum}:
            continue
        varies = setting.claim.eta is None or setting.eta.has(sy.t)
        bound = sp.expand(sp.cancel(right / share))
        for gain in () if varies and not term.has(eta) else _gains(setting, term, bound):
            yield from _proof(setting, right, (now, last, term), share, gain, mean)


def _summed(setting: Setting) -> dict[Quantity, tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """The sums that a claim is about: that over s < t, over s < T, and its term."""
    sums = sums_of(setting.claim)
    own = [q for q in setting.claim.computed if setting.claim.lhs.has(q)]
    found = {q: (sums[q][1], q, sums[q][2] - sums[q][1]) for q in own if q in sums}
    found |= {q: (WEIGHTED, WEIGHTED_T, eta * sy.gap_t) for q in own if averaging_weights(q) == eta}
    return found | {q: (GAPS, sy.gap_sum, sy.gap_t) for q in own if q in (sy.gap_sum, sy.average_gap)}


def _gains(setting: Setting, term: sp.Expr, bound: sp.Expr) -> Iterator[Gain]:
    of = term / eta if term.has(eta) else term
    meaning = getattr(of, "expression", None)
    if not ({"unbiased", "full-participation"} <= setting.universe.keys() or draws.drawn(setting.universe)):
        return
    starts = (sp.expand(bound * unit).coeff(sy.gap_0) for unit in (sp.Integer(1), setting.eta))
    stated = [1 / x for x in starts if x.is_Rational and x > 0]
    for noise in setting.noises:
        if of == sy.gap_t and "smooth" in setting.universe and not draws.drawn(setting.universe):
            yield from _of_distance(setting, noise)
        if of == sy.gap_t:
            yield from _of_models(setting, noise)
        elif meaning is not None and normal(meaning - norm_sq(SLOPE)) == 0:
            for gained in dict.fromkeys((*stated, sp.Rational(1, 2))):
                yield from _of_slopes(setting, noise, gained)


def _of_distance(setting: Setting, noise: sp.Expr) -> Iterator[Gain]:
    least = facts.curvature_of(set(setting.universe))
    step = None if least is None else with_gap(setting, noise, least, sp.Integer(0))
    if step is None:
        return
    for drift in (TOGETHER,) if inequality.SAME_STEP in setting.universe else drifts(setting):
        uses = (d.Earlier("recursion"), (eta * L, drift.bound))
        cost = eta**2 * noise + eta * L * drift.most
        z = (sy.Delta_0, sy.Delta_next, sy.Delta_T)
        yield Gain(sp.Integer(2), z, cost, (*drift.steps, step), uses, drift.conditions)


def _of_models(setting: Setting, noise: sp.Expr) -> Iterator[Gain]:
    """By each local model, where that is w_t or all functions are one."""
    if not {inequality.SAME_STEP, ONE_FUNCTION} & setting.universe.keys() or draws.drawn(setting.universe):
        return
    left, right = Mean(P, norm_sq(X - eta * G - W_STAR)), MODELS - 2 * eta * sy.gap_t + eta**2 * noise
    proof = recursion(setting, right, left=left)
    if proof is not None:
        z, uses = (sy.Delta_0, MODELS_NEXT, MODELS_T), (d.Earlier("recursion"), d.premise("next-models"))
        yield Gain(sp.Integer(2), z, eta**2 * noise, proof.steps, uses, proof.conditions, (d.premise("mean-model"),))


def _of_slopes(setting: Setting, noise: sp.Expr, gained: sp.Expr) -> Iterator[Gain]:
    """By the fall of F: a share of eta ||grad F||^2, but for the drift and noise."""
    apart = sp.Integer(0) if inequality.SAME_STEP in setting.universe else eta * L**2 / 2
    right = sy.gap_t - gained * eta * norm_sq(SLOPE) + apart * sy.drift + L * eta**2 / 2 * noise
    proof = recursion(setting, right, left=GAP_NEXT)
    if proof is None:
        return
    for drift in (TOGETHER,) if apart == 0 else drifts(setting):
        uses = (d.Earlier("recursion"), *(((apart, drift.bound),) if apart != 0 else ()))
        steps = (*(drift.steps if apart != 0 else ()), *proof.steps)
        cost, z = L * eta**2 / 2 * noise + apart * drift.most, (sy.gap_0, GAP_NEXT, sy.gap)
        yield Gain(gained, z, cost, steps, uses, (*drift.conditions, *proof.conditions))


def _total(setting: Setting, cost: sp.Expr) -> sp.Expr | None:
    """What the costs of a run are at most: in the claim's sums of eta^j, a higher power by the largest step."""
    sums = {term: q for q, (_, _, after) in sums_of(setting.claim).items() if (term := _power(q, after)) is not None}
    sums |= {1: sy.eta_sum} if setting.claim.lhs != sy.eta_average_gap else {}
    bound = sp.Integer(0) if setting.cap is None else setting.cap.bound
    total = sp.Integer(0)
    for (j,), c in sp.Poly(cost, eta).terms():
        i = max((power for power in sums if power <= j), default=None)
        if i is None or (i < j and bound == 0):
            return total if c == 0 else None
        total += c * bound ** (j - i) * sums[i]
    return total


def _power(q: Quantity, after: sp.Expr) -> int | None:
    term = next((part for part in sp.Add.make_args(after) if part.has(eta)), sp.Integer(0))
    return int(term.as_base_exp()[1]) if term.as_base_exp()[0] == eta else None


def _proof(
    setting: Setting,
    right: sp.Expr,
    summed: tuple[sp.Expr, sp.Expr, sp.Expr],
    share: sp.Expr,
    gain: Gain,
    mean: str,
) -> Iterator[Proposal]:
    (now, last, term), (start, after, end), size = summed, gain.z, setting.eta
    unit = sp.Integer(1) if term.has(eta) else eta
    added = T * sp.expand(gain.cost / eta) if unit == eta else _total(setting, gain.cost)
    if added is None:
        return
    total, sums = start / unit + added, sums_of(setting.claim)
    then = {T: sy.t + 1, sy.eta_sum: sy.eta_sum} | {q: three[2] for q, three in sums.items()}
    each = added.xreplace(then) - added.xreplace({T: sy.t} | {q: three[1] for q, three in sums.items()})
    spare = termwise(setting, sp.expand((each - gain.cost / unit).subs(eta, size)))
    rest = termwise(setting, sp.expand((sp.cancel(right / share) - total / gain.gained).subs(eta, size)))
    if spare is None or rest is None:
        return
    before = rest.after(spare)
    steps = (
        *before.steps,
        *gain.steps,
        d.step("base", start / unit, "<=", start / unit),
        d.step("carry", gain.gained * (now + term) + after / unit, "<=", total.xreplace(then)).by(
            *((m / unit, fact) for m, fact in map(d.as_use, gain.uses)), d.Hypothesis("all"), *spare.uses
        ),
        d.step("all", gain.gained * last + end / unit, "<=", total).by(d.Induction("base", "carry")),
        *((TIME,) if share.has(T) else ()),
        *(DIVISOR if share.has(sy.eta_sum) else ()),
    )
    left = 1 / unit / gain.gained
    uses: list[d.Written] = [(1 / gain.gained, d.Earlier("all")), (gain.least * left, d.ONE), *rest.uses]
    uses += [*((left, fact) for fact in gain.at_end), *((d.premise(mean),) if mean else ())]
    conditions = (*gain.conditions, *before.conditions)
    yield steps, tuple((share * m, fact) for m, fact in map(d.as_use, uses)), conditions
