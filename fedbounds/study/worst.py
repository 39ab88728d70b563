"""The sandwich: an instance that was run, the certified worst case, and the smallest bound that a theorem proves."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from fedbounds.errors import reject
from fedbounds.evidence.digits import upper
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.sdp.attained import attained, surely
from fedbounds.evidence.sdp.covered import at_setting
from fedbounds.evidence.sdp.horizon import Run
from fedbounds.evidence.sdp.path import worst
from fedbounds.evidence.sdp.setting import round_setting
from fedbounds.plugins import claims
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.reading import READINGS

# What each axis runs over unless values are given; the step in units of 1/L.
CURVES: dict[str, tuple[Fraction, ...]] = {
    "rounds": tuple(map(Fraction, (1, 2, 5, 10, 20))),
    "tau": tuple(map(Fraction, (1, 2, 3, 4, 6, 10))),
    "kappa": tuple(map(Fraction, (2, 5, 10, 20, 50, 100))),
    "step": tuple(Fraction(k, 10) for k in (1, 2, 4, 6, 8, 10)),
}
# What a bound is below the instance by, relatively, before it is refuted: the instance is told in floats.
ROUNDING = 1e-9
# Where the solver may have been farther than this from the best proof, relatively, the certificate is called loose.
LOOSE = 1e-3
# N at which a claim's assumptions are asked, as the table speaks of every N >= 2: a few clients, and more.
CLIENTS = (2, 3, 10)


@dataclass(frozen=True)
class Sandwich:
    """||w_R - w*||^2: ``lower`` of a run, ``worst`` over the class, ``bound`` of the claim ``theorem`` (None: none).

    ``certified`` says whether ``worst`` is proved by multipliers, ``exact`` whether it is a closed form; else it is a
    solver's number, or None where nothing was established. ``gap`` is how far the solver was from the best proof, and
    ``seconds`` how long it took. ``above`` says that ``worst`` is a bound which these weights need not attain.
    ``refuted`` are claims whose bounds the run exceeds, with these; ``bound`` is the least of the others.
    """

    rounds: int
    tau: int
    kappa: float
    step: float
    lower: float
    worst: float | None
    certified: bool
    exact: bool
    gap: float | None
    bound: float | None
    theorem: str | None
    refuted: dict[str, float]
    seconds: float
    above: bool = False

    @property
    def factor(self) -> float | None:
        """The theorem's bound over the worst case, as far as that is certain: over the instance's value, if not 0."""
        return None if self.bound is None or self.lower == 0 else self.bound / self.lower

    @property
    def mark(self) -> str:
        """What is known of ``worst``, in words."""
        if self.worst is None or self.gap is None:
            return "not established"
        if self.exact or not self.certified:
            return "exact law" if self.exact else "solver's"
        return (
            "certified"
            if self.gap <= LOOSE * self.worst
            else f"certified, loose by {100 * self.gap / self.worst:.3g}%"
        )


def sandwich(
    run: Run, delta_0: Fraction = Fraction(1), zeta_sq: Fraction = Fraction(1), extra: Iterable[ModuleType] = ()
) -> Sandwich:
    """All three at one setting; ``extra`` are modules with claims of one's own."""
    begun = time.perf_counter()
    found = worst(run, delta_0, zeta_sq)
    seconds = time.perf_counter() - begun
    instance, stated = attained(run, float(delta_0), float(zeta_sq)), bounds(run, delta_0, zeta_sq, extra)
    lower = instance.value
    if any(bound < lower * (1 - ROUNDING) for bound in stated.values()):
        lower = surely(run, instance, delta_0, zeta_sq)
    if found is not None and not (found.certified or found.exact) and found.value < lower:
        found = None  # a number that a run exceeds is no worst case
    refuted = {key: bound for key, bound in stated.items() if bound < lower * (1 - ROUNDING)}
    best = min(stated.keys() - refuted.keys(), key=lambda key: (stated[key], key), default=None)
    return Sandwich(
        run.rounds,
        run.tau,
        float(run.L / run.mu),
        float(run.eta * run.L),
        lower,
        None if found is None else found.value,
        found is not None and found.certified,
        found is not None and found.exact,
        None if found is None else found.gap,
        None if best is None else stated[best],
        best,
        refuted,
        seconds,
        not run.exact and zeta_sq != 0,
    )


def curve(run: Run, over: str | None, values: tuple[Fraction, ...] = (), **at: Any) -> Iterator[Sandwich]:
    """The sandwich along an axis of `CURVES`, or without one that of the run alone."""
    if over is None:
        yield sandwich(run, **at)
        return
    if over not in CURVES:
        raise reject("a curve runs over rounds, tau, kappa or step", over, "name one of these")
    for value in values or CURVES[over]:
        if over in ("rounds", "tau") and value.denominator != 1:
            raise reject(f"{over} must be a whole number", value, "mend it")
        if over == "rounds":
            there = replace(run, rounds=int(value))
        elif over == "tau":
            there = replace(run, tau=int(value))
        elif over == "kappa":
            there = replace(run, mu=run.L / max(value, Fraction(1)))
        else:
            there = replace(run, eta=value / run.L)
        yield sandwich(there, **at)


def bounds(run: Run, delta_0: Fraction, zeta_sq: Fraction, extra: Iterable[ModuleType] = ()) -> dict[str, float]:
    """Claim -> its bound on ||w_T - w*||^2, for claims that these constants determine and that apply to the class.

    None where the server's weights are not p: rho_bar and rho_tilde are not among these constants.
    """
    if run.biased:
        return {}
    known: dict[str, float | Fraction] = {"L": run.L, "mu": run.mu, "eta_0": run.eta, "tau": run.tau}
    known |= {"T": run.T, "Delta_0": delta_0, "sigma_dif_sq": zeta_sq}
    known |= dict.fromkeys(("sigma_sq", "sigma_p_sq", "sigma_0_sq", "growth"), 0.0)
    wanted = (
        claim for claim in claims(extra).values() if claim.lhs == symbols.Delta_T and claim.kind is Kind.INEQUALITY
    )
    return {
        claim.key: float(upper(claim.sides(READINGS[claim.readings[0]]).rhs, known))
        for claim in wanted
        if claim.symbols <= {*known, "Delta_T", *map(str, claim.definitions)} and _applies(claim, run, known)
    }


def _applies(claim: Claim, run: Run, known: Mapping[str, float | Fraction]) -> bool:
    """Whether every assumption of a claim holds on the whole class, at p or at `CLIENTS`, its own step included."""
    kappa, eta = run.L / run.mu, run.eta * run.L
    several: list[dict[str, Any]] = [{"p": run.p}] if run.p else [{"clients": N} for N in CLIENTS]
    settings = [round_setting(tau=run.tau, kappa=kappa, eta=eta, **clients) for clients in several]
    for assumption in claim.assumptions_in(READINGS[claim.readings[0]]):
        if isinstance(assumption, OwnSteps):
            if (
                claim.steps is None
                or claim.steps.has(symbols.t)
                or evaluate(claim.steps, {k: float(v) for k, v in known.items()}) != float(run.eta)
            ):
                return False
        else:
            answers = (at_setting(assumption, setting) for setting in settings)
            if not all(answer is not None and answer.holds for answer in answers):
                return False
    return True
