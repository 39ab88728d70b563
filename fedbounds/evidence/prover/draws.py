"""The facts of clients drawn for each step: how many, the moments of their mean, and the noise that they bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp

from fedbounds.evidence.prover.facts import Candidate, noise_fact
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, SHARE, STEPPED, W_NEXT, W_STAR, P, W, X, grad
from fedbounds.evidence.symbolic.permitted_assumptions import divisor_key
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.vectors import Centre, Inner, Mean, norm_sq

DRAWN, ONE, BY_P = "drawn-clients", "one-drawn-client", "drawn-by-p"
# m - 1, the share (N - m)/(m (N - 1)) of the models' variance that the mean of m of them has, and what it has not.
BEYOND_ONE, LEFT_SHARE, LOST_SHARE = (
    sp.Symbol(name, nonnegative=True) for name in ("beyond_one", "left_share", "lost_share")
)
m, N = sy.m, sy.N


@dataclass(frozen=True)
class Draws:
    """How many clients are drawn: steps and conditions, what N or m is in their symbols, and what is not negative."""

    steps: tuple[d.Step, ...] = ()
    conditions: tuple[d.Condition, ...] = ()
    numbers: Mapping[sp.Basic, sp.Expr] = field(default_factory=dict)
    letters: tuple[sp.Expr, ...] = ()

    @classmethod
    def of(cls, universe: Mapping[str, Assumption]) -> Draws:
        """That of a claim's assumptions; nothing where no clients are drawn, or one."""
        if not drawn(universe) or ONE in universe:
            return cls()
        shown = several(universe)
        if shown is None:
            beyond = d.Condition(BEYOND_ONE, d.premise("some-drawn"))
            return cls((), (beyond,), {m: 1 + BEYOND_ONE}, (1 / (1 + BEYOND_ONE), BEYOND_ONE / (1 + BEYOND_ONE)))
        left = d.step("left-share", 0, "<=", (N - m) / (m * (N - 1)))
        lost = d.step("lost-share", 0, "<=", 1 - (N - m) / (m * (N - 1)))
        steps = (
            *shown,
            left.by((1 / (m * (N - 1)), d.premise("no-more-drawn"))),
            lost.by((N / (m * (N - 1)), d.premise("some-drawn"))),
        )
        shares = {LEFT_SHARE: d.Earlier("left-share"), LOST_SHARE: d.Earlier("lost-share")}
        conditions = tuple(d.Condition(symbol, step) for symbol, step in shares.items())
        numbers = {N: m * (1 - LEFT_SHARE) / (1 - m * LEFT_SHARE), LOST_SHARE: 1 - LEFT_SHARE}
        return cls(steps, conditions, numbers, tuple(shares))


def drawn(universe: Mapping[str, Assumption]) -> bool:
    """Whether clients are drawn for each step."""
    return DRAWN in universe or BY_P in universe


def several(universe: Mapping[str, Assumption]) -> tuple[d.Step, ...] | None:
    """The steps that show N - 1 > 0, where m of N are drawn and the claim says N >= 2, or divides by N - 1."""
    if BY_P in universe:
        return None
    least = d.step("several-clients", N - 1, ">", 0)
    for item in universe.values():
        for k, part in enumerate(item.facts() if item.gives is None else ()):
            if part.sign == "<=" and sp.expand(part.right - part.left - N + 2) == 0:
                index = (sp.Integer(k),) if len(item.parts) > 1 else ()
                return (least.by(d.premise(item.key, *index), d.ONE),)
    if divisor_key(N - 1) in universe:
        return d.step("some-clients", 0, "<=", N - 1).by(d.premise("some-client")), least.by(
            d.Divisor("some-clients")
        )
    return None


def _second_moment(universe: Mapping[str, Assumption], at: sp.Expr) -> Candidate:
    """||w_{t+1} - v||^2 for a point v before the draw."""
    way, noiseless, after = STEPPED - at, W - sy.eta * grad(W) - at, norm_sq(W_NEXT - at)
    if BY_P in universe:
        mean = (Mean(P, norm_sq(way)) + BEYOND_ONE * norm_sq(Centre(P, way))) / m
        return Candidate(mean - after, 0, ((1 / m, d.premise(BY_P, at)),), free=True)
    if ONE in universe:
        return Candidate(Mean(P, norm_sq(way)) - after, 0, ((sp.Integer(1), d.premise(ONE, at)),), free=True)
    if several(universe) is not None:
        mean = LEFT_SHARE * Mean(P, norm_sq(way)) + (1 - LEFT_SHARE) * norm_sq(Centre(P, way))
        return Candidate(mean - after, 0, ((1 / (m * (N - 1)), d.premise(DRAWN, at)),), free=True)
    mean = (Mean(P, norm_sq(way)) + BEYOND_ONE * norm_sq(Centre(P, noiseless))) / m
    return Candidate(mean - after, 0, ((1 / m, d.premise("drawn-at-most", at)),))


def of_draws(universe: Mapping[str, Assumption], points: Sequence[sp.Expr] = (W_STAR,)) -> Iterator[Candidate]:
    """The moments of a step by drawn clients, seen from points before the draw, and of what it is made of."""
    for at in points:
        yield _second_moment(universe, at)
    slope = Centre(P, grad(W))
    uses = ((sp.Integer(1), d.premise("drawn-mean-step", slope)),)
    yield Candidate(Inner(W_NEXT - Centre(P, STEPPED), slope), 1, uses, free=True)
    if "bounded-gradient" in universe:
        every = Mean(P, norm_sq(grad(W))) + Mean(P, norm_sq(NOISE))
        yield noise_fact(sy.G_sq - every, d.averaged(P, d.premise("moment-at-step")))
    if "no-noise" in universe:
        uses = ((sp.Integer(-1), d.premise("no-noise")),)
        yield Candidate(-Mean(P, norm_sq(NOISE)), 2, ((sp.Integer(1), d.Averaged(P, uses)),), free=True)
    elif "bounded-variance" in universe:
        variance = d.premise("bounded-variance", X)
        size, independent = norm_sq(Centre(P, NOISE)), (-1, d.premise("drawn-noises"))
        yield noise_fact(sy.sigma_sq - Mean(P, norm_sq(NOISE)), d.averaged(P, variance))
        if "equal-p" in universe:
            equal = d.averaged(P, (SHARE, variance), (sy.sigma_sq, d.premise("equal-p")))
            yield noise_fact(sy.sigma_sq / sy.N - size, independent, equal)
        elif BY_P in universe:
            yield noise_fact(sy.sigma_sq * sy.p_sq - size, independent, d.averaged(P, (SHARE, variance)))
            jensen = d.averaged(P, d.Square(NOISE - Centre(P, NOISE), "Jensen: a variance"))
            yield noise_fact(sy.sigma_sq - size, jensen, d.averaged(P, variance))
    slope = grad(W)
    value = sy.zeta_sq - Mean(P, norm_sq(slope - Centre(P, slope)))
    yield Candidate(value, 2, (d.as_use(d.premise("dissimilarity")),))


def of_drawn_vectors(universe: Mapping[str, Assumption], vectors: set[sp.Expr]) -> Iterator[Candidate]:
    """The mean square of a mean of gradients under the draw, of each as it is and less their mean."""
    for v in (w for u in sorted(vectors, key=sp.default_sort_key) for w in (u, u - Centre(P, u))):
        every, middle, drawn_mean = Mean(P, norm_sq(v)), norm_sq(Centre(P, v)), norm_sq(Centre(ALPHA, v))
        if BY_P in universe:
            value, share, key = (every + BEYOND_ONE * middle) / m - drawn_mean, 1 / m, "drawn-by-p-at-step"
        elif several(universe) is not None:
            value = LEFT_SHARE * every + (1 - LEFT_SHARE) * middle - drawn_mean
            share, key = 1 / (m * (N - 1)), "drawn-weights-at-step"
        else:
            return
        yield Candidate(value, 2, ((share, d.premise(key, v)),), free=True)


def of_drawn_models() -> Iterator[Candidate]:
    """The mean of drawn clients' models: in expectation that of all, no farther than 1/m of their spread."""
    centre = Centre(P, X)
    away = X - centre
    for u, power in ((centre - W_STAR, 0), (Centre(P, grad(centre)), 1), (Centre(P, grad(X)), 1)):
        uses = ((sp.Integer(1), d.premise("drawn-weights-mean", X, u)),)
        yield Candidate(Inner(W - centre, u), power, uses, free=True)
    uses = ((1 / m, d.premise("drawn-weights-at-most", away)),)
    yield Candidate(Mean(P, norm_sq(away)) / m - norm_sq(W - centre), 0, uses)


def noises(universe: Mapping[str, Assumption]) -> Iterator[sp.Expr]:
    """What the variance of a step by drawn clients is at most, beside what the contraction pays for."""
    share = sp.Integer(1) if ONE in universe else 1 / m if several(universe) is None else (N - m) / (m * (N - 1))
    of_one = [sp.Integer(0)] if "no-noise" in universe else [sy.sigma_sq / m]
    if BY_P in universe and "no-noise" not in universe:
        # A client that is drawn twice brings its noise twice.
        least = [1 / N] if "equal-p" in universe else [sy.p_sq, sp.Integer(1)]
        of_one = [sy.sigma_sq * (1 + (m - 1) * item) / m for item in least]
    for noise in of_one:
        if "common-optimum" in universe:
            yield noise
        yield noise + share * sy.zeta_sq
        yield noise + 2 * share * sy.zeta_star_sq
