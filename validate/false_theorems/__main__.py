"""Theorems that nobody here wrote, thrown at every evidence: what must never happen is counted first.

    python -m validate.false_theorems --count 1000 --seed 7     some 2 s of processor time a specimen

The records are lines of JSON, one a specimen after a first one with the seed; an interrupted run continues. With
``--page`` docs/power.md gets its tables from the records (``--count 0``: from those that are there).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.errors import reject
from fedbounds.io import write_text
from validate.false_theorems.evidences import Bench, Fate, tried
from validate.false_theorems.specimens import specimen
from validate.markdown import filled, markdown_table
from validate.runner import DOCS, RESULTS, options

Record = Mapping[str, Any]

RECORDS = RESULTS / "false_theorems.jsonl"
PAGE = DOCS / "power.md"
SCOPES = ("constant", "point", "step", "horizon")
EVIDENCES = ("empirical", "expectation", "sdp", "symbolic", "kernel", "exact")


def record(k: int, fate: Fate) -> dict[str, Any]:
    """What a run remembers of a specimen."""
    one = fate.specimen
    return {
        "k": k,
        "base": one.base.key,
        "reading": one.reading.name,
        "scope": one.base.scope,
        "way": one.way,
        "change": one.change,
        "true": one.true,
        "noisy": one.against is not None and "noise" in one.against.data["instance"],
        "refuted_by": fate.refuted_by,
        "said": {kind: dict(Counter(words)) for kind, words in fate.said.items()},
        "unsound": fate.unsound,
        "narrower": fate.narrower,
    }


def read(path: Path) -> tuple[int, list[Record]]:
    """The seed and the records of a file."""
    first, *rest = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return first["seed"], rest


def go_on(path: Path, count: int, seed: int) -> list[Record]:
    """Try the specimens of a seed that the file has not yet, and append each."""
    if not path.exists():
        write_text(path, json.dumps({"seed": seed}) + "\n")
    known, done = read(path)
    if known != seed:
        raise reject(f"{path} holds specimens of one seed", f"{seed}, where it has {known}", "choose another file")
    bench = Bench(seed)
    for k in range(len(done), count):
        one = specimen(seed, k)
        try:
            fate = tried(one, bench, k)
        except Exception as wrong:  # an evidence that breaks down is as bad as one that is wrong, and is shown
            fate = Fate(one, unsound=[f"broke down: {wrong!r}"], narrower=["broke down"])
        result = record(k, fate)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        done.append(result)
        print(f"\r{k + 1}/{count}", end="", file=sys.stderr, flush=True)
    return done


def counted(records: Iterable[Record]) -> dict[str, int]:
    """The numbers of a line of the table."""
    records = list(records)
    false, true = ([item for item in records if item["true"] is truth] for truth in (False, True))
    return {
        "false": len(false),
        "unsound": sum(bool(item["unsound"]) for item in false),
        "refuted": sum(bool(item["refuted_by"]) for item in false),
        "true": len(true),
        "wrongly refuted": sum(bool(item["refuted_by"]) for item in true),
        "as wide": sum(not item["narrower"] for item in true),
    }


def by_evidence(records: Iterable[Record], kind: str) -> dict[str, int]:
    """Of the specimens that an evidence was asked about: how many it refuted and held, wrongly where so."""
    asked = [item for item in records if kind in item["said"]]
    false, true = ([item for item in asked if item["true"] is truth] for truth in (False, True))
    return {
        "false": len(false),
        "refuted": sum(kind in item["refuted_by"] for item in false),
        "unsound": sum(any(words.startswith(kind) for words in item["unsound"]) for item in false),
        "true": len(true),
        "wrongly refuted": sum(kind in item["refuted_by"] for item in true),
        "held": sum("HOLDS" in item["said"][kind] for item in true),
    }


def table(seed: int, records: list[Record]) -> str:
    """The tables of the page, in Markdown."""
    whole, noisy = counted(records), sum(item["noisy"] for item in records)
    said = f"Seed {seed}: {whole['false']} false theorems ({noisy} of them refuted by an instance with noise)"
    groups = {scope: [item for item in records if item["scope"] == scope] for scope in SCOPES} | {"all": records}
    by_scope = [(name, *counted(some).values()) for name, some in groups.items()]
    by_kind = [(kind, *by_evidence(records, kind).values()) for kind in EVIDENCES]
    held = "a HOLDS over a counterexample"
    head = ("claims about", "false", held, "refuted", "true", "refuted", "HOLDS as wide")
    asked = ("evidence", "asked: false", "refuted", held, "asked: true", "refuted", "HOLDS")
    tables = markdown_table(head, by_scope), markdown_table(asked, by_kind)
    return "\n\n".join([f"{said} and {whole['true']} true ones.", *tables])


def in_words(one: Record) -> str:
    """A specimen that needs looking into."""
    return f"{one['k']}: {one['base']} [{one['reading']}], {one['change']}: {one['said']} {one['unsound']}"


def main() -> int:
    """Try ``--count`` specimens, print the tables and what went wrong; 1 where any verdict is wrong."""
    chosen = options(__doc__, count=1000, seed=int, out=RECORDS, page=False)
    seed = chosen.seed
    if seed is None:
        drawn = int(np.random.SeedSequence().generate_state(1)[0])
        seed = read(chosen.out)[0] if chosen.out.exists() else drawn
    records = go_on(chosen.out, chosen.count, seed)
    shown = table(seed, records)
    print(shown)
    wrong = [item for item in records if item["unsound"] or (item["true"] and item["refuted_by"])]
    missed = [item for item in records if not item["true"] and not item["refuted_by"]]
    for title, some in (("WRONG", wrong), ("missed", missed)):
        print("\n".join(f"{title} {in_words(item)}" for item in some))
    if chosen.page:
        write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), shown))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
