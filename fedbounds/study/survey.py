"""The ledger: every claim in every reading, one column a kind of evidence, never merged into one tick.

The symbolic, exact and SDP columns are recomputed from what is shipped (derivations, counterexamples,
certificates) without a solver or a search; the empirical and expectation columns come from a study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from fedbounds.errors import reject
from fedbounds.plugins import claims
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

DASH = "-"


@dataclass(frozen=True)
class Line:
    """One claim in one reading: ``cells`` maps each kind of evidence to a short text, a dash where it is missing."""

    claim: str
    reading: str
    title: str
    cells: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object."""
        return {"claim": self.claim, "reading": self.reading, "title": self.title, **self.cells}


def survey(result: Mapping[str, Any] | None = None, extra: Iterable[ModuleType] = ()) -> list[Line]:
    """The ledger of every known claim; ``result`` is the JSON of a study, whose verdicts fill its columns.

    ``extra`` are modules with claims of the reader's own.
    """
    if result is not None and not isinstance(result.get("runs"), list):
        raise reject("a saved study must have runs", f"keys {sorted(result)}", "save it again with check --out")
    counterexamples, certificates = _counterexamples(), _certificates()
    known = claims(extra)
    readings = {key: list(claim.readings) for key, claim in known.items()}
    for name, reading in counterexamples:
        if name in readings and reading not in readings[name]:
            readings[name].append(reading)
    lines = []
    for key, claim in known.items():
        for reading in readings[key]:
            cells = {
                Evidence.EMPIRICAL: _from_study(result, key, reading, Evidence.EMPIRICAL),
                Evidence.EXPECTATION: _from_study(result, key, reading, Evidence.EXPECTATION),
                Evidence.SYMBOLIC: _symbolic(claim, reading),
                Evidence.SDP: certificates.get((key, reading), DASH),
                Evidence.EXACT: counterexamples.get((key, reading), DASH),
            }
            lines.append(Line(key, reading, claim.title, {str(kind): text for kind, text in cells.items()}))
    return lines


def _from_study(result: Mapping[str, Any] | None, key: str, reading: str, kind: Evidence) -> str:
    """Counts of the statuses over the study's weightings, with the smallest bound over measured."""
    if result is None:
        return DASH
    seen = [
        verdict
        for run in result["runs"]
        for verdict in run["verdicts"]
        if (verdict["claim"], verdict["reading"], verdict["evidence"]) == (key, reading, kind)
    ]
    counts = Counter(verdict["status"] for verdict in seen if verdict["status"] != Status.NOT_APPLICABLE)
    if not counts:
        return "not applicable" if seen else DASH
    return ", ".join(f"{status} {count}x" for status, count in sorted(counts.items()))


def _symbolic(claim: Claim, reading: str) -> str:
    """The verdict of the claim's derivation, which alone may say 'proved'."""
    from fedbounds.evidence.symbolic import library as symbolic

    if reading not in READINGS:
        return DASH
    verdict = symbolic.examine(claim, READINGS[reading])
    if verdict is None or verdict.status is Status.NOT_APPLICABLE:
        return DASH
    return f"{verdict.status} proved" if verdict.status is Status.HOLDS else str(verdict.status)


def _counterexamples() -> dict[tuple[str, str], str]:
    """(claim, reading) -> the two sides of a shipped counterexample, verified again in exact arithmetic.

    A file that refutes a claim although half of its repair is made refutes the claim as it stands too, which
    is checked here on the claim itself.
    """
    from fedbounds.evidence.exact.counterexamples import all_files, read
    from fedbounds.evidence.exact.decide import examine, short
    from fedbounds.evidence.exact.instance import from_json
    from fedbounds.plugins import claim_named

    found: dict[tuple[str, str], str] = {}
    for path in all_files():
        example = read(path)
        sides, document = example.verify(), example.document
        text = f"{Status.REFUTED} {short(sides.lhs)} against {short(sides.rhs)}"
        readings = (document.get("reading"), *document.get("also", ()))
        for key in (
            (str(document["claim"]), str(reading)) for reading in readings if "claim" in document and reading
        ):
            if key in found:
                continue
            if document.get("substitution"):
                verdict = examine(from_json(document["instance"]), claim_named(key[0]), READINGS[key[1]])
                if verdict.status is not Status.REFUTED:
                    continue
                text = f"{Status.REFUTED} {verdict.data['lhs']} against {verdict.data['rhs']}"
            found[key] = text
    return found


def _certificates() -> dict[tuple[str, str], str]:
    """(claim, reading) -> at how many settings a shipped rational certificate proves the claim as it stands.

    And at how many of them for stochastic gradients; every client takes part in all.
    """
    from fedbounds.evidence.sdp.family import subject, verified
    from fedbounds.plugins import shipped

    proved = [certificate for certificate, wrong in verified(shipped("certificates/*.json*")) if not wrong]
    noisy = [one for one in proved if one.setting.get("gradients") == "stochastic"]
    every, noise = (
        Counter(found[:2] for found in {subject(one) for one in some} if found is not None)
        for some in (proved, noisy)
    )
    return {(str(key[0]), str(key[1])): _settings(count, noise[key]) for key, count in every.items()}


def _settings(count: int, noisy: int) -> str:
    return f"{Status.HOLDS} certified at {count} settings, {noisy} with noise"


def table(lines: Iterable[Line]) -> list[list[str]]:
    """Header and rows of the ledger as text cells."""
    kinds = [str(kind) for kind in Evidence]
    head = ["claim", "reading", *kinds]
    return [head, *([line.claim, line.reading, *(line.cells[kind] for kind in kinds)] for line in lines)]


def to_markdown(lines: Iterable[Line]) -> str:
    """The ledger as a Markdown table."""
    head, *rows = table(lines)
    made = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*made, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"
