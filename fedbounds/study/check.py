"""The main job: a problem, every weighting on it, every claim examined; one result."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
import sympy as sp

from fedbounds import plugins
from fedbounds.engine.simulate import simulate
from fedbounds.errors import reject
from fedbounds.evidence import expectation
from fedbounds.evidence.constants import Policy, Run, evaluate, examine_run
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Rule, Weighting, as_weighting
from fedbounds.plugins import load_file, nearest, weighting_named
from fedbounds.study.result import Examined, Result, Simulated, WeightingRun, facts_of
from fedbounds.study.settings import Settings, build_problem, build_step, default_weightings
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Verdict, finite_or_none

Progress = Callable[[str, int, int], None]


def versions() -> dict[str, str]:
    """Versions of what computed a result."""
    names = ("fedbounds", "numpy", "scipy", "numba", "sympy", "scikit-learn")
    found = {name: metadata.version(name) for name in names}
    return {"python": platform.python_version(), **found}


def check(
    problem: str | Problem | None = None,
    *,
    weightings: Sequence[str | Weighting | Rule] | None = None,
    claims: Sequence[str | Claim] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Examine claims on a federated problem under each weighting, and return a `Result`.

    ``problem`` is a problem's name or a `Problem` of one's own; ``weightings`` and ``claims`` are names or
    objects; the other keywords are the fields of `Settings`. Raises InputError for bad settings and
    DivergedError for a run that left the finite numbers.
    """
    names: dict[str, Any] = {
        "problem": problem if isinstance(problem, str) else None,
        "weightings": tuple(w if isinstance(w, str) else as_weighting(w).to_text() for w in weightings)
        if weightings
        else None,
        "claims": tuple(c if isinstance(c, str) else c.key for c in claims) if claims else None,
    }
    try:
        chosen = Settings(**{k: v for k, v in names.items() if v is not None}, **settings)
    except TypeError as wrong:
        raise reject(
            "a setting must be a known name", str(wrong).rpartition("argument ")[2], "see Settings"
        ) from wrong
    extra = [load_file(path) for path in chosen.plugins]
    target = build_problem(chosen, extra) if problem is None or isinstance(problem, str) else problem
    if not chosen.weightings:
        chosen = replace(chosen, weightings=default_weightings(target.N))
    theorems = select_claims(claims or chosen.claims, extra)
    schemes = [
        weighting_named(w, extra) if isinstance(w, str) else as_weighting(w) for w in weightings or chosen.weightings
    ]
    _check_readings(chosen.readings)
    _check_k(schemes, target)
    runs = tuple(
        run_weighting(chosen, target, scheme, theorems, partial(progress, scheme.name) if progress else None)
        for scheme in schemes
    )
    return Result(facts_of(target), chosen, runs, versions(), Examined(target, theorems))


def select_claims(wanted: Sequence[str | Claim], extra: Sequence[Any] = ()) -> dict[str, Claim]:
    """The claims asked for by key or object; all known ones if none is asked for."""
    known = plugins.claims(extra)
    chosen: dict[str, Claim] = {}
    for item in wanted:
        if isinstance(item, Claim):
            chosen[item.key] = item
        elif item in known:
            chosen[item] = known[item]
        else:
            raise nearest("claim", item, known)
    return chosen or known


def _check_readings(names: Sequence[str]) -> None:
    for name in names:
        if name not in READINGS:
            raise nearest("reading", name, READINGS)


def _check_k(schemes: Sequence[Weighting], problem: Problem) -> None:
    """Ask each weighting once before any long work, so that k > N is said at once."""
    for scheme in schemes:
        scheme.bind(problem)(problem.p, np.ones((1, problem.N)), 0, _Zeros())


class _Zeros:
    """A round stream for the trial call: uniforms that are all one half."""

    def uniform(self, count: int) -> Array:
        """(1, count) halves."""
        return np.full((1, count), 0.5)


def run_weighting(
    settings: Settings,
    problem: Problem,
    weighting: Weighting,
    claims: Mapping[str, Claim],
    progress: Callable[[int, int], None] | None = None,
) -> WeightingRun:
    """Simulate one weighting and examine every claim on it in every reading asked for."""
    experiment = make_experiment(settings, problem, weighting)
    trajectory = simulate(experiment, progress)
    policy = make_policy(settings)
    verdicts: list[Verdict] = []
    companions: dict[str, Trajectory] = {}
    for claim in claims.values():
        seen = _own_schedule(claim, settings, trajectory, policy)
        if seen is not trajectory:
            companions[claim.key] = seen
        for name in claim_readings(claim, settings.readings):
            run = examine_run(seen, READINGS[name], policy)
            verdicts.append(empirical.examine(claim, run, settings.error_rate))
    examined = [
        (claim, companions.get(claim.key, trajectory).experiment, claim_readings(claim, settings.readings))
        for claim in claims.values()
    ]
    verdicts += expectation.verdicts(examined, policy)
    verdicts = [
        replace(verdict, detail=f"run with its own step size {claims[verdict.claim].eta}; {verdict.detail}")
        if verdict.claim in companions
        else verdict
        for verdict in verdicts
    ]
    run = examine_run(trajectory, READINGS["all-steps"], policy)
    literal = examine_run(trajectory, READINGS["sync"], policy)
    speed, error = speed_and_error(run)
    return WeightingRun(
        weighting=weighting.name,
        rho_bar=finite_or_none(run.constants["rho_bar"].value),
        rho_bar_sync=finite_or_none(literal.constants["rho_bar"].value),
        rho_tilde=finite_or_none(run.constants["rho_tilde"].value),
        pi_min=finite_or_none(run.constants["pi_min"].value),
        pi_max=finite_or_none(run.constants["pi_max"].value),
        speed=finite_or_none(speed),
        error=finite_or_none(error),
        engine=trajectory.engine,
        constants=run.constants,
        verdicts=tuple(verdicts),
        simulated=Simulated(trajectory, companions),
    )


def claim_readings(claim: Claim, wanted: Sequence[str]) -> list[str]:
    """The readings asked for in which the claim says something of its own (at least one of them)."""
    return [name for name in wanted if name in claim.readings] or [claim.readings[0]]


def make_policy(settings: Settings) -> Policy:
    """How the constants of a study are taken."""
    for name, allowed in (
        ("constants", ("run", "ball", "given")),
        ("moments", ("conditional", "total")),
        ("across", ("worst", "path")),
    ):
        if getattr(settings, name) not in allowed:
            raise reject(f"{name} must be one of {', '.join(allowed)}", getattr(settings, name), "choose one")
    return Policy(
        settings.constants,  # type: ignore[arg-type]
        settings.moments,  # type: ignore[arg-type]
        settings.across,  # type: ignore[arg-type]
        settings.radius,
        settings.sigma_sq,
        settings.G_sq,
    )


def make_experiment(settings: Settings, problem: Problem, weighting: Weighting) -> Experiment:
    """The experiment of a study for one weighting."""
    w0 = None
    if settings.w0_scale:
        direction = np.random.default_rng([settings.seed, 1]).standard_normal(problem.d)
        w0 = settings.w0_scale * direction / np.linalg.norm(direction)
    return Experiment(
        problem=problem,
        weighting=weighting,
        eta=build_step(settings, problem),
        tau=settings.tau,
        rounds=settings.rounds,
        replicates=settings.replicates,
        batch_size=settings.batch,
        replacement=settings.replacement,
        participation=settings.participation,
        w0=w0,
        seed=settings.seed,
        stride=settings.stride,
        aggregation=settings.aggregation,  # type: ignore[arg-type]
        engine=settings.engine,  # type: ignore[arg-type]
    )


def _own_schedule(claim: Claim, settings: Settings, trajectory: Trajectory, policy: Policy) -> Trajectory:
    """The run a claim is examined on: another one, with its own step size, where only that stands in the way."""
    if claim.eta is None or settings.step != "theory":
        return trajectory
    run = examine_run(trajectory, READINGS[claim.readings[0]], policy)
    if not empirical.failed_assumptions(claim, run) or empirical.failed_assumptions(claim, run, ("step-size",)):
        return trajectory
    formula, values = sp.sympify(claim.eta).subs(dict(claim.definitions)), run.values()
    total = trajectory.experiment.total_steps
    table = np.broadcast_to(evaluate(formula, values | {"t": np.arange(total, dtype=float)}), (total,))
    return simulate(replace(trajectory.experiment, eta=lambda t: float(table[t])))


def speed_and_error(run: Run) -> tuple[float, float]:
    """The corollary's speed term V and error term on a run."""
    from fedbounds.claims.corollary import ERROR, GAMMA, SPEED

    values = {name: constant.value for name, constant in run.constants.items()}
    speed = sp.Add(*SPEED.values()).subs(GAMMA)
    return float(evaluate(speed, values)), float(evaluate(ERROR, values))
