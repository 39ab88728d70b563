"""The proof of a long run in links, a step each: the points of a step and of the next in two small blocks.

With the means and deviations of `multi_round.program`, a potential before step k is any linear form of what step k
starts with: the Gram matrices of the means and of the deviations of x_k, its gradient and s, and the function value.
Where F is bounded the Gram matrices have the round's start and the point z at which F is bounded, too, which takes
its place in the last link; for the mean of the iterates the sum of those before besides. The inequalities join each
point with w*, the next one, z, and for F the round's start. As no others are used, nothing is lost by the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from fedbounds.evidence.sdp.multi_round.bound import MEASURED, Potential, named
from fedbounds.evidence.sdp.multi_round.participation import Moment, part
from fedbounds.evidence.sdp.multi_round.program import Run, begun, slope_at
from fedbounds.evidence.sdp.program import Constraint, Expression, Point, Program, Symbol, interpolation

# What the vectors and values of a link are of: points, their gradients, and the sum of the iterates.
ROLES = ("0", "g0", "1", "g1", "start", "gstart", "z", "gz", "s", "u")


def links(run: Run, number: Any) -> tuple[Sequence[Program], Potential]:
    """A programme a step; those of equal steps are one."""
    made, result = dict[Any, Program](), []
    for k in range(run.T):
        at = run.sizes[k], k % run.tau == 0, (k + 1) % run.tau == 0, k == 0, k + 1 == run.T
        if at not in made:
            made[at] = _Step(run, number, *at).program()
        result.append(made[at])
    return result, MEASURED


class _Step:
    """A step of that ``size``, the ``first`` or ``last`` of a round or of the run."""

    def __init__(
        self, run: Run, number: Any, size: Fraction, first: bool, last: bool, begins: bool, ends: bool
    ) -> None:
        self.run, self.number, self.size, self.first, self.last = run, number, size, first, last
        self.begins, self.ends = begins, ends
        self.of_F, self.server = run.measure != "distance", run.server != 1
        self.used, self.values = list[Symbol](), list[Symbol]()

    def vector(self, role: str, letters: str) -> Moment:
        """A new mean, deviation or both."""
        symbols = [Symbol(letter, ROLES.index(role)) for letter in letters]
        self.used += symbols
        return Moment(dict.fromkeys(symbols, self.number(Fraction(1))))

    def value(self, role: str) -> Expression:
        """A new function value."""
        self.values.append(Symbol("f", ROLES.index(role)))
        return Expression({(self.values[-1],): self.number(Fraction(1))})

    def point(self, role: str, x: Moment) -> Point:
        return Point(role, x, self.vector(f"g{role}", "md"), self.value(role))

    def program(self) -> Program:
        run, number = self.run, self.number
        star = Point("*", Moment(), self.vector("s", "md" if run.biased else "d"), Expression())
        here = self.point("0", self.vector("0", "m" if self.first else "md"))
        kept = run.measure == "gap" or self.server
        start = here if self.first or not kept else self.point("start", self.vector("start", "m"))
        total = self.vector("u", "m") if run.measure == "average" and not self.begins else Moment()
        after = number(1 - self.size * run.mu) * here.x - number(self.size) * here.g
        if self.last:
            after = number(1 - run.server) * start.x + number(run.server) * part(after, "m")
        total_after = total + part(here.x, "m") if run.measure == "average" else total
        goal = [star]
        if self.of_F:
            end = number(Fraction(1, run.T)) * total_after if run.measure == "average" else after
            goal.append(self.point("z", end if self.ends else self.vector("z", "m")))
        pairs = [(here, other) for other in goal]
        pairs += [(goal[1], star)] if self.of_F and self.ends else []
        several = [start] * (kept and not self.last)
        later = [start] * (kept and not self.first)
        if self.ends:
            pairs += [(one, goal[-1]) for one in later]
            reached = [after.squared] if not self.of_F else [number(run.mu / 2) * goal[1].x.squared + goal[1].f]
            reached = [slope_at(run, goal[1], number).squared] if run.measure == "slope" else reached
        else:
            there = self.point("1", after)
            pairs += [(here, there), *((one, there) for one in later)]
            reached = self.kept(there, goal, several, total_after)
        before = self.kept(here, goal, later, total)
        if self.begins:
            before[0] = begun(run, before[0], here.f, number)
        K = number(run.L - run.mu)
        constraints = tuple(
            Constraint("interpolation", -1, f"{a.label}|{b.label}", interpolation(a, b, 0 * K, K))
            for pair in pairs
            for a, b in (pair, pair[::-1])
        )
        vectors = tuple(sorted(self.used, reverse=True))
        return Program(vectors, tuple(self.values), constraints, named(before, reached), number, apart=True)

    def kept(self, here: Point, goal: list[Point], start: list[Point], total: Moment) -> list[Expression]:
        """What a potential is made of, the square of x first, then those of s."""
        star, *end = goal
        points = [here, *start, *end]
        vectors = [here.x, star.g, here.g, *(v for point in points[1:] for v in (point.x, point.g)), total]
        parts = [(letter, k, part(v, letter)) for letter in "md" for k, v in enumerate(vectors)]
        pairs = combinations_with_replacement([one for one in parts if one[2].terms], 2)
        products = {(a[0], a[1], b[1]): a[2] @ b[2] for a, b in pairs if a[0] == b[0]}
        first = [products.pop(key) for key in (("m", 0, 0), ("d", 1, 1), ("m", 1, 1)) if key in products]
        return [*first, *products.values(), *(point.f for point in points)]
