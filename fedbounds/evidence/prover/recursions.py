"""What one step does to a sequence that an induction follows: next <= kept now + added, for the claim's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.goal import limits
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.run_setting import (
    BEGUN,
    LATE,
    LATER,
    LENGTH,
    LIMITS,
    L,
    Setting,
    eta,
    gamma,
    mu,
    t,
    tau,
)
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    ETA_S,
    G_S,
    GAP_NEXT,
    M_S,
    MODELS,
    MODELS_NEXT,
    MODELS_T,
    MOVED,
    NOISE,
    START,
    W_NEXT,
    W_STAR,
    X_S,
    P,
    S,
    U,
    W,
    X,
    grad,
    n,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.vectors import Centre, Mean, Slack, norm_sq

SLACK, DRAWN_SLACK = (sp.Symbol(name, nonnegative=True) for name in ("slack", "drawn_slack"))
SHORTER = Slack(sp.Symbol("shorter"), S)
Uses = tuple[d.Written, ...]


@dataclass(frozen=True)
class Followed:
    """A sequence at T, t and t + 1; with ``to_distance`` its value at T bounds E||w_T - w*||^2."""

    last: sp.Expr
    now: sp.Expr
    next: sp.Expr
    to_distance: tuple[d.Premise, ...] = ()


DISTANCE = Followed(sy.Delta_T, sy.Delta, sy.Delta_next)
GAP = Followed(sy.gap, sy.gap_t, GAP_NEXT)
LOCAL_MODELS = Followed(MODELS_T, MODELS, MODELS_NEXT, (d.premise("mean-model"),))


@dataclass(frozen=True)
class OneStep:
    """next <= kept now + added, which ``proof`` shows in the step ``recursion``, or not."""

    kept: sp.Expr
    added: sp.Expr
    proof: Callable[[], statement.Lines | None]
    of: Followed = DISTANCE


def one_steps(setting: Setting) -> Iterator[OneStep]:
    """Inequalities for one step that the claim may follow from, the sharpest first; of drawn clients the easiest."""
    if facts.DRAWN in setting.universe:
        for noise, kept in product(setting.noises, (1 - eta * mu, 1 - eta * mu * (2 - eta * L), (1 - eta * mu) ** 2)):
            right = kept * sy.Delta + eta**2 * noise
            yield OneStep(kept, eta**2 * noise, partial(recursion, setting, right))
        return
    unbiased, together = "unbiased" in setting.universe, statement.SAME_STEP in setting.universe
    for noise in setting.noises:
        for kept in ((1 - eta * mu) ** 2, 1 - eta * mu, sp.Integer(1)):
            clean, added = kept * sy.Delta + eta**2 * noise, eta**2 * noise
            if (together or setting.equal) and unbiased:
                yield OneStep(kept, added, lambda right=clean: recursion(setting, right))  # type: ignore[misc]
            elif "bounded-gradient" in setting.universe and unbiased:
                yield from _with_drift(setting, kept, clean, added)
        if noise in (0, sy.sigma_sq):
            yield from _of_each_model(setting, noise)
            yield from _of_each_minimiser(setting, noise)
            yield from _of_any_weights(setting, noise)


def small(setting: Setting, among: tuple[sp.Expr, ...] = LIMITS) -> Iterator[tuple[d.Step, d.Condition, sp.Expr]]:
    """eta L <= c shown for the claim's steps: the step, the condition, and the symbol's meaning."""
    for limit in (item.xreplace({L: mu}) for item in among) if setting.equal else among:
        shown = setting.letters.positive(limit.subs(eta, setting.eta))
        if shown is not None:
            line = d.step("small", 0, "<=", limit).by((shown, d.ONE), *setting.bridge(-limit))
            yield line, d.Condition(SLACK, d.Earlier("small")), limit
            return


def _by_draws(setting: Setting) -> Iterator[tuple[d.Step, d.Condition, sp.Expr]]:
    """The limit that the claim sets to the step size by how many clients are drawn, as `small` gives others."""
    for key, index, value, _ in limits(setting.universe.values()):
        if value.has(eta) and value.has(sy.m):
            line = d.step("small-for-draws", 0, "<=", value).by(d.premise(key, *index))
            yield line, d.Condition(DRAWN_SLACK, d.Earlier("small-for-draws")), value


def recursion(setting: Setting, right: sp.Expr, name: str = "recursion") -> statement.Lines | None:
    """Delta_next <= right, for any step size that is as small as the claim's, or of any size."""
    limited = (*_by_draws(setting), *small(setting))
    shown = tuple((condition, value) for _, condition, value in limited)
    result = statement.prove(statement.Goal(sy.Delta_next, right, "step", setting.universe, None, shown))
    if result is None:
        return None
    last = d.step(name, sy.Delta_next, "<=", right).by(*result.uses)
    known = {item.symbol for item in setting.conditions}
    return replace(
        result,
        steps=(*(line for line, *_ in limited), *result.steps, last),
        conditions=tuple(item for item in result.conditions if item.symbol not in known),
    )


def noise_bound(setting: Setting, weights: sp.Expr, share: sp.Expr, mean: bool = True) -> Uses:
    """share (sigma^2 - E||noise||^2) >= 0 of the weights' mean of the noise, or of each client's; 0 without noise."""
    jensen = ((share, d.Square(NOISE - Centre(weights, NOISE), "Jensen: a variance")),) if mean else ()
    if "no-noise" in setting.universe:
        return (d.averaged(weights, *jensen, (-share, d.premise("no-noise"))),)
    return (d.averaged(weights, *jensen, (share, d.premise("bounded-variance", X))),)


def _noisy(setting: Setting) -> bool:
    return bool({"no-noise", "bounded-variance"} & setting.universe.keys())


def _of_each_model(setting: Setting, noise: sp.Expr) -> Iterator[OneStep]:
    """Of one common minimiser: each local model comes nearer to it by (1 - eta mu)^2, and so does their mean."""
    needed = {"common-optimum", "unbiased", "smooth", "strongly-convex"}
    if not needed <= setting.universe.keys() or not _noisy(setting):
        return
    q, way, slope = 1 - eta * mu, X - W_STAR, grad(W_STAR)
    bend = grad(X) - slope - mu * way
    for line, condition, (shown, between) in _contraction(setting):
        common = d.premise("common-optimum", 2 * eta * (q * way - eta * bend) - eta**2 * slope)
        noisy = noise_bound(setting, P, eta**2, mean=False)
        last = d.step("recursion", MODELS_NEXT, "<=", q**2 * MODELS + eta**2 * noise)
        last = last.by(d.premise("next-models"), d.averaged(P, *between, common), *noisy)
        lines = statement.Lines((line, *shown, last), (), (condition,))
        yield OneStep(q**2, eta**2 * noise, lambda lines=lines: lines, LOCAL_MODELS)  # type: ignore[misc]


def _of_each_minimiser(setting: Setting, noise: sp.Expr) -> Iterator[OneStep]:
    """Whatever the minimisers: a step that contracts by q = 1 - eta mu, then grad F_i(w*) by Young of weight 1/q - 1."""
    stated = setting.claim.eta is not None or setting.eta == eta
    needed = {"unbiased", "smooth", "strongly-convex"} <= setting.universe.keys()
    weight = setting.letters.positive((1 - setting.eta * mu) / (setting.eta * mu)) if stated and needed else None
    if weight is None or not _noisy(setting) or "zeta_star_sq" not in setting.claim.symbols:
        return
    q, slope = 1 - eta * mu, grad(W_STAR)
    turned = X - W_STAR - eta * (grad(X) - slope)
    for line, condition, between in _contraction(setting):
        nearer = d.step("nearer", Mean(P, norm_sq(turned)), "<=", q**2 * MODELS).by(d.averaged(P, *between[1]))
        young = d.Young("nearer", turned, eta * slope, weight, (eta * mu) ** 2 * MODELS)
        noisy = noise_bound(setting, P, eta**2, mean=False)
        added = eta / mu * sy.zeta_star_sq + eta**2 * noise
        last = d.step("recursion", MODELS_NEXT, "<=", q * MODELS + added)
        last = last.by(d.premise("next-models"), d.Earlier("nearer"), young, *noisy)
        lines = statement.Lines((line, *between[0], nearer, last), (), (condition,))
        yield OneStep(q, added, lambda lines=lines: lines, LOCAL_MODELS)  # type: ignore[misc]


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
    if not {statement.SAME_STEP, "rho-tilde"} <= setting.universe.keys() or not _noisy(setting):
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
            (-2 * eta, d.premise(statement.SAME_STEP, grad(X))),
        )
        added = 2 * eta * sy.rho_tilde * sy.Gamma + eta**2 * noise
        uses = (each, (2 * eta, d.premise("rho-tilde")), *noise_bound(setting, ALPHA, eta**2))
        last = d.step("recursion", sy.Delta_next, "<=", (1 - eta * mu) * sy.Delta + added).by(*uses)
        lines = statement.Lines((line, last), (), (condition,))
        yield OneStep(1 - eta * mu, added, lambda lines=lines: lines)  # type: ignore[misc]


def gap_steps(setting: Setting) -> Iterator[OneStep]:
    """F(w_{t+1}) - F* from F(w_t) - F*: a step gains eta (1 - eta L/2) ||grad F||^2, at least 2 mu times the gap."""
    if not {statement.SAME_STEP, "unbiased"} <= setting.universe.keys() or setting.equal:
        return
    for noise in setting.noises:
        bounds = [
            item for item in facts.of_noise(setting.universe) if item.value.coeff(noise or sy.L, 1) or not noise
        ]
        for line, condition, limit in small(setting, LIMITS[2:3]) if bounds else ():
            added = L * eta**2 / 2 * noise
            for kept, spare in ((1 - eta * mu * (2 - eta * L), 0), (1 - eta * mu, eta * mu * SLACK)):
                goal = statement.Goal(
                    GAP_NEXT, kept * sy.gap_t + added, "step", setting.universe, None, ((condition, limit),)
                )
                yield OneStep(kept, added, partial(_gap_step, goal, bounds, line, spare), GAP)


def _gap_step(
    goal: statement.Goal, bounds: list[facts.Candidate], line: d.Step, spare: sp.Expr
) -> statement.Lines | None:
    gained = eta * (1 + SLACK) / 2
    share = 2 * mu * gained
    polyak = (share, facts.convex(X, W_STAR)), (share, facts.convex(W, X))
    uses = [
        d.as_use(d.averaged(P, facts.smooth(X, W_NEXT), facts.convex(X, W), *polyak)),
        (gained, d.Square(Centre(ALPHA, grad(X)) - mu * (W - W_STAR), "a square")),
        (sp.sympify(spare) * sy.gap_t, d.ONE),
    ]
    for bound in bounds:
        every = [*uses, *((L * eta**2 / 2 * multiplier, fact) for multiplier, fact in bound.uses)]
        mended = closing(goal, goal.frame, every, [])
        if mended is not None:
            last = d.step("recursion", goal.left, "<=", goal.right).by(*every, *mended)
            return statement.Lines((line, last), (), tuple(item for item, _ in goal.limits))
    return None


# Several local steps a round, with bounded gradients


@dataclass(frozen=True)
class Drift:
    """drift <= ``most``, a multiple of (tau - 1)^2 eta^2 G^2, by the fact ``bound``."""

    most: sp.Expr
    steps: tuple[d.Step, ...]
    bound: d.Fact
    conditions: tuple[d.Condition, ...]


def _with_drift(setting: Setting, kept: sp.Expr, clean: sp.Expr, added: sp.Expr) -> Iterator[OneStep]:
    for drift in drifts(setting):
        more = eta * L * drift.most

        def proof(drift: Drift = drift, right: sp.Expr = kept * sy.Delta + added + more) -> statement.Lines | None:
            result = recursion(setting, clean + eta * L * sy.drift, "one-step")
            if result is None:
                return None
            line = d.step("recursion", sy.Delta_next, "<=", right).by(d.Earlier("one-step"), (eta * L, drift.bound))
            steps, conditions = (*result.steps, *drift.steps, line), (*result.conditions, *drift.conditions)
            return replace(result, steps=steps, conditions=conditions)

        yield OneStep(kept, added + more, proof)


def drifts(setting: Setting) -> Iterator[Drift]:
    """Bounds of the drift on the claim's steps."""
    if "bounded-gradient" not in setting.universe:
        return
    if {"halving", "unbiased"} <= setting.universe.keys():
        yield Drift(4 * (tau - 1) ** 2 * eta**2 * sy.G_sq, (), d.Cited("li-drift"), ())
    elif setting.eta == eta:
        return
    elif not setting.eta.has(t):
        assumed = setting.claim.eta is None
        yield _drift_at_equal_steps(setting.eta if assumed else eta, assumed, setting.universe)
    elif any(condition.symbol == LATER for condition in setting.conditions):
        scale = sp.cancel(setting.eta * (gamma + t) * mu)
        halve = d.step("halve", ETA_S, "<=", 2 * eta).by(
            (scale * (LATE + BEGUN + LATER + 1) / (mu * (t + gamma) * M_S), d.ONE)
        )
        conditions = (d.Condition(LATE, d.premise("round-times")), d.Condition(BEGUN, d.premise("past-steps")))
        most = 4 * (tau - 1) ** 2 * eta**2 * sy.G_sq
        yield Drift(most, (halve,), d.Cited("li-drift", {"halving": "halve"}), conditions)


def _drift_at_equal_steps(size: sp.Expr, assumed: bool, universe: Mapping[str, Assumption]) -> Drift:
    """The drift where every step is of one size: by the schedule, or because that is ``assumed``."""
    sums, scale, first = Mean(U, norm_sq(G_S)), size**2 * sy.G_sq, "first-round" in universe
    most = t**2 if first else (tau - 1) ** 2
    counted = (t + n, d.premise("first-round")) if first else (LENGTH * (LENGTH + 2 * n), d.ONE)
    move = Mean(U, ETA_S**2 * norm_sq(G_S))
    jensen = d.averaged(U, d.Square(ETA_S * G_S - Centre(U, ETA_S * G_S), "Jensen: a variance over the steps"))
    equal = (d.averaged(U, (SHORTER * (size + ETA_S), d.Square(G_S, "a square"))),) if assumed else ()
    steps = (
        d.step("variance", sy.drift, "<=", Mean(ALPHA, norm_sq(X - START))).by(d.Square(W - START, "a variance")),
        d.step("jensen", norm_sq(X - START), "<=", n**2 * move).by(
            (-1, d.premise("local-steps", X - START - MOVED)), (n**2, jensen)
        ),
        d.step("moment", sums, "<=", sy.G_sq).by(d.averaged(U, d.premise("bounded-gradient", X_S))),
        d.step("equal", move, "<=", size**2 * sums).by(*equal),
        d.step("count", n**2, "<=", most).by(counted),
        d.step("drift", sy.drift, "<=", most * scale).by(
            d.Earlier("variance"),
            d.averaged(ALPHA, d.Earlier("jensen"), (n**2, d.Earlier("equal")), (size**2 * n**2, d.Earlier("moment"))),
            (scale, d.Earlier("count")),
        ),
    )
    shorter = (d.Condition(SHORTER, d.premise("constant-steps", ETA_S)),) if assumed else ()
    conditions = (d.Condition(LENGTH, d.premise("round")), *shorter)
    return Drift(most * scale, steps, d.Earlier("drift"), conditions)
