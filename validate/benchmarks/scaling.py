"""How the time grows with each dimension, and the picture: `python -m validate.benchmarks --only scaling`.

Workload W with one dimension at a time multiplied, recording distances as a curve of rates does; the cost is
processor time (all threads), the least of interleaved runs, so that other work on the machine counts little. Then ten
clients a round of ever more: who takes part is drawn and simulated, and nobody else.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from validate.benchmarks.clock import turns
from validate.benchmarks.engine import Experiment, fedbounds, workload

# d in whole vectors of eight: between them the rows are filled up with zeros, and time does not change.
BASE = {"N": 50, "replicates": 32, "rounds": 100, "batch": 8, "d": 16}
FACTORS = (1, 2, 4, 8)
# Grey levels, dashes and marks tell the curves apart without colour.
STYLES = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"), ((0, (1, 1, 4, 1)), "v"))


CROWD = "N, 10 present"
# Ten clients take part of so many; in few and in many rounds, so that a round's cost is told from what a run costs.
CROWDS, PRESENT, ROUNDS = (1_000, 10_000, 100_000), 10, (200, 2_000)


def crowd(N: int) -> Experiment:
    """Workload W on N clients of 10 samples each, PRESENT of which take part in a round."""
    return workload("W", N=N, n=10, d=8).with_(participation=PRESENT / N)


def present(sizes: Sequence[int] = CROWDS, rounds: tuple[int, int] = ROUNDS, repeats: int = 3) -> dict[str, Any]:
    """Processor seconds of a round of 32 replicates with PRESENT clients among N, and the exponent of growth."""
    few, many = rounds
    own = []
    for N in sizes:
        all_rounds = crowd(N)  # measured at the end alone: F of all clients is no part of a round
        experiments = {count: all_rounds.with_(rounds=count, stride=5 * count) for count in rounds}
        for experiment in experiments.values():
            fedbounds(experiment)
        spent = turns({key: functools.partial(fedbounds, one) for key, one in experiments.items()}, repeats)
        own.append((spent[many]["processor"] - spent[few]["processor"]) / (many - few))
    return {"sizes": list(sizes), "seconds": own, "exponent": _exponent(sizes, own)}


def _exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def scaled(name: str, factor: int, base: Mapping[str, int]) -> Experiment:
    """The workload with one dimension multiplied."""
    sizes = {**base, name: base[name] * factor}
    batch = sizes.pop("batch")
    return workload("W", n=100, **sizes).with_(batch_size=batch)


def measure(
    base: Mapping[str, int] = BASE,
    factors: Sequence[int] = FACTORS,
    repeats: int = 9,
    crowds: Sequence[int] = CROWDS,
) -> dict[str, dict]:
    """Processor seconds of every dimension at every factor, and the exponent of a power law fitted to them."""
    experiments = {(name, factor): scaled(name, factor, base) for name in base for factor in factors}
    for experiment in experiments.values():
        fedbounds(experiment)  # the problem's minima, the kernels and the caches are not timed
    spent = turns({key: functools.partial(fedbounds, experiment) for key, experiment in experiments.items()}, repeats)
    found = {}
    for name, size in base.items():
        own = [spent[name, factor]["processor"] for factor in factors]
        sizes = [size * factor for factor in factors]
        found[name] = {"sizes": sizes, "seconds": own, "exponent": _exponent(sizes, own)}
    return {**found, CROWD: present(crowds)}


def draw(found: Mapping[str, Mapping], path: Path) -> None:
    """One curve a dimension, relative to its first point, beside the straight line of linear growth."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    found = {name: curve for name, curve in found.items() if name != CROWD}
    figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    for shade, (name, curve), (dash, mark) in zip(
        np.linspace(0, 0.55, len(found)), found.items(), STYLES, strict=True
    ):
        sizes, seconds = np.array(curve["sizes"]), np.array(curve["seconds"])
        label = f"{name} from {sizes[0]} (exponent {curve['exponent']:.2f})"
        axes.loglog(sizes / sizes[0], seconds / seconds[0], ls=dash, marker=mark, color=str(shade), label=label)
    ends = [1, max(max(curve["sizes"]) / curve["sizes"][0] for curve in found.values())]
    axes.loglog(ends, ends, color="0.8", lw=6, zorder=0, label="linear")
    ticks = np.array(next(iter(found.values()))["sizes"]) / next(iter(found.values()))["sizes"][0]
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    axes.set(xlabel="size over the first", ylabel="processor time over the first")
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def table(found: Mapping[str, Mapping]) -> str:
    """One line a dimension."""
    lines = []
    for name, curve in found.items():
        times = [f"{n}: {1e3 * s:.3g} ms" for n, s in zip(curve["sizes"], curve["seconds"], strict=True)]
        lines.append(f"{name:>10}  exponent {curve['exponent']:.2f}  {', '.join(times)}")
    return "\n".join(lines)
