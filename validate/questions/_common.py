"""What the studies of this folder share: their declaration, runs, slopes with intervals, and panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbounds.engine.simulate import simulate
from fedbounds.io import write
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.schedule import StepSize
from fedbounds.model.trajectory import Trajectory
from fedbounds.model.weighting import Weighting
from fedbounds.report.figure_styles import DPI, PANEL, RC
from fedbounds.study.objects_from_settings import build_problem, theory_step
from fedbounds.study.settings import Settings
from validate.runner import Study

Data = dict[str, Any]
# The data of a line and what it looks like.
Line = tuple[ArrayLike, ArrayLike, Data]

CONFIDENCE = 0.95
# Greyscale-safe: every line has its own dashes, so colour carries no information alone.
BLACK, DARK, MIDDLE, LIGHT = "#000000", "#444444", "#777777", "#aaaaaa"
DASH, DOT, DASHDOT = (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2))


def study(about: str | None, key: str, run: Callable[..., Data], draw: Callable[[Data, Path], None]) -> Study:
    """The study of a question, which prints its summary."""

    def table(data: Data) -> str:
        return "\n".join(f"{name}: {value}" for name, value in data["summary"].items())

    return Study(about, f"questions/{key}", run, table, draw)


def ridge(seed: int) -> Problem:
    """Least squares with six heterogeneous clients and five coefficients."""
    return build_problem(Settings(clients=6, dimension=5, samples=30, regularisation=0.3, seed=seed))


def ran(
    target: Problem,
    weighting: Weighting,
    tau: int,
    total: int,
    eta: StepSize | None = None,
    replicates: int = 1,
    batch: int | None = None,
    **more: Any,
) -> Trajectory:
    """A run of about ``total`` steps with the corollary's step sizes, unless others are given."""
    steps, rounds = eta or theory_step(target), total // tau
    return simulate(Experiment(target, weighting, steps, tau, rounds, replicates, batch, **more))


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """The least-squares slope of log y on log x, points weighted by the length of log x they stand for."""
    log_x, log_y = np.log(x), np.log(y)
    return float(np.polyfit(log_x, log_y, 1, w=np.sqrt(np.abs(np.gradient(log_x))))[0])


def mean_interval(values: ArrayLike) -> tuple[float, float, float]:
    """(mean, low, high): Student's interval for the mean of independent values."""
    from scipy.stats import t

    x = np.asarray(values, dtype=float)
    half = float(t.isf((1 - CONFIDENCE) / 2, x.size - 1) * x.std(ddof=1) / np.sqrt(x.size))
    return float(x.mean()), float(x.mean()) - half, float(x.mean()) + half


def group_slopes(samples: Array, x: Array, groups: int) -> Data:
    """Log-log slope of the mean of ``samples`` (R, K) against x (K,), with an interval over groups of replicates."""
    means = samples.reshape(groups, -1, samples.shape[1]).mean(axis=1)
    middle, low, high = mean_interval([slope(x, row) for row in means])
    return {"slope": middle, "low": low, "high": high, "groups": groups, "confidence": CONFIDENCE}


def late(x: Array) -> NDArray[np.bool_]:
    """Which x lie in the last decade: the window a rate is read off."""
    return np.asarray(x >= x[-1] / 10, dtype=bool)


def thin(x: Array, count: int = 60) -> NDArray[np.int64]:
    """Indices of about ``count`` of the increasing positive x, even in log x."""
    wanted = np.geomspace(x[0], x[-1], count)
    return np.unique(np.searchsorted(x, wanted * (1 - 1e-12)).clip(0, len(x) - 1))


@contextmanager
def figure(path: Path, count: int) -> Iterator[Sequence[Any]]:
    """``count`` panels, which are written as a PNG once they are filled."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        sheet = Figure(figsize=(1.25 * PANEL[0] * count, 1.25 * PANEL[1]), layout="constrained", dpi=DPI)
        canvas = FigureCanvasAgg(sheet)
        yield np.atleast_1d(sheet.subplots(1, count))
        write(path, canvas.print_png)


def panel(axes: Any, scale: str, lines: Sequence[Line], **labels: Any) -> None:
    """Fill a panel: lines on axes of a ``scale`` (loglog, semilogx, semilogy), black unless said, and a legend."""
    for x, y, look in lines:
        getattr(axes, scale)(x, y, **{"color": BLACK, **look})
    axes.set(**labels)
    axes.legend(fontsize=7)
