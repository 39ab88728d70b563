"""A run of R rounds of local gradient descent on N >= 2 clients, of whom some take part in a round.

Given that k of N take part they are k drawn without replacement, so that only the first two moments of a draw matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Literal

from fedbounds.errors import demand
from fedbounds.model.weighting import Weighting

# Steps of a run: beyond this a solve takes minutes.
LARGEST = 400
# Steps up to which every interpolation inequality is used: twelve take half a second, twenty half a minute.
ALL_PAIRS = 12
# The condition number of the flattest quadratics that are tried where functions need only be convex.
FLATTEST = 10**6
# ||w_R - w*||^2, F(w_R) - F*, F - F* at the mean of w_0 .. w_{T-1} with those inside rounds, ||grad F(w_R)||^2.
Measure = Literal["distance", "gap", "average", "slope"]
# What is known of the start: ||w_0 - w*||^2 or F(w_0) - F*.
Start = Literal["distance", "gap"]
# (K, N), N None where it is any of at least max(K, 2); or (q, N), q < 1 a `Fraction`: each of N with probability q.
Present = tuple[int | Fraction, int | None]


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
        demand(
            min(self.rounds, self.tau) >= 1 and self.T <= LARGEST,
            f"rounds and tau must be at least 1, and {LARGEST} steps at most",
            self.T,
            "take fewer",
        )
        classes = f"mu = {self.mu}, L = {self.L}"
        demand(0 <= self.mu < self.L, "a class of functions needs 0 <= mu < L", classes, "mend them")
        averaged, sizes = self.measure == "average", self.sizes
        demand(not averaged or self.T > 1, "the mean of the iterates needs two steps", "one step", "take more")
        demand(len(sizes) == self.T, f"step sizes must be one or {self.T}, one a step", len(sizes), "mend them")
        for size in set(sizes):
            demand(0 < size * self.L < 2, "gradient descent needs 0 < eta < 2/L", size, "take a smaller step")
        demand(self.server > 0, "the server's step must be positive", self.server, "take 1, which is FedAvg's")
        self._check_present()
        what = "the mean of the iterates is bounded for a server's step of 1"
        demand(self.server == 1 or not averaged, what, self.server, "take another measure")
        self._check_weights()

    def _check_present(self) -> None:
        if self.present is None:
            return
        (K, N), received = self.present, "{} of {}".format(self.present[0], self.present[1] or "any")
        if self.by_coins:
            demand(0 < K < 1 and N and N > 1, "each of N >= 2 has a probability 0 < q < 1", received, "mend them")
        else:
            proper = K >= 1 and (N is None or max(K, 2) <= N)
            demand(proper, "K of N >= 2 clients take part, K >= 1", received, "mend them")
        named = {"weights": self.p, f"a server step of {self.server}": self.server != 1}
        named[f"the measure {self.measure}"] = self.measure in ("average", "slope") or self.start == "gap"
        more = " and ".join(name for name, given in named.items() if given)
        what = "with K of N present clients and server's step are plain, and no mean of iterates is measured"
        demand(not more, what, more, "leave it out")

    def _check_weights(self) -> None:
        alpha, p = (", ".join(map(str, given)) for given in (self.alpha, self.p))
        for name, weights, received in (("alpha", self.alpha, alpha), ("p", self.p, p)):
            proper = len(self.alpha) == len(self.p) and (not weights or (min(weights) >= 0 and sum(weights) == 1))
            demand(proper, f"{name} must be as many weights >= 0 as clients, with sum 1", received, "mend them")
        proper = not self.p or (min(self.p) > 0 and len(self.p) > 1)
        demand(proper, "there must be two clients or more, each with p_i > 0", p, "leave out one that has none")
        if self.ratios is not None:
            (low, high), ratios = self.ratios, [a / p for a, p in zip(self.alpha, self.p, strict=True)]
            what, received = "ratios alpha_i/p_i lie on both sides of 1, from 0 on", f"{low}..{high}"
            demand(0 <= low < 1 < high, what, received, "mend them")
            proper = bool(ratios) and all(low <= ratio <= high for ratio in ratios)
            demand(proper, f"alpha needs p and ratios of {received}", alpha, "mend alpha")
        what, received = (
            "F is bounded where the server's weights are p",
            f"the {self.measure} with weights that are not p",
        )
        demand(self.measure == "distance" or not self.biased, what, received, "take the measure distance")

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The size of every step."""
        return self.eta if isinstance(self.eta, tuple) else (self.eta,) * self.T

    @property
    def by_coins(self) -> bool:
        """Whether each client takes part with a probability of its own."""
        return self.present is not None and isinstance(self.present[0], Fraction)

    @property
    def idle(self) -> Fraction:
        """The probability of a round of nobody, which changes nothing."""
        if self.present is None or not self.by_coins:
            return Fraction(0)
        q, N = self.present
        return Fraction((1 - q) ** (N or 1))

    @cached_property
    def sampling(self) -> Fraction:
        """The variance of the mean of those present, if there are any, over that of the clients.

        It is (N - K)/(K (N - 1)) or its limit, and the mean of that over K.
        """
        if self.present is None:
            return Fraction(0)
        K, N = self.present
        if N is None:
            return 1 / Fraction(K)
        several = {K: Fraction(1)}
        if self.by_coins:
            several = {k: math.comb(N, k) * K**k * (1 - K) ** (N - k) / (1 - self.idle) for k in range(1, N + 1)}
        return sum((share * Fraction(N - k, k * (N - 1)) for k, share in several.items()), Fraction(0))

    @property
    def share_of_noise(self) -> Fraction:
        """The mean of one over the number of those present, if there are any."""
        alone = Fraction(1, self.present[1]) if self.present and self.present[1] else Fraction(0)
        return alone + self.sampling * (1 - alone)

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
