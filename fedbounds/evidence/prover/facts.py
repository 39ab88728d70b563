"""The facts a proof may combine: inequalities of the class between points, bounds on the noise, clients drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations

import sympy as sp

from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    NOISE,
    OWN,
    SHARE,
    STEPPED,
    W_NEXT,
    W_STAR,
    P,
    W,
    X,
    gap,
    grad,
    loss,
)
from fedbounds.evidence.symbolic.granted import divisor_key
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.units import powers
from fedbounds.theory.vectors import Centre, Inner, Mean, norm_sq

L, mu = sy.L, sy.mu
K = sp.Symbol("K", positive=True)


@dataclass(frozen=True)
class Candidate:
    """``value`` >= 0 (or = 0 where ``free``), of joule^``power`` metre^(2 - 2 power), by a combination of facts."""

    value: sp.Expr
    power: int
    uses: tuple[d.Use, ...]
    free: bool = False
    steps: tuple[d.Step, ...] = ()


def smooth(at: sp.Expr, to: sp.Expr) -> d.Premise:
    """The quadratic upper bound from one point to another."""
    return d.premise("smooth", at, to, why="L-smoothness of F_i")


def convex(at: sp.Expr, to: sp.Expr, curvature: sp.Expr = mu) -> d.Premise:
    """The quadratic lower bound from one point to another, or the tangent where the curvature is 0."""
    if curvature == 0:
        return d.premise("convex", at, to, why="convexity of F_i")
    return d.premise("strongly-convex", at, to, why="mu-convexity of F_i")


def curvature_of(keys: set[str]) -> sp.Expr | None:
    """The curvature that convexity grants: mu, or 0; None where nothing is assumed convex."""
    return mu if "strongly-convex" in keys else sp.Integer(0) if "convex" in keys else None


def tangent(at: sp.Expr, to: sp.Expr) -> sp.Expr:
    """F_i(to) less its tangent at a point."""
    return loss(to) - loss(at) - Inner(grad(at), to - at)


def of_client(points: tuple[sp.Expr, ...], keys: set[str]) -> Iterator[Candidate]:
    """What smoothness and convexity say of one client's function at points."""
    least = curvature_of(keys)
    for x, y in permutations(points, 2):
        if least is not None:
            yield _candidate(tangent(x, y) - least / 2 * norm_sq(y - x), convex(x, y, least))
        if "smooth" in keys:
            yield _candidate(L / 2 * norm_sq(y - x) - tangent(x, y), smooth(x, y))
        if "smooth" in keys and least is not None:
            yield cocoercive(x, y, least)
        if {"smooth", "strongly-convex"} <= keys:
            yield _interpolation(x, y)
    for x in points:
        if x == OWN:
            continue
        end = x - grad(x) / L
        if "smooth" in keys:
            bound = gap(x) - norm_sq(grad(x)) / (2 * L)
            yield _candidate(bound, smooth(x, end), d.premise("minimum", end))
        if "strongly-convex" in keys:
            square = d.Square(OWN - x + grad(x) / mu, "a square")
            yield _candidate(
                norm_sq(grad(x)) / (2 * mu) - gap(x), convex(x, OWN), (-1, d.premise("attained")), (mu / 2, square)
            )


def _candidate(value: sp.Expr, *uses: d.Written) -> Candidate:
    return Candidate(value, 1, tuple(d.as_use(use) for use in uses))


def cocoercive(x: sp.Expr, y: sp.Expr, least: sp.Expr = mu) -> Candidate:
    """F_i(x) lies above its tangent at y by ||grad F_i(x) - grad F_i(y)||^2/(2L)."""
    away = grad(x) - grad(y)
    end = x - away / L
    square = ((least / 2, d.Square(end - y, "a square")),) if least != 0 else ()
    return _candidate(tangent(y, x) - norm_sq(away) / (2 * L), smooth(x, end), convex(y, end, least), *square)


def _interpolation(x: sp.Expr, y: sp.Expr) -> Candidate:
    """(L - mu)(F_i(x) - its tangent at y - mu/2 ||x - y||^2) >= ||grad F_i(x) - grad F_i(y) - mu (x - y)||^2/2."""
    away = grad(x) - grad(y) - mu * (x - y)
    end, beyond = x - away / K, y + away
    label = f"interpolation-{x}-{y}".replace("[i]", "")
    left = (L - mu) * (tangent(y, x) - mu / 2 * norm_sq(x - y))
    quadratic = (smooth(y, beyond), convex(x, beyond), smooth(x, y))
    cases = d.Cases(
        L - mu,
        d.case(K, (K, smooth(x, end)), (K, convex(y, end))),
        d.case(L, *((sp.Rational(1, 2), fact) for fact in quadratic)),
        zero="curved",
    )
    curved = d.step("curved", mu, "<=", L).by(d.premise("curvatures"))
    line = d.step(label, norm_sq(away) / 2, "<=", left).by(cases, note="interpolation of a smooth convex function")
    return Candidate(left - norm_sq(away) / 2, 2, ((sp.Integer(1), d.Earlier(label)),), steps=(curved, line))


def common_minimum() -> Candidate:
    """F_i(w*) <= F_i*, as w* minimises every F_i."""
    way = OWN - W_STAR
    square = d.Square(way, "a square")
    uses = (convex(W_STAR, OWN), (-1, d.premise("attained")), (mu / 2, square), d.premise("common-optimum", way))
    return _candidate(-gap(W_STAR), *uses)


def least_skew() -> Candidate:
    """rho_bar sum_i p_i e_i <= sum_i alpha_i e_i, at the local models where they are w_t."""
    there = (d.averaged(ALPHA, convex(W, X)), (sy.rho_bar, d.averaged(P, convex(X, W))))
    return _candidate(Mean(ALPHA, gap(X)) - sy.rho_bar * Mean(P, gap(X)), d.premise("rho-bar"), *there)


def averaged(one: Candidate, weights: sp.Expr) -> Candidate:
    """The mean of a fact about one client."""
    fact = d.Averaged(weights, one.uses)
    return Candidate(Mean(weights, one.value), one.power, ((sp.Integer(1), fact),), steps=one.steps)


def equal_slopes(x: sp.Expr, y: sp.Expr) -> Candidate:
    """||sum_i p_i (grad F_i(x) - grad F_i(y) - mu (x - y))||^2 <= 0, which holds where L = mu."""
    one, away = _interpolation(x, y), grad(x) - grad(y) - mu * (x - y)
    spread = d.averaged(P, d.Square(away - Centre(P, away), "Jensen: a variance"))
    value = -norm_sq(Centre(P, away))
    return Candidate(value, 2, ((sp.Integer(2), d.Averaged(P, one.uses)), d.as_use(spread)), steps=one.steps)


def of_products(atoms: set[sp.Expr], states: Mapping[sp.Basic, sp.Expr]) -> Iterator[Candidate]:
    """Cauchy-Schwarz for products of two means of squares: ||sum_i p_i c_i v_i||^2 is at most theirs."""
    for product in sorted(atoms, key=str):
        factors = [(symbol, states.get(symbol)) for symbol in sp.Mul.make_args(product)]
        for (first, numbers), (second, vectors) in permutations(factors, 2):
            if not (isinstance(numbers, Mean) and isinstance(vectors, Mean) and first * second == product):
                continue
            square, v = numbers.args[1], vectors.args[1]
            if square.is_Pow and square.exp == 2 and isinstance(v, Inner) and v.args[0] == v.args[1]:
                c, v = square.base, v.args[0]
                value = product - norm_sq(Centre(P, c * v))
                yield Candidate(value, powers(product)[1], ((sp.Integer(1), d.MeanCauchySchwarz(c, v)),))


def of_noise(universe: Mapping[str, Assumption], weights: sp.Expr = P) -> Iterator[Candidate]:
    """Bounds on E||sum_i weights_i noise_i||^2."""
    if "full-participation" not in universe:
        return
    size = norm_sq(Centre(weights, NOISE))
    variance = d.premise("bounded-variance", X)
    jensen = d.averaged(weights, d.Square(NOISE - Centre(weights, NOISE), "Jensen: a variance"))
    if "no-noise" in universe:
        yield _noise(-size, jensen, (-1, d.averaged(weights, d.premise("no-noise"))))
    if "bounded-gradient" in universe:
        moment = d.averaged(weights, d.premise("bounded-gradient", X))
        yield _noise(sy.G_sq - size - Mean(weights, norm_sq(grad(X))), jensen, moment)
    if "bounded-variance" not in universe:
        return
    yield _noise(sy.sigma_sq - size, jensen, d.averaged(weights, variance))
    if weights != P:
        return
    clients = d.averaged(P, (SHARE, d.premise("client-variances")))
    independent = (-1, d.premise("independent-clients"))
    yield _noise(sy.sigma_p_sq - size, independent, clients)
    yield _noise(sy.sigma_sq * sy.p_sq - size, independent, d.averaged(P, (SHARE, variance)))
    if "equal-p" in universe:
        equal = d.averaged(P, (SHARE, variance), (sy.sigma_sq, d.premise("equal-p")))
        yield _noise(sy.sigma_sq / sy.N - size, independent, equal)


def _noise(value: sp.Expr, *uses: d.Written) -> Candidate:
    return Candidate(value, 2, tuple(d.as_use(use) for use in uses))


def of_constants(atoms: set[sp.Expr]) -> Iterator[Candidate]:
    """That constants and measured quantities are not negative."""
    for atom in sorted(atoms, key=str):
        if atom.is_nonnegative and all(getattr(s, "units", None) is not None for s in atom.free_symbols):
            yield Candidate(atom, powers(atom)[1], ((atom, d.ONE),))


def value_of(fact: object, given: Callable[[d.Premise], sp.Expr], lines: Mapping[str, sp.Expr]) -> sp.Expr:
    """What a fact says is not negative, as the checker will read it."""
    if isinstance(fact, d.Premise):
        return given(fact)
    if isinstance(fact, d.Square):
        return norm_sq(fact.of)
    if isinstance(fact, d.MeanCauchySchwarz):
        numbers, vectors = (Mean(P, of) for of in (fact.numbers**2, norm_sq(fact.vectors)))
        return numbers * vectors - norm_sq(Centre(P, fact.numbers * fact.vectors))
    if isinstance(fact, d.Young):
        return 2 * Mean(P, Inner(fact.u, fact.v)) + fact.c * (fact.s + Mean(P, norm_sq(fact.v)))
    if isinstance(fact, d.Averaged):
        return Mean(fact.weights, sp.Add(*(m * value_of(item, given, lines) for m, item in fact.uses)))
    if isinstance(fact, d.Earlier):
        return lines[fact.label]
    return sp.Integer(1)


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


def of_draws(universe: Mapping[str, Assumption]) -> Iterator[Candidate]:
    """The second moment of a step by drawn clients, and of what it is made of."""
    if BY_P in universe:
        way = STEPPED - W_STAR
        mean = (Mean(P, norm_sq(way)) + BEYOND_ONE * norm_sq(Centre(P, way))) / m
        yield Candidate(mean - norm_sq(W_NEXT - W_STAR), 0, ((1 / m, d.premise(BY_P, W_STAR)),), free=True)
    elif ONE in universe:
        uses = ((sp.Integer(1), d.premise(ONE, W_STAR)),)
        yield Candidate(Mean(P, norm_sq(STEPPED - W_STAR)) - norm_sq(W_NEXT - W_STAR), 0, uses, free=True)
    elif several(universe) is not None:
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
    elif "bounded-variance" in universe:
        variance = d.premise("bounded-variance", X)
        size, independent = norm_sq(Centre(P, NOISE)), (-1, d.premise("drawn-noises"))
        yield _noise(sy.sigma_sq - Mean(P, norm_sq(NOISE)), d.averaged(P, variance))
        if "equal-p" in universe:
            equal = d.averaged(P, (SHARE, variance), (sy.sigma_sq, d.premise("equal-p")))
            yield _noise(sy.sigma_sq / sy.N - size, independent, equal)
        elif BY_P in universe:
            yield _noise(sy.sigma_sq * sy.p_sq - size, independent, d.averaged(P, (SHARE, variance)))
            jensen = d.averaged(P, d.Square(NOISE - Centre(P, NOISE), "Jensen: a variance"))
            yield _noise(sy.sigma_sq - size, jensen, d.averaged(P, variance))
    slope = grad(W)
    value = sy.zeta_sq - Mean(P, norm_sq(slope - Centre(P, slope)))
    yield Candidate(value, 2, (d.as_use(d.premise("dissimilarity")),))


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
