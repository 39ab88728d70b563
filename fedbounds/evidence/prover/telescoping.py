"""Sums and weighted means over a run, and its last iterate at a constant step: what a step gains is summed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import sympy as sp

from fedbounds.evidence.prover import draws, facts, inequality
from fedbounds.evidence.prover.recursions import recursion
from fedbounds.evidence.prover.run_setting import LIMITS, L, Proposal, Setting, T, eta, mu, t
from fedbounds.evidence.prover.step_facts import SLACK, TIME, noise_bound, small
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    GAP_NEXT,
    GAPS,
    W_NEXT,
    W_STAR,
    WEIGHTED,
    WEIGHTED_T,
    P,
    W,
    X,
    grad,
)
from fedbounds.evidence.symbolic.proof_objects import WEIGHTED_AVERAGE, averaging_weights
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Inner


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about a sum, a mean or the last iterate."""
    together = {inequality.SAME_STEP, "unbiased"} <= setting.universe.keys()
    if not together and not draws.drawn(setting.universe):
        return
    left, one = setting.claim.lhs, sp.Integer(1)
    mean = next((q for q in setting.claim.computed if averaging_weights(q) is not None), None)
    if mean is not None and left in (mean, T * mean):
        yield from _sums(setting, right, (averaging_weights(mean), WEIGHTED, WEIGHTED_T), d.premise(WEIGHTED_AVERAGE))
    elif left in (sy.average_gap, T * sy.average_gap):
        yield from _sums(setting, right, (one, GAPS, sy.gap_sum), d.premise("average"))
    elif left in (sy.gap_sum, sy.gap_sum / T):
        yield from _sums(setting, right, (one, GAPS, sy.gap_sum), None)
    if left == sy.gap and together and "no-noise" in setting.universe and not setting.eta.has(t):
        yield from _last_iterate(setting, right)


def _sums(
    setting: Setting, right: sp.Expr, summed: tuple[sp.Expr, sp.Expr, sp.Expr], mean: d.Premise | None
) -> Iterator[Proposal]:
    """sum_s c_s gap_s + A_t Delta_t grows by noise alone, A_{t+1} = c_t/(share eta_t); F of the mean is at most that.

    ``summed`` are the c_t, their sum over s < t, and over s < T.
    """
    (weights, now, last), positive = summed, setting.letters.positive
    whole_mean = setting.claim.lhs.is_Symbol and mean is not None
    scale, zero = setting.claim.lhs / last, sp.Integer(0)
    if mean is not None:
        scale = sp.cancel((1 if whole_mean else T) / sp.factor(sp.summation(weights, (t, 0, T - 1))))
    whole = sp.expand(sp.cancel(right / scale))
    first = sp.cancel(
        weights.subs(t, 0) / (whole.coeff(sy.Delta_0) or setting.eta.subs(t, 0)) / setting.eta.subs(t, 0)
    )
    shares = (first,) if first.is_Rational and first > 0 else (sp.Integer(2), sp.Integer(1))
    for noise, kept, share in product(setting.noises, (1 - eta * mu, sp.Integer(1)), shares):
        after = sp.cancel(weights / (share * setting.eta))
        each = weights * setting.eta / share if noise != 0 else zero
        added = sp.summation(each, (t, 0, T - 1)) if each.is_polynomial(t) else whole.coeff(noise)
        before, start, end = (after.subs(t, time - 1) for time in (t, sp.Integer(0), T))
        grown = sp.expand(added.subs(T, t + 1) - added.subs(T, t) - each)
        rest = termwise(setting, sp.expand(whole - start * sy.Delta_0 - added * noise))
        lost, more, at_end, next_ = map(positive, (before - after * kept.subs(eta, setting.eta), grown, end, after))
        if rest is None or None in (lost, more, at_end, next_) or added.subs(T, 0) != 0:
            continue
        bound = kept * sy.Delta - share * eta * sy.gap_t + eta**2 * noise
        proof = recursion(setting, bound)
        if proof is None:
            continue
        sums = start * sy.Delta_0 + added * noise
        steps = (
            *rest.steps,
            *proof.steps,
            d.step("base", start * sy.Delta_0, "<=", start * sy.Delta_0),
            d.step("carry", now + weights * sy.gap_t + after * sy.Delta_next, "<=", sums.subs(T, t + 1)).by(
                (next_, d.Earlier("recursion")),
                *((next_ * multiplier, fact) for multiplier, fact in setting.bridge(bound)),
                d.Hypothesis("all"),
                (lost * sy.Delta, d.ONE),
                (more * noise, d.ONE),
            ),
            d.step("all", last + end * sy.Delta_T, "<=", sums).by(d.Induction("base", "carry")),
            *((TIME,) if whole_mean or scale == 1 / T else ()),
        )
        uses: list[d.Written] = [
            d.Earlier("all"),
            (at_end * sy.Delta_T, d.ONE),
            *rest.uses,
            *([mean] if mean is not None else []),
        ]
        of_all = tuple((scale * multiplier, fact) for multiplier, fact in map(d.as_use, uses))
        yield steps, of_all, (*proof.conditions, *rest.conditions)


def _last_iterate(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """2 eta T (F(w_T) - F*) + ||w_T - w*||^2 does not grow: F falls, and a step pays for the gap that it leaves."""
    size = 2 * setting.eta
    rest = termwise(setting, sp.expand(T * right - sy.Delta_0 / size))
    share, weight = setting.letters.positive(size), setting.letters.positive(1 / size)
    if rest is None or share is None or weight is None:
        return
    for line, condition, _ in small(setting, LIMITS[2:3]):
        steps = (
            *rest.steps,
            line,
            _descent(setting),
            _paid(setting),
            d.step("base", sy.Delta_0, "<=", sy.Delta_0),
            d.step("carry", size * (t + 1) * GAP_NEXT + sy.Delta_next, "<=", sy.Delta_0).by(
                (share * t, d.Earlier("descent")),
                d.Earlier("paid"),
                *setting.bridge(-2 * eta * GAP_NEXT),
                d.Hypothesis("all"),
            ),
            d.step("all", size * T * sy.gap + sy.Delta_T, "<=", sy.Delta_0).by(d.Induction("base", "carry")),
            TIME,
        )
        last: tuple[d.Written, ...] = (
            (weight / T, d.Earlier("all")),
            (weight / T * sy.Delta_T, d.ONE),
            *((m / T, fact) for m, fact in rest.uses),
        )
        yield steps, last, (condition, *rest.conditions)


SLOPE = Centre(ALPHA, grad(X))


def _together(share: sp.Expr) -> d.Fact:
    """Local models are w_t, so that the distance from one to w_{t+1} is that from w_t."""
    return d.averaged(
        P,
        (L * share, d.premise(inequality.SAME_STEP, W_NEXT - W)),
        (-L * share / 2, d.premise(inequality.SAME_STEP, X - W)),
    )


def _descent(setting: Setting) -> d.Step:
    """F(w_{t+1}) <= F(w_t)."""
    return d.step("descent", GAP_NEXT, "<=", sy.gap_t).by(
        d.averaged(P, facts.convex(X, W), facts.smooth(X, W_NEXT), (mu / 2, d.premise(inequality.SAME_STEP, X - W))),
        _together(sp.Integer(1)),
        (-eta, d.premise("unbiased", Inner(grad(X), SLOPE))),
        (eta * (1 + SLACK) / 2, d.Square(SLOPE, "a square")),
        *noise_bound(setting, ALPHA, L * eta**2 / 2),
    )


def _paid(setting: Setting) -> d.Step:
    """2 eta (F(w_{t+1}) - F*) + Delta_next <= Delta."""
    return d.step("paid", 2 * eta * GAP_NEXT + sy.Delta_next, "<=", sy.Delta).by(
        d.averaged(
            P,
            (2 * eta, facts.smooth(X, W_NEXT)),
            (2 * eta, facts.convex(X, W_STAR)),
            (eta * mu, d.Square(X - W_STAR, "a square")),
        ),
        _together(2 * eta),
        (2 * eta, d.premise("unbiased", Inner(grad(X), W - W_STAR))),
        (-2 * eta**2, d.premise("unbiased", Inner(grad(X), SLOPE))),
        (eta**2 * SLACK, d.Square(SLOPE, "a square")),
        *noise_bound(setting, ALPHA, eta**2 + L * eta**3),
    )
