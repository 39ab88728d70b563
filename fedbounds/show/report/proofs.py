"""Checked derivations as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from markupsafe import Markup

from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.evidence.symbolic.render import RELATIONS, names, reasons, verdict_line
from fedbounds.evidence.symbolic.scope import Checked
from fedbounds.evidence.symbolic.table import verdict_of
from fedbounds.show.report.mathml import formula, latex, math, mixed, pieces


@dataclass(frozen=True)
class Proof:
    """A derivation with its check, and its formulas as MathML."""

    checked: Checked

    @property
    def derivation(self) -> Derivation:
        """What was checked."""
        return self.checked.derivation

    @property
    def verdict(self) -> str:
        """What the derivation establishes, in one line."""
        return verdict_line(self.checked, verdict_of(self.checked))

    @property
    def good(self) -> int:
        """How many steps check."""
        return sum(outcome.ok for outcome in self.checked.outcomes.values())

    @cached_property
    def _known(self) -> Mapping[str, str]:
        return names(self.checked)

    def line(self, left: sp.Expr, relation: str, right: sp.Expr) -> Markup:
        """One displayed line, which may break between the terms of its right side."""
        return Markup("{} {} {}").format(math(left, self._known), formula(RELATIONS[relation]), self.terms(right))

    def terms(self, expression: sp.Expr) -> Markup:
        """The terms of a sum."""
        return Markup(" ").join(pieces(expression, self._known))

    def conditions(self) -> list[tuple[Markup, str]]:
        """What is taken to be non-negative, and why."""
        signs = {True: ">", False: r"\ge"}
        return [
            (formula(f"{latex(c.expression, self._known)} {signs[c.strict]} 0"), c.why)
            for c in self.checked.conditions
        ]

    def because(self, step: Step) -> list[Markup]:
        """Why a step holds, a line a fact."""
        told = reasons(step, lambda multiplier: f"\0{latex(multiplier, self._known)}\0")
        return [mixed(reason.replace("\0 x ", "\0 × ")) for reason in told]


def proofs() -> list[Proof]:
    """Every installed derivation, checked now."""
    from fedbounds.evidence.symbolic import library

    return [Proof(checked) for checked in library.check_all().values()]
