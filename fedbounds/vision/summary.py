"""Everything measured on finished runs as one JSON object, beside the paper's numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fedbounds.vision import estimates, paper, weights
from fedbounds.vision.measures import Comparison
from fedbounds.vision.runs import Run
from fedbounds.vision.table import Row, cases, comparisons, notes, table


def to_json(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything that is measured on ``runs`` as a JSON object; what is not finite is null."""
    rows = table(runs)
    compared = [{"case": row.case, **_comparison_json(found)} for row, found in comparisons(rows)]
    return {
        "level": paper.LEVEL,
        "confidence": estimates.CONFIDENCE,
        "rows": [_row_json(row) for row in rows],
        "comparisons": compared,
        "temperatures": _sweeps_json(runs),
        "notes": notes(rows),
    }


def _row_json(row: Row) -> dict[str, Any]:
    first = row.runs[0]
    largest, mean = (weights.decline(row.runs, measure).to_json() for measure in ("largest", "mean"))
    shares = weights.participation_summary(row.runs)
    return {
        "data": first.data,
        "partition": first.partition,
        "framework": row.framework,
        "weighting": row.weighting,
        "settings": {key: json.loads(value) for key, value in first.choices.items()},
        "seeds": [run.seed for run in row.runs],
        "repetitions": [run.repetition for run in row.runs],
        "rounds": list(row.rounds),
        "final_accuracy": row.accuracy.to_json(),
        "R_90": {"values": list(row.speed.values), "reached": row.speed.reached, **row.speed.estimate.to_json()},
        "stability": {name: found.to_json() for name, found in row.stability.items()},
        "alpha_minus_p": {"largest": largest, "mean": mean},
        "participation": {name: found and found.to_json() for name, found in shares.items()},
        "paper": {
            "R_90": row.printed_R_90 and asdict(row.printed_R_90),
            "stability": row.printed_stability and asdict(row.printed_stability),
        },
    }


def _comparison_json(found: Comparison) -> dict[str, Any]:
    counts = {key: getattr(found, key) for key in ("smaller", "larger", "equal", "unknown", "pairs", "unpaired")}
    names = {"quantity": found.quantity, "first": found.first, "second": found.second}
    return {**names, "difference": found.difference.to_json(), "test": found.test.to_json(), **counts}


def _sweeps_json(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """R_90 against 1/T of every experiment that has at least two temperatures (FedAvg is 1/T = 0)."""
    found = []
    for experiment, case in cases(runs).items():
        group = [
            run for run in runs if run.experiment == experiment and weights.temperature(run.weighting) is not None
        ]
        if len({run.weighting for run in group}) < 2:
            continue
        sweep = weights.temperature_sweep(group)
        points = [
            {"inverse_temperature": x, "reached": s.reached, "runs": len(s.values), "R_90": s.estimate.to_json()}
            for x, s in zip(sweep.inverse, sweep.speeds, strict=True)
        ]
        found.append({"case": case, "points": points, "trend": sweep.trend and asdict(sweep.trend)})
    return found
