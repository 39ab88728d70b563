"""Write the table of mutants in docs/power_table.md anew: `python -m validate.power_page` (some minutes).

What was found is kept in validate/results/power.jsonl, a line a mutant.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbounds import plugins
from fedbounds.cli.commands.power import PAGE as HEAD
from fedbounds.cli.commands.power import line
from fedbounds.io import write_text
from fedbounds.referee.power import Outcome, Row, power, tally
from fedbounds.report.table import Table
from fedbounds.report.terminal import progress
from validate.ledger_page import filled

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "power_table.md"
KEPT = ROOT / "validate" / "results" / "power.jsonl"
# Regimes kept of those that refute a mutant.
SHOWN = 3


def record(rows: Sequence[Row]) -> str:
    """The rows as JSON Lines."""
    return "".join(json.dumps({**row.to_json(), "regimes": row.regimes[:SHOWN]}) + "\n" for row in rows)


def recorded(text: str) -> list[Row]:
    """The rows of a record."""
    values: list[dict[str, Any]] = [json.loads(one) for one in text.splitlines()]
    return [Row(**{**v, "outcome": Outcome(v["outcome"]), "regimes": tuple(v["regimes"])}) for v in values]


def table(rows: Sequence[Row]) -> str:
    """The table of the page: a line a claim that holds, then the counts."""
    keys = dict.fromkeys(row.claim for row in rows if row.change)
    counts = ", ".join(f"{n} {outcome}" for outcome, n in tally(rows).items())
    return f"{Table.of(HEAD, [line(key, rows) for key in keys]).to_markdown()}\nMutants: {counts}.\n"


def main() -> None:
    with progress() as bar:
        rows = power(plugins.claims_from(None, ()).values(), progress=bar, jobs=-1)
    write_text(KEPT, record(rows))
    write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), table(recorded(record(rows))), "mutants"))


if __name__ == "__main__":
    main()
