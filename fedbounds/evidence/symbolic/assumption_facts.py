"""What an assumption gives to a proof: its relation, or its own function, which may say no more than the relation."""

from __future__ import annotations

import inspect
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.expressions import indices, require_exact, shown_non_negative, shown_positive
from fedbounds.evidence.symbolic.gate import meaningful
from fedbounds.evidence.symbolic.proof_state import Context, Unproved
from fedbounds.evidence.symbolic.rebuilt import begin_anew, rebuilt
from fedbounds.theory import symbols as sy
from fedbounds.theory import vectors as formal
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.assumptions import SHIPPED


def given(assumption: Assumption, points: tuple[Any, ...]) -> Part:
    """What an assumption gives at points: by its own function, or its relation."""
    if assumption.gives is not None:
        try:
            part = assumption.gives(definitions.Formal(), *points)
        except (TypeError, KeyError, AttributeError) as fault:
            where = ", ".join(map(str, points)) or "no point"
            raise Unproved(f"{assumption.key} gives nothing at {where}") from fault
        if type(part) is not Part or type(part.sign) is not str or part.sign not in ("<", "<=", "="):
            raise Unproved(f"{assumption.key} gives no Part")
        if assumption not in (SHIPPED.get(assumption.key), definitions.DEFINITIONS.get(assumption.key)):
            begin_anew()
            part = Part(*rebuilt(tuple(part)))
            _require_some_step(assumption, part, points)
        _require_follows(assumption, part)
        return part
    facts = assumption.facts()
    if points and points[-1] == sy.eta_0:
        facts, points = _at_first_step(facts), points[:-1]
    if points and not points[0].is_Integer:
        raise Unproved(f"{assumption.key} gives no fact at {points[0]}: its facts are counted")
    which = int(points[0]) if points else 0
    if not 0 <= which < len(facts) or (len(facts) > 1 and not points):
        raise Unproved(f"cannot express {assumption.key}: it gives no fact to a proof")
    return facts[which]


def _at_first_step(facts: tuple[Part, ...]) -> tuple[Part, ...]:
    """What relations in step sizes and constants, which hold at every step, say at t = 0."""
    if any(not part.right.free_symbols <= {sy.eta, sy.L, sy.mu} for part in facts):
        raise Unproved("at the first step only relations among eta, L and mu are read")
    return tuple(part._replace(right=part.right.subs(sy.eta, sy.eta_0)) for part in facts)


def require_own_words(assumption: Assumption, points: tuple[Any, ...], value: sp.Expr, scope: Context) -> None:
    """Raise where an assumption, which gave ``value``, speaks of a symbol that the derivation gives a meaning."""
    meanings = meaningful(scope.derivation)
    # What the points bring with them is the proof's own: there it has another name.
    fresh = {symbol: _renamed(symbol) for symbol in meanings}
    part = given(assumption, tuple(sp.sympify(point).xreplace(fresh) for point in points))
    again = sp.sympify(part.right - part.left)
    if again.xreplace({name: symbol for symbol, name in fresh.items()}) != value:
        raise Unproved(f"{assumption.key} says another thing each time that it is asked")
    taken = meanings & again.atoms(sp.Symbol, formal.Slack)
    if taken:
        names = ", ".join(sorted(map(str, taken)))
        raise Unproved(f"{assumption.key} speaks of {names}, which the proof gives another meaning")


def _renamed(symbol: sp.Expr) -> sp.Expr:
    if isinstance(symbol, formal.Slack):
        return formal.Slack(sp.Symbol(f"{symbol.args[0]}'"), *symbol.args[1:])
    return sp.Dummy(symbol.name, **symbol.assumptions0)


def takes_points(assumption: Assumption) -> bool:
    """Whether what an assumption gives depends on where it is asked."""
    return assumption.gives is not None and len(inspect.signature(assumption.gives).parameters) > 1


def in_expectation(assumption: Assumption, expression: sp.Expr) -> bool:
    """Whether a fact is about the whole run's expectations: a relation between run symbols, or made of them."""
    if not formal.random(expression) or (assumption.gives is not None and SHIPPED.get(assumption.key) is assumption):
        return False
    if assumption.key in definitions.DEFINITIONS:
        return False
    states = {s for s in expression.free_symbols if getattr(s, "statistic", "") == "measured"}
    return assumption.gives is None or bool(assumption.parts) or bool(states)


def _require_some_step(assumption: Assumption, part: Part, points: tuple[Any, ...]) -> None:
    """Raise where a fact of nobody's relation is about each earlier step of a round, of which there may be none."""
    about = definitions.S in indices(sp.sympify(part.right - part.left))
    if about and not assumption.parts and not any(definitions.S in indices(sp.sympify(point)) for point in points):
        raise Unproved(f"{assumption.key} speaks of earlier steps of a round, and the first step has none")


def _require_follows(assumption: Assumption, part: Part) -> None:
    """Raise unless what an assumption gives is a positive multiple of its relation, or weaker on sight.

    A limit c on eta_ratio is one on each eta_s/eta_t of the round: c eta_t - eta_s >= 0.
    """
    if not assumption.parts or SHIPPED.get(assumption.key) is assumption:
        return
    require_exact(*(side for part in assumption.parts for side in (part.left, part.right)))
    value = sp.expand(sp.sympify(part.right - part.left))
    facts = [(sp.expand(fact.right), fact.sign) for fact in assumption.facts()]
    facts += [
        (sp.expand(sy.eta * fact.subs(sy.eta_ratio, definitions.ETA_S / sy.eta)), sign)
        for fact, sign in facts
        if sp.diff(fact, sy.eta_ratio).is_negative and sign != "="
    ]
    if not any(_no_stronger(value, part.sign, fact, sign) for fact, sign in facts):
        raise Unproved(f"0 {part.sign} {value}, which {assumption.key} gives, does not follow from its relation")


def _no_stronger(value: sp.Expr, wanted: str, fact: sp.Expr, sign: str) -> bool:
    """Whether ``0 wanted value`` follows from ``0 sign fact`` on sight, once a term is cancelled."""
    coefficients = value.as_coefficients_dict()
    for term, coefficient in fact.as_coefficients_dict().items():
        factor = coefficients.get(term, 0) / coefficient
        if not factor or (not factor.is_positive and sign != "="):
            continue
        rest = sp.expand(value - factor * fact)
        if wanted == "=":
            enough = rest == 0 and sign == "="
        elif wanted == "<" and sign != "<":
            enough = shown_positive(rest)
        else:
            enough = shown_non_negative(rest)
        if enough:
            return True
    return False
