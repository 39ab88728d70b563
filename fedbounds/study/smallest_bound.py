"""The smallest bound on FedAvg that any claim of the ledger proves at given constants, and how to reach a target.

A claim is asked at every tau and every constant step, or at its own decreasing one; what its assumptions do not allow
is left out. A bound on ||w_T - w*||^2 bounds F(w_T) - F* by L/2 times it, one on F(w_T) - F* that by 2/mu times it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any, Literal

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.assumption_checks import fails
from fedbounds.evidence.ball_arithmetic import upper, upward
from fedbounds.evidence.evaluate import Array, evaluate
from fedbounds.evidence.sdp.multi_round.central_path import worst
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.plugins import claims
from fedbounds.study.ledger import Line, ledger
from fedbounds.study.steps import over_steps
from fedbounds.study.worst_case import FACTORS
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import sample_smooth
from fedbounds.theory.claim import Claim, Kind, OwnSteps, Role
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

Measure = Literal["gap", "distance"]
# Local steps a round beyond which none is looked for, unless tau is given.
LARGEST_TAU = 50
# Beyond these a plan is none; the worst case of more steps than these takes minutes.
MOST_ROUNDS, WORST_STEPS, WORST_TAUS = 10**9, 24, (1, 2, 4)
# A constant step is the claim's own up to rounding.
SAME_STEP = 1e-12
# A class of functions is asked about its assumptions at no smaller L/mu: at 1 it has one function, up to shifts.
LEAST_KAPPA = 1.0001
# A class of functions is asked about its assumptions with no more clients: they say nothing of how many there are.
MOST_CLIENTS = 100


@dataclass(frozen=True)
class Given:
    """What is known of a problem and a run of FedAvg in which everybody takes part.

    ``zeta_sq`` bounds sum_i p_i ||grad F_i(w*)||^2, ``p`` are the weights (None: 1/N each), ``tau`` the local steps
    (None: whichever is best), ``assumed`` keys of assumptions that no constant shows.
    """

    L: float
    mu: float
    N: int
    rounds: int
    delta_0: float
    zeta_sq: float
    sigma_sq: float = 0.0
    tau: int | None = None
    p: tuple[float, ...] = ()
    G_sq: float | None = None
    Gamma: float | None = None
    L_sample: float | None = None
    assumed: frozenset[str] = frozenset()
    measure: Measure = "gap"

    def __post_init__(self) -> None:
        sizes = {"L": self.L, "mu": self.mu, "Delta_0": self.delta_0, "zeta_*^2": self.zeta_sq}
        sizes |= {"sigma^2": self.sigma_sq, "G^2": self.G_sq or 0.0, "Gamma": self.Gamma or 0.0}
        for name, value in sizes.items():
            if not (math.isfinite(value) and value >= 0):
                raise reject(f"{name} must be a finite non-negative number", value, f"give another {name}")
        if not 0 < self.mu <= self.L:
            raise reject("constants need 0 < mu <= L", f"mu = {self.mu:g}, L = {self.L:g}", "swap or mend them")
        if self.L_sample is not None and self.L_sample < self.mu:
            raise reject("L_sample is at least mu", self.L_sample, "give the smoothness of every sample's loss")
        for name, count in (("N", self.N), ("rounds", self.rounds), ("tau", 1 if self.tau is None else self.tau)):
            if count < 1:
                raise reject(f"{name} must be at least 1", count, f"set {name} to 1 or more")
        if self.p and (len(self.p) != self.N or min(self.p) <= 0 or not math.isclose(sum(self.p), 1)):
            raise reject("the weights must be N positive numbers that sum to 1", self.p, "mend them")

    @property
    def equal(self) -> bool:
        """Whether every client has the same weight."""
        return len(set(self.p)) < 2

    def constants(self) -> dict[str, float]:
        """The claims' constants, Gamma <= zeta_*^2/(2 mu) where it is not given; the clients draw independently."""
        of_mean = self.sigma_sq * (sum(share**2 for share in self.p) if self.p else 1 / self.N)
        ones = dict.fromkeys(("rho_bar", "rho_tilde", "rho_pairs", "pi_min", "pi_max", "C"), 1.0)
        known = {
            "L": self.L,
            "mu": self.mu,
            "N": float(self.N),
            "p_min": min(self.p, default=1 / self.N),
            "Delta_0": self.delta_0,
            "sigma_sq": self.sigma_sq,
            "sigma_p_sq": of_mean,
            "sigma_opt_sq": of_mean,
            "m": float(self.N) if self.equal else 0.0,
            "sigma_dif_sq": self.zeta_sq + self.sigma_sq,
            "Gamma": self.zeta_sq / (2 * self.mu) if self.Gamma is None else self.Gamma,
        }
        given = {"G_sq": self.G_sq, "L_sample": self.L_sample}
        return known | ones | {name: value for name, value in given.items() if value is not None}

    @property
    def taus(self) -> Array:
        """The local steps to choose from: (n, 1)."""
        return np.arange(1.0, LARGEST_TAU + 1)[:, None] if self.tau is None else np.array([[float(self.tau)]])


@dataclass(frozen=True)
class Offer:
    """A claim's smallest bound, at ``tau`` and ``step`` (None: the steps it states); or ``why`` it gives none.

    ``standing`` is "proved" where a derivation or Rocq proves the claim, "derived" where its proof is text.
    """

    claim: str
    reading: str
    standing: str
    bound: float | None = None
    tau: int | None = None
    step: float | None = None
    steps: str = ""
    rounds: int | None = None
    why: str = ""


def offers(given: Given, extra: Iterable[ModuleType] = ()) -> tuple[Offer, ...]:
    """Every claim on the measure, the smallest bound first, then those that give none."""
    return _ordered(_smallest(line, given) for line in candidates(given.measure, extra))


def plan(given: Given, target: float, extra: Iterable[ModuleType] = ()) -> tuple[Offer, ...]:
    """The rounds after which each claim's bound, at its best tau and step, is at most ``target``; fewest first.

    No smaller power-of-two multiple was enough, and of the rounds between bisection took the least it found.
    """
    if not 0 < target < math.inf:
        raise reject("the target must be a positive number", target, "give for example 0.01")

    def reached(line: Line | Offer) -> Offer:
        return _reached(lambda rounds: _smallest(line, replace(given, rounds=rounds)), target)

    return _ordered(map(reached, candidates(given.measure, extra)))


def _ordered(found: Iterable[Offer]) -> tuple[Offer, ...]:
    def place(one: Offer) -> tuple[float, float, str]:
        return one.rounds or 0, math.inf if one.bound is None else one.bound, one.claim

    return tuple(sorted(found, key=lambda one: (one.bound is None, *place(one))))


def _reached(at: Callable[[int], Offer], target: float) -> Offer:
    """The offer with the fewest rounds found whose bound is at most ``target``."""
    high, found = 1, at(1)
    while not _within(found, target):
        if found.bound is None or high > MOST_ROUNDS:
            least = "" if found.bound is None else f"after {high:.0e} rounds it is still {found.bound:.3g}"
            return replace(found, bound=None, tau=None, step=None, steps="", why=found.why or least)
        high *= 2
        found = at(high)
    fewest = bisect_left(range(high), True, lo=high // 2 + 1, key=lambda rounds: _within(at(rounds), target))
    return replace(at(fewest), rounds=fewest)


def _within(offer: Offer, target: float) -> bool:
    return offer.bound is not None and offer.bound <= target


def assumable(extra: Iterable[ModuleType] = ()) -> frozenset[str]:
    """Keys of the assumptions that no constant shows, nor the class of all smooth and strongly convex functions."""
    asked = (one for claim in claims(extra).values() for one in (*claim.assumptions, *_repairs(claim)))
    return frozenset(one.key for one in asked if not one.parts and one.in_class is None)


def _repairs(claim: Claim) -> tuple[Assumption, ...]:
    return claim.repair.assumptions if claim.repair else ()


def candidates(measure: Measure, extra: Iterable[ModuleType] = ()) -> list[Line | Offer]:
    """The claims on the measure in the reading that stands best; those in none, as an offer that says why not."""
    factors = {symbols.gap, symbols.Delta_T}
    wanted = {k: c for k, c in claims(extra).items() if c.lhs in factors and c.kind is Kind.INEQUALITY}
    lines = ledger(wanted)
    return [_chosen(claim, [line for line in lines if line.claim is claim]) for claim in wanted.values()]


def _chosen(claim: Claim, lines: list[Line]) -> Line | Offer:
    if not claim.on_fedavg:
        return Offer(claim.key, claim.readings[0], "", why=f"it is about {claim.algorithm}")
    known = [line for line in lines if line.reading in claim.readings]
    sound = [line for line in known if not line.under(Status.REFUTED)]
    standing = [line for line in sound if standing_of(line)]
    if standing:
        return min(standing, key=lambda line: standing_of(line) != "proved")
    why = "neither proved nor derived in this package" if sound else "refuted"
    return Offer(claim.key, claim.readings[0], "", why=why)


def standing_of(line: Line) -> str:
    """ "proved" by a derivation or in Rocq, "derived" in text, or nothing."""
    kinds = (Evidence.SYMBOLIC, Evidence.KERNEL)
    if any(verdict.status is Status.HOLDS for kind in kinds for verdict in line.verdicts(kind)):
        return "proved"
    return "derived" if Role.DERIVED in line.claim.roles else ""


def _smallest(line: Line | Offer, given: Given) -> Offer:
    """A claim's smallest bound over tau and constant steps."""
    if isinstance(line, Offer):
        return line
    claim, none = line.claim, Offer(line.claim.key, line.reading, standing_of(line))
    known: dict[str, Any] = {**given.constants(), "tau": given.taus, "T": given.rounds * given.taus}
    lacking = sorted(claim.symbols - {*known, *map(str, claim.definitions), "eta_0", str(claim.lhs)})
    if lacking:
        return replace(none, why=f"needs {', '.join(lacking)}")
    decreasing = claim.steps is not None and claim.steps.has(symbols.t)
    if wrong := _untold(claim, line.reading, given, known):
        return replace(none, why=wrong)

    def bounds(by: Callable[..., Array], tau: Array, **eta: Array) -> Array:
        there = {**known, "tau": tau, "T": given.rounds * tau} | eta
        return _bounds(line, given, there | (_decreasing(claim, there) if decreasing else {}), by)

    if decreasing:
        row = int((bounds(evaluate, given.taus) + 0 * given.taus).argmin())
        value, tau, step = float(bounds(upper, given.taus[row : row + 1]).min()), int(given.taus[row, 0]), None
    else:
        value, tau, step = over_steps(lambda by, tau, eta: bounds(by, tau, eta_0=eta, eta=eta), given.taus, given.L)
    if not math.isfinite(value):
        return replace(none, why="its assumptions allow no step and tau here")
    return replace(none, bound=value, tau=tau, step=step, steps=f"eta_t = {claim.eta}")


def _bounds(line: Line, given: Given, known: Mapping[str, Any], by: Callable[..., Array]) -> Array:
    """The claim's bound as one on the measure; infinite where an assumption fails; numbers are made ``by``."""
    claim, reading = line.claim, READINGS[line.reading]
    with np.errstate(all="ignore"):
        found = by(FACTORS.get((given.measure, claim.lhs), sp.S.One) * claim.sides(reading).rhs, known)
        for one in claim.assumptions_in(reading):
            if isinstance(one, OwnSteps) and "eta_0" in known:
                stated = evaluate(claim.steps, known)
                found = np.where(np.abs(stated - known["eta_0"]) > SAME_STEP * known["eta_0"], np.inf, found)
            for part in () if isinstance(one, OwnSteps) else one.parts:
                found = np.where(fails(part, known, one.tolerance)[0], np.inf, found)
    return np.where(np.isfinite(found), found, np.inf)


def _decreasing(claim: Claim, known: Mapping[str, Any]) -> dict[str, Array]:
    """eta and the largest ratio of two steps of a round, for steps c/(t + b): both largest at the start."""
    first, last = (evaluate(claim.steps, {**known, "t": t}) for t in (0.0, known["tau"] - 1))
    return {"eta": first, "eta_ratio": first / last}


def _untold(claim: Claim, reading: str, given: Given, known: Mapping[str, Any]) -> str:
    """Why it cannot be told from constants that a claim applies, or an empty string."""
    if claim.steps is not None and claim.steps.has(symbols.t):
        slope = sp.diff(1 / claim.steps, symbols.t)
        if slope.has(symbols.t) or not slope.is_positive:
            return f"its steps {claim.eta} are no c/(t + b)"
    values = {"eta", "eta_ratio", *known}
    assumed = given.assumed | ({sample_smooth.key} if given.L_sample is not None else set())
    for one in claim.assumptions_in(READINGS[reading]):
        if isinstance(one, OwnSteps) or (one.key in assumed and not one.parts):
            continue
        if wrong := _said(one, values, given):
            return wrong
    return ""


def _said(one: Assumption, values: set[str], given: Given) -> str:
    """Why an assumption fails, or cannot be told from constants; empty where it holds or depends on tau and step."""
    if one.parts:
        lacking = sorted(one.symbols() - values)
        return f"{one.key} needs {', '.join(lacking)}" if lacking else ""
    if one.in_class is None:
        return f"no constant shows {one.key}: name it if it holds"
    kappa = max(Fraction(given.L) / Fraction(given.mu), Fraction(LEAST_KAPPA)).limit_denominator(10**6)
    holds, found = one.in_class(
        round_setting(clients=min(max(given.N, 2), MOST_CLIENTS), tau=1, kappa=kappa, eta=Fraction(1, 2))
    )
    return "" if holds else f"{one.key}: {found}"


def by_worst_case(given: Given, target: float, extra: Iterable[ModuleType] = ()) -> Offer:
    """The fewest rounds that the certified worst case needs, at the step that a theorem's plan has for each tau.

    Asked of full gradients, whatever the weights, at ``tau`` or each of WORST_TAUS, for WORST_STEPS steps at most.
    """
    none = Offer("worst case", "", "certified")
    factor = Fraction(given.L) / 2 if given.measure == "gap" else Fraction(1)
    if given.sigma_sq or given.mu == given.L or given.N < 2 or not given.delta_0:
        return replace(none, why="it is known for N >= 2, full gradients, mu < L and w_0 not w* only")
    best: Offer | None = None
    for tau in (given.tau,) if given.tau else WORST_TAUS:
        planned = next((one for one in plan(replace(given, tau=tau), target, extra) if one.step is not None), none)
        low, high = 1, min(planned.rounds or 0, WORST_STEPS // tau, best.rounds or 1 if best else WORST_STEPS)
        while low <= high:
            mu, L, eta = map(Fraction, (given.mu, given.L, planned.step or 0.0))
            run = Run((low + high) // 2, tau, mu, L, eta)
            found = worst(run, Fraction(given.delta_0), Fraction(given.zeta_sq))
            bound = math.inf if found is None else upward(factor * Fraction(found.value))
            if found is not None and (found.certified or found.exact) and bound <= target:
                best = replace(planned, claim="worst case", reading="", standing="certified", rounds=run.rounds)
                best, high = replace(best, bound=bound), run.rounds - 1
            else:
                low = run.rounds + 1
    return best or replace(none, why=f"nothing was certified within {WORST_STEPS} steps")
