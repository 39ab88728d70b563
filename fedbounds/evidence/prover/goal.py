"""What is to be proved, and what was found to show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.prover import draws
from fedbounds.evidence.prover.frame import Frame, equal_curvatures, frame
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim

SAME_STEP, COMMON, ONE_FUNCTION = "single-step", "common-optimum", "one-function"


@dataclass(frozen=True)
class Goal:
    """``left`` <= ``right`` of a scope, and what it may rest on: assumptions and definitions by key.

    The ``claim`` says what quantities of its own mean.
    """

    left: sp.Expr
    right: sp.Expr
    scope: str
    universe: Mapping[str, Assumption]
    steps: sp.Expr | None = None
    limits: tuple[tuple[d.Condition, sp.Expr], ...] = ()
    claim: Claim | None = None

    @property
    def frame(self) -> Frame:
        """The parameters."""
        return frame(self.universe.values(), self.steps, self.limits, (sy.rho_bar,) if self.skewed else ())

    @property
    def client(self) -> bool:
        """Whether it is about one client."""
        return self.scope == "point"

    @property
    def together(self) -> bool:
        """Whether local models are the virtual iterate."""
        return {SAME_STEP, a.full_participation.key} <= self.universe.keys()

    @property
    def drawn(self) -> bool:
        """Whether clients are drawn for each step."""
        return draws.DRAWN in self.universe

    @property
    def unbiased(self) -> bool:
        """Whether alpha is p."""
        return {a.unbiased.key, a.full_participation.key} <= self.universe.keys()

    @property
    def equal(self) -> bool:
        """Whether L = mu is assumed."""
        return equal_curvatures(self.universe.values()) is not None

    @property
    def shared(self) -> bool:
        """Whether w* minimises every F_i."""
        return COMMON in self.universe

    @property
    def identical(self) -> bool:
        """Whether every F_i is the same function."""
        return ONE_FUNCTION in self.universe

    @property
    def skewed(self) -> bool:
        """Whether it speaks of the smallest skew, whatever the weights."""
        spoken = self.left.free_symbols | self.right.free_symbols
        return sy.rho_bar in spoken and {"rho-bar", "strongly-convex"} <= self.universe.keys() and self.together

    @property
    def meanings(self) -> dict[sp.Basic, sp.Expr]:
        """What symbols stand for, as the checker reads them."""
        return definitions.meanings(True, a.full_participation.key in self.universe, self.claim)


@dataclass(frozen=True)
class Lines:
    """Steps that show what is needed, the uses of the last one, and the conditions whose symbols they have."""

    steps: tuple[d.Step, ...]
    uses: tuple[d.Use, ...]
    conditions: tuple[d.Condition, ...]
