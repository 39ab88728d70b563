"""The first screen of `check`: does the O(1/T) bound hold here, what of the claims, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedbounds.evidence.empirical.decay import Decay
from fedbounds.report.number_format import counted, grouped, number
from fedbounds.report.table import Block, Cell, Phrase, Table
from fedbounds.report.verdict_tables import alarm_blocks, ledger_table, units_sentence
from fedbounds.study.ledger import Line
from fedbounds.study.result import Result, WeightingRun
from fedbounds.study.settings import DEFAULT_READINGS
from fedbounds.theory.claim import Claim, Kind, Role
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict, shown

# Claims that have a column; others share a line below the table.
COLUMNS = 3
DECAY_NOTE = (
    "O(1/T)? Slope of log gap in log(T + gamma) over the last half, interval, floor. slower, stalled: at the end not "
    "as fast as 1/T, hardly falling; neither shows a floor. No finite run proves a rate."
)
# Below this both sides of a bound are what rounding leaves of numbers near 1.
ROUNDING = 1e-12
# Shorter words for narrow columns.
BRIEF = {Status.UNDECIDED: "open"}


def check_blocks(result: Result, lines: Sequence[Line], out: Path | None = None) -> list[Block]:
    """The first screen of a study whose ledger is ``lines`` and whose pictures are in ``out``.

    The ledger follows where more claims were examined than have a column.
    """
    claims = _claims(lines)
    blocks: list[Block] = [*alarm_blocks(lines), setting_sentences(result), answer_table(result, lines)]
    blocks += ["\n".join([*footnotes(result, lines), *evidence_sentences(lines), *loose_sentence(result, claims)])]
    units = units_sentence(result)
    blocks += [units] if units else []
    if len(claims) > COLUMNS + len(_beside(claims)):
        blocks += [ledger_table(lines).without_empty()]
    choose = "To choose a rule: fedbounds compare, same problem and --weighting.\n" if len(result.runs) > 1 else ""
    return [*blocks, f"{_further(out)}\n{choose}{summary_line(result, lines)}"]


def _further(out: Path | None) -> str:
    """Where the pictures are, and what shows more."""
    saved = "Pictures and numbers: --out DIR." if out is None else f"Pictures: {out / 'bounds.png'} and beside it."
    return f"{saved} More: --report FILE, --constants, --claims all."


def setting_sentences(result: Result) -> str:
    """What was run, in two sentences."""
    facts, settings = result.facts, result.settings
    data = f" on {data_name(settings.data)}" if settings.data else ""
    kappa = facts.L.value / facts.mu.value
    batch = "full gradients" if settings.batch is None else f"batches of {settings.batch}"
    part = "" if settings.participation == 1 else f", a share {settings.participation:g} of the clients a round"
    return (
        f"{facts.kind.capitalize()}{data}, {counted(facts.N, 'client')}, d = {facts.d}, "
        f"kappa = L/mu = {number(kappa, 3)}, Gamma = {number(facts.Gamma.value, 3)}. "
        f"tau = {settings.tau}, {settings.tau * settings.rounds:,} steps, "
        f"{settings.replicates} runs, {batch}{part}."
    )


def data_name(spec: str) -> str:
    """The file of a specification of data, or the data's name.

    >>> data_name("csv:records/hospitals.csv,target=cost,client=hospital"), data_name("digits")
    ('hospitals.csv', 'digits')
    """
    return Path(spec.partition(",")[0].rpartition(":")[2]).name


def answer_table(result: Result, lines: Sequence[Line]) -> Table:
    """A row a weighting, and a reading of several: how the gap decays, each claim's status, and how loose it is."""
    claims = _claims(lines)
    columns, loose, readings = _claims_with_columns(claims), _measured(claims), _readings(result)
    several = len(readings) > 1
    of = f" ({_name(loose)})" if loose and loose.scope != "horizon" and len(columns) > 1 else ""
    stars = ["*" * (READINGS[_last(result, claim)].repaired and not several) for claim in columns]
    head = ["", *["reading"] * several, "O(1/T)?", *(f"{_name(c)}{s}" for c, s in zip(columns, stars, strict=True))]
    body = [
        [
            run.weighting if reading == readings[0] else "",
            *[reading] * several,
            _decay_cell(run, lines) if reading == readings[0] else "",
            *(_status(run, claim, reading or _last(result, claim)) for claim in columns),
            *([_looseness(run, loose, reading or _last(result, loose))] if loose else []),
        ]
        for run in result.runs
        for reading in readings
    ]
    return Table.of([*head, *([f"bound / measured{of}"] if loose else [])], body)


def decay_words(decay: Decay | None) -> str:
    """The answer, the slope with its interval, and the floor."""
    if decay is None:
        return ""
    words = decay.answer
    if decay.slope is not None:
        words += f": {_decimal(decay.slope)}"
    if decay.slope_low is not None and decay.slope_high is not None and decay.error_rate:
        words += f" [{_decimal(decay.slope_low)}, {_decimal(decay.slope_high)}]"
    if decay.decision == "floor":
        return f"{words}, stays above {number(decay.floor_low, 2)}"
    if decay.decision == "no-floor-seen":
        return f"{words}, no floor above {number(decay.excluded, 2)}"
    return f"{words}, floor undecided"


def _decimal(value: float) -> str:
    """One digit after the point, and no -0.0."""
    return f"{round(value, 1) + 0.0:.1f}"


def _decay_cell(run: WeightingRun, lines: Sequence[Line]) -> Cell | None:
    """The decay, in the colour of the claim on the rate where one was examined."""
    if run.decay is None:
        return None
    rates = {line.claim.key for line in lines if line.claim.kind is Kind.RATE}
    statuses = [v.status for v in run.verdicts if v.claim in rates and v.evidence is Evidence.EMPIRICAL]
    floor = Status.REFUTED if run.decay.decision == "floor" else None
    words = decay_words(run.decay).replace("], ", "],\n")  # two lines, so that a row is no higher
    return Cell((Phrase(words, next((s for s in statuses if s is Status.REFUTED), floor)),))


def _claims(lines: Sequence[Line]) -> list[Claim]:
    return list({line.claim.key: line.claim for line in lines}.values())


def _beside(claims: Sequence[Claim]) -> list[Claim]:
    """Claims without a column that the screen names all the same: rates, and the others of the paper."""
    columns = _claims_with_columns(claims)
    return [claim for claim in claims if claim not in columns and Role.HEADLINE in claim.roles]


def _claims_with_columns(claims: Sequence[Claim]) -> list[Claim]:
    """The claims that have a column: the paper's that have a repair, its others, then those in the order given."""
    stated = [claim for claim in claims if claim.kind is not Kind.RATE]
    first = sorted(stated, key=lambda claim: (Role.HEADLINE not in claim.roles, claim.repair is None))[:COLUMNS]
    paper = sorted((c for c in first if Role.HEADLINE in c.roles), key=lambda claim: claim.source, reverse=True)
    return [*paper, *(claim for claim in first if claim not in paper)]


def _readings(result: Result) -> tuple[str, ...]:
    """The readings that have rows of their own: those asked for by name; "" stands for the last one of each claim."""
    requested = result.settings.readings
    return ("",) if requested == DEFAULT_READINGS else requested


def _last(result: Result, claim: Claim) -> str:
    """The last reading in which a claim was examined: the repaired one where there is a repair."""
    examined = {verdict.reading for run in result.runs for verdict in _on_run(run, claim)}
    return next((reading for reading in reversed(claim.readings) if reading in examined), claim.readings[-1])


def _measured(claims: Sequence[Claim]) -> Claim | None:
    """The claim whose bound is set against what was measured: the theory's, else the first at a horizon or shown."""
    inequalities = [claim for claim in claims if claim.kind is Kind.INEQUALITY]
    bounds = [claim for claim in inequalities if claim.scope == "horizon"]
    bounds = bounds or [claim for claim in _claims_with_columns(claims) if claim in inequalities]
    return min(bounds, key=lambda claim: Role.MAIN not in claim.roles, default=None)


def _name(claim: Claim) -> str:
    """What the paper calls the claim, or its short name."""
    return claim.source.partition(",")[0] if Role.HEADLINE in claim.roles else claim.short or claim.key


def _on_run(run: WeightingRun, claim: Claim) -> list[Verdict]:
    """What a run says of a claim."""
    return [verdict for verdict in run.verdicts if verdict.claim == claim.key and verdict.evidence.on_run]


def _status(run: WeightingRun, claim: Claim, reading: str) -> Phrase | None:
    """The weightiest status of what the run says of a claim in a reading."""
    statuses = {verdict.status for verdict in _on_run(run, claim) if verdict.reading == reading}
    order = (Status.REFUTED, Status.HOLDS, Status.UNDECIDED, Status.VACUOUS, Status.NOT_APPLICABLE)
    status = next((status for status in order if status in statuses), None)
    if status is None:
        return None
    return Phrase(BRIEF.get(status, shown(status, Evidence.EMPIRICAL)), status, on_run=True)


def _looseness(run: WeightingRun, claim: Claim, reading: str) -> str | None:
    """Bound over measured where they come nearest; in words where both are near 0, since their ratio says nothing."""
    verdicts = [v for v in _on_run(run, claim) if v.reading == reading and v.tightness is not None]
    nearest = min(verdicts, key=lambda verdict: verdict.tightness or 0.0, default=None)
    if nearest is None:
        return None
    return f"both < {number(ROUNDING)}" if _rounding_only(nearest) else grouped(nearest.tightness) or None


def _rounding_only(verdict: Verdict) -> bool:
    """Whether both sides are what rounding leaves."""
    sides = [side for side in map(verdict.data.get, ("lhs", "rhs")) if isinstance(side, float)]
    return len(sides) == 2 and max(map(abs, sides)) < ROUNDING


def loose_sentence(result: Result, claims: Sequence[Claim]) -> list[str]:
    """How many times each inequality's bound exceeds what was measured, over the weightings."""
    words = []
    for claim in claims:
        ratios = [
            verdict.tightness
            for run in result.runs
            for verdict in _on_run(run, claim)
            if verdict.reading == _last(result, claim)
            and verdict.tightness is not None
            and not _rounding_only(verdict)
        ]
        if claim.kind is Kind.INEQUALITY and claim in (*_claims_with_columns(claims), _measured(claims)) and ratios:
            low, high = grouped(min(ratios)), grouped(max(ratios))
            words.append(f"{_name(claim)} {low if low == high else f'{low} to {high}'} times")
    return [f"How loose here, bound over measured where they are nearest: {', '.join(words)}."] if words else []


def footnotes(result: Result, lines: Sequence[Line]) -> list[str]:
    """What the star and the columns mean, readings that say otherwise, and the claims without a column."""
    claims, rate = _claims(lines), result.settings.error_rate
    notes = [DECAY_NOTE] if any(run.decay for run in result.runs) else []
    if any("*" in head for head in answer_table(result, lines).head):
        notes.append(f"* repaired. 'not refuted': on this run, at error rate {100 * rate:g}%, no proof.")
    else:
        notes.append(f"On this run, at error rate {100 * rate:g}% a claim: no proof.")
    notes += [f"{claim.source.partition(',')[0]}: {words}." for claim in _beside(claims)
              if claim.kind is not Kind.RATE and (words := _everywhere(result, claim))]  # fmt: skip
    return notes + _other_readings(result, claims)


def _everywhere(result: Result, claim: Claim) -> str:
    """The statuses of a claim without a column, with the weightings where they differ."""
    under: dict[str, list[str]] = {}
    for run in result.runs:
        if (phrase := _status(run, claim, _last(result, claim))) is not None:
            under.setdefault(phrase.text, []).append(run.weighting)
    if len(under) == 1:
        return f"{next(iter(under))}{' under every weighting' if len(result.runs) > 1 else ''}"
    return "; ".join(f"{word} under {', '.join(names)}" for word, names in under.items())


def _other_readings(result: Result, claims: Sequence[Claim]) -> list[str]:
    """Readings that a run refutes while the one in the table stands."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run in result.runs:
        for claim in claims:
            table = (*_readings(result), _last(result, claim))
            beside = (v for v in _on_run(run, claim) if v.status is Status.REFUTED and v.reading not in table)
            for reading in dict.fromkeys(verdict.reading for verdict in beside):
                groups.setdefault((_name(claim), reading), []).append(run.weighting)
    return [f"{name} [{reading}] is REFUTED on the run of {', '.join(w)}." for (name, reading), w in groups.items()]


def evidence_sentences(lines: Sequence[Line]) -> list[str]:
    """What counterexamples and proofs say of the statements of the paper, as printed and repaired."""
    of = {(line.claim.key, line.reading): line for line in lines}
    stated = [claim for claim in _claims(lines) if Role.HEADLINE in claim.roles and claim.kind is not Kind.RATE]
    printed = ((claim, of.get((claim.key, claim.readings[0]))) for claim in stated)
    false = [claim for claim, line in printed if line is not None and line.counterexamples]
    if not false:
        return []
    last = ((claim, of.get((claim.key, claim.readings[-1]))) for claim in false if claim.repair is not None)
    repaired = [claim for claim, line in last if line is not None and line.proved()]
    names = _and([_name(claim) for claim in reversed(false)])
    sentence = (
        f"As printed in the paper, {names} {'is' if len(false) == 1 else 'are'} false (a counterexample is known)"
    )
    if len(repaired) == len(false):
        return [f"{sentence}; repaired, {'it is' if len(false) == 1 else 'all are'} proved."]
    also = f"; repaired, {_and([_name(claim) for claim in repaired])} proved" if repaired else ""
    return [f"{sentence}{also}."]


def _and(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def summary_line(result: Result, lines: Sequence[Line]) -> str:
    """How many claims were examined, what this run refutes, and how many are known to be false or proved."""
    claims = _claims(lines)
    here: dict[str, list[str]] = {}
    for key, where in dict.fromkeys((v.claim, where) for where, v in result.refuted if v.evidence.on_run):
        here.setdefault(key, []).append(where)
    refuted = [f"{claim.key} ({', '.join(here[claim.key])})" for claim in claims if claim.key in here]
    exact, proved = sum(bool(line.counterexamples) for line in lines), sum(line.proved() for line in lines)
    parts = ((claims, "claim"), (lines, "reading"), (result.runs, "weighting"))
    count = ", ".join(counted(len(items), what) for items, what in parts)
    shipped = f"{exact} false by a counterexample, {proved} proved or certified"
    return f"{count}: {shipped}; refuted on this run: {', '.join(refuted) or 'none'}."
