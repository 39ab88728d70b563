"""Verification of derivations: each step an exact identity, each multiplier non-negative, each citation sound."""

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.evidence.symbolic.facts import shown
from fedbounds.evidence.symbolic.gate import admit_derivation
from fedbounds.evidence.symbolic.permitted_assumptions import admit_assumptions, granted, granted_by
from fedbounds.evidence.symbolic.proof_objects import sums_of
from fedbounds.evidence.symbolic.proof_state import (
    Checked,
    Context,
    Grounds,
    Shelf,
    Shown,
    StepCheck,
    Unproved,
    citations,
    union,
)
from fedbounds.evidence.symbolic.step_rules import outcome_of
from fedbounds.evidence.symbolic.untrusted_expressions import (
    clear_sympy_caches,
    rebuilt,
    require_exact,
    shown_positive,
)
from fedbounds.theory import assumptions as shipped
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import OWN_STEPS, Claim
from fedbounds.theory.reading import READINGS, Reading

STEP_PARAMETERS = {sy.L, sy.mu, sy.tau, sy.N, sy.eta_0, sy.t, sy.gamma}


def check(key: str, shelf: Shelf, reading: Reading, claims: Mapping[str, Claim]) -> Checked:
    """Check a derivation in a reading, and first those it cites."""
    name = (key, reading.name)
    if READINGS.get(reading.name) != reading:
        return _refused(shelf.derivations[key], reading, f"there is no such reading {reading.name}")
    if name in shelf.checked:
        return shelf.checked[name]
    if name in shelf.pending:
        raise Unproved(f"{key} cites itself")
    try:  # a limit of time may end a check anywhere
        shelf.pending.add(name)
        clear_sympy_caches()
        shelf.checked[name] = _checked(*_scope(shelf.derivations[key], reading, shelf, claims))
    except Unproved as fault:
        shelf.checked[name] = _refused(shelf.derivations[key], reading, str(fault))
    finally:
        shelf.pending.discard(name)
    return shelf.checked[name]


def _refused(derivation: Derivation, reading: Reading, fault: str) -> Checked:
    return Checked(derivation, reading, {}, frozenset(), {}, {}, {}, {}, fault=fault)


def _scope(
    derivation: Derivation, reading: Reading, shelf: Shelf, claims: Mapping[str, Claim]
) -> tuple[Context, Claim | None]:
    """The scope of a derivation's first step, and its claim; Unproved where its frame is unsound."""
    derivation = rebuilt(derivation)
    claim = rebuilt(claims.get(derivation.claim))
    if derivation.claim and claim is None:
        raise Unproved(f"there is no claim {derivation.claim}")
    if claim is not None and not {reading.name} <= set(derivation.readings) & set(claim.readings):
        raise Unproved(f"it is no proof of {claim.key} in reading {reading.name}")
    if claim is not None and not claim.on_fedavg:
        raise Unproved(f"{claim.key} is about another algorithm")
    admit_derivation(derivation, claim)
    universe = admit_assumptions(derivation, claim, reading)
    abbreviations = dict(derivation.abbreviations)
    schedule = _schedule(derivation, claim, abbreviations)
    # Where alpha = p, of all clients, both virtual iterates are one.
    alpha_weighted = reading.virtual == "alpha" or {shipped.unbiased.key, definitions.ALL_PRESENT} <= universe.keys()
    states = definitions.meanings(alpha_weighted, definitions.ALL_PRESENT in universe, claim)
    sums = sums_of(claim)
    return Context(derivation, reading, shelf, universe, schedule, states, abbreviations, {}, sums=sums), claim


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
    require_exact(sp.sympify(eta or 0))
    if eta is not None and not (eta.free_symbols <= STEP_PARAMETERS and shown_positive(eta)):
        raise Unproved(f"the step size {eta} is not shown to be positive for every value of its parameters")
    for symbol, value in given.items():
        made_of_constants = value.free_symbols <= {sy.L, sy.mu, sy.tau, sy.eta_0}
        if symbol != sy.gamma or not made_of_constants or not shown_positive(value):
            raise Unproved(f"the claim defines {symbol}, which means something already")
    maxima = {symbol: value for symbol, value in given.items() if isinstance(value, sp.Min | sp.Max)}
    abbreviations.update(maxima)
    return _put(eta, {symbol: value for symbol, value in given.items() if symbol not in maxima})


def _put(eta: sp.Expr | None, given: Mapping[sp.Symbol, sp.Expr]) -> dict[sp.Basic, sp.Expr]:
    """The step sizes and the symbols that a statement defines; a multiple of L is solved for L, which is simpler."""
    meanings: dict[sp.Basic, sp.Expr] = {}
    for symbol, value in given.items():
        share = sp.cancel(value / sy.L)
        meanings |= {symbol: value} if share.has(sy.L) else {sy.L: symbol / share}
    if eta is not None:
        meanings |= {sy.eta: eta, definitions.ETA_S: eta.subs(sy.t, definitions.M_S - sy.gamma)}
    return meanings


def _checked(scope: Context, claim: Claim | None) -> Checked:
    derivation, outcomes = scope.derivation, dict[str, StepCheck]()
    resolved: dict[sp.Basic, Shown] = {}
    for step in derivation.steps:
        scope = replace(scope, outcomes=dict(outcomes), slacks=_slacks(scope, outcomes, resolved))
        outcomes[step.label] = outcome_of(step, scope)
    if all(outcome.ok for outcome in outcomes.values()):
        missing = {c.symbol for c in derivation.conditions} - _slacks(scope, outcomes, resolved).keys()
        if missing:
            raise Unproved(f"no step shows what {', '.join(sorted(map(str, missing)))} stands for")
    failed = [f"step {label} does not check: {o.message}" for label, o in outcomes.items() if not o.ok]
    last = outcomes[derivation.steps[-1].label]
    shown_lines = [last] if derivation.claim else list(outcomes.values())
    grounds = union(line.grounds for line in shown_lines)
    if last.grounds.open:
        failed.append(f"no induction discharges the hypothesis {', '.join(sorted(last.grounds.open))}")
    keys = set(grounds.keys) | ({OWN_STEPS} if claim is not None and claim.eta is not None else set())
    if scope.reading.virtual == "p" and definitions.ALL_PRESENT in scope.universe:
        # What w_t means rests on it.
        keys |= {definitions.ALL_PRESENT} | ({shipped.unbiased.key} & scope.universe.keys())
    cited, clash = _cited_universe(scope, keys)
    definitions_held = granted(scope.reading, claim)
    by = granted_by(scope.reading, claim)
    keys |= {grounds for key in keys for grounds in by.get(key, ())}
    failed += clash
    return Checked(
        derivation,
        scope.reading,
        outcomes,
        frozenset(keys - definitions_held.keys()),
        {key: definitions_held[key].statement for key in sorted(keys & definitions_held.keys())},
        {**cited, **scope.universe},
        scope.schedule,
        scope.abbreviations,
        claim,
        tuple(resolved.values()),
        failed[0] if failed else "",
    )


def recheck(checked: Checked, step: Step, shelf: Shelf, claims: Mapping[str, Claim]) -> StepCheck:
    """What the check says of a step put in the place of that of its label, the others being as they were found."""
    before = checked.derivation.steps
    steps = tuple(step if item.label == step.label else item for item in before)
    scope, _ = _scope(replace(checked.derivation, steps=steps), checked.reading, shelf, claims)
    outcomes: dict[str, StepCheck] = {}
    for item in before:
        if item.label == step.label:
            break
        outcomes[item.label] = checked.outcomes[item.label]
    scope = replace(scope, outcomes=outcomes)
    return outcome_of(rebuilt(step), replace(scope, slacks=_slacks(scope, outcomes, {})))


def _cited_universe(scope: Context, keys: set[str]) -> tuple[dict[str, Assumption], list[str]]:
    """The assumptions that the derivations cited may name, and the clashes among those used."""
    cited: dict[str, Assumption] = {}
    clash = []
    for name in sorted(citations(scope.derivation)):
        other = scope.shelf.checked.get((name, scope.reading.name))
        for key, assumption in (other.universe if other is not None else {}).items():
            if cited.setdefault(key, assumption) != assumption and key in keys:
                clash.append(f"two derivations cited mean different things by {key}")
    return cited, clash


def _slacks(
    scope: Context, outcomes: Mapping[str, StepCheck], resolved: dict[sp.Basic, Shown]
) -> dict[sp.Basic, tuple[sp.Expr, Grounds]]:
    """What the conditions' symbols stand for, of those that are shown by now."""
    slacks = dict(scope.slacks)
    for condition in scope.derivation.conditions:
        label = getattr(condition.shown, "label", None)
        if condition.symbol in slacks or (label is not None and not (label in outcomes and outcomes[label].ok)):
            continue
        condition_shown, grounds = shown(condition, replace(scope, outcomes=outcomes, slacks=slacks))
        resolved[condition.symbol] = condition_shown
        slacks[condition.symbol] = (condition_shown.expression, grounds)
    return slacks
