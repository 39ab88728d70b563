"""Combinations of facts: their value, sign and grounds, with earlier steps and other derivations looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import sympy as sp

from fedbounds.evidence.symbolic.algebra import Mean, normal_fraction
from fedbounds.evidence.symbolic.derivation import (
    Averaged,
    Cases,
    Cited,
    Condition,
    Derivation,
    Earlier,
    Extreme,
    Fact,
    Hypothesis,
    Premise,
    Sign,
    Step,
    Use,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.symbols import NOTATION

STRICT = ("<", ">")
# A condition whose assumption starts so is shown by the earlier step of that label.
SHOWN_BY = "step:"
# Characters of what an unproved identity leaves that a message shows.
SHOWN = 300


@dataclass(frozen=True)
class Outcome:
    """One step: whether it checks and why not, what it uses, and the hypotheses still open."""

    ok: bool
    message: str = ""
    assumptions: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Checked:
    """A derivation with the outcome of each step; ``fault`` is empty when all check."""

    derivation: Derivation
    outcomes: Mapping[str, Outcome]
    assumptions: frozenset[str]
    setting: Mapping[str, str]
    fault: str = ""


@dataclass
class Library:
    """Derivations that may cite each other, with the checks made so far."""

    derivations: Mapping[str, Derivation]
    checker: Callable[[str, Library], Checked]
    checked: dict[str, Checked] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)


class Unproved(Exception):
    """Why a step does not check."""


@dataclass(frozen=True)
class Scope:
    derivation: Derivation
    outcomes: Mapping[str, Outcome]
    library: Library
    conditions: tuple[Condition, ...]

    @property
    def meaning(self) -> dict[sp.Basic, sp.Expr]:
        derivation = self.derivation
        return {**derivation.meaning, **derivation.abbreviations, **{c.symbol: c.expression for c in self.conditions}}


@dataclass(frozen=True)
class Total:
    """A combination of facts: its value, its sign and what it rests on."""

    value: sp.Expr
    sign: Sign
    assumptions: frozenset[str]
    open: frozenset[str]


def citations(derivation: Derivation) -> set[str]:
    found: set[str] = set()

    def visit(uses: tuple[Use, ...]) -> None:
        for _, fact in uses:
            if isinstance(fact, Cited):
                found.update({fact.derivation, *fact.discharged.values()})
            elif isinstance(fact, Averaged):
                visit(fact.uses)

    for step in derivation.steps:
        if isinstance(step.because, tuple):
            visit(step.because)
        elif isinstance(step.because, Cases):
            visit(step.because.first.uses + step.because.second.uses)
    return found


def excess(step: Step) -> sp.Expr:
    return step.lhs - step.rhs if step.relation in (">", ">=", "=") else step.rhs - step.lhs


def require_zero(expression: sp.Expr, scope: Scope, what: str) -> None:
    rest = normal_fraction(expression, scope.meaning)
    if rest != 0:
        text = str(rest)
        raise Unproved(f"{what} there remains {text if len(text) <= SHOWN else text[:SHOWN] + ' ...'}")


def combined(uses: tuple[Use, ...], scope: Scope) -> Total:
    """The combination of facts, with every multiplier checked."""
    value: sp.Expr = sp.Integer(0)
    sign: Sign = "zero"
    assumptions: set[str] = set()
    opened: set[str] = set()
    for multiplier, fact in uses:
        part = _resolve(fact, scope)
        if part.sign != "zero":
            if not shown_non_negative(multiplier):
                raise Unproved(f"the multiplier {multiplier} is not non-negative on sight")
            strict = part.sign == "positive" and bool(multiplier.is_positive)
            sign = "positive" if strict or sign == "positive" else "non-negative"
        used = multiplier.atoms(sp.Symbol, sp.Function)
        for condition in scope.conditions:
            if condition.symbol in used:
                granted = _granted(condition, scope)
                assumptions |= granted.assumptions
                opened |= granted.open
        assumptions |= part.assumptions
        opened |= part.open
        value += multiplier * part.value
    return Total(value, sign, frozenset(assumptions - {""}), frozenset(opened))


def _granted(condition: Condition, scope: Scope) -> Outcome:
    """What a condition rests on: its name, or the earlier step that shows it."""
    if not condition.assumption:
        raise Unproved("a condition must have a name")
    if not condition.assumption.startswith(SHOWN_BY):
        return Outcome(True, "", frozenset({condition.assumption}))
    shown = earlier(condition.assumption.removeprefix(SHOWN_BY), scope)
    require_zero(shown.value - condition.expression, scope, f"between the condition and {condition.assumption}")
    return Outcome(True, "", shown.assumptions, shown.open)


def _resolve(fact: object, scope: Scope) -> Total:
    """The value and sign of a fact, looked up where it is an earlier step or a citation."""
    if isinstance(fact, Averaged):
        inside = combined(fact.uses, scope)
        return Total(Mean(fact.weights, inside.value), inside.sign, inside.assumptions, inside.open)
    if isinstance(fact, Earlier):
        return earlier(fact.label, scope)
    if isinstance(fact, Cited):
        return _cited(fact, scope)
    if isinstance(fact, Extreme):
        extreme = scope.derivation.abbreviations.get(fact.symbol)
        if extreme is None or fact.argument not in extreme.args or not _same_kind(fact, extreme):
            raise Unproved(f"{fact.symbol} does not abbreviate an extreme of {fact.argument}")
    if not isinstance(fact, Fact) or type(fact) is Fact:
        raise Unproved("a bare fact is not elementary: name its kind")
    opened = frozenset({fact.name}) if isinstance(fact, Hypothesis) else frozenset()
    if isinstance(fact, Premise | Condition) and not fact.assumption:
        raise Unproved("a premise must have a name")
    if isinstance(fact, Condition):
        granted = _granted(fact, scope)
        return Total(fact.expression, fact.sign, granted.assumptions, granted.open)
    return Total(fact.expression, fact.sign, frozenset({fact.assumption} - {""}), opened)


def _same_kind(fact: Extreme, extreme: sp.Expr) -> bool:
    wanted = fact.argument - fact.symbol if isinstance(extreme, sp.Min) else fact.symbol - fact.argument
    return bool(wanted == fact.expression)


def _line(step: Step) -> tuple[sp.Expr, Sign]:
    """What a step says, as an expression and its sign."""
    if step.relation == "=":
        return excess(step), "zero"
    if step.relation in ("->", "!="):
        raise Unproved(f"step {step.label} is not an inequality")
    return excess(step), "positive" if step.relation in STRICT else "non-negative"


def earlier(label: str, scope: Scope) -> Total:
    outcome = scope.outcomes.get(label)
    if outcome is None:
        raise Unproved(f"there is no earlier step {label}")
    if not outcome.ok:
        raise Unproved(f"it rests on step {label}, which does not check")
    value, sign = _line(next(step for step in scope.derivation.steps if step.label == label))
    return Total(value, sign, outcome.assumptions, outcome.open)


def _cited(cited: Cited, scope: Scope) -> Total:
    other = _sound(cited.derivation, scope.library)
    _agree(other.derivation, scope)
    assumptions = set(other.assumptions)
    for condition, by in cited.discharged.items():
        if condition not in assumptions:
            raise Unproved(f"{cited.derivation} does not need {condition}")
        assumptions.discard(condition)
        assumptions |= _discharge(condition, by, cited.derivation, scope)
    value, sign = _line(other.derivation.steps[-1])
    while value.has(*other.derivation.abbreviations):
        value = value.xreplace(dict(other.derivation.abbreviations))
    foreign = sorted(s.name for s in value.free_symbols if s.name not in NOTATION)
    if foreign:
        raise Unproved(f"the last line of {cited.derivation} has symbols of its own: {', '.join(foreign)}")
    return Total(value, sign, frozenset(assumptions), frozenset())


def _sound(key: str, library: Library) -> Checked:
    if key not in library.derivations:
        raise Unproved(f"there is no derivation {key}")
    other = library.checker(key, library)
    if other.fault:
        raise Unproved(f"it rests on {key}: {other.fault}")
    if other.derivation.refutes:
        raise Unproved(f"{key} is a refutation")
    return other


def fixed(derivation: Derivation) -> dict[sp.Expr, sp.Expr]:
    """The parameters (step size, constants) to which a derivation gives a value of its own."""
    return {
        symbol: value
        for symbol, value in derivation.meaning.items()
        if symbol.is_Symbol
        and symbol.name in NOTATION
        and NOTATION[symbol.name].axis != "random"
        and symbol != sy.Gamma
    }


def _agree(other: Derivation, scope: Scope) -> None:
    """A cited derivation may have fixed only what this one fixes to the same value."""
    for symbol, value in fixed(other).items():
        require_zero(symbol - value, scope, f"{other.key} is for {symbol} = {value} only:")


def _discharge(condition: str, by: str, cited: str, scope: Scope) -> frozenset[str]:
    """What establishes a cited condition rests on: a step showing it, or a derivation that does without it."""
    owner, needed = _owner(condition, cited, scope.library)
    if by in scope.outcomes:
        shown = earlier(by, scope)
        require_zero(shown.value - needed.expression, scope, f"between step {by} and the condition {condition}")
        if needed.sign == "positive" and shown.sign != "positive":
            raise Unproved(f"step {by} is not strict, as {condition} is")
        return shown.assumptions
    other = _sound(by, scope.library)
    _agree(other.derivation, scope)
    if other.derivation.claim != owner.claim or condition in other.assumptions:
        raise Unproved(f"{by} does not replace {owner.key} without {condition}")
    return other.assumptions


def _owner(condition: str, key: str, library: Library) -> tuple[Derivation, Fact]:
    """The derivation, of those cited from ``key``, that makes an assumption, and the assumption as a fact."""
    derivation = library.derivations[key]
    uses = [use for step in derivation.steps if isinstance(step.because, tuple) for use in step.because]
    premises = [fact for _, fact in uses if isinstance(fact, Premise)]
    for fact in (*derivation.conditions, *premises):
        if fact.assumption == condition:
            return derivation, fact
    for other in sorted(citations(derivation) & set(library.derivations)):
        try:
            return _owner(condition, other, library)
        except Unproved:
            continue
    raise Unproved(f"no derivation under {key} declares {condition}")


def shown_non_negative(expression: sp.Expr) -> bool:
    """Whether every term of an expression is a product of non-negative things, over a positive denominator."""
    if expression.is_nonnegative:
        return True
    numerator, denominator = sp.fraction(sp.together(expression))
    terms = [*sp.Add.make_args(sp.expand(numerator)), *sp.Add.make_args(sp.expand(denominator))]
    return all(bool(term.is_nonnegative) for term in terms) and bool(denominator.is_positive)
