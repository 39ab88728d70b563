"""What one step does to F(w_t) - F*, whether local models are w_t or apart: smoothness, then strong convexity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import sympy as sp

from fedbounds.evidence.prover import facts, inequality
from fedbounds.evidence.prover.drifts import Drift, drifts
from fedbounds.evidence.prover.goal import ELL
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.recursions import GAP, Followed, OneStep, recursion
from fedbounds.evidence.prover.run_setting import LIMITS, L, Setting, eta, mu
from fedbounds.evidence.prover.step_facts import SLACK, noise_bound, small
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    GAP_NEXT,
    GAP_OF_MODELS,
    GAP_OF_MODELS_NEXT,
    GAP_OF_MODELS_T,
    W_NEXT,
    W_STAR,
    G,
    P,
    W,
    X,
    grad,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, norm_sq


def gap_steps(setting: Setting) -> Iterator[OneStep]:
    """F(w_{t+1}) - F* from F(w_t) - F*: a step gains eta (1 - eta L/2) ||grad F||^2, at least 2 mu times the gap."""
    if inequality.SAME_STEP not in setting.universe:
        yield from _of_one_function(setting)
        yield from _with_drift(setting)
    elif facts.curvature_of(set(setting.universe)) is None:
        yield from falls(setting, "gradient-dominance" in setting.universe)
        yield from _of_moments(setting)
        return
    if not {inequality.SAME_STEP, "unbiased"} <= setting.universe.keys() or setting.equal:
        return
    for noise in setting.noises:
        bounds = _noise_bounds(setting, noise)
        for line, condition, limit in small(setting, LIMITS[2:3]) if bounds else ():
            added = L * eta**2 / 2 * noise
            least, flat = facts.curvature_of(set(setting.universe)), ((sp.Integer(1), 0),)
            curved = ((1 - eta * mu * (2 - eta * L), 0), (1 - eta * mu, eta * mu * SLACK))
            for kept, spare in flat if least == 0 else curved:
                goal = inequality.Goal(
                    GAP_NEXT, kept * sy.gap_t + added, "step", setting.universe, None, ((condition, limit),)
                )
                yield OneStep(
                    kept, added, partial(_gap_step, goal, bounds, line, (spare, least or sp.Integer(0))), GAP
                )
        yield from contraction(setting, noise, bounds) if bounds else ()


def _of_moments(setting: Setting) -> Iterator[OneStep]:
    """A step of any size, whose second moment is G^2 at most."""
    kept, added = 1 - 2 * eta * mu, L * eta**2 / 2 * sy.G_sq
    if {"bounded-gradient", "gradient-dominance"} <= setting.universe.keys() and "G_sq" in setting.claim.symbols:
        yield OneStep(kept, added, partial(recursion, setting, kept * sy.gap_t + added, left=GAP_NEXT), GAP)


def falls(setting: Setting, dominated: bool) -> Iterator[OneStep]:
    """Without convexity F falls by eta/2 ||grad F||^2 but for noise, or by eta mu gap where that is ``dominated``."""
    if not {inequality.SAME_STEP, "smooth", "unbiased", "full-participation"} <= setting.universe.keys():
        return
    for noise in setting.noises:
        for line, condition, limit in small(setting, LIMITS[2:3]):
            kept, gained = (1 - eta * mu, 0) if dominated else (sp.Integer(1), -eta / 2 * norm_sq(SLOPE))
            added = gained + L * eta**2 / 2 * noise
            goal = inequality.Goal(
                GAP_NEXT, kept * sy.gap_t + added, "step", setting.universe, None, ((condition, limit),)
            )
            uses = [
                d.as_use(d.averaged(P, facts.smooth(W, W_NEXT))),
                (eta * SLACK / 2, d.Square(SLOPE, "a square")),
                *(((eta / 2, d.premise("gradient-dominance", W)),) if dominated else ()),
            ]
            yield OneStep(kept, added, partial(_closed, goal, _noise_bounds(setting, noise), uses, (line,), ()), GAP)


def _gap_step(
    goal: inequality.Goal, bounds: list[facts.Candidate], line: d.Step, put: tuple[sp.Expr, sp.Expr]
) -> inequality.Lines | None:
    (spare, least), gained = put, eta * (1 + SLACK) / 2
    share = 2 * least * gained
    polyak = ((share, facts.convex(X, W_STAR)), (share, facts.convex(W, X))) if least != 0 else ()
    uses = [
        d.as_use(d.averaged(P, facts.smooth(X, W_NEXT), facts.convex(X, W, least), *polyak)),
        (gained, d.Square(Centre(ALPHA, grad(X)) - least * (W - W_STAR), "a square")),
        (sp.sympify(spare) * sy.gap_t, d.ONE),
    ]
    return _closed(goal, bounds, uses, (line,), ())


def _closed(
    goal: inequality.Goal,
    bounds: list[facts.Candidate],
    uses: Sequence[d.Use],
    before: tuple[d.Step, ...],
    shown: tuple[d.Step, ...],
) -> inequality.Lines | None:
    """The step ``recursion`` by the uses and the first of the bounds on noise that closes it."""
    for bound in bounds:
        every = [*uses, *((L * eta**2 / 2 * multiplier, fact) for multiplier, fact in bound.uses)]
        mended = closing(goal, goal.frame, every, list(shown))
        if mended is not None:
            last = d.step("recursion", goal.left, "<=", goal.right).by(*every, *mended)
            return inequality.Lines((*before, *shown, last), (), tuple(item for item, _ in goal.limits))
    return None


def _noise_bounds(setting: Setting, noise: sp.Expr) -> list[facts.Candidate]:
    """What shows that E||sum_i p_i noise_i||^2 is at most ``noise``."""
    return [item for item in facts.of_noise(setting.universe) if item.value.coeff(noise or sy.L, 1) or not noise]


# Several local steps a round

OF_MODELS = Followed(GAP_OF_MODELS_T, GAP_OF_MODELS, GAP_OF_MODELS_NEXT, (d.premise("mean-gap"),))


def _of_one_function(setting: Setting) -> Iterator[OneStep]:
    """Of clients that are alike: F at each local model, whose mean over the clients does not grow by averaging."""
    needed = {"next-gaps", "smooth", "unbiased", "full-participation"} <= setting.universe.keys()
    least = facts.curvature_of(set(setting.universe))
    noise = sp.Integer(0) if "no-noise" in setting.universe else sy.sigma_sq
    if not needed or least is None or not {"no-noise", "bounded-variance"} & setting.universe.keys():
        return
    for line, condition, _ in small(setting, LIMITS[2:3]):
        curved = ((eta * (1 + SLACK) / 2, 1 - eta * mu * (2 - eta * L)), (eta / 2, 1 - eta * mu))
        for gained, kept in curved if least != 0 else ((sp.Integer(0), sp.Integer(1)),):
            polyak: tuple[d.Written, ...] = (
                (2 * mu * gained, facts.convex(X, W_STAR)),
                (gained, d.Square(grad(X) - mu * (X - W_STAR), "a square")),
            )
            added = L * eta**2 / 2 * noise
            each = d.averaged(
                P,
                facts.smooth(X, X - eta * G),
                *(polyak if least != 0 else ()),
                (eta * (1 + SLACK) / 2 - gained, d.Square(grad(X), "a square")),
            )
            last = d.step("recursion", OF_MODELS.next, "<=", kept * OF_MODELS.now + added)
            last = last.by(d.premise("next-gaps"), each, *noise_bound(setting, P, L * eta**2 / 2, mean=False))
            lines = inequality.Lines((line, last), (), (condition,))
            yield OneStep(kept, added, lambda lines=lines: lines, OF_MODELS)  # type: ignore[misc]


SLOPE = Centre(P, grad(W))
APART = (L - mu) ** 2 / 8


def descents(setting: Setting) -> Iterator[OneStep]:
    """F falls by eta/2 ||grad F||^2 but for the drift: grad F_i - (L + mu)/2 I moves by (L - mu)/2 times the way."""
    if not {"smooth", "strongly-convex", "unbiased", "full-participation"} <= setting.universe.keys():
        return
    for noise in () if setting.equal else setting.noises:
        for line, condition, limit in small(setting, LIMITS[2:3]):
            added = -eta / 2 * norm_sq(SLOPE) + eta * APART * sy.drift + L * eta**2 / 2 * noise
            goal = inequality.Goal(GAP_NEXT, sy.gap_t + added, "step", setting.universe, None, ((condition, limit),))
            proof = partial(_descent, goal, _noise_bounds(setting, noise), line)
            yield OneStep(sp.Integer(1), added, proof, GAP)


def _descent(goal: inequality.Goal, bounds: list[facts.Candidate], line: d.Step) -> inequality.Lines | None:
    turned = grad(W) - grad(X) - (L + mu) / 2 * (W - X)
    between = [item for item in facts.of_client((W, X), set(goal.universe)) if item.power == 2]
    shown = {step.label: step for item in between for step in item.steps}
    uses = [
        d.as_use(d.averaged(P, facts.smooth(W, W_NEXT))),
        (eta * SLACK / 2, d.Square(Centre(ALPHA, grad(X)), "a square")),
        (eta / 2, d.averaged(P, d.Square(turned - Centre(P, turned), "Jensen: a variance"))),
        (eta / 2, d.averaged(P, *(use for item in between for use in item.uses))),
    ]
    return _closed(goal, bounds, uses, (line,), tuple(shown.values()))


def _with_drift(setting: Setting) -> Iterator[OneStep]:
    """The same with ||grad F||^2 >= 2 mu (F - F*), and the drift as it is bounded on the claim's steps."""
    for fall in descents(setting):
        for drift in drifts(setting):
            kept = 1 - eta * mu
            added = (fall.added + eta / 2 * norm_sq(SLOPE)).subs(sy.drift, drift.most)

            def proof(
                fall: OneStep = fall, drift: Drift = drift, right: sp.Expr = kept * sy.gap_t + added
            ) -> inequality.Lines | None:
                descent = fall.proof()
                if descent is None:
                    return None
                lines = (*descent.steps[:-1], replace(descent.steps[-1], label="descent"))
                last = d.step("recursion", GAP_NEXT, "<=", right).by(
                    d.Earlier("descent"),
                    (eta * mu, d.averaged(P, facts.convex(W, W_STAR))),
                    (eta / 2, d.Square(SLOPE - mu * (W - W_STAR), "a square")),
                    (eta * APART, drift.bound),
                )
                return replace(
                    descent, steps=(*lines, *drift.steps, last), conditions=(*descent.conditions, *drift.conditions)
                )

            yield OneStep(kept, added, proof, GAP)


K = facts.K
# Where a step without noise ends.
REACHED = W - eta * SLOPE
AFTER = Centre(P, grad(REACHED))


def contraction(setting: Setting, noise: sp.Expr, bounds: Sequence[facts.Candidate]) -> Iterator[OneStep]:
    """F(w_{t+1}) - F* <= (1 - eta mu)^2 (F(w_t) - F*) + L eta^2/2 noise, for steps up to 2/(L + mu).

    F lies above its tangents by its curvature mu and by the square of what the gradients differ by beyond it, over
    2 (L - mu): between w_t, w* and the point that a step without noise reaches. Where L = mu, F is a multiple of the
    squared distance. Source: Taylor, Hendrickx, Glineur, Exact worst-case convergence rates of the proximal gradient
    method, 2018.
    """
    if not {"smooth", "strongly-convex"} <= setting.universe.keys():
        return
    for line, condition, limit in small(setting, LIMITS[3:4]):
        kept, added = (1 - eta * mu) ** 2, L * eta**2 / 2 * noise
        right = kept * sy.gap_t + added
        goal = inequality.Goal(GAP_NEXT, right, "step", setting.universe, None, ((condition, limit),))
        yield OneStep(kept, added, partial(_contracted, goal, bounds, line), GAP)


def _contracted(goal: inequality.Goal, bounds: Sequence[facts.Candidate], line: d.Step) -> inequality.Lines | None:
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
        first = _closed_case(goal, [*curved, *noisy], [*shown.values()], {K: L - mu}, K)
        second = _closed_case(goal, [*straight, *noisy], [*shown.values()], {L: mu})
        if first is not None and second is not None:
            cases = d.Cases(L - mu, d.case(K, *first), d.case(L, *second), zero="curved")
            last = d.step("recursion", goal.left, "<=", goal.right).by(cases, note="interpolation of three points")
            return inequality.Lines((line, *shown.values(), last), (), tuple(item for item, _ in goal.limits))
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


def _closed_case(
    goal: inequality.Goal,
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
