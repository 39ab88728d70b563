"""What a verdict is called and what stands beside it, for every table, page and message."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fedbounds.report.number_format import compact, decimal_pair, number, readable, times
from fedbounds.report.table import ORDER, Block, Bullets, Cell, Phrase, Table
from fedbounds.study.contradictions import alarms
from fedbounds.study.ledger import ANYWHERE, Line, Remarked
from fedbounds.study.resolve import target_units
from fedbounds.study.result import Result, WeightingRun
from fedbounds.theory.coverage import Span
from fedbounds.theory.labels import shown
from fedbounds.theory.symbols import QUANTITIES
from fedbounds.theory.verdict import Evidence, Status, Verdict


def describe(verdict: Verdict) -> Phrase:
    """The word of a verdict with its bound over measured and the step where both sides come nearest."""
    where = "" if verdict.worst_t is None else f"t = {verdict.worst_t}"
    note = " ".join(filter(None, [times(verdict.tightness), where]))
    return Phrase(shown(verdict.status, verdict.evidence), verdict.status, note)


def evidence_cell(line: Line, kind: Evidence) -> Cell:
    """One kind of evidence on a claim: a phrase a status, counted where there are several verdicts."""
    verdicts = line.verdicts(kind)
    phrases = []
    for status in ORDER:
        of_status = [verdict for verdict in verdicts if verdict.status is status]
        if of_status:
            count = "" if len(verdicts) == 1 else f" {len(of_status)}"
            phrases.append(Phrase(shown(status, kind) + count, status, _note(of_status)))
    return evidence_cell_of(phrases, kind, "; ".join(dict.fromkeys(map(line.grounds, verdicts))))


def evidence_cell_of(phrases: Sequence[Phrase], kind: Evidence, hint: str = "") -> Cell:
    """A cell of a kind of evidence, sorted by its leading status."""
    rank = Cell(tuple(phrases)).rank
    return Cell(tuple(phrases), hint, str(rank), kind)


def _note(verdicts: Sequence[Verdict]) -> str:
    """Both sides of a counterexample, what certificates cover, or the smallest margin and bound over measured."""
    if verdicts[0].evidence is Evidence.EXACT:
        return _sides(verdicts[0])
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


def _sides(verdict: Verdict) -> str:
    """Both sides of a counterexample in decimals, its words where they are no fractions."""
    pair = decimal_pair(str(verdict.data.get("lhs", "")), str(verdict.data.get("rhs", "")))
    relation = next((sign for sign in (" > ", " != ") if sign in verdict.detail), None)
    return verdict.detail if pair is None or relation is None else relation.join(pair)


SCOPES = {
    "point": "every point visited, and every client",
    "step": "every step t to t + 1",
    "horizon": "every number of steps T",
    "constant": "the constants of a run alone",
}


def replicates_needed(verdict: Verdict, replicates: int) -> float | None:
    """About how many replicates would decide an UNDECIDED: the band's half-width falls as their square root.

    The mean of lhs - rhs, d, and the band's end u on the far side of 0 are those of the worst t: R ((u - d)/d)^2.
    None where nothing was estimated, where d is 0, and for rates, which a longer run decides.
    """
    lhs, rhs = verdict.data.get("lhs"), verdict.data.get("rhs")
    if verdict.status is not Status.UNDECIDED or verdict.margin is None or not verdict.error_rate:
        return None
    if not isinstance(lhs, float) or not isinstance(rhs, float) or lhs == rhs:
        return None
    mean, end = lhs - rhs, -verdict.margin * max(abs(lhs), abs(rhs))
    needed = replicates * ((end - mean) / mean) ** 2
    return needed if math.isfinite(needed) and needed > replicates else None


# Evidence about a run, in the order in which a cell is filled.
ON_RUN = tuple(kind for kind in Evidence if kind.on_run)
BEYOND_RUN = tuple(kind for kind in Evidence if not kind.on_run)
# Heads of narrow columns are cut to so many letters.
NARROW = 9
SILENT, WORST = (Status.NOT_APPLICABLE, Status.VACUOUS), (Status.REFUTED, Status.UNDECIDED)


def alarm_blocks(lines: Iterable[Line]) -> list[Block]:
    """The contradictions between kinds of evidence, if there are any."""
    result = tuple(map(str, alarms(lines)))
    return [Bullets("ALARM: two kinds of evidence contradict each other", result)] if result else []


def run_table(run: WeightingRun, lines: Sequence[Line], replicates: int) -> Table:
    """What concerns one run: the claims that apply to it, what it says of them, and what else is known of them.

    Refuted rows come first, then open ones; readings of a claim that say the same share a row.
    """
    rows: dict[tuple[str, ...], tuple[list[str], list[Cell]]] = {}
    silent: list[str] = []
    for line in lines:
        here = replace(line, found=tuple(pair for pair in line.found if pair[0] in (run.weighting, ANYWHERE)))
        measured = [verdict for kind in ON_RUN for verdict in line.verdicts(kind, run.weighting)]
        if not any(verdict.status not in SILENT for verdict in measured):
            silent += ["; ".join(map(str, measured[0].failed))] if measured else []
            continue
        cells = [_brief(here, kind, replicates) for kind in (*ON_RUN, *BEYOND_RUN)]
        rows.setdefault((line.claim.key, *map(str, cells)), ([], cells))[0].append(line.reading)
    body = [[key[0], ", ".join(readings), *cells] for key, (readings, cells) in rows.items()]
    body.sort(key=lambda row: min(_severity(cell) for cell in row[2 : 2 + len(ON_RUN)] if isinstance(cell, Cell)))
    head = ("Claim", "Reading", *(_short(kind.label) for kind in (*ON_RUN, *BEYOND_RUN)))
    those = "claim as read does" if len(silent) == 1 else "claims as read do"
    beyond = f"; {len(silent)} {those} not apply" if silent else ""
    beyond += f" ({silent[0]})" if len(silent) == 1 and silent[0] else ""
    return Table.of(head, body, _constants(run) + beyond).without_empty()


def _short(label: str) -> str:
    return label if len(label) <= NARROW else f"{label[:6]}."


def _severity(cell: Cell) -> int:
    """0 where a cell says REFUTED, 1 where it says UNDECIDED, 2 elsewhere."""
    return min((0 if status is Status.REFUTED else 1 for status in cell.statuses if status in WORST), default=2)


def _brief(line: Line, kind: Evidence, replicates: int) -> Cell:
    """The statuses; of a run also bound over measured and, where it is open, how many replicates would decide."""
    phrases = []
    cell = evidence_cell(line, kind)
    for item in cell.phrases:
        # The column says whose proof it is.
        text, note = item.text.partition(" (")[0], ""
        if kind is Evidence.EMPIRICAL:
            needed = replicates_needed(line.verdicts(kind)[0], replicates)
            note = compact(line.verdicts(kind)[0].tightness, 6) + (
                f", ~{number(needed, 2)} replicates" if needed else ""
            )
        elif kind is Evidence.SDP:
            text = text.rstrip(" 0123456789")
        phrases.append(Phrase(text, item.status, note))
    return Cell(tuple(phrases), cell.hint)


def _constants(run: WeightingRun) -> str:
    """The weighting with the constants that the bounds are made of."""
    sync = "" if run.rho_bar == run.rho_bar_sync else f" ({number(run.rho_bar_sync)} at synchronisation times)"
    known = {"rho_tilde": run.rho_tilde, "speed": run.speed, "error": run.error}
    known |= {name: run.constants[name].value for name in ("sigma_sq", "G_sq") if name in run.constants}
    words = [f"rho_bar {number(run.rho_bar)}{sync}", *(f"{name} {number(value)}" for name, value in known.items())]
    return f"{run.weighting}: {', '.join(words)}"


def grounds_of(lines: Iterable[Line], runs: int) -> list[Bullets]:
    """The grounds of every verdict, by what it says; weightings that say the same share an item."""
    titles = {
        Status.REFUTED: "Refuted",
        Status.UNDECIDED: "Undecided",
        Status.HOLDS: "Not refuted, decided, certified or proved",
        Status.VACUOUS: "Nothing was tested",
        Status.NOT_APPLICABLE: "Not applicable",
    }
    groups: dict[Status, dict[tuple[str, str], list[str]]] = {status: {} for status in titles}
    for line in lines:
        for where, verdict in line.found:
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
    known = [name for name in names if name != ANYWHERE]
    return f" under {'every weighting' if len(known) == runs > 1 else ', '.join(known)}" if known else ""


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
