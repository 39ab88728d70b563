"""The table of finished runs: R_90, final accuracy and stability with intervals, beside the paper's numbers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fedbounds.vision import estimates, paper, weights
from fedbounds.vision.measures import Comparison, Speed
from fedbounds.vision.rows import BASELINE, Row, cases, comparisons, table, variants
from fedbounds.vision.runs import Run, differing

PERCENT = 100.0
# What is compared (QUANTITIES) -> how it is called, its digits and its scale.
SHOWN = {
    "R_90": ("R_90", 1, 1.0),
    "final accuracy": ("final accuracy, %", 2, PERCENT),
    "stability": ("stability", 2, 1.0),
}
WIDTH = 100


def text(runs: Sequence[Run], width: int = WIDTH) -> str:
    """The tables and what they mean, as plain text of at most ``width`` columns. Errors: InputError without runs."""
    from fedbounds.show.terminal import plain_table

    rows = table(runs)
    compared = comparisons(rows)
    speeds = [(row.title, row.weighting, _speed(row.speed), row.speed.said, _interval(row)) for row in rows]
    pieces = [plain_table(("rounds to 90%", "R_90", "reached", "R_90 of the paper"), _grouped(speeds), width)]
    levels = [(row.title, row.weighting, estimates.text(row.accuracy, 2, PERCENT), *_stability(row)) for row in rows]
    columns = ("accuracy and stability", "final accuracy, %", "stability", "of the paper")
    pieces.append(plain_table(columns, _grouped(levels), width))
    if compared:
        differences = [(row.title, *_compared(found)) for row, found in compared]
        head = (f"minus {BASELINE}", "in", "difference", "pairs -/=/+/?", "p")
        pieces.append(plain_table(head, _grouped(differences), width))
    pieces.append("".join(textwrap.fill(note, width, subsequent_indent="  ") + "\n" for note in notes(rows)))
    return "\n".join(pieces)


def _grouped(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Lines (title, name, ...) as table lines under one heading a title, in order of first appearance."""
    found: list[list[str]] = []
    for title in dict.fromkeys(line[0] for line in lines):
        found.append([title, *[""] * (len(lines[0]) - 2)])
        previous = ""
        for _, name, *rest in (line for line in lines if line[0] == title):
            found.append([f"  {name}" if name != previous else "", *rest])
            previous = name
    return found


def _speed(found: Speed) -> str:
    kind = "median " if found.estimate.kind == "median" and found.estimate.count > 1 else ""
    return kind + estimates.text(found.estimate, 1)


def _interval(row: Row) -> str:
    printed = row.printed_R_90
    return f"{printed.mean:.1f} [{printed.lower:.1f}, {printed.upper:.1f}]" if printed else ""


def _stability(row: Row) -> tuple[str, str]:
    printed = row.printed_stability
    return estimates.text(row.stability["all"], 2), f"{printed.value:.2f}" if printed else ""


def _compared(found: Comparison) -> tuple[str, str, str, str, str]:
    name, digits, scale = SHOWN[found.quantity]
    kind = "median " if found.difference.kind == "median" else ""
    difference = kind + estimates.text(found.difference, digits, scale)
    counts = "/".join(str(n) for n in (found.smaller, found.equal, found.larger, found.unknown))
    star = "*" if found.test.p_value <= found.test.smallest else ""
    return found.first, name, difference, counts, f"{found.test.p_value:.2g}{star}"


def notes(rows: Sequence[Row]) -> list[str]:
    """What the numbers of the table mean, in sentences: intervals, censored runs, settings, the paper's side."""
    return [*_method(rows), *_remarks(rows), *_choices(rows), *_paper(rows)]


def _method(rows: Sequence[Row]) -> list[str]:
    percent = f"{PERCENT * estimates.CONFIDENCE:g}%"
    found = [
        f"R_90: first round whose model has at least {PERCENT * paper.LEVEL:g}% test accuracy. Brackets: {percent} "
        "intervals over repetitions, mean with Student's t.",
        "Stability: standard deviation of the one-round changes of accuracy / |their mean|, over all rounds; "
        "smaller is smoother.",
    ]
    if any(row.speed.reached < len(row.runs) for row in rows):
        found.append(
            f"Rows with runs that never reached {PERCENT * paper.LEVEL:g}% show the median instead, with the exact "
            "interval of order statistics: such a run counts as any round after its last one, and none is left out."
        )
    compared = len(comparisons(rows))
    if compared:
        found.append(
            f"Differences are paired: same seed, partition and initial model; pairs with less, as much, more or an "
            "unknown difference. p: exact sign-flip test, or the sign test where a run never reached the level; "
            f"two-sided, not corrected for the {compared} comparisons shown. *: no smaller p is possible with so few "
            "pairs."
        )
    return found


def _remarks(rows: Sequence[Row]) -> list[str]:
    """What is special about a row: notes of its estimates, an interval below the level asked for."""
    found = []
    for row in rows:
        name = f"{row.case}, {row.weighting}"
        short = len(row.runs) - row.speed.reached
        said = (
            [f"{short} of {len(row.runs)} runs did not reach the level in {_range(row.rounds)} rounds"]
            if short
            else []
        )
        # One repetition is said once, not for every estimate.
        found_notes = {e.note: None for e in (row.speed.estimate, row.accuracy, row.stability["all"]) if e.note}
        said += list(found_notes)
        if said:
            found.append(f"{name}: {'; '.join(said)}.")
    for row, one in comparisons(rows):
        if one.difference.note:
            found.append(f"{row.case}, {one.first} minus {one.second} in {one.quantity}: {one.difference.note}.")
    return found


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _choices(rows: Sequence[Row]) -> list[str]:
    """The settings behind the numbers in brackets."""
    runs = [row.runs[0] for row in rows]
    first = [next(run for run in runs if run.variant == variant) for variant in variants(runs)]
    keys = differing(runs)
    said = [", ".join(f"{key} {run.choices.get(key, 'unset')}" for key in keys) for run in first]
    return [f"({k}): {words}." for k, words in enumerate(said, 1)] if keys else []


def _paper(rows: Sequence[Row]) -> list[str]:
    """How the paper's numbers were made, and where the settings here are not the paper's."""
    beside = [row for row in rows if row.printed_R_90]
    if not beside:
        return []
    found = [
        "The paper's intervals are as printed (lines 378-383), with their centre; they are what mean -/+ 1.96 "
        "s/sqrt(n) gives for n = 100 (TNIID), 38 (NIID) and 18 (IID) whole numbers, counts inferred, not printed. "
        "Its T of FedSoftMax, and from which round its stability counts, are not printed either."
    ]
    other: dict[str, list[str]] = {}
    for row in beside:
        for key, printed in paper.PARAMETERS.items():
            value = row.runs[0].settings.get(key, printed.value)
            if value != printed.value and json.dumps(value) not in other.setdefault(key, []):
                other[key].append(json.dumps(value))
    said = [
        f"{key} {' or '.join(values)} (paper: {json.dumps(paper.PARAMETERS[key].value)})"
        for key, values in other.items()
        if values
    ]
    if said:
        found.append(f"Settings other than the paper's table of parameters: {', '.join(said)}.")
    return found


def to_json(runs: Sequence[Run]) -> str:
    """Everything that is measured on ``runs`` as JSON text. Errors: InputError without runs."""
    return json.dumps(measured(runs), indent=1, allow_nan=False)


def measured(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything that is measured on ``runs`` as a JSON object; what is not finite is null."""
    rows = table(runs)
    compared = [{"case": row.case, **found.to_json()} for row, found in comparisons(rows)]
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
