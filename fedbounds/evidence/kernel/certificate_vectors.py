"""A certificate's points and forms as vectors of fractions, with their words in Rocq."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from fedbounds.evidence.kernel import certificate_statements as stated
from fedbounds.evidence.kernel.integer_squares import ZERO, fraction, listed
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import exact

ONE = Fraction(1)
Vector = list[Fraction]
# Coefficient, vector, and the vector in the words of Round.v.
Squared = tuple[Fraction, Vector, str]


@dataclass(frozen=True)
class Numbers:
    """A certificate's model, its points (x, g, f) in fractions, and ``D``, a common denominator of all vectors."""

    certificate: Certificate
    model: Model
    points: dict[tuple[int, str], tuple[Vector, Vector, Vector]]
    D: int

    @property
    def setting(self) -> Setting:
        return self.model.setting

    @property
    def bounds(self) -> tuple[int, int, int]:
        """(q, m, l) with mu = m/q and L = l/q."""
        q = lcm(self.setting.mu.denominator, self.setting.L.denominator)
        return q, int(self.setting.mu * q), int(self.setting.L * q)

    def whole(self, vector: Vector) -> str:
        return f"{listed([int(x * self.D) for x in vector])}%Z"

    def local(self, k: int) -> list[Vector]:
        """x_i^k of every client; after the last step of the setting, where that leads."""
        last = stated.last(self.setting)
        if k <= last:
            return [self.points[i, f"x{k}"][0] for i in range(self.setting.N)]
        eta = self.setting.eta[-1]
        moved = [self.points[i, f"x{last}"] for i in range(self.setting.N)]
        return [[a - eta * b for a, b in zip(x, g, strict=True)] for x, g, _ in moved]


def numbers_of(certificate: Certificate) -> Numbers:
    setting = Setting.from_json(certificate.setting)
    model = build(setting, exact)
    points = {
        (i, q.label): (
            list(map(fraction, model.coordinates(q.x))),
            list(map(fraction, model.coordinates(q.g))),
            list(map(fraction, model.form(q.f).lin)),
        )
        for i, mine in enumerate(model.points)
        for q in mine
    }
    lengths = [x for point in points.values() for vector in point for x in vector]
    weights = lcm(*(w.denominator for w in (*setting.alpha, *setting.p)))
    D = lcm(*(x.denominator for x in (*lengths, *setting.eta))) * weights
    return Numbers(certificate, model, points, D)


def _mean(weights: Sequence[Fraction], vectors: Sequence[Vector]) -> Vector:
    return [sum((w * x for w, x in zip(weights, row, strict=True)), ZERO) for row in zip(*vectors, strict=True)]


def _less(u: Vector, v: Vector) -> Vector:
    return [a - b for a, b in zip(u, v, strict=True)]


def _middle(numbers: Numbers, k: int) -> Vector:
    """The mean model after k local steps."""
    weights = numbers.setting.p if stated.weights_at(numbers.setting, k) == "(p P)" else numbers.setting.alpha
    return _mean(weights, numbers.local(k))


def _product(weight: Fraction, left: tuple[Vector, str], right: tuple[Vector, str]) -> list[Squared]:
    """An inner product, by the squares of the sum and of its two parts."""
    (u, here), (v, there) = left, right
    both = [a + b for a, b in zip(u, v, strict=True)]
    return [(weight / 2, both, f"(add {here} {there})"), (-weight / 2, u, here), (-weight / 2, v, there)]


def squares_of(numbers: Numbers, name: str) -> list[Squared]:
    """The squares of which a form is made: coefficient, vector, and the vector in the words of Round.v."""
    s, k = numbers.setting, stated.last(numbers.setting)
    of = {"Delta": k, "Delta_next": k + 1, "Delta_start": 0}
    places = [(stated.local(s, i, k), numbers.points[i, f"x{k}"]) for i in range(s.N)]
    now = _middle(numbers, k)
    if name in of:
        at = of[name]
        words = "(iterate begin eta alpha 0)" if name == "Delta_start" else stated.iterate(s, at)
        return [(ONE, _middle(numbers, at), f"(sub {words} (w_star P))")]
    if name == "drift":
        words = f"(sub {{}} {stated.iterate(s, k)})"
        return [(s.alpha[i], _less(x, now), words.format(at)) for i, (at, (x, _, _)) in enumerate(places)]
    if name == "grad_sq":
        return [(ONE, places[0][1][1], f"(grad P 0 {places[0][0]})")]
    slope = _mean(s.alpha, [g for _, (_, g, _) in places])
    if name == "mean_slope_sq":
        return [(ONE, slope, "(slope P begin)")]
    if name == "pull":
        return _product(ONE, (now, f"(sub {stated.iterate(s, k)} (w_star P))"), (slope, "(slope P begin)"))
    if name == "local_pull":
        pairs = (
            ((x, f"(sub {at} (w_star P))"), (g, f"(grad P {i} {at})")) for i, (at, (x, g, _)) in enumerate(places)
        )
        return [
            one for weight, (left, right) in zip(s.alpha, pairs, strict=True) for one in _product(weight, left, right)
        ]
    if name == "star_grad_sq":
        return [(s.p[i], numbers.points[i, "star"][1], f"(grad P {i} (w_star P))") for i in range(s.N)]
    return []
