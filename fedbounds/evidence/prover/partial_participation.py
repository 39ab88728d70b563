"""One round of drawn clients: all N clients run it, their mean is followed, and at its end m of them are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from fedbounds.evidence.prover import draws
from fedbounds.evidence.prover.run_setting import L, Proposal, Setting, T, eta, mu, t
from fedbounds.evidence.prover.step_facts import mean_step, shares
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import NOISE, SHARE, START, W_STAR, X_T, G, P, X
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Centre, Mean, norm_sq

m, N = sy.m, sy.N
MIDDLE, MIDDLE_T = Centre(P, X), Centre(P, X_T)
AWAY, AWAY_T = (Mean(P, norm_sq(x - START)) for x in (X, X_T))
NEAR, NEAR_T = (norm_sq(middle - W_STAR) for middle in (MIDDLE, MIDDLE_T))
SPREAD = Mean(P, norm_sq(X - MIDDLE))
AFTER = {X: X - eta * G}
LEFT = draws.LEFT_SHARE


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about the distance after one round of clients drawn without replacement."""
    needed = {"drawn-at-end", "first-round", "bounded-gradient", "smooth", "strongly-convex"}
    several = draws.several(setting.universe)
    if not needed <= setting.universe.keys() or several is None or setting.claim.eta != sy.eta_0:
        return
    scale = eta**2 * sy.G_sq
    share = (N - m) / (m * (N - 1))
    # Of their spread the mean of m of the N models has this share.
    left = d.step("left-share", 0, "<=", share).by((1 / (m * (N - 1)), d.premise("no-more-drawn")))
    bound = sp.expand(right.xreplace({sy.eta_0: eta}) - share * T**2 * scale)
    for noise, shown in _noises(setting):
        carried = _carried(setting, bound, noise, shown)
        if carried is None:
            continue
        lines, conditions = carried
        steps = (*several, left, *_away(scale), *lines)
        last = (
            (1 / (m * (N - 1)), d.premise("drawn-at-end")),
            d.Earlier("near"),
            (LEFT, d.Earlier("far")),
            (LEFT, d.Square(MIDDLE_T - START, "a variance is below any second moment")),
        )
        yield steps, last, (d.Condition(LEFT, d.Earlier("left-share")), *conditions)


def _away(scale: sp.Expr) -> tuple[d.Step, ...]:
    """sum_i p_i ||w_i - w_0||^2 <= T^2 eta^2 G^2: its root grows by eta G a step."""
    way = X - START
    return (
        d.step("base-far", Mean(P, norm_sq(START - START)), "<=", 0),
        d.step("way", AWAY, "<=", t**2 * scale).by(d.Hypothesis("far")),
        d.step("carry-far", AWAY.xreplace(AFTER), "<=", (t + 1) ** 2 * scale).by(
            d.Earlier("way"),
            d.Young("way", way, eta * G, t, scale),
            d.averaged(P, (eta**2 * (t + 1), d.premise("bounded-gradient", X))),
        ),
        d.step("far", AWAY_T, "<=", T**2 * scale).by(d.Induction("base-far", "carry-far")),
    )


def _noises(setting: Setting) -> Iterator[tuple[sp.Expr, tuple[d.Written, ...]]]:
    """What the variance of all clients' mean gradient is at most, and what shows it."""
    if "no-noise" in setting.universe:
        square = d.Square(NOISE - Centre(P, NOISE), "Jensen: a variance")
        yield sp.Integer(0), (d.averaged(P, square, (-1, d.premise("no-noise"))),)
    elif {"bounded-variance", "equal-p"} <= setting.universe.keys():
        equal = d.averaged(P, (SHARE, d.premise("bounded-variance", X)), (sy.sigma_sq, d.premise("equal-p")))
        yield sy.sigma_sq / N, ((-1, d.premise("drawn-noises")), equal)


def _carried(
    setting: Setting,
    bound: sp.Expr,
    noise: sp.Expr,
    noisy: tuple[d.Written, ...],
) -> tuple[tuple[d.Step, ...], tuple[d.Condition, ...]] | None:
    """The induction that the mean of all clients' models is within the bound, and its conditions."""
    positive, size = setting.letters.positive, setting.eta
    kept = shares(setting, mu)
    apart = (1 - eta * mu) * eta * (L - mu)
    each = apart * t**2 * eta**2 * sy.G_sq + eta**2 * noise
    base = termwise(setting, (bound.subs(T, 0) - sy.Delta_0).subs(eta, size))
    now, then = (bound.subs(T, time) for time in (t, t + 1))
    rest = termwise(setting, sp.expand((then - (1 - eta * mu) * now - each).subs(eta, size)))
    share, size = positive(apart), setting.eta
    if kept is None or share is None or base is None or rest is None:
        return None
    whole = kept[0].xreplace({eta: size})
    steps = (
        d.step("step", NEAR.xreplace(AFTER), "<=", (1 - eta * mu) * NEAR + apart * SPREAD + eta**2 * noise).by(
            *mean_step(MIDDLE, (mu, mu), kept, 2 * kept[0]),
            *((eta**2 * multiplier, fact) for multiplier, fact in map(d.as_use, noisy)),
        ),
        d.step("apart", SPREAD, "<=", t**2 * eta**2 * sy.G_sq).by(
            d.Hypothesis("far", "shown at t"), d.Square(MIDDLE - START, "a variance is below any second moment")
        ),
        d.step("base-near", norm_sq(START - W_STAR), "<=", bound.subs(T, 0)).by(
            d.premise("first-round-start"), *base.uses
        ),
        d.step("carry-near", NEAR.xreplace(AFTER), "<=", then).by(
            d.Earlier("step"),
            (whole, d.Hypothesis("near")),
            (share, d.Earlier("apart")),
            *rest.uses,
        ),
        d.step("near", NEAR_T, "<=", bound).by(d.Induction("base-near", "carry-near")),
    )
    before = rest.after(base)
    return (*before.steps, *steps), before.conditions
