"""What one step does to a sequence that an induction follows: next <= kept now + added, for the claim's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import sympy as sp

from fedbounds.evidence.prover import draws, facts, inequality
from fedbounds.evidence.prover.drifts import Drift, drifts
from fedbounds.evidence.prover.goal import limits
from fedbounds.evidence.prover.run_setting import LIMITS, L, Setting, T, eta, mu
from fedbounds.evidence.prover.step_facts import SLACK, Uses, both_ways, noise_bound, small
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    GAP_NEXT,
    MODELS,
    MODELS_NEXT,
    MODELS_T,
    W_STAR,
    P,
    W,
    X,
    grad,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Mean, norm_sq

DRAWN_SLACK = sp.Symbol("drawn_slack", nonnegative=True)


@dataclass(frozen=True)
class Followed:
    """A sequence at T, t and t + 1; with ``to_end`` its value at T bounds that of w_T."""

    last: sp.Expr
    now: sp.Expr
    next: sp.Expr
    to_end: tuple[d.Premise, ...] = ()


DISTANCE = Followed(sy.Delta_T, sy.Delta, sy.Delta_next)
GAP = Followed(sy.gap, sy.gap_t, GAP_NEXT)
LOCAL_MODELS = Followed(MODELS_T, MODELS, MODELS_NEXT, (d.premise("mean-model"),))
DRAWN_MODELS = replace(LOCAL_MODELS, to_end=(d.premise("mean-drawn-model"),))


@dataclass(frozen=True)
class OneStep:
    """next <= kept now + added, which ``proof`` shows in the step ``recursion``, or not."""

    kept: sp.Expr
    added: sp.Expr
    proof: Callable[[], inequality.Lines | None]
    of: Followed = DISTANCE


def one_steps(setting: Setting) -> Iterator[OneStep]:
    """Inequalities for one step that the claim may follow from, the plainest first; of drawn clients the easiest."""
    if draws.drawn(setting.universe):
        for noise, kept in product(setting.noises, (1 - eta * mu, 1 - eta * mu * (2 - eta * L), (1 - eta * mu) ** 2)):
            right = kept * sy.Delta + eta**2 * noise
            yield OneStep(kept, eta**2 * noise, partial(recursion, setting, right))
    if "full-participation" not in setting.universe:
        yield from _of_models(setting)
        return
    unbiased, together = "unbiased" in setting.universe, inequality.SAME_STEP in setting.universe
    for noise in setting.noises:
        moment = (1 - 2 * eta * mu,) * (noise == sy.G_sq)
        for kept in (1 - eta * mu, *moment, (1 - eta * mu) ** 2, sp.Integer(1)):
            clean, added = kept * sy.Delta + eta**2 * noise, eta**2 * noise
            if (together or setting.equal) and unbiased:
                yield OneStep(kept, added, lambda right=clean: recursion(setting, right))  # type: ignore[misc]
            elif unbiased:
                yield from _with_drift(setting, kept, clean, added)
        if noise in (0, sy.sigma_sq):
            yield from _of_any_weights(setting, noise)
    yield from _of_models(setting)


def _by_draws(setting: Setting) -> Iterator[tuple[d.Step, d.Condition, sp.Expr]]:
    """The limit that the claim sets to the step size by how many clients are drawn, as `small` gives others."""
    for key, index, value, _ in limits(setting.universe.values()):
        if value.has(eta) and value.has(sy.m):
            line = d.step("small-for-draws", 0, "<=", value).by(d.premise(key, *index))
            yield line, d.Condition(DRAWN_SLACK, d.Earlier("small-for-draws")), value


def recursion(
    setting: Setting, right: sp.Expr, name: str = "recursion", left: sp.Expr = sy.Delta_next
) -> inequality.Lines | None:
    """left <= right, for any step size that is as small as the claim's, or of any size."""
    limited = (*_by_draws(setting), *small(setting))
    shown = tuple((condition, value) for _, condition, value in limited)
    result = inequality.prove(inequality.Goal(left, right, "step", setting.universe, None, shown, setting.claim))
    if result is None:
        return None
    last = d.step(name, left, "<=", right).by(*result.uses)
    known = {item.symbol for item in setting.conditions}
    return replace(
        result,
        steps=(*(line for line, *_ in limited), *result.steps, last),
        conditions=tuple(item for item in result.conditions if item.symbol not in known),
    )


def as_claimed(setting: Setting, bound: sp.Expr, of: Followed) -> Iterator[OneStep]:
    """next <= q now + (1 - q) b, which a bound q^T z_0 + b at a constant step asks for."""
    decays = {power for power in bound.atoms(sp.Pow) if power.exp == T}
    (decay,) = decays if len(decays) == 1 else (sp.Integer(1),)
    q, floor = decay.as_base_exp()[0].xreplace({sy.eta_0: eta}), sp.expand(bound).subs(decay, 0)
    added = sp.cancel((1 - q) * floor.xreplace({sy.eta_0: eta}))
    if decays and not floor.has(T) and inequality.SAME_STEP in setting.universe:
        yield OneStep(q, added, partial(recursion, setting, q * of.now + added, left=of.next), of)


def _noisy(setting: Setting) -> bool:
    return bool({"no-noise", "bounded-variance"} & setting.universe.keys())


def _of_models(setting: Setting) -> Iterator[OneStep]:
    """What a step does to sum_i p_i ||w_i - w*||^2, whether all models are averaged or those of clients drawn."""
    every = {"unbiased", "full-participation"} <= setting.universe.keys()
    least = facts.curvature_of(set(setting.universe)) if "smooth" in setting.universe else None
    if least is None or not _noisy(setting) or not (every or "next-drawn-models" in setting.universe):
        return
    of, after = (LOCAL_MODELS, "next-models") if every else (DRAWN_MODELS, "next-drawn-models")
    noise = sp.Integer(0) if "no-noise" in setting.universe else sy.sigma_sq
    curved = (*_of_each_model(setting, noise, after), *_of_each_minimiser(setting, noise, after))
    for step in _no_farther(setting, noise, after) if least == 0 else curved:
        yield replace(step, of=of)


def _no_farther(setting: Setting, noise: sp.Expr, after: str) -> Iterator[OneStep]:
    """Of merely convex losses and one common minimiser: but for noise no local model goes farther from it."""
    if "common-optimum" not in setting.universe:
        return
    slope = grad(W_STAR)
    turn = grad(X) - slope
    for line, condition, _ in small(setting, LIMITS[4:5]):
        each = d.averaged(
            P,
            *((2 * eta * m, fact) for m, fact in both_ways(X, W_STAR, sp.Integer(0))),
            (eta * SLACK / L, d.Square(turn, "a square")),
            d.premise("common-optimum", 2 * eta * (X - W_STAR - eta * turn) - eta**2 * slope),
        )
        last = d.step("recursion", MODELS_NEXT, "<=", MODELS + eta**2 * noise)
        last = last.by(d.premise(after), each, *noise_bound(setting, P, eta**2, mean=False))
        lines = inequality.Lines((line, last), (), (condition,))
        yield OneStep(sp.Integer(1), eta**2 * noise, lambda lines=lines: lines)  # type: ignore[misc]


def _of_each_model(setting: Setting, noise: sp.Expr, after: str) -> Iterator[OneStep]:
    """Of one common minimiser: each local model comes nearer to it by (1 - eta mu)^2, and so does their mean."""
    if "common-optimum" not in setting.universe:
        return
    q, way, slope = 1 - eta * mu, X - W_STAR, grad(W_STAR)
    bend = grad(X) - slope - mu * way
    for line, condition, (shown, between) in _contraction(setting):
        common = d.premise("common-optimum", 2 * eta * (q * way - eta * bend) - eta**2 * slope)
        noisy = noise_bound(setting, P, eta**2, mean=False)
        last = d.step("recursion", MODELS_NEXT, "<=", q**2 * MODELS + eta**2 * noise)
        last = last.by(d.premise(after), d.averaged(P, *between, common), *noisy)
        lines = inequality.Lines((line, *shown, last), (), (condition,))
        yield OneStep(q**2, eta**2 * noise, lambda lines=lines: lines)  # type: ignore[misc]


def _of_each_minimiser(setting: Setting, noise: sp.Expr, after: str) -> Iterator[OneStep]:
    """Whatever the minimisers: a step contracts by q = 1 - eta mu, and grad F_i(w*) is parted from it."""
    stated = setting.claim.eta is not None or setting.eta == eta
    weight = setting.letters.positive((1 - setting.eta * mu) / (setting.eta * mu)) if stated else None
    if weight is None or "zeta_star_sq" not in setting.claim.symbols:
        return
    q, slope = 1 - eta * mu, grad(W_STAR)
    turned = X - W_STAR - eta * (grad(X) - slope)
    for line, condition, between in _contraction(setting):
        nearer = d.step("nearer", Mean(P, norm_sq(turned)), "<=", q**2 * MODELS).by(d.averaged(P, *between[1]))
        young = d.Young("nearer", turned, eta * slope, weight, (eta * mu) ** 2 * MODELS)
        noisy = noise_bound(setting, P, eta**2, mean=False)
        added = eta / mu * sy.zeta_star_sq + eta**2 * noise
        last = d.step("recursion", MODELS_NEXT, "<=", q * MODELS + added)
        last = last.by(d.premise(after), d.Earlier("nearer"), young, *noisy)
        lines = inequality.Lines((line, *between[0], nearer, last), (), (condition,))
        yield OneStep(q, added, lambda lines=lines: lines)  # type: ignore[misc]


Contraction = tuple[d.Step, d.Condition, tuple[tuple[d.Step, ...], Uses]]


def _contraction(setting: Setting) -> Iterator[Contraction]:
    """eta (L + mu) <= 2, and that a step brings w_i and w* nearer by 1 - eta mu, but for grad F_i(w*)."""
    between = [item for item in facts.of_client((X, W_STAR), set(setting.universe)) if item.power == 2]
    steps = {step.label: step for item in between for step in item.steps}
    for line, condition, _ in small(setting, LIMITS[3:4]):
        uses = (
            (eta * SLACK, facts.convex(X, W_STAR)),
            (eta * SLACK, facts.convex(W_STAR, X)),
            *((eta**2 * m, fact) for item in between for m, fact in item.uses),
        )
        yield line, condition, (tuple(steps.values()), uses)


def _of_any_weights(setting: Setting, noise: sp.Expr) -> Iterator[OneStep]:
    """Whatever the weights, one local step a round: what they add is at most 2 eta rho_tilde Gamma."""
    if not {inequality.SAME_STEP, "rho-tilde"} <= setting.universe.keys() or not _noisy(setting):
        return
    end, centre = X - grad(X) / L, Centre(ALPHA, grad(X))
    for line, condition, _ in small(setting, LIMITS[2:3]):
        each = d.averaged(
            ALPHA,
            (2 * eta, facts.convex(X, W_STAR)),
            (eta**2, d.Square(grad(X) - centre, "Jensen: a variance")),
            (2 * L * eta**2, facts.smooth(X, end)),
            (2 * L * eta**2, d.premise("minimum", end)),
            (2 * eta * SLACK, d.premise("minimum", X)),
            (eta * mu, d.Square(X - W, "Jensen: a variance")),
            (-2 * eta, d.premise(inequality.SAME_STEP, grad(X))),
        )
        added = 2 * eta * sy.rho_tilde * sy.Gamma + eta**2 * noise
        uses = (each, (2 * eta, d.premise("rho-tilde")), *noise_bound(setting, ALPHA, eta**2))
        last = d.step("recursion", sy.Delta_next, "<=", (1 - eta * mu) * sy.Delta + added).by(*uses)
        lines = inequality.Lines((line, last), (), (condition,))
        yield OneStep(1 - eta * mu, added, lambda lines=lines: lines)  # type: ignore[misc]


def _with_drift(setting: Setting, kept: sp.Expr, clean: sp.Expr, added: sp.Expr) -> Iterator[OneStep]:
    for drift in drifts(setting):
        more = eta * L * drift.most

        def proof(drift: Drift = drift, right: sp.Expr = kept * sy.Delta + added + more) -> inequality.Lines | None:
            result = recursion(setting, clean + eta * L * sy.drift, "one-step")
            if result is None:
                return None
            line = d.step("recursion", sy.Delta_next, "<=", right).by(d.Earlier("one-step"), (eta * L, drift.bound))
            steps, conditions = (*result.steps, *drift.steps, line), (*result.conditions, *drift.conditions)
            return replace(result, steps=steps, conditions=conditions)

        yield OneStep(kept, added + more, proof)
