"""One section a claim: what it states, what it assumes, and what each kind of evidence says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from markupsafe import Markup

from fedbounds.show.report.cells import Chip, chip, readable, times, verdicts
from fedbounds.show.report.exact import UNNEEDED, Example, Tight, factor
from fedbounds.show.report.figures import Picture
from fedbounds.show.report.mathml import addend, formula, latex, math, prose
from fedbounds.show.report.proofs import Proof
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import NOTATION
from fedbounds.theory.verdict import Evidence, Status

Json = Mapping[str, Any]

FAILS = "assumption fails: "
RELATIONS = {Kind.INEQUALITY: r"\le", Kind.IDENTITY: "="}
SCOPES = {
    "point": "at every visited point and client",
    "step": "for every step t to t + 1",
    "horizon": "for every horizon T",
    "constant": "about the constants of a run",
}


@dataclass(frozen=True)
class Term:
    """One named term of a right-hand side, with its sign."""

    name: str
    math: Markup


@dataclass(frozen=True)
class Met:
    """Whether an assumption is met under one weighting: yes, no or not known, and what was found."""

    state: str
    found: Markup


@dataclass(frozen=True)
class AssumptionRow:
    """One assumption with a mark a weighting."""

    key: str
    statement: Markup
    repaired: bool
    met: list[Met]


@dataclass(frozen=True)
class RunRow:
    """The verdicts of one kind of evidence in one reading, one a weighting."""

    evidence: str
    reading: str
    cells: list[tuple[Chip, str, str] | None]


@dataclass(frozen=True)
class Section:
    """Everything the page says of one claim."""

    key: str
    title: Markup
    source: Markup
    scope: str
    left: Markup
    relation: Markup
    terms: list[Term]
    where: list[Markup]
    remark: Markup
    readings: list[tuple[str, Markup]]
    repair: Markup
    becomes: list[Markup]
    symbols: list[tuple[Markup, Markup]]
    assumptions: list[AssumptionRow]
    runs: list[RunRow]
    details: list[tuple[str, str, str]]
    proofs: list[Proof]
    picture: Picture | None
    examples: list[Example]
    tight: list[Tight]
    tight_terms: list[str]


def section(
    claim: Claim,
    result: Json,
    proofs: Sequence[Proof],
    examples: Sequence[Example],
    tight: Sequence[Tight],
    picture: Picture | None,
) -> Section:
    """The section of a claim, with the evidence that is about it."""
    repair = claim.repair
    left, relation, terms = _statement(claim)
    becomes = [formula(rf"{latex(a)} \mapsto {latex(b)}") for a, b in repair.substitutions.items()] if repair else []
    return Section(
        claim.key,
        prose(claim.title),
        prose(claim.source),
        SCOPES[claim.scope],
        left,
        relation,
        terms,
        _where(claim),
        prose(claim.remark),
        [(name, prose(READINGS[name].summary)) for name in claim.readings],
        prose(repair.why if repair else ""),
        becomes,
        [(formula(NOTATION[name].latex), prose(NOTATION[name].meaning)) for name in _used(claim)],
        assumption_rows(claim, result),
        run_rows(claim, result),
        _details(claim, result),
        [proof for proof in proofs if proof.claim == claim.key],
        picture,
        [example for example in examples if example.subject == claim.key],
        list(tight),
        tight_terms(tight),
    )


def _statement(claim: Claim) -> tuple[Markup, Markup, list[Term]]:
    left = math(claim.lhs)
    if claim.kind is Kind.RATE:
        return left, formula("="), [Term("", formula("O(1/T)"))]
    named = [(name, latex(term)) for name, term in claim.terms.items()] or [("", "0")]
    terms = [Term(name, addend(text, first=k == 0)) for k, (name, text) in enumerate(named)]
    # A lone term needs no name to tell it from others.
    terms = terms if len(terms) > 1 else [Term("", terms[0].math)]
    return left, formula(RELATIONS[claim.kind]), terms


def _where(claim: Claim) -> list[Markup]:
    pairs = [] if claim.eta is None else [(symbols.eta, claim.eta)]
    return [formula(f"{latex(name)} = {latex(value)}") for name, value in [*pairs, *claim.definitions.items()]]


def _used(claim: Claim) -> list[str]:
    parts = (claim.lhs, *claim.terms.values(), *claim.definitions.values(), claim.eta or 0)
    used = {symbol.name for part in parts for symbol in sp.sympify(part).free_symbols}
    return [name for name in NOTATION if name in used]


def assumption_rows(claim: Claim, result: Json) -> list[AssumptionRow]:
    """Every assumption of a claim, with its status under each weighting as the empirical verdicts report it."""
    stated = claim.assumptions_in(READINGS["literal"])
    every = claim.assumptions_in(READINGS["repaired"])
    keys = {assumption.key for assumption in stated}
    return [
        AssumptionRow(
            item.key,
            prose(item.statement),
            item.key not in keys,
            [_met(claim, item.statement, run) for run in result["runs"]],
        )
        for item in (*stated, *(item for item in every if item.key not in keys))
    ]


def _met(claim: Claim, statement: str, run: Json) -> Met:
    """A claim applies only where every assumption is met, and otherwise names each that is not."""
    state = "unknown"
    for verdict in run["verdicts"]:
        if verdict["claim"] != claim.key or verdict["evidence"] != Evidence.EMPIRICAL:
            continue
        statements = [a.statement for a in claim.assumptions_in(READINGS[verdict["reading"]])]
        failed = failures(verdict, statements)
        if statement in failed:
            return Met("no", prose(failed[statement]))
        if statement in statements and (failed or verdict["status"] != Status.NOT_APPLICABLE):
            state = "yes"
    return Met(state, Markup(""))


def failures(verdict: Json, statements: Sequence[str]) -> dict[str, str]:
    """Statement -> what was found instead, of the assumptions that a verdict says fail."""
    _, mark, text = str(verdict["detail"]).partition(FAILS)
    if not mark or verdict["status"] != Status.NOT_APPLICABLE:
        return {}
    starts = {text.find(f"{statement}: "): statement for statement in statements if f"{statement}: " in text}
    ends = [*sorted(starts)[1:], len(text)]
    return {
        starts[start]: text[start + len(starts[start]) + 2 : end].rstrip("; ")
        for start, end in zip(sorted(starts), ends, strict=False)
    }


def run_rows(claim: Claim, result: Json) -> list[RunRow]:
    """What the run says of a claim: a row a reading and kind of evidence, a chip and its looseness a weighting."""
    rows = []
    for kind in (Evidence.EMPIRICAL, Evidence.EXPECTATION):
        for reading in READINGS:
            if not verdicts(result, claim.key, reading, kind):
                continue
            cells = []
            for run in result["runs"]:
                own = verdicts({"runs": [run]}, claim.key, reading, kind)
                cells.append(_run_cell(own[0]) if own else None)
            rows.append(RunRow(kind, reading, cells))
    return rows


def _run_cell(verdict: Json) -> tuple[Chip, str, str]:
    where = "" if verdict["worst_t"] is None else f"t = {verdict['worst_t']}"
    return chip(verdict["status"]), times(verdict["tightness"]), where


def _details(claim: Claim, result: Json) -> list[tuple[str, str, str]]:
    """(reading and evidence, weightings, grounds) of the verdicts on a claim; weightings that say the same share."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run in result["runs"]:
        for verdict in run["verdicts"]:
            if verdict["claim"] == claim.key and verdict["detail"]:
                key = f"{verdict['reading']}, {verdict['evidence']}"
                groups.setdefault((key, verdict["detail"]), []).append(run["weighting"])
    return [(key, ", ".join(names), readable(detail)) for (key, detail), names in groups.items()]


def tight_terms(tight: Sequence[Tight]) -> list[str]:
    """One line a term: the claim's constant and the range of the tight ones."""
    lines = []
    for term in dict.fromkeys(row.term for row in tight):
        own = [row for row in tight if row.term == term]
        ratios = [row.ratio for row in own if row.ratio is not None]
        loose = f"loose by {factor(min(ratios))} to {factor(max(ratios))}" if ratios else UNNEEDED
        lines.append(f"{term}: {own[0].stated} stated, {loose} at {len(own)} settings")
    return lines
