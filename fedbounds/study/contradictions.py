"""The alarm: one kind of evidence says that a claim holds where another refutes it, so one of them is wrong."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

from fedbounds.study.ledger import Line
from fedbounds.theory.coverage import Span
from fedbounds.theory.reading import ERROR_RATE
from fedbounds.theory.verdict import Evidence, Status, Verdict, word


@dataclass(frozen=True)
class Alarm:
    """A HOLDS whose coverage contains the instance of a refutation."""

    line: Line
    holds: Verdict
    refuted: Verdict

    def __str__(self) -> str:
        holds, refuted = self.holds, self.refuted
        covered = "" if holds.coverage is None else f" for {holds.coverage.words()}"
        return (
            f"{self.line.claim.key} [{self.line.reading}]: {word(holds.status, holds.evidence)}{covered} by "
            f"{holds.evidence} evidence, REFUTED there by {refuted.evidence} evidence"
            f"{f' ({refuted.detail})' if refuted.detail else ''}; one of them is wrong"
        )


def alarms(lines: Iterable[Line]) -> list[Alarm]:
    """Every HOLDS of one kind whose coverage contains an instance that another kind refutes.

    A statistical refutation counts if it stands at the rate of the whole study (Bonferroni over its verdicts).
    """
    lines = list(lines)
    tested = sum(verdict.error_rate > 0 for line in lines for _, verdict in line.results)
    return [alarm for line in lines for alarm in _contradictions(line, tested)]


def _contradictions(line: Line, tested: int) -> Iterator[Alarm]:
    verdicts = [verdict for _, verdict in line.results]
    for refuted in verdicts:
        if refuted.status is not Status.REFUTED or refuted.error_rate * tested > ERROR_RATE:
            continue
        instance = cache(partial(experiment_of, refuted))
        for holds in verdicts:
            if holds.status is Status.HOLDS and holds.evidence is not refuted.evidence and _covers(holds, instance):
                yield Alarm(line, holds, refuted)


def _covers(holds: Verdict, instance: Callable[[bool], Mapping[str, object]]) -> bool:
    return holds.coverage is not None and holds.coverage.contains(instance("local_step" in holds.coverage.axes))


def experiment_of(verdict: Verdict, one_step: bool = False) -> Mapping[str, object]:
    """The experiment of a refutation: axis -> its value, or all its values; an axis that is not known is missing.

    With ``one_step`` its step t alone, in its round, which is what a certificate speaks of.
    """
    instance = verdict.data.get("instance")
    if verdict.evidence is Evidence.EXACT and isinstance(instance, Mapping):
        from fedbounds.evidence.exact.counterexamples import reading_named
        from fedbounds.evidence.exact.instance_json import from_json
        from fedbounds.evidence.exact.run import runs

        record = next(runs(from_json(instance)))
        return record.place(reading_named(verdict.reading), verdict.worst_t if one_step else None)
    axes = {} if verdict.coverage is None else verdict.coverage.axes
    return {
        axis: (region.low, region.high) if isinstance(region, Span) else tuple(region)
        for axis, region in axes.items()
        if isinstance(region, Span | frozenset)
    }
