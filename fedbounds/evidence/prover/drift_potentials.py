"""Mean gaps at a constant step, where nothing but the gaps bounds the drift: a potential carries it in a round.

In a round the drift D grows by D' <= (1 + 1/a) D + (1 + a) eta^2 S for a = n + DELTA, S the spread of gradients at
w_t, and S <= 4 L gap + 2 zeta_*^2. So D + b(n + 1) D' <= b(n) D + c(n + 1) eta^2 S: b and c are in `proof_objects`.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.drifts import even_and_pulled, no_farther
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.mean_steps import from_sum, mean_step, of_sum, shares
from fedbounds.evidence.prover.run_setting import LENGTH, LIMITS, L, Proposal, Setting, T, eta, tau
from fedbounds.evidence.prover.step_facts import SLACK, noise_apart, noise_bound, small
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    DELTA,
    GAPS,
    POTENTIAL_NEXT,
    POTENTIAL_T,
    W_NEXT,
    W_STAR,
    G,
    P,
    W,
    X,
    grad,
    left_in_round,
    n,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Mean, norm_sq

STEP = X - eta * G - W_NEXT
SPREAD = Mean(P, norm_sq(grad(W) - Centre(P, grad(W))))


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about the sum or the mean of the gaps, with full gradients."""
    needed = {"smooth", "unbiased", "full-participation", "no-noise"} <= setting.universe.keys()
    least, scale = facts.curvature_of(set(setting.universe)), of_sum(setting.claim.lhs)
    stated = setting.claim.eta == sy.eta_0 and setting.cap is not None and statement.SAME_STEP not in setting.universe
    if not (needed and stated) or least is None or scale is None:
        return
    for line, condition, _ in small(setting, LIMITS[4:5]):
        proof = _summed(setting, sp.expand(right / scale), least)
        if proof is not None:
            steps, uses = proof
            conditions = condition, d.Condition(LENGTH, d.premise("round"))
            yield from_sum(setting.claim.lhs, (line, *steps), uses, conditions)


def _summed(
    setting: Setting, whole: sp.Expr, least: sp.Expr
) -> tuple[tuple[d.Step, ...], tuple[d.Written, ...]] | None:
    positive, size, first = setting.letters.positive, setting.eta, left_in_round(sp.Integer(1))
    at_cap = sp.cancel(setting.cap.bound * L) if setting.cap is not None else sp.nan
    gained = 2 - 4 * (eta * L) ** 2 * first
    share = sp.cancel(gained.subs(eta, at_cap / L))
    added = 2 * L * eta**2 * first * sy.zeta_star_sq
    spare, inverse, weight = positive(gained - share), positive(1 / share), positive(1 / size)
    if share.has(L) or spare is None or inverse is None or weight is None:
        return None
    rest = termwise(setting, sp.expand((whole - (sy.Delta_0 / eta + T * added) / share).subs(eta, size)))
    lines = _lines(setting, least)
    if rest is None or rest.steps or lines is None:
        return None
    sums = sy.Delta_0 / eta + T * added
    below = L * eta**2 * (n * (n + 1) / 2 + DELTA * n)  # what c(1) is above c(n + 1)
    steps = (
        *lines,
        d.step("base", sy.Delta_0 / eta, "<=", sy.Delta_0 / eta),
        d.step(
            "carry",
            share * (GAPS + sy.gap_t) + sy.Delta_next / eta + L * POTENTIAL_NEXT,
            "<=",
            sums.subs(T, sy.t + 1),
        ).by(
            (1 / eta, d.Earlier("recursion")),
            (L, d.premise("drift-potential")),
            (L * LENGTH * (tau + n + 2 * DELTA) / (2 * (n + 1 + DELTA)), d.Earlier("apart-next")),
            (L * LENGTH * (tau + n + 2 * DELTA) / 2 * eta**2, d.Earlier("spread")),
            (below * (4 * L * sy.gap_t + 2 * sy.zeta_star_sq), d.ONE),
            (spare * sy.gap_t, d.ONE),
            d.Hypothesis("all"),
        ),
        d.step("all", share * sy.gap_sum + sy.Delta_T / eta + L * POTENTIAL_T, "<=", sums).by(
            d.Induction("base", "carry")
        ),
    )
    last: tuple[d.Written, ...] = (
        (inverse, d.Earlier("all")),
        (inverse * weight * sy.Delta_T, d.ONE),
        (inverse * L * POTENTIAL_T, d.ONE),
        *rest.uses,
    )
    return steps, last


def _lines(setting: Setting, least: sp.Expr) -> tuple[d.Step, ...] | None:
    """One step of the distance, the spread of gradients, and one step of the drift."""
    a, kept = n + DELTA, shares(setting, sp.Integer(0))
    if kept is None:
        return None
    (even, pulled), more = even_and_pulled(W), 1 + 1 / a
    step = sy.Delta - 2 * eta * sy.gap_t + eta * L * sy.drift
    wanted: dict[str, tuple[sp.Expr, sp.Expr, tuple[d.Written, ...]]] = {
        "recursion": (
            sy.Delta_next,
            step,
            (
                *mean_step(W, (least, sp.Integer(0)), kept),
                *noise_bound(setting, ALPHA, eta**2),
            ),
        ),
        "spread": (
            SPREAD,
            4 * L * sy.gap_t + 2 * sy.zeta_star_sq,
            (
                d.averaged(
                    P,
                    *((4 * L * m, fact) for m, fact in facts.cocoercive(W, W_STAR, least).uses),
                    d.Square(grad(W) - 2 * grad(W_STAR), "Young's inequality"),
                ),
                d.Square(Centre(P, grad(W)), "a variance is below any second moment"),
            ),
        ),
        "apart-next": (
            Mean(P, norm_sq(STEP)),
            more * sy.drift + (1 + a) * eta**2 * SPREAD,
            (
                *no_farther(W, least, more, SLACK),
                d.averaged(P, (1 / a, d.Square(even + a * pulled, "Young's inequality"))),
                *noise_apart(setting),
            ),
        ),
    }
    lines = []
    slack = ((d.Condition(SLACK, d.Earlier("small")), LIMITS[4]), *setting.limits)
    for label, (left, right, written) in wanted.items():
        uses = [d.as_use(use) for use in written]
        goal = statement.Goal(left, right, "step", setting.universe, None, slack, setting.claim)
        mended = closing(goal, goal.frame, uses, [])
        if mended is None:
            return None
        lines.append(d.step(label, left, "<=", right).by(*uses, *mended))
    return tuple(lines)
