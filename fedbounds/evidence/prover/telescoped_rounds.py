"""Sums and means over a run whose rounds have several steps: the drift is summed over a round in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.drifts import Drift, drifts
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.mean_steps import from_sum, mean_step, of_sum
from fedbounds.evidence.prover.run_setting import ROOM, L, Proposal, Setting, T, eta
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, GAPS, POWERS, W, X, grad, n
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre

# The shares of the gap and of L times the drift with which a step is tried: 2 - 4 eta L and 1 + 2 eta L bound them.
SHARES = tuple(
    (sp.Rational(gap), sp.Rational(apart)) for gap, apart in (("1", "3/2"), ("3/2", "5/4"), ("1/2", "7/4"))
)


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about the sum or the mean of the gaps at a constant step size."""
    needed = {"smooth", "unbiased", "full-participation"} <= setting.universe.keys()
    least = facts.curvature_of(set(setting.universe))
    if not needed or least is None or setting.claim.eta != sy.eta_0 or statement.SAME_STEP in setting.universe:
        return
    scale = of_sum(setting.claim.lhs)
    if scale is None:
        return
    for share, apart in SHARES:
        for noise in setting.noises:
            for drift in _in_both_forms(setting):
                proof = _summed(setting, (share, apart), noise, drift, sp.expand(right / scale), least)
                if proof is not None:
                    yield from_sum(setting.claim.lhs, *proof)


def _in_both_forms(setting: Setting) -> Iterator[Drift]:
    """Each bound on the drift, and where it counts the steps of the round the largest of these too."""
    for drift in drifts(setting):
        yield drift
        if drift.by_steps is not None:
            yield replace(drift, by_steps=None)


def _summed(
    setting: Setting, shares: tuple[sp.Expr, sp.Expr], noise: sp.Expr, drift: Drift, whole: sp.Expr, least: sp.Expr
) -> Proposal | None:
    """share sum_s gap_s + Delta_T/eta grows by what noise and drift add: by n at each step, or at most."""
    (share, apart), positive, size = shares, setting.letters.positive, sp.sympify(setting.eta)
    powers = sp.Poly(drift.by_steps or 0, n)
    most = apart * L * drift.most if drift.by_steps is None else sp.Integer(0)
    if powers.degree() > len(POWERS) or powers.coeff_monomial(1) != 0:
        return None
    each = {j: apart * L * c for j in range(1, len(POWERS) + 1) if (c := powers.coeff_monomial(n**j)) != 0}
    shown = sp.Add(sy.Delta_0 / eta, T * (eta * noise + most), *(c * POWERS[j - 1].most(T) for j, c in each.items()))
    rest = termwise(setting, sp.expand((whole - shown / share).subs(eta, size)))
    weight = positive(1 / size)
    if rest is None or weight is None:
        return None
    step = with_gap(setting, shares, noise, least)
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
            (apart * L, drift.bound if drift.by_steps is None else d.Earlier("away")),
            (least * sy.Delta, d.ONE),
            d.Hypothesis("all"),
        ),
        d.step("all", share * sy.gap_sum + sy.Delta_T / eta, "<=", sums).by(d.Induction("base", "carry")),
    )
    last: tuple[d.Written, ...] = (
        (1 / share, d.Earlier("all")),
        (weight / share * sy.Delta_T, d.ONE),
        *((c / share, d.premise("round-sums", sp.Integer(j))) for j, c in each.items()),
        *rest.uses,
    )
    return (*rest.steps, *steps), last, (*drift.conditions, *rest.conditions)


def with_gap(setting: Setting, shares: tuple[sp.Expr, sp.Expr], noise: sp.Expr, least: sp.Expr) -> d.Step | None:
    """The step of the distance that keeps the gap, with these shares of it and of the drift."""
    (share, apart), positive = shares, setting.letters.positive
    spare, more = positive(2 - 4 * eta * L - share), positive((apart - 1 - 2 * eta * L) * L + least)
    if spare is None or more is None:
        return None
    bound = (1 - eta * least) * sy.Delta - share * eta * sy.gap_t + apart * eta * L * sy.drift + eta**2 * noise
    at_step = {sy.eta_0: eta}  # which the step sizes are
    cap = () if setting.cap is None else (setting.cap.room.xreplace(at_step),)
    limits = tuple((d.Condition(ROOM, d.Earlier("cap")), room) for room in cap)
    goal = statement.Goal(sy.Delta_next, bound, "step", setting.universe, None, limits, setting.claim)
    uses = mean_step(W, Centre(ALPHA, grad(X)), least, spare.xreplace(at_step), more.xreplace(at_step))
    for noisy in facts.of_noise(setting.universe):
        every = [*map(d.as_use, uses), *((eta**2 * m, fact) for m, fact in noisy.uses)]
        mended = closing(goal, goal.frame, every, []) if noisy.value.coeff(noise or L, 1) or noise == 0 else None
        if mended is not None:
            return d.step("recursion", sy.Delta_next, "<=", bound).by(*every, *mended)
    return None
