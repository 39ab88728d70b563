"""Sums and means over a run whose rounds have several steps: the drift is summed over a round in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.drifts import Drift, drifts
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.mean_steps import from_sum, mean_step, of_sum, shares
from fedbounds.evidence.prover.run_setting import L, Proposal, Setting, T, eta
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import GAPS, POWERS, W, n
from fedbounds.theory import symbols as sy


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about the sum or the mean of the gaps at a constant step size."""
    needed = {"smooth", "unbiased", "full-participation"} <= setting.universe.keys()
    least = facts.curvature_of(set(setting.universe))
    if not needed or least is None or setting.claim.eta != sy.eta_0 or statement.SAME_STEP in setting.universe:
        return
    scale = of_sum(setting.claim.lhs)
    if scale is None:
        return
    for noise in setting.noises:
        for drift in _in_both_forms(setting):
            proof = _summed(setting, noise, drift, sp.expand(right / scale), least)
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
    goal = statement.Goal(sy.Delta_next, bound, "step", setting.universe, None, setting.limits, setting.claim)
    uses = mean_step(W, (least, curved), kept)
    for noisy in facts.of_noise(setting.universe):
        every = [*map(d.as_use, uses), *((eta**2 * m, fact) for m, fact in noisy.uses)]
        mended = closing(goal, goal.frame, every, []) if noisy.value.coeff(noise or L, 1) or noise == 0 else None
        if mended is not None:
            return d.step("recursion", sy.Delta_next, "<=", bound).by(*every, *mended)
    return None
