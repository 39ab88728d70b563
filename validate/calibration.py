"""Do the bands cover? Miss rates on each side, on processes whose mean is known exactly.

    python -m validate.calibration        (about a minute on one core)

Every process yields d (trials, R, m) with mean exactly 0 at every time. A band misses *above* its upper
limit where upper < 0 (it would support HOLDS with a margin that is not there) and *below* its lower limit
where lower > 0 (it would REFUTE a true claim). Plain Student bands with the same Bonferroni correction
are compared with fedbounds.evidence.empirical.bands on the same samples. A verdict is guarded besides: where one
replicate carries more of a column's variance than the reference law allows, it is UNDECIDED.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbounds import io
from fedbounds.evidence.empirical.band_validity import largest_share, share_limit
from fedbounds.evidence.empirical.bands import critical_value
from validate.markdown import markdown_table
from validate.runner import Study

Array = NDArray[np.float64]
Process = Callable[[np.random.Generator, int, int, int], Array]

ERROR_RATES = (1e-2, 1e-3)


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """The exact 95% interval for a probability."""
    from scipy.stats import binomtest

    result = binomtest(successes, trials).proportion_ci(0.95)
    return float(result.low), float(result.high)


SIZES = ((16, 1), (64, 1), (16, 50), (64, 50), (256, 50), (64, 1000))
SMALL_SIZES = ((16, 1), (64, 50))
# Numbers drawn for one cell (under a second), and a cap on trials, as more would narrow nothing of interest.
BUDGET, SMALL_BUDGET = 16_000_000, 400_000
MAX_TRIALS = 20_000
# Numbers held at once (16 MB).
CHUNK = 2_000_000
SEED = 20240607


def of_normals(law: Callable[..., Array], count: int = 1) -> Process:
    """Independent draws of a function of ``count`` standard normal variables."""
    return lambda rng, *shape: law(*(rng.standard_normal(shape) for _ in range(count)))


def sgd(batch: int, decaying: bool, paired: bool) -> Process:
    """One-dimensional SGD on E[h] w^2/2 with additive noise of variance 1 from w_0 = 1.

    w_{t+1} = (1 - eta h) w_t - eta xi, where h = 1 (batch 0: Gaussian noise only) or the mean of ``batch``
    chi-square variables (least squares with Gaussian features), so that with a = E[(1 - eta h)^2]
    Delta_{t+1} = a Delta_t + eta^2 holds with equality. ``paired``: d_t = w_{t+1}^2 - (a w_t^2 + eta^2);
    otherwise d_t = w_{t+1}^2 - Delta_{t+1}, divided by Delta_{t+1}.
    """

    def process(rng: np.random.Generator, trials: int, R: int, m: int) -> Array:
        w, delta, out = np.ones((trials, R)), 1.0, np.empty((m, trials, R))
        for t in range(m):
            eta = 1 / (t + 4) if decaying else 0.3
            h = rng.chisquare(batch, (trials, R)) / batch if batch else 1.0
            a = (1 - eta) ** 2 + (2 * eta**2 / batch if batch else 0.0)
            new = (1 - eta * h) * w - eta * rng.standard_normal((trials, R))
            delta = a * delta + eta**2
            out[t] = new**2 - (a * w**2 + eta**2) if paired else new**2 / delta - 1
            w = new
        return out.transpose(1, 2, 0)

    return process


PROCESSES: dict[str, Process] = {
    "Gaussian": of_normals(lambda z: z),
    # The reference law, and mirrored.
    "chi-square": of_normals(lambda z: z**2 - 1),
    "negative chi-square": of_normals(lambda z: 1 - z**2),
    "SGD distance": sgd(0, True, False),
    "SGD one-step difference": sgd(0, True, True),
    "minibatch distance, 1/t steps": sgd(1, True, False),
    "minibatch one-step difference, 1/t steps": sgd(1, True, True),
    "minibatch distance, constant step": sgd(1, False, False),
    # Of skewness 6.2 and 8.8, beyond the reference.
    "lognormal": of_normals(lambda z: np.exp(z) - np.exp(0.5)),
    "chi-square product": of_normals(lambda x, y: (x * y) ** 2 - 1, 2),
}


def t_extremes(process: Process, R: int, m: int, trials: int, rng: np.random.Generator) -> Array:
    """(trials, 3): for each trial the largest over m of -t, of t = sqrt(R) mean/s, and of one replicate's share."""
    rows = []
    done = 0
    while done < trials:
        size = min(trials - done, max(1, CHUNK // (R * m)))
        done += size
        d = process(rng, size, R, m)
        mean = d.mean(axis=1)
        variance = (np.einsum("trm,trm->tm", d, d) - R * mean**2) / (R - 1)
        t = np.sqrt(R) * mean / np.sqrt(variance)
        share = largest_share(d.max(axis=1) - mean, variance, R)
        rows.append(np.stack([(-t).max(axis=1), t.max(axis=1), share.max(axis=1)], axis=1))
    return np.concatenate(rows)


def measure(process: str, R: int, m: int, trials: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Misses on each side for both bands and both error rates on one cell, with Clopper-Pearson intervals."""
    from scipy.stats import t as student

    *sides, share = t_extremes(PROCESSES[process], R, m, trials, rng).T
    guarded = share > share_limit(R)
    records: list[dict[str, Any]] = []
    for rate in ERROR_RATES:
        level = rate / (2 * m)
        quantiles = {"student": float(student.isf(level, R - 1)), "ours": critical_value(R, level)}
        for band, q in quantiles.items():
            missed = {name: side > q for name, side in zip(("above", "below"), sides, strict=True)}
            missed |= {f"{name}_decided": side & ~guarded for name, side in missed.items()}
            counts = {name: int(side.sum()) for name, side in missed.items()}
            records.append(
                {"process": process, "R": R, "m": m, "error_rate": rate, "band": band, "quantile": q}
                | {"trials": trials, "guarded": int(guarded.sum()), **counts}
                | {f"{name}_interval": clopper_pearson(count, trials) for name, count in counts.items()}
            )
    return records


def study(small: bool = False, seed: int = SEED) -> list[dict[str, Any]]:
    """All records; ``small`` takes two sizes and a hundredth of the numbers (for the tests)."""
    records = []
    for i, process in enumerate(PROCESSES):
        for R, m in SMALL_SIZES if small else SIZES:
            trials = min(MAX_TRIALS, max(1, (SMALL_BUDGET if small else BUDGET) // (R * m)))
            records += measure(process, R, m, trials, np.random.default_rng([seed, i, R, m]))
    return records


def table(records: list[dict[str, Any]], error_rate: float) -> str:
    """A Markdown table in percent of trials; "(up to)" is the upper end of the 95% interval of a wrong verdict."""

    def percent(record: dict[str, Any], name: str) -> str:
        return f"{100 * record[name] / record['trials']:.3g}"

    rows, chosen = [], [r for r in records if r["error_rate"] == error_rate]
    for plain, ours in zip(chosen[::2], chosen[1::2], strict=True):
        cells = [ours[key] for key in ("process", "R", "m", "trials")]
        cells += [percent(record, side) for record in (plain, ours) for side in ("above", "below")]
        cells.append(percent(ours, "guarded"))
        for side in ("above_decided", "below_decided"):
            cells += [percent(ours, side), f"{100 * ours[f'{side}_interval'][1]:.2g}"]
        rows.append(cells)
    wrong = ("undecided", "wrong above", "(up to)", "wrong below", "(up to)")
    head = ("process", "R", "m", "trials", "Student above", "below", "ours above", "below", *wrong)
    return markdown_table(head, rows)


def tables(records: list[dict[str, Any]]) -> str:
    """The table at every error rate."""
    return "\n\n".join(f"nominal {100 * rate:g}%, in percent\n\n{table(records, rate)}" for rate in ERROR_RATES)


def picture(records: list[dict[str, Any]], path: Path, error_rate: float = 1e-3) -> None:
    """Miss rates on the worse side at R = 64, m = 50: Student against ours, with 95% intervals."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    chosen = [r for r in records if (r["R"], r["m"], r["error_rate"]) == (64, 50, error_rate)]
    figure = Figure(figsize=(8, 4.5), layout="constrained", dpi=130)
    axes = figure.add_subplot()
    names = list(PROCESSES)
    for band, shift, colour in (("student", -0.15, "tab:red"), ("ours", 0.15, "tab:blue")):
        for r in (r for r in chosen if r["band"] == band):
            misses, trials = max(r["above"], r["below"]), r["trials"]
            lo, hi = clopper_pearson(misses, trials)
            y = names.index(r["process"]) + shift
            axes.plot([max(lo, 1e-6), hi], [y, y], color=colour)
            if misses:
                axes.plot(misses / trials, y, "o", color=colour)
    axes.axvline(error_rate / 2, color="black", linestyle=":")
    axes.set(xscale="log", xlim=(1e-5, 1.2), yticks=range(len(names)), yticklabels=names)
    axes.invert_yaxis()
    axes.set_xlabel("miss rate on the worse side, with 95% interval\n(dotted: nominal for one side)")
    figure.suptitle("R = 64, m = 50: Student (red), chi-square reference (blue)")
    io.write(path, FigureCanvasAgg(figure).print_png)


STUDY = Study(__doc__, "calibration", study, tables, picture)

if __name__ == "__main__":
    STUDY.main()
