"""One cell of a sweep: ``check`` on its settings, and the rows that the table keeps of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fedbounds.errors import DivergedError, InputError
from fedbounds.study.sweep.grid import Cell
from fedbounds.study.sweep.table import CellOutcome
from fedbounds.theory.verdict import finite_or_none

if TYPE_CHECKING:
    from fedbounds.study.result import Result, WeightingRun


def compute_cell(cell: Cell) -> CellOutcome:
    """``check`` on the settings of a cell; whatever goes wrong becomes the outcome's message."""
    from threadpoolctl import threadpool_limits

    start = time.monotonic()
    rows: list[dict[str, Any]] = []
    message = None
    try:
        from fedbounds.study.check import check

        # Sums of BLAS depend on its number of threads in the last bits; processes use the cores already.
        with threadpool_limits(1):
            rows = measured(check(**cell.settings))
    except (InputError, DivergedError) as wrong:
        message = str(wrong)
    except Exception as wrong:
        message = f"{type(wrong).__name__}: {wrong}"
    return CellOutcome(cell.key, time.monotonic() - start, rows, message)


def measured(result: Result) -> list[dict[str, Any]]:
    """One row a weighting, claim, reading and evidence: the columns `sweep_table.MEASURED`."""
    rows: list[dict[str, Any]] = []
    problem = result.problem
    about = {"N": problem.N, "d": problem.d, "L": problem.L, "mu": problem.mu, "kappa": problem.L / problem.mu}
    for run in result.runs:
        shared = about | {"Gamma": problem.Gamma.value} | _of_run(run, result)
        for verdict in run.verdicts:
            told = verdict.to_json()
            names = ("claim", "reading", "evidence", "status", "margin", "tightness", "worst_t", "detail")
            rows.append(shared | {name: told[name] for name in names} | {"number": len(rows)})
    return [{name: finite_or_none(v) if isinstance(v, float) else v for name, v in row.items()} for row in rows]


def _of_run(run: WeightingRun, result: Result) -> dict[str, Any]:
    """What every verdict of a run shares: skews, both terms of the bound, the last gap and the floor."""
    from fedbounds.evidence.empirical.floor import floor_fit
    from fedbounds.model.trajectory import PATH_FIELDS

    trajectory, problem = run.trajectory, result.problem
    gap, streamed = trajectory.paths["alpha"].gap, trajectory.streamed
    fit = floor_fit(
        gap,
        trajectory.times,
        4 * problem.L / problem.mu,
        result.settings.error_rate,
        deterministic=not trajectory.experiment.stochastic,
        resolution=problem.optimum.excess_bound,
    )
    return {
        "weighting": run.weighting,
        **{name: getattr(run, name) for name in ("rho_bar", "rho_bar_sync", "rho_tilde")},
        "speed": run.speed,
        "error": run.error,
        "gap_last": float(
            streamed.paths["alpha"].mean[-1, PATH_FIELDS.index("gap")] if streamed else gap[:, -1].mean()
        ),
        "floor_low": float(fit.c0[0]),
        "floor_high": float(fit.c0[1]),
        "floor": fit.decision,
        "engine_used": trajectory.engine,
    }
