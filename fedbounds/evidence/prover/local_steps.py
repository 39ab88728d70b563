"""How far local models move in a round: an induction over its steps, with Young's inequality of a free weight."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from fedbounds.evidence.prover.drifts import ALIKE, noises_apart
from fedbounds.evidence.prover.goal import ONE_FUNCTION, Goal
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.run_setting import LIMITS, L, Proposal, Setting, eta
from fedbounds.evidence.prover.step_facts import both_ways, noise_bound, small
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import START, G, P, X, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.normal_form import normal
from fedbounds.theory.vectors import Centre, Mean, norm_sq

k, sigma_sq = sy.local_step, sy.sigma_sq
Carried = tuple[tuple[d.Written, ...], tuple[d.Condition, ...]]
AWAY, SPREAD, SLOPE = (Mean(P, norm_sq(v)) for v in (X - START, X - Centre(P, X), grad(START)))
AFTER = {X: X - eta * G, k: k + 1}
# a of Young's weight 1/a, which is never 0.
YOUNG = (2 * k + 1, k + 1, sp.Integer(1))


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about local models at every step of a round, at a constant step size."""
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
