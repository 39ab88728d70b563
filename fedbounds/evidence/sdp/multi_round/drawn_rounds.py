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

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np

from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.multi_round.bound import COMMON, Bound, above, is_definite
from fedbounds.evidence.sdp.multi_round.participation import Moment, Present, part, sampling
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import Constraint, Expression, Point, Program, Symbol, exact, interpolation
from fedbounds.evidence.sdp.solver import conic
from fedbounds.evidence.sdp.symmetry import corners, of_blocks
from fedbounds.model.problem import Array

# Rounds of one programme, and local steps of each: ten rounds in one are 1% nearer, and take twice as long.
ROUNDS, STEPS = 5, 6
# How far above the least value a proof with room to spare is sought, relatively: nearer there often is none.
ROOM = (Fraction(1, 10**4), Fraction(1, 10**3))

Potential = tuple[Fraction, ...]
Proof = Mapping[str, Fraction]


@dataclass(frozen=True)
class DrawnBound(Bound):
    """The same of rounds with K of N clients: V_0 .. V_{R-1} and the multipliers of each two rounds."""

    potentials: tuple[Potential, ...] = field(default=(), repr=False)
    proofs: tuple[Proof, ...] = field(default=(), repr=False)


def covered(run: Run) -> bool:
    """Whether the programme is for this run."""
    K, N = run.present or (1, None)
    least = 1 if run.measure == "gap" else 2  # a distance after one round has a programme without loss
    return not run.by_coins and N is not None and K < N and least <= run.rounds <= ROUNDS and run.tau <= STEPS


def drawn_rounds(run: Run, delta_0: Fraction, zeta_sq: Fraction) -> DrawnBound | None:
    """The smallest such bound that was found, certified; None where no proof was."""
    problem, pull = _Chain(run), zeta_sq or COMMON * run.L**2 * delta_0
    best = problem.least(float(delta_0), float(pull))
    if best is None:
        return None
    for margin in ROOM:
        more = margin * (best[0] * delta_0 + best[1] * pull)
        a, b = best[0] + more / delta_0, best[1] + more / pull
        inside = problem.inside(a, b)
        if inside is None:
            continue
        potentials, proofs = inside
        value = above(a * delta_0 + b * zeta_sq)
        result = DrawnBound(run, a, b, value, None, True, potentials=potentials, proofs=proofs)
        if verify(result):
            return result
    return None


def verify(bound: DrawnBound) -> bool:
    """Whether the proofs of all rounds are exact, and join: a Delta_0 + b zeta_*^2 first, the distance last."""
    run, V = bound.run, bound.potentials
    first = (bound.a, bound.b, *[Fraction(0)] * (_length(run.tau) - 2))
    if not covered(run) or len(V) != run.rounds or len(bound.proofs) != len(V) or V[0] != first:
        return False
    for t, (here, after, multipliers) in enumerate(zip(V, (*V[1:], _measured(run)), bound.proofs, strict=True)):
        program = _two_rounds(run, t, exact)
        gap = _potential(program, "before", here) - _potential(program, "after", after)
        labelled = len(here) == len(first) and multipliers.keys() <= set(program.labels)
        if not (labelled and verification.verify(program, gap, multipliers, is_definite)[0]):
            return False
    return True


def _potential(program: Program, when: str, entries: tuple[Any, ...]) -> Expression:
    return program.sum({f"{when} {k}": value for k, value in enumerate(entries)})


def _measured(run: Run) -> Potential:
    """What is measured as a potential: ||w||^2, or F(w) - F* = mu/2 ||w||^2 + the first of the function values."""
    gap, result = run.measure == "gap", [Fraction(0)] * _length(run.tau)
    result[0], result[-run.tau] = (run.mu / 2, Fraction(1)) if gap else (Fraction(1), Fraction(0))
    return tuple(result)


def _length(tau: int) -> int:
    """How many numbers of a round a potential keeps."""
    return (tau + 1) * (tau + 2) + tau


def _two_rounds(run: Run, t: int, number: Any) -> Program:
    """The programme of rounds t and t + 1; after the last there is one with the same steps."""
    sizes = run.sizes + run.sizes[-run.tau :]
    return _program(run.present, run.tau, run.mu, run.L, sizes[t * run.tau : (t + 2) * run.tau], number)


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
    for kind, sign in (("equal", 1), ("opposite", -1)):
        constraints += [Constraint(kind, -1, at, item * sign) for at, item in draw.equalities(tau).items()]
    letters = [letter for letter, within in draw.within if within]
    symbols = [Symbol("x", kind, k) for kind in range(4) for k in range(kind > 1, tau + 1)]
    symbols += [Symbol(letter, kind, k) for letter in letters for kind in (0, 1) for k in range(kind, tau + 1)]
    values = [Symbol("f", i, k + tau * (i >= 0)) for i in (-1, 0, 1) for k in range(tau)]
    quantities = {name: lambda item=item: item for name, item in _quantities(draw, tau, start).items()}
    return Program(tuple(symbols), tuple(values), tuple(constraints), quantities, number, apart=True)


def _quantities(draw: _Draw, tau: int, start: Moment) -> dict[str, Expression]:
    """What a potential keeps, ||w||^2 and zeta_*^2 first, before either round."""
    number, pairs, steps = draw.number, _pairs(tau), range(tau + 1)
    means = [start, *(part(draw.averaged([draw.later(i, k) for i in (0, 1)]), "x") for k in steps[1:])]
    apart = [[draw.apart(i, 0), *(draw.later(i, k) - means[k] for k in steps[1:])] for i in (0, 1)]
    result = dict[str, Expression]()
    for when, of_means, of_deviations, f in (
        (
            "before",
            [draw.mean(i) @ draw.mean(j) for i, j in pairs],
            [draw.deviation(i) @ draw.deviation(j) * number(1 / draw.v) for i, j in pairs],
            [_value(-1, k, number) for k in steps[:-1]],
        ),
        (
            "after",
            [means[i] @ means[j] for i, j in pairs],
            [draw.averaged([apart[group][i] @ apart[group][j] for group in (0, 1)]) for i, j in pairs],
            [draw.averaged([_value(group, k + tau, number) for group in (0, 1)]) for k in steps[:-1]],
        ),
    ):
        ordered = [of_means[0], of_deviations[0], *of_means[1:], *of_deviations[1:], *f]
        result |= {f"{when} {k}": item for k, item in enumerate(ordered)}
    return result


class _Chain:
    """The identities of all rounds as rows; multipliers of all rounds, then V_1 .. V_{R-1}, a and b as columns."""

    def __init__(self, run: Run) -> None:
        from scipy.sparse import block_diag, csr_matrix, hstack

        self.run, self.count, self.length = run, run.rounds, _length(run.tau)
        programs = [_two_rounds(run, t, float) for t in range(self.count)]
        self.cut, first = of_blocks(programs[0]), programs[0]
        self.labels = [label for label in first.labels if not label.startswith("opposite")]
        made = {id(program): self._forms(program) for program in programs}
        rules, before, after = zip(*(made[id(program)] for program in programs), strict=True)
        measured = after[-1] @ np.array([float(entry) for entry in _measured(run)])
        here = block_diag([before[0][:, :2], *before[1:]])
        nothing = csr_matrix((len(measured), 0))
        there = hstack([csr_matrix((here.shape[0], 2)), block_diag([*after[:-1], nothing])])
        potentials = (there - here).tocsc()
        self.matrix = hstack([block_diag(rules), potentials[:, 2:], potentials[:, :2]]).tocsr()
        self.target = np.zeros(self.matrix.shape[0])
        self.target[-len(measured) :] = -measured
        self.equal = np.arange(len(self.target)) % len(measured) >= len(measured) - len(first.values)
        signed = [label.startswith("interpolation") for label in self.labels] * self.count
        self.signed = np.flatnonzero(signed)

    def _forms(self, program: Program) -> tuple[Array, Array, Array]:
        """The columns of multipliers, and of a potential before and after."""
        rules = np.concatenate([self.cut.packed(program.quad), program.lin], axis=1)[: len(self.labels)]

        def column(name: str) -> Array:
            form = program.form(program[name])
            return np.concatenate([self.cut.packed(form.quad), form.lin])

        before, after = (
            np.stack([column(f"{when} {k}") for k in range(self.length)], axis=1) for when in ("before", "after")
        )
        return rules.T, before, after

    def least(self, delta_0: float, zeta_sq: float) -> tuple[Fraction, Fraction] | None:
        """(a, b) of the least bound."""
        from scipy.sparse import csr_matrix

        size, rows = self.matrix.shape[1], range(len(self.signed))
        cost = np.append(np.zeros(size - 2), [delta_0, zeta_sq])
        above_zero = csr_matrix((-np.ones(len(rows)), (rows, self.signed)), shape=(len(rows), size))
        rest, sizes = ~self.equal, self.cut.sizes * self.count
        equal, inside = ((self.matrix[k], self.target[k]) for k in (self.equal, rest))
        solved = conic(cost, equal, (above_zero, np.zeros(len(rows))), inside, sizes)
        return None if solved is None else (Fraction(float(solved[-2])), Fraction(float(solved[-1])))

    def inside(self, a: Fraction, b: Fraction) -> tuple[tuple[Potential, ...], tuple[Proof, ...]] | None:
        """Potentials and multipliers of these a and b, as far inside as can be, in fractions."""
        from scipy.sparse import csr_matrix, hstack

        matrix, target = self.matrix[:, :-2], self.target - self.matrix[:, -2:] @ [float(a), float(b)]
        size, many = matrix.shape[1], len(self.signed)
        rows, columns, _ = corners(self.cut.sizes)
        unit = np.tile(np.append(1.0 * (rows == columns), np.zeros(self.equal.sum() // self.count)), self.count)
        matrix = hstack([matrix, unit[:, None]]).tocsr()  # how far inside everything is, at most 1
        positions = [*range(many), *range(many + 1)], [*self.signed, *[size] * (many + 1)]
        above_zero = csr_matrix((np.repeat([-1.0, 1.0], [many, many + 1]), positions)), np.append(np.zeros(many), 1.0)
        equal, inside = ((matrix[k], target[k]) for k in (self.equal, ~self.equal))
        solved = conic(np.append(np.zeros(size), -1.0), equal, above_zero, inside, self.cut.sizes * self.count)
        if solved is None or solved[-1] <= 0:
            return None
        numbers, many = [Fraction(float(value)) for value in solved[:-1]], len(self.labels)
        later = numbers[many * self.count :]
        V = [(a, b, *[Fraction(0)] * (self.length - 2))]
        V += [tuple(later[k : k + self.length]) for k in range(0, len(later), self.length)]
        given = [dict(zip(self.labels, numbers[many * t :], strict=False)) for t in range(self.count)]
        after = [*V[1:], _measured(self.run)]
        return tuple(V), tuple(self._balanced(*each) for each in zip(V, after, given, strict=True))

    def _balanced(self, here: Potential, after: Potential, given: dict[str, Fraction]) -> Proof:
        """The multipliers of both signs, those with w* raised until the function values cancel."""
        assert self.run.present is not None
        share, tau = Fraction(*self.run.present), self.run.tau
        short = {("", k): here[k - tau] for k in range(tau)}
        for who, part_of in (("0 ", share), ("1 ", 1 - share)):
            short |= {(who, tau + k): -part_of * after[k - tau] for k in range(tau)}
        for label, value in given.items():
            kind, *client, at = label.split()
            for side, sign in zip(at.split("|"), (-1, 1), strict=True) if kind == "interpolation" else ():
                if side != "*":
                    who = f"{client[0]} " if int(side) >= tau else ""
                    short[who, int(side)] += sign * value
        for (who, k), value in short.items():
            given[f"interpolation {who}{k}|*" if value > 0 else f"interpolation {who}*|{k}"] += abs(value)
        opposite = {label: label.replace("equal", "opposite") for label, value in given.items() if value < 0}
        return {opposite.get(label, label): abs(value) for label, value in given.items()}
