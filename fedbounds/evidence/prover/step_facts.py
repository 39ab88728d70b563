"""What the inequalities of one step share: small step sizes, bounds on the noise, and the step of the mean model."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.run_setting import LIMITS, L, Proposal, Setting, T, eta, mu
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import NOISE, W_STAR, P, X, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre

SLACK = sp.Symbol("slack", nonnegative=True)
Uses = tuple[d.Written, ...]


def small(
    setting: Setting, among: tuple[sp.Expr, ...] = LIMITS, slack: sp.Symbol = SLACK
) -> Iterator[tuple[d.Step, d.Condition, sp.Expr]]:
    """eta L <= c shown for the claim's steps: the step, the condition, and the symbol's meaning."""
    for limit in (item.xreplace({L: mu}) for item in among) if setting.equal else among:
        shown = setting.letters.positive(limit.subs(eta, setting.eta))
        if shown is not None:
            label = "small" if slack == SLACK else f"small-{slack.name}"
            line = d.step(label, 0, "<=", limit).by((shown, d.ONE), *setting.bridge(-limit))
            yield line, d.Condition(slack, d.Earlier(label)), limit
            return


def both_ways(x: sp.Expr, y: sp.Expr, least: sp.Expr = mu) -> tuple[d.Use, ...]:
    """Co-coercivity from each of two points to the other."""
    return (*facts.cocoercive(x, y, least).uses, *facts.cocoercive(y, x, least).uses)


def noise_apart(setting: Setting) -> Uses:
    """What shows that the noise of a step, less its mean, adds at most eta^2 sigma^2 in the clients' mean."""
    variance = d.Square(Centre(P, NOISE), "a variance is below any second moment")
    return ((eta**2, variance), *noise_bound(setting, P, eta**2, mean=False))


def noise_bound(setting: Setting, weights: sp.Expr, share: sp.Expr, mean: bool = True) -> Uses:
    """share (sigma^2 - E||noise||^2) >= 0 of the weights' mean of the noise, or of each client's; 0 without noise."""
    jensen = ((share, d.Square(NOISE - Centre(weights, NOISE), "Jensen: a variance")),) if mean else ()
    if "no-noise" in setting.universe:
        return (d.averaged(weights, *jensen, (-share, d.premise("no-noise"))),)
    return (d.averaged(weights, *jensen, (share, d.premise("bounded-variance", X))),)


ZERO = sp.Integer(0)
TIME = d.step("time", T, ">", 0).by(d.premise("some-time"))


def of_sum(left: sp.Expr) -> sp.Expr | None:
    """The share of sum_t gap_t that bounds what a claim is about: the sum, or the mean; None for anything else."""
    shares = {
        sy.gap_sum: sp.Integer(1),
        sy.gap_sum / T: 1 / T,
        T * sy.average_gap: sp.Integer(1),
        sy.average_gap: 1 / T,
    }
    return shares.get(left)


def from_sum(left: sp.Expr, steps: tuple[d.Step, ...], uses: Uses, conditions: tuple[d.Condition, ...]) -> Proposal:
    """The proof of a claim about the sum of the gaps, or their mean, from one about the sum."""
    scale, mean = of_sum(left), () if left.has(sy.gap_sum) else (d.premise("average"),)
    time = () if scale == 1 else (TIME,)
    return (*steps, *time), tuple((scale * m, fact) for m, fact in map(d.as_use, (*uses, *mean))), conditions


def shares(setting: Setting, curved: sp.Expr) -> tuple[sp.Expr, ...] | None:
    """1 - eta mu, and what else must not be negative where ``curved`` is mu: 1, and 1 - eta L where it is 0."""
    q = 1 - eta * curved
    found = [setting.letters.positive(number) for number in (q, (1 - eta * L) * q - (eta * curved) ** 2)]
    # At a constant step size it is that of every step.
    return None if None in found else tuple(item.xreplace({sy.eta_0: eta}) for item in found if item is not None)


def mean_step(
    centre: sp.Expr, curvatures: tuple[sp.Expr, sp.Expr], kept: tuple[sp.Expr, ...], spare: sp.Expr = ZERO
) -> Uses:
    """What shows Delta_next <= (1 - eta mu) (Delta - 2 eta gap + eta (L - mu) drift) for the mean ``centre``.

    ``curvatures`` are what convexity grants and what is used of it, mu or 0 each; ``kept`` are the `shares`, and
    ``spare`` >= 0 that of eta gap that is not needed.
    """
    (least, curved), (q, left) = curvatures, kept
    turned = grad(X) - grad(W_STAR) - curved * (X - W_STAR)
    end = W_STAR + eta * turned
    flat = ((mu / 2, d.Square(end - X, "a square")),) if least != curved else ()
    return (
        (
            2 * eta * q,
            d.averaged(P, facts.smooth(W_STAR, end), facts.convex(X, end, least), *flat, facts.smooth(X, centre)),
        ),
        d.averaged(
            P,
            (eta**2, d.Square(turned - Centre(P, turned), "Jensen: a variance")),
            (eta**2 * left, d.Square(turned, "a square")),
        ),
        d.premise("optimum", eta**2 * (Centre(P, grad(W_STAR) - 2 * grad(X)) + 2 * curved * (centre - W_STAR))),
        *((eta * spare * m, fact) for m, fact in _above_least(centre, least)),
    )


def _above_least(point: sp.Expr, least: sp.Expr) -> tuple[d.Use, ...]:
    """F(point) >= F(w*)."""
    curved = ((least / 2, d.Square(point - W_STAR, "a square")),) if least != 0 else ()
    above = d.averaged(P, facts.convex(W_STAR, point, least), *curved)
    return d.as_use(above), d.as_use(d.premise("optimum", point - W_STAR))
