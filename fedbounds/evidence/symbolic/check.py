"""Verification of derivations: each step an exact identity, each multiplier non-negative, each citation sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from fedbounds.evidence.symbolic import setting
from fedbounds.evidence.symbolic.algebra import random
from fedbounds.evidence.symbolic.derivation import (
    Case,
    Cases,
    Derivation,
    Every,
    Exhibited,
    Induction,
    Limit,
    Step,
)
from fedbounds.evidence.symbolic.scope import (
    CANONICAL,
    STRICT,
    Checked,
    Grounds,
    Outcome,
    Scope,
    Shelf,
    Shown,
    Unproved,
    admit,
    degree,
    earlier,
    excess,
    indices,
    shown_positive,
    union,
)
from fedbounds.evidence.symbolic.sums import at_time, citations, combined, induction_sign, shown
from fedbounds.theory import assumptions as shipped
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

SHIPPED = {a.key: a for a in vars(shipped).values() if isinstance(a, Assumption)}
STEP_SIZE = "step-size"


def check(key: str, shelf: Shelf, reading: Reading, claims: Mapping[str, Claim]) -> Checked:
    """Check a derivation in a reading, and first those it cites."""
    name = (key, reading.name)
    if name in shelf.checked:
        return shelf.checked[name]
    if name in shelf.pending:
        raise Unproved(f"{key} cites itself")
    shelf.pending.add(name)
    derivation = shelf.derivations[key]
    try:
        shelf.checked[name] = _checked(_scope(derivation, reading, shelf, claims), claims)
    except Unproved as fault:
        shelf.checked[name] = Checked(derivation, reading, {}, frozenset(), {}, {}, {}, {}, fault=str(fault))
    finally:
        shelf.pending.discard(name)
    return shelf.checked[name]


def _scope(derivation: Derivation, reading: Reading, shelf: Shelf, claims: Mapping[str, Claim]) -> Scope:
    """The scope of a derivation's first step; Unproved where its frame is unsound."""
    if type(derivation) is not Derivation or not derivation.steps:
        raise Unproved("a derivation is a Derivation with steps")
    kinds = {"steps": tuple, "conditions": tuple, "assumes": tuple, "abbreviations": dict, "sequences": dict}
    for part, kind in kinds.items():
        if type(getattr(derivation, part)) is not kind:
            raise Unproved(f"the {part} of a derivation are a {kind.__name__}")
    claim = claims.get(derivation.claim) if derivation.claim else None
    if derivation.claim and claim is None:
        raise Unproved(f"there is no claim {derivation.claim}")
    if claim is not None and not {reading.name} <= set(derivation.readings) & set(claim.readings):
        raise Unproved(f"it is no proof of {claim.key} in reading {reading.name}")
    universe = _universe(derivation, claim, reading)
    abbreviations = dict(derivation.abbreviations)
    schedule = _schedule(derivation, claim, abbreviations)
    _well_founded(derivation)
    alpha_weighted = reading.virtual == "alpha" or _one_iterate(universe)
    states = setting.meanings(alpha_weighted, setting.ALL_PRESENT in universe)
    return Scope(derivation, reading, shelf, universe, schedule, states, abbreviations, {})


def _one_iterate(universe: Mapping[str, Assumption]) -> bool:
    """Whether the p-weighted and the alpha-weighted virtual iterate are one by assumption: alpha = p."""
    return universe.get(shipped.unbiased.key) == shipped.unbiased


def _universe(derivation: Derivation, claim: Claim | None, reading: Reading) -> dict[str, Assumption]:
    """Every assumption that a derivation may name: the claim's, those it says it adds, and the definitions."""
    universe = setting.definitions(reading)
    stated = claim.assumptions_in(reading) if claim is not None else ()
    for assumption in (*stated, *derivation.assumes):
        key = assumption.key
        if (
            type(assumption) is not Assumption
            or setting.DEFINITIONS.get(key, SHIPPED.get(key, assumption)) != assumption
        ):
            raise Unproved(f"{key} is the name of another assumption")
        if universe.setdefault(key, assumption) != assumption:
            raise Unproved(f"two assumptions are called {key}")
    return universe


def _schedule(
    derivation: Derivation, claim: Claim | None, abbreviations: dict[sp.Expr, sp.Expr]
) -> dict[sp.Basic, sp.Expr]:
    """The step size and the symbols that the statement defines; a defined maximum joins the abbreviations."""
    eta, given = derivation.eta, {}
    if claim is not None:
        if claim.eta is not None and eta not in (None, claim.eta):
            raise Unproved("the claim asks for another step size")
        eta = claim.eta if claim.eta is not None else eta
        used = set(claim.symbols) | ({s.name for s in eta.free_symbols} if eta is not None else set())
        given = {symbol: sp.sympify(value) for symbol, value in claim.definitions.items() if symbol.name in used}
    if eta is not None and not (eta.free_symbols <= {sy.mu, sy.t, sy.gamma} and shown_positive(eta)):
        raise Unproved(f"the step size {eta} is not shown to be positive for every t, mu and gamma")
    for symbol, value in given.items():
        if symbol != sy.gamma or not value.free_symbols <= {sy.L, sy.mu, sy.tau} or not shown_positive(value):
            raise Unproved(f"the claim defines {symbol}, which means something already")
    maxima = {symbol: value for symbol, value in given.items() if isinstance(value, sp.Min | sp.Max)}
    abbreviations.update(maxima)
    return setting.schedule(eta, {symbol: value for symbol, value in given.items() if symbol not in maxima})


def _well_founded(derivation: Derivation) -> None:
    """Every symbol of the derivation's own has one meaning, made of earlier ones."""
    own: set[sp.Basic] = set()
    symbols = {c.symbol for c in derivation.conditions}
    if len(symbols) < len(derivation.conditions):
        raise Unproved("two conditions share a symbol")
    left = set(derivation.abbreviations)
    for symbol, extreme in derivation.abbreviations.items():
        bad = type(symbol) is not sp.Symbol or symbol.name in CANONICAL or type(extreme) not in (sp.Min, sp.Max)
        if bad or extreme.free_symbols & left or extreme.has(*symbols) or random(extreme):
            raise Unproved(f"{symbol} cannot abbreviate {extreme}")
        left.discard(symbol)
        own.add(symbol)
    sequences = [s for last, three in derivation.sequences.items() for s in (last, *three)]
    plain = all(type(s) is sp.Symbol and s.name not in CANONICAL for s in sequences)
    if sequences and (derivation.claim or not plain or len(set(sequences)) < len(sequences)):
        raise Unproved("only a result of its own has sequences of its own, with a symbol for each place")


def _checked(scope: Scope, claims: Mapping[str, Claim]) -> Checked:
    derivation, outcomes = scope.derivation, dict[str, Outcome]()
    resolved: dict[sp.Basic, Shown] = {}
    for step in derivation.steps:
        if type(step) is not Step or step.label in outcomes:
            outcomes[str(step.label)] = Outcome(False, "the label is used twice")
            continue
        scope = replace(scope, outcomes=dict(outcomes), slacks=_slacks(scope, outcomes, resolved))
        outcomes[step.label] = _outcome(step, scope)
    if all(outcome.ok for outcome in outcomes.values()):
        missing = {c.symbol for c in derivation.conditions} - _slacks(scope, outcomes, resolved).keys()
        if missing:
            raise Unproved(f"no step shows what {', '.join(sorted(map(str, missing)))} stands for")
    failed = [f"step {label} does not check: {o.message}" for label, o in outcomes.items() if not o.ok]
    last = outcomes[derivation.steps[-1].label]
    shown_lines = [last] if derivation.claim else list(outcomes.values())
    grounds = union(one.grounds for one in shown_lines)
    if last.grounds.open:
        failed.append(f"no induction discharges the hypothesis {', '.join(sorted(last.grounds.open))}")
    claim = claims.get(derivation.claim)
    keys = set(grounds.keys) | ({STEP_SIZE} if claim is not None and claim.eta is not None else set())
    keys |= {shipped.unbiased.key} if scope.reading.virtual == "p" and _one_iterate(scope.universe) else set()
    cited, clash = _cited_universe(scope, keys)
    failed += clash
    return Checked(
        derivation,
        scope.reading,
        outcomes,
        frozenset(keys - setting.DEFINITIONS.keys()),
        {key: setting.DEFINITIONS[key].statement for key in sorted(keys & setting.DEFINITIONS.keys())},
        {**cited, **scope.universe},
        scope.schedule,
        scope.abbreviations,
        claim,
        tuple(resolved.values()),
        failed[0] if failed else "",
    )


def recheck(checked: Checked, step: Step, shelf: Shelf, claims: Mapping[str, Claim]) -> Outcome:
    """What the check says of a step put in the place of that of its label, the others being as they were found."""
    before = checked.derivation.steps
    steps = tuple(step if one.label == step.label else one for one in before)
    scope = _scope(replace(checked.derivation, steps=steps), checked.reading, shelf, claims)
    outcomes: dict[str, Outcome] = {}
    for one in before:
        if one.label == step.label:
            break
        outcomes[one.label] = checked.outcomes[one.label]
    scope = replace(scope, outcomes=outcomes)
    return _outcome(step, replace(scope, slacks=_slacks(scope, outcomes, {})))


def _cited_universe(scope: Scope, keys: set[str]) -> tuple[dict[str, Assumption], list[str]]:
    """The assumptions that the derivations cited may name, and the clashes among those used."""
    found: dict[str, Assumption] = {}
    clash = []
    for name in sorted(citations(scope.derivation)):
        other = scope.shelf.checked.get((name, scope.reading.name))
        for key, assumption in (other.universe if other is not None else {}).items():
            if found.setdefault(key, assumption) != assumption and key in keys:
                clash.append(f"two derivations cited mean different things by {key}")
    return found, clash


def _slacks(
    scope: Scope, outcomes: Mapping[str, Outcome], resolved: dict[sp.Basic, Shown]
) -> dict[sp.Basic, tuple[sp.Expr, Grounds]]:
    """What the conditions' symbols stand for, of those that are shown by now."""
    slacks = dict(scope.slacks)
    for condition in scope.derivation.conditions:
        label = getattr(condition.shown, "label", None)
        if condition.symbol in slacks or (label is not None and not (label in outcomes and outcomes[label].ok)):
            continue
        found, grounds = shown(condition, replace(scope, outcomes=outcomes, slacks=slacks))
        resolved[condition.symbol] = found
        slacks[condition.symbol] = (found.expression, grounds)
    return slacks


def _outcome(step: Step, scope: Scope) -> Outcome:
    try:
        sides = admit(step.lhs, scope) | admit(step.rhs, scope)
        if type(step.because) is not Limit:
            degree(step.lhs - step.rhs)
        if step.paper is not None:
            admit(step.paper.rhs, scope)
            scope.require_zero(
                step.rhs - step.paper.rhs - step.paper.difference, "the difference from the paper's line"
            )
        return Outcome(True, "", sides | _verify(step, scope))
    except (Unproved, ValueError, TypeError, AttributeError, KeyError, RecursionError, NotImplementedError) as fault:
        return Outcome(False, str(fault))


def _verify(step: Step, scope: Scope) -> Grounds:
    rule = step.because
    if type(rule) is Limit:
        return _limit(step, rule)
    if type(rule) is Exhibited:
        return _exhibited(step, scope)
    if type(rule) is Induction:
        return _induction(step, rule, scope)
    if type(rule) is Every:
        return _every(step, rule, scope)
    if type(rule) is Cases:
        return _cases(step, rule, scope)
    if type(rule) is not tuple:
        raise Unproved(f"{type(rule).__name__} is no rule")
    return _combination(step, rule, scope)


def _combination(step: Step, uses: tuple, scope: Scope) -> Grounds:
    total = combined(uses, scope)
    if step.relation not in ("<=", ">=", "=", *STRICT):
        raise Unproved(f"a combination of facts cannot show {step.relation}")
    scope.require_zero(excess(step) - total.value, f"left after the facts are used, in {step.relation}")
    if step.relation == "=" and total.sign != "=":
        raise Unproved("an identity rests on an inequality")
    if step.relation in STRICT and total.sign != "<":
        raise Unproved("no part of the difference is shown to be positive")
    return total.grounds


def _cases(step: Step, cases: Cases, scope: Scope) -> Grounds:
    x = sp.sympify(cases.of)
    grounds = admit(x, scope)
    if random(x) or indices(x) or type(cases.first) is not Case or type(cases.second) is not Case:
        raise Unproved(f"{x} is not one number")
    first, second = cases.first.symbol, cases.second.symbol
    if (not cases.zero and first == second) or {first, second} - {sy.L} & (
        step.lhs.free_symbols | step.rhs.free_symbols
    ):
        raise Unproved("the symbols of the cases mean something in their case only")
    if cases.zero:
        known = earlier(cases.zero, scope)
        scope.require_zero(known.value - x, f"step {cases.zero} does not show {x} >= 0:")
        grounds |= known.grounds
        put = sp.solve(x, second, dict=True)
        simple = len(put) == 1 and sp.cancel(x / (second - put[0][second])).is_Rational
        if not simple or second != sy.L or sy.L in scope.schedule:
            raise Unproved(f"{second} is not the symbol whose value makes {x} zero")
        under = (_with(scope, first, x, True), replace(scope, schedule={**scope.schedule, **put[0]}))
    else:
        under = (_with(scope, first, x, False), _with(scope, second, -x, False))
    return grounds | union(
        _combination(step, one.uses, inner) for one, inner in zip((cases.first, cases.second), under, strict=True)
    )


def _with(scope: Scope, symbol: sp.Expr, expression: sp.Expr, strict: bool) -> Scope:
    """The scope of a case, whose symbol stands for an expression that is not negative there."""
    taken = scope.slacks.keys() | scope.abbreviations.keys() | {c.symbol for c in scope.derivation.conditions}
    if type(symbol) is not sp.Symbol or symbol.name in CANONICAL or symbol in taken or expression.has(symbol):
        raise Unproved(f"{symbol} has a meaning already")
    if symbol.is_positive and not strict:
        raise Unproved(f"{symbol} is declared positive, but its case has {expression} = 0 too")
    return replace(scope, slacks={**scope.slacks, symbol: (expression, Grounds())})


def _every(step: Step, rule: Every, scope: Scope) -> Grounds:
    extreme = scope.abbreviations.get(rule.symbol)
    if not isinstance(extreme, sp.Min | sp.Max):
        raise Unproved(f"{rule.symbol} abbreviates no extreme")
    low = isinstance(extreme, sp.Min)
    bound, side = (step.lhs, step.rhs) if low else (step.rhs, step.lhs)
    if side != rule.symbol or step.relation != "<=":
        raise Unproved(f"the step does not bound {rule.symbol} from the side its extreme allows")
    lines = [earlier(label, scope) for label in rule.labels]
    for argument in extreme.args:
        wanted = argument - bound if low else bound - argument
        if not any(scope.is_zero(one.value - wanted) for one in lines):
            raise Unproved(f"no step named compares {bound} with {argument}")
    return union(one.grounds for one in lines)


def _induction(step: Step, rule: Induction, scope: Scope) -> Grounds:
    base, carried = earlier(rule.base, scope), earlier(rule.step, scope)
    if carried.grounds.open - {step.label} or base.grounds.open:
        raise Unproved("the inductive step may rest on its own hypothesis only, and the base on none")
    scope.require_zero(base.value - at_time(step.label, 0, scope), "between the base and the line at time 0")
    scope.require_zero(carried.value - at_time(step.label, 2, scope), "between the step and the line at time t + 1")
    if induction_sign(step.label, scope) == "=" and (base.sign, carried.sign) != ("=", "="):
        raise Unproved("an identity rests on an inequality")
    return Grounds(base.grounds.keys | carried.grounds.keys, total=True)


def _limit(step: Step, rule: Limit) -> Grounds:
    if step.relation != "->" or random(step.lhs) or random(step.rhs):
        raise Unproved("a limit shows that a number tends to another")
    value = sp.limit(step.lhs, rule.symbol, rule.point, rule.direction)
    if sp.simplify(value - step.rhs) != 0:
        raise Unproved(f"the limit is {value}")
    return Grounds()


def _exhibited(step: Step, scope: Scope) -> Grounds:
    exhibit = scope.derivation.exhibit
    if exhibit is None or not scope.derivation.refutes:
        raise Unproved("there is no exhibit")
    if exhibit.faults():
        raise Unproved(exhibit.faults())
    parts = [sp.sympify(part) for part in (*exhibit.minima, *exhibit.p, *exhibit.alpha, exhibit.start)]
    union(admit(part, scope) for part in parts)
    if any(s.name in CANONICAL for part in parts for s in part.free_symbols):
        raise Unproved("the exhibit's numbers depend on the run's")
    gap = (step.lhs - step.rhs).subs(dict(exhibit.values()) | {sy.gap: exhibit.gap})
    solved = {key: value for key, value in scope.schedule.items() if key == sy.L}
    # The schedule has L = mu gamma/4, so gamma = 4 at L = mu = 1.
    for value in solved.values():
        gap = gap.subs(sy.gamma, sp.solve(value.subs(sy.mu, 1) - 1, sy.gamma)[0])
    rest = sp.cancel(gap)
    unknown = sorted(s.name for s in rest.free_symbols if s.name in CANONICAL)
    if unknown:
        raise Unproved(f"the exhibit says nothing of {', '.join(unknown)}")
    good = {">": rest.is_positive, ">=": rest.is_nonnegative, "!=": rest.is_Rational and rest != 0}
    if not good.get(step.relation):
        raise Unproved(f"the two sides differ by {rest} there")
    return Grounds()
