"""The referee on sixty statements that outsiders wrote, each in a process of its own with 60 processor seconds.

python -m validate.outside_theorems [--only KEY ...] [--jobs 2] [--seconds 60] [--record]

With --record the answers are stored as they come, and the same call goes on where it stopped: it judges again what is
not finished and had fewer processor seconds. --only judges again in any case.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from fedbounds.io import read_json, write_json
from fedbounds.report.terminal import plain_table
from validate.markdown import markdown_table
from validate.outside_theorems.trials import BUDGET, CLAIMS, FALSE, judged
from validate.runner import RESULTS, options

RECORD = RESULTS / "outside_theorems.json"


def recorded() -> dict[str, dict[str, Any]]:
    return read_json(RECORD) if RECORD.exists() else {}


def settled(one: dict[str, Any] | None, seconds: float) -> bool:
    """Whether a stored answer is what a budget of so many processor seconds would give."""
    return one is not None and (one["finished"] or one["budget"] >= seconds)


def table(found: dict[str, dict[str, Any]]) -> str:
    rows = [(key, item["headline"], f"{item['seconds']:.0f}", item["answer"]) for key, item in sorted(found.items())]
    return plain_table(("claim", "headline", "seconds", "answer"), rows)


def summary(found: dict[str, dict[str, Any]]) -> str:
    """A Markdown table: of each set, the false statements that were refuted, and what became of the true ones.

    A statement in two parts is refuted if a part is, and proved or certified if every part is.
    """
    rows = []
    for name, false in FALSE.items():
        answers = {k: [item for key, item in found.items() if key.startswith(f"{name}-{k:02}")] for k in range(1, 31)}
        refuted = {k for k, parts in answers.items() if any(part["headline"] == "FALSE" for part in parts)}
        true = answers.keys() - false
        proved = {k for k in true if answers[k] and all(answer["headline"] == "PROVED" for answer in answers[k])}
        certified = {k for k in true - proved if answers[k] and all(answer["certified"] for answer in answers[k])}
        in_rocq = {k for k in proved if all(answer.get("rocq") for answer in answers[k])}
        counts = (len(refuted & false), len(refuted & true), len(proved), len(in_rocq), len(certified))
        rows.append((f"30 {name}", *(f"{count} of 15" for count in counts)))
    head = ("false: refuted", "true: refuted", "true: proved", "in Rocq", "true: certified at settings")
    return markdown_table(("statements", *head), rows)


def main() -> None:
    chosen = options(
        __doc__,
        only={"nargs": "+", "metavar": "KEY", "choices": CLAIMS},
        jobs={"type": int, "choices": (1, 2), "default": 2},
        seconds=float(BUDGET),
        record=False,
    )
    known = recorded() if chosen.record else {}
    keys = chosen.only or [key for key in CLAIMS if not settled(known.get(key), chosen.seconds)]
    results: dict[str, dict[str, Any]] = {}
    # A fresh process for each claim: none finds what another has computed, and processor time is its own.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.jobs, mp_context=fresh, max_tasks_per_child=1) as pool:
        awaited = {pool.submit(judged, key, chosen.seconds): key for key in keys}
        for item in as_completed(awaited):
            results[awaited[item]] = item.result()
            print(f"{awaited[item]}: {results[awaited[item]]['headline']}", flush=True)
            if chosen.record:
                write_json(RECORD, dict(sorted((known | results).items())))
    print(table(known | results))
    print(summary(known | results))


if __name__ == "__main__":
    main()
