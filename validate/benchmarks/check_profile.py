"""Where `fedbounds check` spends its time, and what imports cost: `python -m validate.benchmarks --only check`.

The study of the default settings runs once to fill caches, then under cProfile; each row is the time inside one
function (callees included; rows of different groups overlap where one calls another). Imports and the first command
are timed in new processes, the least of some.
"""

from __future__ import annotations

import cProfile
import functools
import pstats
import subprocess
import sys
import time
from typing import Any

from validate.benchmarks.clock import turns

# (file ends with, function): what a study does, by the function that does it.
STAGES = {
    "simulation": ("engine/simulate.py", "simulate"),
    "exact expectations": ("evidence/expectation.py", "verdicts"),
    "verdicts on runs": ("evidence/judge.py", "judge"),
    "... of which both sides": ("evidence/empirical/sides.py", "compare"),
    "... of which assumptions": ("evidence/assumption_checks.py", "judged_on"),
    "runs with a claim's own step": ("study/check.py", "_companion"),
    "constants of a run": ("run_constants.py", "examine_run"),
    "skew over all pairs": ("measured_run.py", "rho_pairs"),
    "substitution in formulas": ("claim.py", "sides"),
}
SMALL_RUN = """
from fedbounds.engine.simulate import simulate
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.model.schedule import ConstantStep
from fedbounds.model.experiment import Experiment
from fedbounds.weightings.fedavg import FedAvg
import numpy as np
data = np.random.default_rng(0).standard_normal((2, 20, 4))
problem = LeastSquaresProblem(list(data), list(data[:, :, 0]), 0.1)
simulate(Experiment(problem, FedAvg(), ConstantStep(0.01), 2, 2, 2, 4), record="distance")
"""
COMMANDS = {
    "import fedbounds": [sys.executable, "-c", "import fedbounds"],
    "fedbounds --help": [sys.executable, "-c", "from fedbounds.cli.app import main; main()", "--help"],
    "import fedbounds.study.check": [sys.executable, "-c", "import fedbounds.study.check"],
    "a small run, kernels cached": [sys.executable, "-c", SMALL_RUN],
    "an empty Python": [sys.executable, "-c", "pass"],
}


def profile(**settings: Any) -> dict[str, float]:
    """Seconds of a whole study without profiler (``whole``) and with it (``profiled``), and of each stage in it."""
    from fedbounds.study.check import check

    check(**settings)
    begin = time.perf_counter()
    check(**settings)
    whole = time.perf_counter() - begin
    recorder = cProfile.Profile()
    recorder.runcall(check, **settings)
    stats: Any = pstats.Stats(recorder)
    found = {"whole": whole, "profiled": stats.total_tt}
    for stage, (file, function) in STAGES.items():
        found[stage] = sum(
            row[3] for (path, _, name), row in stats.stats.items() if path.endswith(file) and name == function
        )
    return found


def new_processes(repeats: int) -> dict[str, float]:
    """Seconds of each command in a new process, the least of some."""
    run = functools.partial(subprocess.run, check=True, capture_output=True)
    times = turns({name: functools.partial(run, command) for name, command in COMMANDS.items()}, repeats)
    return {name: spent["wall"] for name, spent in times.items()}


def measure(repeats: int) -> dict[str, dict[str, float]]:
    """Both tables."""
    return {"check": profile(), "processes": new_processes(repeats)}


def table(found: dict[str, dict[str, float]]) -> str:
    """One line a stage and a command."""
    return "\n".join(f"{name:<32} {seconds:8.3f} s" for rows in found.values() for name, seconds in rows.items())
