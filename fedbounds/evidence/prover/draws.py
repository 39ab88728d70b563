"""Clients drawn for each step: what is known of a step's second moment, and of how many are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import sympy as sp

from fedbounds.evidence.prover.facts import Candidate
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import NOISE, SHARE, STEPPED, W_NEXT, W_STAR, P, W, X, grad
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.vectors import Centre, Mean, norm_sq

DRAWN, ONE = "drawn-clients", "one-drawn-client"
# m - 1, and the share (N - m)/(m (N - 1)) of the models' variance that the mean of m of them has.
BEYOND_ONE, LEFT_SHARE = (sp.Symbol(name, nonnegative=True) for name in ("beyond_one", "left_share"))
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
        if DRAWN not in universe or ONE in universe:
            return cls()
        several = _several(universe)
        if several is None:
            beyond = d.Condition(BEYOND_ONE, d.premise("some-drawn"))
            return cls((), (beyond,), {m: 1 + BEYOND_ONE}, (1 / (1 + BEYOND_ONE),))
        share = d.step("left-share", 0, "<=", (N - m) / (m * (N - 1)))
        steps = several, share.by((1 / (m * (N - 1)), d.premise("no-more-drawn")))
        left = d.Condition(LEFT_SHARE, d.Earlier("left-share"))
        return cls(steps, (left,), {N: m * (1 - LEFT_SHARE) / (1 - m * LEFT_SHARE)}, (LEFT_SHARE,))


def _several(universe: Mapping[str, Assumption]) -> d.Step | None:
    """The step that shows N - 1 > 0, where the claim says that N >= 2."""
    for item in universe.values():
        for k, part in enumerate(item.facts() if item.gives is None else ()):
            if part.sign == "<=" and sp.expand(part.right - part.left - N + 2) == 0:
                index = (sp.Integer(k),) if len(item.parts) > 1 else ()
                return d.step("several-clients", N - 1, ">", 0).by(d.premise(item.key, *index), d.ONE)
    return None


def of_draws(universe: Mapping[str, Assumption]) -> Iterator[Candidate]:
    """The second moment of a step by drawn clients, and of what it is made of."""
    if ONE in universe:
        uses = ((sp.Integer(1), d.premise(ONE, W_STAR)),)
        yield Candidate(Mean(P, norm_sq(STEPPED - W_STAR)) - norm_sq(W_NEXT - W_STAR), 0, uses, free=True)
    elif _several(universe) is not None:
        way = STEPPED - W_STAR
        mean = LEFT_SHARE * Mean(P, norm_sq(way)) + (1 - LEFT_SHARE) * norm_sq(Centre(P, way))
        uses = ((1 / (m * (N - 1)), d.premise(DRAWN, W_STAR)),)
        yield Candidate(mean - norm_sq(W_NEXT - W_STAR), 0, uses, free=True)
    else:
        way = W - sy.eta * grad(W) - W_STAR
        mean = (Mean(P, norm_sq(STEPPED - W_STAR)) + BEYOND_ONE * norm_sq(Centre(P, way))) / m
        uses = ((1 / m, d.premise("drawn-at-most", W_STAR)),)
        yield Candidate(mean - norm_sq(W_NEXT - W_STAR), 0, uses)
    if "no-noise" in universe:
        uses = ((sp.Integer(-1), d.premise("no-noise")),)
        yield Candidate(-Mean(P, norm_sq(NOISE)), 2, ((sp.Integer(1), d.Averaged(P, uses)),), free=True)
    elif {"bounded-variance", "equal-p"} <= universe.keys():
        variance = d.premise("bounded-variance", X)
        yield Candidate(sy.sigma_sq - Mean(P, norm_sq(NOISE)), 2, (d.as_use(d.averaged(P, variance)),))
        equal = d.averaged(P, (SHARE, variance), (sy.sigma_sq, d.premise("equal-p")))
        size = norm_sq(Centre(P, NOISE))
        independent = d.as_use((-1, d.premise("drawn-noises")))
        yield Candidate(sy.sigma_sq / sy.N - size, 2, (independent, d.as_use(equal)))
    slope = grad(W)
    value = sy.zeta_sq - Mean(P, norm_sq(slope - Centre(P, slope)))
    yield Candidate(value, 2, (d.as_use(d.premise("dissimilarity")),))


def noises(universe: Mapping[str, Assumption]) -> Iterator[sp.Expr]:
    """What the variance of a step by drawn clients is at most, beside what the contraction pays for."""
    share = sp.Integer(1) if ONE in universe else 1 / m if _several(universe) is None else (N - m) / (m * (N - 1))
    noise = sp.Integer(0) if "no-noise" in universe else sy.sigma_sq / m
    if "common-optimum" in universe:
        yield noise
    yield noise + share * sy.zeta_sq
    yield noise + 2 * share * sy.zeta_star_sq
