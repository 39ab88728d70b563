"""The table of finished runs: R_90, final accuracy and stability with intervals, beside the paper's numbers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from fedbounds.vision import estimates, measures, paper
from fedbounds.vision.estimates import Estimate
from fedbounds.vision.measures import Comparison, Speed
from fedbounds.vision.runs import Run, differing, experiments, require

BASELINE = "fedavg"
PERCENT = 100.0
# What is compared -> how it is called, its digits and its scale.
SHOWN = {
    "R_90": ("R_90", 1, 1.0),
    "final accuracy": ("final accuracy, %", 2, PERCENT),
    "stability": ("stability", 2, 1.0),
}
WIDTH = 100


@dataclass(frozen=True)
class Row:
    """One data set, partition, weighting and choice of settings, over its repetitions.

    ``case`` names data and partition, with a number in brackets where other settings differ; ``rounds`` is the
    range over runs; ``printed_R_90`` and ``printed_stability`` are the paper's, None where it has none.
    """

    case: str
    framework: str | None
    runs: tuple[Run, ...]
    rounds: tuple[int, int]
    accuracy: Estimate
    speed: Speed
    stability: dict[str, Estimate]
    printed_R_90: paper.Interval | None
    printed_stability: paper.Printed | None

    @property
    def weighting(self) -> str:
        """The weighting of all its runs."""
        return self.runs[0].weighting

    @property
    def title(self) -> str:
        """The case, with the paper's name of its framework."""
        return self.case + (f" = {self.framework}" if self.framework else "")


def table(runs: Sequence[Run]) -> list[Row]:
    """One row for each choice of settings and weighting. Errors: InputError without runs."""
    require(runs)
    names = cases(runs)
    return [_row(tuple(group), names[group[0].experiment]) for group in experiments(runs).values()]


def cases(runs: Sequence[Run]) -> dict[str, str]:
    """Experiment -> data and partition; with the number of its other settings where these are not all the same."""
    numbers = {run.experiment: _variants(runs).index(run.variant) + 1 for run in runs}
    plain = {run.experiment: f"{run.data} {run.partition}" for run in runs}
    several = len(set(numbers.values())) > 1
    return {e: f"{name} ({numbers[e]})" if several else name for e, name in plain.items()}


def _variants(runs: Sequence[Run]) -> list[str]:
    """The choices of settings other than data and partition, in order of first appearance."""
    return list(dict.fromkeys(run.variant for run in runs))


def _row(runs: tuple[Run, ...], case: str) -> Row:
    framework = paper.framework(runs[0].data, runs[0].partition)
    key = (framework or "", paper.weighting(runs[0].weighting) or "")
    return Row(
        case=case,
        framework=framework,
        runs=runs,
        rounds=(min(run.rounds for run in runs), max(run.rounds for run in runs)),
        accuracy=measures.final_accuracy(runs),
        speed=measures.speed(runs),
        stability=measures.stabilities(runs),
        printed_R_90=paper.R_90.get(key),
        printed_stability=paper.STABILITY.get(key),
    )


def comparisons(rows: Sequence[Row]) -> list[tuple[Row, Comparison]]:
    """(row, comparison) of every weighting with FedAvg in the same experiment and on the same seeds, if any."""
    baseline = {row.runs[0].experiment: row for row in rows if row.weighting == BASELINE}
    found = []
    for row in rows:
        other = baseline.get(row.runs[0].experiment)
        if other is not None and other is not row and measures.pairs(row.runs, other.runs):
            found += [(row, measures.compare(row.runs, other.runs, quantity)) for quantity in SHOWN]
    return found


def text(runs: Sequence[Run], width: int = WIDTH) -> str:
    """The tables and what they mean, as plain text of at most ``width`` columns. Errors: InputError without runs."""
    from fedbounds.console import plain_table

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
    kind = "median " if found.estimate.kind == "median" else ""
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
    return found


def _range(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _choices(rows: Sequence[Row]) -> list[str]:
    """The settings behind the numbers in brackets."""
    runs = [row.runs[0] for row in rows]
    first = [next(run for run in runs if run.variant == variant) for variant in _variants(runs)]
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
