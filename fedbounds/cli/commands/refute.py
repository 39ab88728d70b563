"""``fedbounds refute``: search for a counterexample, or verify those that are known."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Literal

import click

from fedbounds.cli.adapter import command, show

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

    What is not refuted is said so, with the closest approach and the budget spent, which proves nothing. Exits with 3
    where a proof or a certificate covers the very instance that refutes a claim.

    every: Search every claim in every reading.
    reading: plain, literal, sync, all-steps or repaired (default: each that the claim states).
    seed: Seed of the search.
    jobs: Processes, for --all.
    out: JSON file for the result; also how to continue.
    script: Print a counterexample as a script of plain Python, and nothing else.
    verify: Verify the shipped counterexamples exactly; search nothing.
    """
    import fedbounds
    from fedbounds.cli.options import contradiction_code
    from fedbounds.errors import reject
    from fedbounds.io import locked_file
    from fedbounds.plugins import claim_named
    from fedbounds.report.counterexample_script import script as script_of
    from fedbounds.report.terminal import plain_table, progress

    if verify:
        show(plain_table(["counterexample", "refutes", "reading", "left", "right"], verified(), WIDTH))
        return 0
    if every == (claim is not None):
        raise reject("refute needs one claim or --all", claim or "neither", "write fedbounds refute CLAIM")
    jobs = min(jobs, os.cpu_count() or 1)
    with locked_file(out), progress(not quiet) as bar:
        found = fedbounds.refute(claim, reading, budget, seed=seed, jobs=jobs, out=out, plugins=plugins, progress=bar)
    if script:
        for verdict in found:
            if verdict.status == "REFUTED":
                show(script_of(claim_named(verdict.claim, plugins), verdict))
        return 0
    show(plain_table(HEAD, map(summary, found), WIDTH))
    if len(found) <= DETAILED:
        for verdict in found:
            show("\n" + instance_text(verdict))
    return contradiction_code(_beside_what_is_known(found, plugins))


# A single claim is shown with its instances; a table of all of them is long enough.
DETAILED = 4


def _beside_what_is_known(found: Iterable[Verdict], plugins: tuple[ModuleType, ...]) -> list[Line]:
    """The lines of the claims that were refuted: a proof or certificate that covers the instance is an alarm."""
    from fedbounds.plugins import claim_named
    from fedbounds.study.ledger import ANYWHERE, ledger_lines

    refuted = [(ANYWHERE, verdict) for verdict in found if verdict.status == "REFUTED"]
    keys = dict.fromkeys(verdict.claim for _, verdict in refuted)
    return ledger_lines({key: claim_named(key, plugins) for key in keys}, refuted) if refuted else []


def summary(verdict: Verdict) -> tuple[str, ...]:
    """One row of the table: claim, reading, both sides or the closest approach, evaluations."""
    spent = f"{verdict.data.get('budget', '')} {verdict.data.get('evaluations', 0)}".strip()
    end = ", exactly" if verdict.status == "REFUTED" else ";"
    return verdict.claim, verdict.reading, verdict.detail.partition(end)[0], spent


def instance_text(verdict: Verdict) -> str:
    """The counterexample of a verdict in full: its numbers and both sides as fractions."""
    from fedbounds.report.trial_text import instance

    name = f"{verdict.claim} [{verdict.reading}]"
    if verdict.status != "REFUTED":
        return f"{name}: {verdict.detail}."
    when = "" if verdict.data.get("t") is None else f" at t = {verdict.data['t']}"
    return "\n".join([f"{name} is false{when}:", *instance(verdict.data)])


def verified() -> list[list[str]]:
    """One row a shipped counterexample, each verified exactly; the first that fails is an input error."""
    from fedbounds.evidence.exact.compare import short
    from fedbounds.evidence.exact.counterexamples import all_files, read

    rows = []
    for path in all_files():
        example = read(path)
        sides = example.verify()
        rows.append([example.name, example.subject, example.reading, short(sides.lhs), short(sides.rhs)])
    return rows
