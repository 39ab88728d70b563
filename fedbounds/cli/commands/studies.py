"""``fedbounds compare``, ``pareto`` and ``sweep``: theorems and algorithms on a problem, and grids of studies."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from fedbounds.cli.adapter import command, say, show, show_as
from fedbounds.cli.interrupt import INTERRUPTED
from fedbounds.errors import Interrupted

if TYPE_CHECKING:
    from fedbounds.study.comparison_rows import TheoremComparison

BEFOREHAND = "About a minute for 20 clients, 60 rounds and 64 replicates; longer with more, or on a busy machine."
# What the comparison sets itself: FedAvg's weights, each theorem's last reading, constants of the run.
SET_HERE = (
    "weightings",
    "readings",
    "step",
    "stride",
    "constants",
    "moments",
    "across",
    "radius",
    "sigma_sq",
    "G_sq",
)


@command(
    "Study a problem", settings=(), but=(*SET_HERE, "aggregation", "engine"), algorithms="--algorithm,--weighting"
)
def compare(
    *,
    algorithms: tuple[str, ...] = (),
    target: float = 0.01,
    out: Path | None = None,
    format: Literal["table", "json", "markdown"] = "table",
    quiet: bool = False,
    **flags: Any,
) -> int:
    """Set every theorem that applies to a problem, and every algorithm, side by side.

    Prints each bound beside the measured error, the rounds to the target by theorem and in truth, and whether the
    theorems rank the algorithms as the runs do. Each has its own step size. Takes about a minute for 20 clients, 60
    rounds and 64 replicates. The minimiser is computed first: of a large file take a part with --limit.

    algorithms: An algorithm or a weighting, such as fedprox:strength=0.5 or fedmax. Repeatable.
    target: Fraction of ||w_0 - w*||^2 to reach.
    out: Folder for compare.json and the picture.
    """
    from fedbounds import io
    from fedbounds.cli.click_commands import given
    from fedbounds.report import comparison_text
    from fedbounds.report.figures import files
    from fedbounds.report.terminal import progress
    from fedbounds.study.compare import compared as run
    from fedbounds.study.settings import Settings

    with io.locked(out) if out is not None else contextlib.nullcontext():
        try:
            with progress(not quiet, lines=True, first=BEFOREHAND) as bar:
                result = run(Settings.of(given(flags)), target, algorithms, bar)
        except Interrupted as stopped:
            return _interrupted(stopped.partial, format)
        if out is not None:
            io.write_json(out / "compare.json", result.to_json())
            files.save(partial(comparison_text.figure, result), out, "compare")
    show_as(format, result.to_json(), comparison_text.blocks(result))
    if out is not None and not quiet:
        say(f"Saved compare.json, compare.png and compare.svg in {out}.")
    return 0


def _interrupted(part: TheoremComparison, format: str) -> int:
    """Print the rows that were finished, where that is a table, and say how many they are."""
    from fedbounds.report.comparison_text import finished_rows
    from fedbounds.report.number_format import counted

    if format != "json":
        show_as(format, None, finished_rows(part))
    rows = f"{counted(len(part.theorems), 'theorem')} and {counted(len(part.algorithms), 'algorithm')}"
    say(f"Interrupted: {rows} were tried, and nothing was saved.")
    return INTERRUPTED


# The settings that matter here: the problem, and the protocol of a deterministic run.
USED = ("problem", "data", "partition", "clients", "regularisation", "tau", "rounds", "step", "seed", "plugins")
COLUMNS = """\
rho_bar: smallest skew along the run; rho_tilde: largest skew at w*.
speed = 1/rho_bar multiplies the noise term of the bound, error = rho_tilde/rho_bar - 1 its error term.
cost: what the weights change of the bound, over that of the best weights in hindsight; 1 is the best."""


@command("Study a problem", settings=USED, weightings="--weighting", horizons="--horizon")
def pareto(
    *, weightings: tuple[str, ...] = (), horizons: tuple[Annotated[int, click.IntRange(1)], ...] = (), **flags: Any
) -> None:
    """Set speed 1/rho_bar against error rho_tilde/rho_bar - 1 of each weighting and of the best weights.

    "cost" is (price + rho_tilde)/rho_bar over that of the hindsight front, the best constant weights at the points
    that FedAvg visits. No scheme attains the front, because other weights visit other points.

    weightings: A scheme to place; repeat it. A default set if none.
    horizons: T at which to price speed.
    """
    from fedbounds.cli.click_commands import given
    from fedbounds.report.terminal import plain_table, working
    from fedbounds.study.pareto import SCHEMES, picture
    from fedbounds.study.settings import Settings

    with working("schemes and the best weights"):
        result = picture(Settings.of(given(flags)), weightings or SCHEMES, horizons)
    head = ["scheme", "rho_bar", "rho_tilde", "speed", "error"]
    head += [f"cost at T={horizon}" for horizon in result.prices]
    rows = []
    for mark in (*result.schemes, *result.front):
        costs = [f"{result.excess_cost(mark, price):.4g}" for price in result.prices.values()]
        numbers = [f"{v:.4g}" for v in (mark.rho_bar, mark.rho_tilde, mark.speed, mark.error)]
        rows.append([mark.name, *numbers, *costs])
    show(plain_table(head, rows))
    show(COLUMNS)
    for horizon, price in result.prices.items():
        cheapest = min(result.schemes, key=lambda mark: result.excess_cost(mark, price))
        show(f"Recommended for T = {horizon}: {cheapest.name}, cost {result.excess_cost(cheapest, price):.3g}.")
    for horizon, price in result.prices.items():
        show(f"price of speed in units of error at T = {horizon}: {price:.4g}")


# Reasons of failure that are printed; the table holds every one.
SHOWN = 5
FAILED = 2


@command("Study a problem")
def sweep(
    study: Path,
    *,
    out: Path,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
) -> int:
    """Examine every cell of the grid in STUDY (TOML) and keep the verdicts in one table under --out.

    The same command continues a sweep that was stopped. Writes sweep.sqlite and sweep.csv. Exits with 2
    if cells failed.

    out: Folder of the table; the same folder continues a sweep.
    jobs: Processes; -1 is one a core.
    scheduler: A Dask scheduler to use instead, as tcp://host:8786.
    retry_failed: Compute the cells that failed once more.
    """
    import fedbounds
    from fedbounds.report import terminal as console
    from fedbounds.report.html.report_page import counts_table
    from fedbounds.report.number_format import counted

    try:
        with console.progress(not quiet, lines=True) as bar:
            result = fedbounds.sweep(
                study, out, jobs=jobs, scheduler=scheduler, retry_failed=retry_failed, progress=bar
            )
    except KeyboardInterrupt:
        say("Every finished cell is kept: the same command goes on from there.")
        raise
    done, counts = result.summary, counts_table(result)
    show(console.plain_table(counts.head, counts.rows))
    show(f"{counted(done.total, 'cell')}, {done.computed} computed now, {done.failed} failed: {out / 'sweep.csv'}")
    if done.failed:
        say("Failed, the commonest reason first (--retry-failed computes them again):")
        for message, count in result.failures[:SHOWN]:
            say(f"  {count} x {message}")
    return FAILED if done.failed else 0
