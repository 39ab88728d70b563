"""What a verdict is called and what stands beside it, for every table, page and message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fedbounds.report.number_format import decimal_pair, number, readable, times
from fedbounds.report.table import ORDER, Block, Bullets, Cell, Phrase, Table
from fedbounds.study.bounds import Bounds
from fedbounds.study.ledger import ANYWHERE, Line, Remarked, alarms
from fedbounds.study.objects_from_settings import target_units
from fedbounds.study.result import Result
from fedbounds.theory.coverage import Span
from fedbounds.theory.symbols import QUANTITIES
from fedbounds.theory.verdict import Evidence, Status, Verdict, shown

if TYPE_CHECKING:
    from fedbounds.study.sweep import SweepResult


def describe(verdict: Verdict) -> Phrase:
    """The word of a verdict with its bound over measured and the step where both sides come nearest."""
    where = "" if verdict.worst_t is None else f"t = {verdict.worst_t}"
    note = " ".join(filter(None, [times(verdict.tightness), where]))
    return Phrase(shown(verdict.status, verdict.evidence), verdict.status, note, verdict.evidence.on_run)


def evidence_cell(line: Line, kind: Evidence) -> Cell:
    """One kind of evidence on a claim: a phrase a status, counted where there are several verdicts."""
    verdicts = line.verdicts(kind)
    phrases = []
    for status in ORDER:
        of_status = [verdict for verdict in verdicts if verdict.status is status]
        if of_status:
            count = "" if len(verdicts) == 1 else f" {len(of_status)}"
            phrases.append(Phrase(shown(status, kind) + count, status, _note(of_status), kind.on_run))
    return Cell(tuple(phrases), "; ".join(dict.fromkeys(map(line.grounds, verdicts))))


def _note(verdicts: Sequence[Verdict]) -> str:
    """Both sides of a counterexample, what certificates cover, or the smallest margin and bound over measured."""
    if verdicts[0].evidence is Evidence.EXACT:
        return " ".join(decimal_sides(verdicts[0]) or [verdicts[0].detail])
    if verdicts[0].evidence is Evidence.SDP:
        covered = [verdict.coverage.axes for verdict in verdicts if verdict.coverage]
        counts = {
            "over an interval": sum(any(isinstance(region, Span) for region in axes.values()) for axes in covered),
            "with noise": sum("stochastic" in str(axes.get("gradients")) for axes in covered),
            "checked by Rocq": sum("kernel" in verdict.data for verdict in verdicts),
        }
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    margin = min((v.margin for v in verdicts if v.margin is not None), default=None)
    # A margin of 1 means a left side of 0: one that only rounds to 1 must not look so.
    text = ">0.999" if margin is not None and 0.9995 <= margin < 1 else readable(number(margin, 3))
    ratio = times(min((v.tightness for v in verdicts if v.tightness is not None), default=None))
    return ", ".join(filter(None, [f"margin {text}" if margin is not None else "", ratio]))


def decimal_sides(verdict: Verdict) -> tuple[str, str, str] | None:
    """Both sides of a counterexample in decimals, around their relation; None where they are no fractions."""
    pair = decimal_pair(str(verdict.data.get("lhs", "")), str(verdict.data.get("rhs", "")))
    relation = re.search(r" (>|<|!=) ", verdict.detail)
    return None if pair is None or relation is None else (pair[0], relation[1], pair[1])


SCOPES = {
    "point": "every point visited, and every client",
    "step": "every step t to t + 1",
    "horizon": "every number of steps T",
    "constant": "the constants of a run alone",
}


def alarm_blocks(lines: Iterable[Line]) -> list[Block]:
    """The contradictions between kinds of evidence, if there are any."""
    result = tuple(map(str, alarms(lines)))
    return [Bullets("ALARM: two kinds of evidence contradict each other", result)] if result else []


def grounds_of(lines: Iterable[Line], runs: int) -> list[Bullets]:
    """The grounds of every verdict, by what it says; weightings that say the same share an item."""
    titles = {
        Status.REFUTED: "Refuted",
        Status.UNDECIDED: "Undecided",
        Status.HOLDS: "Not refuted, or certified or proved",
        Status.VACUOUS: "Nothing was tested",
        Status.NOT_APPLICABLE: "Not applicable",
    }
    groups: dict[Status, dict[tuple[str, str], list[str]]] = {status: {} for status in titles}
    for line in lines:
        for where, verdict in line.results:
            at = "" if verdict.worst_t is None else f" at t = {verdict.worst_t}"
            subject = f"{line.claim.key} [{line.reading}], {verdict.evidence.label}{at}"
            grounds = line.grounds(verdict)
            if verdict.failed and verdict.status is Status.NOT_APPLICABLE:
                subject, grounds = (
                    line.claim.key,
                    "; ".join(f"needs {failure.statement}" for failure in verdict.failed),
                )
            names = groups[verdict.status].setdefault((subject, grounds), [])
            names += [where] if where not in names else []
    return [
        Bullets(
            title, tuple(f"{subject}{_under(names, runs)}: {grounds}" for (subject, grounds), names in items.items())
        )
        for title, items in zip(titles.values(), groups.values(), strict=True)
        if items
    ]


def _under(names: Sequence[str], runs: int) -> str:
    weightings = [name for name in names if name != ANYWHERE]
    return (
        f" under {'every weighting' if len(weightings) == runs > 1 else ', '.join(weightings)}" if weightings else ""
    )


def ledger_table(lines: Iterable[Line]) -> Table:
    """A row a claim in a reading, a column a kind of evidence; none is merged with another."""
    body = [[line.claim.key, line.reading, *(evidence_cell(line, kind) for kind in Evidence)] for line in lines]
    return Table.of(("claim", "reading", *(kind.label for kind in Evidence)), body)


def remark_table(remarks: Iterable[Remarked]) -> Table:
    """What the paper remarks without a formula: how it is read, and what exact instances say of it."""
    body = [
        [
            item.remark.key,
            item.remark.words,
            item.remark.reading,
            Phrase(str(verdict.status), verdict.status),
            _because(verdict),
        ]
        for item in remarks
        for verdict in item.verdicts
    ]
    head = ("remark", "the paper", "read as", "verdict", "because")
    return Table.of(head, body, "Remarks, each by exact instances")


def _because(verdict: Verdict) -> str:
    place = verdict.coverage.words() if verdict.coverage and verdict.coverage.axes else ""
    return f"{verdict.detail} (at {place})" if place else verdict.detail


def units_sentence(result: Result) -> str:
    """In which units the constants are, where the study has scaled the target of its data."""
    return "" if "problem" in result.objects else target_units(result.settings)


def constants_table(result: Result) -> Table:
    """Everything that the bounds are made of, a column a weighting."""
    facts, runs = result.facts, result.runs
    shared = {
        "w*": None if facts.w_star is None else f"({', '.join(number(value, 3) for value in facts.w_star)})",
        "F*": number(facts.F_star),
        "F_i*": f"({', '.join(number(value, 3) for value in facts.F_i_star)})",
        "zeta_*": None if facts.zeta_star is None else number(facts.zeta_star),
        "kappa": number(facts.L.value / facts.mu.value),
    } | {name: number(getattr(facts, name).value) for name in ("L", "mu", "Gamma")}
    names = dict.fromkeys(name for run in runs for name in run.constants if name not in shared)
    order = [*(name for name in QUANTITIES if name in names), *(name for name in names if name not in QUANTITIES)]
    body: list[list[str | None]] = []
    for name in order:
        values = [run.constants.get(name) for run in runs]
        source = "/".join(sorted({str(item.provenance) for item in values if item}))
        body.append([name, *(None if item is None else number(item.value) for item in values), source])
    for name in ("rho_bar_sync", "speed", "error"):
        body.append([name, *(number(getattr(run, name)) for run in runs), "computed"])
    of_problem = [f"{name} = {text}" for name, text in shared.items() if text is not None]
    caption = f"Constants, in the units of the loss that was minimised: {'; '.join(of_problem)}"
    caption += f". {units}" if (units := units_sentence(result)) else ""
    return Table.of(("constant", *(run.weighting for run in runs), "from"), body, caption)


def bounds_blocks(bounds: Bounds) -> list[Block]:
    """Every bound with its speed, error, value at T, and the rounds to epsilon if these are wanted."""
    head = ["bound", "reading", "speed", "gamma", "error", f"at T = {bounds.T}"]
    head += [] if bounds.epsilon is None else [f"rounds to {bounds.epsilon:g}"]
    body = []
    for row in bounds.values:
        cells = [row.claim, row.reading, *(number(x) for x in (row.speed, row.gamma, row.error, row.bound))]
        never = f"never: the error term alone is {number(row.error)}"
        rounds = never if row.rounds_to_epsilon is None else str(row.rounds_to_epsilon)
        body.append(cells if bounds.epsilon is None else [*cells, rounds])
    table = Table.of(head, body, "E[F(w_T)] - F* <= speed/(T + gamma) + error")
    return [table, *(["\n".join(f"Note: {note}." for note in bounds.notes)] if bounds.notes else [])]


def counts_table(stored: SweepResult) -> Table:
    """One row a claim, reading and evidence: how many verdicts of each status."""
    counts, rows = stored.counts, []
    for *about, kind in sorted({key[:3] for key in counts}):
        result = [(status, counts[(*about, kind, str(status))]) for status in ORDER]
        cell = Cell(
            tuple(
                Phrase(f"{shown(status, Evidence(kind))} {n}", status, on_run=Evidence(kind).on_run)
                for status, n in result
                if n
            )
        )
        rows.append([*about, kind, cell])
    return Table.of(
        ("claim", "reading", "evidence", "cells x weightings"), rows, "How many cells x weightings have each status"
    )
