"""A proof as data: elementary facts, steps that combine them, and derivations that end in a claim's own line.

Every fact states that its ``expression`` is non-negative (or zero, or positive). The elementary facts compute
that expression from their arguments, so a file of derivations cannot state a false one; what is not
elementary is a ``Premise``, named and listed with the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Inner, norm_sq
from fedbounds.theory import symbols

Relation = Literal["<=", "=", ">=", "<", ">", "->", "!="]
Sign = Literal["non-negative", "zero", "positive"]


@dataclass(frozen=True)
class Jet:
    """A function at a point: the point, the value there and the gradient there (vectors and a scalar)."""

    point: sp.Expr
    value: sp.Expr
    gradient: sp.Expr = field(default_factory=lambda: sp.Integer(0))


@dataclass(frozen=True)
class Fact:
    """What a step rests on: ``expression`` >= 0, = 0 or > 0, and the assumption that gives it (or none)."""

    expression: sp.Expr
    why: str
    sign: Sign = "non-negative"
    assumption: str = ""


@dataclass(frozen=True)
class Smooth(Fact):
    """F(x) + <grad F(x), y - x> + (L/2) ||y - x||^2 - F(y) >= 0 (Assumption 1)."""

    def __init__(self, at: Jet, to: Jet, why: str = "L-smoothness", assumption: str = "smooth") -> None:
        step = to.point - at.point
        expression = at.value + Inner(at.gradient, step) + symbols.L / 2 * norm_sq(step) - to.value
        Fact.__init__(self, expression, why, "non-negative", assumption)


@dataclass(frozen=True)
class Convex(Fact):
    """F(y) - F(x) - <grad F(x), y - x> - (mu/2) ||y - x||^2 >= 0 (Assumption 2)."""

    def __init__(self, at: Jet, to: Jet, why: str = "mu-convexity", assumption: str = "strongly-convex") -> None:
        step = to.point - at.point
        expression = to.value - at.value - Inner(at.gradient, step) - symbols.mu / 2 * norm_sq(step)
        Fact.__init__(self, expression, why, "non-negative", assumption)


@dataclass(frozen=True)
class Square(Fact):
    """||v||^2 >= 0 or x^2 >= 0: what Young, Jensen and Cauchy-Schwarz inequalities come down to."""

    def __init__(self, of: sp.Expr, why: str = "a square", vector: bool = True) -> None:
        Fact.__init__(self, norm_sq(of) if vector else of**2, why)


@dataclass(frozen=True)
class Premise(Fact):
    """An assumption or definition that is not elementary: listed by name with the proof."""

    def __init__(self, assumption: str, expression: sp.Expr, why: str, sign: Sign = "non-negative") -> None:
        Fact.__init__(self, expression, why, sign, assumption)


@dataclass(frozen=True)
class Condition(Fact):
    """A premise with a non-negative symbol (or ``Slack`` value) of its own, which multipliers may use.

    The assumption is a name, or ``step:label`` where an earlier step of the derivation shows it.
    """

    symbol: sp.Expr = field(default_factory=lambda: sp.Integer(0))

    def __init__(self, assumption: str, symbol: sp.Expr, expression: sp.Expr, why: str) -> None:
        Fact.__init__(self, expression, why, "non-negative", assumption)
        object.__setattr__(self, "symbol", symbol)


@dataclass(frozen=True)
class Extreme(Fact):
    """a - Min(a, ...) >= 0 or Max(a, ...) - a >= 0, for a symbol that abbreviates the extreme."""

    symbol: sp.Symbol = field(default_factory=lambda: symbols.L)
    argument: sp.Expr = field(default_factory=lambda: sp.Integer(0))

    def __init__(self, symbol: sp.Symbol, argument: sp.Expr, of: type[sp.Min] | type[sp.Max]) -> None:
        expression = argument - symbol if of is sp.Min else symbol - argument
        Fact.__init__(self, expression, f"definition of the {'minimum' if of is sp.Min else 'maximum'}")
        object.__setattr__(self, "symbol", symbol)
        object.__setattr__(self, "argument", argument)


@dataclass(frozen=True)
class Hypothesis(Fact):
    """The induction hypothesis: an ``Induction`` must discharge it by name."""

    name: str = ""

    def __init__(self, name: str, expression: sp.Expr, sign: Sign = "non-negative") -> None:
        Fact.__init__(self, expression, "induction hypothesis", sign)
        object.__setattr__(self, "name", name)


@dataclass(frozen=True)
class Given(Fact):
    """1 > 0: with a non-negative multiplier, a term that is non-negative on sight."""

    def __init__(self) -> None:
        Fact.__init__(self, sp.Integer(1), "non-negative on sight", "positive")


@dataclass(frozen=True)
class Earlier:
    """The inequality or identity of an earlier step of the same derivation."""

    label: str


@dataclass(frozen=True)
class Cited:
    """The last line of another derivation; ``discharged`` maps its conditions to what establishes them here.

    A value is the label of a step of this derivation that shows the condition, or the key of a derivation
    of the same claim that does without it.
    """

    derivation: str
    discharged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Averaged:
    """sum_i weights_i (sum of multiplier * fact): non-negative since the weights are."""

    weights: sp.Expr
    uses: tuple[Use, ...]


FactLike = Fact | Earlier | Cited | Averaged
Use = tuple[sp.Expr, FactLike]


def averaged(weights: sp.Expr, *uses: tuple[sp.Expr | int, FactLike] | FactLike) -> Averaged:
    """The average of a combination of facts, as they are written: bare, or as (multiplier, fact)."""
    return Averaged(weights, tuple(as_use(use) for use in uses))


def as_use(use: tuple[sp.Expr | int, FactLike] | FactLike) -> Use:
    """A (multiplier, fact) pair; a bare fact is used once."""
    return (sp.sympify(use[0]), use[1]) if isinstance(use, tuple) else (sp.Integer(1), use)


@dataclass(frozen=True)
class Case:
    """One case of a distinction: its condition, and what is combined under it."""

    condition: Condition
    uses: tuple[Use, ...]


@dataclass(frozen=True)
class Cases:
    """The relation is shown in two cases whose conditions are c >= 0 and -c >= 0."""

    first: Case
    second: Case


@dataclass(frozen=True)
class Induction:
    """For every time: ``base`` is the statement at the start, ``step`` carries it from a time to the next.

    ``statement`` (non-negative, or zero for an identity) is the hypothesis named ``name``; ``start``,
    ``next`` and ``end`` are the substitutions that turn it into the base, the step's conclusion and the line proved.
    """

    name: str
    statement: sp.Expr
    base: str
    step: str
    start: Mapping[sp.Expr, sp.Expr]
    next: Mapping[sp.Expr, sp.Expr]
    end: Mapping[sp.Expr, sp.Expr]


@dataclass(frozen=True)
class Every:
    """c <= Min(a, ...) or Max(a, ...) <= c, for the extreme a symbol abbreviates: one step an argument."""

    symbol: sp.Symbol
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Limit:
    """The limit of the left side as ``symbol`` tends to ``point`` from the side ``direction``."""

    symbol: sp.Symbol
    point: sp.Expr
    direction: str = "+"


@dataclass(frozen=True)
class Instance:
    """Exact values of the symbols at which the two sides of a != differ."""

    values: Mapping[sp.Symbol, sp.Expr]


Rule = Cases | Induction | Every | Limit | Instance


@dataclass(frozen=True)
class Display:
    """A line of the paper that is wrong: its right side, ours minus it, and why ours is right."""

    rhs: sp.Expr
    difference: sp.Expr
    correction: str


@dataclass(frozen=True)
class Step:
    """``lhs relation rhs`` because of a combination of facts, a case distinction, an induction or a limit.

    For <= the checker verifies rhs - lhs = sum of multiplier * fact, with non-negative multipliers
    (of either sign on a fact of sign zero); for > that lhs - rhs is such a sum with a positive part.
    """

    label: str
    lhs: sp.Expr
    relation: Relation
    rhs: sp.Expr
    because: tuple[Use, ...] | Rule = ()
    note: str = ""
    paper: Display | None = None


def step(
    label: str,
    lhs: sp.Expr | int,
    relation: Relation,
    rhs: sp.Expr | int,
    *uses: tuple[sp.Expr | int, FactLike] | FactLike,
    by: Rule | None = None,
    note: str = "",
    paper: Display | None = None,
) -> Step:
    """A step, with its facts as they are written: bare, or as (multiplier, fact)."""
    because = by if by is not None else tuple(as_use(use) for use in uses)
    return Step(label, sp.sympify(lhs), relation, sp.sympify(rhs), because, note, paper)


def case(condition: Condition, *uses: tuple[sp.Expr | int, FactLike] | FactLike) -> Case:
    """A case, with its facts as they are written."""
    return Case(condition, tuple(as_use(use) for use in uses))


@dataclass(frozen=True)
class Derivation:
    """A proof: its steps, the meaning of the claim's symbols in them, and what the last line concludes.

    ``claim`` is the key of the claim whose right side the last line must equal (empty for a result of its
    own); with ``refutes`` the last line contradicts it instead. ``meaning`` gives symbols their value in
    inner products and means; ``abbreviations`` symbols that stand for a minimum or a maximum;
    ``positive`` names the steps that show their arguments positive. ``setting`` are
    the premises of the model and of the reading, ``conditions`` the ones whose symbols multipliers use.
    """

    key: str
    title: str
    steps: tuple[Step, ...]
    claim: str = ""
    readings: tuple[str, ...] = ("repaired",)
    refutes: bool = False
    meaning: Mapping[sp.Expr, sp.Expr] = field(default_factory=dict)
    abbreviations: Mapping[sp.Expr, sp.Expr] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    setting: Mapping[str, str] = field(default_factory=dict)
    notation: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
