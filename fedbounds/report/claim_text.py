"""A claim in words and formulas, for people: what `fedbounds claims KEY` shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.counterexamples import Counterexample
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.latex.assumption_keys import SELECTIONS
from fedbounds.latex.writer import latex
from fedbounds.report.number_format import counted
from fedbounds.report.terminal_symbols import pretty
from fedbounds.report.verdict_tables import SCOPES, decimal_sides
from fedbounds.study.ledger import Line
from fedbounds.theory.assumptions import full_participation, unbiased
from fedbounds.theory.claim import FEDAVG, Claim, Kind, statement
from fedbounds.theory.claim_validation import unknown_signs
from fedbounds.theory.points import u, v
from fedbounds.theory.protocol_assumptions import constant_steps
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import QUANTITIES, N, tau
from fedbounds.theory.vectors import Vec
from fedbounds.theory.verdict import Evidence, Status

# Hypotheses that authors have in mind and do not write.
COMMON = (unbiased, full_participation, constant_steps)
# Symbols by which a claim shows that its author does not have one of them in mind.
WITHOUT = {
    unbiased: {"rho_bar", "rho_tilde", "rho_pairs", "pi_min", "pi_max"},
    full_participation: {"C", "m"},
    constant_steps: {"eta_0", "eta_ratio", "eta_growth"},
}
# Points that a statement means to be any.
ANY_POINT = {v: "any point (on a run w_0 is tried)", u: "any point (on a run w_s is tried, s = floor(t/2))"}
# Who may prove a claim.
PROOFS = (Evidence.SYMBOLIC, Evidence.KERNEL)
# Outcomes of chance that a longer run may have, to be run once more.
MOST_SIGNS = 12


def claim_sentences(claim: Claim, lines: Iterable[Line]) -> str:
    """Whether a claim is true, the strongest statement of it that holds, its counterexamples, and what it states."""
    readings = list(lines)
    relations = {Kind.INEQUALITY: "is at most", Kind.IDENTITY: "equals", Kind.RATE: "falls as fast as"}
    left = QUANTITIES[claim.lhs.name].meaning if claim.lhs.is_Symbol else str(claim.lhs)
    terms = "1/T" if claim.kind is Kind.RATE else " + ".join(claim.terms) or "0"
    result = [
        claim_answer(readings),
        f"{claim.title} ({claim.source}): {left} {relations[claim.kind]} {terms}, for {SCOPES[claim.scope]}.",
    ]
    holds = next((line for line in readings if any(map(line.verdicts, PROOFS)) and line.proved()), None)
    result += [] if holds is None else [_what_holds(claim, holds)]
    false = [line for line in readings if line.counterexamples]
    result += [_counterexample_sentence(claim, line) for line in false if line.reading in claim.readings]
    if holds is None and not false:
        certified = sum(v.status is Status.HOLDS for line in readings for v in line.verdicts(Evidence.SDP))
        result += [f"Certified for the whole class at {certified} settings of its parameters."] if certified else []
        result.append(f"To search for a counterexample: fedbounds referee {claim.key}.")
    if claim.kind is Kind.INEQUALITY:
        result.append(f"How loose: fedbounds check --claim {claim.key} gives bound over measured on a run.")
    return "\n".join(result)


def _what_holds(claim: Claim, line: Line) -> str:
    """The reading that is proved, with all that it needs beyond the claim as written."""
    checkers = {Evidence.SYMBOLIC: "step by step", Evidence.KERNEL: "by Rocq"}
    by = " and ".join(words for kind, words in checkers.items() if line.verdicts(kind))
    needs, repair = "", claim.repair
    if repair is not None and READINGS[line.reading].repaired:
        conditions = [item.statement for item in repair.assumptions]
        conditions += [f"{symbol} becomes {value}" for symbol, value in repair.substitutions.items()]
        needs = f" Changed: {repair.why}" + (f" ({'; '.join(conditions)})." if conditions else ".")
    return f"Holds [{line.reading}], proved {by}: fedbounds derive {claim.key}.{needs}"


def _counterexample_sentence(claim: Claim, line: Line) -> str:
    """The stored counterexample to a reading: its size and both sides."""
    verdict = line.counterexamples[0]
    pair = decimal_sides(verdict)
    sides = verdict.detail
    if pair is not None:
        sides = f"left side {pair[0]} {'!=' if claim.kind is Kind.IDENTITY else pair[1]} right side {pair[2]}"
    if claim.kind is Kind.RATE:
        sides = f"the gap stays at {verdict.data.get('lhs')}"
    words = f"Fails [{line.reading}]: {sides}"
    if "instance" in verdict.data:
        instance = from_json(verdict.data["instance"])  # type: ignore[arg-type]
        size = (counted(instance.N, "client"), counted(instance.d, "coordinate"), counted(instance.total, "step"))
        words += f", with {', '.join(size)} and tau = {instance.tau}"
        note = length_note(claim, line.reading, instance)
        words += f". {note[:-1]}" if note else ""
    return f"{words}. See fedbounds refute {claim.key} --reading {line.reading} --verify."


def length_note(claim: Claim, reading: str, instance: Instance) -> str:
    """A sentence where a violation of a one-step claim needs the run to end: one round longer, the claim holds."""
    outcomes = 2 * instance.N * instance.total if instance.stochastic else 0
    if claim.scope != "step" or instance.total > instance.tau or outcomes > MOST_SIGNS:
        return ""
    last = instance.eta[-1:] * instance.tau
    longer = replace(instance, eta=(*instance.eta, *last))
    if instance.weights and len(instance.weights) == instance.rounds > 1:
        longer = replace(longer, weights=(*instance.weights, instance.weights[-1]))
    if examine(longer, claim, READINGS[reading]).status is not Status.HOLDS:
        return ""
    held = "one round longer, with its last step size, the same run satisfies the claim"
    return f"It needs T = tau = {instance.tau}: {held}."


def unassumed_note(claim: Claim, reading: str, instance: Instance) -> str:
    """A sentence that names common hypotheses which a counterexample does not meet and the claim does not make."""
    used = _used(claim).union(*(item.symbols() for item in claim.assumptions))
    unmet = [
        item
        for item in COMMON
        if not used & WITHOUT[item]
        and not (item is constant_steps and claim.steps is not None)
        and examine(instance, replace(claim, assumptions=(*claim.assumptions, item)), READINGS[reading]).status
        is Status.NOT_APPLICABLE
    ]
    if not unmet:
        return ""
    named = " or ".join(f"{item.key} ({item.statement})" for item in unmet)
    return f"This instance does not meet {named}: if the theorem means that, assume it and try again."


def length_note_of(example: Counterexample) -> str:
    """`length_note` of a stored counterexample; nothing where it is about no claim, or in a reading of its own."""
    document = example.document
    if "instance" not in document or document.get("reading") not in READINGS:
        return ""
    return length_note(example.claim(), document["reading"], from_json(document["instance"]))


def claim_answer(lines: Sequence[Line]) -> str:
    """A claim in a sentence: false, proved or open as written, and what its repair is."""
    if not lines:
        return "Open."
    claim = lines[0].claim
    by_reading = {line.reading: line for line in lines}
    written, last = (by_reading.get(reading) for reading in (claim.readings[0], claim.readings[-1]))
    false = written is not None and bool(written.counterexamples)
    proved = last is not None and any(v.status is Status.HOLDS for kind in PROOFS for v in last.verdicts(kind))
    if false and claim.repair is not None:
        return "False as written; true if repaired." if proved else "False as written; its repair is open."
    if false:
        return "False as written."
    if proved:
        return "Proved." if claim.repair is None else "Proved as repaired; open as written."
    return "Open: neither proved nor refuted."


def explain(claim: Claim) -> dict[str, Any]:
    repair = claim.repair
    return {
        "key": claim.key,
        "title": claim.title,
        "source": claim.source,
        "algorithm": claim.algorithm,
        "kind": str(claim.kind),
        "scope": claim.scope,
        "latex": statement(claim),
        "left": pretty(claim.lhs),
        "terms": {name: pretty(term) for name, term in claim.terms.items()},
        "sides": sides(claim),
        "where": {str(symbol): pretty(value) for symbol, value in claim.definitions.items()},
        "step": None if claim.eta is None else pretty(claim.eta),
        "assumptions": {item.key: item.statement for item in claim.assumptions},
        "readings": {name: READINGS[name].summary for name in claim.readings},
        "repair": None
        if repair is None
        else {
            "why": repair.why,
            "assumptions": {item.key: item.statement for item in repair.assumptions},
            "substitutions": {str(symbol): str(value) for symbol, value in repair.substitutions.items()},
        },
        "symbols": {name: QUANTITIES[name].meaning for name in sorted(_used(claim)) if name in QUANTITIES}
        | {symbol.name: symbol.meaning for symbol in claim.computed}
        | {
            str(point): meant
            for point, meant in ANY_POINT.items()
            if any(point in _points(q) for q in claim.computed)
        },
        "remark": claim.remark,
    }


def read_back(claim: Claim) -> str:
    """What a theorem file says: the statement, its symbols in words, what was assumed, and what may vary."""
    explained = explain(claim)
    named = {item.key for item in claim.assumptions}
    related = {s for item in claim.assumptions for part in item.parts for s in part.left.free_symbols}
    several, by_losses = "one-client" not in named, named.isdisjoint({"unbiased", *SELECTIONS})
    varies = {
        "the step sizes": claim.eta is None and constant_steps.key not in named,
        "the weights, with the losses": several and by_losses,
        "who takes part": several and "full-participation" not in named,
        "the noise of gradients": "full-gradients" not in named,
        "the number of clients N": N not in related,
        "the local steps tau": not any(
            tau in part.left.free_symbols for assumption in claim.assumptions for part in assumption.parts
        ),
    }
    lines = [f"{claim.key}, for {SCOPES[claim.scope]}:", "", *_statement(explained), ""]
    lines += ["Symbols", *(f"  {name}: {meaning}" for name, meaning in explained["symbols"].items())]
    lines += ["Assumed", *(f"  {key}: {text}" for key, text in explained["assumptions"].items())]
    lines += ["May vary", "  " + ", ".join(what for what, free in varies.items() if free)]
    lines += [f"Warning: {entry}" for entry in claim.unread or ()]
    for base, term in unknown_signs(claim):
        remedy = f"add % fedbounds: assume {latex(base)} > 0"
        lines.append(f"Warning: the sign of {base} in {term} is unknown: {remedy}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def sides(claim: Claim) -> dict[str, Any]:
    """The left side, and per reading the terms of the right side with definitions put in, as plain formulas."""
    right = {name: {key: str(term) for key, term in claim.sides(READINGS[name]).terms.items()} for name in READINGS}
    return {"left": str(claim.lhs), "right": right}


def _points(quantity: Quantity) -> set[Vec]:
    return set() if quantity.expression is None else quantity.expression.atoms(Vec)


def _used(claim: Claim) -> set[str]:
    parts = (claim.lhs, *claim.terms.values(), *claim.definitions.values(), *claim.definitions)
    return {symbol.name for part in parts for symbol in sp.sympify(part).free_symbols}


RELATIONS = {Kind.IDENTITY: "=", Kind.RATE: "= O(1/T)"}


def _statement(explained: Mapping[str, Any]) -> list[str]:
    """Both sides, the definitions and the step size, as two-dimensional text."""
    lines = _indented(explained["left"])
    if explained["kind"] == Kind.RATE:
        lines[-1] += f" {RELATIONS[Kind.RATE]}"
    else:
        lines.append(f"  {RELATIONS.get(Kind(explained['kind']), '<=')}  the sum of")
        for name, term in explained["terms"].items():
            lines += ["", *_beside(f"    {name}: ", term)]
        if not explained["terms"]:
            lines.append("    0")
    lines.append("")
    for name, value in explained["where"].items():
        lines += _beside(f"  where {pretty(sp.Symbol(name))} = ", value)
    return lines + (_beside("  with the step size ηₜ = ", explained["step"]) if explained["step"] else [])


def to_text(explained: Mapping[str, Any]) -> str:
    lines = [f"{explained['key']}: {explained['title']}", f"Source: {explained['source']}"]
    lines += [f"Algorithm: {explained['algorithm']}"] if explained["algorithm"] != FEDAVG else []
    lines += ["", "Statement", *_statement(explained)]
    lines += ["", "LaTeX", f"  {explained['latex']}", "", "Assumptions"]
    lines += [f"  {key}: {text}" for key, text in explained["assumptions"].items()] or ["  none"]
    lines += ["", "Readings", *(f"  {name}: {text}" for name, text in explained["readings"].items())]
    if explained["repair"]:
        repair = explained["repair"]
        lines += ["", f"Repair: {repair['why']}"]
        lines += [f"  also assumes {key}: {text}" for key, text in repair["assumptions"].items()]
        lines += [f"  {name} becomes {value}" for name, value in repair["substitutions"].items()]
    lines += ["", "Symbols", *(f"  {name}: {meaning}" for name, meaning in explained["symbols"].items())]
    if explained["remark"]:
        lines += ["", f"Remark: {explained['remark']}"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _indented(block: str) -> list[str]:
    return [f"  {line}" for line in block.splitlines()]


def _beside(label: str, block: str) -> list[str]:
    """A label in front of the middle line of a block of text."""
    rows = block.splitlines()
    middle = len(rows) // 2
    return [(label if k == middle else " " * len(label)) + row for k, row in enumerate(rows)]
