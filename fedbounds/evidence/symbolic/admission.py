"""What may be written in a proof: real, exact and finite expressions whose symbols and signs are known."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic import atoms, objects
from fedbounds.evidence.symbolic.algebra import depends
from fedbounds.evidence.symbolic.context import (
    CANONICAL,
    NAMED,
    NUMBERS,
    SHIPPED,
    SIGNS,
    STRICT,
    Context,
    Grounds,
    Unproved,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part


def admit(expression: sp.Basic, scope: Context) -> Grounds:
    """What an expression rests on: it must be real, exact and finite, its symbols known and its divisors not zero."""
    kind = type(expression)
    if kind is sp.Symbol or (isinstance(expression, sp.Symbol) and expression.name in CANONICAL):
        return _symbol(expression, scope)
    if kind in NUMBERS:
        return Grounds()
    if kind in NAMED:
        return _named(expression, scope)
    if kind is sp.Pow:
        return _power(expression, scope)
    if kind in (atoms.Mean, atoms.Centre):
        admit_weights(expression.args[0])
        return admit(expression.args[1], scope)
    if kind in (atoms.Grad, atoms.Loss):
        if expression.args[1] != objects.I:
            raise Unproved(f"{expression} belongs to no client")
        return admit(expression.args[0], scope)
    if kind in (sp.Min, sp.Max, sp.exp) and atoms.random(expression):
        raise Unproved(f"the mean of {kind.__name__}(...) of a random variable is not that of the variable's mean")
    if kind not in (sp.Add, sp.Mul, sp.Min, sp.Max, sp.exp, atoms.Inner):
        raise Unproved(f"{expression} is not exact and real: a proof has rational numbers and known functions only")
    return union(admit(argument, scope) for argument in expression.args)


def admit_weights(weights: sp.Basic) -> None:
    """Raise unless these are weights of the setting, over clients or steps."""
    if type(weights) is not atoms.Weights or weights.args[1] not in (objects.I, objects.S):
        raise Unproved(f"{weights} are no weights of the setting")
    if weights.args[0] not in [sp.Symbol(name) for name in atoms.WEIGHTS]:
        raise Unproved(f"{weights} are no weights of the setting")


def union(grounds: object) -> Grounds:
    """All of several grounds."""
    found = Grounds()
    for one in grounds:  # type: ignore[attr-defined]
        found |= one
    return found


def _named(atom: sp.Expr, scope: Context) -> Grounds:
    name, *about = atom.args
    if name != sp.Symbol(name.name) or not set(about) <= {objects.I, objects.S}:
        raise Unproved(f"{atom} is named or indexed otherwise than the setting's objects")
    if atom in scope.slacks:
        return scope.slacks[atom][1]
    if atom in {c.symbol for c in scope.derivation.conditions}:
        raise Unproved(f"what {atom} stands for is not shown yet")
    present = atom == objects.W_NEXT and objects.ALL_PRESENT in scope.universe
    return Grounds(frozenset({objects.ALL_PRESENT})) if present else Grounds()


def _symbol(symbol: sp.Symbol, scope: Context) -> Grounds:
    name = symbol.name
    if name in CANONICAL:
        if symbol != CANONICAL[name]:
            raise Unproved(f"{name} is declared otherwise than the claims' {name}")
        key = objects.SIGN_OF.get(symbol)
        if symbol == sy.Delta_next and objects.ALL_PRESENT in scope.universe:
            key = objects.ALL_PRESENT
        if key is not None and key not in scope.universe:
            raise Unproved(f"{name} is positive only under {key}")
        return Grounds(frozenset({key})) if key else Grounds()
    if symbol in scope.slacks:
        return scope.slacks[symbol][1]
    if symbol in {c.symbol for c in scope.derivation.conditions}:
        raise Unproved(f"what {name} stands for is not shown yet")
    if symbol in scope.abbreviations:
        return _abbreviated(symbol, scope)
    if symbol not in [sp.Symbol(name, **{sign: True}) for sign in SIGNS]:
        raise Unproved(f"{name} must be declared real, nonnegative or positive, and no more")
    return Grounds()


def _abbreviated(symbol: sp.Symbol, scope: Context) -> Grounds:
    """What the declared sign of an abbreviated extreme rests on."""
    extreme = scope.abbreviations[symbol]
    grounds = union(admit(argument, scope) for argument in extreme.args)
    if not symbol.is_nonnegative:
        return grounds
    found = [signed(argument, bool(symbol.is_positive), scope) for argument in extreme.args]
    shown = [one for one in found if one is not None]
    if not shown or (isinstance(extreme, sp.Min) and len(shown) < len(found)):
        raise Unproved(
            f"{symbol} = {extreme} is not shown to be {'positive' if symbol.is_positive else 'non-negative'}"
        )
    return grounds | (union(shown) if isinstance(extreme, sp.Min) else shown[0])


def signed(expression: sp.Expr, strict: bool, scope: Context) -> Grounds | None:
    """What the sign of an expression rests on: nothing on sight, else steps that show it; None where nothing does."""
    enough = shown_positive if strict else shown_non_negative
    if enough(expression):
        return Grounds()
    folded = expression.xreplace({extreme: symbol for symbol, extreme in scope.abbreviations.items()})
    grounds, bright = Grounds(), {}
    for label, outcome in scope.outcomes.items():
        one = scope.step(label)
        if one is None or not outcome.ok or one.relation not in STRICT:
            continue
        large, small = (one.lhs, one.rhs) if one.relation == ">" else (one.rhs, one.lhs)
        if small == 0 and folded.has(large):
            bright[large] = sp.Dummy(positive=True)
            grounds |= outcome.grounds
    grounds |= union(admit(symbol, scope) for symbol in folded.free_symbols - expression.free_symbols)
    return grounds if enough(folded.xreplace(bright)) else None


def _power(power: sp.Pow, scope: Context) -> Grounds:
    base, exponent = power.args
    grounds = admit(base, scope)
    if not isinstance(exponent, sp.Integer):
        raise Unproved(f"{power} is no integer power")
    if exponent > 0:
        return grounds
    sign = signed(base, True, scope)
    if sign is None:
        raise Unproved(f"the divisor {base} is not shown to be positive")
    return grounds | sign


def shown_non_negative(expression: sp.Expr) -> bool:
    """Whether every term of an expression is a product of non-negative things, over a positive denominator."""
    if expression.is_nonnegative:
        return True
    numerator, denominator = sp.fraction(sp.together(expression))
    terms = [*sp.Add.make_args(sp.expand(numerator)), *sp.Add.make_args(sp.expand(denominator))]
    return all(bool(term.is_nonnegative) for term in terms) and bool(denominator.is_positive)


def shown_positive(expression: sp.Expr) -> bool:
    """Whether an expression is so shown, and one of its terms is positive."""
    numerator, denominator = sp.fraction(sp.together(expression))
    terms = sp.Add.make_args(sp.expand(numerator))
    signs = all(term.is_nonnegative for term in terms) and any(term.is_positive for term in terms)
    return bool(expression.is_positive or (signs and denominator.is_positive))


def require_follows(assumption: Assumption, part: Part) -> None:
    """Raise unless what an assumption gives is a positive multiple of its relation, or weaker on sight.

    A limit c on eta_ratio is one on each eta_s/eta_t of the round: c eta_t - eta_s >= 0.
    """
    if not assumption.parts or SHIPPED.get(assumption.key) == assumption:
        return
    value = sp.expand(sp.sympify(part.right - part.left))
    known = [(sp.expand(fact.right), fact.sign) for fact in assumption.facts()]
    known += [
        (sp.expand(sy.eta * fact.subs(sy.eta_ratio, objects.ETA_S / sy.eta)), sign)
        for fact, sign in known
        if sp.diff(fact, sy.eta_ratio).is_negative and sign != "="
    ]
    if not any(_no_stronger(value, part.sign, fact, sign) for fact, sign in known):
        raise Unproved(f"0 {part.sign} {value}, which {assumption.key} gives, does not follow from its relation")


def _no_stronger(value: sp.Expr, wanted: str, fact: sp.Expr, sign: str) -> bool:
    """Whether ``0 wanted value`` follows from ``0 sign fact`` on sight, once a term is cancelled."""
    own = value.as_coefficients_dict()
    for factor in {own[term] / c for term, c in fact.as_coefficients_dict().items() if own.get(term)}:
        rest = sp.expand(value - factor * fact)
        if not factor.is_positive and sign != "=":
            continue
        if wanted == "=":
            enough = rest == 0 and sign == "="
        elif wanted == "<" and sign != "<":
            enough = shown_positive(rest)
        else:
            enough = shown_non_negative(rest)
        if enough:
            return True
    return False


def degree(expression: sp.Basic) -> int:
    """How many random variables are multiplied in an expression: its mean is known where there is at most one."""
    if not atoms.random(expression):
        return 0
    if isinstance(expression, sp.Add):
        return max(degree(term) for term in expression.args)
    if isinstance(expression, sp.Mul):
        found = sum(degree(factor) for factor in expression.args)
    elif isinstance(expression, sp.Pow):
        found = 2
    elif isinstance(expression, atoms.Mean):
        found = max(1, degree(expression.args[1]))
    else:
        found = 1
    if found > 1:
        raise Unproved(f"the mean of the product {expression} is not the product of means")
    return found


def indices(expression: sp.Basic) -> set[sp.Symbol]:
    """The client or step that an expression is about, where it is about one."""
    return {index for index in (objects.I, objects.S) if depends(expression, index)}
