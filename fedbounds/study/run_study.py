"""The main job: a problem, every weighting on it, every claim examined; one result.

What was asked for is resolved and validated once, before any work: objects in place of names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from fedbounds import plugins
from fedbounds.engine.contracts.problem import admitted
from fedbounds.engine.parallel import each_in_processes
from fedbounds.engine.rng import HashedStream
from fedbounds.engine.simulate import run_in_full
from fedbounds.errors import Interrupted, quoted, reject
from fedbounds.evidence import expectation
from fedbounds.evidence.assumption_checks import judged_on
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.empirical.bands import ComparedBands
from fedbounds.evidence.empirical.decay import Decay, decay_of
from fedbounds.evidence.evaluate import steps_asked
from fedbounds.evidence.judge import judge
from fedbounds.evidence.measured_run import MeasuredRun, Policy, examine_run
from fedbounds.model import Progress
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Problem
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Rule, Weighting, as_weighting
from fedbounds.plugins import modules_from, weighting_named
from fedbounds.study.bounds import gamma_of, speed_and_error_at
from fedbounds.study.identity import versions
from fedbounds.study.objects_from_settings import (
    build_experiment,
    build_problem,
    default_weightings,
    fitting_stride,
    name_checks,
    select_claims,
)
from fedbounds.study.result import Result, Simulated, WeightingRun, facts_of
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Verdict, finite_or_none

S = TypeVar("S")


def check(
    problem: str | Problem | None = None,
    *,
    weightings: Sequence[str | Weighting | Rule] | None = None,
    claims: Sequence[str | Claim] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Examine claims on a federated problem under each weighting, and return a `Result`.

    ``problem`` is a problem's name or a `Problem` of your own; ``weightings`` and ``claims`` are names or
    objects; the other keywords are the fields of `Settings`. Raises InputError for bad settings, for a problem or
    weighting of your own that breaks its contract (`fedbounds.testing.check_problem`, `check_weighting`), and
    DivergedError for a run that left the finite numbers.

    >>> result = check("quadratic", claims="lemma-1", weightings="fedavg", clients=2, rounds=4, replicates=8)
    >>> [str(verdict.status) for _, verdict in result["lemma-1"].verdicts]
    ['HOLDS']
    """
    return run_request(resolve(settings, problem, weightings, claims), progress)


@dataclass(frozen=True)
class Request:
    """A study's ``settings`` and the objects that they stand for.

    ``objects`` names what was given as an object of Python.
    """

    settings: Settings
    problem: Problem
    weightings: tuple[Weighting, ...]
    claims: Mapping[str, Claim]
    policy: Policy
    objects: tuple[str, ...]


def resolve(
    settings: Mapping[str, Any],
    problem: str | Problem | None = None,
    weightings: Sequence[str | Weighting | Rule] | None = None,
    claims: Sequence[str | Claim] | None = None,
) -> Request:
    """The request that `fedbounds.check` is given. Raises InputError for whatever cannot be examined."""
    _require_objects(problem, weightings, claims)
    weightings, claims = _listed(weightings), _listed(claims)
    named = {
        "problem": problem if isinstance(problem, str) else None,
        "weightings": [w if isinstance(w, str) else as_weighting(w).to_text() for w in weightings],
        "claims": [c if isinstance(c, str) else c.key for c in claims],
    }
    chosen = Settings.of({name: value for name, value in named.items() if value not in (None, [])} | dict(settings))
    extra = modules_from(chosen.plugins)
    _check_names(chosen, extra, user_problem=isinstance(problem, Problem))
    policy = Policy(chosen.sigma_sq, chosen.G_sq)
    target = admitted(problem) if isinstance(problem, Problem) else build_problem(chosen, extra)
    chosen = replace(chosen, weightings=chosen.weightings or default_weightings(target.N))
    theorems = select_claims(claims or chosen.claims, extra)
    schemes = [weighting_named(w, extra) if isinstance(w, str) else as_weighting(w) for w in weightings]
    schemes = schemes or [weighting_named(text, extra) for text in chosen.weightings]
    for scheme in schemes:
        # Asked once before any long work, so that k > N is refused at once.
        scheme.bind(target)(target.p, np.ones((1, target.N)), 0, HashedStream(0, [0], 0))
        admitted(target, scheme)
    chosen = replace(chosen, stride=fitting_stride(chosen, build_experiment(chosen, target, schemes[0])))
    objects = ["problem"] if isinstance(problem, Problem) else []
    objects += [f"weighting {as_weighting(item).name}" for item in weightings if not isinstance(item, str)]
    # What is named alone is shipped: then not all claims are loaded.
    shipped = plugins.claims(extra) if any(isinstance(item, Claim) for item in claims) else theorems
    objects += [f"claim {key}" for key, claim in theorems.items() if shipped.get(key) != claim]
    return Request(chosen, target, tuple(schemes), theorems, policy, tuple(objects))


def _require_objects(problem: object, weightings: object, claims: object) -> None:
    """Refuse what is neither a name nor an object, before it fails somewhere else (weightings: `as_weighting`)."""
    if not isinstance(problem, str | Problem | None):
        raise reject("a problem must be a name or a Problem", quoted(problem), 'use for example "least-squares"')
    for name, given in (("weightings", weightings), ("claims", claims)):
        if given is not None and not isinstance(given, str | Sequence):
            raise reject(f"{name} must be a list", quoted(given), f'use for example {name}=["..."]')
    for item in _listed(claims):
        if not isinstance(item, str | Claim):
            raise reject("a claim must be a name or a Claim", quoted(item), "use a key that `fedbounds claims` lists")


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) else list(given or ())


def _check_names(settings: Settings, extra: Sequence[ModuleType], user_problem: bool) -> None:
    """Refuse a name that names nothing, before any work; those given as objects name themselves."""
    for name, test in name_checks(extra).items():
        value = getattr(settings, name)
        if name in ("weightings", "claims") or (user_problem and name in ("problem", "partition")):
            continue
        for text in value if isinstance(value, tuple) else (value,):
            if text is not None:
                test(text)


def run_request(request: Request, progress: Progress | None = None) -> Result:
    """The result of a study with the arrays of its runs, one weighting after the other."""
    ticks = [partial(progress, weighting.name) if progress else None for weighting in request.weightings]
    return _result(request, [run_weighting(request, *pair) for pair in zip(request.weightings, ticks, strict=True)])


def run_condensed(
    request: Request,
    condense: Callable[[WeightingRun], S],
    progress: Progress | None = None,
    processes: int = 1,
) -> tuple[Result, list[S]]:
    """The result of a study without the arrays of its runs, and what ``condense`` makes of each run with them.

    ``processes`` weightings run side by side, where processes can be forked. At Ctrl-C `Interrupted` with both of the
    weightings that were finished.
    """

    def task(weighting: Weighting, tick: Callable[[int, int], None]) -> tuple[WeightingRun, S]:
        run = run_weighting(request, weighting, tick)
        return replace(run, simulated=None), condense(run)

    def tell(k: int, done: int, total: int) -> None:
        if progress is not None:
            progress(request.weightings[k].name, done, total)

    tasks = [partial(task, weighting) for weighting in request.weightings]
    finished: list[tuple[WeightingRun, S]] = []

    def both() -> tuple[Result, list[S]]:
        return _result(request, [run for run, _ in finished]), [made for _, made in finished]

    try:
        finished.extend(each_in_processes(tasks, tell, processes))
    except KeyboardInterrupt:
        if finished:
            raise Interrupted(both()) from None
        raise
    return both()


def _result(request: Request, runs: Sequence[WeightingRun]) -> Result:
    """The result of a study of the first weightings of a request."""
    settings = replace(request.settings, weightings=request.settings.weightings[: len(runs)])
    facts = facts_of(request.problem)
    return Result(facts, settings, tuple(runs), versions(), request.problem, request.claims, request.objects)


def run_weighting(
    request: Request, weighting: Weighting, progress: Callable[[int, int], None] | None = None
) -> WeightingRun:
    """Simulate one weighting, and judge every claim on one measurement a reading."""
    settings, claims = request.settings, request.claims
    experiment = build_experiment(settings, request.problem, weighting)
    trajectory = run_in_full(experiment, progress)
    run_in = _readings(trajectory, request)
    # Claims with the same steps share a run, whose record is let go before the next one is made.
    stepped: dict[bytes, Experiment] = {}
    companions: dict[str, Experiment] = {}
    for claim in claims.values():
        steps = _required_steps(claim, settings, run_in(claim.readings[0]))
        if steps is not None:
            companions[claim.key] = stepped.setdefault(steps.tobytes(), _with_steps(experiment, steps))
    compared: ComparedBands = {}
    result: dict[str, list[Verdict]] = {}
    for other in (None, *stepped.values()):
        seen = run_in if other is None else _readings(run_in_full(other), request)
        for claim in [claim for claim in claims.values() if companions.get(claim.key) is other]:
            names = claim_readings(claim, settings.readings)
            judged = [empirical.Sampled(seen(name), settings.error_rate, compared) for name in names]
            result[claim.key] = [judge(claim, sampled.run.reading, sampled) for sampled in judged]
        del seen
    verdicts = [verdict for claim in claims.values() for verdict in result[claim.key]]
    examined = [
        (claim, companions.get(claim.key, experiment), claim_readings(claim, settings.readings))
        for claim in claims.values()
    ]
    verdicts += expectation.verdicts(examined, request.policy)
    verdicts = [
        replace(verdict, detail=f"run with its own step size {claims[verdict.claim].eta}; {verdict.detail}")
        if verdict.claim in companions
        else verdict
        for verdict in verdicts
    ]
    return WeightingRun(
        weighting=weighting.name,
        **_numbers(run_in("all-steps"), run_in("sync")),
        engine=trajectory.engine,
        constants=run_in("all-steps").constants,
        decay=_decay(trajectory, settings.error_rate),
        verdicts=tuple(verdicts),
        simulated=Simulated(trajectory, compared),
    )


def _readings(trajectory: Trajectory, request: Request) -> Callable[[str], MeasuredRun]:
    """A run in each reading; what that costs is paid once for all claims."""
    return cache(lambda name: examine_run(trajectory, READINGS[name], request.policy))


def _with_steps(experiment: Experiment, steps: np.ndarray) -> Experiment:
    return replace(experiment, eta=lambda t: float(steps[t]))


def _numbers(run: MeasuredRun, synchronised: MeasuredRun) -> dict[str, float | None]:
    """The skews of a run and the two parts of the theory's bound."""
    speed, error = speed_and_error_at({name: constant.value for name, constant in run.constants.items()})
    numbers = {name: run.constants[name].value for name in ("rho_bar", "rho_tilde", "pi_min", "pi_max")}
    numbers |= {"rho_bar_sync": synchronised.constants["rho_bar"].value, "speed": speed, "error": error}
    return {name: finite_or_none(number) for name, number in numbers.items()}


def _decay(trajectory: Trajectory, error_rate: float) -> Decay:
    """How fast the gap falls at the end of a run: what a person asks of O(1/T) before any claim."""
    problem = trajectory.experiment.problem
    gaps = trajectory.paths[READINGS["literal"].virtual].gap
    fixed = not trajectory.experiment.stochastic
    return decay_of(gaps, trajectory.times.astype(float), gamma_of(problem.L, problem.mu), error_rate, fixed)


def claim_readings(claim: Claim, wanted: Sequence[str]) -> list[str]:
    """The readings asked for in which the claim says something of its own (at least one of them)."""
    return [name for name in wanted if name in claim.readings] or [claim.readings[0]]


def _required_steps(claim: Claim, settings: Settings, run: MeasuredRun) -> np.ndarray | None:
    """The step sizes of the run a claim is examined on, where these alone keep it from this one; else None."""
    if claim.eta is None or settings.step != "theory":
        return None
    if {failure.key for failure in judged_on(claim, run).failed} != {OWN_STEPS}:
        return None
    return steps_asked(claim.steps, run.values(), run.trajectory.experiment.total_steps)
