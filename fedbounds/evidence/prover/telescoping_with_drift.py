"""Sums and means over a run whose rounds have several steps: the drift is summed over a round in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, product

import sympy as sp

from fedbounds.evidence.prover import facts, inequality
from fedbounds.evidence.prover.drifts import Drift, drifts, even_and_pulled, no_farther
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.run_setting import LENGTH, LIMITS, L, Proposal, Setting, T, eta, tau
from fedbounds.evidence.prover.step_facts import (
    SLACK,
    from_sum,
    mean_step,
    noise_apart,
    noise_bound,
    of_sum,
    shares,
    small,
)
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    DELTA,
    GAPS,
    POTENTIAL_NEXT,
    POTENTIAL_T,
    POWERS,
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


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about the sum or the mean of the gaps at a constant step size."""
    needed = {"smooth", "unbiased", "full-participation"} <= setting.universe.keys()
    least, scale = facts.curvature_of(set(setting.universe)), of_sum(setting.claim.lhs)
    constant = setting.claim.eta == sy.eta_0 and inequality.SAME_STEP not in setting.universe
    if not (needed and constant) or least is None or scale is None:
        return
    whole = sp.expand(right / scale)
    several = product(setting.noises, _in_both_forms(setting))
    summed = (_summed(setting, noise, drift, whole, least) for noise, drift in several)
    for proof in chain(summed, _summed_with_potential(setting, whole, least)):
        if proof is not None:
            yield from_sum(setting.claim.lhs, *proof)


def _in_both_forms(setting: Setting) -> Iterator[Drift]:
    """Each bound on the drift, and where it counts the steps of the round the largest of these too."""
    for drift in drifts(setting):
        yield drift
        if drift.by_steps is not None:
            yield replace(drift, by_steps=None)


def _summed(setting: Setting, noise: sp.Expr, drift: Drift, whole: sp.Expr, least: sp.Expr) -> Proposal | None:
    """2 sum_s gap_s + Delta_T/eta grows by what noise and drift add: by n at each step, or at most."""
    share, positive, size = sp.Integer(2), setting.letters.positive, sp.sympify(setting.eta)
    powers = sp.Poly(drift.by_steps or 0, n)
    most = L * drift.most if drift.by_steps is None else sp.Integer(0)
    if powers.degree() > len(POWERS) or powers.coeff_monomial(1) != 0:
        return None
    each = {j: L * c for j in range(1, len(POWERS) + 1) if (c := powers.coeff_monomial(n**j)) != 0}
    shown = sp.Add(sy.Delta_0 / eta, T * (eta * noise + most), *(c * POWERS[j - 1].most(T) for j, c in each.items()))
    rest = termwise(setting, sp.expand((whole - shown / share).subs(eta, size)))
    weight, times = positive(1 / size), {j: positive(c / share) for j, c in each.items()}
    if rest is None or weight is None or None in times.values():
        return None
    step = with_gap(setting, noise, least, sp.Integer(0))
    if step is None:
        return None
    sums = sy.Delta_0 / eta + T * (eta * noise + most) + sp.Add(*(c * POWERS[j - 1].last for j, c in each.items()))
    after = {T: sy.t + 1} | {POWERS[j - 1].last: POWERS[j - 1].now + n**j for j in each}
    steps = (
        *drift.steps,
        step,
        d.step("base", sy.Delta_0 / eta, "<=", sy.Delta_0 / eta),
        d.step("carry", share * (GAPS + sy.gap_t) + sy.Delta_next / eta, "<=", sums.xreplace(after)).by(
            (1 / eta, d.Earlier("recursion")),
            (L, drift.bound if drift.by_steps is None else d.Earlier("away")),
            d.Hypothesis("all"),
        ),
        d.step("all", share * sy.gap_sum + sy.Delta_T / eta, "<=", sums).by(d.Induction("base", "carry")),
    )
    last: tuple[d.Written, ...] = (
        (1 / share, d.Earlier("all")),
        (weight / share * sy.Delta_T, d.ONE),
        *((c, d.premise("round-sums", sp.Integer(j))) for j, c in times.items() if c is not None),
        *rest.uses,
    )
    return (*rest.steps, *steps), last, (*drift.conditions, *rest.conditions)


def with_gap(setting: Setting, noise: sp.Expr, least: sp.Expr, curved: sp.Expr) -> d.Step | None:
    """The step of the distance that keeps the gap, of losses of curvature ``least``, of which ``curved`` is kept."""
    kept = shares(setting, curved)
    if kept is None:
        return None
    q = 1 - eta * curved
    bound = q * (sy.Delta - 2 * eta * sy.gap_t + eta * (L - curved) * sy.drift) + eta**2 * noise
    goal = inequality.Goal(sy.Delta_next, bound, "step", setting.universe, None, setting.limits, setting.claim)
    uses = mean_step(W, (least, curved), kept)
    for noisy in facts.of_noise(setting.universe):
        every = [*map(d.as_use, uses), *((eta**2 * m, fact) for m, fact in noisy.uses)]
        mended = closing(goal, goal.frame, every, []) if noisy.value.coeff(noise or L, 1) or noise == 0 else None
        if mended is not None:
            return d.step("recursion", sy.Delta_next, "<=", bound).by(*every, *mended)
    return None


PARTED = X - eta * G - W_NEXT
SPREAD = Mean(P, norm_sq(grad(W) - Centre(P, grad(W))))


def _summed_with_potential(setting: Setting, whole: sp.Expr, least: sp.Expr) -> Iterator[Proposal]:
    """With full gradients, where nothing but the gaps bounds the drift: a potential carries it in a round.

    In a round the drift D grows by D' <= (1 + 1/a) D + (1 + a) eta^2 S for a = n + DELTA, S the spread of gradients
    at w_t, and S <= 4 L gap + 2 zeta_*^2. So D + b(n + 1) D' <= b(n) D + c(n + 1) eta^2 S: b and c are in
    `proof_objects`.
    """
    shown = next(small(setting, LIMITS[4:5]), None)
    if setting.cap is None or shown is None or "no-noise" not in setting.universe:
        return
    positive, size, first = setting.letters.positive, setting.eta, left_in_round(sp.Integer(1))
    at_cap = sp.cancel(setting.cap.bound * L)
    gained = 2 - 4 * (eta * L) ** 2 * first
    share = sp.cancel(gained.subs(eta, at_cap / L))
    added = 2 * L * eta**2 * first * sy.zeta_star_sq
    spare, inverse, weight = positive(gained - share), positive(1 / share), positive(1 / size)
    if share.has(L) or spare is None or inverse is None or weight is None:
        return
    rest = termwise(setting, sp.expand((whole - (sy.Delta_0 / eta + T * added) / share).subs(eta, size)))
    lines = _lines(setting, least)
    if rest is None or rest.steps or lines is None:
        return
    sums = sy.Delta_0 / eta + T * added
    below = L * eta**2 * (n * (n + 1) / 2 + DELTA * n)  # what c(1) is above c(n + 1)
    steps = (
        shown[0],
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
    yield steps, last, (shown[1], d.Condition(LENGTH, d.premise("round")))


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
            Mean(P, norm_sq(PARTED)),
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
        goal = inequality.Goal(left, right, "step", setting.universe, None, slack, setting.claim)
        mended = closing(goal, goal.frame, uses, [])
        if mended is None:
            return None
        lines.append(d.step(label, left, "<=", right).by(*uses, *mended))
    return tuple(lines)
