"""Links of two rounds with both outcomes of every draw, where one of two clients takes part in a round.

A history says who was drawn: from w the first round leads to w_0 or w_1, the second to w_00 .. w_11. Exchanging the
clients, and them in each history, changes neither the class nor the mean over the draws. So a vector has a part "x"
that this keeps and a part "y" whose sign it changes; their inner products are 0 in mean, and client 1 at a history is
the mirror image of client 0 at the exchanged one.

A potential before a round is any linear form of the Gram matrices and function values of that round: of its start w,
of all local steps from there, and of the gradients of both clients at w_0 and w_1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

from fedbounds.evidence.sdp.multi_round.bound import MEASURED, Potential
from fedbounds.evidence.sdp.multi_round.participation import Moment
from fedbounds.evidence.sdp.multi_round.program import Link, Run
from fedbounds.evidence.sdp.program import Constraint, Expression, Point, Symbol, Vector, interpolation

# Local steps up to which every two points are joined; else rounds' starts with what follows, and steps with the next.
EVERY_PAIR = 4
History = tuple[int, ...]


def links(run: Run, number: Any) -> tuple[Sequence[Link], Potential]:
    """A programme for each two rounds that follow each other, none for another run; those of equal steps are one."""
    if not is_one_of_two(run):
        return [], MEASURED
    made, result = dict[Any, Link](), []
    for k in range(run.rounds - 1):
        kind = run.sizes[k * run.tau : (k + 2) * run.tau], k == 0, k + 2 == run.rounds
        if kind not in made:
            made[kind] = _Link(run, number, *kind).program()
        result.append(made[kind])
    return result, MEASURED


def is_one_of_two(run: Run) -> bool:
    """Whether the links are of this run: several rounds of one of two clients, and the distance is measured."""
    plain = run.measure == "distance" and run.server == 1 and not run.biased
    return run.present == (1, 2) and run.rounds > 1 and plain


def exchanged(history: History) -> History:
    """Who is drawn where the clients are exchanged."""
    return tuple(1 - client for client in history)


def mirrored(vector: Vector) -> Moment:
    """The same vector of the other client where the clients are exchanged."""
    return Moment({key: value if key.letter == "x" else -value for key, value in vector.terms.items()})


class _Link:
    """The programme of two rounds: ``w`` after each history, and client 0's ``points``, by history and local step."""

    def __init__(self, run: Run, number: Any, sizes: tuple[Fraction, ...], begins: bool, ends: bool) -> None:
        self.run, self.number, self.begins, self.ends = run, number, begins, ends
        self.vectors, self.values = list[Symbol](), list[Symbol]()
        self.s, self.w = self.vector("y"), dict[History, Vector]({(): self.vector("x")})
        self.points = dict[tuple[History, int], Point]()
        for count in (0, 1):
            for history in product((0, 1), repeat=count):
                x = self.w[history]
                for k, size in enumerate(sizes[count * run.tau :][: run.tau]):
                    slope = self.point(history, k, x).g
                    x = number(1 - size * run.mu) * x - number(size) * slope
                self.w[*history, 0], self.w[*exchanged(history), 1] = x, mirrored(x)
        for history in () if ends else product((0, 1), repeat=2):
            self.point(history, 0, self.w[history])

    def vector(self, letters: str) -> Moment:
        new = [Symbol(letter, step=len(self.vectors)) for letter in letters]
        self.vectors += new
        return Moment({symbol: self.number(Fraction(1)) for symbol in new})

    def point(self, history: History, k: int, x: Vector) -> Point:
        """A new point of client 0."""
        self.values.append(Symbol("f", step=len(self.values)))
        value = Expression({(self.values[-1],): self.number(Fraction(1))})
        self.points[history, k] = Point(f"{''.join(map(str, history))}.{k}", x, self.vector("xy"), value)
        return self.points[history, k]

    def program(self) -> Link:
        half, ends = self.number(Fraction(1, 2)), [self.w[0, client].squared for client in (0, 1)]
        before = [self.w[()].squared, self.s.squared] if self.begins else self.state(())
        after = [Expression.mean([half, half], ends)] if self.ends else self.state((0,))
        vectors, rows = tuple(sorted(self.vectors)), tuple(self.inequalities())
        both = tuple(before), tuple(after)
        return Link(vectors, tuple(self.values), rows, {}, self.number, True, before=both[0], after=both[1])

    def inequalities(self) -> Iterator[Constraint]:
        """Those of client 0, in both directions; those of the other are their mirror images."""
        K, places = self.number(self.run.L - self.run.mu), [((), -1), *self.points]
        points = [Point("*", Moment(), self.s, Expression()), *self.points.values()]
        for (one, a), (other, b) in permutations(zip(places, points, strict=True), 2):
            (_, k), _ = sorted((one, other), key=self.time)
            near = k <= 0 or abs(self.time(other) - self.time(one)) <= 1
            if near or self.run.tau <= EVERY_PAIR:
                yield Constraint("interpolation", -1, f"{a.label}|{b.label}", interpolation(a, b, 0 * K, K))

    def time(self, place: tuple[History, int]) -> int:
        """The step of a point."""
        return len(place[0]) * self.run.tau + place[1]

    def state(self, start: History) -> Iterator[Expression]:
        """What a potential is made of, of the round that starts after a history."""
        places = [((), k) for k in range(self.run.tau)] + [((0,), 0), ((1,), 0)]
        of_both = [(self.points[start + h, k], self.points[exchanged(start) + h, k]) for h, k in places]
        slopes = [(a.g, mirrored(b.g)) for a, b in of_both]
        for vectors in ([self.w[start], *(g + h for g, h in slopes)], [self.s, *(g - h for g, h in slopes)]):
            yield from (a @ b for a, b in combinations_with_replacement(vectors, 2))
        yield from (a.f + b.f for a, b in of_both)
