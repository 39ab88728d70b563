"""A proof as data: facts that are looked up by name, steps that combine them, and a claim's own line at the end.

No fact carries an expression that a file of derivations made up: elementary facts compute theirs, and a `Premise`
names an assumption, or a definition of the setting, whose facts are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import sympy as sp

from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim

Relation = Literal["<=", "=", ">=", "<", ">", "->"]


@dataclass(frozen=True)
class Premise:
    """What the assumption or definition of that key gives at the points named."""

    key: str
    points: tuple[sp.Expr, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Square:
    """||v||^2 >= 0, or x^2 >= 0: what Young, Jensen and Cauchy-Schwarz inequalities come down to."""

    of: sp.Expr
    why: str = "a square"
    vector: bool = True


@dataclass(frozen=True)
class CauchySchwarz:
    """||sum_i v_i q_i||^2 <= (sum_i v_i) sum_i v_i ||q_i||^2 for the weights v_i = alpha_i - pi p_i >= 0."""

    of: sp.Expr
    why: str = "Cauchy-Schwarz for the weights alpha - pi p"


@dataclass(frozen=True)
class MeanCauchySchwarz:
    """||sum_i p_i c_i v_i||^2 <= (sum_i p_i c_i^2) sum_i p_i ||v_i||^2 for numbers c_i and vectors v_i."""

    numbers: sp.Expr
    vectors: sp.Expr
    why: str = "Cauchy-Schwarz over the clients"


@dataclass(frozen=True)
class Young:
    """2 <u, v> + c (s + ||v||^2) >= 0 in the p-mean, as step ``label`` shows ||u||^2 <= c^2 s there; c >= 0."""

    label: str
    u: sp.Expr
    v: sp.Expr
    c: sp.Expr
    s: sp.Expr
    why: str = "Young's inequality"


@dataclass(frozen=True)
class Given:
    """1 > 0: with a non-negative multiplier, a term that is non-negative on sight."""

    why: str = "non-negative on sight"


@dataclass(frozen=True)
class Extreme:
    """a - Min(a, ...) >= 0 or Max(a, ...) - a >= 0, for a symbol that abbreviates the extreme."""

    symbol: sp.Symbol
    argument: sp.Expr
    why: str = "definition of the extreme"


@dataclass(frozen=True)
class Hypothesis:
    """The line that the induction of that label shows, at time t: to be shown there, or shown before."""

    label: str
    why: str = "induction hypothesis"


@dataclass(frozen=True)
class Earlier:
    """The inequality or identity of an earlier step of the same derivation."""

    label: str


@dataclass(frozen=True)
class Cited:
    """The last line of another derivation; ``discharged`` maps an assumption of it to the step that shows it here."""

    derivation: str
    discharged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Averaged:
    """sum_i weights_i (sum of multiplier * fact): non-negative since the weights are."""

    weights: sp.Expr
    uses: tuple[Use, ...]


@dataclass(frozen=True)
class Beyond:
    """sum_i (alpha_i - pi p_i) (sum of multiplier * fact): non-negative since pi is the smallest alpha_i/p_i."""

    uses: tuple[Use, ...]


Elementary = Premise | Square | CauchySchwarz | MeanCauchySchwarz | Young | Given
Fact = Elementary | Extreme | Hypothesis | Earlier | Cited | Averaged | Beyond
Use = tuple[sp.Expr, Fact]
Written = tuple[sp.Expr | int, Fact] | Fact
ONE = Given()


def premise(key: str, *points: sp.Expr, why: str = "") -> Premise:
    """What an assumption gives at points."""
    return Premise(key, points, why)


def averaged(weights: sp.Expr, *uses: Written) -> Averaged:
    """The average of a combination of facts, as they are written: bare, or as (multiplier, fact)."""
    return Averaged(weights, tuple(as_use(use) for use in uses))


def beyond(*uses: Written) -> Beyond:
    """The alpha-average less pi times the p-average of a combination of facts."""
    return Beyond(tuple(as_use(use) for use in uses))


def as_use(use: Written) -> Use:
    """A (multiplier, fact) pair; a bare fact is used once."""
    return (sp.sympify(use[0]), use[1]) if isinstance(use, tuple) else (sp.Integer(1), use)


@dataclass(frozen=True)
class Condition:
    """A symbol (or ``Slack`` value) of its own for what a premise or an earlier step shows non-negative.

    Multipliers may use it; it may be declared positive only where what it stands for is shown to be.
    """

    symbol: sp.Expr
    shown: Premise | Earlier


@dataclass(frozen=True)
class Case:
    """One case of a distinction: the symbol that its condition gives, and what is combined under it."""

    symbol: sp.Symbol
    uses: tuple[Use, ...]


@dataclass(frozen=True)
class Cases:
    """Two cases of an expression x: x >= 0 and x <= 0, or, where the step ``zero`` shows x >= 0, x > 0 and x = 0.

    In the first form the cases' symbols stand for x and -x; in the second the first stands for x > 0, and in
    the second case the symbol has the value that makes x zero.
    """

    of: sp.Expr
    first: Case
    second: Case
    zero: str = ""


@dataclass(frozen=True)
class Induction:
    """For every time T: step ``base`` is the line at T = 0, step ``step`` carries it from t to t + 1.

    What the line says at 0, t and t + 1 follows from the line and from the sequences' symbols. A ``local`` one is
    over the steps k of a round, from its start, and its line is about the local models.
    """

    base: str
    step: str
    local: bool = False


@dataclass(frozen=True)
class Every:
    """c <= Min(a, ...) or Max(a, ...) <= c, for the extreme a symbol abbreviates: one step an argument."""

    symbol: sp.Symbol
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Limit:
    """The limit of the left side as ``symbol`` tends to ``point``, where it is continuous, or to infinity."""

    symbol: sp.Symbol
    point: sp.Expr


@dataclass(frozen=True)
class Divisor:
    """x > 0, as the step ``label`` shows x >= 0 and the claim divides by x: where x = 0 it says nothing."""

    label: str


Rule = Cases | Induction | Every | Limit | Divisor


@dataclass(frozen=True)
class Display:
    """A line of the paper that is wrong: its right side, ours minus it, and why ours is right."""

    rhs: sp.Expr
    difference: sp.Expr
    correction: str


@dataclass(frozen=True)
class Step:
    """``lhs relation rhs`` because of a combination of facts, or by a rule.

    For <= the checker verifies rhs - lhs = sum of multiplier * fact, with non-negative multipliers
    (of either sign on a fact that is zero); for > that lhs - rhs is such a sum with a positive part.
    """

    label: str
    lhs: sp.Expr
    relation: Relation
    rhs: sp.Expr
    because: tuple[Use, ...] | Rule = ()
    note: str = ""
    paper: Display | None = None

    def by(self, *why: Written | Rule, note: str = "", paper: Display | None = None) -> Step:
        """The step because of facts as they are written, bare or as (multiplier, fact), or by one rule."""
        (rule, *others) = why or (None,)
        if isinstance(rule, Rule) and not others:
            return replace(self, because=rule, note=note, paper=paper)
        return replace(self, because=tuple(as_use(use) for use in why), note=note, paper=paper)  # type: ignore[arg-type]


def step(label: str, left: sp.Expr | int, relation: Relation, right: sp.Expr | int) -> Step:
    """A step whose two sides have the same normal form, unless it is told ``by`` what it holds."""
    return Step(label, sp.sympify(left), relation, sp.sympify(right))


def conclude(claim: Claim) -> Step:
    """The last step: the claim's own line as repaired."""
    return step("conclude", claim.lhs, "<=", sp.Add(*claim.stated(repaired=True).values()))


def case(symbol: sp.Symbol, *uses: Written) -> Case:
    """A case, with its facts as they are written."""
    return Case(symbol, tuple(as_use(use) for use in uses))


@dataclass(frozen=True)
class Derivation:
    """A proof: its steps, what it is about, and the symbols of its own.

    ``claim`` is the key of the claim whose line the last one must be (empty for a result of its own). ``assumes`` are
    assumptions beyond the claim's, ``eta`` a step size beyond the one the claim asks for: both narrow what is proved,
    and are said.
    ``conditions`` give symbols to what is shown non-negative, ``abbreviations`` to minima and maxima, and
    ``sequences`` maps a result's own z_T to (z_0, z_t, z_{t+1}).
    """

    key: str
    title: str
    steps: tuple[Step, ...]
    claim: str = ""
    readings: tuple[str, ...] = ("repaired",)
    assumes: tuple[Assumption, ...] = ()
    eta: sp.Expr | None = None
    conditions: tuple[Condition, ...] = ()
    abbreviations: Mapping[sp.Expr, sp.Expr] = field(default_factory=dict)
    sequences: Mapping[sp.Expr, tuple[sp.Expr, sp.Expr, sp.Expr]] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
