"""``fedbounds refute``: search for a counterexample, or verify those that are known."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.options import PLUGIN, QUIET, Place, sounded

if TYPE_CHECKING:
    from fedbounds.study.ledger import Line
    from fedbounds.study.tabular import Findings
    from fedbounds.theory.verdict import Verdict

WIDTH = 100
HEAD = ["claim", "reading", "refuted by", "budget"]


@click.command()
@click.argument("claim", required=False)
@click.option("--all", "everything", is_flag=True, help="Search every claim in every reading.")
@click.option("--reading", help="plain, literal, sync, all-steps or repaired (default: each that the claim states).")
@click.option("--budget", type=click.Choice(("small", "medium", "large")), default="small", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the search.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes, for --all.")
@click.option("--out", type=Place(), help="JSON file for the result; also how to continue.")
@PLUGIN
@click.option("--verify", is_flag=True, help="Verify the shipped counterexamples exactly; search nothing.")
@QUIET
def refute(verify: bool, quiet: bool, **options: Any) -> int:
    """Search for a counterexample to CLAIM and confirm it in exact arithmetic.

    What is not refuted is said so, with the closest approach and the budget spent, which proves nothing. Exits with 3
    where a proof or a certificate covers the very instance that refutes a claim.
    """
    from fedbounds.report.terminal import plain_table

    if verify:
        click.echo(
            plain_table(["counterexample", "refutes", "reading", "left", "right"], verified(), WIDTH), nl=False
        )
        return 0
    found = _search(quiet=quiet, **options)
    click.echo(plain_table(HEAD, map(summary, found), WIDTH), nl=False)
    if len(found) <= DETAILED:
        for verdict in found:
            click.echo("\n" + instance_text(verdict))
    return sounded(_beside_what_is_known(found, options["extra"]))


# A single claim is shown with its instances; a table of all of them is long enough.
DETAILED = 4


def _search(
    claim: str | None, everything: bool, jobs: int, extra: tuple[ModuleType, ...], quiet: bool, **options: Any
) -> Findings[Verdict]:
    """The verdicts of every claim and reading asked for."""
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.io import locked_file
    from fedbounds.report.terminal import progress

    if everything == (claim is not None):
        raise reject("refute needs one claim or --all", claim or "neither", "write fedbounds refute CLAIM")
    with locked_file(options["out"]), progress(not quiet) as bar:
        return fedbounds.refute(claim, jobs=min(jobs, os.cpu_count() or 1), plugins=extra, progress=bar, **options)


def _beside_what_is_known(found: Iterable[Verdict], extra: tuple[ModuleType, ...]) -> list[Line]:
    """The lines of the claims that were refuted: a proof or certificate that covers the instance is an alarm."""
    from fedbounds.plugins import claim_named
    from fedbounds.study.ledger import ANYWHERE, ledger_lines

    refuted = [(ANYWHERE, verdict) for verdict in found if verdict.status == "REFUTED"]
    keys = dict.fromkeys(verdict.claim for _, verdict in refuted)
    return ledger_lines({key: claim_named(key, extra) for key in keys}, refuted) if refuted else []


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


COMMANDS = [refute]
