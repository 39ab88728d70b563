"""One step brings F(w_t) - F* down by (1 - eta mu)^2, for steps up to 2/(L + mu): interpolation of three points.

F lies above its tangents by its curvature mu and by the square of what the gradients differ by beyond it, over
2 (L - mu): between w_t, w* and the point that a step without noise reaches. Where L = mu, F is a multiple of the
squared distance. Source: Taylor, Hendrickx, Glineur, Exact worst-case convergence rates of the proximal gradient
method, 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.goal import ELL
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.recursions import GAP, OneStep
from fedbounds.evidence.prover.run_setting import LIMITS, L, Setting, eta, mu
from fedbounds.evidence.prover.step_facts import SLACK, small
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import GAP_NEXT, W_NEXT, W_STAR, P, W, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre

K = facts.K
SLOPE = Centre(P, grad(W))
# Where a step without noise ends.
REACHED = W - eta * SLOPE
AFTER = Centre(P, grad(REACHED))


def contraction(setting: Setting, noise: sp.Expr, bounds: Sequence[facts.Candidate]) -> Iterator[OneStep]:
    """F(w_{t+1}) - F* <= (1 - eta mu)^2 (F(w_t) - F*) + L eta^2/2 noise."""
    if not {"smooth", "strongly-convex"} <= setting.universe.keys():
        return
    for line, condition, limit in small(setting, LIMITS[3:4]):
        kept, added = (1 - eta * mu) ** 2, L * eta**2 / 2 * noise
        right = kept * sy.gap_t + added
        goal = statement.Goal(GAP_NEXT, right, "step", setting.universe, None, ((condition, limit),))
        yield OneStep(kept, added, partial(_proof, goal, bounds, line), GAP)


def _proof(goal: statement.Goal, bounds: Sequence[facts.Candidate], line: d.Step) -> statement.Lines | None:
    rho = (SLACK + eta * K) / 2  # 1 - eta mu
    pairs = (((W, REACHED), rho), ((W_STAR, W), rho * eta * mu), ((W_STAR, REACHED), eta * mu))
    between = [(facts.interpolation(*pair), share) for pair, share in pairs]
    shown = {step.label: step for item, _ in between for step in item.steps}
    apart = [use for item, share in between for use in _of_means(item, share / K)]
    curved = (
        *apart,
        (1 / (2 * K), d.Square(AFTER + (L * eta + eta * mu - 1) * SLOPE - L * eta * mu * (W - W_STAR), "a square")),
        (L * eta * SLACK / (2 * K), d.Square(SLOPE - mu * (W - W_STAR), "a square")),
    )
    straight = (
        d.as_use(d.averaged(P, facts.smooth(W_STAR, REACHED))),
        *((mu * eta**2 * m, fact) for m, fact in _of_means(between[1][0], sp.Integer(1))),
        *((eta * mu * SLACK / 2 * m, fact) for m, fact in _along()),
        (SLACK**2 / 4, d.averaged(P, facts.convex(W_STAR, W))),
    )
    for bound in bounds:
        moved = d.as_use(d.averaged(P, facts.smooth(REACHED, W_NEXT)))
        noisy = [moved, *((L * eta**2 / 2 * multiplier, fact) for multiplier, fact in bound.uses)]
        first = _closed(goal, [*curved, *noisy], [*shown.values()], {K: L - mu}, K)
        second = _closed(goal, [*straight, *noisy], [*shown.values()], {L: mu})
        if first is not None and second is not None:
            cases = d.Cases(L - mu, d.case(K, *first), d.case(L, *second), zero="curved")
            last = d.step("recursion", goal.left, "<=", goal.right).by(cases, note="interpolation of three points")
            return statement.Lines((line, *shown.values(), last), (), tuple(item for item, _ in goal.limits))
    return None


def _of_means(item: facts.Candidate, share: sp.Expr) -> list[d.Use]:
    """A fact about each client in the mean, without the variance of what is squared."""
    (away,) = {fact.lhs for fact in item.steps[1:]}
    vector = (2 * away).args[0]
    spread = d.Square(vector - Centre(P, vector), "Jensen: a variance")
    return [(share, d.averaged(P, *item.uses)), (share / 2, d.averaged(P, spread))]


def _along() -> tuple[d.Use, ...]:
    """<grad F(w_t), w_t - w*> >= mu ||w_t - w*||^2."""
    return tuple(d.as_use(d.averaged(P, facts.convex(*pair))) for pair in ((W, W_STAR), (W_STAR, W)))


def _closed(
    goal: statement.Goal,
    uses: Sequence[d.Use],
    lines: list[d.Step],
    put: dict[sp.Basic, sp.Expr],
    by: sp.Expr = sp.S.One,
) -> list[d.Use] | None:
    """The uses with the identities that close a case, in which symbols have these values; sought without divisors."""
    frame = replace(goal.frame, numbers={**goal.frame.numbers, **put})
    whole = replace(goal, left=by * goal.left, right=by * goal.right)
    mended = closing(whole, frame, [(sp.expand(by * m), fact) for m, fact in uses], lines)
    return None if mended is None else [*uses, *((m.xreplace({ELL: K}) / by, fact) for m, fact in mended)]
