"""The bounds without a run: speed, error, value at T and the rounds to reach epsilon, from the claims' own terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.constants import evaluate
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS

# (claim, reading) evaluated, in the order shown.
BOUNDS = (
    ("corollary", "literal"),
    ("corollary", "repaired"),
    ("sharper-corollary", "repaired"),
    ("final-bound", "literal"),
    ("li-2020", "literal"),
)
# eta may be halved at most twice inside a round for Lemma 2's proof (the claims' assumption slow-decay).
SLOW_DECAY = 4


@dataclass(frozen=True)
class BoundValue:
    """One bound speed/(T + gamma) + error; ``rounds_to_epsilon`` is None where never reached or not asked."""

    claim: str
    reading: str
    gamma: float
    speed: float
    error: float
    bound: float
    rounds_to_epsilon: int | None
    step: str

    def to_json(self) -> dict[str, Any]:
        """The value as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Bounds:
    """Every bound that the given constants determine, the constants used, and the conditions that fail."""

    values: tuple[BoundValue, ...]
    constants: Mapping[str, float]
    T: int
    epsilon: float | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The bounds as a JSON object."""
        return {
            "constants": dict(self.constants),
            "T": self.T,
            "epsilon": self.epsilon,
            "bounds": [value.to_json() for value in self.values],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }


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
    rounds: int,
    Delta_0: float | None = None,
    epsilon: float | None = None,
    pi_min: float | None = None,
    p_min: float | None = None,
    N: int | None = None,
) -> Bounds:
    """Evaluate the bounds on E[F(w_T)] - F* at T = rounds * tau for given constants.

    ``Delta_0`` = ||w_0 - w*||^2 is at most G^2/mu^2 where it is not given; the final bound needs
    ``pi_min``, ``p_min`` and ``N``; the bound of Li et al. is for FedAvg, rho_bar = rho_tilde = 1.
    Raises InputError for constants no problem can have.
    """
    from fedbounds.plugins import claims

    constants: dict[str, float] = {
        "L": L,
        "mu": mu,
        "Gamma": Gamma,
        "rho_bar": rho_bar,
        "rho_tilde": rho_tilde,
        "tau": tau,
        "G_sq": G_sq,
        "sigma_sq": sigma_sq,
    }
    _check(constants, rounds, Delta_0, epsilon)
    notes = []
    if Delta_0 is None:
        notes.append("Delta_0 was not given: G^2/mu^2 bounds it (strong convexity and Assumption 4)")
    constants["Delta_0"] = G_sq / mu**2 if Delta_0 is None else Delta_0
    constants |= _final_constants(pi_min, p_min, N)
    if rho_bar == rho_tilde == 1:
        constants["sigma_p_sq"] = sigma_sq
        notes.append("li-2020 takes sigma^2 for sum_i p_i^2 sigma_i^2, which is at most that")
    known, T = claims(), rounds * tau
    wanted = [(known[key], reading) for key, reading in BOUNDS if _determined(known[key], constants)]
    values = tuple(_value(claim, reading, constants, T, tau, epsilon) for claim, reading in wanted)
    return Bounds(values, constants, T, epsilon, tuple(notes), tuple(_warnings(constants, p_min)))


def _final_constants(pi_min: float | None, p_min: float | None, N: int | None) -> dict[str, float]:
    """The constants of the final bound, all three or none."""
    if pi_min is None and p_min is None and N is None:
        return {}
    if pi_min is None or p_min is None or N is None:
        raise reject(
            "the final bound needs pi, min p and N together", f"pi {pi_min}, min p {p_min}, N {N}", "give all three"
        )
    if not (0 < pi_min <= 1 and N >= 1 and 0 < p_min <= 1 / N):
        raise reject("pi must lie in (0, 1] and min p in (0, 1/N]", f"pi {pi_min}, min p {p_min}, N {N}", "mend them")
    return {"pi_min": pi_min, "p_min": p_min, "N": N}


def _determined(claim: Claim, constants: Mapping[str, float]) -> bool:
    """Whether the constants determine a claim (Li et al.'s only under FedAvg's skews)."""
    used = set().union(*(sp.sympify(term).free_symbols for term in claim.terms.values()))
    return {symbol.name for symbol in used} <= {*constants, "gamma", "T"}


def _value(
    claim: Claim, reading: str, constants: Mapping[str, float], T: int, tau: int, epsilon: float | None
) -> BoundValue:
    """Split a bound c/(T + gamma) + error into its parts, and invert it in T."""
    terms = claim.terms_in(READINGS[reading]).values()
    gamma = float(evaluate(claim.definitions[symbols.gamma], constants))
    decaying = sp.Add(*(term for term in terms if symbols.T in term.free_symbols))
    error = float(evaluate(sp.Add(*(term for term in terms if symbols.T not in term.free_symbols)), constants))
    speed = float(evaluate(decaying, {**constants, "T": 0.0})) * gamma
    bound = speed / (T + gamma) + error
    rounds = None if epsilon is None else rounds_to(epsilon, speed, error, gamma, tau)
    return BoundValue(claim.key, reading, gamma, speed, error + 0.0, bound, rounds, f"eta_t = {claim.eta}")


# Powers of the constants beyond this leave the range of floating point.
LARGEST = 1e60
# Nobody waits longer; beyond 2^53 whole numbers are not exact either.
MAX_ROUNDS = 2**53


def rounds_to(epsilon: float, speed: float, error: float, gamma: float, tau: int) -> int | None:
    """The smallest r with speed/(r tau + gamma) + error <= epsilon, or None where no r has it."""
    if speed / gamma + error <= epsilon:
        return 0
    if error >= epsilon:
        return None
    quotient = (speed / (epsilon - error) - gamma) / tau
    if not quotient < MAX_ROUNDS:
        return None
    guess = max(math.ceil(quotient), 0)
    # Rounding may leave the quotient one off; where epsilon - error is itself rounding, it is what it is.
    if speed / (guess * tau + gamma) + error > epsilon:
        return guess + 1
    if guess > 0 and speed / ((guess - 1) * tau + gamma) + error <= epsilon:
        return guess - 1
    return guess


def _check(constants: Mapping[str, float], rounds: int, Delta_0: float | None, epsilon: float | None) -> None:
    for name, value in {**constants, "Delta_0": Delta_0, "epsilon": epsilon}.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise reject(f"{name} must be a finite non-negative number", value, f"give another {name}")
    for name in ("L", "mu"):
        if constants[name] and not 1 / LARGEST <= constants[name] <= LARGEST:
            raise reject(f"{name} must lie in [{1 / LARGEST:g}, {LARGEST:g}]", constants[name], "rescale the losses")
    if not 0 < constants["mu"] <= constants["L"]:
        raise reject(
            "constants need 0 < mu <= L", f"mu = {constants['mu']:g}, L = {constants['L']:g}", "swap or mend them"
        )
    if constants["rho_bar"] <= 0:
        raise reject("rho_bar must be positive, or no bound is finite", constants["rho_bar"], "give rho_bar > 0")
    for name, value in (("tau", constants["tau"]), ("rounds", rounds)):
        if value < 1:
            raise reject(f"{name} must be at least 1", value, f"set {name} to 1 or more")
    if epsilon == 0:
        raise reject("epsilon must be positive", epsilon, "give for example 1e-2")


def _warnings(c: Mapping[str, float], p_min: float | None) -> list[str]:
    """The conditions of the bounds that these constants do not meet."""
    B, gamma = 1 + 3 * c["rho_bar"] / 8, 4 * c["L"] / c["mu"]
    found = []
    if gamma < B:
        found.append(
            f"B = 1 + 3 rho_bar/8 = {B:.4g} exceeds gamma = 4 L/mu = {gamma:.4g}: the literal corollary is unproved"
        )
    if c["rho_tilde"] < c["rho_bar"]:
        found.append("rho_tilde < rho_bar: the literal error term is negative, and so may be the bound")
    ratio = (c["tau"] - 1 + gamma) / gamma
    if ratio > SLOW_DECAY:
        found.append(f"eta shrinks {ratio:.3g}-fold inside a round, over {SLOW_DECAY}: Lemma 2 is unproved there")
    if c["sigma_sq"] > c["G_sq"]:
        found.append("sigma^2 > G^2: a variance cannot exceed its second moment")
    if p_min is not None and max(c["rho_bar"], c["rho_tilde"]) > 1 / p_min:
        found.append(f"a skew exceeds 1/min p = {1 / p_min:.4g}, which no weighting can reach")
    return found
