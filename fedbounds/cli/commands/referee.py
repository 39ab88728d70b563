"""``fedbounds referee``, ``sharpen`` and ``refute``: is a theorem true, what of it is proved, where is it false?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Literal

import click

from fedbounds.cli import INTERRUPTED
from fedbounds.cli.adapter import BAD_INPUT, CONTRADICTION, command
from fedbounds.cli.commands import contradiction_code, say, say_faults, show, show_json

if TYPE_CHECKING:
    from fedbounds.referee.stage_context import Stage
    from fedbounds.referee.stages import Step
    from fedbounds.referee.trial import Trial
    from fedbounds.study.ledger import Line
    from fedbounds.theory.verdict import Verdict

REFUTED = 1
# Characters of a line of a table.
WIDTH = 100
# What is asked after a verdict.
NEXT = {
    "FALSE": "What would be true instead? Looked for: up to about {seconds:.0f} s of processor time.",
    "PROVED": "How much stronger could it be? Ask fedbounds sharpen {theorem}.",
    "OPEN": "What of its form is proved? Ask fedbounds sharpen {theorem}.",
}
LONGER = "--repair looks for longer.\n"


@command("Judge a theorem", label="--theorem")
def referee(
    theorem: str,
    *,
    label: str | None = None,
    reading: str | None = None,
    budget: Literal["small", "large"] = "small",
    seed: Annotated[int, click.IntRange(min=0)] = 0,
    jobs: int | None = None,
    seconds: Annotated[float | None, click.FloatRange(min=0, min_open=True)] = None,
    out: Path | None = None,
    format: Literal["text", "json"] = "text",
    fail_on: Literal["refuted"] | None = None,
    verbose: bool = False,
    script: bool = False,
    repair: bool = False,
    rocq: Annotated[float, click.FloatRange(min=0)] = 60.0,
    plugins: tuple[ModuleType, ...] = (),
    quiet: bool = False,
) -> int:
    """Say whether THEOREM is true: a LaTeX or Python file, a folder of the latter, or the key of a shipped claim.

    About a minute a claim with the small budget, longer with quantities of your own. Of a false claim the nearest
    statements that are proved, or not refuted, follow in some seconds. Ctrl-C prints what was found.

    label: Only the claim of a file with this key, or label in LaTeX.
    reading: One reading (default: each that the claim states).
    seed: Seed of the search.
    jobs: Processes (-1: one a core, the default for the large budget).
    seconds: Processor seconds that a claim may take, shared among the stages; the answer names those that were cut.
    out: Folder for results and their page.
    fail_on: Exit with code 1 if a claim is refuted.
    script: Print a counterexample as a script of plain Python, and nothing else.
    rocq: Seconds for Rocq, where it is installed, to check a proof that is found; 0: it is not asked.
    repair: Look longer for the nearest statements to a false claim that stand: about a minute in place of seconds.
    verbose: Also what each stage found, and the statement in full.
    """
    import fedbounds
    from fedbounds import io
    from fedbounds.referee.repair import limit
    from fedbounds.referee.theorems import theorems_and_faults
    from fedbounds.report import trial_text
    from fedbounds.report.counterexample_text import script as script_of

    nearest = not script and (repair or None)

    def print_verdict(trial: Trial) -> None:
        if script and trial.refutation is not None:
            show(script_of(trial.claim, trial.refutation))
        elif not (format == "json" or script):
            show(trial_text.to_text(trial, verbose))
        if not (quiet or script) and trial.outcome in NEXT:
            named = theorem if len(claims) == 1 else f"{theorem} --theorem {trial.claim.key}"
            say(NEXT[trial.outcome].format(theorem=named, seconds=limit(trial, nearest, seconds)))
            say_about_rocq(trial, rocq)

    def print_rest(trial: Trial) -> None:
        if format == "text":
            statements = [*trial_text.nearest_statements(trial), LONGER * (not repair)]
            show("\n".join(trial_text.rocq_answer(trial.whole_proof) or statements))

    claims, faults = theorems_and_faults(theorem, label, plugins)
    if not claims:
        faults.raise_all()
    say_faults(faults)
    progress = None if quiet else _say
    if out is not None:
        io.require_replaceable(out / "referee.html")
    with io.locked(out):
        trials = fedbounds.referee(
            tuple(claims.values()),
            reading,
            budget,
            seed=seed,
            out=out,
            jobs=jobs,
            seconds=seconds,
            plugins=plugins,
            progress=progress,
            each=print_verdict,
            repair=nearest,
            rocq=0 if script else rocq,
            each_followed=print_rest,
        ).items
        if out is not None:
            io.write_text(out / "referee.html", trial_text.page(trials))
    if format == "json":
        show_json([trial.to_json() for trial in trials])
    unread = f"{len(faults)} of {len(faults) + len(claims)}" * bool(faults)
    return _code(trials, fail_on, unread, f", kept in {out}" if out is not None else "")


def say_about_rocq(trial: Trial, seconds: float) -> None:
    """Whether Rocq is asked about a proof that was found, and for how long."""
    from fedbounds.evidence.kernel import found_proof

    if trial.whole_proof is None or "script" not in trial.whole_proof.data:
        return
    if not found_proof.may_ask(trial.whole_proof):
        say("Rocq is not installed here (apt-get install coq): it would be asked about the proof.")
    else:
        say(f"Does Rocq accept it? Up to {seconds:g} s." if seconds else "Ask Rocq about it with --rocq SECONDS.")


def _code(trials: Sequence[Trial], fail_on: str | None, unread: str, saved: str) -> int:
    """The exit code of trials; what an interruption left, and what could not be read, is said."""
    from fedbounds.referee.trial import Outcome

    if not all(trial.finished or trial.fault for trial in trials):
        say(f"Interrupted: the verdict is what the stages above found{saved}.")
        return INTERRUPTED
    if unread:
        say(f"{unread} theorems could not be read, see the errors above.")
    if any(trial.outcome is Outcome.CONTRADICTION for trial in trials):
        return CONTRADICTION
    if unread or any(trial.fault for trial in trials):
        return BAD_INPUT
    return REFUTED if fail_on and any(trial.refutation is not None for trial in trials) else 0


@command("Judge a theorem", label="--theorem")
def sharpen(
    theorem: str,
    *,
    label: str | None = None,
    reading: str | None = None,
    seconds: Annotated[float, click.FloatRange(min=0, min_open=True)] = 45.0,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["text", "json"] = "text",
) -> None:
    """Find the strongest form of THEOREM that is proved: smaller terms, fewer assumptions, longer steps.

    Each change is kept if the statement with it is proved. A theorem without proof is begun from a multiple of its
    right side that has one.

    label: The claim of a file with this key, or label in LaTeX.
    seconds: Processor seconds to spend, about.
    """
    from fedbounds.referee.sharpen import TOGETHER
    from fedbounds.referee.theorems import one_inequality
    from fedbounds.referee.theorems import sharpen as sharpened
    from fedbounds.report.terminal_symbols import worded

    claim, _ = one_inequality(theorem, reading, label, seconds, plugins)  # what is wrong with it is said alone
    say(f"Up to about {seconds:g} s of processor time. Changes that are proved:")

    def in_letters(lines: str) -> str:
        return worded(lines, claim.lhs.free_symbols | claim.rhs.free_symbols)

    def print_change(change: str) -> None:
        say(f"  {in_letters(change)}")

    result = sharpened(theorem, reading, label=label, seconds=seconds, plugins=plugins, progress=print_change)
    if format == "json":
        return show_json(result.to_json())
    answer, together, front = str(result).partition(TOGETHER)  # a table names terms, which may be called as symbols
    show(f"{in_letters(answer)}{together}{front}")


def _say(k: int, step: Step, stage: Stage | None) -> None:
    """One line before a stage, with what it may take, and one after it, with what it found first."""
    from fedbounds.referee.stages import STAGES

    head = f"[{k}/{len(STAGES)}] {step.name}"
    if stage is None:
        if step.seconds:
            say(f"{head}: up to about {step.seconds} s with the small budget")
        return
    say(f"{head}: {_headline(stage.lines)} ({stage.seconds:.1f} s)")
    if any(verdict.status == "HOLDS" and verdict.evidence in ("symbolic", "kernel") for verdict in stage.verdicts):
        say("A proof is found. What is left looks for contradictions and stronger forms: Ctrl-C keeps the proof.")


def _headline(lines: Sequence[str]) -> str:
    """The first sentence; of a list its first items too."""
    if not lines:
        return "done"
    end = " " + lines[1].strip() if lines[0].endswith(":") and len(lines) > 1 else ""
    return lines[0].partition("; ")[0] + end


@command("Judge a theorem", every="--all")
def refute(
    claim: str | None = None,
    *,
    every: bool = False,
    reading: str | None = None,
    budget: Literal["small", "medium", "large"] = "small",
    seed: Annotated[int, click.IntRange(min=0)] = 0,
    jobs: Annotated[int, click.IntRange(min=1)] = 1,
    out: Path | None = None,
    plugins: tuple[ModuleType, ...] = (),
    verify: bool = False,
    script: bool = False,
    quiet: bool = False,
) -> int:
    """Search for a counterexample to CLAIM and confirm it in exact arithmetic.

    Otherwise prints the closest approach and the budget spent; that proves nothing. Exits with 3 if a proof or a
    certificate covers the instance that refutes a claim.

    every: Search every claim in every reading.
    reading: plain, literal, sync, all-steps or repaired (default: each that the claim states).
    seed: Seed of the search.
    jobs: Processes.
    out: JSON file for the result.
    script: Print a counterexample as a script of plain Python, and nothing else.
    verify: Verify the shipped counterexamples exactly, all or those to CLAIM; search nothing.
    """
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.io import locked_file
    from fedbounds.plugins import claim_named
    from fedbounds.report.counterexample_text import script as script_of
    from fedbounds.report.terminal import plain_table, progress

    if verify:
        _verify_shipped(claim, reading, script)
        return 0
    if every == (claim is not None):
        raise reject("refute needs one claim or --all", claim or "neither", "write fedbounds refute CLAIM")
    jobs = min(jobs, os.cpu_count() or 1)
    with locked_file(out), progress(not quiet) as bar:
        result = fedbounds.refute(
            claim, reading, budget, seed=seed, jobs=jobs, out=out, plugins=plugins, progress=bar
        )
    if script:
        for verdict in (verdict for verdict in result if verdict.status == "REFUTED"):
            show(script_of(claim_named(verdict.claim, plugins), verdict))
        return 0
    show(plain_table(["claim", "reading", "refuted by", "budget"], map(summary, result), WIDTH))
    for verdict in () if every else result:
        show("\n" + instance_text(verdict))
    return contradiction_code(_beside_the_ledger(result, plugins))


def _beside_the_ledger(verdicts: Iterable[Verdict], plugins: tuple[ModuleType, ...]) -> list[Line]:
    """The lines of the claims that were refuted: a proof or certificate that covers the instance is an alarm."""
    from fedbounds.plugins import claim_named
    from fedbounds.study.ledger import ANYWHERE, ledger_lines

    refuted = [(ANYWHERE, verdict) for verdict in verdicts if verdict.status == "REFUTED"]
    keys = dict.fromkeys(verdict.claim for _, verdict in refuted)
    return ledger_lines({key: claim_named(key, plugins) for key in keys}, refuted) if refuted else []


def summary(verdict: Verdict) -> tuple[str, ...]:
    """One row of the table: claim, reading, both sides or the closest approach, evaluations."""
    spent = f"{verdict.data.get('budget', '')} {verdict.data.get('evaluations', 0)}".strip()
    end = ", exactly" if verdict.status == "REFUTED" else ";"
    return verdict.claim, verdict.reading, verdict.detail.partition(end)[0], spent


def instance_text(verdict: Verdict) -> str:
    """The counterexample of a verdict in full: its numbers and both sides as fractions."""
    from fedbounds.report.counterexample_text import instance

    name = f"{verdict.claim} [{verdict.reading}]"
    if verdict.status != "REFUTED":
        return f"{name}: {verdict.detail}."
    when = "" if verdict.data.get("t") is None else f" at t = {verdict.data['t']}"
    return "\n".join([f"{name} is false{when}:", *instance(verdict.data)])


def _verify_shipped(name: str | None, reading: str | None, script: bool) -> None:
    """Verify each shipped counterexample, or those to a claim; one that fails is an input error. Then print them."""
    from fedbounds.evidence.exact.compare import short
    from fedbounds.evidence.exact.counterexamples import shipped_counterexamples
    from fedbounds.report.claim_text import length_note_of
    from fedbounds.report.counterexample_text import stored_script
    from fedbounds.report.terminal import plain_table

    examples = shipped_counterexamples(name, reading)
    sides = [example.verify() for example in examples]
    if script:
        show("\n".join(map(stored_script, examples)))
        return
    rows = [
        [e.name, e.subject, e.reading, short(s.lhs), short(s.rhs), "verified"]
        for e, s in zip(examples, sides, strict=True)
    ]
    show(plain_table(["counterexample", "refutes", "reading", "left", "right", "verdict"], rows, WIDTH))
    for example in examples:
        if note := length_note_of(example):
            show(f"{example.name}: {note}")
