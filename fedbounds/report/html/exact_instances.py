"""What is shipped as evidence of claims, as a page shows it: proofs step by step, and counterexamples."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from markupsafe import Markup

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import Sides
from fedbounds.evidence.exact.counterexamples import Counterexample
from fedbounds.evidence.symbolic import library
from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.evidence.symbolic.library import verdict_of
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.evidence.symbolic.render import RELATIONS, names, reasons, verdict_line
from fedbounds.io import shaped
from fedbounds.report.claim_text import length_note_of
from fedbounds.report.counterexample_script import stored_script
from fedbounds.report.html.mathml import formula, latex, math, mixed, terms_of
from fedbounds.report.html.templates import template
from fedbounds.report.instance_text import fields
from fedbounds.study.cache import cached
from fedbounds.study.ledger import counterexample


@dataclass(frozen=True)
class Proof:
    """A derivation with its check, and its formulas as MathML."""

    checked: Checked

    @property
    def derivation(self) -> Derivation:
        return self.checked.derivation

    @property
    def verdict(self) -> str:
        return verdict_line(self.checked, verdict_of(self.checked))

    @property
    def good(self) -> int:
        return sum(outcome.ok for outcome in self.checked.outcomes.values())

    @cached_property
    def _notation(self) -> Mapping[str, str]:
        return names(self.checked)

    def line(self, left: sp.Expr, relation: str, right: sp.Expr) -> Markup:
        """One displayed line, which may break between the terms of its right side."""
        return Markup("{} {} {}").format(math(left, self._notation), formula(RELATIONS[relation]), self.terms(right))

    def terms(self, expression: sp.Expr) -> Markup:
        return Markup(" ").join(terms_of(expression, self._notation))

    def conditions(self) -> list[tuple[Markup, str]]:
        """What is taken to be non-negative, and why."""
        signs = {True: ">", False: r"\ge"}
        return [
            (formula(f"{latex(c.expression, self._notation)} {signs[c.strict]} 0"), c.why)
            for c in self.checked.conditions
        ]

    def because(self, step: Step) -> list[Markup]:
        data = reasons(step, lambda multiplier: f"\0{latex(multiplier, self._notation)}\0")
        return [mixed(reason.replace("\0 x ", "\0 × ")) for reason in data]


@dataclass(frozen=True)
class Example:
    """A counterexample and its two sides, computed again in exact arithmetic."""

    file: Counterexample
    sides: Sides

    @property
    def subject(self) -> str:
        """The claim that it refutes, or nothing where it is about a remark."""
        return str(self.file.document.get("claim", ""))

    def text(self, key: str) -> str:
        return str(self.file.document.get(key) or "")

    @property
    def reading(self) -> str:
        """The readings that it refutes."""
        also = ", ".join(self.file.document.get("also", ()))
        return (
            f"{self.file.reading}; also {also}" if also and self.subject else self.file.reading * bool(self.subject)
        )

    @property
    def relation(self) -> str:
        return ">" if self.sides.lhs > self.sides.rhs else "≠"

    @property
    def script(self) -> str:
        """The script of plain Python that finds both sides; nothing where there is no short one."""
        with contextlib.suppress(InputError):
            return stored_script(self.file)
        return ""

    @property
    def note(self) -> str:
        return length_note_of(self.file)

    @property
    def numbers(self) -> str:
        """What the instance is made of, a line a field."""
        return "\n".join(fields(self.file.document.get("instance") or self.file.document.get("data", {})))


def examples() -> list[Example]:
    """Every shipped counterexample, its two sides computed again in exact arithmetic."""
    from fedbounds.evidence.exact.counterexamples import all_files

    return [Example(*counterexample(path)) for path in all_files()]


# The evidence that is about no claim: steps of proofs, and counterexamples to remarks.
OTHERS = ""


def evidence() -> Mapping[str, Markup]:
    """Claim -> its proofs and counterexamples as HTML; OTHERS -> those that are about none.

    Each is checked here or was on this machine, with these very sources.
    """

    def read(result: object) -> dict[str, str]:
        return shaped(result, dict[str, str], "the stored evidence")

    # Unlike verdicts, it follows from how things are shown too.
    result = cached("evidence", _checked, read, dict, {"referee", "cli", "vision"})
    return {key: Markup(html) for key, html in result.items()}


def _checked() -> dict[str, str]:
    proofs, shown = [Proof(checked) for checked in library.check_all().values()], examples()
    part = template("shipped.html.jinja").module
    keys = {*(proof.derivation.claim for proof in proofs), *(example.subject for example in shown)}
    result = {OTHERS: part.others(*_about("", proofs, shown))}  # type: ignore[attr-defined]
    result |= {key: part.about(*_about(key, proofs, shown)) for key in sorted(keys - {"", None})}  # type: ignore[attr-defined]
    return {key: str(html) for key, html in result.items()}


def _about(key: str, proofs: list[Proof], shown: list[Example]) -> tuple[list[object], list[object]]:
    return (
        [proof for proof in proofs if (proof.derivation.claim or "") == key],
        [example for example in shown if example.subject == key],
    )
