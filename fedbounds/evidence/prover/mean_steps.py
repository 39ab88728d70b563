"""One step of the mean of local models, kept with its gap: -eta (2 - 4 eta L) gap + eta L (1 + 2 eta L) drift."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.run_setting import L, Proposal, T, eta
from fedbounds.evidence.prover.step_facts import Uses, both_ways
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, P, X, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre

TIME = d.step("time", T, ">", 0).by(d.premise("some-time"))


def of_sum(left: sp.Expr) -> sp.Expr | None:
    """The share of sum_t gap_t that bounds what a claim is about: the sum, or the mean; None for anything else."""
    shares = {sy.gap_sum: sp.Integer(1), T * sy.average_gap: sp.Integer(1), sy.average_gap: 1 / T}
    return shares.get(left)


def from_sum(left: sp.Expr, steps: tuple[d.Step, ...], uses: Uses, conditions: tuple[d.Condition, ...]) -> Proposal:
    """The proof of a claim about the sum of the gaps, or their mean, from one about the sum."""
    scale, mean = of_sum(left), () if left == sy.gap_sum else (d.premise("average"),)
    time = () if scale == 1 else (TIME,)
    return (*steps, *time), tuple((scale * m, fact) for m, fact in map(d.as_use, (*uses, *mean))), conditions


def mean_step(centre: sp.Expr, along: sp.Expr, least: sp.Expr, spare: sp.Expr, apart: sp.Expr) -> Uses:
    """What shows it for the mean ``centre``, whose step is ``along`` a mean gradient, of curvature ``least``.

    ``spare`` >= 0 is the share of eta gap, and ``apart`` >= 0 that of eta times the drift, that are not needed.
    """
    slope = Centre(P, grad(centre))
    end, turned = centre - slope / L, grad(X) - grad(centre)
    return (
        (2 * eta, d.averaged(P, facts.convex(X, W_STAR, least), facts.smooth(X, centre))),
        (eta**2, d.Square(2 * slope - along, "Young's inequality")),
        d.averaged(
            P,
            (2 * eta**2, d.Square(turned - Centre(P, turned), "Jensen: a variance")),
            *((2 * L * eta**2 * m, fact) for m, fact in both_ways(X, centre, least)),
            *((2 * L * eta**2, facts.smooth(x, y)) for x, y in ((X, centre), (centre, X))),
        ),
        (4 * L * eta**2, d.averaged(P, facts.smooth(centre, end))),
        *((4 * L * eta**2 * m, fact) for m, fact in _above_least(end, least)),
        *((eta * spare * m, fact) for m, fact in _above_least(centre, least)),
        (eta * apart, d.averaged(P, d.Square(X - centre, "a square"))),
    )


def _above_least(point: sp.Expr, least: sp.Expr) -> tuple[d.Use, ...]:
    """F(point) >= F(w*)."""
    curved = ((least / 2, d.Square(point - W_STAR, "a square")),) if least != 0 else ()
    above = d.averaged(P, facts.convex(W_STAR, point, least), *curved)
    return d.as_use(above), d.as_use(d.premise("optimum", point - W_STAR))
