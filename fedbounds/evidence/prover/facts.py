"""The facts a proof may combine: inequalities of the class between points, bounds on the noise, clients drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import sympy as sp

from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    NOISE,
    OWN,
    SHARE,
    W_STAR,
    P,
    W,
    X,
    gap,
    grad,
    loss,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.point_values import powers
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
            yield interpolation(x, y)
        if "smooth" in keys and least is None:
            yield _between(x, y)
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


def mean_slope(x: sp.Expr) -> sp.Expr:
    """grad F at a point."""
    return Centre(P, grad(x))


def cocoercive(x: sp.Expr, y: sp.Expr, least: sp.Expr = mu, slope: Callable[[sp.Expr], sp.Expr] = grad) -> Candidate:
    """F_i(x) lies above its tangent at y by ||grad F_i(x) - grad F_i(y)||^2/(2L), or F with its ``slope``."""
    away = slope(x) - slope(y)
    end = x - away / L
    square = ((least / 2, d.Square(end - y, "a square")),) if least != 0 else ()
    return _candidate(tangent(y, x) - norm_sq(away) / (2 * L), smooth(x, end), convex(y, end, least), *square)


def interpolation(x: sp.Expr, y: sp.Expr) -> Candidate:
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


def _between(x: sp.Expr, y: sp.Expr) -> Candidate:
    """Interpolation without convexity: F_i is within L/2 times the square of the way of each tangent."""
    away = grad(x) - grad(y)
    end = (x + y) / 2 - away / (2 * L)
    value = tangent(y, x) - Inner(away, x - y) / 2 + L / 4 * norm_sq(x - y) - norm_sq(away) / (4 * L)
    return _candidate(value, smooth(x, end), d.premise("smooth-below", y, end))


def above_least(x: sp.Expr) -> Candidate:
    """||grad F(x)||^2 <= 2 L (F(x) - F*) at a point that all clients share."""
    slope = mean_slope(x)
    end = x - slope / L
    value = Mean(P, loss(x) - loss(W_STAR)) - norm_sq(slope) / (2 * L)
    return _candidate(value, d.averaged(P, smooth(x, end)), d.premise("least-value", end))


def dominated(x: sp.Expr) -> Candidate:
    """||grad F(x)||^2 >= 2 mu (F(x) - F*) at a point that all clients share."""
    value = norm_sq(mean_slope(x)) - 2 * mu * Mean(P, loss(x) - loss(W_STAR))
    return Candidate(value, 2, ((sp.Integer(1), d.premise("gradient-dominance", x)),))


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
    one, away = interpolation(x, y), grad(x) - grad(y) - mu * (x - y)
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
        yield noise_fact(-size, jensen, (-1, d.averaged(weights, d.premise("no-noise"))))
    if "bounded-gradient" in universe:
        moment = d.averaged(weights, d.premise("bounded-gradient", X))
        yield noise_fact(sy.G_sq - size - Mean(weights, norm_sq(grad(X))), jensen, moment)
    independent = (-1, d.premise("independent-clients"))
    if "growing-variance" in universe:
        growing, most = d.premise("growing-variance", X), sy.sigma_0_sq + sy.growth * Mean(weights, norm_sq(grad(X)))
        yield noise_fact(most - size, jensen, d.averaged(weights, growing))
        if "equal-p" in universe and weights == P:
            bound = sy.sigma_0_sq + sy.growth * norm_sq(grad(X))
            equal = d.averaged(P, (SHARE, growing), (bound, d.premise("equal-p")))
            yield noise_fact(most / sy.N - size, independent, equal)
    if "bounded-variance" not in universe:
        return
    yield noise_fact(sy.sigma_sq - size, jensen, d.averaged(weights, variance))
    if weights != P:
        return
    clients = d.averaged(P, (SHARE, d.premise("client-variances")))
    yield noise_fact(sy.sigma_p_sq - size, independent, clients)
    yield noise_fact(sy.sigma_sq * sy.p_sq - size, independent, d.averaged(P, (SHARE, variance)))
    if "equal-p" in universe:
        equal = d.averaged(P, (SHARE, variance), (sy.sigma_sq, d.premise("equal-p")))
        yield noise_fact(sy.sigma_sq / sy.N - size, independent, equal)


def of_each_noise(universe: Mapping[str, Assumption], weights: sp.Expr = P) -> Iterator[Candidate]:
    """Bounds on the mean of E||noise_i||^2 over the clients."""
    size = Mean(weights, norm_sq(NOISE))
    if "no-noise" in universe:
        yield noise_fact(-size, (-1, d.averaged(weights, d.premise("no-noise"))))
    if "bounded-gradient" in universe:
        moment = d.averaged(weights, d.premise("bounded-gradient", X))
        yield noise_fact(sy.G_sq - size - Mean(weights, norm_sq(grad(X))), moment)
    if "bounded-variance" in universe:
        yield noise_fact(sy.sigma_sq - size, d.averaged(weights, d.premise("bounded-variance", X)))


def noise_fact(value: sp.Expr, *uses: d.Written) -> Candidate:
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
