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
from fedbounds.evidence.sdp.one_step.parameters import FREE_BIAS, Setting
from fedbounds.evidence.sdp.one_step.point_expressions import ALWAYS, Expressions, Reader, points_in
from fedbounds.evidence.sdp.one_step.right_hand_side import value_of
from fedbounds.evidence.sdp.program import Arithmetic, Constraint, Draft, Expression, Point, Program, Vector
from fedbounds.theory import points as at
from fedbounds.theory.symbols import QUANTITIES

# The bounds of Assumptions 3 and 4 on stochastic gradients.
BOUNDS = ("sigma_sq", "G_sq")
# The order of vectors (w_t0; gradients at w_t^i, w_t and w*; minimisers, offsets, other gradients) and of values.
ORDER = ("w0", *"ghsuyq", *"fven", "sigma_sq", "G_sq", "r")
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
    writer.constrain(points, quantities, bounds)
    weights = tuple(zip(setting.alpha, setting.p, strict=True))
    return Model(**writer.parts(ORDER), quantities=quantities, weights=weights, setting=setting, points=points)


def entries(setting: Setting, further: int = 0) -> int:
    """How many numbers the model at a setting is made of, without building it; with so many ``further`` points."""
    N, steps, skewed = setting.N, _last(setting) + 1, len(_skewed_times(setting))
    here = steps + skewed + 2 + further
    several, free = (N > 1) * (2 * N - 1), (setting.local == "any") * (N - 1)
    vectors = 1 + N * (steps + skewed + further) + several + free
    values = N * (steps + skewed + further + (N > 1)) + 1 + (setting.gradients == "stochastic") * (N + 1)
    return (N * here**2 + 2 * N + here) * (vectors**2 + values)


def size(model: Model) -> Expression:
    """||w_t0 - w*||^2 + mean_i e_i(w*) + mean_i ||w_t - w_t^i||^2 + G_sq + sigma_sq, which bounds everything."""
    parts = [model[name] for name in ("own", "spread", "G_sq", "sigma_sq")]
    return sum(parts, model["Delta_start"])


def _last(setting: Setting) -> int:
    return 0 if setting.local == "any" else setting.step


def _skewed_times(setting: Setting) -> tuple[int, ...]:
    """Local steps k whose virtual iterate needs values of its own: those where rho_bar constrains it."""
    if setting.alpha == setting.p:
        return ()  # rho is 1 everywhere, so the constraint says nothing
    if setting.local == "any":
        return (0,)
    return tuple(range(1, setting.step + 1)) if setting.how.skew == "all-steps" else ()


class _Writer(Draft):
    """The numbers of a setting in one arithmetic, and what is written with them."""

    def __init__(self, setting: Setting, number: Arithmetic) -> None:
        super().__init__(number)
        self.setting = setting
        self.alpha, self.p, self.eta = (
            [number(v) for v in given] for given in (setting.alpha, setting.p, setting.eta)
        )
        self.mu, self.L, self.rho_bar = map(number, (setting.mu, setting.L, setting.rho_bar))
        self.clients, self.last, self.any = range(setting.N), _last(setting), setting.local == "any"
        self.noisy = setting.gradients == "stochastic"
        self.noise = [self.value("n", i) if self.noisy else Expression() for i in self.clients]
        self.sigma_sq = self.value("sigma_sq") if self.noisy else Expression()
        self.G_sq = self.value("G_sq")

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
            known = next((q for q in mine if q.x.terms == x.terms), None)
            there.append(known or self.point(f"at{k}", x, "qr", i, k))
        reader.points_at[place] = there
        return tuple((*([q] if q not in mine else []), *mine) for q, mine in zip(there, points, strict=True))

    def weights(self, k: int) -> list[Any]:
        """Those of the virtual iterate after k local steps."""
        return self.p if self.setting.how.virtual == "p" and k > 0 else self.alpha

    def points(self) -> tuple[tuple[tuple[Point, ...], ...], list[Vector]]:
        """Every client's points, and the virtual iterates w_t0 .. w_t."""
        start = self.vector(["w0"])
        offsets = self.balanced("y", self.setting.alpha) if self.any else [Vector()] * self.setting.N
        x, iterates, slopes = [start + offset for offset in offsets], [start], self.balanced("s", self.setting.p)
        points = [list[Point]() for _ in self.clients]
        for k in range(self.last + 1):
            for i, mine in enumerate(points):
                mine.append(self.point(f"x{k}", x[i], "gf", i, k))
                x[i] = x[i] - self.eta[k] * mine[-1].g
            iterates.append(Vector.mean(self.weights(k + 1), x))
        for i, mine in enumerate(points):
            mine += [self.point(f"w{k}", iterates[k], "hv", i, k) for k in _skewed_times(self.setting)]
            # A single client has its minimiser at w*; two points there would leave the feasible set without interior.
            if self.setting.N > 1:
                mine.append(Point("star", Vector(), slopes[i], self.value("e", i)))
            minimiser = self.vector("u", i) if self.setting.N > 1 else Vector()
            mine.append(Point("own", minimiser, Vector(), Expression()))
        return tuple(map(tuple, points)), iterates[:-1]

    def constrain(self, points: Points, quantities: Quantities, bounds: Collection[str]) -> None:
        """Add what holds on the class."""
        for i, mine in enumerate(points):
            self.interpolate(permutations(mine, 2), self.mu, self.L, i)
        self.constraints += [*self.of_gradients(points, quantities, bounds), *self.skews(points)]

    def of_gradients(self, points: Points, quantities: Quantities, bounds: Collection[str]) -> Iterator[Constraint]:
        """Bounds of gradients and of their noise."""
        visited = [(i, q) for i, mine in enumerate(points) for q in mine if q.label.startswith("x")]
        for i, q in visited if "G_sq" in bounds else ():
            yield Constraint("gradient", i, q.label, self.G_sq - q.g.squared - self.noise[i])
        for i, noise in enumerate(self.noise) if self.noisy else ():
            yield Constraint("noise", i, "", noise)
            if "sigma_sq" in bounds:
                yield Constraint("variance", i, "", self.sigma_sq - noise)
        if "G_sq" in bounds and self.noisy and self.any:
            # By Minkowski and Assumption 4, E||w_t^i - w_t0||^2 <= (sum_j eta_j)^2 G^2, and the mean w_t is nearer.
            reach = self.number(sum(self.setting.eta[:-1], Fraction(0)) ** 2)
            yield Constraint("drift", -1, "w0", reach * quantities["G_sq"]() - quantities["drift"]())

    def skews(self, points: Points) -> Iterator[Constraint]:
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

    def quantities(self, points: Points, iterates: list[Vector]) -> Quantities:
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
            noise = mean([eta**2 * a**2 for a in alpha], self.noise)
            return Vector.mean(after, [q.x - eta * q.g for q in local]).squared + noise

        # The round of a single client is a run of gradient descent from w_0.
        of_a_run = {"gap": lambda: local[0].f, "Delta_0": lambda: iterates[0].squared}
        run = of_a_run if setting.N == 1 and setting.local == "steps" else {}
        return run | {
            "zero": Expression,
            "Delta_next": moved,
            "Delta_start": lambda: iterates[0].squared,
            "spread": lambda: mean(equal, spread()),
            "G_sq": lambda: self.G_sq,
            "sigma_sq": lambda: self.sigma_sq,
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
