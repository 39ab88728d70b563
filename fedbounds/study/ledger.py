"""The ledger: every claim in every reading, with the verdicts of each kind of evidence, never merged into one tick.

What is shipped (derivations, counterexamples, certificates) is verified again, without a solver or a search; what
a study measured stands beside it. Where one kind says that a claim holds and another refutes it there, one of them is
wrong: an alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from fedbounds import plugins
from fedbounds.errors import of_kind
from fedbounds.plugins import Plugins, claims_from, modules_from
from fedbounds.study.identity import keep, remembered
from fedbounds.study.result import Result
from fedbounds.study.result_table import Findings, flat
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, Span, only
from fedbounds.theory.reading import ERROR_RATE, READINGS, Remark
from fedbounds.theory.verdict import Evidence, Status, Verdict, grounds, word

# Where evidence was found that is about no run.
ANYWHERE = ""


@dataclass(frozen=True)
class Line:
    """One claim in one reading, and every (weighting, verdict) on it; evidence about no run has no weighting."""

    claim: Claim
    reading: str
    results: tuple[tuple[str, Verdict], ...] = ()

    def verdicts(self, kind: Evidence, weighting: str | None = None) -> list[Verdict]:
        """The verdicts of one kind of evidence, on the run of one ``weighting`` if it is given."""
        return [v for where, v in self.results if v.evidence is kind and weighting in (None, where)]

    @property
    def counterexamples(self) -> list[Verdict]:
        """The refutations in exact arithmetic."""
        return [verdict for verdict in self.verdicts(Evidence.EXACT) if verdict.status is Status.REFUTED]

    def proved(self) -> bool:
        """Whether a proof or a certificate supports the claim as read."""
        return any(where == ANYWHERE and verdict.status is Status.HOLDS for where, verdict in self.results)

    def grounds(self, verdict: Verdict) -> str:
        """A verdict on the claim in words: of a HOLDS also what the claim speaks of beyond what it covers."""
        reading = READINGS.get(verdict.reading)
        return grounds(verdict, None if reading is None else self.claim.coverage(reading))

    def to_json(self) -> dict[str, Any]:
        result = [({"weighting": where} if where else {}) | verdict.to_json() for where, verdict in self.results]
        return {"claim": self.claim.key, "reading": self.reading, "title": self.claim.title, "verdicts": result}


def ledger(study: Result | None = None, *, plugins: Plugins = (), afresh: bool = True) -> Findings[Line]:
    """Every claim by every kind of evidence, with what a study measured beside it.

    Proofs, counterexamples and certificates are verified again (``afresh``), with no solver and no search.

    >>> ledger(afresh=False)["lemma-2", "literal"].rows()[0]["status"]
    'REFUTED'
    """
    of_kind("a study", study, (Result, type(None)), "the Result of a check")
    claims = claims_from(None, modules_from(plugins)) | (dict(study.claims) if study else {})
    return Findings(tuple(ledger_lines(claims, study.verdicts if study else (), afresh)), _of_line)


def _of_line(line: Line) -> list[dict[str, Any]]:
    named = {"claim": line.claim.key, "reading": line.reading}
    result = [{**named, "weighting": where, **flat(verdict.to_json())} for where, verdict in line.results]
    return result or [named]


def ledger_lines(
    claims: Mapping[str, Claim], measured: Iterable[tuple[str, Verdict]] = (), afresh: bool = False
) -> list[Line]:
    """The lines of ``claims``, with what is known of them and the (weighting, verdict) pairs of a study.

    What is shipped is verified again if ``afresh``, else once for this very state of the sources (`remembered`).
    """
    result = [*((ANYWHERE, verdict) for verdict in known_verdicts(claims, afresh)), *measured]
    lines = []
    for key, claim in claims.items():
        of_claim = [(where, verdict) for where, verdict in result if verdict.claim == key]
        for reading in dict.fromkeys([*claim.readings, *(verdict.reading for _, verdict in of_claim)]):
            lines.append(Line(claim, reading, tuple(pair for pair in of_claim if pair[1].reading == reading)))
    return lines


def known_verdicts(claims: Mapping[str, Claim], afresh: bool = False) -> list[Verdict]:
    """What proofs, certificates and counterexamples say of ``claims``, verified now or `remembered`.

    A counterexample or a certificate names its claim; it is about the shipped claim of that name, and never about
    another one that a plug-in has put in its place.
    """
    shipped = plugins.shipped_beside(claims)
    as_shipped = {key for key, claim in claims.items() if shipped.get(key) is claim}

    chosen = {key: shipped[key] for key in sorted(as_shipped)}
    verdicts = None if afresh else remembered(chosen)
    if verdicts is None:
        verdicts = verified(chosen)
        if not afresh:
            keep(chosen, verdicts)
    foreign = {key: claim for key, claim in claims.items() if key not in as_shipped}
    return [*_proof_verdicts(foreign), *(verdict for verdict in verdicts if verdict.claim in as_shipped)]


def verified(claims: Mapping[str, Claim]) -> list[Verdict]:
    """What the shipped proofs, counterexamples and certificates say of shipped ``claims``, each verified now."""
    return [*_proof_verdicts(claims), *_counterexamples(claims.keys()), *_certificates(frozenset(claims))]


def _proof_verdicts(claims: Mapping[str, Claim]) -> list[Verdict]:
    if not claims:  # most often, and then no prover is loaded
        return []
    from fedbounds.evidence import kernel
    from fedbounds.evidence.symbolic import verified_proofs

    examiners = (verified_proofs.examine, kernel.examine)
    every = [
        examine(claim, reading) for claim in claims.values() for reading in READINGS.values() for examine in examiners
    ]
    return [verdict for verdict in every if verdict is not None and verdict.status is not Status.NOT_APPLICABLE]


def _counterexamples(keys: Set[str]) -> list[Verdict]:
    """The first shipped counterexample of each claim of ``keys`` in each reading."""
    from fedbounds.evidence.exact.counterexamples import all_files, read

    result: dict[tuple[str, str], Verdict] = {}
    for path in all_files():
        for verdict in _refutations(path) if read(path).document.get("claim") in keys else ():
            result.setdefault((verdict.claim, verdict.reading), verdict)
    return list(result.values())


@cache
def _refutations(path: Path) -> tuple[Verdict, ...]:
    """What a counterexample file refutes.

    A file that refutes a claim although half of its repair is made may refute the claim as it stands too, which is
    checked here on the claim itself.
    """
    from fedbounds.evidence.exact.compare import examine, short
    from fedbounds.evidence.exact.counterexamples import read
    from fedbounds.evidence.exact.instance_json import from_json

    example = read(path)
    document = example.document
    readings = [str(document.get("reading", "-")), *document.get("also", ())]
    if document.get("substitution"):
        instance, claim = from_json(document["instance"]), plugins.claim_named(document["claim"])
        verdicts = [examine(instance, claim, READINGS[reading]) for reading in readings]
        return tuple(verdict for verdict in verdicts if verdict.status is Status.REFUTED)
    sides = example.verify()
    detail = f"{short(sides.lhs)} {'>' if sides.lhs > sides.rhs else '!='} {short(sides.rhs)}"
    data = {"t": document.get("t"), "lhs": str(sides.lhs), "rhs": str(sides.rhs)}
    data |= {name: document[name] for name in ("instance", "data", "title") if name in document}
    return tuple(
        Verdict(
            example.subject,
            reading,
            Evidence.EXACT,
            Status.REFUTED,
            tightness=float(sides.rhs / sides.lhs) if sides.lhs else None,
            worst_t=document.get("t"),
            detail=detail,
            data=data,
        )
        for reading in readings
    )


@dataclass(frozen=True)
class Remarked:
    """A remark of a paper, and what the exact instances about it say."""

    remark: Remark
    verdicts: tuple[Verdict, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self.remark), "verdicts": [verdict.to_json() for verdict in self.verdicts]}


def remarked() -> list[Remarked]:
    """The papers' remarks, with every shipped counterexample to them verified again."""
    from fedbounds.evidence import kernel
    from fedbounds.evidence.exact.counterexamples import all_files, read

    files = [(read(path).document.get("check"), path) for path in all_files()]
    rows = []
    for remark in plugins.remarks():
        result = [verdict for check, path in files if check == remark.key for verdict in _refutations(path)]
        result = [
            replace(
                verdict, detail=f"{verdict.data['title']}: {verdict.detail}", coverage=_where(verdict.data["data"])
            )
            for verdict in result
        ]
        none = Verdict(remark.key, "-", Evidence.EXACT, Status.UNDECIDED, detail=remark.undecided)
        rows.append(Remarked(remark, (*result, *kernel.of_remark(remark.key)) or (none,)))
    return rows


def _where(data: Any) -> Coverage:
    """The experiments that a check's data describe, where they are one or more instances."""
    from fedbounds.evidence.exact.instance_json import from_json

    given = [data.get("instance"), *(data.get(name, {}) for name in ("first", "second"))]
    instances = [from_json(item.get("instance", item)) for item in given if item]
    return Coverage(
        {
            "kappa": only(*(instance.L / instance.mu for instance in instances)),
            "tau": only(*(instance.tau for instance in instances)),
            "gradients": only(*("stochastic" if any(instance.noise) else "full" for instance in instances)),
            "participation": only(1),
            "N": only(*(instance.N for instance in instances)),
            "T": only(*(instance.total for instance in instances)),
        }
        if instances
        else {}
    )


@cache
def _certificates(keys: frozenset[str]) -> tuple[Verdict, ...]:
    """One verdict for each setting at which a shipped rational certificate proves a claim of ``keys`` as stated."""
    from fedbounds.evidence import kernel
    from fedbounds.evidence.sdp.one_step.certificate import check, read, subject
    from fedbounds.evidence.sdp.one_step.coverage import coverage

    available, result = plugins.claims(), dict[object, Verdict]()
    for certificate in (item for path in plugins.shipped("certificates/*.json*") for item in read(path)):
        if certificate.claim is None or certificate.claim not in keys:
            continue
        about = subject(certificate)
        if about is None or not check(certificate, available)[0]:  # one with a scale is about no claim as stated
            continue
        setting, claim = certificate.parameters, available[certificate.claim]
        verdict = Verdict(claim.key, setting.reading, Evidence.SDP, Status.HOLDS, coverage=coverage(claim, setting))
        record = kernel.of_certificate(certificate)
        result[about] = replace(verdict, detail=record, data={"kernel": True}) if record else verdict
    return tuple(result.values())


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
