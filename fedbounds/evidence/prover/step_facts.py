"""What the inequalities of one step share: step sizes that are small enough, and bounds on the noise."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.run_setting import LIMITS, L, Setting, eta, mu
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import NOISE, P, X
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
