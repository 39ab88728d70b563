"""A claim's right-hand side at a setting: the coefficients of the quantities that it is linear in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.sdp.functions_on_interval import Function, require_defined, require_finite
from fedbounds.evidence.sdp.one_step.parameters import (
    FORMS,
    FREE_BIAS,
    LINEAR,
    NOISE,
    Setting,
    applies,
    is_gradient_descent,
    numbers,
)
from fedbounds.evidence.sdp.one_step.point_expressions import number, written
from fedbounds.theory.claim import Claim
from fedbounds.theory.claim_validation import require_own
from fedbounds.theory.quantity import Quantity


def coefficients(claim: Claim, setting: Setting, scale: Mapping[str, Fraction] | None = None) -> dict[str, Fraction]:
    """The right-hand side at a setting as {quantity: coefficient}, with named terms times ``scale``.

    Bounds that may be any larger number (rho_tilde where it is left free, variances where gradients are full) must
    not have a negative coefficient. InputError there, and where the claim is no one-round statement.
    """
    require_own(claim)
    scale, terms = scale or {}, claim.sides(setting.how).terms
    unknown = set(scale) - set(terms)
    full = setting.gradients == "full" and setting.local == "steps"
    run = full and is_gradient_descent(claim, setting.how) and setting.N == len(set(setting.eta)) == 1
    if not (applies(claim, setting.how) or run) or unknown:
        remedy = f"use Theorem 1 or a lemma, with terms among {', '.join(terms)}"
        what = "the SDP evidence needs a one-round claim and the names of its terms"
        raise reject(what, f"{claim.key} {sorted(unknown)}", remedy)
    names = {symbol.name for term in terms.values() for symbol in term.free_symbols}
    if taken := names & {FREE_BIAS, *(f"scale of {name}" for name in terms)}:
        raise reject(f"no symbol of {claim.key} may have this name", min(taken), "give it another")
    factors = {f"scale of {name}": Fraction(1) * scale.get(name, 1) for name in terms}
    factors |= {"T": Fraction(setting.step), "eta_0": setting.eta[0]} if run else {}
    total = sp.Add(*(term * sp.Symbol(f"scale of {name}") for name, term in terms.items()))
    return _linear(total, setting, claim.key, factors)


def term_form(claim: Claim, setting: Setting, term: str) -> dict[str, Fraction]:
    """One term of a claim as a linear form."""
    return _linear(claim.sides(setting.how).terms[term], setting, claim.key)


def value_of(expression: sp.Expr, setting: Setting) -> Fraction:
    """A number at a setting."""
    value = rational(sp.sympify(expression), numbers(setting))
    assert value is not None  # sums and products of what has a value
    return value


def _linear(
    expression: sp.Expr, setting: Setting, key: str, factors: Mapping[str, Fraction] | None = None
) -> dict[str, Fraction]:
    read = written(expression.free_symbols)
    quantities = [q for q in expression.free_symbols if isinstance(q, Quantity)]
    of_weights = {q.name: weight for q in quantities if (weight := number(q, setting.alpha, setting.p)) is not None}
    # A name is a symbol here, as `require_own` made sure.
    plain = expression.xreplace({symbol: sp.Symbol(symbol.name) for symbol in expression.free_symbols})
    values = numbers(setting) | dict(factors or {}) | of_weights
    functions: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, Function)}
    put = plain.xreplace({sp.Symbol(name): sp.Rational(values[name]) for name in values.keys() - functions.keys()})
    if setting.gradients == "full":
        put = _without_noise(put, key, functions, read)
    bias, forms = sp.Symbol("Gamma") * sp.Symbol("rho_tilde"), (*LINEAR, FREE_BIAS, *read)
    result: dict[str, Any] = {}
    for term in sp.Add.make_args(sp.expand(put.doit()).subs(bias, sp.Symbol(FREE_BIAS))):
        factor, monomial = term.as_independent(*map(sp.Symbol, forms), as_Add=False)
        value = rational(factor, functions) if _names(factor) <= functions.keys() else None
        if factor == 0:
            continue
        if str(monomial) not in forms or value is None:
            what = f"{key} must be linear in {', '.join(FORMS)} at a setting"
            raise reject(what, f"the term {monomial}", "give rho_tilde")
        result[str(monomial)] = result.get(str(monomial), Fraction(0)) + value
    for value in result.values():
        if isinstance(value, Function):
            require_finite(value.den, value.over)
    require_defined(plain, values)
    if result.get(FREE_BIAS, Fraction(0)) < 0:
        raise _falls(key, "rho_tilde", result[FREE_BIAS], "give rho_tilde")
    return {name: value for name, value in result.items() if value != 0}


def _names(expression: sp.Expr) -> set[str]:
    return {symbol.name for symbol in expression.free_symbols}


def _without_noise(expression: sp.Expr, key: str, functions: Mapping[str, Any], read: Iterable[str]) -> sp.Expr:
    """The expression where gradients are full: its variances are bounds on 0, so it must not fall as they grow."""
    noise = tuple(map(sp.Symbol, NOISE))
    forms = [sp.Symbol(name) for name in {*LINEAR, *read} if name not in NOISE]
    whole = sp.expand(expression.doit())
    used = sorted(map(str, whole.free_symbols & set(noise)))
    if used and not whole.is_polynomial(*noise, *forms):
        raise _falls(key, used[0], whole, "state the claim with a variance term that adds")
    for powers, rate in sp.Poly(whole, *noise, *forms).terms() if used else ():
        name = next((name for name, power in zip(NOISE, powers, strict=False) if power), None)
        least = rational(rate, functions) if _names(rate) <= functions.keys() else None
        if name is not None and (least is None or least < 0):
            raise _falls(key, name, rate, "state the claim with a variance term that adds")
    return whole.subs(dict.fromkeys(noise, 0))


def _falls(key: str, name: str, rate: object, remedy: str) -> Exception:
    what = f"{key} must not fall as {name} grows, which is only an upper bound"
    return reject(what, f"the coefficient {rate}", remedy)
