"""The programmes whose proofs bound R rounds of local gradient descent on N >= 2 clients.

Summed over the clients with weights p_i, the Gram matrix of a run is two blocks: that of their means and that of
their deviations. With c = grad F_i - mu w, the gradient of a convex K-smooth function where K = L - mu, a step is
x <- q x - eta c with q = 1 - eta mu in both blocks, and a new round sets the deviations to 0; at w* = 0 the mean of
c is 0 and the mean square of its deviation zeta_*^2. So there are two matrices of 1 + R tau rows, for every N and p:

    a ||w_0||^2 + b zeta_*^2 - ||w_R||^2 = sum_j lambda_j constraint_j + <S, means> + <S', deviations>.

Where no p_i exceeds 1/2 nothing is lost, as unit vectors u_i of the plane have sum_i p_i u_i = 0; where one does it
is the worst case over all weights. Where the server's weights alpha are not p, the mean g of s_i = grad F_i(w*) is
one more row: ||g||^2 <= chi^2 zeta_*^2 with chi^2 = sum_i (alpha_i - p_i)^2/p_i, and sum_i alpha_i ||s_i||^2 <=
max_i(alpha_i/p_i) zeta_*^2. Where only pi <= alpha_i/p_i <= Pi is known, chi^2 is at most (Pi - 1)(1 - pi), the
variance of a number between pi and Pi with mean 1.
Where F(w) - F* is bounded, w is one more point without deviations; F(w) - F* is (mu/2) ||w||^2 plus a difference of
function values.

Constraints join each point with w* and the points after it, and for F with w and the round's start; leaving the
others out keeps every proof a proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal

from fedbounds.errors import reject
from fedbounds.evidence.sdp.multi_round.participation import Moment, Present, checks, nobody, part, sampling
from fedbounds.evidence.sdp.program import (
    Constraint,
    Expression,
    Point,
    Program,
    Symbol,
    Vector,
    interpolation,
)
from fedbounds.model.weighting import Weighting

# Rows of a block: beyond this a solve takes minutes.
LARGEST = 400
# Steps up to which every interpolation inequality is used: twelve take half a second, twenty half a minute.
ALL_PAIRS = 12
# The condition number of the flattest quadratics that are tried where functions need only be convex.
FLATTEST = 10**6
# ||w_R - w*||^2, F(w_R) - F*, F - F* at the mean of w_0 .. w_{T-1} with those inside rounds, ||grad F(w_R)||^2.
Measure = Literal["distance", "gap", "average", "slope"]
# What is known of the start: ||w_0 - w*||^2 or F(w_0) - F*.
Start = Literal["distance", "gap"]


@dataclass(frozen=True)
class Run:
    """R rounds of tau steps on L-smooth mu-strongly convex clients (convex if mu = 0); equal ones without weights.

    ``eta`` is the size of all steps, or a tuple with that of each. The server averages with ``alpha``; w* minimises
    sum_i p_i F_i and zeta_*^2 = sum_i p_i ||s_i||^2. ``ratios`` = (pi, Pi): alpha may be another in every round with
    pi <= alpha_i/p_i <= Pi, ``alpha`` being one of these; or it is what ``rule`` makes of the losses. ``server`` is
    eta_s: a round moves w by eta_s times the mean move of the clients. ``start``: what Delta_0 is. ``present`` =
    (K, N): each round K of N equal clients take part, drawn without replacement, and N is None where it is any of at
    least max(K, 2); or (q, N), each of N with probability
    q < 1, a `Fraction`, and a round of nobody changes nothing. InputError where it is no run.
    """

    rounds: int
    tau: int
    mu: Fraction
    L: Fraction
    eta: Fraction | tuple[Fraction, ...]
    alpha: tuple[Fraction, ...] = ()
    p: tuple[Fraction, ...] = ()
    ratios: tuple[Fraction, Fraction] | None = None
    rule: Weighting | None = None
    measure: Measure = "distance"
    server: Fraction = Fraction(1)
    present: Present | None = None
    start: Start = "distance"

    def __post_init__(self) -> None:
        for wrong, what, received, remedy in self._checks():
            if wrong:
                raise reject(what, received, remedy)

    def _checks(self) -> Iterator[tuple[bool, str, object, str]]:
        """(whether it is so, what must be, what was received, the remedy) of everything that may be wrong."""
        what = f"rounds and tau must be at least 1, and {LARGEST} steps at most"
        yield min(self.rounds, self.tau) < 1 or self.T > LARGEST, what, self.T, "take fewer"
        classes = f"mu = {self.mu}, L = {self.L}"
        yield not 0 <= self.mu < self.L, "a class of functions needs 0 <= mu < L", classes, "mend them"
        wrong = self.measure == "average" and self.T == 1
        yield wrong, "the mean of the iterates needs two steps", "one step", "take more"
        sizes = self.sizes
        yield len(sizes) != self.T, f"step sizes must be one or {self.T}, one a step", len(sizes), "mend them"
        for size in set(sizes):
            yield not 0 < size * self.L < 2, "gradient descent needs 0 < eta < 2/L", size, "take a smaller step"
        yield self.server <= 0, "the server's step must be positive", self.server, "take 1, which is FedAvg's"
        yield from checks(self.present or (1, None))
        named = {"weights": self.p, f"a server step of {self.server}": self.server != 1}
        named[f"the measure {self.measure}"] = self.measure in ("average", "slope") or self.start == "gap"
        more = " and ".join(name for name, given in named.items() if given)
        what = "with K of N present clients and server's step are plain, and no mean of iterates is measured"
        yield self.present is not None and bool(more), what, more, "leave it out"
        wrong = self.server != 1 and self.measure == "average"
        what = "the mean of the iterates is bounded for a server's step of 1"
        yield wrong, what, self.server, "take another measure"
        alpha, p = (", ".join(map(str, given)) for given in (self.alpha, self.p))
        for name, weights, received in (("alpha", self.alpha, alpha), ("p", self.p, p)):
            wrong = len(self.alpha) != len(self.p) or bool(weights and (min(weights) < 0 or sum(weights) != 1))
            yield wrong, f"{name} must be as many weights >= 0 as clients, with sum 1", received, "mend them"
        wrong = bool(self.p) and (min(self.p) == 0 or len(self.p) == 1)
        yield wrong, "there must be two clients or more, each with p_i > 0", p, "leave out one that has none"
        low, high = self.ratios or (Fraction(0), Fraction(2))
        received = f"{low}..{high}"
        yield not 0 <= low < 1 < high, "ratios alpha_i/p_i lie on both sides of 1, from 0 on", received, "mend them"
        pairs = list(zip(self.alpha, self.p, strict=True))
        wrong = self.ratios is not None and not (pairs and all(low <= a / p <= high for a, p in pairs))
        yield wrong, f"alpha needs p and ratios of {received}", alpha, "mend alpha"
        received = f"the {self.measure} with weights that are not p"
        wrong = self.measure != "distance" and self.biased
        yield wrong, "F is bounded where the server's weights are p", received, "take the measure distance"

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The size of every step."""
        return self.eta if isinstance(self.eta, tuple) else (self.eta,) * self.T

    @property
    def sampling(self) -> Fraction:
        """The variance of the mean of those present, over that of the clients, if there are any."""
        return sampling(self.present)

    @property
    def by_coins(self) -> bool:
        """Whether each client takes part with a probability of its own."""
        return self.present is not None and isinstance(self.present[0], Fraction)

    @property
    def idle(self) -> Fraction:
        """The probability of a round of nobody."""
        return nobody(self.present)

    @property
    def least_curvature(self) -> Fraction:
        """The least curvature of the quadratics of the class that are tried: mu, or almost 0 where mu is 0."""
        return self.mu or self.L / FLATTEST

    @property
    def T(self) -> int:
        """Steps in all."""
        return self.rounds * self.tau

    @property
    def short(self) -> bool:
        """Whether every interpolation inequality is used."""
        return self.T <= ALL_PAIRS

    @property
    def biased(self) -> bool:
        """Whether the server's weights are not p."""
        return self.alpha != self.p or self.ratios is not None

    @property
    def permuted(self) -> bool:
        """Whether all alpha that the ratios allow are means of permutations of this one, with clients of equal p."""
        ratios = {0, *(a / p for a, p in zip(self.alpha, self.p, strict=True))}
        return self.ratios is not None and {*self.ratios} == ratios and len(set(self.p)) == 1

    @property
    def spread(self) -> tuple[Fraction, Fraction]:
        """What (sum_i alpha_i ||s_i||^2, ||mean of s||^2) are at most, over zeta_*^2: (max alpha_i/p_i, chi^2)."""
        if self.ratios is not None:
            return self.ratios[1], (self.ratios[1] - 1) * (1 - self.ratios[0])
        pairs = list(zip(self.alpha, self.p, strict=True))
        ratio = max((a / p for a, p in pairs), default=Fraction(1))
        return ratio, sum(((a - p) ** 2 / p for a, p in pairs), Fraction(0))

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The largest and least sum_i p_i^2: that of the weights, or 1/2 and 0 over every N >= 2."""
        of_weights = sum((p**2 for p in self.p), Fraction(0))
        if self.present is not None and self.present[1] is not None:
            of_weights = Fraction(1, self.present[1])
        return (of_weights, of_weights) if of_weights else (Fraction(1, 2), Fraction(0))

    @property
    def exact(self) -> bool:
        """Whether the two blocks are those of clients with these weights, so that the programme loses nothing."""
        return not self.biased and 2 * max(self.p, default=Fraction(0)) <= 1

    @property
    def contraction(self) -> Fraction | None:
        """By what all steps bring two points nearer, where one quadratic needs that much; else None."""
        if self.server != 1 or self.by_coins:
            return None
        several = [[abs(1 - size * curvature) for size in self.sizes] for curvature in (self.mu, self.L)]
        least = list(map(max, *several))
        return math.prod(least, start=Fraction(1)) if least in several else None

    @property
    def star(self) -> int:
        """Which point is w*: the last one, after w_0 .. w_{T-1} and that at which F is bounded."""
        return self.T + (self.measure != "distance")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(a, b) of the constraints: f_a >= f_b + <c_b, x_a - x_b> + ||c_a - c_b||^2/(2K), those with w* first."""
        star, T = self.star, self.T
        joined = [(k, k + 1) for k in range(T - 1)] + [(k, T) for k in range(T) if self.measure != "distance"]
        if self.measure == "gap":
            joined += [(s, k) for s in range(0, T, self.tau) for k in range(s + 2, s + self.tau + 1)]
        if self.short:
            joined = list(combinations(range(star), 2))
        joined = [(k, star) for k in range(star)] + list(dict.fromkeys(joined))
        return [pair for a, b in joined for pair in ((a, b), (b, a))]


@dataclass(frozen=True)
class Link(Program):
    """A programme with what a potential is of ``before`` it and ``after`` it."""

    before: tuple[Expression, ...] = field(repr=False, kw_only=True)
    after: tuple[Expression, ...] = field(repr=False, kw_only=True)


def gradient_points(run: Run, number: Any, common: bool = False) -> tuple[list[Point], Vector]:
    """(w_0 .. w_{T-1}, then the point at which F is bounded, then w*; w_R), with gradients less mu times positions.

    m_0 is the start, m_{k+1} and d_{k+1} are the gradient of point k, and d_0 is s, which is 0 where the minimiser is
    ``common``. The mean of s is one m more where the run is biased.
    """
    start = x = Moment({Symbol("m", step=0): number(Fraction(1))})
    result, means = list[Point](), list[Moment]()
    for k in range(run.star):
        start = x if k % run.tau == 0 else start
        means.append(part(x, "m"))
        if k == run.T and run.measure == "average":
            x = number(Fraction(1, k)) * Moment.mean([1] * k, means[:-1])
        slope = Moment({Symbol(letter, step=k + 1): number(Fraction(1)) for letter in "md"})
        result.append(Point(str(k), x, slope, Expression({(Symbol("f", step=k),): number(Fraction(1))})))
        if k < run.T:
            x = number(1 - run.sizes[k] * run.mu) * x - number(run.sizes[k]) * slope
        if (k + 1) % run.tau == 0 and k < run.T:
            x = number(1 - run.server) * start + number(run.server) * part(x, "m")
    slopes = Moment({} if common else {Symbol("d", step=0): number(Fraction(1))})
    slopes += Moment({Symbol("m", step=run.star + 1): number(Fraction(1))} if run.biased else {})
    return [*result, Point(str(run.star), Moment(), slopes, Expression())], x


def begun(run: Run, distance_sq: Expression, value: Expression, number: Any) -> Expression:
    """What is known of the start, of its squared distance and the value there."""
    return distance_sq if run.start == "distance" else distance_sq * number(run.mu / 2) + value


def gradient_program(run: Run, number: Any, common: bool = False) -> Link:
    """The programme of a run in two blocks, with what bounds it and what is measured as quantities."""
    every, end = gradient_points(run, number, common)
    K, last = number(run.L - run.mu), run.star + run.biased
    symbols = [Symbol("m", step=k) for k in range(last + 1)]
    symbols += [Symbol("d", step=k) for k in range(common, run.star + 1)]
    constraints = tuple(
        Constraint("interpolation", -1, f"{a}|{b}", interpolation(every[a], every[b], 0 * K, K)) for a, b in run.pairs
    )
    measured = end.squared
    if run.measure == "slope":
        measured = (part(every[run.T].g, "m") + number(run.mu) * part(every[run.T].x, "m")).squared
    elif run.measure != "distance":
        measured = measured * number(run.mu / 2) + every[run.T].f

    start, star = every[0], every[-1]
    before = [begun(run, start.x.squared, start.f, number), part(star.g, "d").squared]
    before += [part(star.g, "m").squared] if run.biased else []
    values = tuple(Symbol("f", step=k) for k in range(run.star))
    return Link(tuple(symbols), values, constraints, {}, number, True, before=tuple(before), after=(measured,))
