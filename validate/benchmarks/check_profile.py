"""Where `fedbounds check` spends its time, and what imports cost: `python -m validate.benchmarks.check_profile`.

The study of the default settings runs once to fill caches, then under cProfile; each row is the time inside one
function (callees included; rows of different groups overlap where one calls another). Imports and the first command
are timed in new processes, the least of some. Writes validate/results/check_profile.json.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from fedbounds.files import write_text

RESULTS = Path(__file__).resolve().parent.parent / "results" / "check_profile.json"
# (file ends with, function): what a study does, by the function that does it.
STAGES = {
    "simulation": ("engine/loop.py", "run"),
    "exact expectations": ("evidence/expectation.py", "verdicts"),
    "verdicts on runs": ("evidence/empirical/comparison.py", "examine"),
    "... of which both sides": ("evidence/empirical/comparison.py", "compare"),
    "... of which assumptions": ("evidence/empirical/comparison.py", "failed_assumptions"),
    "runs with a claim's own step": ("study/check.py", "_own_schedule"),
    "constants of a run": ("constants.py", "examine_run"),
    "skew over all pairs": ("skews.py", "rho_pairs"),
    "substitution in formulas": ("claim.py", "terms_in"),
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
    found = {}
    for name, command in COMMANDS.items():
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - begin)
        found[name] = min(times)
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print and store both tables."""
    parser = argparse.ArgumentParser(description="Where a check spends its time.")
    parser.add_argument("--repeats", type=int, default=5)
    found = {"check": profile(), "processes": new_processes(parser.parse_args(arguments).repeats)}
    for table in found.values():
        for name, seconds in table.items():
            print(f"{name:<32} {seconds:8.3f} s")
    write_text(RESULTS, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
