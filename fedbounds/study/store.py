"""A study on disk: ``result.json`` for people and machines, ``trajectories.npz`` for redrawing the pictures.

Keys of the npz (j numbers the runs of the result): ``j/times`` (K,), ``j/gap``, ``j/distance_sq``,
``j/drift``, ``j/rho``, ``j/rho_star`` (R, K), ``j/round_times`` (r,), ``j/alpha`` (R, r, N), and for each
claim over steps or horizons that applied, ``j/claim/KEY@READING/`` with ``t``, the means ``lhs`` and ``rhs``,
and the simultaneous band ``lower``, ``upper`` of the left side given the right (that of their paired
difference), all (m,). ``p`` is the problem's (N,).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.evidence.constants import examine_run
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.files import read_json, write, write_json
from fedbounds.model.problem import Array
from fedbounds.study.check import Result, WeightingRun, make_policy
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

RESULT, TRAJECTORIES = "result.json", "trajectories.npz"


def save(result: Result, out: str | Path) -> Path:
    """Write ``result.json`` and ``trajectories.npz`` under ``out``, and return that folder."""
    out = Path(out)
    write(out / TRAJECTORIES, lambda file: np.savez_compressed(file, **series(result)))  # type: ignore[arg-type]
    write_json(out / RESULT, result.to_json())
    return out


def load(out: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON object and the arrays of a saved study."""
    out = Path(out)
    result = read_json(out / RESULT)
    try:
        with np.load(out / TRAJECTORIES, allow_pickle=False) as arrays:
            return result, dict(arrays)
    except (OSError, ValueError) as wrong:
        raise reject("a saved study needs its trajectories.npz", str(wrong), "run check --out again") from None


def series(result: Result) -> dict[str, Array]:
    """Every array that the pictures need, under the keys listed in the module's docstring."""
    arrays: dict[str, Array] = {"p": result.problem.p}
    for j, run in enumerate(result.runs):
        trajectory, path = run.trajectory, run.trajectory.paths["alpha"]
        own: dict[str, Array] = {
            "times": trajectory.times.astype(float),
            "gap": path.gap,
            "distance_sq": path.distance_sq,
            "drift": path.drift,
            "rho": trajectory.rho(),
            "rho_star": trajectory.rho_star(),
            "round_times": trajectory.round_times.astype(float),
            "alpha": trajectory.alpha,
        }
        arrays |= {f"{j}/{name}": value for name, value in own.items()}
        arrays |= {f"{j}/claim/{name}": value for name, value in _sides(result, run).items()}
    return arrays


def _sides(result: Result, run: WeightingRun) -> dict[str, Array]:
    """Mean left side with its band, and mean right side, of every claim that applied to the run."""
    arrays: dict[str, Array] = {}
    policy, error_rate = make_policy(result.settings), result.settings.error_rate
    for verdict in run.verdicts:
        claim: Claim = result.claims[verdict.claim]
        if verdict.evidence is not Evidence.EMPIRICAL:
            continue  # the same sides without a band
        if claim.scope not in ("step", "horizon") or verdict.status is Status.NOT_APPLICABLE or not claim.rhs:
            continue
        seen = run.companions.get(claim.key, run.trajectory)
        examined = examine_run(seen, READINGS[verdict.reading], policy)
        sides = empirical.compare(claim, examined)
        known = empirical.known_columns(claim, examined, sides.times)
        # The band of the paired difference, shown around the right side: it crosses that side where, and only
        # where, the verdict is open.
        interval, rhs = sides.band(error_rate, known), sides.rhs.mean(axis=0)
        values = {
            "t": sides.times.astype(float),
            "lhs": sides.lhs.mean(axis=0),
            "lower": rhs + interval.lower,
            "upper": rhs + interval.upper,
            "rhs": rhs,
        }
        arrays |= {f"{verdict.claim}@{verdict.reading}/{name}": value for name, value in values.items()}
    return arrays
