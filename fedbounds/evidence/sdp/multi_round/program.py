"""The worst case of R rounds of local gradient descent, for every N >= 2 and all weights, bounded by certificates.

Summed over the clients with weights p_i, the Gram matrix of a run is two blocks: that of their means x and that of
their deviations, sum_i p_i (x_i - x)(x_i - x)^T. With c = grad F_i - mu w, the gradient of a convex K-smooth function
where K = L - mu, a step is x <- q x - eta c with q = 1 - eta mu in both blocks, and a new round sets the deviations
to 0; at w* = 0 the mean of c is 0 and the mean square of its deviation zeta_*^2. So the programme has two matrices of
1 + R tau rows, and

    a ||w_0||^2 + b zeta_*^2 - ||w_R||^2 = sum_j lambda_j constraint_j + <S, means> + <S', deviations>

with lambda >= 0, S >= 0 and S' >= 0 proves ||w_R||^2 <= a Delta_0 + b zeta_*^2 on the whole class, for every N and p.
Where no p_i exceeds 1/2 the two blocks lose nothing: in the plane are unit vectors u_i with sum_i p_i u_i = 0, and
clients with the deviations d (x) u_i, d those of the second block, meet the inequalities each for itself. Where one
does exceed 1/2 it is the worst case over all weights.

Where the server's weights alpha are not p, sums are weighted by alpha, and the mean g of s_i = grad F_i(w*) is a
vector of its own, a last row of the means. As g = sum_i (alpha_i - p_i) s_i, ||g||^2 <= chi^2 zeta_*^2 with chi^2 =
sum_i (alpha_i - p_i)^2/p_i, and sum_i alpha_i ||s_i||^2 <= max_i(alpha_i/p_i) zeta_*^2. The bound that follows is
exact at tau = 1 in what was tried, and at tau = 2 with steps below 2/(L + mu) up to a tenth above the worst case; at
larger tau or steps its distance from it is not known. Its multipliers serve every alpha,
and both right sides are largest where alpha is all on a client of least p: so a round with that alpha bounds a round
of any weights, and rounds whose weights are free are bounded one after the other.

Steps may differ: then q and eta above are those of the step. Where F(w) - F* is bounded, at w = w_R or at the mean of
w_0 .. w_{T-1}, w is one point more, at which the deviations are 0 and the gradients have a mean and deviations of
their own, and F(w) - F* is (mu/2) ||w||^2 plus the difference of the function values there and at w*.

Constraints are the interpolation inequalities between each point and w*, between points that follow each other, where
F is bounded between w and all points, and for F(w_R) between a round's start and its points: leaving the others out
keeps every proof a proof, and costs 0.2% at most where both were solved, for F a few per cent. Newton's method
follows the central path of the proofs, all of which are strictly feasible: so the last one that leaves room for
rounding, its floats read as fractions, is a certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.sdp import verification
from fedbounds.evidence.sdp.program import (
    Constraint,
    Expression,
    Point,
    Program,
    Symbol,
    Vector,
    exact,
    interpolation,
)

# A positive definite matrix, scaled to a unit diagonal, less one of these has a Cholesky factor in floating point
# whose square differs from it by less: the rounding is about 1e-15 a row.
CLEARANCE = (1e-6, 1e-8, 1e-10, 1e-12)
# Bits of that factor's entries, as fractions.
BITS = 60
# Rows of a block: beyond this a solve takes minutes.
LARGEST = 400


# ||w_R - w*||^2, F(w_R) - F*, and F - F* at the mean of w_0 .. w_{T-1}, those inside rounds included.
Measure = Literal["distance", "gap", "average"]


@dataclass(frozen=True)
class Run:
    """R rounds of tau steps on L-smooth mu-strongly convex clients; without weights they are equal.

    ``eta`` is the size of all steps, or a tuple with that of each; ``measure`` is what is bounded.

    The server averages with ``alpha``, w* is the minimiser of sum_i p_i F_i and zeta_*^2 = sum_i p_i ||s_i||^2.
    Where its weights are ``free`` they may be others in every round, and ``alpha`` is all on a client of least p.
    ``all_pairs``: every interpolation inequality is used, not those of `pairs` that matter most.
    """

    rounds: int
    tau: int
    mu: Fraction
    L: Fraction
    eta: Fraction | tuple[Fraction, ...]
    alpha: tuple[Fraction, ...] = ()
    p: tuple[Fraction, ...] = ()
    free: bool = False
    measure: Measure = "distance"
    all_pairs: bool = False

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.tau < 1 or self.T > LARGEST:
            raise reject(f"rounds and tau must be at least 1, and {LARGEST} steps at most", self.T, "take fewer")
        if not 0 < self.mu < self.L:
            raise reject("a class of functions needs 0 < mu < L", f"mu = {self.mu}, L = {self.L}", "mend them")
        if self.measure == "average" and self.T == 1:
            raise reject("the mean of the iterates needs two steps", "one step", "take more")
        if len(self.sizes) != self.T:
            raise reject(f"step sizes must be one or {self.T}, one a step", len(self.sizes), "mend them")
        for size in set(self.sizes):
            if not 0 < size * self.L < 2:
                raise reject("gradient descent needs 0 < eta < 2/L", size, "take a smaller step")
        for name, given in (("alpha", self.alpha), ("p", self.p)):
            if len(self.alpha) != len(self.p) or (given and (min(given) < 0 or sum(given) != 1)):
                said = ", ".join(map(str, given))
                raise reject(f"{name} must be as many weights >= 0 as clients, with sum 1", said, "mend them")
        if self.p and (min(self.p) == 0 or len(self.p) == 1):
            said = ", ".join(map(str, self.p))
            raise reject("there must be two clients or more, each with p_i > 0", said, "leave out one that has none")
        if self.free and (not self.p or self.alpha[self.p.index(min(self.p))] != 1):
            raise reject(
                "weights that are free need p, and alpha on its least", ", ".join(map(str, self.alpha)), "mend alpha"
            )
        if self.measure != "distance" and self.biased:
            said = f"the {self.measure} with weights that are not p"
            raise reject("F is bounded where the server's weights are p", said, "take the measure distance")

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The size of every step."""
        return self.eta if isinstance(self.eta, tuple) else (self.eta,) * self.T

    @property
    def T(self) -> int:
        """Steps in all."""
        return self.rounds * self.tau

    @property
    def biased(self) -> bool:
        """Whether the server's weights are not p."""
        return self.alpha != self.p

    @property
    def spread(self) -> tuple[Fraction, Fraction]:
        """What (sum_i alpha_i ||s_i||^2, ||mean of s||^2) are at most, over zeta_*^2: (max alpha_i/p_i, chi^2)."""
        pairs = list(zip(self.alpha, self.p, strict=True))
        ratio = max((a / p for a, p in pairs), default=Fraction(1))
        return ratio, sum(((a - p) ** 2 / p for a, p in pairs), Fraction(0))

    @property
    def exact(self) -> bool:
        """Whether the two blocks are those of clients with these weights, so that the programme loses nothing."""
        return not self.biased and 2 * max(self.p, default=Fraction(0)) <= 1

    @property
    def contraction(self) -> Fraction | None:
        """By what all steps bring two points nearer, where one quadratic needs that much; else None."""
        several = [[abs(1 - size * curvature) for size in self.sizes] for curvature in (self.mu, self.L)]
        return max(math.prod(one, start=Fraction(1)) for one in several) if self.largest in several else None

    @property
    def largest(self) -> list[Fraction]:
        """By what each step brings two points nearer at least."""
        return [max(abs(1 - size * self.mu), abs(1 - size * self.L)) for size in self.sizes]

    @property
    def star(self) -> int:
        """Which point is w*: the last one, after w_0 .. w_{T-1} and that at which F is bounded."""
        return self.T + (self.measure != "distance")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(a, b) of the constraints: f_a >= f_b + <c_b, x_a - x_b> + ||c_a - c_b||^2/(2K), those with w* first."""
        star, T = self.star, self.T
        if self.all_pairs:
            joined = [(k, star) for k in range(star)] + list(combinations(range(star), 2))
            return [pair for a, b in joined for pair in ((a, b), (b, a))]
        joined = [(k, k + 1) for k in range(T - 1)] + [(k, T) for k in range(T) if self.measure != "distance"]
        if self.measure == "gap":
            joined += [(s, k) for s in range(0, T, self.tau) for k in range(s + 2, s + self.tau + 1)]
        joined = [(k, star) for k in range(star)] + list(dict.fromkeys(joined))
        return [pair for a, b in joined for pair in ((a, b), (b, a))]


class _Moment(Vector):
    """A mean and deviations from it, of clients: their inner products are summed over the clients, so do not mix."""

    def __matmul__(self, other: Vector) -> Expression:
        parts = [(_part(self, letter), _part(other, letter)) for letter in "md"]
        return Expression.mean((1, 1), [Vector.__matmul__(u, v) for u, v in parts])


def _part(vector: Vector, letter: str) -> Vector:
    return Vector({key: value for key, value in vector.terms.items() if key.letter == letter})


def points(run: Run, number: Any) -> list[Point]:
    """w_0 .. w_{T-1}, then the point at which F is bounded, then w*, with gradients less mu times positions.

    Coordinates are the positions themselves, so that few are not 0: the means m_0 .. m_T, s = grad F_i(w*) as d_0,
    and the deviations d_1 .. d_T after every step, those at a round's end included. m_{T+1} is the mean of s where
    the run is biased; with d_{T+1} it is the gradient where F is bounded.
    """
    T, one = run.T, number(Fraction(1))

    def moment(letter: str, k: int) -> _Moment:
        return _Moment({Symbol(letter, step=k): one})

    def value(k: int) -> Expression:
        return Expression({(Symbol("f", step=k),): one})

    result = []
    for k, size in enumerate(run.sizes):
        x = moment("m", k) + moment("d", k) if k % run.tau else moment("m", k)
        after = moment("m", k + 1) + moment("d", k + 1)
        kept, moved = number((1 - size * run.mu) / size), number(1 / size)
        result.append(Point(str(k), x, kept * x - moved * after, value(k)))
    if run.star > T:
        result.append(Point(str(T), measured(run, number), moment("m", T + 1) + moment("d", T + 1), value(T)))
    slopes = moment("m", T + 1) + moment("d", 0) if run.biased else moment("d", 0)
    return [*result, Point(str(run.star), _Moment(), slopes, Expression())]


def measured(run: Run, number: Any) -> Vector:
    """The point at which the run is measured: w_R, or the mean of w_0 .. w_{T-1}."""
    if run.measure == "average":
        return _Moment(dict.fromkeys((Symbol("m", step=k) for k in range(run.T)), number(Fraction(1, run.T))))
    return _Moment({Symbol("m", step=run.T): number(Fraction(1))})


def program_of(run: Run, number: Any = exact) -> Program:
    """The programme of a run in two blocks, with what bounds it and what is measured as quantities."""
    every, K = points(run, number), number(run.L - run.mu)
    last = run.star + run.biased
    symbols = [Symbol("m", step=k) for k in range(last + 1)] + [Symbol("d", step=k) for k in range(run.star + 1)]
    values = tuple(Symbol("f", step=k) for k in range(run.star))
    constraints = tuple(
        Constraint("interpolation", -1, f"{a}|{b}", interpolation(every[a], every[b], 0 * K, K)) for a, b in run.pairs
    )
    end, zero = measured(run, number), Expression()

    def squared(letter: str, k: int) -> Expression:
        return Vector({Symbol(letter, step=k): number(Fraction(1))}).squared

    quantities = {
        "Delta_0": lambda: squared("m", 0),
        "variance": lambda: squared("d", 0),
        "bias": lambda: squared("m", run.T + 1) if run.biased else zero,
        "measured": lambda: (
            end.squared if run.measure == "distance" else end.squared * number(run.mu / 2) + every[run.T].f
        ),
    }
    return Program(tuple(symbols), values, constraints, quantities, number, apart=True)


def verify(run: Run, a: Fraction, b: Fraction, multipliers: list[Fraction], bias: Fraction = Fraction(0)) -> bool:
    """Whether the multipliers prove a ||w_0||^2 + b V + bias ||mean of s||^2 is at least what is measured.

    In exact arithmetic; V is the weighted variance of the s_i, which is zeta_*^2 where the run is not biased.
    """
    program = program_of(run)
    gap = program.sum({"Delta_0": a, "variance": b, "bias": bias}) - program["measured"]
    labels = dict(zip(program.labels, multipliers, strict=True))
    return verification.verify(program, gap, labels, is_definite)[0]


def above(value: Fraction) -> float:
    """The least float that is not below a fraction: the nearest one may be."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def is_definite(S: list[list[Any]]) -> bool:
    """Whether a rational matrix is seen to be positive definite: what a float factor leaves of it is dominated.

    A factor in floating point of S less a little is squared exactly, and the rest has diagonals that outweigh their
    rows; fractions never grow, as in an exact elimination they do.
    """
    from flint import fmpq_mat, fmpz_mat

    n = len(S)
    if any(S[i][i] <= 0 for i in range(n)):
        return False
    scale = [Fraction(2) ** (-round(math.log2(float(S[i][i].p) / float(S[i][i].q)) / 2)) for i in range(n)]
    scaled = [[S[i][j] * exact(scale[i] * scale[j]) for j in range(n)] for i in range(n)]
    floats = np.array([[float(v.p) / float(v.q) for v in row] for row in scaled])
    for clear in CLEARANCE:
        try:
            factor = np.linalg.cholesky(floats - clear * np.eye(n))
        except np.linalg.LinAlgError:
            continue
        whole = fmpz_mat([[round(Fraction(float(v)) * 2**BITS) for v in row] for row in factor])
        unit: Any = exact(Fraction(1, 4**BITS))
        rest = fmpq_mat(scaled) - fmpq_mat(whole * whole.transpose()) * unit
        return all(2 * rest[i, i] >= sum(abs(rest[i, j]) for j in range(n)) for i in range(n))
    return False
