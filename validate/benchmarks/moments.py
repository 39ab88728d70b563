"""Exact expectations against Monte Carlo at equal accuracy: `python -m validate.benchmarks --only moments`.

On workload W (see `validate.benchmarks.engine`). One replicate's relative standard deviation of F - F*, at the time
where it is largest, says how many replicates bring the standard error of every recorded mean below an accuracy;
the time of that many follows from one replicate's. Both are checked to agree before any time is printed: the
exact curve lies in the simultaneous band of the sampled one. Times are processor seconds, the least of some
interleaved runs, so that other work on the machine counts little.
"""

from __future__ import annotations

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical.bands import band
from validate.benchmarks.clock import turns
from validate.benchmarks.engine import workload

# Relative standard errors to reach; the exact curve's own error is rounding.
ACCURACIES = (1e-2, 1e-3, 1e-4)
WARM_ROUNDS = 2


def measure(rounds: int = 400, replicates: int = 256, runs: int = 3, N: int = 50) -> dict[str, float]:
    """Processor seconds of the exact curve and of one replicate, and the replicates that each accuracy needs."""
    experiment = workload("W", rounds=rounds, N=N, replicates=replicates)
    stride = experiment.tau
    for short in (experiment.with_(rounds=WARM_ROUNDS), experiment.with_(rounds=WARM_ROUNDS, replicates=8)):
        simulate(short, exact=True)
        simulate(short, record="distance")
    exact = simulate(experiment.with_(stride=stride), exact=True).paths["alpha"].gap[0]
    sampled = simulate(experiment, record="distance").gap
    interval = band(sampled[:, 1:])
    if not ((interval.lower <= exact[1:]) & (exact[1:] <= interval.upper)).all():
        raise AssertionError("the exact curve leaves the band of the sampled one")
    spread = float((sampled[:, 1:].std(axis=0, ddof=1) / exact[1:]).max())
    tasks = {
        "exact": lambda: simulate(experiment.with_(stride=stride), exact=True),
        "sampled": lambda: simulate(experiment, record="distance"),
    }
    times = {name: spent["processor"] for name, spent in turns(tasks, runs).items()}
    needed = {f"replicates at {accuracy:g}": float(np.ceil((spread / accuracy) ** 2)) for accuracy in ACCURACIES}
    return {"exact": times["exact"], "one replicate": times["sampled"] / replicates, "spread": spread, **needed}


def table(found: dict[str, float]) -> str:
    """One line an accuracy: replicates, processor seconds of Monte Carlo, and their ratio to the exact curve's."""
    lines = [
        f"exact moments: {found['exact']:.3f} s; one replicate: {found['one replicate'] * 1e3:.2f} ms; "
        f"relative standard deviation of F - F*: up to {found['spread']:.3f}",
        f"{'accuracy':>9} {'replicates':>11} {'Monte Carlo':>13} {'/ exact':>9}",
    ]
    for accuracy in ACCURACIES:
        replicates = found[f"replicates at {accuracy:g}"]
        cost = replicates * found["one replicate"]
        lines.append(f"{accuracy:9g} {replicates:11.0f} {cost:11.2f} s {cost / found['exact']:9.1f}")
    return "\n".join(lines)
