"""``fedbounds power``: the table of mutants by claim, and what the checker makes of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import click

from fedbounds.cli.options import FRESH, PLUGIN, formats, print_json

if TYPE_CHECKING:
    from fedbounds.referee.power import Row

LETTERS = {
    "refuted": "R",
    "survives": "s",
    "still true": "T",
    "weaker": "w",
    "not exercised": ".",
    "undefined": "/",
}
LEGEND = """\
R refuted by some regime; s survives every regime; T survives and is proved still true; w weaker than the
claim, so not a mutant; . nothing exercises it; / it divides by zero and says nothing. 'below' ('above'): the
factor on the part nearest to 1 that is refuted, by the regime named: 0.98 means that losing 2% is noticed, -20
that the claim could lose the part 21 times over. 'proved': the factor down to (for ^: up to) which the claim is
proved still true."""
CHANGES = {
    "deleted": "0",
    "sign flipped": "-1",
    "divided by 10": "/10",
    "divided by 100": "/100",
    "divided by 1000": "/1000",
    "times 10": "x10",
    "times 100": "x100",
    "times 1000": "x1000",
}
SHORTEST_REGIMES = 2
# Columns of the table of one claim.
WIDTH = 150


@click.command()
@click.option("--claim", "keys", multiple=True, metavar="KEY", help="A claim to mutate (default: every one).")
@PLUGIN
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1 is one a core.")
@formats("text", "json")
@click.option("--verbose", "-v", is_flag=True, help="Every part of every claim, as --claim shows those of one.")
@FRESH
def power(
    keys: tuple[str, ...], extra: tuple[ModuleType, ...], jobs: int, form: str, verbose: bool, fresh: bool
) -> None:
    """Mutate every claim and say which mutants the checker refutes, by which regime, and how small a change.

    Takes about a minute for all claims the first time; they share one table: how many mutants were noticed, and
    which were not.
    """
    from fedbounds import plugins
    from fedbounds.referee import power as table
    from fedbounds.report import terminal as console

    chosen = [plugins.claim_named(key, extra) for key in keys] or list(plugins.claims_from(None, extra).values())

    def thrown() -> list[Row]:
        with console.progress() as bar:
            return table.power(chosen, progress=bar, jobs=jobs)

    rows = thrown() if fresh or extra else _again([claim.key for claim in chosen], thrown)
    if form == "json":
        print_json({"rows": [row.to_json() for row in rows], "tally": table.tally(rows)})
    elif keys or verbose:
        click.echo("\n".join(lines(rows)))
    else:
        click.echo(console.plain_table(PAGE, [line(key, rows) for key in dict.fromkeys(row.claim for row in rows)]))
        click.echo("Mutants: " + ", ".join(f"{n} {outcome}" for outcome, n in table.tally(rows).items()) + ".")


def _again(keys: list[str], throw: Callable[[], list[Row]]) -> list[Row]:
    """The rows that ``throw`` gives for installed claims, or gave before with these sources."""
    from fedbounds.io import shaped
    from fedbounds.referee.power import Row
    from fedbounds.study.cache import kept

    def read(found: object) -> list[Row]:
        return shaped(found, list[Row], "a table of mutants")

    return kept("power", throw, read, lambda rows: [row.to_json() for row in rows], of=keys)


PAGE = ("claim", "refuted", "still true", "survive", "what no regime notices")
# Parts named for a claim in the table of all of them.
NAMED = 3


def line(claim: str, rows: Sequence[Row]) -> tuple[object, ...]:
    """One claim in the table of all: counts of its mutants, and the parts whose change nothing notices."""
    mutants = [row for row in rows if row.claim == claim and row.change]
    counts = [sum(row.outcome == outcome for row in mutants) for outcome in ("refuted", "still true", "survives")]
    missed: dict[str, list[str]] = {}
    for row in mutants:
        if row.outcome == "survives":
            missed.setdefault(row.part, []).append(CHANGES.get(row.change, row.change))
    named = [f"{part} ({', '.join(changes)})" for part, changes in list(missed.items())[:NAMED]]
    more = [f"{len(missed) - NAMED} parts more"] if len(missed) > NAMED else []
    return claim, *counts, "; ".join(named + more)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """The table as text: a block a claim, then the proofs and the tally."""
    from fedbounds.referee.power import tally

    yield from LEGEND.splitlines()
    for claim in dict.fromkeys(row.claim for row in rows):
        yield ""
        yield from _block([row for row in rows if row.claim == claim])
    arguments = list(dict.fromkeys(row.proof for row in rows if row.proof))
    for argument in arguments:
        used = ", ".join(dict.fromkeys(row.claim for row in rows if row.proof == argument))
        yield ""
        yield from textwrap.wrap(f"T ({used}): {argument}", 112, subsequent_indent="  ")
    yield ""
    yield "Mutants: " + ", ".join(f"{count} {outcome}" for outcome, count in tally(rows).items()) + "."


def _block(rows: Sequence[Row]) -> Iterator[str]:
    from fedbounds.report.terminal import plain_table

    for row in rows:
        if not row.change:
            by = f" (by {_names(row.regimes)})" if row.regimes else ""
            yield f"{row.claim} [{row.reading}]: {row.outcome}{by}"
    parts = [row for row in rows if row.change in CHANGES or row.change == "any"]
    if parts:
        body = [
            _part(part, [row for row in parts if row.part == part])
            for part in dict.fromkeys(row.part for row in parts)
        ]
        head = ("part", *CHANGES.values(), "below", "above", "proved", "sharpest regime")
        yield from (f"  {line}" for line in plain_table(head, body, WIDTH).splitlines())
    for row in rows:
        if row.change and row not in parts:
            by = f" (by {_names(row.regimes)})" if row.regimes else ""
            yield f"  {LETTERS[str(row.outcome)]} {row.part}: {row.change}{by}"


def _part(part: str, rows: Sequence[Row]) -> tuple[str, ...]:
    found = {row.change: row for row in rows}
    letters = [LETTERS[str(found[change].outcome)] if change in found else "." for change in CHANGES]
    down = next((row for row in rows if row.caught is not None and row.caught < 1), None)
    up = next((row for row in rows if row.caught is not None and row.caught > 1), None)
    proved = next((f"{row.proved:.3g}{'^' if row.proved > 1 else ''}" for row in rows if row.proved is not None), "")
    regime = " / ".join(dict.fromkeys(row.sharpest for row in (down, up) if row is not None))
    return part, *letters, _factor(down), _factor(up), proved, regime


def _factor(row: Row | None) -> str:
    """A caught factor: near 1 its distance from 1 is what matters."""
    if row is None or row.caught is None:
        return ""
    change = row.caught - 1
    return f"1{change:+.1g}" if abs(change) < 1e-2 else f"{row.caught:.3g}"


def _names(regimes: Sequence[str]) -> str:
    shown = "; ".join(regimes[:SHORTEST_REGIMES])
    return shown + (f"; {len(regimes) - SHORTEST_REGIMES} more" if len(regimes) > SHORTEST_REGIMES else "")


COMMANDS = [power]
