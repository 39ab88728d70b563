"""``fedbounds refute``: where does a claim fail?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Literal

import click

from fedbounds.cli.adapter import command
from fedbounds.cli.commands import contradiction_code, show

if TYPE_CHECKING:
    from fedbounds.study.ledger import Line
    from fedbounds.theory.verdict import Verdict

WIDTH = 100
HEAD = ["claim", "reading", "refuted by", "budget"]


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
        for verdict in result:
            if verdict.status == "REFUTED":
                show(script_of(claim_named(verdict.claim, plugins), verdict))
        return 0
    show(plain_table(HEAD, map(summary, result), WIDTH))
    if len(result) <= DETAILED:
        for verdict in result:
            show("\n" + instance_text(verdict))
    return contradiction_code(_beside_the_ledger(result, plugins))


# A single claim is shown with its instances; a table of all of them is long enough.
DETAILED = 4


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
