"""How time grows with each size: `python -m validate.benchmarks --only growth`.

Workload W of `engine`: one size doubles three times and the others stay, from a run of some 0.3 seconds of the
processor. The slope is that of the logarithm of the processor seconds over the logarithm of the
size, by least squares: 1 is linear. The problem is built before.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fedbounds.model.experiment import Experiment
from validate.benchmarks.clock import turns
from validate.benchmarks.engine import Engine, fedbounds, full_record, workload

DOUBLED = (1, 2, 4, 8)
# Of each size: its least value. Of clients present there are 400 in all.
LEAST = {"clients": 50, "replicates": 32, "dimension": 20, "rounds": 100, "clients present": 40}
ALL_CLIENTS = 400
# Row -> its engine, its workload, and how many times the least rounds make its smallest run long enough.
RUNS: dict[str, tuple[Engine, str, float]] = {
    "W": (fedbounds, "W", 8),
    "W, full record": (full_record, "W", 1),
}


def experiment(name: str, value: int, kind: str, longer: float, least: dict[str, int] = LEAST) -> Experiment:
    """The run in which one size has this value."""
    size = least | {name: value}
    N = ALL_CLIENTS if name == "clients present" else size["clients"]
    run = workload(kind, round(longer * size["rounds"]), N, 200, size["dimension"], size["replicates"])
    return run.with_(participation=value / N) if name == "clients present" else run


def slope(sizes: list[int], seconds: list[float]) -> float:
    """The exponent of the power of the size that fits the seconds best."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def measure(least: dict[str, int] = LEAST, repeats: int = 1) -> dict[str, Any]:
    """Row -> size -> its values, their processor seconds and the slope."""
    result: dict[str, Any] = {}
    for row, (engine, kind, longer) in RUNS.items():
        result[row] = {}
        for name, first in least.items():
            sizes = [first * factor for factor in DOUBLED]
            runs = {value: experiment(name, value, kind, longer, least) for value in sizes}
            tasks = {value: functools.partial(engine, run) for value, run in runs.items()}
            tasks[first]()  # compiles
            seconds = [spent["processor"] for spent in turns(tasks, repeats).values()]
            result[row][name] = {"sizes": sizes, "seconds": seconds, "slope": slope(sizes, seconds)}
    return result


def table(found: dict[str, Any]) -> str:
    """One line a row and size."""
    return "\n".join(
        f"{row:<15} {name:<16} {cells['sizes'][0]:>4} to {cells['sizes'][-1]:>4}:"
        + "".join(f" {value:6.2f}" for value in cells["seconds"])
        + f" s, slope {cells['slope']:.2f}"
        for row, rows in found.items()
        for name, cells in rows.items()
    )
