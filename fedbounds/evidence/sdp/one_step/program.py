"""Performance estimation of one federated round: what Gram matrices and values its clients can show.

Positions are relative to w*, and each F_i* = 0. A matrix gram >= 0 and values that satisfy every constraint belong to
real mu-strongly convex L-smooth functions and conversely (Taylor, Hendrickx and Glineur, 2017, Theorem 4), so the
worst case over the class is a semidefinite programme, with nothing lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.sdp.one_step.coefficients import value_of
from fedbounds.evidence.sdp.one_step.parameters import FREE_BIAS, Setting
from fedbounds.evidence.sdp.one_step.point_expressions import ALWAYS, Expressions, Reader, points_in
from fedbounds.evidence.sdp.program import (
    Arithmetic,
    Constraint,
    Expression,
    Point,
    Program,
    Symbol,
    Vector,
    interpolation,
)
from fedbounds.theory import points as at
from fedbounds.theory.symbols import QUANTITIES

# The bounds of Assumptions 3 and 4 on stochastic gradients.
BOUNDS = ("sigma_sq", "G_sq")
G_SQ, SIGMA_SQ = (Expression({(Symbol(name),): 1}) for name in ("G_sq", "sigma_sq"))
Quantities = Mapping[str, Callable[[], Expression]]
Points = tuple[tuple[Point, ...], ...]


@dataclass(frozen=True)
class Model(Program):
    """The programme of a setting; ``points`` lists those of each client, the last being w_i*."""

    setting: Setting = field(kw_only=True)
    points: Points = field(repr=False, kw_only=True)


def build(
    setting: Setting, number: Arithmetic = float, bounds: Collection[str] = BOUNDS, written: Expressions | None = None
) -> Model:
    """The one-round programme at a setting, in the arithmetic of ``number``; of quantities ``written`` in points too.

    sum_i p_i grad F_i(w*) = 0 and, with ``local`` any, sum_i alpha_i (w_t^i - w_t) = 0 are substituted, not
    imposed: an equality would leave the feasible set without interior. So would, of ``bounds`` (those of Assumptions
    3 and 4 to impose), one that the right-hand side does not pay for.

    Where gradients are stochastic, everything is its conditional expectation given the past, and the noise of client
    i has the variance n_i as a value of its own: conditionally unbiased noise, independent over clients, adds
    eta^2 sum_i alpha_i^2 n_i to ||w_{t+1} - w*||^2, with n_i <= sigma^2 and ||grad F_i(w_t^i)||^2 + n_i <= G^2.
    """
    vectors, values = _symbols(setting)
    writer = _Writer(setting, number)
    points, iterates = writer.points()
    reader = writer.reader(points, iterates)
    for place in points_in(written or {}):
        points = writer.further(points, place, reader)
    quantities = dict(writer.quantities(points, iterates))
    if taken := sorted(quantities.keys() & set(written or {}) - QUANTITIES.keys()):
        raise reject("a quantity of one's own needs a name that the model does not use", taken[0], "choose another")
    for name, expression in {**ALWAYS, **(written or {})}.items():
        quantities[name] = functools.partial(reader.form, expression)
    vectors, values = (*vectors, *writer.slopes), (*values, *writer.levels)
    constraints = tuple(writer.constraints(points, quantities, bounds))
    weights = tuple(zip(setting.alpha, setting.p, strict=True))
    return Model(vectors, values, constraints, quantities, number, weights=weights, setting=setting, points=points)


def entries(setting: Setting, further: int = 0) -> int:
    """How many numbers the model at a setting is made of, without building it; with so many ``further`` points."""
    vectors, values = _symbols(setting)
    here = _last(setting) + 1 + len(_skewed_times(setting)) + 2 + further
    rows = setting.N * here**2 + 2 * setting.N + here
    return rows * ((len(vectors) + further * setting.N) ** 2 + len(values) + further * setting.N)


def size(model: Model) -> Expression:
    """||w_t0 - w*||^2 + mean_i e_i(w*) + mean_i ||w_t - w_t^i||^2 + G_sq + sigma_sq, which bounds everything."""
    parts = [model[name] for name in ("own", "spread", "G_sq", "sigma_sq")]
    return sum(parts, model["Delta_start"])


def _last(setting: Setting) -> int:
    return 0 if setting.local == "any" else setting.step


def _symbols(setting: Setting) -> tuple[tuple[Symbol, ...], tuple[Symbol, ...]]:
    """Vectors: w_t0; gradients g at w_t^i, h at w_t, s at w*; minimisers u; offsets y. Values: f, v, e, n, bounds."""
    clients, inside, steps = range(setting.N), _skewed_times(setting), range(_last(setting) + 1)
    several, noisy, free = setting.N > 1, setting.gradients == "stochastic", setting.local == "any"

    def each(letter: str, times: Collection[int]) -> list[Symbol]:
        return [Symbol(letter, i, k) for i in clients for k in times]

    def once(letter: str, used: bool, without: int = -1) -> list[Symbol]:
        return [Symbol(letter, i) for i in clients if used and i != without]

    vectors = [Symbol("w0"), *each("g", steps), *each("h", inside), *once("s", True, _largest(setting.p))]
    vectors += once("u", several) + once("y", free, _largest(setting.alpha))
    values = each("f", steps) + each("v", inside) + once("e", several) + once("n", noisy)
    return tuple(vectors), (*values, *[Symbol("sigma_sq")] * noisy, Symbol("G_sq"))


def _largest(weights: tuple[Fraction, ...]) -> int:
    return max(range(len(weights)), key=lambda i: weights[i])


def _skewed_times(setting: Setting) -> tuple[int, ...]:
    """Local steps k whose virtual iterate needs values of its own: those where rho_bar constrains it."""
    if setting.alpha == setting.p:
        return ()  # rho is 1 everywhere, so the constraint says nothing
    if setting.local == "any":
        return (0,)
    return tuple(range(1, setting.step + 1)) if setting.how.skew == "all-steps" else ()


class _Writer:
    """The numbers of a setting in one arithmetic, and what is written with them."""

    def __init__(self, setting: Setting, number: Arithmetic) -> None:
        self.setting, self.number, self.unit = setting, number, number(Fraction(1))
        self.alpha, self.p, self.eta = (
            [number(v) for v in given] for given in (setting.alpha, setting.p, setting.eta)
        )
        self.mu, self.L, self.rho_bar = map(number, (setting.mu, setting.L, setting.rho_bar))
        self.clients, self.last, self.any = range(setting.N), _last(setting), setting.local == "any"
        self.noisy = setting.gradients == "stochastic"
        self.slopes: list[Symbol] = []
        self.levels: list[Symbol] = []

    def reader(self, points: Points, iterates: list[Vector]) -> Reader:
        """What reads expressions of points, at those that every model has."""
        local = [next(q for q in mine if q.label == f"x{self.last}") for mine in points]
        star = [next((q for q in mine if q.label == "star"), mine[-1]) for mine in points]
        minimisers = [mine[-1] for mine in points]
        here = {at.w: iterates[-1:], at.w_i: [q.x for q in local], at.w_i_star: [q.x for q in minimisers]}
        here |= {} if self.any else {at.w_round: iterates[:1]}
        weights = {at.ALPHA: self.alpha, at.P: self.p}
        located: dict[sp.Expr, list[Point]] = {at.w_i: local, at.w_star: star, at.w_i_star: minimisers}
        return Reader(here, weights, lambda number: self.number(value_of(number, self.setting)), located)

    def further(self, points: Points, place: sp.Expr, reader: Reader) -> Points:
        """Every client's points with one more, unless it is one of them."""
        xs, k, there = reader.vectors(place), len(reader.points_at), list[Point]()
        for i, mine in enumerate(points):
            x = xs[i % len(xs)]
            new = Point(f"at{k}", x, self.vector("q", i, k), self.value("r", i, k))
            there.append(next((q for q in mine if q.x.terms == x.terms), new))
            if there[-1] is new:
                self.slopes.append(Symbol("q", i, k))
                self.levels.append(Symbol("r", i, k))
        reader.points_at[place] = there
        return tuple((*([q] if q not in mine else []), *mine) for q, mine in zip(there, points, strict=True))

    def vector(self, letter: str, client: int = -1, step: int = -1) -> Vector:
        return Vector({Symbol(letter, client, step): self.unit})

    def value(self, letter: str, client: int = -1, step: int = -1) -> Expression:
        return Expression({(Symbol(letter, client, step),): self.unit})

    def noise(self, i: int) -> Expression:
        """The variance of client i's stochastic gradient at w_t^i, which is 0 where gradients are full."""
        return self.value("n", i) if self.noisy else Expression()

    def weights(self, k: int) -> list[Any]:
        """Those of the virtual iterate after k local steps."""
        return self.p if self.setting.how.virtual == "p" and k > 0 else self.alpha

    def balanced(self, letter: str, weights: tuple[Fraction, ...]) -> list[Vector]:
        """A vector a client with sum_i weight_i vector_i = 0: the others express that of the largest weight."""
        pivot = _largest(weights)
        others = [i for i in self.clients if i != pivot]
        share = [self.number(weights[i] / weights[pivot]) for i in others]
        rest = -Vector.mean(share, [self.vector(letter, i) for i in others])
        return [rest if i == pivot else self.vector(letter, i) for i in self.clients]

    def points(self) -> tuple[tuple[tuple[Point, ...], ...], list[Vector]]:
        """Every client's points, and the virtual iterates w_t0 .. w_t."""
        start, steps = self.vector("w0"), range(self.last + 1)
        if self.any:
            local = [[start + offset] for offset in self.balanced("y", self.setting.alpha)]
            iterates = [start]
        else:
            local = [[start] for _ in self.clients]
            for i, x in enumerate(local):
                for k, eta in enumerate(self.eta[:-1]):
                    x.append(x[-1] - eta * self.vector("g", i, k))
            iterates = [Vector.mean(self.weights(k), [x[k] for x in local]) for k in steps]
        slopes, points = self.balanced("s", self.setting.p), []
        for i in self.clients:
            mine = [Point(f"x{k}", local[i][k], self.vector("g", i, k), self.value("f", i, k)) for k in steps]
            for k in _skewed_times(self.setting):
                mine.append(Point(f"w{k}", iterates[k], self.vector("h", i, k), self.value("v", i, k)))
            if self.setting.N > 1:
                mine.append(Point("star", Vector(), slopes[i], self.value("e", i)))
            # A single client has its minimiser at w*; two points there would leave the feasible set without interior.
            minimiser = self.vector("u", i) if self.setting.N > 1 else Vector()
            points.append((*mine, Point("own", minimiser, Vector(), Expression())))
        return tuple(points), iterates

    def constraints(
        self, points: tuple[tuple[Point, ...], ...], quantities: Quantities, bounds: Collection[str]
    ) -> Iterator[Constraint]:
        for i, mine in enumerate(points):
            for a, b in permutations(mine, 2):
                yield Constraint("interpolation", i, f"{a.label}|{b.label}", interpolation(a, b, self.mu, self.L))
        visited = [(i, q) for i, mine in enumerate(points) for q in mine if q.label.startswith("x")]
        for i, q in visited if "G_sq" in bounds else ():
            yield Constraint("gradient", i, q.label, G_SQ * self.unit - q.g.squared - self.noise(i))
        yield from self.skews(points)
        if self.noisy:
            for i in self.clients:
                yield Constraint("noise", i, "", self.noise(i))
                if "sigma_sq" in bounds:
                    yield Constraint("variance", i, "", SIGMA_SQ * self.unit - self.noise(i))
        if "G_sq" in bounds and self.noisy and self.any:
            # By Minkowski and Assumption 4, E||w_t^i - w_t0||^2 <= (sum_j eta_j)^2 G^2, and the mean w_t is nearer.
            reach = self.number(sum(self.setting.eta[:-1], Fraction(0)) ** 2)
            yield Constraint("drift", -1, "w0", reach * quantities["G_sq"]() - quantities["drift"]())

    def skews(self, points: tuple[tuple[Point, ...], ...]) -> Iterator[Constraint]:
        """sum alpha e_i - rho_bar sum p e_i >= 0 at w_t, and rho_tilde sum p e_i - sum alpha e_i >= 0 at w*."""
        setting, pairs = self.setting, list(zip(self.alpha, self.p, strict=True))

        def at(label: str, weights: list[Any]) -> Expression:
            return Expression.mean(weights, [next(q.f for q in mine if q.label == label) for mine in points])

        if setting.alpha != setting.p:
            times = [f"w{k}" for k in _skewed_times(setting)]
            for label in times if self.any else ["x0", *times]:
                yield Constraint("rho_bar", -1, label, at(label, [a - self.rho_bar * p for a, p in pairs]))
        if setting.rho_tilde is not None and setting.N > 1:
            weights = zip(setting.alpha, setting.p, strict=True)
            high = [setting.rho_tilde * p - a for a, p in weights]
            if any(weight < 0 for weight in high):
                yield Constraint("rho_tilde", -1, "star", at("star", list(map(self.number, high))))

    def quantities(self, points: tuple[tuple[Point, ...], ...], iterates: list[Vector]) -> Quantities:
        """What certificates are about, by name."""
        setting, alpha, p, eta, w = self.setting, self.alpha, self.p, self.eta[-1], iterates[-1]
        local = [next(q for q in mine if q.label == f"x{self.last}") for mine in points]
        star = [next((q for q in mine if q.label == "star"), mine[-1]) for mine in points]
        equal = [self.number(Fraction(1, setting.N))] * setting.N
        after = alpha if self.any or setting.step + 1 == setting.tau else self.weights(self.last + 1)

        def mean(weights: list[Any], items: list[Expression]) -> Expression:
            return Expression.mean(weights, items)

        def slope() -> Vector:
            return Vector.mean(alpha, [q.g for q in local])

        def spread() -> list[Expression]:
            return [(q.x - w).squared for q in local]

        def moved() -> Expression:
            noise = mean([eta**2 * a**2 for a in alpha], [self.noise(i) for i in self.clients])
            return Vector.mean(after, [q.x - eta * q.g for q in local]).squared + noise

        # The round of a single client is a run of gradient descent from w_0.
        of_a_run = {"gap": lambda: local[0].f, "Delta_0": lambda: iterates[0].squared}
        run = of_a_run if setting.N == 1 and setting.local == "steps" else {}
        return run | {
            "zero": Expression,
            "Delta_next": moved,
            "Delta_start": lambda: iterates[0].squared,
            "spread": lambda: mean(equal, spread()),
            "G_sq": lambda: G_SQ * self.unit,
            "sigma_sq": lambda: SIGMA_SQ * self.unit if self.noisy else Expression(),
            FREE_BIAS: lambda: mean(alpha, [q.f for q in star]),
            "own": lambda: mean(equal, [q.f for q in star]),
            "star_grad_sq": lambda: mean(p, [q.g.squared for q in star]),
            "grad_sq": lambda: local[0].g.squared,
            "excess": lambda: local[0].f,
            "local_excess": lambda: mean(alpha, [q.f for q in local]),
            "local_gap": lambda: mean(alpha, [q.f - e.f for q, e in zip(local, star, strict=True)]),
            "local_pull": lambda: mean(alpha, [q.x @ q.g for q in local]),
            "pull": lambda: w @ slope(),
            "mean_slope_sq": lambda: slope().squared,
        }
