"""How a step follows: from a combination of facts, by cases, by induction, from each argument of an extreme."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALL_PRESENT, X_T
from fedbounds.evidence.symbolic.facts import at_time, combined, induction_sign, resolve
from fedbounds.evidence.symbolic.gate import admit, signed
from fedbounds.evidence.symbolic.permitted_assumptions import divisor_key
from fedbounds.evidence.symbolic.proof_state import (
    STRICT,
    Context,
    Grounds,
    StepCheck,
    Unproved,
    earlier,
    excess,
    union,
)
from fedbounds.evidence.symbolic.untrusted_expressions import SYMBOLS, degree, moving, require_number
from fedbounds.theory import symbols as sy


def outcome_of(step: d.Step, scope: Context) -> StepCheck:
    try:
        sides = admit(step.lhs, scope) | admit(step.rhs, scope)
        if type(step.because) is not d.Limit:
            degree(step.lhs - step.rhs)
        if step.paper is not None:
            admit(step.paper.rhs, scope)
            scope.require_zero(
                step.rhs - step.paper.rhs - step.paper.difference, "the difference from the paper's line"
            )
        verify = RULES.get(type(step.because))
        if verify is None:
            raise Unproved(f"{type(step.because).__name__} is no rule")
        return StepCheck(True, "", sides | verify(step, step.because, scope))
    except (Unproved, ValueError, TypeError, AttributeError, KeyError, RecursionError, NotImplementedError) as fault:
        return StepCheck(False, str(fault))


def _combination(step: d.Step, uses: tuple[d.Use, ...], scope: Context) -> Grounds:
    total = combined(uses, scope)
    if step.relation not in ("<=", ">=", "=", *STRICT):
        raise Unproved(f"a combination of facts cannot show {step.relation}")
    scope.require_zero(excess(step) - total.value, f"left after the facts are used, in {step.relation}")
    if step.relation == "=" and total.sign != "=":
        raise Unproved("an identity rests on an inequality")
    if step.relation in STRICT and total.sign != "<":
        raise Unproved("no part of the difference is shown to be positive")
    return total.grounds


def _cases(step: d.Step, cases: d.Cases, scope: Context) -> Grounds:
    x = sp.sympify(cases.of)
    grounds = admit(x, scope)
    require_number(x, scope)
    if type(cases.first) is not d.Case or type(cases.second) is not d.Case:
        raise Unproved("a distinction has two cases")
    first, second = cases.first.symbol, cases.second.symbol
    if not cases.zero and first == second:
        raise Unproved("each case has a symbol of its own")
    if cases.zero:
        line = earlier(cases.zero, scope)
        scope.require_zero(line.value - x, f"step {cases.zero} does not show {x} >= 0:")
        grounds |= line.grounds
        put = sp.solve(x, second, dict=True)
        simple = second == sy.L and len(put) == 1 and sp.cancel(x / (second - put[0][second])).is_Rational
        if not simple:
            raise Unproved(f"{second} is not the symbol whose value makes {x} zero")
        under = (_with(scope, first, x, True), replace(scope, schedule={**scope.schedule, **put[0]}))
    else:
        under = (_with(scope, first, x, False), _with(scope, second, -x, False))
    return grounds | union(
        _combination(step, item.uses, inner) for item, inner in zip((cases.first, cases.second), under, strict=True)
    )


def _with(scope: Context, symbol: sp.Expr, expression: sp.Expr, strict: bool) -> Context:
    """The scope of a case, whose symbol stands for an expression that is not negative there."""
    if expression.has(symbol):
        raise Unproved(f"{symbol} cannot stand for {expression}, which is made of it")
    if symbol.is_positive and not strict:
        raise Unproved(f"{symbol} is declared positive, but its case has {expression} = 0 too")
    return replace(scope, slacks={**scope.slacks, symbol: (expression, Grounds())})


def _every(step: d.Step, rule: d.Every, scope: Context) -> Grounds:
    extreme = scope.abbreviations.get(rule.symbol) if type(rule.symbol) in SYMBOLS else None
    if not isinstance(extreme, sp.Min | sp.Max):
        raise Unproved(f"{rule.symbol} abbreviates no extreme")
    low = isinstance(extreme, sp.Min)
    bound, side = (step.lhs, step.rhs) if low else (step.rhs, step.lhs)
    if side != rule.symbol or step.relation != "<=":
        raise Unproved(f"the step does not bound {rule.symbol} from the side its extreme allows")
    lines = [earlier(label, scope) for label in rule.labels]
    for argument in extreme.args:
        wanted = argument - bound if low else bound - argument
        if not any(scope.is_zero(line.value - wanted) for line in lines):
            raise Unproved(f"no step named compares {bound} with {argument}")
    return union(line.grounds for line in lines)


def _induction(step: d.Step, rule: d.Induction, scope: Context) -> Grounds:
    base, carried = earlier(rule.base, scope), earlier(rule.step, scope)
    if carried.grounds.open - {step.label} or base.grounds.open:
        raise Unproved("the inductive step may rest on its own hypothesis only, and the base on none")
    scope.require_zero(base.value - at_time(step.label, 0, scope), "between the base and the line at time 0")
    scope.require_zero(carried.value - at_time(step.label, 2, scope), "between the step and the line at time t + 1")
    if induction_sign(step.label, scope) == "=" and (base.sign, carried.sign) != ("=", "="):
        raise Unproved("an identity rests on an inequality")
    keys = base.grounds.keys | carried.grounds.keys | ({ALL_PRESENT} if rule.local else set())
    keys |= {"first-round"} & scope.universe.keys() if scope.unfolded(excess(step)).has(X_T) else set()
    return Grounds(keys, total=True, used=base.grounds.used | carried.grounds.used)


def _limit(step: d.Step, rule: d.Limit, scope: Context) -> Grounds:
    if step.relation != "->":
        raise Unproved("a limit shows that a number tends to another")
    x, left, right = rule.symbol, step.lhs, scope.unfolded(step.rhs)
    grounds = admit(x, scope) if rule.point == sp.oo else admit(x, scope) | admit(rule.point, scope)
    fixed = scope.unfolded(left.xreplace({x: sp.Dummy(positive=True)}))
    require_number(left - right, scope)
    if x in scope.numbers or right.has(x) or fixed.has(x) or moving(scope.unfolded(left) - right) - {str(x)}:
        raise Unproved(f"the limit in {x} is of a number in which all but {x} stays as it is")
    negative = rule.point != sp.oo and x.is_nonnegative and signed(rule.point, False, scope) is None
    if negative or scope.unfolded(rule.point).has(x):
        raise Unproved(f"{x} does not tend to {rule.point}")
    value, shown = _at_infinity(left, x, scope) if rule.point == sp.oo else _put(left, {x: rule.point}, scope)
    if not scope.is_zero(value - step.rhs):
        raise Unproved(f"the limit is {value}")
    return grounds | shown


def _at_infinity(left: sp.Expr, x: sp.Expr, scope: Context) -> tuple[sp.Expr, Grounds]:
    """The limit of a quotient of polynomials in x, or of a continuous function of exp(-c x), c > 0."""
    grounds, vanishing = Grounds(), dict[sp.Basic, sp.Expr]()
    for power in left.atoms(sp.exp):
        rate = sp.expand(-power.exp / x)
        if power.has(x):
            grounds |= _positive(rate, x, scope)
            vanishing[power] = sp.Dummy(nonnegative=True)
    if vanishing:
        rest = left.xreplace(vanishing)
        if rest.has(x):
            raise Unproved(f"the limit of {left} is not shown")
        value, shown = _put(rest, dict.fromkeys(vanishing.values(), sp.Integer(0)), scope)
        return value, grounds | shown
    parts = sp.fraction(sp.together(left))
    if not all(part.is_polynomial(x) for part in parts):
        raise Unproved(f"the limit of {left} is not shown")
    top, bottom = (sp.Poly(part, x) for part in parts)
    if top.degree() > bottom.degree():
        raise Unproved(f"the limit of {left} is not finite")
    return top.coeff_monomial(x ** bottom.degree()) / bottom.LC(), _positive(bottom.LC(), x, scope)


def _positive(number: sp.Expr, x: sp.Expr, scope: Context) -> Grounds:
    shown = None if number.has(x) else signed(number, True, scope)
    if shown is None:
        raise Unproved(f"{number} is not shown to be positive, which decides the limit in {x}")
    return admit(number, scope) | shown


def _put(left: sp.Expr, values: Mapping[sp.Basic, sp.Expr], scope: Context) -> tuple[sp.Expr, Grounds]:
    """The value of a function that is continuous there: no divisor vanishes."""
    grounds = Grounds()
    for power in left.atoms(sp.Pow):
        if not power.exp.is_Integer and power.has(*values):
            raise Unproved(f"the limit of {power} is not shown")
        divisor = power.base.xreplace(values)
        if power.exp.is_Integer and power.exp < 0 and power.has(*values):
            sign = signed(divisor, True, scope)
            if sign is None:
                raise Unproved(f"the limit is not shown: the divisor {divisor} may vanish there")
            grounds |= admit(divisor, scope) | sign
    value = left.xreplace(values)
    return value, grounds | admit(value, scope)


def _divisor(step: d.Step, rule: d.Divisor, scope: Context) -> Grounds:
    """x > 0 from x >= 0 and x^2 > 0."""
    if (step.relation, step.rhs) != (">", sp.Integer(0)):
        raise Unproved("a divisor is shown to be positive")
    require_number(step.lhs, scope)
    shown, other = earlier(rule.label, scope), resolve(d.premise(divisor_key(step.lhs)), scope)
    scope.require_zero(shown.value - step.lhs, f"step {rule.label} does not show {step.lhs} >= 0:")
    scope.require_zero(other.value - step.lhs**2, "the divisor is another one:")
    return shown.grounds | other.grounds


RULES: Mapping[type, Callable[[d.Step, Any, Context], Grounds]] = {
    tuple: _combination,
    d.Cases: _cases,
    d.Every: _every,
    d.Induction: _induction,
    d.Limit: _limit,
    d.Divisor: _divisor,
}
