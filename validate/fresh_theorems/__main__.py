"""Theorems that nobody here had seen: what `fedbounds referee` said of each at the first try.

    python -m validate.fresh_theorems [--sets NAME ...] [--only 03 17 ...] [--jobs 2] [--record]

A set is a folder: a LaTeX file a theorem, and truth.json, which says what is true. Their authors had read
docs/howto/latex.md, docs/symbols.md and the paper alone. With --record the answers of a set that has none are stored;
those of the others are printed, and never stored again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fedbounds.io import write_json
from validate.runner import RESULTS, options

HERE = Path(__file__).parent
RECORD = RESULTS / "fresh_theorems.json"
SETS = tuple(sorted(path.parent.name for path in HERE.glob("*/truth.json")))
HEAD = "| theorems | true: PROVED | in Rocq | true: OPEN | true: not read | true: refuted | false: refuted |\n"
NOT_READ = "NOT READ"

Row = dict[str, Any]


def truth(name: str) -> dict[str, Row]:
    """By theorem of a set: whether it is ``true``, its ``kind``, and what it is ``about``."""
    stated: dict[str, Row] = json.loads((HERE / name / "truth.json").read_text(encoding="utf-8"))
    return stated


def answer(path: Path) -> Row:
    """The word of the plain command on a file, whether Rocq accepts the proof, and seconds by the clock."""
    begun = time.monotonic()
    command = (sys.executable, "-m", "fedbounds.cli", "referee", str(path), "--format", "json", "--quiet")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    row: Row = {"word": NOT_READ, "rocq": False, "seconds": round(time.monotonic() - begun, 1)}
    if done.returncode in (0, 1):
        trials = json.loads(done.stdout)
        verdicts = [verdict for trial in trials for stage in trial["stages"] for verdict in stage["verdicts"]]
        row |= {"word": trials[-1]["outcome"], "rocq": any("rocq" in verdict.get("data", {}) for verdict in verdicts)}
    return row


def answers(name: str, only: Sequence[str], jobs: int) -> dict[str, Row]:
    """Answers on the theorems of a set, on so many processes at once."""
    chosen = [number for number in sorted(truth(name)) if not only or number in only]

    def judged(number: str) -> Row:
        row = answer(HERE / name / f"{number}.tex")
        print(name, number, row, flush=True)
        return row

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(chosen, pool.map(judged, chosen), strict=True))


def recorded() -> dict[str, dict[str, Row]]:
    """By set, the first answers."""
    stored: dict[str, dict[str, Row]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return stored


def counts(name: str, rows: Mapping[str, Row]) -> Row:
    """How many true theorems of a set got each answer, and how many false ones were refuted."""
    true = [rows[number] for number, stated in truth(name).items() if stated["true"]]
    false = [rows[number] for number, stated in truth(name).items() if not stated["true"]]
    words = [row["word"] for row in true]
    return {
        "true": len(true),
        "false": len(false),
        "proved": words.count("PROVED"),
        "rocq": sum(row["rocq"] for row in true),
        "open": words.count("OPEN"),
        "not read": words.count(NOT_READ),
        "wrong": words.count("FALSE"),
        "refuted": sum(row["word"] == "FALSE" for row in false),
    }


def in_words(n: Row) -> str:
    """The counts of `counts` in two sentences."""
    return (
        f"Of {n['true']} true theorems {n['proved']} were PROVED, and Rocq accepted {n['rocq']} of the proofs; "
        f"{n['open']} were OPEN, {n['not read']} were not read, and {n['wrong']} were called FALSE. "
        f"Of {n['false']} false ones {n['refuted']} were FALSE."
    )


def summary(record: Mapping[str, Mapping[str, Row]]) -> str:
    """A table in Markdown, a row a set."""
    lines = [HEAD + "|---" * 7 + "|"]
    for name, rows in record.items():
        n = counts(name, rows)
        cells = [f"{n[key]} of {n['true']}" for key in ("proved", "rocq", "open", "not read", "wrong")]
        cells.append(f"{n['refuted']} of {n['false']}" if n["false"] else "-")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Judge the sets, print the table, and store what is new if asked."""
    chosen = options(__doc__, sets=SETS, only=(), jobs=2, record=False)
    record = recorded()
    made = {name: answers(name, chosen.only, chosen.jobs) for name in chosen.sets}
    if chosen.record and not chosen.only:
        record = {**made, **record}
        write_json(RECORD, record)
    if not chosen.only:
        print(summary(made))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
