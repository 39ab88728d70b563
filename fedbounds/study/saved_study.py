"""A study on disk: ``result.json`` for people and machines, ``trajectories.npz`` for redrawing the pictures.

    result, series = store.read(folder)          # a Result and one RunSeries a run, in the order of result.runs
    series[j].gap                                # (R, K)
    series[j].sides["lemma", "repaired"].rhs # (m,), by claim and reading; only claims that applied are there

Arrays are saved as ``J.FIELD``, and the sides of verdict V of run J as ``J.V.FIELD``, so that no name of a claim is
ever taken apart. ``study`` is the SHA-256 of the result.json they belong to.
"""

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError, of_kind, reject
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.empirical.bands import Band
from fedbounds.evidence.run_constants import examine_run
from fedbounds.io import json_text, parse_json, read_bytes, write, write_text
from fedbounds.model.problem import Array
from fedbounds.study.objects_from_settings import build_policy
from fedbounds.study.result import NAME, Result, WeightingRun
from fedbounds.study.settings import Settings
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

FILES = RESULT, TRAJECTORIES = NAME, "trajectories.npz"
# Bytes of arrays that a study may have saved: 10^4 replicates of 10^4 steps are 6 GB before they are compressed.
LARGEST = 2**34


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


def save(result: Result, out: str | Path) -> Path:
    """Write ``result.json`` and ``trajectories.npz`` under ``out``, and return that folder.

    >>> found = check("quadratic", claims="lemma-1", weightings="fedavg", clients=2, rounds=2, replicates=8)
    >>> sorted(path.name for path in save(found, "study").iterdir())
    ['result.json', 'trajectories.npz']
    """
    of_kind("what is saved", result, Result, "the Result of a check")
    return keep(result, series(result), out)


def keep(result: Result, drawn: Sequence[RunSeries], out: str | Path) -> Path:
    """Write a result and its arrays under ``out``; a kill between the two files is noticed by `read`."""
    out = Path(out)
    text = json_text(result.to_json())
    digest = np.array(hashlib.sha256(text.encode()).hexdigest())
    named = {name: value for j, run in enumerate(result.runs) for name, value in _named(j, run, drawn[j])}
    write(out / TRAJECTORIES, lambda file: np.savez_compressed(file, allow_pickle=False, study=digest, **named))
    write_text(out / RESULT, text)
    return out


def read(out: str | Path) -> tuple[Result, tuple[RunSeries, ...]]:
    """The saved study in a folder; InputError where a file is missing, damaged, or of another study."""
    out = Path(out)
    text, packed = read_bytes(out / RESULT), read_bytes(out / TRAJECTORIES, LARGEST)
    result = Result.from_json(parse_json(text, RESULT))
    remedy = "run check --out again"
    try:
        with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
            if str(arrays["study"]) != hashlib.sha256(text).hexdigest():
                raise reject(f"{TRAJECTORIES} must belong to {RESULT} beside it", "those of another study", remedy)
            return result, tuple(_opened(j, run, arrays) for j, run in enumerate(result.runs))
    except InputError:
        raise
    except Exception as wrong:  # numpy and zipfile raise a dozen kinds at a file that was cut short or changed
        message = f"{type(wrong).__name__}: {wrong}"
        raise reject(f"{TRAJECTORIES} must hold the arrays of {RESULT}", message, remedy) from None


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
        trajectory = simulate(companion, statistics="streamed" if trajectory.streamed else "stored")
    examined = examine_run(trajectory, READINGS[verdict.reading], build_policy(settings))
    sides = empirical.compare(claim, examined)
    sides = sides.at(sides.defined)
    certain = empirical.known_columns(claim, examined, sides.times)
    return sides.times, *sides.means, sides.band(settings.error_rate, certain)


def _named(j: int, run: WeightingRun, drawn: RunSeries) -> Iterator[tuple[str, Array]]:
    """(name in the file, array) of everything of run ``j``."""
    for name in PLAIN:
        yield f"{j}.{name}", getattr(drawn, name)
    for k, sides in _numbered_sides(run, drawn.sides):
        for name in SIDES:
            yield f"{j}.{k}.{name}", getattr(sides, name)


def _numbered_sides(
    run: WeightingRun, sides: Mapping[tuple[str, str], SidesOverTime]
) -> Iterator[tuple[int, SidesOverTime]]:
    """The sides with the number of the empirical verdict that they belong to."""
    for k, verdict in enumerate(run.verdicts):
        if verdict.evidence is Evidence.EMPIRICAL and (verdict.claim, verdict.reading) in sides:
            yield k, sides[verdict.claim, verdict.reading]


def _opened(j: int, run: WeightingRun, arrays: Mapping[str, Array]) -> RunSeries:
    """The arrays of run ``j``, whose shapes must fit together."""
    sides = {
        (verdict.claim, verdict.reading): SidesOverTime(*(_floats(arrays[f"{j}.{k}.{name}"], 1) for name in SIDES))
        for k, verdict in enumerate(run.verdicts)
        if f"{j}.{k}.t" in arrays
    }
    dimensions = {"times": 1, "round_times": 1, "alpha": 3}
    made = {name: _floats(arrays[f"{j}.{name}"], dimensions.get(name, 2)) for name in PLAIN}
    result = RunSeries(**made, sides=sides)
    paths = {getattr(result, name).shape for name in ("gap", "distance_sq", "drift", "rho", "rho_star")}
    replicates, rounds = len(result.gap), len(result.round_times)
    if paths != {(replicates, len(result.times))} or result.alpha.shape[:2] != (replicates, rounds):
        raise ValueError(f"the arrays of run {j} differ in length")
    if any(len({len(getattr(item, name)) for name in SIDES}) > 1 for item in sides.values()):
        raise ValueError(f"the sides of run {j} differ in length")
    return result


def _floats(array: Array, dimensions: int) -> Array:
    if array.dtype != np.float64 or array.ndim != dimensions:
        raise ValueError(f"an array of {array.dtype} with {array.ndim} axes in place of {dimensions} of numbers")
    return array
