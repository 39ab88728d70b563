"""The rows of a table of finished runs: one a choice of settings and weighting, with the paper's numbers beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedbounds.vision import measures, paper
from fedbounds.vision.estimates import Estimate
from fedbounds.vision.measures import Comparison, Speed
from fedbounds.vision.runs import Run, experiments, require

BASELINE = "fedavg"
QUANTITIES = ("R_90", "final accuracy", "stability")


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
    numbers = {run.experiment: variants(runs).index(run.variant) + 1 for run in runs}
    plain = {run.experiment: f"{run.data} {run.partition}" for run in runs}
    several = len(set(numbers.values())) > 1
    return {e: f"{name} ({numbers[e]})" if several else name for e, name in plain.items()}


def variants(runs: Sequence[Run]) -> list[str]:
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
            found += [(row, measures.compare(row.runs, other.runs, quantity)) for quantity in QUANTITIES]
    return found
