"""The theory's bounds at given constants, without a run: speed, error, the value at T, the rounds to epsilon.

Speed V and error E are the coefficients of the corollary's bound V/(T + gamma) + E. They are read off the claims' own
terms, so a formula stands only in its claim.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.assumption_checks import in_floats
from fedbounds.evidence.evaluate import evaluate
from fedbounds.model.problem import Problem
from fedbounds.theory import symbols
from fedbounds.theory.assumptions import slow_decay
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.reading import READINGS, Reading

# Powers of L and mu beyond this leave the range of floating point.
LARGEST = 1e60
# Beyond 2^53 whole numbers are not exact in floating point.
MAX_ROUNDS = 2**53


@dataclass(frozen=True)
class BoundValue:
    """One bound speed/(T + gamma) + error; ``rounds_to_epsilon`` is None where it is never reached or not wanted."""

    claim: str
    reading: str
    gamma: float
    speed: float
    error: float
    bound: float
    rounds_to_epsilon: int | None
    step: str


@dataclass(frozen=True)
class Bounds:
    """Every bound that the constants determine, the constants used, and the conditions that fail."""

    values: tuple[BoundValue, ...]
    constants: Mapping[str, float]
    T: int
    epsilon: float | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON has them; ``values`` under the name "bounds"."""
        fields = asdict(self)
        return {"bounds": fields.pop("values")} | fields


def bounds(
    *,
    L: float,
    mu: float,
    Gamma: float,
    rho_bar: float,
    rho_tilde: float,
    tau: int,
    G_sq: float,
    sigma_sq: float,
    rounds: int = 200,
    Delta_0: float | None = None,
    epsilon: float | None = None,
    pi_min: float | None = None,
    p_min: float | None = None,
    N: int | None = None,
) -> Bounds:
    """Evaluate the bounds on E[F(w_T)] - F* at T = rounds * tau for given constants.

    The bound of Li et al. is for FedAvg, rho_bar = rho_tilde = 1. InputError for constants that no problem has.

    L: Smoothness constant of every F_i.
    mu: Strong-convexity constant of every F_i.
    Gamma: Heterogeneity F* - sum_i p_i F_i*.
    rho_bar: Smallest skew rho(t, w_t).
    rho_tilde: Largest skew rho(t, w*).
    tau: Local steps a round.
    G_sq: Bound on the second moment of gradients.
    sigma_sq: Bound on the variance of gradients.
    rounds: Rounds; T = rounds * tau.
    Delta_0: ||w_0 - w*||^2 (default: its bound G^2/mu^2).
    epsilon: Also give the rounds after which the bound is at most EPSILON.
    pi_min: Smallest alpha_i/p_i, for the final bound.
    p_min: Smallest p_i, for the final bound.
    N: Number of clients, for the final bound.

    >>> found = bounds(L=10, mu=1, Gamma=0.5, rho_bar=1, rho_tilde=1, tau=5, G_sq=4, sigma_sq=1, rounds=200)
    >>> found.T
    1000
    """
    from fedbounds.plugins import with_role

    sizes = {"Gamma": Gamma, "rho_bar": rho_bar, "rho_tilde": rho_tilde, "G_sq": G_sq, "sigma_sq": sigma_sq}
    _require_constants(L, mu, sizes | {"Delta_0": Delta_0, "epsilon": epsilon}, {"tau": tau, "rounds": rounds})
    constants = {"L": L, "mu": mu, **sizes, "tau": tau, "Delta_0": G_sq / mu**2 if Delta_0 is None else Delta_0}
    constants |= _final_constants(pi_min, p_min, N)
    notes = []
    if Delta_0 is None:
        notes.append("Delta_0 was not given: G^2/mu^2 bounds it (strong convexity and Assumption 4)")
    if rho_bar == rho_tilde == 1:
        constants["sigma_p_sq"] = sigma_sq
        notes.append("li-2020 takes sigma^2 for sum_i p_i^2 sigma_i^2, which is at most that")
    T = rounds * tau
    determined = [c for c in with_role(Role.BOUND) if c.symbols <= {*constants, "gap", "gamma", "T"}]
    values = tuple(_value(c, name, constants, T, tau, epsilon) for c in determined for name in distinct_readings(c))
    return Bounds(values, constants, T, epsilon, tuple(notes), tuple(_warnings(constants, p_min)))


def constants_of(problem: Problem) -> dict[str, float]:
    """L, mu, Gamma, ||w_0 - w*||^2 from the origin, N and the smallest weight of a problem."""
    values = {"L": problem.L, "mu": problem.mu, "Gamma": problem.Gamma.value, "N": problem.N}
    return values | {"Delta_0": float((problem.w_star**2).sum()), "p_min": float(problem.p.min())}


def _require_constants(L: float, mu: float, sizes: Mapping[str, float | None], counts: Mapping[str, int]) -> None:
    """Refuse what no problem has: 0 < mu <= L, every value is finite and not negative, every count at least 1."""
    for name, value in {"L": L, "mu": mu, **sizes}.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise reject(f"{name} must be a finite non-negative number", value, f"give another {name}")
        if name in ("rho_bar", "epsilon") and value == 0:
            raise reject(f"{name} must be positive", value, f"give {name} > 0")
    for name, count in counts.items():
        if count < 1:
            raise reject(f"{name} must be at least 1", count, f"set {name} to 1 or more")
    if not 0 < mu <= L:
        raise reject("constants need 0 < mu <= L", f"mu = {mu:g}, L = {L:g}", "swap or change them")
    for name, value in (("L", L), ("mu", mu)):
        if not 1 / LARGEST <= value <= LARGEST:
            raise reject(f"{name} must lie in [{1 / LARGEST:g}, {LARGEST:g}]", value, "rescale the losses")


def _final_constants(pi_min: float | None, p_min: float | None, N: int | None) -> dict[str, float]:
    """The constants of the final bound, all three or none."""
    received = f"pi {pi_min}, min p {p_min}, N {N}"
    if pi_min is None and p_min is None and N is None:
        return {}
    if pi_min is None or p_min is None or N is None:
        raise reject("the final bound needs pi, min p and N together", received, "give all three")
    if not (0 < pi_min <= 1 and N >= 1 and 0 < p_min <= 1 / N):
        raise reject("pi must lie in (0, 1] and min p in (0, 1/N]", received, "change them")
    return {"pi_min": pi_min, "p_min": p_min, "N": N}


def distinct_readings(claim: Claim) -> list[str]:
    """The readings of a claim whose right-hand side differs from that of those before."""
    first: dict[sp.Expr, str] = {}
    for name in claim.readings:
        first.setdefault(claim.sides(READINGS[name]).rhs, name)
    return list(first.values())


@cache
def main_bound() -> Claim:
    """The bound of the theory under study: a study reports its parts, and its step size is the theory's."""
    from fedbounds.plugins import with_role

    return with_role(Role.MAIN)[0]


def gamma_of(L: float, mu: float) -> float:
    """gamma of the theory's step size 1/(mu (t + gamma))."""
    return float(evaluate(main_bound().definitions[symbols.gamma], {"L": L, "mu": mu}))


def speed_and_error(claim: Claim, reading: Reading) -> tuple[sp.Expr, sp.Expr]:
    """(V, E) of a bound V/(T + gamma) + E, as formulas of constants."""
    gamma, terms = claim.definitions[symbols.gamma], claim.sides(reading).terms.values()
    speed = sp.Add(*(term * (symbols.T + gamma) for term in terms if term.has(symbols.T)))
    return speed, sp.Add(*(term for term in terms if not term.has(symbols.T)))


def speed_and_error_at(constants: Mapping[str, float]) -> tuple[float, float]:
    """(V, E) of the theory's bound, as stated, at the constants of a run."""
    main = main_bound()
    speed, error = (evaluate(part, constants) for part in speed_and_error(main, READINGS[main.readings[0]]))
    return float(speed), float(error)


def _value(
    claim: Claim, reading: str, constants: Mapping[str, float], T: int, tau: int, epsilon: float | None
) -> BoundValue:
    gamma = float(evaluate(claim.definitions[symbols.gamma], constants))
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is refused below
        speed, error = (float(evaluate(part, constants)) for part in speed_and_error(claim, READINGS[reading]))
    bound = speed / (T + gamma) + error
    if not math.isfinite(bound):
        raise reject(
            f"the bound of {claim.key} must be a number", f"{bound} at these constants", "rescale the losses"
        )
    rounds = None if epsilon is None else rounds_to(epsilon, speed, error, gamma, tau)
    return BoundValue(claim.key, reading, gamma, speed, error + 0.0, bound, rounds, f"eta_t = {claim.eta}")


def rounds_to(epsilon: float, speed: float, error: float, gamma: float, tau: int) -> int | None:
    """The smallest r with speed/(r tau + gamma) + error <= epsilon, or None where no r has it."""
    if speed > 0 and error >= epsilon:
        return None

    def reached(rounds: int) -> bool:
        return speed / (rounds * tau + gamma) + error <= epsilon

    return bisect_left(range(MAX_ROUNDS), True, key=reached) if reached(MAX_ROUNDS - 1) else None


def _warnings(c: Mapping[str, float], p_min: float | None) -> list[str]:
    """The conditions of the bounds that these constants do not meet."""
    warnings, main = [], main_bound()
    for symbol, allowed in main.repair.substitutions.items() if main.repair else ():
        given, value = c[symbol.name], float(evaluate(allowed.subs(dict(main.definitions)), c))
        if value != given:
            words = f"{symbol} = {given:.4g}, where the repaired {main.short} puts {value:.4g}"
            warnings.append(f"{words}: its literal form is unproved")
    first, last = (float(evaluate(main.steps, {**c, "t": t})) for t in (0.0, c["tau"] - 1))
    decay = in_floats(slow_decay, {"eta_ratio": first / last})
    if decay is not None and not decay.holds:
        warnings.append(f"{decay.observed}, so that no claim that assumes {slow_decay.key} applies")
    if c["sigma_sq"] > c["G_sq"]:
        warnings.append("sigma^2 > G^2: a variance cannot exceed its second moment")
    if p_min is not None and max(c["rho_bar"], c["rho_tilde"]) > 1 / p_min:
        warnings.append(f"a skew exceeds 1/min p = {1 / p_min:.4g}, which no weighting can reach")
    return warnings
