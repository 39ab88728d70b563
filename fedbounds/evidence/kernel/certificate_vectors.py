"""A certificate's points and forms as vectors of its model, with their words in Rocq."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

from fedbounds.evidence.kernel import certificate_statements as stated
from fedbounds.evidence.kernel.integer_squares import fraction, listed
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import Point, Vector, exact

ONE = Fraction(1)
# Coefficient, vector, and the vector in the words of Round.v.
Squared = tuple[Fraction, Vector, str]


@dataclass(frozen=True)
class Numbers:
    """A certificate's model in fractions, and its points by client and label."""

    certificate: Certificate
    model: Model
    points: dict[tuple[int, str], Point]

    @property
    def setting(self) -> Setting:
        return self.model.setting

    @property
    def bounds(self) -> tuple[int, int, int]:
        """(q, m, l) with mu = m/q and L = l/q."""
        q = lcm(self.setting.mu.denominator, self.setting.L.denominator)
        return q, int(self.setting.mu * q), int(self.setting.L * q)

    @cached_property
    def D(self) -> int:
        """A common denominator of all vectors."""
        s = self.setting
        entries = [x for q in self.points.values() for row in self.rows(q) for x in row]
        weights = lcm(*(w.denominator for w in (*s.alpha, *s.p)))
        return lcm(*(x.denominator for x in (*entries, *s.eta))) * weights

    def row(self, vector: Vector) -> list[Fraction]:
        """The coordinates of a vector."""
        return list(map(fraction, self.model.coordinates(vector)))

    def rows(self, point: Point) -> tuple[list[Fraction], ...]:
        """Those of a point's position and gradient, and its value's."""
        return self.row(point.x), self.row(point.g), list(map(fraction, self.model.form(point.f).lin))

    def whole(self, row: list[Fraction]) -> str:
        """Coordinates as the whole numbers D times them."""
        return f"{listed([int(x * self.D) for x in row])}%Z"

    def middle(self, k: int) -> Vector:
        """The mean model after k local steps, of which the last may be the one in question."""
        s, last = self.setting, stated.last(self.setting)
        here = [self.points[i, f"x{min(k, last)}"] for i in range(s.N)]
        places = [q.x if k <= last else q.x - exact(s.eta[-1]) * q.g for q in here]
        return _mean(s.p if stated.weights_at(s, k) == "(p P)" else s.alpha, places)


def numbers_of(certificate: Certificate) -> Numbers:
    model = build(Setting.from_json(certificate.setting), exact)
    return Numbers(certificate, model, {(i, q.label): q for i, mine in enumerate(model.points) for q in mine})


def _mean(weights: tuple[Fraction, ...], vectors: list[Vector]) -> Vector:
    return Vector.mean(map(exact, weights), vectors)


def _product(weight: Fraction, left: tuple[Vector, str], right: tuple[Vector, str]) -> list[Squared]:
    """An inner product, by the squares of the sum and of its two parts."""
    (u, here), (v, there) = left, right
    return [(weight / 2, u + v, f"(add {here} {there})"), (-weight / 2, u, here), (-weight / 2, v, there)]


def squares_of(numbers: Numbers, name: str) -> list[Squared]:
    """The squares of which a form is made: coefficient, vector, and the vector in the words of Round.v."""
    s, k = numbers.setting, stated.last(numbers.setting)
    of = {"Delta": k, "Delta_next": k + 1, "Delta_start": 0}
    places = [(a, stated.local(s, i, k), numbers.points[i, f"x{k}"]) for i, a in enumerate(s.alpha)]
    now, slope = numbers.middle(k), _mean(s.alpha, [q.g for _, _, q in places])
    if name in of:
        words = "(iterate begin eta alpha 0)" if name == "Delta_start" else stated.iterate(s, of[name])
        return [(ONE, numbers.middle(of[name]), f"(sub {words} (w_star P))")]
    if name == "drift":
        return [(a, q.x - now, f"(sub {at} {stated.iterate(s, k)})") for a, at, q in places]
    if name == "grad_sq":
        return [(ONE, places[0][2].g, f"(grad P 0 {places[0][1]})")]
    if name == "mean_slope_sq":
        return [(ONE, slope, "(slope P begin)")]
    if name == "pull":
        return _product(ONE, (now, f"(sub {stated.iterate(s, k)} (w_star P))"), (slope, "(slope P begin)"))
    if name == "local_pull":
        pairs = [
            _product(a, (q.x, f"(sub {at} (w_star P))"), (q.g, f"(grad P {i} {at})"))
            for i, (a, at, q) in enumerate(places)
        ]
        return [square for three in pairs for square in three]
    if name == "star_grad_sq":
        return [(s.p[i], numbers.points[i, "star"].g, f"(grad P {i} (w_star P))") for i in range(s.N)]
    return []
