"""What the studies of this folder share: a command line, files, slopes with intervals, and panels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbounds.io import write, write_json
from fedbounds.report.figures.styles import DPI, PANEL, RC
from validate.runner import RESULTS, options

Array = NDArray[np.float64]
Data = dict[str, Any]

OUT = RESULTS / "questions"
CONFIDENCE = 0.95
# Greyscale-safe: every line has its own dashes, so colour carries no information alone.
BLACK, DARK, MIDDLE, LIGHT = "#000000", "#444444", "#777777", "#aaaaaa"
DASH, DOT, DASHDOT = (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2))


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """The least-squares slope of log y on log x, points weighted by the length of log x they stand for."""
    log_x, log_y = np.log(x), np.log(y)
    weight = np.sqrt(np.abs(np.gradient(log_x)))
    design = np.stack([np.ones_like(log_x), log_x], axis=1) * weight[:, None]
    return float(np.linalg.lstsq(design, log_y * weight, rcond=None)[0][1])


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """(mean, low, high): Student's interval for the mean of independent values."""
    from scipy.stats import t

    x = np.asarray(values, dtype=float)
    half = float(t.isf((1 - confidence) / 2, x.size - 1) * x.std(ddof=1) / np.sqrt(x.size))
    return float(x.mean()), float(x.mean()) - half, float(x.mean()) + half


def group_slopes(samples: Array, x: Array, groups: int) -> Data:
    """Log-log slope of the mean of ``samples`` (R, K) against x (K,), with an interval over groups of replicates."""
    means = samples.reshape(groups, -1, samples.shape[1]).mean(axis=1)
    middle, low, high = mean_interval([slope(x, row) for row in means])
    return {"slope": middle, "low": low, "high": high, "groups": groups, "confidence": CONFIDENCE}


def late(x: Array, factor: float = 10.0) -> NDArray[np.bool_]:
    """Which x lie within ``factor`` of the last: the window a rate is read off."""
    return np.asarray(x >= x[-1] / factor, dtype=bool)


def thin(x: Array, count: int = 60) -> NDArray[np.int64]:
    """Indices of about ``count`` of the increasing positive x, even in log x."""
    wanted = np.geomspace(x[0], x[-1], count)
    return np.unique(np.searchsorted(x, wanted * (1 - 1e-12)).clip(0, len(x) - 1))


def figure(path: Path, count: int, fill: Callable[..., None]) -> None:
    """Draw ``count`` panels with ``fill(*axes)`` and write them as a PNG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        sheet = Figure(figsize=(1.25 * PANEL[0] * count, 1.25 * PANEL[1]), layout="constrained", dpi=DPI)
        canvas = FigureCanvasAgg(sheet)
        fill(*np.atleast_1d(sheet.subplots(1, count)))
        write(path, canvas.print_png)


def command(name: str, run: Callable[..., Data], draw: Callable[[Data, Path], None]) -> Data:
    """Parse --out, --seed and --small, run the study, write NAME.json and NAME.png, print the summary."""
    chosen = options(None, out=OUT, seed=0, small=False)
    data = run(small=chosen.small, seed=chosen.seed)
    write_json(chosen.out / f"{name}.json", data)
    draw(data, chosen.out / f"{name}.png")
    for key, value in data["summary"].items():
        print(f"{key}: {value}")
    return data
