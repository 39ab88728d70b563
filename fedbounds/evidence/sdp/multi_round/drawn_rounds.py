"""A certified bound on rounds with K of N clients, K < N, by a potential that remembers what the clients did.

Let S be drawn in a round, and two rounds be run: all clients' local steps from w, then those of all from the mean of
S. Averaged over all draws and exchanges of clients, their Gram matrix is three blocks: "x" of the means over S and
over the others, "y" and "z" of the deviations from these within S and within the others. In "x" a mean over S is that
of everybody plus a deviation, and the others' deviation is -K/(N - K) times it. What happened before S was drawn does
not depend on S: means have no inner product with deviations, whose moments are those of a draw without replacement,

    v = (N - K)/(K (N - 1)) in "x",   1 - v in "y",   1 - K/((N - K) (N - 1)) in "z",   times those over all clients.

A potential V_t is any linear form of what a round starts with: the Gram matrices of means and of deviations of w,
s_i and the local gradients, and the function values. So is V_R, what is measured after R rounds. If V_t of the first
round is at least V_{t+1} of the second by the inequalities of each client's points in both rounds, for every t, then
V_R is at most V_0 = a ||w_0||^2 + b zeta_*^2. One programme finds all V_t; each round's proof is checked by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

from fedbounds.evidence.sdp.multi_round.bound import ROOM, Bound, Potential, least, named
from fedbounds.evidence.sdp.multi_round.participation import Moment, Present, part, sampling
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Constraint, Expression, Point, Program, Symbol, interpolation

# Rounds of one programme, and local steps of each: ten rounds in one are 1% nearer, and take twice as long.
ROUNDS, STEPS = 5, 6
# Nearer to the least value there often is no proof with room to spare.
NEAREST = ROOM[2:]


def covered(run: Run) -> bool:
    """Whether the programme is for this run."""
    K, N = run.present or (1, None)
    least = 1 if run.measure == "gap" else 2  # a distance after one round has a programme without loss
    return not run.by_coins and N is not None and K < N and least <= run.rounds <= ROUNDS and run.tau <= STEPS


def drawn_rounds(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> Bound | None:
    """The smallest such bound that was found, certified; None where no proof was."""
    return least(links, run, delta_0, zeta_sq, room=NEAREST)


def links(run: Run, number: Any) -> tuple[Sequence[Program], Potential]:
    """The programmes of each round with the next; after the last there is one with the same steps."""
    if not covered(run):
        return [], ()
    sizes, tau = run.sizes + run.sizes[-run.tau :], run.tau
    several = [sizes[start : start + 2 * tau] for start in range(0, run.T, tau)]
    return [_program(run.present, tau, run.mu, run.L, each, number) for each in several], _measured(run)


def _measured(run: Run) -> Potential:
    """What is measured as a potential: ||w||^2, or F(w) - F* = mu/2 ||w||^2 + the first of the function values."""
    gap, result = run.measure == "gap", [Fraction(0)] * _length(run.tau)
    result[0], result[-run.tau] = (run.mu / 2, Fraction(1)) if gap else (Fraction(1), Fraction(0))
    return tuple(result)


def _length(tau: int) -> int:
    """How many numbers of a round a potential keeps."""
    return (tau + 1) * (tau + 2) + tau


class _Draw:
    """K of N clients by group, those drawn (0) and the others (1), with the moments of the draw."""

    def __init__(self, present: Present, number: Any) -> None:
        assert present[1] is not None
        share, v, N = Fraction(present[0], present[1]), sampling(present), present[1]
        self.number, self.shares, self.v = number, (number(share), number(1 - share)), v
        self.side = number(Fraction(1)), number(-share / (1 - share))
        # (letter, variance within the group over that of all): 0 where the group is one client.
        self.within = ("y", 1 - v), ("z", 1 - share / (1 - share) / (N - 1))

    def mean(self, k: int) -> Moment:
        """Of everybody: w for k = 0, then the first round's gradients."""
        return self._moment("x", 0, k)

    def apart(self, group: int, k: int) -> Moment:
        """A client's deviation from it, of s_i for k = 0."""
        result: Moment = self.side[group] * self.deviation(k) + self.within_group(group, 0, k)
        return result

    def deviation(self, k: int) -> Moment:
        """That of the mean of those drawn."""
        return self._moment("x", 1, k)

    def later(self, group: int, k: int) -> Moment:
        """A client's gradient in the second round."""
        return self._moment("x", 2 + group, k) + self.within_group(group, 1, k)

    def within_group(self, group: int, kind: int, k: int) -> Moment:
        """A client's deviation from the mean of its group."""
        letter, within = self.within[group]
        return self._moment(letter, kind, k) if within else Moment()

    def _moment(self, letter: str, kind: int, k: int) -> Moment:
        return Moment({Symbol(letter, kind, k): self.number(Fraction(1))})

    def averaged(self, items: list[Any]) -> Any:
        """The mean over all clients of what both groups have."""
        return type(items[0]).mean(self.shares, items)

    def equalities(self, tau: int) -> dict[str, Expression]:
        """What is 0, as the first round does not depend on the draw."""
        result = {f"mean {i}|{j}": self.mean(i) @ self.deviation(j) for i in range(tau + 1) for j in range(tau + 1)}
        for group, (letter, within) in enumerate(self.within):
            for i, j in _pairs(tau) if within else ():
                of_all = self.deviation(i) @ self.deviation(j) * self.number(within / self.v)
                result[f"{letter} {i}|{j}"] = self.within_group(group, 0, i) @ self.within_group(group, 0, j) - of_all
        return result


def _pairs(tau: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(tau + 1) for j in range(i + 1)]


def _value(client: int, k: int, number: Any) -> Expression:
    return Expression({(Symbol("f", client, k),): number(Fraction(1))})


@lru_cache(maxsize=8)
def _program(
    present: Present, tau: int, mu: Fraction, L: Fraction, sizes: tuple[Fraction, ...], number: Any
) -> Program:
    draw, bend = _Draw(present, number), number(L - mu)
    every, start = [], draw.mean(0)
    for group in (0, 1):
        x, points = draw.mean(0), [Point("*", Moment(), draw.apart(group, 0), Expression())]
        for k, size in enumerate(sizes):
            if k == tau:  # from here on the mean of those drawn, who come first
                start = x = start if group else part(x, "x")
            slope = draw.mean(k + 1) + draw.apart(group, k + 1) if k < tau else draw.later(group, k + 1 - tau)
            points.append(Point(str(k), x, slope, _value(-1 if k < tau else group, k, number)))
            x = number(1 - size * mu) * x - number(size) * slope
        every.append(points)
    constraints = []
    for a, b in permutations(range(2 * tau + 1), 2):
        both = [interpolation(points[a], points[b], 0 * bend, bend) for points in every]
        at = f"{every[0][a].label}|{every[0][b].label}"
        of = {-1: draw.averaged(both)} if max(a, b) <= tau else dict(enumerate(both))
        constraints += [Constraint("interpolation", group, at, item) for group, item in of.items()]
    constraints += [Constraint("equality", -1, at, item) for at, item in draw.equalities(tau).items()]
    letters = [letter for letter, within in draw.within if within]
    symbols = [Symbol("x", kind, k) for kind in range(4) for k in range(kind > 1, tau + 1)]
    symbols += [Symbol(letter, kind, k) for letter in letters for kind in (0, 1) for k in range(kind, tau + 1)]
    values = [Symbol("f", i, k + tau * (i >= 0)) for i in (-1, 0, 1) for k in range(tau)]
    return Program(
        tuple(symbols), tuple(values), tuple(constraints), _quantities(draw, tau, start), number, apart=True
    )


def _quantities(draw: _Draw, tau: int, start: Moment) -> dict[str, Callable[[], Expression]]:
    """What a potential keeps, ||w||^2 and zeta_*^2 first, before either round."""
    number, pairs, steps = draw.number, _pairs(tau), range(tau + 1)
    means = [start, *(part(draw.averaged([draw.later(i, k) for i in (0, 1)]), "x") for k in steps[1:])]
    apart = [[draw.apart(i, 0), *(draw.later(i, k) - means[k] for k in steps[1:])] for i in (0, 1)]

    def ordered(of_means: list[Expression], of_deviations: list[Expression], f: list[Expression]) -> list[Expression]:
        return [of_means[0], of_deviations[0], *of_means[1:], *of_deviations[1:], *f]

    before = ordered(
        [draw.mean(i) @ draw.mean(j) for i, j in pairs],
        [draw.deviation(i) @ draw.deviation(j) * number(1 / draw.v) for i, j in pairs],
        [_value(-1, k, number) for k in steps[:-1]],
    )
    after = ordered(
        [means[i] @ means[j] for i, j in pairs],
        [draw.averaged([apart[group][i] @ apart[group][j] for group in (0, 1)]) for i, j in pairs],
        [draw.averaged([_value(group, k + tau, number) for group in (0, 1)]) for k in steps[:-1]],
    )
    return named(before, after)
