"""Write validate/power/mutants.md anew: `python -m validate.power` (about a minute on two cores).

Every mutant is recorded in validate/results/power.jsonl, one a line.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbounds import plugins
from fedbounds.io import write_text
from fedbounds.referee.mutants_in_regimes import Outcome, tally
from fedbounds.report.table import Table
from fedbounds.report.terminal import progress
from validate.ledger_page import filled
from validate.power.table import Measured, power

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "validate" / "power" / "mutants.md"
RECORDS = ROOT / "validate" / "results" / "power.jsonl"
HEAD = ("claim", "refuted", "still true", "survive", "what no regime notices")
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
REGIMES_RECORDED = 3
PARTS_NAMED = 3


def record(rows: Sequence[Measured]) -> str:
    """The rows as JSON Lines."""
    return "".join(json.dumps({**row.to_json(), "regimes": row.regimes[:REGIMES_RECORDED]}) + "\n" for row in rows)


def recorded(text: str) -> list[Measured]:
    """The rows of a record."""
    values: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    return [Measured(**{**v, "outcome": Outcome(v["outcome"]), "regimes": tuple(v["regimes"])}) for v in values]


def of_claim(claim: str, rows: Sequence[Measured]) -> tuple[object, ...]:
    """One line of the table: counts of a claim's mutants, and the parts whose change no regime notices."""
    mutants = [row for row in rows if row.claim == claim and row.change]
    counts = [sum(row.outcome == outcome for row in mutants) for outcome in ("refuted", "still true", "survives")]
    missed: dict[str, list[str]] = {}
    for row in mutants:
        if row.outcome == "survives":
            missed.setdefault(row.part, []).append(CHANGES.get(row.change, row.change))
    named = [f"{part} ({', '.join(changes)})" for part, changes in list(missed.items())[:PARTS_NAMED]]
    more = [f"{len(missed) - PARTS_NAMED} parts more"] if len(missed) > PARTS_NAMED else []
    return claim, *counts, "; ".join(named + more)


def table(rows: Sequence[Measured]) -> str:
    """The table of the page: a line a claim that holds, then the counts."""
    keys = dict.fromkeys(row.claim for row in rows if row.change)
    counts = ", ".join(f"{n} {outcome}" for outcome, n in tally(rows).items())
    return f"{Table.of(HEAD, [of_claim(key, rows) for key in keys]).to_markdown()}\nMutants: {counts}.\n"


def main() -> None:
    with progress() as bar:
        rows = power(plugins.claims_from(None, ()).values(), progress=bar, jobs=-1)
    write_text(RECORDS, record(rows))
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), table(recorded(record(rows))), "mutants"))


if __name__ == "__main__":
    main()
