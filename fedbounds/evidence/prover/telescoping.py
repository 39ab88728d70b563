"""Sums and means over a run, and its last iterate, at a constant step: what a step gains is summed."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.recursions import SLACK, noise_bound, recursion, small
from fedbounds.evidence.prover.run_setting import LIMITS, L, Setting, T, eta, mu, t, termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    GAP_NEXT,
    GAPS,
    W_NEXT,
    W_STAR,
    P,
    W,
    X,
    grad,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Inner

Proposal = tuple[tuple[d.Step, ...], tuple[d.Written, ...], tuple[d.Condition, ...]]
TIME = d.step("time", T, ">", 0).by(d.premise("some-time"))


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about a sum, a mean or the last iterate."""
    if setting.eta.has(t) or not {statement.SAME_STEP, "unbiased"} <= setting.universe.keys():
        return
    if setting.claim.lhs in (sy.average_gap, T * sy.average_gap, sy.gap_sum):
        yield from _sums(setting, right)
    if setting.claim.lhs == sy.gap and "no-noise" in setting.universe:
        yield from _last_iterate(setting, right)


def _sums(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Delta_next <= Delta - share eta gap_t + added telescopes; the gap of the mean is at most the mean gap."""
    left = setting.claim.lhs
    over_time = left == sy.average_gap
    start = sp.cancel(sp.expand(right * (T if over_time else 1)).coeff(sy.Delta_0, 1))
    if start == 0 or start.has(T):
        return
    k, share = 1 / start, sp.cancel(1 / (start * setting.eta))
    weight = setting.letters.positive(start)
    if not share.is_Rational or weight is None:
        return
    for noise in setting.noises:
        added = eta**2 * noise
        there = added.subs(eta, setting.eta)
        total = right if over_time else right / T
        rest = termwise(setting, sp.expand(total - start * (sy.Delta_0 / T + there)))
        proof = None if rest is None else recursion(setting, sy.Delta - share * eta * sy.gap_t + added)
        if rest is None or proof is None:
            continue
        line = k * sy.gap_sum + sy.Delta_T
        steps = (
            *(shown for shown, _ in rest[1]),
            *proof.steps,
            d.step("base", sy.Delta_0, "<=", sy.Delta_0),
            d.step("carry", k * (GAPS + sy.gap_t) + sy.Delta_next, "<=", sy.Delta_0 + (t + 1) * there).by(
                d.Earlier("recursion"), *setting.bridge(-share * eta * sy.gap_t + added), d.Hypothesis("all")
            ),
            d.step("all", line, "<=", sy.Delta_0 + T * there).by(d.Induction("base", "carry")),
            *((TIME,) if over_time else ()),
        )
        scale = 1 / T if over_time else sp.Integer(1)
        last: tuple[d.Written, ...] = (
            *(((scale, d.premise("average")),) if left != sy.gap_sum else ()),
            (scale * weight, d.Earlier("all")),
            (scale * weight * sy.Delta_T, d.ONE),
            *((m * (1 if over_time else T), fact) for m, fact in rest[0]),
        )
        yield steps, last, (*proof.conditions, *(condition for _, condition in rest[1]))


def _last_iterate(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """2 eta T (F(w_T) - F*) + ||w_T - w*||^2 does not grow: F falls, and a step pays for the gap that it leaves."""
    size = 2 * setting.eta
    rest = termwise(setting, sp.expand(T * right - sy.Delta_0 / size))
    share, weight = setting.letters.positive(size), setting.letters.positive(1 / size)
    if rest is None or share is None or weight is None:
        return
    for line, condition, _ in small(setting, LIMITS[2:3]):
        steps = (
            *(shown for shown, _ in rest[1]),
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
            *((m / T, fact) for m, fact in rest[0]),
        )
        yield steps, last, (condition, *(condition for _, condition in rest[1]))


SLOPE = Centre(ALPHA, grad(X))


def _together(share: sp.Expr) -> d.Fact:
    """Local models are w_t, so that the distance from one to w_{t+1} is that from w_t."""
    return d.averaged(
        P,
        (L * share, d.premise(statement.SAME_STEP, W_NEXT - W)),
        (-L * share / 2, d.premise(statement.SAME_STEP, X - W)),
    )


def _descent(setting: Setting) -> d.Step:
    """F(w_{t+1}) <= F(w_t)."""
    return d.step("descent", GAP_NEXT, "<=", sy.gap_t).by(
        d.averaged(P, facts.convex(X, W), facts.smooth(X, W_NEXT), (mu / 2, d.premise(statement.SAME_STEP, X - W))),
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
