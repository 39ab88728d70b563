"""Claims about one step of several in a round: how local models move, how far they are apart, what a step does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.drifts import ALIKE, drifts, noises_apart
from fedbounds.evidence.prover.gap_steps import descents, gap_steps
from fedbounds.evidence.prover.goal import ONE_FUNCTION, Goal
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.recursions import one_steps
from fedbounds.evidence.prover.run_setting import LIMITS, L, Proposal, Setting, eta
from fedbounds.evidence.prover.step_facts import both_ways, noise_bound, small
from fedbounds.evidence.prover.telescoping_with_drift import with_gap
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import START, G, P, X, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vector_normal_form import normal
from fedbounds.theory.vectors import Centre, Mean, norm_sq

k, sigma_sq = sy.local_step, sy.sigma_sq
Carried = tuple[tuple[d.Written, ...], tuple[d.Condition, ...]]
AWAY, SPREAD, SLOPE = (Mean(P, norm_sq(v)) for v in (X - START, X - Centre(P, X), grad(START)))
AFTER = {X: X - eta * G, k: k + 1}
# a of Young's weight 1/a, which is never 0.
YOUNG = (2 * k + 1, k + 1, sp.Integer(1))


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about local models at every step of a round, at a constant step size.

    They are inductions over its steps, with Young's inequality of a free weight.
    """
    goal = Goal(setting.claim.lhs, right, "step", setting.universe, None, (), setting.claim)
    left, bound = (_in_points(side, goal) for side in (goal.left, right))
    for line, condition, _ in small(setting, LIMITS[4:5], ALIKE):
        for lengths, carried in ((AWAY, _away), (SPREAD, _apart)):
            for uses, conditions in carried(setting, bound) if normal(left - lengths) == 0 else ():
                shown = d.step("all", lengths, "<=", bound)
                mended = closing(goal, goal.frame, [(sp.Integer(1), d.Earlier("all"))], [shown])
                steps = (
                    line,
                    d.step("base", lengths.xreplace({X: START}), "<=", bound.subs(k, 0)).by(
                        (bound.subs(k, 0), d.ONE)
                    ),
                    d.step("carry", lengths.xreplace(AFTER), "<=", bound.xreplace(AFTER)).by(
                        d.Hypothesis("all"), *uses
                    ),
                    shown.by(d.Induction("base", "carry", local=True)),
                )
                yield steps, (d.Earlier("all"), *(mended or ())), (condition, *conditions)


def _in_points(side: sp.Expr, goal: Goal) -> sp.Expr:
    """A side in the local models, their weights p."""
    for _ in range(2):
        side = sp.sympify(side).xreplace(dict(goal.meanings))
    for kind in (Centre, Mean):
        side = side.xreplace({item: kind(P, item.args[1]) for item in side.atoms(kind)})
    return sp.expand(side)


def _apart(setting: Setting, bound: sp.Expr) -> Iterator[Carried]:
    """The variance of the models of identical clients grows by that of their noise."""
    if not {ONE_FUNCTION, "full-participation"} <= setting.universe.keys():
        return
    for share, uses, conditions in noises_apart(setting):
        rest = _positive(setting, bound.xreplace(AFTER) - bound - eta**2 * share * sigma_sq)
        if rest is not None:
            yield (*uses, *rest), conditions


def _away(setting: Setting, bound: sp.Expr) -> Iterator[Carried]:
    """||x - w - eta g||^2 <= (1 + 1/a) ||x - w - eta (g - g_0)||^2 + (1 + a) eta^2 ||g_0||^2, g_0 at the start w."""
    noise = sp.Integer(0) if "no-noise" in setting.universe else sigma_sq
    turn = grad(X) - grad(START)
    both = both_ways(X, START)
    for a in YOUNG:
        more = 1 + 1 / a
        rest = _positive(setting, bound.xreplace(AFTER) - more * bound - (1 + a) * eta**2 * SLOPE - eta**2 * noise)
        if rest is not None:
            yield (
                (
                    (1 / a, d.Hypothesis("all")),
                    d.averaged(
                        P,
                        *((2 * eta * more * m, fact) for m, fact in both),
                        (more * eta * ALIKE / L, d.Square(turn, "a square")),
                        (1 / a, d.Square(X - START - eta * turn + a * eta * grad(START), "Young's inequality")),
                    ),
                    *noise_bound(setting, P, eta**2, mean=False),
                    *rest,
                ),
                (),
            )


def _positive(setting: Setting, number: sp.Expr) -> list[d.Use] | None:
    """The terms of c sigma^2 + b sum_i p_i ||grad F_i(w)||^2 where neither coefficient is negative on sight."""
    slope = sp.Dummy(nonnegative=True)
    uses: list[d.Use] = []
    gradients = d.averaged(P, d.Square(grad(START), "a square"))
    of: dict[tuple[int, ...], d.Use] = {(1, 0): (sigma_sq, d.ONE), (0, 1): (sp.Integer(1), gradients)}
    for powers, coefficient in sp.Poly(
        sp.expand(sp.cancel(number.xreplace({SLOPE: slope}))), sigma_sq, slope
    ).terms():
        shown = setting.letters.positive(coefficient)
        if shown is None or (powers not in of and shown != 0):
            return None
        if shown != 0:
            uses.append((shown * of[powers][0], of[powers][1]))
    return uses


def of_one_step(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about one step, or about the drift, by an inequality that is shown for the claim's steps."""
    moving = (q for q in setting.claim.computed if q.statistic != "constant")
    meant = {q: q.expression for q in moving if q.expression is not None}
    left, right = setting.claim.lhs.xreplace(meant), right.xreplace(meant)
    for drift in drifts(setting) if left == sy.drift else ():
        rest = _beyond(setting, right, drift.most)
        if rest is not None:
            yield drift.steps, (drift.bound, *rest), drift.conditions
    if left == sy.Delta_next and right.coeff(sy.gap_t) != 0:
        yield from _with_gap(setting, right)
    for step in chain(one_steps(setting), descents(setting), gap_steps(setting)):
        same = normal(step.of.next - left) == 0
        rest = _beyond(setting, right, step.kept * step.of.now + step.added) if same else None
        proof = None if rest is None else step.proof()
        if rest is not None and proof is not None:
            yield proof.steps, (d.Earlier("recursion"), *rest), proof.conditions


def _with_gap(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """The step of the distance that keeps the gap, the drift as it is or bounded."""
    least = facts.curvature_of(set(setting.universe))
    if least is None or not {"smooth", "unbiased", "full-participation"} <= setting.universe.keys():
        return
    for curved, noise in product({least, sp.Integer(0)}, setting.noises):
        step = with_gap(setting, noise, least, curved)
        if step is None:
            continue
        for drift in (None, *drifts(setting)):
            share = step.rhs.coeff(sy.drift) if drift is not None else sp.Integer(0)
            most, bound = (sy.drift, ()) if drift is None else (drift.most, ((share, drift.bound),))
            rest = _beyond(setting, right, step.rhs.subs(sy.drift, most))
            if rest is not None:
                lines, conditions = ((), ()) if drift is None else (drift.steps, drift.conditions)
                yield (*lines, step), (d.Earlier("recursion"), *bound, *rest), conditions


def _beyond(setting: Setting, right: sp.Expr, shown: sp.Expr) -> list[d.Use] | None:
    """What the claim's bound leaves above the one that is shown, term by term at the claim's steps."""
    more = sp.expand(right - shown)
    rest = termwise(setting, more.subs(eta, setting.eta))
    return None if rest is None or rest.steps else [*rest.uses, *setting.bridge(-more)]
