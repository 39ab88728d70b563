"""What the pictures of a study need, run by run, and the files that `fedbounds check --out` writes.

    series[j].gap                                # (R, K)
    series[j].sides["lemma", "repaired"].rhs # (m,), by claim and reading; only claims that applied are there

``trajectories.npz`` holds ``J.FIELD`` of run J, and the sides of its verdict V as ``J.V.FIELD``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from fedbounds.evidence.empirical.bands import Band
from fedbounds.io import write, write_json
from fedbounds.model.problem import Array
from fedbounds.study.result import Result, WeightingRun
from fedbounds.theory.verdict import Evidence, Status


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
    return tuple(run_series(run) for run in result.runs)


def run_series(run: WeightingRun) -> RunSeries:
    """What the pictures of one run need, while its record is held."""
    trajectory, path = run.trajectory, run.trajectory.paths["alpha"]
    compared = run.simulated.compared if run.simulated else {}
    applied = {
        (verdict.claim, verdict.reading) for verdict in run.verdicts if verdict.status is not Status.NOT_APPLICABLE
    }
    return RunSeries(
        times=trajectory.times.astype(float),
        gap=path.gap,
        distance_sq=path.distance_sq,
        drift=path.drift,
        rho=trajectory.rho(),
        rho_star=trajectory.rho_star(),
        round_times=trajectory.round_times.astype(float),
        alpha=trajectory.alpha,
        sides={key: _sides(*values) for key, values in compared.items() if key in applied},
    )


def _sides(times: Array, lhs: Array, rhs: Array, interval: Band) -> SidesOverTime:
    return SidesOverTime(times.astype(float), lhs, rhs, rhs + interval.lower, rhs + interval.upper)


def _named(j: int, run: WeightingRun, drawn: RunSeries) -> Iterator[tuple[str, Array]]:
    """(name in the file, array) of everything of run ``j``."""
    for name in PLAIN:
        yield f"{j}.{name}", getattr(drawn, name)
    for k, verdict in enumerate(run.verdicts):
        if verdict.evidence is Evidence.EMPIRICAL and (verdict.claim, verdict.reading) in drawn.sides:
            for name in SIDES:
                yield f"{j}.{k}.{name}", getattr(drawn.sides[verdict.claim, verdict.reading], name)
