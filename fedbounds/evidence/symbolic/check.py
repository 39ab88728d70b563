"""Verification of derivations: each step an exact identity, each multiplier non-negative, each citation sound."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from fedbounds.evidence.symbolic.algebra import normal_fraction
from fedbounds.evidence.symbolic.derivation import (
    Case,
    Cases,
    Derivation,
    Every,
    Induction,
    Instance,
    Limit,
    Step,
    Use,
)
from fedbounds.evidence.symbolic.sums import (
    STRICT,
    Checked,
    Library,
    Outcome,
    Scope,
    Unproved,
    citations,
    combined,
    earlier,
    excess,
    require_zero,
)


def library(derivations: Mapping[str, Derivation]) -> Library:
    """Derivations that may cite each other, none checked yet."""
    return Library(derivations, check)


def check(key: str, shelf: Library) -> Checked:
    """Check a derivation, and first those it cites."""
    if key in shelf.checked:
        return shelf.checked[key]
    if key in shelf.pending:
        raise Unproved(f"{key} cites itself")
    shelf.pending.add(key)
    derivation = shelf.derivations[key]
    outcomes: dict[str, Outcome] = {}
    for step in derivation.steps:
        if step.label in outcomes:
            outcomes[step.label] = Outcome(False, "the label is used twice")
            continue
        scope = Scope(derivation, outcomes, shelf, derivation.conditions)
        outcomes[step.label] = _check_step(step, scope)
    shelf.pending.discard(key)
    shelf.checked[key] = _conclude(derivation, outcomes, shelf)
    return shelf.checked[key]


def _conclude(derivation: Derivation, outcomes: Mapping[str, Outcome], shelf: Library) -> Checked:
    last = outcomes[derivation.steps[-1].label]
    # A result of its own is all its steps; the proof of a claim is what its last line rests on.
    shown = [last] if derivation.claim else list(outcomes.values())
    failed = [f"step {label} does not check: {o.message}" for label, o in outcomes.items() if not o.ok]
    inducted = {rule.name for rule in (step.because for step in derivation.steps) if isinstance(rule, Induction)}
    left = frozenset().union(*(outcome.open for outcome in outcomes.values())) - inducted | last.open
    if left:
        failed.append(f"no induction discharges the hypothesis {', '.join(sorted(left))}")
    failed += _abbreviation_faults(derivation, outcomes)
    setting = dict(derivation.setting)
    for key in citations(derivation):
        if key in shelf.checked:
            setting |= shelf.checked[key].setting
    shown += [outcomes[label] for label in derivation.positive if label in outcomes]
    assumptions: frozenset[str] = frozenset().union(*(outcome.assumptions for outcome in shown))
    return Checked(derivation, outcomes, assumptions, setting, failed[0] if failed else "")


def _abbreviation_faults(derivation: Derivation, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Abbreviated extremes declared positive without steps that show their arguments so."""
    by_label = {step.label: step for step in derivation.steps}
    shown = [
        by_label[label].lhs
        for label in derivation.positive
        if outcomes[label].ok and by_label[label].relation == ">" and by_label[label].rhs == 0
    ]
    faults = []
    for symbol, extreme in derivation.abbreviations.items():
        good = [a in shown or (a.is_nonnegative and not symbol.is_positive) or a.is_positive for a in extreme.args]
        enough = all(good) if isinstance(extreme, sp.Min) else any(good)
        if (symbol.is_positive or symbol.is_nonnegative) and not enough:
            faults.append(f"{symbol} = {extreme} is not shown to be positive")
    return faults


def _check_step(step: Step, scope: Scope) -> Outcome:
    try:
        return _verify(step, scope)
    except Unproved as fault:
        return Outcome(False, str(fault))


def _verify(step: Step, scope: Scope) -> Outcome:
    if step.paper is not None:
        require_zero(step.rhs - step.paper.rhs - step.paper.difference, scope, "the difference from the paper's line")
    because = step.because
    if isinstance(because, Limit):
        return _limit(step, because)
    if isinstance(because, Instance):
        return _instance(step, because, scope)
    if isinstance(because, Induction):
        return _induction(step, because, scope)
    if isinstance(because, Every):
        return _every(step, because, scope)
    if isinstance(because, Cases):
        return _cases(step, because, scope)
    return _combination(step, because, scope)


def _combination(step: Step, uses: tuple[Use, ...], scope: Scope) -> Outcome:
    total = combined(uses, scope)
    require_zero(excess(step) - total.value, scope, f"left after the facts are used, in {step.relation}")
    if step.relation == "=" and total.sign != "zero":
        raise Unproved("an identity rests on an inequality")
    if step.relation in STRICT and total.sign != "positive":
        raise Unproved("no part of the difference is shown to be positive")
    if step.relation not in ("<=", ">=", "=", *STRICT):
        raise Unproved(f"a combination of facts cannot show {step.relation}")
    return Outcome(True, "", total.assumptions, total.open)


def _cases(step: Step, cases: Cases, scope: Scope) -> Outcome:
    first, second = cases.first.condition, cases.second.condition
    require_zero(first.expression + second.expression, scope, "the cases do not cover everything:")

    def under(one: Case) -> Outcome:
        inner = Scope(scope.derivation, scope.outcomes, scope.library, (*scope.conditions, one.condition))
        return _combination(step, one.uses, inner)

    outcomes = under(cases.first), under(cases.second)
    used = frozenset().union(*(o.assumptions for o in outcomes)) - {first.assumption, second.assumption}
    return Outcome(True, "", used, frozenset().union(*(o.open for o in outcomes)))


def _every(step: Step, rule: Every, scope: Scope) -> Outcome:
    extreme = scope.derivation.abbreviations.get(rule.symbol)
    if not isinstance(extreme, sp.Min | sp.Max):
        raise Unproved(f"{rule.symbol} abbreviates no extreme")
    bound, side = (step.lhs, step.rhs) if isinstance(extreme, sp.Min) else (step.rhs, step.lhs)
    if side != rule.symbol or step.relation != "<=":
        raise Unproved(f"the step does not bound {rule.symbol} from the side its extreme allows")
    shown = [earlier(label, scope) for label in rule.labels]
    for argument in extreme.args:
        wanted = argument - bound if isinstance(extreme, sp.Min) else bound - argument
        if not any(normal_fraction(part.value - wanted, scope.meaning) == 0 for part in shown):
            raise Unproved(f"no step named compares {bound} with {argument}")
    assumptions = frozenset().union(*(part.assumptions for part in shown))
    return Outcome(True, "", assumptions, frozenset().union(*(part.open for part in shown)))


def _induction(step: Step, rule: Induction, scope: Scope) -> Outcome:
    base, carried = earlier(rule.base, scope), earlier(rule.step, scope)
    if rule.name not in carried.open or carried.open != {rule.name} or base.open:
        raise Unproved("the inductive step must rest on its hypothesis, and on no other")
    lines = ((base.value, rule.start, "base"), (carried.value, rule.next, "next"), (excess(step), rule.end, "end"))
    for value, put, what in lines:
        statement = rule.statement.subs(dict(put), simultaneous=True)
        require_zero(value - statement, scope, f"between the {what} line and the statement")
    if step.relation not in ("<=", ">=", "="):
        raise Unproved("an induction shows <=, >= or =")
    if step.relation == "=" and (base.sign, carried.sign) != ("zero", "zero"):
        raise Unproved("an identity rests on an inequality")
    return Outcome(True, "", base.assumptions | carried.assumptions)


def _limit(step: Step, rule: Limit) -> Outcome:
    if step.relation != "->":
        raise Unproved("a limit shows ->")
    try:
        value = sp.limit(step.lhs, rule.symbol, rule.point, rule.direction)
    except NotImplementedError as fault:
        raise Unproved(f"the limit cannot be decided: {fault}") from fault
    if sp.simplify(value - step.rhs) != 0:
        raise Unproved(f"the limit is {value}")
    return Outcome(True)


def _instance(step: Step, rule: Instance, scope: Scope) -> Outcome:
    rest = normal_fraction(step.lhs - step.rhs, scope.meaning).subs(dict(rule.values))
    if step.relation != "!=" or not rest.is_Rational or rest == 0:
        raise Unproved(f"the two sides do not differ there: the difference is {rest}")
    return Outcome(True)
