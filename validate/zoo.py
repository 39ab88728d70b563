"""The algorithms' curves, their picture and their table of docs/zoo.md: `python -m validate.zoo` (a minute)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedbounds.engine.replay import run_algorithm
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import algorithm_named, algorithms
from fedbounds.problems.least_squares import LeastSquaresProblem
from fedbounds.report.table import Table
from fedbounds.weightings.fedavg import FedAvg
from validate.markdown import of_table
from validate.runner import DOCS, IMAGES, Study

ROUNDS, TAU, BATCH, RUNS = 150, 8, 4, 8
# The step size of every local step times L; minibatch SGD takes one step a round, and a full one.
STEP, FULL_STEP = 0.1, 1.0
# What an algorithm is drawn with, where the defaults would not show it.
DRAWN = {"fedavgm": "fedavgm:momentum=0.5", "fedprox": "fedprox:strength=0.5", "fedexp": "fedexp:epsilon=0.1"}
# Below this fraction of the start a squared distance is rounding.
ROUNDING = 1e-26


def problem() -> LeastSquaresProblem:
    """Ten clients of 32 to 96 samples in R^6, with different Hessians and minimisers."""
    rng = np.random.default_rng(18)
    sizes = rng.integers(TAU * BATCH, 97, 10)
    scales = rng.uniform(0.6, 1.6, (10, 6))
    X = [rng.standard_normal((n, 6)) * scale for n, scale in zip(sizes, scales, strict=True)]
    y = [x @ rng.standard_normal(6) + 0.3 * rng.standard_normal(len(x)) for x in X]
    return LeastSquaresProblem(X, y, 0.05)


def experiment(batch_size: int | None, replicates: int) -> Experiment:
    """The setting of the curves."""
    given = problem()
    eta = ConstantStep(STEP / given.L)
    return Experiment(
        given, FedAvg(), eta, tau=TAU, rounds=ROUNDS, replicates=replicates, batch_size=batch_size, engine="reference"
    )


def curves(batch_size: int | None, replicates: int) -> dict[str, list[float]]:
    """Algorithm -> mean ||w_r - w*||^2 over that of the start, at r = 0 ... ROUNDS."""
    setting, result = experiment(batch_size, replicates), {}
    for key in algorithms():
        eta = ConstantStep((FULL_STEP if key == "minibatch" else STEP) / setting.problem.L)
        distance = run_algorithm(algorithm_named(DRAWN.get(key, key)), setting.with_(eta=eta)).distance_sq.mean(0)
        result[key] = [float(f"{value:.4g}") for value in distance / distance[0]]
    return result


def compute() -> dict[str, dict[str, list[float]]]:
    """The curves at full gradients and at batches."""
    return {"full": curves(None, 1), "noisy": curves(BATCH, RUNS)}


def rate(curve: list[float]) -> float:
    """The factor a round of a curve that falls geometrically, between 1e-4 and 1e-20; nan where it never does."""
    values = np.array(curve)
    at = np.flatnonzero((values < 1e-4) & (values > 1e-20))
    if len(at) < 3 or values[-1] > 1e-20:
        return float("nan")
    return float(np.exp(np.polyfit(at, np.log(values[at]), 1)[0]))


def draw(record: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Two panels: full gradients, where a straight line is linear convergence, and batches."""
    import matplotlib.pyplot as plt

    from fedbounds.report.figure_styles import BLACK, BLUE, DASHES, DPI, GREEN, ORANGE, PURPLE, RC, SKY

    styles = [(colour, dash) for dash in DASHES for colour in (BLACK, BLUE, ORANGE, GREEN, PURPLE, SKY)]
    with plt.rc_context(RC):
        figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.9), sharey=False)
        titles = ("full gradients", f"batches of {BATCH}")
        for axis, title, result in zip(axes, titles, record.values(), strict=True):
            for (key, curve), (colour, dash) in zip(result.items(), styles, strict=False):
                values = np.maximum(curve, ROUNDING)
                axis.semilogy(values, color=colour, ls=dash, label=key)
            axis.set(title=title, xlabel="rounds")
        axes[0].set_xlim(0, 100)
        axes[0].set_ylabel(r"$\Vert w-w^\star\Vert^2$ over that of the start")
        axes[1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3)
        figure.tight_layout()
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
        plt.close(figure)


def floors(record: dict[str, dict[str, list[float]]]) -> str:
    """The table of the curves: where each ends, and how fast those without a floor fall."""
    rows, (full, noisy) = [], record.values()
    for key, kind in algorithms().items():
        factor, last = rate(full[key]), np.mean(full[key][-20:])
        ends = f"linear, a factor {factor:.3f} a round" if np.isfinite(factor) else f"floor {last:.1e}"
        said = (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")
        rows.append((key, said, ends, f"{np.mean(noisy[key][-40:]):.1e}"))
    return of_table(Table.of(("algorithm", "what it does", "full gradients", f"batches of {BATCH}"), rows))


STUDY = Study(__doc__, "zoo", compute, floors, draw, IMAGES / "zoo.png", DOCS / "zoo.md", {"curves": floors})

if __name__ == "__main__":
    STUDY.main()
