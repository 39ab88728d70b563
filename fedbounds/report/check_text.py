"""What `check` shows first: what is false, proved or open, a table a weighting, and on request the grounds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fedbounds.report.number_format import compact, number, readable, times
from fedbounds.report.table import ORDER, Block, Entry, Listed, Said, Table, plain
from fedbounds.study.contradictions import alarms
from fedbounds.study.ledger import ANYWHERE, Line, Remarked
from fedbounds.study.result import Result, WeightingRun
from fedbounds.theory.coverage import Span
from fedbounds.theory.labels import LABELS, shown
from fedbounds.theory.verdict import Evidence, Status, Verdict

# Evidence about a run, in the order in which a cell is filled.
MEASURED = (Evidence.EMPIRICAL, Evidence.EXPECTATION)
# Heads of narrow columns.
BRIEF = {Evidence.EXPECTATION: "Expect.", Evidence.SYMBOLIC: "Symb."}
SILENT = (Status.NOT_APPLICABLE, Status.VACUOUS)
LEGEND = (
    "The number beside a word is bound / measured, the smallest over what was tested (below 1: violated; <0: the "
    "bound is negative); ~46 replicates: about how many would decide. What is said of a run is about this problem "
    "and run, at error rate {rate:g} a claim, and proves nothing beyond it; the other columns are about the claim."
)


def summary(result: Result, lines: Sequence[Line], verbose: bool = False) -> list[Block]:
    """The blocks of a study, whose ledger is ``lines``; ``verbose`` adds the grounds of every verdict."""
    runs = len(result.runs)
    return [
        *alarm_blocks(lines),
        "\n".join(heading(result)),
        "\n".join(findings(lines, runs)),
        *(run_table(run, lines, result.settings.replicates) for run in result.runs),
        LEGEND.format(rate=result.settings.error_rate),
        *(grounds_of(lines, runs) if verbose else ()),
    ]


def alarm_blocks(lines: Iterable[Line]) -> list[Block]:
    """The contradictions between kinds of evidence, if there are any."""
    found = tuple(map(str, alarms(lines)))
    return [Listed("ALARM: two kinds of evidence contradict each other", found)] if found else []


def heading(result: Result) -> list[str]:
    """The lines above everything: the problem, its constants with provenance, and the protocol."""
    facts, settings = result.facts, result.settings
    constants = {"L": facts.L, "mu": facts.mu, "Gamma": facts.Gamma}
    known = [f"{name} = {number(found.value)} ({found.provenance})" for name, found in constants.items()]
    batch = "full gradients" if settings.batch is None else f"batch {settings.batch}"
    if settings.batch is not None and not settings.replacement:
        batch += " without replacement"
    data = f" on {settings.data}" if settings.data else ""
    return [
        f"{facts.kind}{data}: N = {facts.N} clients, d = {facts.d}",
        f"{', '.join(known)}, F* = {number(facts.F_star)}",
        f"tau = {settings.tau}, {settings.rounds} rounds (T = {settings.tau * settings.rounds}), "
        f"{settings.replicates} replicates, {batch}, C = {settings.participation:g}, "
        f"step {settings.step}, seed {settings.seed}",
    ]


def findings(lines: Sequence[Line], runs: int) -> list[str]:
    """Three lines: what is false and where, how much is proved or certified, and what is open."""
    false = [line for line in lines if line.under(Status.REFUTED)]
    proved = [line for line in lines if line.proved() and line not in false]
    open_ = [line for line in lines if line not in false and line not in proved]
    undecided = [line for line in open_ if line.under(Status.UNDECIDED)]
    here = [line for line in false if line.under(Status.REFUTED) != [ANYWHERE]]
    elsewhere = [line for line in false if line not in here]
    parts = [
        f"on this run {_named(here, runs)}" if here else "",
        f"on another instance {_named(elsewhere, runs)}" if elsewhere else "",
    ]
    total = len(lines)
    undecided_words = f": undecided on this run {_named(undecided, 0)}" if undecided else ""
    return [
        f"False, {len(false)} of {total} claims as read" + (": " if false else "") + "; ".join(filter(None, parts)),
        f"Proved or certified, {len(proved)} of {total}",
        f"Open, {len(open_)} of {total}{undecided_words}",
    ]


def _named(lines: Sequence[Line], runs: int) -> str:
    """Claims with the readings concerned and, of several ``runs``, the weightings."""
    groups: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        names = [name for name in line.under(Status.REFUTED) if name != ANYWHERE] if runs else []
        where = "" if not names else "every weighting" if len(names) == runs > 1 else ", ".join(names)
        groups.setdefault((line.claim.key, where), []).append(line.reading)
    return ", ".join(
        f"{claim} [{', '.join(readings)}]" + (f" ({where})" if where else "")
        for (claim, where), readings in groups.items()
    )


def run_table(run: WeightingRun, lines: Sequence[Line], replicates: int) -> Table:
    """What concerns one run: the claims that apply to it, what it says of them, and what else is known of them.

    Refuted rows come first, then open ones; readings of a claim that say the same share a row.
    """
    others = [kind for kind in Evidence if kind not in MEASURED]
    rows: dict[tuple[str, ...], tuple[list[str], list[Entry]]] = {}
    silent: list[str] = []
    for line in lines:
        here = replace(line, found=tuple(pair for pair in line.found if pair[0] in (run.weighting, ANYWHERE)))
        measured = [verdict for kind in MEASURED for verdict in line.verdicts(kind, run.weighting)]
        if not any(verdict.status not in SILENT for verdict in measured):
            silent += ["; ".join(map(str, measured[0].failed))] if measured else []
            continue
        cells = [_brief(here, kind, replicates) for kind in (*MEASURED, *others)]
        rows.setdefault((line.claim.key, *map(str, cells)), ([], cells))[0].append(line.reading)
    worst = [Status.REFUTED, Status.UNDECIDED]
    body = [[key[0], ", ".join(readings), *cells] for key, (readings, cells) in rows.items()]
    body.sort(key=lambda row: min(_place(cell, worst) for cell in row[2 : 2 + len(MEASURED)]))
    head = ("Claim", "Reading", *(BRIEF.get(kind, LABELS[kind]) for kind in (*MEASURED, *others)))
    those = "claim as read does" if len(silent) == 1 else "claims as read do"
    beyond = f"; {len(silent)} {those} not apply" if silent else ""
    beyond += f" ({silent[0]})" if len(silent) == 1 and silent[0] else ""
    return Table.of(head, body, _constants(run) + beyond).without_empty()


def _place(cell: Any, worst: Sequence[Status]) -> int:
    return min((worst.index(status) for status in cell.statuses if status in worst), default=len(worst))


def _brief(line: Line, kind: Evidence, replicates: int) -> Entry:
    """The statuses; of a run also bound over measured and, where it is open, how many replicates would decide."""
    said = []
    cell = evidence_cell(line, kind)
    for item in cell.said:
        # The column says whose proof it is.
        text, note = item.text.partition(" (")[0], ""
        if kind is Evidence.EMPIRICAL:
            needed = replicates_needed(line.verdicts(kind)[0], replicates)
            note = compact(line.verdicts(kind)[0].tightness, 6) + (
                f", ~{number(needed, 2)} replicates" if needed else ""
            )
        elif kind is Evidence.SDP:
            text = text.rstrip(" 0123456789")
        said.append(Said(text, item.status, note))
    return Entry(tuple(said), cell.hint)


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


def _constants(run: WeightingRun) -> str:
    """The weighting with the constants that the bounds are made of."""
    sync = "" if run.rho_bar == run.rho_bar_sync else f" ({number(run.rho_bar_sync)} at synchronisation times)"
    known = {"rho_tilde": run.rho_tilde, "speed": run.speed, "error": run.error}
    known |= {name: run.constants[name].value for name in ("sigma_sq", "G_sq") if name in run.constants}
    words = [f"rho_bar {number(run.rho_bar)}{sync}", *(f"{name} {number(value)}" for name, value in known.items())]
    return f"{run.weighting}: {', '.join(words)}"


def grounds_of(lines: Iterable[Line], runs: int) -> list[Listed]:
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
            subject, said = (
                f"{line.claim.key} [{line.reading}], {LABELS[verdict.evidence]}{at}",
                line.grounds(verdict),
            )
            if verdict.failed and verdict.status is Status.NOT_APPLICABLE:
                subject, said = line.claim.key, "; ".join(f"needs {failure.statement}" for failure in verdict.failed)
            names = groups[verdict.status].setdefault((subject, said), [])
            names += [where] if where not in names else []
    return [
        Listed(title, tuple(f"{subject}{_under(names, runs)}: {said}" for (subject, said), names in found.items()))
        for title, found in zip(titles.values(), groups.values(), strict=True)
        if found
    ]


def _under(names: Sequence[str], runs: int) -> str:
    known = [name for name in names if name != ANYWHERE]
    return f" under {'every weighting' if len(known) == runs > 1 else ', '.join(known)}" if known else ""


def to_text(blocks: Iterable[Block], width: int | None = None, colour: bool = False) -> str:
    """The blocks as text of at most ``width`` columns (the terminal's); ``colour`` adds no information."""
    from fedbounds.report.terminal import columns, render_blocks

    return render_blocks(blocks, width or columns(), colour)


def to_markdown(blocks: Iterable[Block]) -> str:
    made = []
    for block in blocks:
        if isinstance(block, Table):
            made += [plain(block.caption), block.to_markdown().rstrip()]
        elif isinstance(block, Listed):
            made += [f"{plain(block.title)}:", "\n".join(f"- {plain(item)}" for item in block.items)]
        else:
            made += map(plain, block.split("\n"))
    return "\n\n".join(made) + "\n"


def evidence_cell(line: Line, kind: Evidence) -> Entry:
    """One kind of evidence on one claim: a word a status, how often if more than once, and the numbers beside it."""
    verdicts = line.verdicts(kind)
    said = []
    for status in ORDER:
        own = [verdict for verdict in verdicts if verdict.status is status]
        if own:
            count = "" if len(verdicts) == 1 else f" {len(own)}"
            said.append(Said(shown(status, kind) + count, status, _note(own)))
    return ranked(said, kind, "; ".join(dict.fromkeys(map(line.grounds, verdicts))))


def ranked(said: Sequence[Said], kind: Evidence, hint: str = "") -> Entry:
    """A cell of a kind of evidence that sorts by its leading status."""
    cell = Entry(tuple(said), hint, evidence=str(kind))
    return replace(cell, place=str(cell.rank))


def _note(verdicts: Sequence[Verdict]) -> str:
    """The two sides of a counterexample; else the smallest margin and the smallest bound over measured."""
    if verdicts[0].evidence is Evidence.EXACT:
        return verdicts[0].detail
    if verdicts[0].evidence is Evidence.SDP:
        noisy = sum("stochastic" in str(v.coverage.axes.get("gradients")) for v in verdicts if v.coverage)
        checked = sum("kernel" in v.data for v in verdicts)
        whole = sum(any(isinstance(r, Span) for r in v.coverage.axes.values()) for v in verdicts if v.coverage)
        counts = {"over an interval": whole, "with noise": noisy, "checked by Rocq": checked}
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    margin = min((v.margin for v in verdicts if v.margin is not None), default=None)
    # A margin of 1 means a left side of 0: one that only rounds to 1 must not look so.
    text = ">0.999" if margin is not None and 0.9995 <= margin < 1 else readable(number(margin, 3))
    ratio = times(min((v.tightness for v in verdicts if v.tightness is not None), default=None))
    return ", ".join(filter(None, [f"margin {text}" if margin is not None else "", ratio]))


def ledger_table(lines: Iterable[Line]) -> Table:
    body = [[line.claim.key, line.reading, *(evidence_cell(line, kind) for kind in Evidence)] for line in lines]
    return Table.of(("claim", "reading", *(LABELS[kind] for kind in Evidence)), body)


def remark_table(remarks: Iterable[Remarked]) -> Table:
    """What the paper remarks without a formula: how it is read, and what exact instances say of it."""
    body = [
        [
            item.remark.key,
            item.remark.words,
            item.remark.reading,
            Said(str(verdict.status), verdict.status),
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
