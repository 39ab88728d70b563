"""The field's theorems and algorithms on one problem: bound against measured, and the rounds to a target by both.

Each theorem about ||w_T - w*||^2 or F(w_T) - F* is tried on a run of its own algorithm with its own step size; each
algorithm with the best constant step of `GRID`. The target is a fraction of ||w_0 - w*||^2, which a bound on the gap
reaches through ||w - w*||^2 <= (2/mu) (F(w) - F*).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from fedbounds.engine.record import make_time_grid
from fedbounds.engine.replay import check, run_algorithm
from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, InputError, reject
from fedbounds.evidence.assumption_checks import with_quantities
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.judge import inapplicable
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model import Progress
from fedbounds.model.algorithm import Algorithm
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.schedule import ConstantStep
from fedbounds.model.trajectory import Trajectory, VirtualPath
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import algorithm_named, algorithms, claim_named, modules_from, weighting_named, weightings
from fedbounds.plugins import claims as known_claims
from fedbounds.study.comparison_rows import (
    AlgorithmRow,
    TheoremComparison,
    TheoremRow,
    claim_steps,
    error_curve,
    rounds_to_target,
    stays_from,
)
from fedbounds.study.objects_from_settings import build_experiment, build_problem
from fedbounds.study.result import facts_of
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import FEDAVG, Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_T, gap
from fedbounds.theory.verdict import Status

# Replicates that choose a step, with another seed than the runs that are shown, so that the choice flatters none.
CHOOSERS = 4
# Doublings or halvings of 1/L after which the choice of a step ends.
FARTHEST = 12
DIVERGED = (math.inf, math.inf)
# Runs of an algorithm that a progress bar counts on: a few that choose the step, and those that are shown.
WORK = 6


def compare(
    *, algorithms: Sequence[str] = (), target: float = 0.01, progress: Progress | None = None, **settings: Any
) -> TheoremComparison:
    """Every theorem, and every algorithm or the ``algorithms`` and weightings named, on one problem.

    ``settings`` are those of `check`; ``target`` is the fraction of ||w_0 - w*||^2 to reach. Raises InputError where
    a setting is wrong, a claim asked for is no bound at a horizon, or the run starts at w*.

    >>> compare(problem="quadratic", clients=2, dimension=2, rounds=2, replicates=8, algorithms=["scaffold"]).target
    0.01
    """
    return compare_at(Settings.of(settings), target, algorithms, progress)


def compare_at(
    settings: Settings, target: float = 0.01, wanted: Sequence[str] = (), progress: Progress | None = None
) -> TheoremComparison:
    """`compare` at settings that were read before."""
    if not 0 < target < 1:
        raise reject("the target is a fraction of the start, in (0, 1)", target, "give for example 0.01")
    extra = modules_from(settings.plugins)
    texts = tuple(wanted) or tuple(algorithms(extra))
    kinds = [_rule_named(text, extra) for text in texts]
    claims = _at_a_horizon(settings, extra)
    problem = build_problem(settings, extra)
    base = build_experiment(settings, problem, weighting_named(FEDAVG, extra)).with_(stride=settings.tau)
    start = float(((base.start - problem.w_star) ** 2).sum())
    if start == 0:
        raise reject("a run must start away from w*", "w_0 = w*", "give --w0-scale")
    tell = progress or (lambda *_: None)
    tell("theorems", 0, len(claims) + 1)
    pilot = simulate(base if base.stochastic else base.with_(replicates=1))
    study = _Study(settings, extra, pilot, target * start, {})
    theorems = []
    for k, claim in enumerate(claims):
        tell("theorems", k + 1, len(claims) + 1, claim.key)
        theorems.append(_theorem_row(study, claim))
    rows = (_algorithm_row(study, text, *rule, theorems, tell) for text, rule in zip(texts, kinds, strict=True))
    return TheoremComparison(settings, facts_of(problem), target, tuple(theorems), tuple(rows))


def _rule_named(text: str, extra: Sequence[ModuleType]) -> tuple[Algorithm, Weighting | None]:
    """An algorithm with the clients' shares as weights, or FedAvg under the weighting of that name."""
    try:
        return algorithm_named(text, extra), None
    except InputError as unknown:
        key = text.partition(":")[0]
        if key not in weightings(extra):
            names = ", ".join(weightings(extra))
            raise InputError(f"{unknown} Weightings that can be compared: {names}.") from None
        return algorithm_named(FEDAVG, extra), weighting_named(text, extra)


def _at_a_horizon(settings: Settings, extra: Sequence[ModuleType]) -> list[Claim]:
    """The claims that bound the distance or the gap after T steps; those asked for by name must."""
    candidates = [claim_named(key, extra) for key in settings.claims] or known_claims(extra).values()
    result = [claim for claim in candidates if claim.kind is Kind.INEQUALITY and claim.lhs in (gap, Delta_T)]
    if settings.claims and len(result) < len(settings.claims):
        remedy = "name others, or none for all that do"
        raise reject("claims to compare bound the distance or the gap at T", ", ".join(settings.claims), remedy)
    return result


@dataclass(frozen=True)
class _Study:
    """What all rows share; ``pilot`` is FedAvg with the theory's step, ``level`` the target, ``runs`` are kept."""

    settings: Settings
    extra: Sequence[ModuleType]
    pilot: Trajectory
    level: float
    runs: dict[bytes, Trajectory]

    def experiment(self, algorithm: Algorithm, **changes: object) -> Experiment:
        """The experiment for an algorithm, with one replicate where nothing is random, and with ``changes``."""
        base = self.pilot.experiment
        return base.with_(replicates=self.settings.replicates if self.random(algorithm) else 1, **changes)

    def random(self, algorithm: Algorithm) -> bool:
        return self.pilot.experiment.stochastic or algorithm.tosses


def _theorem_row(study: _Study, claim: Claim) -> TheoremRow:
    """A theorem on a run of its own algorithm and step, in its last reading, the repaired one where it has that."""
    row, reading = TheoremRow(claim.key, claim.algorithm), READINGS[claim.readings[-1]]
    on_fedavg, algorithm = replace(claim, algorithm=FEDAVG), algorithm_named(claim.algorithm, study.extra)
    if not claim.on_fedavg and any(
        symbol.statistic in ("largest", "smallest", "measured") for symbol in claim.computed
    ):
        return replace(row, unmet=f"the paths of {claim.algorithm} are not kept")
    try:
        check(algorithm, study.pilot.experiment)
        pilot = with_quantities(on_fedavg, examine_run(study.pilot, reading))
        if pilot.quantities.lacking:
            return replace(row, unmet=f"no value for {'; '.join(pilot.quantities.why(pilot.quantities.lacking))}")
        eta = claim_steps(on_fedavg, pilot, study.level)
        run = with_quantities(on_fedavg, examine_run(_run(study, claim, algorithm, eta), reading))
        verdict = empirical.examine(on_fedavg, run, study.settings.error_rate)
        unmet = inapplicable(on_fedavg, reading, empirical.Sampled(run))
        if verdict.status is Status.NOT_APPLICABLE or unmet is not None:
            return replace(row, unmet=str(verdict.failed[0]) if verdict.failed else verdict.detail)
        ends = run.trajectory.times % study.settings.tau == 0
        bounds = empirical.compare(on_fedavg, run).rhs.mean(axis=0)[ends]
    except (DivergedError, InputError) as wrong:
        return replace(row, unmet=str(wrong))
    experiment, result = run.trajectory.experiment, run.trajectory.paths["alpha"]
    sure, random = study.settings.error_rate, study.random(algorithm)
    distance = error_curve(result.distance_sq[:, ends], sure, random)
    about = "distance" if claim.lhs == Delta_T else "gap"
    return replace(
        row,
        quantity=about,
        step=f"{eta[0] * experiment.problem.L:.3g}/L" + (", decaying" if np.ptp(eta) > 0 else ""),
        status=verdict.status,
        curve=distance if about == "distance" else error_curve(result.gap[:, ends], sure, random),
        bounds=bounds,
        promised=rounds_to_target(on_fedavg, run, bounds, study.level),
        reached=distance.reached(study.level),
    )


def _run(study: _Study, claim: Claim, algorithm: Algorithm, eta: Array) -> Trajectory:
    """A run with these steps; of another algorithm than FedAvg its distances, and the moments of its gradients.

    FedAvg's is recorded at every step, as a claim on every horizon T speaks of each; another's at the ends of rounds.
    """
    experiment = study.experiment(algorithm, eta=lambda t: float(eta[t]))
    if not claim.on_fedavg:
        return recorded_run(algorithm, experiment, study.pilot, "G_sq" in claim.symbols)
    if eta.tobytes() not in study.runs:
        study.runs[eta.tobytes()] = simulate(experiment.with_(stride=1))
    return study.runs[eta.tobytes()]


def _algorithm_row(
    study: _Study,
    text: str,
    algorithm: Algorithm,
    weighting: Weighting | None,
    theorems: Sequence[TheoremRow],
    tell: Progress,
) -> AlgorithmRow:
    """A rule with its best step, and the fewest rounds that a theorem about it promises; none about a weighting."""
    if weighting is not None:
        experiment = study.pilot.experiment.with_(weighting=weighting)
        study = replace(study, pilot=replace(study.pilot, experiment=experiment))
        theorems = ()
    L = study.pilot.experiment.problem.L
    row = AlgorithmRow(text, central=algorithm.central)
    try:
        check(algorithm, study.pilot.experiment)
        step = _best_step(study, algorithm, partial(tell, text))
        result = run_algorithm(algorithm, study.experiment(algorithm, eta=ConstantStep(step / L)))
    except (DivergedError, InputError) as wrong:
        tell(text, 1, 1)
        return replace(row, refused=str(wrong))
    tell(text, 1, 1)
    line = error_curve(result.distance_sq, study.settings.error_rate, study.random(algorithm))
    applying = (item for item in theorems if item.consistent)
    applying = (item for item in applying if algorithm_named(item.algorithm, study.extra) == algorithm)
    best = min(applying, key=lambda item: math.inf if item.promised is None else item.promised, default=None)
    row = replace(row, step=step, curve=line, reached=line.reached(study.level))
    return row if best is None else replace(row, by=best.claim, promised=best.promised)


def _best_step(study: _Study, algorithm: Algorithm, tell: Progress) -> float:
    """The constant step, in units of 1/L, whose double and half are both worse.

    Better stays at the target from an earlier round on, or where neither does ends nearer to w*.
    """
    base = study.experiment(algorithm, seed=study.settings.seed + 1)
    base = base.with_(replicates=min(base.replicates, CHOOSERS))

    def tried(power: int) -> tuple[float, float]:
        experiment = base.with_(eta=ConstantStep(2.0**power / base.problem.L))
        try:
            mean = run_algorithm(algorithm, experiment).distance_sq.mean(axis=0)
        except DivergedError:
            return DIVERGED
        at = stays_from(mean, study.level)
        return (math.inf, float(mean[-1])) if at is None else (at, float(mean[at]))

    scores = {0: tried(0)}
    at = 0
    for way in (1, -1) if scores[0] != DIVERGED else (-1,):
        while abs(at) < FARTHEST and at + way not in scores:
            tell(min(len(scores), WORK - 1), WORK)
            scores[at + way] = tried(at + way)
            if scores[at + way] < scores[at] or scores[at] == DIVERGED:
                at += way
    return 2.0**at


def recorded_run(algorithm: Algorithm, experiment: Experiment, like: Trajectory, squares: bool) -> Trajectory:
    """A run of any algorithm as a record ``like`` FedAvg's; second moments only if ``squares``, else inf."""
    problem, batch, grid = experiment.problem, experiment.batch_size, make_time_grid(experiment)
    variance, radius = np.zeros(problem.N), np.zeros(1)
    second = np.full(problem.N, 0.0 if squares else np.inf)

    def watch(x: Array) -> None:
        noise = np.zeros(1) if batch is None else problem.client_variance(x, batch, experiment.replacement)
        np.maximum(variance, noise.max(axis=0), out=variance)
        if squares:
            np.maximum(second, (noise + (problem.client_grads(x) ** 2).sum(-1)).max(axis=0), out=second)
        np.maximum(radius, np.sqrt(((x - problem.w_star) ** 2).sum(-1)).max(), out=radius)

    result = run_algorithm(algorithm, experiment, watch)
    path = VirtualPath(result.distance_sq, result.gap, *np.full((3, *result.gap.shape), np.nan))
    extremes = replace(like.extremes, sigma_i_sq=variance[None], G_sq=second.max(keepdims=True), radius=radius)
    return replace(
        like,
        experiment=experiment,
        eta=grid.eta,
        paths={"alpha": path, "p": path},
        extremes=extremes,
        engine=result.engine,
        tosses=algorithm.tosses,
    )
