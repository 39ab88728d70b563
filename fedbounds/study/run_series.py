"""What the pictures of a study need, run by run, and the files that `fedbounds check --out` writes.

    series[j].gap                                # (R, K)
    series[j].sides["lemma", "repaired"].rhs # (m,), by claim and reading; only claims that applied are there

``trajectories.npz`` holds ``J.FIELD`` of run J, and the sides of its verdict V as ``J.V.FIELD``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.empirical.bands import Band
from fedbounds.evidence.measured_run import Policy, examine_run
from fedbounds.io import write, write_json
from fedbounds.model.problem import Array
from fedbounds.study.result import Result, WeightingRun
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict


@dataclass(frozen=True)
class SidesOverTime:
    """Both sides of a claim along ``t``, all (m,): the means ``lhs`` and ``rhs``, and a band of the left side.

    ``lower`` and ``upper`` are the right side plus the simultaneous band of the paired difference: they cross
    the right side where, and only where, the verdict is open.
    """

    t: Array
    lhs: Array
    rhs: Array
    lower: Array
    upper: Array


@dataclass(frozen=True)
class RunSeries:
    """What the pictures of a run need: K recorded times, r rounds, R replicates, N clients.

    ``times`` (K,), ``round_times`` (r,), ``gap``, ``distance_sq``, ``drift``, ``rho``, ``rho_star`` (R, K),
    ``alpha`` (R, r, N); ``sides`` of each (claim, reading) over steps or horizons that applied.
    """

    times: Array
    gap: Array
    distance_sq: Array
    drift: Array
    rho: Array
    rho_star: Array
    round_times: Array
    alpha: Array
    sides: Mapping[tuple[str, str], SidesOverTime]


PLAIN = tuple(item.name for item in fields(RunSeries) if item.name != "sides")
SIDES = tuple(item.name for item in fields(SidesOverTime))


def write_study(result: Result, drawn: Sequence[RunSeries], out: str | Path) -> Path:
    """Write ``result.json`` and ``trajectories.npz`` under ``out``, and return that folder."""
    write_json(Path(out) / "result.json", result.to_json())
    named = {name: value for j, run in enumerate(result.runs) for name, value in _named(j, run, drawn[j])}
    write(Path(out) / "trajectories.npz", lambda file: np.savez_compressed(file, allow_pickle=False, **named))
    return Path(out)


def series(result: Result) -> tuple[RunSeries, ...]:
    """What the pictures of a fresh result need, one `RunSeries` a run."""
    return tuple(run_series(run, result.claims, result.settings) for run in result.runs)


def run_series(run: WeightingRun, claims: Mapping[str, Claim], settings: Settings) -> RunSeries:
    """What the pictures of one run need, while its record is held."""
    trajectory, path = run.trajectory, run.trajectory.paths["alpha"]
    applied = (verdict for verdict in run.verdicts if _has_sides(claims[verdict.claim], verdict))
    return RunSeries(
        times=trajectory.times.astype(float),
        gap=path.gap,
        distance_sq=path.distance_sq,
        drift=path.drift,
        rho=trajectory.rho(),
        rho_star=trajectory.rho_star(),
        round_times=trajectory.round_times.astype(float),
        alpha=trajectory.alpha,
        sides={
            (verdict.claim, verdict.reading): _sides(run, claims[verdict.claim], settings, verdict)
            for verdict in applied
        },
    )


def _has_sides(claim: Claim, verdict: Verdict) -> bool:
    """Whether a verdict is about two sides along t; other evidence has the same sides without a band."""
    along = claim.scope in ("step", "horizon") and bool(claim.rhs) and verdict.detail != empirical.NOT_LINEAR
    along = along and (verdict.status in (Status.HOLDS, Status.REFUTED) or not claim.computed)
    return along and verdict.evidence is Evidence.EMPIRICAL and verdict.status is not Status.NOT_APPLICABLE


def _sides(run: WeightingRun, claim: Claim, settings: Settings, verdict: Verdict) -> SidesOverTime:
    compared = run.simulated.compared if run.simulated else {}
    values = compared.get((verdict.claim, verdict.reading))
    # One that was undecided before its sides were looked at has not been compared.
    times, lhs, rhs, interval = values or _compared(run, claim, settings, verdict)
    return SidesOverTime(times.astype(float), lhs, rhs, rhs + interval.lower, rhs + interval.upper)


def _compared(
    run: WeightingRun, claim: Claim, settings: Settings, verdict: Verdict
) -> tuple[Array, Array, Array, Band]:
    companion = run.simulated.companions.get(claim.key) if run.simulated else None
    trajectory = run.trajectory
    if companion is not None:  # its record was not held
        trajectory = simulate(companion)
    examined = examine_run(trajectory, READINGS[verdict.reading], Policy(settings.sigma_sq, settings.G_sq))
    sides = empirical.compare(claim, examined)
    sides = sides.at(sides.defined)
    certain = empirical.known_columns(claim, examined, sides.times)
    return sides.times, *sides.means, sides.band(settings.error_rate, certain)


def _named(j: int, run: WeightingRun, drawn: RunSeries) -> Iterator[tuple[str, Array]]:
    """(name in the file, array) of everything of run ``j``."""
    for name in PLAIN:
        yield f"{j}.{name}", getattr(drawn, name)
    for k, verdict in enumerate(run.verdicts):
        if verdict.evidence is Evidence.EMPIRICAL and (verdict.claim, verdict.reading) in drawn.sides:
            for name in SIDES:
                yield f"{j}.{k}.{name}", getattr(drawn.sides[verdict.claim, verdict.reading], name)
