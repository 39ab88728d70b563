"""Peak memory of streamed runs: `python -m validate.benchmarks --only memory`.

Each size runs in a process of its own, whose peak resident set is read at the end (resource.getrusage). Ridge least
squares with 200 clients, minibatches of 4, all statistics recorded at every step. Blocks of replicates are smaller
at larger d, so that a few replicates fill as many blocks as are ever in flight. One size, here:

    python -m validate.benchmarks.memory REPLICATES STEPS D
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

CLIENTS = 200
# (replicates, steps, d): more replicates at the same steps, then more steps, at last all of them.
SIZES = ((1_000, 20, 5), (10_000, 20, 5), (1_280, 200, 5), (1_280, 1_000, 5), (120, 10_000, 20))
GOAL = (10_000, 10_000)


def run_one(replicates: int, total: int, d: int = 5, clients: int = CLIENTS) -> dict[str, float]:
    """Run one size here; its seconds, and this process's peak in MiB."""
    from fedbounds.engine.simulate import simulate
    from fedbounds.model.experiment import Experiment
    from fedbounds.model.schedule import InverseTime
    from fedbounds.problems.least_squares import LeastSquaresProblem
    from fedbounds.weightings.fedsoftmax import FedSoftMax

    rng = np.random.default_rng(0)
    X = [rng.standard_normal((20, d)) for _ in range(clients)]
    problem = LeastSquaresProblem(X, [x @ rng.standard_normal(d) for x in X], 0.1)
    eta = InverseTime(problem.mu, 4 * problem.L / problem.mu)
    experiment = Experiment(problem, FedSoftMax(0.5), eta, 2, total // 2, replicates, 4)
    begin = time.perf_counter()
    trajectory = simulate(experiment, statistics="streamed")
    seconds = time.perf_counter() - begin
    assert trajectory.streamed is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "replicates": replicates,
        "steps": total,
        "clients": clients,
        "d": d,
        "seconds": seconds,
        "peak_MiB": peak,
    }


def in_child(*size: int) -> dict[str, float]:
    """The same in a new process."""
    command = [sys.executable, "-m", "validate.benchmarks.memory", *map(str, size)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def extrapolate(rows: list[dict[str, float]]) -> float:
    """MiB at GOAL from the plane peak = a + b replicates + c steps through the measured sizes."""
    table = np.array([[1.0, row["replicates"], row["steps"]] for row in rows])
    plane = np.linalg.lstsq(table, np.array([row["peak_MiB"] for row in rows]), rcond=None)[0]
    return float(plane @ [1.0, *GOAL])


def measure() -> dict[str, object]:
    """Every size, and the extrapolation."""
    rows = [in_child(*size) for size in SIZES]
    return {"rows": rows, "extrapolated_MiB": extrapolate(rows)}


def table(found: dict[str, Any]) -> str:
    """One line a size, and what they lead to expect."""
    line = "{replicates:>7.0f} replicates {steps:>6.0f} steps {peak_MiB:8.0f} MiB {seconds:7.1f} s"
    goal = f"{GOAL[0]} replicates x {CLIENTS} clients x {GOAL[1]} steps"
    last = f"extrapolated to {goal}: {found['extrapolated_MiB']:.0f} MiB"
    return "\n".join([*(line.format(**row) for row in found["rows"]), last])


if __name__ == "__main__":
    print(json.dumps(run_one(*map(int, sys.argv[1:]))))
