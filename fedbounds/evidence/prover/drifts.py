"""How far local models are apart in a run: by a bound on gradients, or on how far those of the clients differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.goal import Goal
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.run_setting import (
    BEGUN,
    CLIENTS,
    LATE,
    LATER,
    LENGTH,
    LIMITS,
    L,
    Setting,
    eta,
    gamma,
    t,
    tau,
)
from fedbounds.evidence.prover.step_facts import both_ways, noise_apart, small
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    ETA_S,
    G_S,
    M_S,
    MOVED,
    NOISE,
    START,
    X_S,
    G,
    I,
    P,
    S,
    U,
    W,
    X,
    grad,
    n,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Mean, Slack, norm_sq

k, zeta_sq, sigma_sq = sy.local_step, sy.zeta_sq, sy.sigma_sq
SHORTER, ALIKE = Slack(sp.Symbol("shorter"), S), sp.Symbol("alike", nonnegative=True)
OTHERS_SHARE = Slack(sp.Symbol("others_share"), I)
MIDDLE = Centre(P, X)
SPREAD = Mean(P, norm_sq(X - MIDDLE))
AFTER = {X: X - eta * G, k: k + 1}


@dataclass(frozen=True)
class Drift:
    """drift <= ``most`` on the claim's steps, by the fact ``bound``; in step ``away`` <= ``by_steps``, made of n."""

    most: sp.Expr
    steps: tuple[d.Step, ...]
    bound: d.Fact
    conditions: tuple[d.Condition, ...]
    by_steps: sp.Expr | None = None


def drifts(setting: Setting) -> Iterator[Drift]:
    """Bounds of the drift on the claim's steps."""
    constant = setting.eta != eta and not setting.eta.has(t)
    if "bounded-gradient" in setting.universe:
        if {"halving", "unbiased"} <= setting.universe.keys():
            yield Drift(4 * (tau - 1) ** 2 * eta**2 * sy.G_sq, (), d.Cited("li-drift"), ())
        elif constant:
            assumed = d.Condition(SHORTER, d.premise("constant-steps", ETA_S)) if setting.claim.eta is None else None
            yield _of_gradients(setting, eta if assumed is None else setting.eta, assumed)
        elif "equal-steps" in setting.universe:
            alike = d.step("alike", ETA_S, "<=", eta).by(
                d.premise("step-ratio"), (eta, d.premise("equal-steps", sp.Integer(0)))
            )
            drift = _of_gradients(setting, eta, d.Condition(SHORTER, d.Earlier("alike")))
            yield replace(drift, steps=(alike, *drift.steps))
        elif setting.eta != eta and any(condition.symbol == LATER for condition in setting.conditions):
            inverse = sp.expand(sp.cancel(1 / setting.eta))
            slope = inverse.coeff(t)
            after = sp.cancel(inverse.coeff(t, 0) / slope - gamma)
            halve = d.step("halve", ETA_S, "<=", 2 * eta).by(
                ((LATE + BEGUN + LATER + 1 + after) / (slope * (t + gamma + after) * (M_S + after)), d.ONE)
            )
            conditions = (d.Condition(LATE, d.premise("round-times")), d.Condition(BEGUN, d.premise("past-steps")))
            most = 4 * (tau - 1) ** 2 * eta**2 * sy.G_sq
            yield Drift(most, (halve,), d.Cited("li-drift", {"halving": "halve"}), conditions)
    if setting.claim.eta == sy.eta_0 and "one-function-apart" in setting.universe:
        for share, uses, shown in noises_apart(setting):
            most = k * eta**2 * share * sigma_sq
            yield from _within_round(setting, most, (), (d.Hypothesis("apart"), *uses), shown)
    if setting.claim.eta == sy.eta_0 and "zeta_sq" in setting.claim.symbols:
        yield from _of_dissimilar(setting)


def _of_gradients(setting: Setting, size: sp.Expr, assumed: d.Condition | None) -> Drift:
    """The drift where the steps of a round are of one size: by the schedule, or because that is ``assumed``."""
    sums, scale = Mean(U, norm_sq(G_S)), size**2 * sy.G_sq
    move = Mean(U, ETA_S**2 * norm_sq(G_S))
    jensen = d.averaged(U, d.Square(ETA_S * G_S - Centre(U, ETA_S * G_S), "Jensen: a variance over the steps"))
    longer = d.averaged(U, (SHORTER * (size + ETA_S), d.Square(G_S, "a square")))
    equal = () if assumed is None else (longer,)
    steps = (
        d.step("variance", sy.drift, "<=", Mean(ALPHA, norm_sq(X - START))).by(d.Square(W - START, "a variance")),
        d.step("jensen", norm_sq(X - START), "<=", n**2 * move).by(
            (-1, d.premise("local-steps", X - START - MOVED)), (n**2, jensen)
        ),
        d.step("moment", sums, "<=", sy.G_sq).by(d.averaged(U, d.premise("bounded-gradient", X_S))),
        d.step("equal", move, "<=", size**2 * sums).by(*equal),
        d.step("away", sy.drift, "<=", n**2 * scale).by(
            d.Earlier("variance"),
            d.averaged(ALPHA, d.Earlier("jensen"), (n**2, d.Earlier("equal")), (size**2 * n**2, d.Earlier("moment"))),
        ),
    )
    return _counted(setting, n**2 * scale, steps, () if assumed is None else (assumed,))


def _counted(
    setting: Setting, bound: sp.Expr, steps: tuple[d.Step, ...], conditions: tuple[d.Condition, ...]
) -> Drift:
    """What step ``away`` bounds by the number n of steps of the round before, in tau, or t in a first round."""
    most, more = bound.subs(n, tau - 1), sp.expand(bound.subs(n, n + LENGTH) - bound)
    counted: tuple[d.Use, ...] = ((more, d.ONE),)
    if more.has(sy.N):  # a share 1 - 1/N
        counted = ((sp.cancel(more / (sy.N - 1)), d.premise("some-client")),)
    elif more.has(sy.p_sq):  # a share 1 - sum_i p_i^2, as no p_i is above 1
        counted = ((more.subs(sy.p_sq, 0), d.averaged(P, d.premise("share-at-most-one"))),)
    length: tuple[d.Condition, ...] = (d.Condition(LENGTH, d.premise("round")),)
    if "first-round" in setting.universe:
        most, length = bound.subs(n, t), ()
        counted = ((sp.cancel((most - bound) / (t - n)), d.premise("first-round")),)
    line = d.step("drift", sy.drift, "<=", most).by(d.Earlier("away"), *counted)
    return Drift(most, (*steps, line), d.Earlier("drift"), (*length, *conditions), bound)


def noises_apart(
    setting: Setting,
) -> Iterator[tuple[sp.Expr, tuple[d.Written, ...], tuple[d.Condition, ...]]]:
    """By what share of eta^2 sigma^2 a step parts the models of identical clients, and what carries an induction."""
    alike: tuple[d.Written, ...] = (
        (2 * eta / L, d.premise("one-function-apart")),
        (eta * ALIKE / L, d.averaged(P, d.Square(grad(X) - Centre(P, grad(X)), "a square"))),
    )
    others = (
        (eta**2, d.premise("independent-clients")),
        d.averaged(P, (eta**2 * OTHERS_SHARE, d.premise("bounded-variance", X))),
    )
    names = setting.claim.symbols
    if "no-noise" in setting.universe:
        yield sp.Integer(0), (*alike, *noise_apart(setting)), ()
    elif "bounded-variance" in setting.universe:
        rest = (d.Condition(OTHERS_SHARE, d.premise("share-at-most-one")),)
        if "p_sq" in names:
            yield 1 - sy.p_sq, (*alike, *others), rest
        if "N" in names and "equal-p" in setting.universe:
            noises = d.averaged(P, (eta**2 * CLIENTS / sy.N, d.premise("bounded-variance", X)))
            equal = (-(eta**2), d.averaged(P, (norm_sq(NOISE), d.premise("equal-p"))))
            yield 1 - 1 / sy.N, (*alike, others[0], noises, equal), ()
        elif "N" in names:
            spread = (eta**2 * sigma_sq / sy.N, d.premise("squared-shares"))
            yield 1 - 1 / sy.N, (*alike, *others, spread), rest
        yield sp.Integer(1), (*alike, *noise_apart(setting)), ()


def _of_dissimilar(setting: Setting) -> Iterator[Drift]:
    """The drift by zeta^2, as an induction over local steps: a step from two models brings these no farther apart."""
    least = facts.curvature_of(set(setting.universe))
    noisy = "no-noise" not in setting.universe
    if least is None or (noisy and "bounded-variance" not in setting.universe):
        return
    bound = k**2 * eta**2 * zeta_sq
    if noisy:
        bound = eta**2 * (sp.Rational(2, 3) * k * (2 * k + 1) * zeta_sq + 2 * k * sigma_sq)
    lines, uses = (_noisy_step if noisy else _clean_step)(setting, least)
    yield from _within_round(setting, bound, lines, uses)


def _within_round(
    setting: Setting,
    bound: sp.Expr,
    lines: tuple[d.Step, ...],
    uses: tuple[d.Written, ...],
    conditions: tuple[d.Condition, ...] = (),
) -> Iterator[Drift]:
    """The drift within a bound in k, which the uses carry from k local steps to k + 1."""
    if not {"smooth", "unbiased", "full-participation"} <= setting.universe.keys():
        return
    goal = Goal(sy.drift, bound, "step", setting.universe, None, (), setting.claim)
    for small_line, condition, _ in small(setting, LIMITS[4:5], ALIKE):
        line = d.step("apart", SPREAD, "<=", bound)
        mended = closing(goal, goal.frame, [(sp.Integer(1), d.Earlier("apart"))], [line])
        if mended is None:
            return
        carry = d.step("carry-apart", SPREAD.xreplace(AFTER), "<=", bound.xreplace(AFTER))
        counted = sp.cancel((bound.subs(k, n) - bound) / (n - k))
        steps = (
            small_line,
            d.step("base-apart", SPREAD.xreplace({X: START}), "<=", 0),
            *lines,
            carry.by(*uses),
            line.by(d.Induction("base-apart", "carry-apart", local=True)),
            d.step("away", sy.drift, "<=", bound.subs(k, n)).by(
                d.Earlier("apart"), *mended, (-counted, d.premise("local-step"))
            ),
        )
        yield _counted(setting, bound.subs(k, n), steps, (condition, *conditions))


def moved_alike(middle: sp.Expr) -> sp.Expr:
    """x - y - eta (grad F_i(x) - grad F_i(y)), for y the mean of the models."""
    return X - middle - eta * (grad(X) - grad(middle))


def even_and_pulled(middle: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """`moved_alike` less its mean, and eta (grad F_i(y) less its mean): models part by both."""
    moved, slope = moved_alike(middle), grad(middle)
    return moved - Centre(P, moved), eta * (slope - Centre(P, slope))


EVEN, PULLED = even_and_pulled(MIDDLE)


def no_farther(middle: sp.Expr, least: sp.Expr, share: sp.Expr, spare: sp.Expr) -> tuple[d.Written, ...]:
    """share (||x - y||^2 - ||`moved_alike`||^2) >= 0 for y the mean, and a variance; ``spare`` is 2 - eta L >= 0."""
    turn = grad(X) - grad(middle)
    return (
        d.averaged(
            P,
            *((2 * eta * share * m, fact) for m, fact in both_ways(X, middle, least)),
            (share * eta * spare / L, d.Square(turn, "a square")),
        ),
        (share, d.Square(Centre(P, moved_alike(middle)), "a variance is below any second moment")),
    )


def _clean_step(setting: Setting, least: sp.Expr) -> tuple[tuple[d.Step, ...], tuple[d.Written, ...]]:
    """sqrt(D) grows by eta zeta a step: Young's inequality with the weight k, which is 0 at the start."""
    scale = eta**2 * zeta_sq
    even = d.step("even", Mean(P, norm_sq(EVEN)), "<=", k**2 * scale)
    even = even.by(d.Hypothesis("apart"), *no_farther(MIDDLE, least, sp.Integer(1), ALIKE))
    uses = (
        d.Earlier("even"),
        d.Young("even", EVEN, PULLED, k, scale),
        (eta**2 * (k + 1), d.premise("gradient-spread")),
        *noise_apart(setting),
    )
    return (even,), uses


def _noisy_step(setting: Setting, least: sp.Expr) -> tuple[tuple[d.Step, ...], tuple[d.Written, ...]]:
    """The same with noise, by Young's inequality of weight 1/(2k + 1)."""
    a = 2 * k + 1
    uses = (
        (1 + 1 / a, d.Hypothesis("apart")),
        *no_farther(MIDDLE, least, 1 + 1 / a, ALIKE),
        d.averaged(P, (1 / a, d.Square(EVEN + a * PULLED, "Young's inequality"))),
        (eta**2 * (1 + a), d.premise("gradient-spread")),
        *noise_apart(setting),
        (eta**2 * sigma_sq / a, d.ONE),
    )
    return (), uses
