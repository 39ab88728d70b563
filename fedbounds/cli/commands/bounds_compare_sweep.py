"""``fedbounds bounds``, ``compare`` and ``sweep``: bounds at constants, theorems on a problem, grids of studies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from fedbounds.cli.adapter import command, given_settings
from fedbounds.cli.commands import say, show, show_as

# What a problem does not say.
NEEDED = ("L", "mu", "Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
FLAGS = {"N": "--clients", "Delta_0": "--delta0", "pi_min": "--pi"}
# Of a problem, constants that the final bound alone takes.
FINAL = ("N", "p_min")
# Settings that choose a problem whose constants are filled in.
PROBLEM = ("problem", "data", "partition", "limit", "standardise", "regularisation", "classes", "seed", "plugins")


@command("Study a problem", settings=PROBLEM, more="fedbounds.study.bounds:bounds", **FLAGS)
def bounds(*, format: Literal["table", "json"] = "table", **options: Any) -> None:
    """Evaluate the bounds without a run: speed, error, value at T, and the rounds to reach epsilon.

    --data or --problem fills in what is not given of L, mu, Gamma, ||w_0 - w*||^2, N and the smallest p_i, from
    w_0 = 0.
    """
    from fedbounds.report.verdict_tables import bounds_blocks
    from fedbounds.study.bounds import bounds as evaluate

    chosen = given_settings({name: options.pop(name) for name in PROBLEM})
    constants = given_settings(options)
    if chosen:
        constants = _with_problem(chosen, constants)
    missing = [FLAGS.get(name, f"--{name.replace('_', '-')}") for name in NEEDED if name not in constants]
    if missing:
        raise click.UsageError(f"Missing {', '.join(missing)}.")
    result = evaluate(**constants)
    show_as(format, result.to_json(), bounds_blocks(result))
    for warning in result.warnings:
        say(f"Warning: {warning}.")


def _with_problem(chosen: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The constants ``given``, and those that are not of the problem that the settings ``chosen`` name."""
    from fedbounds.plugins import modules_from
    from fedbounds.report.number_format import number
    from fedbounds.study.bounds import constants_of
    from fedbounds.study.objects_from_settings import build_problem
    from fedbounds.study.settings import Settings

    settings = Settings.of({**chosen, **({"clients": given["N"]} if "N" in given else {})})
    result = constants_of(build_problem(settings, modules_from(settings.plugins))) | given
    if "pi_min" not in given:
        result = {name: value for name, value in result.items() if name not in FINAL}
    listed = ", ".join(f"{name} = {number(value)}" for name, value in result.items() if name not in given)
    say(f"From the problem, with w_0 = 0: {listed}.")
    return result


BEFOREHAND = "About a minute for 20 clients, 60 rounds and 64 replicates; longer with more, or on a busy machine."
# What the comparison sets itself: FedAvg's weights, each theorem's last reading, constants of the run.
SET_HERE = (
    "weightings",
    "readings",
    "step",
    "stride",
    "sigma_sq",
    "G_sq",
)


@command("Study a problem", settings=(), but=(*SET_HERE, "engine"), algorithms="--algorithm,--weighting")
def compare(
    *,
    algorithms: tuple[str, ...] = (),
    target: float = 0.01,
    out: Path | None = None,
    format: Literal["table", "json"] = "table",
    quiet: bool = False,
    **flags: Any,
) -> None:
    """Set every theorem that applies to a problem, and every algorithm, side by side.

    Prints each bound beside the measured error, the rounds to the target by theorem and in truth, and which rule to
    take. Each has its own step size. A minute for 20 clients, 60 rounds and 64 replicates. The minimiser is computed
    first: of a large file take a part with --limit.

    algorithms: An algorithm or a weighting, such as fedprox:strength=0.5 or fedmax. Repeatable.
    target: Fraction of ||w_0 - w*||^2 to reach.
    out: Folder for compare.json and the picture.
    """
    from fedbounds import io
    from fedbounds.report import comparison_text
    from fedbounds.report.figures import styles
    from fedbounds.report.terminal import progress
    from fedbounds.study.compare import compare_at as run
    from fedbounds.study.settings import Settings

    with io.locked(out):
        with progress(not quiet, lines=True, first=BEFOREHAND) as bar:
            result = run(Settings.of(given_settings(flags)), target, algorithms, bar)
        if out is not None:
            io.write_json(out / "compare.json", result.to_json())
            styles.save(partial(comparison_text.figure, result), out, "compare")
    show_as(format, result.to_json(), comparison_text.blocks(result))
    if out is not None and not quiet:
        say(f"Saved compare.json, compare.png and compare.svg in {out}.")


# Reasons of failure that are printed; the table holds every one.
SHOWN = 5
FAILED = 2


@command("Study a problem")
def sweep(
    study: Path,
    *,
    out: Path,
    jobs: int = -1,
    quiet: bool = False,
) -> int:
    """Examine every cell of the grid in STUDY (TOML) and keep the verdicts under --out.

    The same command continues a sweep that was stopped, and computes cells that failed again. Writes a file a
    cell, and sweep.csv. Exits with 2 if cells failed.

    out: Folder of the results; the same folder continues a sweep.
    jobs: Processes; -1 is one a core.
    """
    import fedbounds
    from fedbounds.report import terminal as console
    from fedbounds.report.number_format import counted
    from fedbounds.report.verdict_tables import counts_table

    try:
        with console.progress(not quiet, lines=True) as bar:
            result = fedbounds.sweep(study, out, jobs=jobs, progress=bar)
    except KeyboardInterrupt:
        say("Every finished cell is kept: the same command goes on from there.")
        raise
    done, counts = result.summary, counts_table(result)
    show(console.plain_table(counts.head, counts.rows))
    show(f"{counted(done.total, 'cell')}, {done.computed} computed now, {done.failed} failed: {out / 'sweep.csv'}")
    if done.failed:
        say("Failed, the commonest reason first (the same command computes them again):")
        for message, count in result.failures[:SHOWN]:
            say(f"  {count} x {message}")
    return FAILED if done.failed else 0
