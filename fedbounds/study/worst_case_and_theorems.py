"""The sandwich: an instance that was run, the certified worst case, and the smallest bound that a theorem proves."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.errors import reject
from fedbounds.evidence.ball_arithmetic import upper
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.sdp.multi_round.bound import upper_bound
from fedbounds.evidence.sdp.multi_round.lower_bound import (
    Attained,
    alike,
    attained,
    experiment,
    in_fractions,
    surely,
    with_noise,
)
from fedbounds.evidence.sdp.multi_round.participation_lower_bound import highest, sampled
from fedbounds.evidence.sdp.multi_round.program import Measure, Run
from fedbounds.evidence.sdp.one_step.coverage import at_setting
from fedbounds.evidence.sdp.one_step.parameters import round_setting, sizes_at
from fedbounds.plugins import claims
from fedbounds.theory import symbols
from fedbounds.theory.assumptions import full_participation
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import average_gap

# What each axis runs over unless values are given; the step in units of 1/L.
CURVES: dict[str, tuple[Fraction, ...]] = {
    "rounds": tuple(map(Fraction, (1, 2, 5, 10, 20))),
    "tau": tuple(map(Fraction, (1, 2, 3, 4, 6, 10))),
    "kappa": tuple(map(Fraction, (2, 5, 10, 20, 50, 100))),
    "step": tuple(Fraction(k, 10) for k in (1, 2, 4, 6, 8, 10)),
}
# What a bound is below the instance by, relatively, before it is refuted: the instance is told in floats.
ROUNDING = 1e-9
# N at which a claim's assumptions are asked, as the table speaks of every N >= 2: a few clients, and more.
CLIENTS = (2, 3, 10)
# What a claim's left side is to be multiplied by to bound a measure.
FACTORS: dict[tuple[Measure, sp.Expr], sp.Expr] = {
    ("distance", symbols.Delta_T): sp.S.One,
    ("distance", symbols.gap): 2 / symbols.mu,
    ("gap", symbols.gap): sp.S.One,
    ("gap", symbols.Delta_T): symbols.L / 2,
    ("average", average_gap): sp.S.One,
    ("average", symbols.T * average_gap): 1 / symbols.T,
}
# A claim's step size is the run's up to rounding; and what G^2 and Gamma of a run may be off by, which is added.
SAME = 1e-12
ROUNDED = 1 + 1e-9
# What a step size may be a formula in.
STEP_SYMBOLS = {"t", "L", "mu", "tau"}


@dataclass(frozen=True)
class Sandwich:
    """What is measured: ``lower`` of a run, ``worst`` over the class, ``bound`` of the claim ``theorem``.

    ``certified`` says whether ``worst`` is proved by multipliers, ``exact`` whether it is a closed form; else it is
    a solver's number, or None where nothing was established. ``gap`` is how far the solver was from the best proof
    (None with noise: not known), and ``seconds`` how long it took. ``above`` says that ``worst`` is a bound which
    these weights need not attain. ``refuted`` are claims whose bounds the run exceeds, with these; ``bound`` is the
    least of the others, which are ``stated``. Where no claim was without them, G^2 and Gamma are the
    ``instance_constants``. ``step`` is the first one.
    """

    rounds: int
    tau: int
    kappa: float
    step: float
    lower: float
    worst: float | None
    certified: bool
    exact: bool
    bound: float | None
    theorem: str | None
    refuted: dict[str, float]
    seconds: float
    above: bool = False
    stated: dict[str, float] = field(default_factory=dict)
    instance_constants: dict[str, float] = field(default_factory=dict)

    @property
    def factor(self) -> float | None:
        """The theorem's bound over the worst case, as far as that is certain: over the instance's value, if not 0."""
        return None if self.bound is None or self.lower == 0 else self.bound / self.lower

    @property
    def mark(self) -> str:
        """What is known of ``worst``, in words."""
        if self.worst is None:
            return "not established"
        return "exact law" if self.exact else "certified"


def sandwich(
    run: Run,
    delta_0: Fraction = Fraction(1),
    zeta_sq: Fraction = Fraction(1),
    extra: Iterable[ModuleType] = (),
    sigma_sq: Fraction = Fraction(0),
) -> Sandwich:
    """All three at one setting; ``extra`` are modules with claims of one's own, ``sigma_sq`` the noise's variance."""
    begun = time.perf_counter()
    random = bool(sigma_sq or run.present)
    result = upper_bound(run, delta_0, zeta_sq, sigma_sq)
    seconds = time.perf_counter() - begun
    instance = attained(replace(run, present=None), float(delta_0), float(zeta_sq))
    stated = bounds(run, delta_0, zeta_sq, extra, sigma_sq=sigma_sq)
    of_instance = (
        {}
        if stated or run.biased or random or run.server != 1
        else _instance_constants(run, instance, float(delta_0))
    )
    stated = stated or bounds(run, delta_0, zeta_sq, extra, of_instance, sigma_sq)
    lower, still = instance.value, 0.0
    if sigma_sq:
        still = float(alike(run, delta_0, sigma_sq * run.shares[0]))
        lower = max(still, with_noise(run, instance, float(sigma_sq)) if len(run.p) in (0, 2) else lower)
    if run.rule is not None:
        lower = in_fractions(run, instance, delta_0, zeta_sq)
    if run.present:
        at = run, float(delta_0), float(zeta_sq), float(sigma_sq)
        lower, still = highest(*at), sampled(*at)[0]
    if any(bound < lower * (1 - ROUNDING) for bound in stated.values()):
        lower = still if run.present else max(surely(run, instance, delta_0, zeta_sq), still)
    refuted = {key: bound for key, bound in stated.items() if bound < lower * (1 - ROUNDING)}
    best = min(stated.keys() - refuted.keys(), key=lambda key: (stated[key], key), default=None)
    return Sandwich(
        run.rounds,
        run.tau,
        float(run.L / run.mu),
        float(run.sizes[0] * run.L),
        lower,
        None if result is None else result.value,
        result is not None and result.certified,
        result is not None and result.exact,
        None if best is None else stated[best],
        best,
        refuted,
        seconds,
        random or result is None or not result.attained,
        {key: bound for key, bound in stated.items() if key not in refuted},
        of_instance if stated else {},
    )


def _instance_constants(run: Run, instance: Attained, delta_0: float) -> dict[str, float]:
    """G^2 and Gamma of the instance's own run."""
    angle, problem = instance.shape[-1], instance.problem
    if problem is None:  # one function on a line, whose gradient is largest at the start
        start = delta_0**0.5
        slope = float(run.mu) * start + float(run.L - run.mu) * min(start, instance.shape[0])
        return {"G_sq": slope**2 * ROUNDED, "Gamma": 0.0}
    ran = simulate(experiment(run, problem, delta_0**0.5 * np.array([np.cos(angle), np.sin(angle)])))
    spread = float(problem.p @ problem.star_excess)
    return {"G_sq": float(ran.grad_sq.max()) * ROUNDED, "Gamma": spread * ROUNDED}


def scheduled(run: Run, claim: Claim) -> Run:
    """The run with the step sizes that a claim is stated for, from its first step on."""
    if claim.steps is None or not {s.name for s in claim.steps.free_symbols} <= STEP_SYMBOLS:
        raise reject(
            f"the step size of {claim.key} must be one in L, mu, tau and t", claim.eta, "choose another claim"
        )
    values = {"L": run.L, "mu": run.mu, "tau": Fraction(run.tau)}
    return replace(run, eta=sizes_at(claim, values, 0, run.T))


def curve(
    run: Run, over: str | None, values: tuple[Fraction, ...] = (), steps: Claim | None = None, **at: Any
) -> Iterator[Sandwich]:
    """The sandwich along an axis of `CURVES`, or without one that of the run alone; at the ``steps`` of a claim."""
    if over is None:
        yield sandwich(run if steps is None else scheduled(run, steps), **at)
        return
    if over not in CURVES:
        raise reject("a curve runs over rounds, tau, kappa or step", over, "name one of these")
    if over == "step" and steps is not None:
        raise reject("a curve over the step has constant steps", steps.key, "leave out --step")
    for value in values or CURVES[over]:
        if over in ("rounds", "tau") and value.denominator != 1:
            raise reject(f"{over} must be a whole number", value, "mend it")
        if over == "kappa":
            there = replace(run, mu=run.L / max(value, Fraction(1)))
        else:
            changed = {"eta": value / run.L} if over == "step" else {over: int(value)}
            there = replace(run, **changed)
        yield sandwich(there if steps is None else scheduled(there, steps), **at)


def bounds(
    run: Run,
    delta_0: Fraction,
    zeta_sq: Fraction,
    extra: Iterable[ModuleType] = (),
    further: Mapping[str, float] | None = None,
    sigma_sq: Fraction = Fraction(0),
) -> dict[str, float]:
    """Claim -> its bound on what is measured, for claims that these constants determine and that apply to the class.

    ``further`` are constants besides. None where the server's weights are not p, its step is not 1 or clients come
    with a probability. Where clients are absent a claim must not assume that all take part.
    """
    if run.biased or run.server != 1 or run.by_coins:
        return {}
    constants: dict[str, float | Fraction] = {"L": run.L, "mu": run.mu, "eta_0": run.sizes[0], "tau": run.tau}
    constants |= {"T": run.T, "Delta_0": delta_0, "eta_sum": sum(run.sizes, Fraction(0)), "growth": 0.0}
    constants |= {"sigma_dif_sq": zeta_sq + sigma_sq, "sigma_p_sq": sigma_sq * run.shares[0]}
    constants |= dict.fromkeys(("sigma_sq", "sigma_0_sq"), sigma_sq)
    constants |= dict.fromkeys(("rho_bar", "rho_tilde", "rho_pairs", "pi_min", "pi_max", "C"), 1.0) | dict(
        further or {}
    )
    if run.present:
        K, N = run.present
        constants = {name: value for name, value in constants.items() if name[:3] not in ("rho", "pi_", "C")}
        constants |= {"C": Fraction(K, N), "N": N} if N else {}
    result = {}
    for claim in claims(extra).values():
        if run.present and full_participation in claim.assumptions_in(READINGS[claim.readings[-1]]):
            continue
        factor = FACTORS.get((run.measure, claim.lhs))
        if factor is None or claim.kind is not Kind.INEQUALITY or not claim.on_fedavg:
            continue
        left = {s.name for s in claim.lhs.free_symbols}
        if claim.symbols <= {*constants, *left, *map(str, claim.definitions)} and _applies(claim, run, constants):
            rhs = factor * claim.sides(READINGS[claim.readings[-1]]).rhs
            result[claim.key] = float(upper(rhs, constants))
    return result


def _applies(claim: Claim, run: Run, constants: Mapping[str, float | Fraction]) -> bool:
    """Whether every assumption of a claim holds on the whole class, at p or at `CLIENTS`, its own steps included."""
    several: list[dict[str, Any]] = [{"p": run.p}] if run.p else [{"clients": N} for N in CLIENTS]
    sizes = [tuple(size * run.L for size in run.sizes[k : k + run.tau]) for k in range(0, run.T, run.tau)]
    settings = [
        replace(round_setting(tau=run.tau, kappa=run.L / run.mu, eta=of_round[0], **clients), eta=of_round)
        for clients in several
        for of_round in dict.fromkeys(sizes)
    ]
    if constants["sigma_sq"]:
        settings = [replace(item, gradients="stochastic", local="any") for item in settings]
    for assumption in claim.assumptions_in(READINGS[claim.readings[-1]]):
        if isinstance(assumption, OwnSteps):
            if not _has_prescribed_steps(claim, run, constants):
                return False
        else:
            answers = (at_setting(assumption, setting) for setting in settings)
            if not all(answer is not None and answer.holds for answer in answers):
                return False
    return True


def _has_prescribed_steps(claim: Claim, run: Run, constants: Mapping[str, float | Fraction]) -> bool:
    """Whether the run's step sizes are those that a claim is stated for."""
    values = {name: float(value) for name, value in constants.items()}
    if claim.steps is None or not {s.name for s in claim.steps.free_symbols} <= {"t", *values}:
        return False
    result = np.broadcast_to(evaluate(claim.steps, {**values, "t": np.arange(run.T, dtype=float)}), run.T)
    return all(
        math.isclose(item, size, rel_tol=SAME) for item, size in zip(result, map(float, run.sizes), strict=True)
    )
