"""Programmes whose proofs bound R rounds, in links: here a run in one link, or links of two rounds each.

A link is a programme with what a potential is of ``before`` it and ``after`` it.

**Two blocks.** Summed over the clients with weights p_i, the Gram matrix of a run is that of their means and that of
their deviations. With c = grad F_i - mu w, the gradient of a convex K-smooth function where K = L - mu, a step is
x <- q x - eta c with q = 1 - eta mu in both blocks, and a new round sets the deviations to 0; at w* = 0 the mean of
c is 0 and the mean square of its deviation zeta_*^2. So there are two matrices of 1 + R tau rows, for every N and p:

    a ||w_0||^2 + b zeta_*^2 - ||w_R||^2 = sum_j lambda_j constraint_j + <S, means> + <S', deviations>.

Where no p_i exceeds 1/2 nothing is lost, as unit vectors u_i of the plane have sum_i p_i u_i = 0; where one does it
is the worst case over all weights. Where the server's weights alpha are not p, the mean g of s_i = grad F_i(w*) is
one more row: ||g||^2 <= chi^2 zeta_*^2 with chi^2 = sum_i (alpha_i - p_i)^2/p_i, and sum_i alpha_i ||s_i||^2 <=
max_i(alpha_i/p_i) zeta_*^2. Where only pi <= alpha_i/p_i <= Pi is known, chi^2 is at most (Pi - 1)(1 - pi), the
variance of a number between pi and Pi with mean 1. Where F(w) - F* is bounded, w is one more point without
deviations; F(w) - F* is (mu/2) ||w||^2 plus a difference of function values. Constraints join the points of
`Run.pairs`; leaving the others out keeps every proof a proof.

**Every client.** For short runs of a few clients all gradients are apart, which loses nothing at any weights.

**Both outcomes** of each draw, where one of two clients takes part in a round. A history says who was drawn: from w
the first round leads to w_0 or w_1, the second to w_00 .. w_11. Exchanging the clients, and them in each history,
changes neither the class nor the mean over the draws. So a vector has a part "x" that this keeps and a part "y" whose
sign it changes; their inner products are 0 in mean, and client 1 at a history is the mirror image of client 0 at the
exchanged one. A potential before a round is any linear form of the Gram matrices and function values of that round:
of its start w, of all local steps from there, and of the gradients of both clients at w_0 and w_1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Draft, Expression, Moment, Point, Program, Vector

# Local steps up to which every two points are joined; else rounds' starts with what follows, and steps with the next.
EVERY_PAIR = 4
History = tuple[int, ...]


@dataclass(frozen=True)
class Link(Program):
    """A programme with what a potential is of ``before`` it and ``after`` it; ``points`` are those of two blocks."""

    before: tuple[Expression, ...] = field(repr=False, kw_only=True)
    after: tuple[Expression, ...] = field(repr=False, kw_only=True)
    points: tuple[Point, ...] = field(default=(), repr=False)


# The links of a run in an arithmetic, none where there are none for it. What is measured is all after the last.
Links = Callable[[Run, Any], Sequence[Link]]


def whole(run: Run, number: Any) -> Sequence[Link]:
    """The two blocks of a run of everybody."""
    return [] if run.sampling else [gradient_program(run, number)]


def gradient_program(run: Run, number: Any, common: bool = False) -> Link:
    """The programme of a run in two blocks; the clients' minimisers may be ``common``."""
    draft = Draft(number, Moment)
    points, end = _visited(run, draft, common)
    K, half_mu = number(run.L - run.mu), number(run.mu / 2)
    draft.interpolate(((points[a], points[b]) for a, b in run.pairs), 0 * K, K)
    if run.measure == "distance":
        measured = end.squared
    elif run.measure == "slope":
        measured = (points[run.T].g.part("m") + 2 * half_mu * points[run.T].x.part("m")).squared
    else:
        measured = end.squared * half_mu + points[run.T].f
    start, star = points[0], points[-1]
    before = [begun(run, start.x.squared, start.f, number), star.g.part("d").squared]
    before += [star.g.part("m").squared] if run.biased else []
    return Link(**draft.parts(), apart=True, before=tuple(before), after=(measured,), points=tuple(points))


def _visited(run: Run, draft: Draft, common: bool) -> tuple[list[Point], Vector]:
    """(w_0 .. w_{T-1}, then the point at which F is bounded, then w*; w_R), with gradients less mu times positions.

    "m" are means and "d" deviations. The gradient at w* is s, whose mean is 0 unless the run is biased.
    """
    number, means, result = draft.number, list[Moment](), list[Point]()
    start = x = draft.vector("m", step=0)
    for k in range(run.star):
        start = x if k % run.tau == 0 else start
        means.append(x.part("m"))
        if k == run.T and run.measure == "average":
            x = number(Fraction(1, k)) * Moment.mean([1] * k, means[:-1])
        result.append(draft.point(str(k), x, "mdf", step=k + 1))
        if k < run.T:
            x = number(1 - run.sizes[k] * run.mu) * x - number(run.sizes[k]) * result[-1].g
        if (k + 1) % run.tau == 0 and k < run.T:
            x = number(1 - run.server) * start + number(run.server) * x.part("m")
    slope = draft.vector("" if common else "d", step=0) + draft.vector("m" * run.biased, step=run.star + 1)
    return [*result, Point(str(run.star), Moment(), slope, Expression())], x


def begun(run: Run, distance_sq: Expression, value: Expression, number: Any) -> Expression:
    """What is known of the start, of its squared distance and the value there."""
    return distance_sq if run.start == "distance" else distance_sq * number(run.mu / 2) + value


def of_clients(run: Run, number: Any) -> Sequence[Link]:
    """The distance with the points of every client, sum_i p_i grad F_i(w*) = 0 substituted and F_i(w*) = 0."""
    draft, clients = Draft(number), range(len(run.p))
    alpha, p = ([number(v) for v in given] for given in (run.alpha, run.p))
    start = w = draft.vector(["w0"])
    slopes, x = draft.balanced("s", run.p), list[Vector]()
    every = [[Point("star", Vector(), slope, Expression())] for slope in slopes]
    for t, size in enumerate(run.sizes):
        x = [w] * len(p) if t % run.tau == 0 else x
        for i in clients:
            every[i].append(draft.point(f"x{t}", x[i], "gf", i, t))
            x[i] = x[i] - number(size) * every[i][-1].g
        if (t + 1) % run.tau == 0:
            w = number(1 - run.server) * w + number(run.server) * Vector.mean(alpha, x)
    for i in clients:
        draft.interpolate(permutations(every[i], 2), number(run.mu), number(run.L), i)
    before = start.squared, Expression.mean(p, [slope.squared for slope in slopes])
    weights = tuple(zip(run.alpha, run.p, strict=True))
    return [Link(**draft.parts(), weights=weights, before=before, after=(w.squared,))]


def both_outcomes(run: Run, number: Any) -> Sequence[Link]:
    """A programme for each two rounds that follow each other, none for another run; those of equal steps are one."""
    if not is_one_of_two(run):
        return []
    made, result = dict[Any, Link](), []
    for k in range(run.rounds - 1):
        kind = run.sizes[k * run.tau : (k + 2) * run.tau], k == 0, k + 2 == run.rounds
        if kind not in made:
            made[kind] = TwoRounds(run, number, *kind).program()
        result.append(made[kind])
    return result


def is_one_of_two(run: Run) -> bool:
    """Whether links have both outcomes: several rounds of one of two clients, and the distance is measured."""
    plain = run.measure == "distance" and run.server == 1 and not run.biased
    return run.present == (1, 2) and run.rounds > 1 and plain


def exchanged(history: History) -> History:
    """Who is drawn where the clients are exchanged."""
    return tuple(1 - client for client in history)


def mirrored(vector: Vector) -> Moment:
    """The same vector of the other client where the clients are exchanged."""
    return Moment({key: value if key.letter == "x" else -value for key, value in vector.terms.items()})


class TwoRounds(Draft):
    """The programme of two rounds: ``w`` after each history, and client 0's ``points``, by history and local step."""

    def __init__(self, run: Run, number: Any, sizes: tuple[Fraction, ...], begins: bool, ends: bool) -> None:
        super().__init__(number, Moment)
        self.run, self.begins, self.ends = run, begins, ends
        self.s, self.w = self.vector("y"), dict[History, Vector]({(): self.vector("x")})
        self.points = dict[tuple[History, int], Point]()
        for count in (0, 1):
            for history in product((0, 1), repeat=count):
                x = self.w[history]
                for k, size in enumerate(sizes[count * run.tau :][: run.tau]):
                    slope = self.of_client_0(history, k, x).g
                    x = number(1 - size * run.mu) * x - number(size) * slope
                self.w[*history, 0], self.w[*exchanged(history), 1] = x, mirrored(x)
        for history in () if ends else product((0, 1), repeat=2):
            self.of_client_0(history, 0, self.w[history])

    def of_client_0(self, history: History, k: int, x: Vector) -> Point:
        """A new point of client 0."""
        label = f"{''.join(map(str, history))}.{k}"
        self.points[history, k] = self.point(label, x, "xyf", step=len(self.points))
        return self.points[history, k]

    def program(self) -> Link:
        half, ends = self.number(Fraction(1, 2)), [self.w[0, client].squared for client in (0, 1)]
        before = [self.w[()].squared, self.s.squared] if self.begins else self.state(())
        after = [Expression.mean([half, half], ends)] if self.ends else self.state((0,))
        K = self.number(self.run.L - self.run.mu)
        self.interpolate(self.pairs(), 0 * K, K)
        return Link(**self.parts("xyf"), apart=True, before=tuple(before), after=tuple(after))

    def pairs(self) -> Iterator[tuple[Point, Point]]:
        """Those that are joined, in both directions; the points of the other client are their mirror images."""
        star = ((), -1), Point("*", Moment(), self.s, Expression())
        for (one, a), (other, b) in permutations([star, *self.points.items()], 2):
            (_, k), _ = sorted((one, other), key=self.time)
            near = k <= 0 or abs(self.time(other) - self.time(one)) <= 1
            if near or self.run.tau <= EVERY_PAIR:
                yield a, b

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
