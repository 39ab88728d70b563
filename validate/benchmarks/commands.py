"""What a user waits for: whole commands in new processes, `python -m validate.benchmarks --only commands`.

Compiled code and the checks of what is shipped are in their caches (each short command runs once before); the C
kernel of `engine` on workload W takes its turn between them, so that ratios to it can be compared between machines
and between days. Short commands take several turns, of which the median counts, long ones a single one.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from validate.benchmarks.clock import Times, turns
from validate.benchmarks.engine import BY_HAND, c_limit, over_c, workload

STUDY = Path(__file__).resolve().parent.parent / "heterogeneity.toml"
# Command -> its goal in seconds by the clock on two idle cores (of the sweep: of the processor); {out}: a folder.
GOALS = {
    "check": 2,
    "check --out {out}/study": 4,
}
LONG_GOALS = {
    "check --problem logistic --data digits --partition shards:60 --weighting fedavg --weighting fedsoftmax:0.5 "
    "--clients 20 --out {out}/digits": 25,
    "sweep {study} --out {out}/grid": 40,
}


def run(command: str, out: Path) -> None:
    """A command in a new process, its output thrown away."""
    arguments = [
        sys.executable,
        "-m",
        "fedbounds.cli",
        *(word.format(out=out, study=STUDY) for word in command.split()),
    ]
    subprocess.run(arguments, check=True, capture_output=True)


def measure(repeats: int, goals: dict[str, int] = GOALS, long_goals: dict[str, int] = LONG_GOALS) -> Times:
    """Seconds of each command, its goal and its processor seconds over those of the C kernel on W."""
    result: Times = {}
    with tempfile.TemporaryDirectory() as folder:
        out, experiment = Path(folder), workload("W")
        limit = {BY_HAND: functools.partial(c_limit(out), experiment)} if shutil.which("cc") else {}
        for task in (*limit.values(), *(functools.partial(run, command, out) for command in goals)):
            task()
        for group, times in ((goals, repeats), (long_goals, 1)):
            tasks = {command: functools.partial(run, command, out) for command in group}
            result |= turns({**tasks, **limit}, times, np.median)
    own = result.pop(BY_HAND, {}).get("processor")
    goal = {**goals, **long_goals}
    return {name: {**row, "goal": goal[name], **over_c(row, own)} for name, row in result.items()}


def table(found: Times) -> str:
    """One line a command."""
    lines = [f"{'fedbounds':<60} {'seconds':>9} {'cpu s':>9} {'goal, s':>9} {'over C':>9}"]
    lines += [f"{name[:60]:<60}" + "".join(f" {value:9.2f}" for value in row.values()) for name, row in found.items()]
    return "\n".join(lines)
