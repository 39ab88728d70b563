"""``fedbounds referee``: is this theorem true?"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Literal

import click

from fedbounds.cli.adapter import Place, command, say, show, show_json

if TYPE_CHECKING:
    from fedbounds.referee.stages import Step
    from fedbounds.referee.trial import Stage, Trial

REFUTED, INTERRUPTED = 1, 130


@command("Judge a theorem", as_json="--json")
def referee(
    theorem: str,
    *,
    reading: str | None = None,
    budget: Literal["small", "large"] = "small",
    seed: Annotated[int, click.IntRange(min=0)] = 0,
    jobs: int | None = None,
    scheduler: str | None = None,
    out: Path | None = None,
    as_json: bool = False,
    junit: Annotated[Path | None, Place(dir_okay=False)] = None,
    fail_on: Literal["refuted"] | None = None,
    verbose: bool = False,
    script: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    quiet: bool = False,
) -> int:
    """Say whether THEOREM is true: a Python file with claims, a folder of them, or the key of a shipped claim.

    About a minute a claim with the small budget. Ctrl-C prints what was found; with --out, the same call continues.

    reading: One reading (default: each that the claim states).
    seed: Seed of the search.
    jobs: Processes (-1: one a core, the default for the large budget).
    scheduler: Address of a Dask scheduler to use instead.
    out: Folder for results, page, appendix; how to continue.
    as_json: Print JSON.
    junit: Write a JUnit file.
    fail_on: Exit with code 1 if a claim is refuted.
    script: Print a counterexample as a script of plain Python, and nothing else.
    verbose: Also what each stage found, and the statement in full.
    """
    import fedbounds
    from fedbounds import io
    from fedbounds.cli.options import CONTRADICTION
    from fedbounds.referee.trial import Outcome
    from fedbounds.report import trial_text
    from fedbounds.report.counterexample_script import script as script_of

    def said(trial: Trial) -> None:
        if script and trial.refutation is not None:
            show(script_of(trial.claim, trial.refutation))
        elif not (as_json or script):
            show(trial_text.to_text(trial, verbose))

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
            plugins=plugins,
            progress=progress,
            each=said,
        ).items
        if out is not None:
            io.write_text(out / "referee.html", trial_text.to_html(trials))
            io.write_text(out / "referee.tex", trial_text.to_latex(trials))
    if junit is not None:
        io.write_text(junit, trial_text.to_junit(trials))
    if as_json:
        show_json([trial.to_json() for trial in trials])
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
