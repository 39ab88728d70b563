"""How the time grows with each dimension, and the picture: `python -m validate.benchmarks --only scaling`.

Workload W with one dimension at a time multiplied; the cost is processor time (all threads), the least of
interleaved runs, so that other work on the machine counts little.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from validate.benchmarks.clock import turns
from validate.benchmarks.engine import Experiment, fedbounds, workload

# d in whole vectors of eight: between them the rows are filled up with zeros, and time does not change.
BASE = {"N": 50, "replicates": 32, "rounds": 100, "batch": 8, "d": 16}
FACTORS = (1, 2, 4, 8)
# Grey levels, dashes and marks tell the curves apart without colour.
STYLES = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "D"), ((0, (1, 1, 4, 1)), "v"))


def scaled(name: str, factor: int, base: Mapping[str, int]) -> Experiment:
    """The workload with one dimension multiplied."""
    sizes = {**base, name: base[name] * factor}
    batch = sizes.pop("batch")
    return workload("W", n=100, **sizes).with_(batch_size=batch)


def measure(base: Mapping[str, int] = BASE, factors: Sequence[int] = FACTORS, repeats: int = 9) -> dict[str, dict]:
    """Processor seconds of every dimension at every factor, and the exponent of a power law fitted to them."""
    experiments = {(name, factor): scaled(name, factor, base) for name in base for factor in factors}
    for experiment in experiments.values():
        fedbounds(experiment)  # the problem's minima, the kernels and the caches are not timed
    spent = turns({key: functools.partial(fedbounds, experiment) for key, experiment in experiments.items()}, repeats)
    found = {}
    for name, size in base.items():
        own = [spent[name, factor]["processor"] for factor in factors]
        slope = float(np.polyfit(np.log(factors), np.log(own), 1)[0])
        found[name] = {"sizes": [size * factor for factor in factors], "seconds": own, "exponent": slope}
    return found


def draw(found: Mapping[str, Mapping], path: Path) -> None:
    """One curve a dimension, relative to its first point, beside the straight line of linear growth."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

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
        times = [f"{n}: {1e3 * s:.1f} ms" for n, s in zip(curve["sizes"], curve["seconds"], strict=True)]
        lines.append(f"{name:>10}  exponent {curve['exponent']:.2f}  {', '.join(times)}")
    return "\n".join(lines)
