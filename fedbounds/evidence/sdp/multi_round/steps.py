"""The proof of a run in links, a step each: the points of a step and of the next, with noise and with clients drawn.

With the means "x" and deviations "y" of `multi_round.program`, a potential before step k is any linear form of what
the run remembers then: the Gram matrices and function values of a few points, the last one and w* among them. Where F
is bounded the round's start and the point z at which it is are among them; for the mean of the iterates the sum of
those before is. An inequality joins the next point with each of these.

**Noise** of step k is a vector more, without inner product with what was before it. The squares of its mean over the
clients, and of the deviations from that, are at most two numbers that a potential has as function values.

**K of N drawn.** After a draw a mean over those drawn is that of everybody plus a deviation, and the others'
deviation is -K/(N - K) times it; "y" and "z" are deviations within both groups. What was before the draw does not
depend on it: its means have no inner product with deviations, whose squares are those of a draw without replacement,

    v = (N - K)/(K (N - 1)) in "x",   1 - v in "y",   1 - K/((N - K) (N - 1)) in "z",   times those over all clients.

Potentials tell both groups apart until the next draw. Where each client comes with a probability, a potential between
rounds is of ||w||^2 alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, permutations, product
from typing import Any, NamedTuple

from fedbounds.evidence.sdp.multi_round.links import Link, begun
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Constraint, Draft, Expression, Moment, Point, Symbol

# Points before the last that a potential remembers where some of N clients are drawn, tau at most: more gained less
# than 0.1%.
REMEMBERED = 4


class Each(NamedTuple):
    """A vector of every client: the mean, and the deviations from it in each group."""

    mean: Moment
    apart: tuple[Moment, ...]

    def of(self, group: int) -> Moment:
        return self.mean + self.apart[group]

    def plus(self, other: Each, factor: Any, own: Any) -> Each:
        """own times it + factor times another."""
        apart = (own * a + factor * b for a, b in zip(self.apart, other.apart, strict=True))
        return Each(own * self.mean + factor * other.mean, tuple(apart))


class Place(NamedTuple):
    """A point of every client, with the function values in each group."""

    label: str
    x: Each
    g: Each
    f: tuple[Expression, ...]

    def of(self, group: int) -> Point:
        return Point(self.label, self.x.of(group), self.g.of(group), self.f[group])


def links(run: Run, number: Any, noisy: bool = False) -> Sequence[Link]:
    """A programme a step; those of equal steps are one."""
    made, result = dict[Any, Link](), []
    for k in range(run.T):
        here, there = remembered(run, k, noisy), remembered(run, k + 1, noisy)
        at = [(k - j, run.sizes[j]) for j in here], [k - j for j in there], k % run.tau, k == 0, k + 1 == run.T
        kind = repr((at, in_groups(run, k, noisy), in_groups(run, k + 1, noisy)))
        if kind not in made:
            made[kind] = Step(run, number, noisy, k).program()
        result.append(made[kind])
    return result


noisy_links = partial(links, noisy=True)


def remembered(run: Run, k: int, noisy: bool) -> list[int]:
    """The points that a potential before step k is of."""
    result = {k}
    if run.measure == "gap" or run.server != 1 or run.sampling:
        result.add(k - k % run.tau)
    if run.sampling and run.present and run.present[1] and not (noisy or run.by_coins):
        result.update(range(max(k - min(REMEMBERED, run.tau), 0), k))
    return sorted(result)


def in_groups(run: Run, k: int, noisy: bool) -> bool:
    """Whether a potential before step k tells those drawn last from the others."""
    if noisy or run.by_coins or not run.sampling or run.present is None or run.present[1] is None:
        return False
    return k >= run.tau and (k + 1) % run.tau != 0


class Step(Draft):
    """The programme of step k, whose symbols have a role in place of a client."""

    def __init__(self, run: Run, number: Any, noisy: bool, k: int) -> None:
        super().__init__(number, Moment)
        self.run, self.noisy, self.k, self.last = run, noisy, k, (k + 1) % run.tau == 0
        self.grouped = in_groups(run, k, noisy)
        self.draws = self.last and bool(run.sampling)
        self.roles, self.variances = dict[str, int](), list[Expression]()
        share, inside = Fraction(1), [Fraction(1)]
        if run.present and (self.draws or self.grouped):
            K, N = (run.present[0], None) if run.by_coins else run.present
            share = Fraction(K, N) if N else Fraction(0)
            others = share / (1 - share)
            inside = [1 - run.sampling, 1 - (others / (N - 1) if N else Fraction(0))]
            self.sides = number(Fraction(1)), number(-others)
        # Of each group: the part of the clients, and the variance inside over that of all.
        self.shares, self.inside = [number(share), number(1 - share)][: len(inside)], inside
        self.groups = [g for g in range(len(inside)) if g or share]
        self.none = (Moment(),) * len(inside)

    def role(self, name: str) -> int:
        """The number of a role."""
        return self.roles.setdefault(name, len(self.roles))

    def common(self, role: str) -> Each:
        """A new vector, the same for all clients."""
        return Each(self.vector("x", self.role(role), 0), self.none)

    def each(self, role: str, mean: bool = True, later: bool = False) -> Each:
        """A new vector of every client; one that is ``later`` than a draw may depend on it."""
        later = mean and (later or self.grouped)
        several = range(len(self.inside))
        used = [bool(self.inside[g]) and (g in self.groups or not later) for g in several]
        own = [self.vector("yz"[g] if used[g] else "", self.role(role), 0) for g in several]
        if len(own) == 1:
            return Each(self.vector("x" * mean, self.role(role), 0), tuple(own))
        if later:
            means = [self.vector("x" * (g in self.groups), self.role(role), 2 + g) for g in several]
            middle = Moment.mean(self.shares, means)
            return Each(middle, tuple(means[g] - middle + own[g] for g in several))
        aside = self.vector("x", self.role(role), 1)
        apart = tuple(self.sides[g] * aside + own[g] for g in several)
        return Each(self.vector("x" * mean, self.role(role), 0), apart)

    def place(self, label: str, x: Each, later: bool = False) -> Place:
        """A new point of every client, at x."""
        slope = self.each(f"gradient {label}", later=later)
        if len(self.inside) > 1 and (later or self.grouped):
            f = tuple(self.value("f", self.role(label), g) if g in self.groups else Expression() for g in range(2))
        else:
            f = (self.value("f", self.role(label), 0),) * len(self.inside)
        return Place(label, x, slope, f)

    def points(self) -> dict[int, Place]:
        """Those that the potential before is of."""
        run, number, result = self.run, self.number, dict[int, Place]()
        for j in remembered(run, self.k, self.noisy):
            if self.independent(j, self.k):
                x = self.each(f"x {j}") if j % run.tau else self.common(f"x {j}")
                if j % run.tau and run.server != 1:  # the server's step makes a mean's small way long
                    x = Each(result[j - j % run.tau].x.mean + number(1 / run.server) * x.mean, x.apart)
            else:
                x = self.after(result[j - 1], run.sizes[j - 1])
            result[j] = self.place(str(j - self.k), x)
        return result

    def independent(self, j: int, k: int) -> bool:
        """Whether the position of point j does not follow from the other points that are remembered before step k."""
        return self.noisy or j % self.run.tau == 0 or j - 1 not in remembered(self.run, k, self.noisy)

    def after(self, place: Place, size: Fraction) -> Each:
        """A step from a point."""
        return place.x.plus(place.g, -self.number(size), self.number(1 - size * self.run.mu))

    def program(self) -> Link:
        run, number, k = self.run, self.number, self.k
        zero, average = Each(Moment(), self.none), run.measure == "average"
        star = Place("*", zero, self.each("s", mean=run.biased), (Expression(),) * len(self.inside))
        points = self.points()
        total = self.common("sum") if average and k else zero
        after = self.noise(self.after(points[k], run.sizes[k]))
        if self.draws:
            self.constraints += self.of_draw()
        summed = Each(total.mean + points[k].x.mean, self.none) if average else zero
        x = self.next(points, after)
        goal, ends = [star], k + 1 == run.T
        if run.measure != "distance":
            mean = number(Fraction(1, run.T)) * summed.mean if average else x.mean
            goal.append(self.place("z", Each(mean, self.none) if ends else self.common("z"), later=True))
        pairs = [(points[k], other) for other in goal]
        if ends or (self.last and run.by_coins):
            pairs += [(one, goal[-1]) for one in points.values() if one is not points[k]] + [(goal[-1], star)] * ends
            reached = self.measured(points, goal, x)
        else:
            there = self.place("next", x, later=True)
            pairs += [*((one, there) for one in points.values()), *[(there, star)] * self.draws]
            reached = self.kept(k + 1, {**points, k + 1: there}, goal, summed)
        before = self.kept(k, points, goal, total)
        if k == 0:
            before[0] = begun(run, before[0], self.value_of(points[0]), number)
        if run.by_coins and k % run.tau == 0:
            before = before[: 2 + len(self.variances)]
        K, told = number(run.L - run.mu), len(self.inside) > 1
        for (one, other), group in product(pairs, self.groups):
            self.interpolate(permutations((one.of(group), other.of(group)), 2), 0 * K, K, group if told else -1)
        parts = self.parts() | {"vectors": tuple(sorted(self.vectors, reverse=True))}
        return Link(**parts, apart=True, before=tuple(before), after=tuple(reached))

    def noise(self, after: Each) -> Each:
        """A step with noise, if it has any, which has no inner product with the vectors before it."""
        if not self.noisy:
            return after
        old, size = list(self.vectors), -self.number(self.run.sizes[self.k])
        self.variances = [self.value("f", self.role("variance"), kind) for kind in (0, 1)]
        noise = self.each("noise") if self.run.sampling or not self.last else self.common("noise")
        squares = [noise.mean.squared, self.product(noise, noise)]
        for kind in (0, 1):
            most = self.variances[kind] - squares[kind]
            self.constraints.append(Constraint("noise", -1, str(kind), most))
        for a, b in product(self.vectors[len(old) :], old):
            if a.letter == b.letter and (a.letter != "x" or a.step == b.step):
                self.constraints.append(Constraint("equality", -1, f"noise {a}|{b}", self.of(a) @ self.of(b)))
        return after.plus(noise, size, self.number(Fraction(1)))

    def of(self, symbol: Symbol) -> Moment:
        return Moment({symbol: self.unit})

    def of_draw(self) -> Iterator[Constraint]:
        """What is 0, as what was before the draw does not depend on it."""
        means, aside = ([s for s in self.vectors if s.letter == "x" and s.step == kind] for kind in (0, 1))
        for a, b in product(means, aside):
            yield Constraint("equality", -1, f"mean {a}|{b}", self.of(a) @ self.of(b))
        for letter, inside in zip("yz", self.inside, strict=True):
            for a, b in combinations_with_replacement(aside, 2) if inside else ():
                own = (self.of(symbol._replace(letter=letter, step=0)) for symbol in (a, b))
                of_all = self.of(a) @ self.of(b) * self.number(inside / self.run.sampling)
                yield Constraint("equality", -1, f"{letter} {a}|{b}", next(own) @ next(own) - of_all)

    def next(self, points: dict[int, Place], after: Each) -> Each:
        """Where a step leads: at a round's end to the mean of those drawn."""
        if not self.last:
            return after
        mean, server = after.of(0).part("x") if self.draws else after.mean, self.number(self.run.server)
        if self.run.server != 1:
            mean = server * mean + (1 - server) * points[self.k + 1 - self.run.tau].x.mean
        return Each(mean, self.none)

    def measured(self, points: dict[int, Place], goal: list[Place], x: Each) -> list[Expression]:
        """What is measured at the run's end; between rounds of clients by coins ||w||^2, and what does not change."""
        run, number, ends = self.run, self.number, self.k + 1 == self.run.T
        if run.measure == "slope":
            return [(goal[1].g.mean + number(run.mu) * goal[1].x.mean).squared]
        reached, before = x.mean.squared, points[self.k + 1 - run.tau] if run.by_coins else points[self.k]
        still = before.x.mean.squared
        if run.measure != "distance" and ends:
            reached, still = (number(run.mu / 2) * at.x.mean.squared + self.value_of(at) for at in (goal[1], before))
        if run.by_coins:
            reached = number(1 - run.idle) * reached + number(run.idle) * still
        return [reached] if ends else [reached, self.product(goal[0].g, goal[0].g), *self.variances]

    def product(self, a: Each, b: Each) -> Expression:
        """The mean over clients of the inner products of deviations."""
        return Expression.mean(self.shares, [x @ y for x, y in zip(a.apart, b.apart, strict=True)])

    def value_of(self, place: Place) -> Expression:
        """F, over all clients."""
        return Expression.mean(self.shares, place.f) if len(set(map(id, place.f))) > 1 else place.f[0]

    def kept(self, k: int, points: dict[int, Place], goal: list[Place], total: Each) -> list[Expression]:
        """What a potential before step k is made of, the squares of x and s first."""
        (star, *end), begin, known = goal, k - k % self.run.tau, remembered(self.run, k, self.noisy)
        vectors = list[Each]()
        for j in reversed(known):
            x = points[j].x
            if self.run.server != 1 and j > begin:
                x = Each(self.number(self.run.server) * (x.mean - points[begin].x.mean), x.apart)
            vectors += [x] * self.independent(j, k) + [star.g] * (j == k) + [points[j].g]
        several = [*(points[j] for j in known), *end]
        vectors += [*(v for point in end for v in (point.x, point.g)), total]
        if in_groups(self.run, k, self.noisy):
            return [*self.in_each_group(vectors), *(f for place in several for f in place.f)]
        products = dict[tuple[str, int, int], Expression]()
        for (i, a), (j, b) in combinations_with_replacement(enumerate(vectors), 2):
            if a.mean.terms and b.mean.terms:
                products["x", i, j] = a.mean @ b.mean
            if a.apart[-1].terms and b.apart[-1].terms:
                products["y", i, j] = self.product(a, b)
        s = vectors.index(star.g)
        squares = [products.pop(key) for key in (("x", 0, 0), ("y", s, s), ("x", s, s)) if key in products]
        return [*squares, *self.variances, *products.values(), *map(self.value_of, several)]

    def in_each_group(self, vectors: list[Each]) -> Iterator[Expression]:
        """The inner products of means over a group, and of deviations inside one."""
        means = list[Moment]()
        for v in vectors:
            both = [v.of(group).part("x") for group in (0, 1)]
            means += both if v.mean.terms and v.apart[0].terms else both[:1]
        several = [means, *([v.apart[g].part("yz"[g]) for v in vectors] for g in (0, 1) if self.inside[g])]
        for letter in several:
            for a, b in combinations_with_replacement([v for v in letter if v.terms], 2):
                yield a @ b
