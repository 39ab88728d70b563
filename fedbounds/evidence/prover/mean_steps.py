"""One step of the mean of local models, kept with its gap: (1 - eta mu) (Delta - 2 eta gap + eta (L - mu) drift)."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.run_setting import L, Proposal, Setting, T, eta, mu
from fedbounds.evidence.prover.step_facts import Uses
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import W_STAR, P, X, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre

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
    """What shows it for the mean ``centre``.

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
