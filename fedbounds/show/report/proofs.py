"""Checked derivations as a page shows them: formulas, reasons, corrections of the paper, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp
from markupsafe import Markup

from fedbounds.evidence.symbolic.derivation import Step
from fedbounds.evidence.symbolic.render import RELATIONS, names, reasons, verdict_line
from fedbounds.evidence.symbolic.scope import Checked, Outcome
from fedbounds.evidence.symbolic.table import verdict_of
from fedbounds.show.report.mathml import formula, latex, math, mixed, pieces, prose


@dataclass(frozen=True)
class Formula:
    """``left relation`` and the terms of the right side, between which a line may break."""

    left: Markup
    relation: Markup
    right: list[Markup]


@dataclass(frozen=True)
class Correction:
    """A line of the paper that is wrong: it, ours minus it, and why."""

    line: Formula
    difference: list[Markup]
    why: Markup


@dataclass(frozen=True)
class ProofStep:
    """One step with its check."""

    label: str
    ok: bool
    formula: Formula
    because: list[Markup]
    note: Markup
    correction: Correction | None
    message: str


@dataclass(frozen=True)
class Proof:
    """A derivation with its check."""

    key: str
    claim: str
    title: Markup
    readings: str
    verdict: str
    fault: bool
    setting: list[tuple[str, Markup]]
    conditions: list[tuple[Markup, Markup]]
    steps: list[ProofStep]
    findings: list[Markup]

    @property
    def checked(self) -> int:
        """How many steps check."""
        return sum(step.ok for step in self.steps)


def proofs() -> list[Proof]:
    """Every installed derivation, checked now."""
    from fedbounds.evidence.symbolic import library as symbolic

    return [proof(checked) for checked in symbolic.check_all().values()]


def proof(checked: Checked) -> Proof:
    """One checked derivation."""
    derivation = checked.derivation
    known = names(checked)
    return Proof(
        derivation.key,
        derivation.claim,
        prose(derivation.title),
        ", ".join(derivation.readings),
        verdict_line(checked, verdict_of(checked)),
        bool(checked.fault),
        [(key, prose(text)) for key, text in checked.setting.items()],
        _conditions(checked, known),
        [_step(step, checked.outcomes[step.label], known) for step in derivation.steps],
        [prose(text) for text in derivation.findings],
    )


def _conditions(checked: Checked, known: Mapping[str, str]) -> list[tuple[Markup, Markup]]:
    return [(formula(rf"{latex(c.expression, known)} \ge 0"), prose(c.why)) for c in checked.conditions]


def _step(step: Step, outcome: Outcome, known: Mapping[str, str]) -> ProofStep:
    shown = reasons(step, lambda multiplier: f"\0{latex(multiplier, known)}\0")
    paper = step.paper
    correction = None
    if paper is not None:
        line = line_of(step.lhs, step.relation, paper.rhs, known)
        correction = Correction(line, pieces(paper.difference, known), prose(paper.correction))
    return ProofStep(
        step.label,
        outcome.ok,
        line_of(step.lhs, step.relation, step.rhs, known),
        [mixed(reason.replace("\0 x ", "\0 × ")) for reason in shown],
        prose(step.note),
        correction,
        outcome.message,
    )


def line_of(left: sp.Expr, relation: str, right: sp.Expr, known: Mapping[str, str]) -> Formula:
    """One displayed line."""
    return Formula(math(left, known), formula(RELATIONS[relation]), pieces(right, known))
