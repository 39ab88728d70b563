"""``fedbounds referee``: is this theorem true?"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from fedbounds.cli.options import CONTRADICTION, PLUGIN, QUIET, Place, print_json, say

if TYPE_CHECKING:
    from fedbounds.referee.stages import Step
    from fedbounds.referee.trial import Stage, Trial

REFUTED, INTERRUPTED = 1, 130


@click.command()
@click.argument("theorem")
@click.option("--reading", help="One reading (default: each that the claim states).")
@click.option("--budget", type=click.Choice(("small", "large")), default="small", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the search.")
@click.option("--jobs", type=int, help="Processes (-1: one a core, the default for the large budget).")
@click.option("--scheduler", help="Address of a Dask scheduler to use instead.")
@click.option("--out", type=Place(), help="Folder for results, page, appendix; how to continue.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--junit", type=Place(dir_okay=False), help="Write a JUnit file.")
@click.option("--fail-on", type=click.Choice(("refuted",)), help="Exit with code 1 if a claim is refuted.")
@click.option("--verbose", "-v", is_flag=True, help="Also what each stage found, and the statement in full.")
@PLUGIN
@QUIET
def referee(
    theorem: str,
    extra: tuple[ModuleType, ...],
    reading: str | None,
    budget: str,
    seed: int,
    jobs: int | None,
    scheduler: str | None,
    out: Path | None,
    as_json: bool,
    junit: Path | None,
    fail_on: str | None,
    verbose: bool,
    quiet: bool,
) -> int:
    """Say whether THEOREM is true: a Python file with claims, a folder of them, or the key of a shipped claim.

    About a minute a claim with the small budget. Ctrl-C prints what was found; with --out, the same call continues.
    """
    import fedbounds
    from fedbounds import io
    from fedbounds.referee.trial import Outcome
    from fedbounds.report import trial_text as show

    def said(trial: Trial) -> None:
        if not as_json:
            click.echo(show.to_text(trial, verbose))

    progress = None if quiet else _say
    with contextlib.ExitStack() as held:
        for output in filter(None, (out and held.enter_context(io.locked(out)) / "referee.html", junit)):
            io.require_replaceable(output)
        trials = fedbounds.referee(
            theorem,
            reading,
            budget,
            seed=seed,
            out=out,
            jobs=jobs,
            scheduler=scheduler,
            plugins=extra,
            progress=progress,
            each=said,
        ).items
        if out is not None:
            io.write_text(out / "referee.html", show.to_html(trials))
            io.write_text(out / "referee.tex", show.to_latex(trials))
    if junit is not None:
        io.write_text(junit, show.to_junit(trials))
    if as_json:
        print_json([trial.to_json() for trial in trials])
    if not all(trial.finished for trial in trials):
        return INTERRUPTED
    if any(trial.outcome is Outcome.CONTRADICTION for trial in trials):
        return CONTRADICTION
    return REFUTED if fail_on and any(trial.refutation is not None for trial in trials) else 0


def _say(k: int, step: Step, found: Stage | None) -> None:
    """One line before a stage, with what it may take, and one after it, with what it found first."""
    from fedbounds.referee.stages import STAGES

    head = f"[{k}/{len(STAGES)}] {step.name}"
    if found is None:
        if step.seconds:
            say(f"{head}: up to about {step.seconds} s with the small budget")
        return
    say(f"{head}: {next(iter(found.lines), 'done').partition('; ')[0]} ({found.seconds:.1f} s)")


COMMANDS = [referee]
