"""Powers, sums and expectations of expressions: the latter are linear, with what does not vary taken out."""

from __future__ import annotations

import re
from typing import Any

import sympy as sp

from fedbounds.latex.tokens import Token, wrong
from fedbounds.theory import points as at
from fedbounds.theory.symbols import N, R, T, eta, eta_sum, m
from fedbounds.theory.vector_normal_form import depends
from fedbounds.theory.vectors import Inner, Value, Vec

# The first and last term of a sum over the steps of a run, by the number of its first step, and over its rounds.
STEPS, ROUNDS = {0: ("0", "T-1"), 1: ("1", "T")}, ("0", "R-1")
TO_T = ("0", "T")
CLIENTS = ("", "1 to N", r"\in I", r"\in\mathcal{I}", r"\in\mathcal{N}")
# How ranges are written: an index with its first and last value, or without the first.
LISTED = re.compile(r"(?P<name>\w)(?:=|\\in\\\{)(?P<first>\d),(?:\d,)*\\dots,(?P<last>[^{}\\]+)(?:\\\})?$")
BETWEEN = re.compile(r"(?:(?P<first>\d)<=)?(?P<name>\w)<(?P<equal>=?)(?P<last>.+)$")
FROM = re.compile(r"(?P<name>\w)=(?P<first>\d)$")
UP_TO = re.compile(r"(?P<name>\w)\\in\[(?P<last>[^,]+)\]$")


def range_ends(below: str, above: str) -> tuple[str, str, str]:
    """The index of a sum or a least value, its first value, "" where none is written, and its last.

    >>> range_ends("0<=t<T", ""), range_ends(r"t\\in[T]", ""), range_ends("t=0", "T-1")
    (('t', '0', 'T-1'), ('t', '1', 'T'), ('t', '0', 'T-1'))
    """
    if parsed_range := LISTED.match(below):
        return parsed_range["name"], parsed_range["first"], parsed_range["last"]
    if parsed_range := BETWEEN.match(below):
        return (
            parsed_range["name"],
            parsed_range["first"] or "",
            parsed_range["last"] + ("" if parsed_range["equal"] else "-1"),
        )
    if parsed_range := FROM.match(below):
        return parsed_range["name"], parsed_range["first"], above
    if parsed_range := UP_TO.match(below):
        return parsed_range["name"], "1", parsed_range["last"]
    return "", below, above


def over_selected(name: str, below: str, above: str, start: int, place: Token) -> bool:
    """Whether a sum over clients is over the selected ones; InputError where it is over neither these nor all."""
    _, first, last = range_ends(below, above)
    over = f"{first} to {last}" if last else below[len(name) :].strip()
    selected = over.startswith((r"\in S", r"\in\mathcal{S}"))
    if (over not in CLIENTS and not selected) or name in ("t", "T"):
        what = f"a sum must be over all clients, steps or rounds, not {below}{' to ' * bool(above)}{above}"
        raise wrong(place, what, whole_range(first, last, start))
    return selected


def whole_range(first: str, last: str, start: int) -> str:
    """How a sum over part of the steps, or over something else, could be one that is read."""
    if not start and (first, last) == STEPS[1]:
        return "sum from 0 to T-1, or add % fedbounds: start 1 if the run starts at w_1"
    letter = last.removesuffix("-1")
    late = f"add % fedbounds: let {letter} = T where a run has {letter} steps; "
    late *= letter != "T" and bool(re.match(r"\w$", letter))
    steps = r"\sum_{t=1}^T" if start else r"\sum_{t<T}"
    return rf"{late}write \sum_i, {steps} or \sum_{{r<R}}"


# An expectation, and sums and smallest values over clients or steps that no quantity has been found for yet.
Expect, DrawExpect, ClientSum, SelectedSum, StepSum, RoundSum, Least, LeastStep = map(
    sp.Function, ("E", "E_S", "sum_i", "sum_S", "sum_t", "sum_r", "min_i", "min_t")
)
# Sums over a run, and how many terms they have.
RUN_SUMS = {StepSum: T, RoundSum: R}
STEP_AVERAGE, ETA_AVERAGE = (Vec(sp.Symbol(name)) for name in (r"\bar{w}_{T}", r"\bar{w}_{T}^{\eta}"))
# The mean of w_1 ... w_T, and the last point.
LATER_AVERAGE, W_T = Vec(sp.Symbol(r"\bar{w}_{1:T}")), Vec(sp.Symbol("w_{T}"))
ALPHA_I, SIGMA_I, SIGMA_STAR = (Value(sp.Symbol(name), at.I) for name in ("alpha", "sigma", "sigma_star"))
# The index of F where it is at a client's model.
OF_ALL = sp.Symbol("all")
# Weights of both kinds in one sum are p_i and their ratio.
AS_RATIO = {ALPHA_I: at.p_i * at.weight_ratio}
# Indices of norms that are those of vectors; of matrices the norm is that of their entries.
EUCLIDEAN = ("2", "F", r"\mathrm{F}")
# Bits of the powers of numbers, and the exponents of others.
MOST_BITS, HIGHEST = 2000, 1000
FIXED = (at.w_star, at.w_i_star, at.w_0)
NO_LIST = ("max and min must be of a list", r"write \max\{a, b\}, \min_i p_i or \min_{t<T}")
TRANSPOSE = (r"\top", r"\intercal")
FUNCTIONS = {r"\exp": sp.exp, r"\log": sp.log}


def summed(inner: sp.Expr, kind: Any, place: Token, equal: bool = False) -> sp.Expr:
    """A sum of products, with what does not vary taken out of it and weights that sum to 1 made means.

    Vectors of those over whom it goes have a mean without weights where these are ``equal``.
    """
    if kind is StepSum and inner in (at.w, eta * at.w):
        return T * STEP_AVERAGE if inner == at.w else eta_sum * ETA_AVERAGE
    if at.is_vector(inner):
        if equal and not inner.has(at.p_i):
            return m * at.mean_alpha(sp.expand(inner)) if kind is SelectedSum else N * at.mean(sp.expand(inner))
        if kind is ClientSum and inner.has(ALPHA_I) and not (inner / ALPHA_I).has(ALPHA_I, at.p_i):
            return at.mean_alpha(sp.expand(inner / ALPHA_I))
        if kind is not ClientSum or not inner.has(at.p_i):
            remedy = r"write \sum_i p_i w_t^i, or assume equal-p; of those selected, a selection"
            raise wrong(place, "a sum of vectors must have the weights p_i", remedy)
        return at.mean(sp.expand(inner.xreplace(AS_RATIO) / at.p_i))
    total = sp.Integer(0)
    for term in sp.Add.make_args(inner):
        factors = sp.Mul.make_args(term)
        inside = [x for x in factors if (_varies(x) if kind in RUN_SUMS else depends(x, at.I))]
        outside, varying = sp.Mul(*(x for x in factors if x not in inside)), sp.Mul(*inside)
        total += outside * _total(varying, kind)
    return total


def summed_later(inner: sp.Expr, place: Token) -> sp.Expr:
    """A sum over w_1 ... w_T: that over w_0 ... w_{T-1}, with the last point for the first."""
    if inner == at.w:
        return T * LATER_AVERAGE
    steps = any(getattr(symbol, "scopes", ()) for symbol in inner.free_symbols)
    if steps or at.is_vector(inner) or not inner.atoms(Vec) <= {at.w, *FIXED}:
        raise wrong(
            place, "a sum from 1 to T beside w_0 must be of w_t alone", "take w_0 to w_{T-1}, where steps start"
        )
    first, last = (fixed_sign(inner.xreplace({at.w: point})) for point in (at.w_0, W_T))
    return summed(inner, StepSum, place) - first + last


def fixed_sign(expression: sp.Expr) -> sp.Expr:
    """||w - v||^2 in one of its two spellings, that of the table."""
    return expression.replace(
        lambda x: isinstance(x, Inner) and x.args[0] == x.args[1] and x.args[0].could_extract_minus_sign(),
        lambda x: at.norm_sq(-x.args[0]),
    )


def _varies(factor: sp.Expr) -> bool:
    """Whether it differs from step to step, as neither T nor a whole sum does."""
    factor = factor.replace(lambda x: isinstance(x, StepSum | RoundSum), lambda x: sp.Integer(1))
    return random(factor) or any("step" in getattr(symbol, "scopes", ()) for symbol in factor.free_symbols)


def _total(varying: sp.Expr, kind: Any) -> sp.Expr:
    """The sum of one product."""
    if kind is not ClientSum:
        return RUN_SUMS[kind] if varying == 1 and kind in RUN_SUMS else kind(varying)
    for weight, mean in ((at.p_i, at.mean), (ALPHA_I, at.mean_alpha)):
        rest = sp.cancel(varying / weight) if varying.has(weight) else weight
        if not rest.has(at.p_i, ALPHA_I, SIGMA_I):
            (inner, *more) = [x.args[0] for x in sp.Mul.make_args(rest) if isinstance(x, Expect)] or [None]
            if inner is None:
                return mean(rest)
            if not more:
                return Expect(mean(rest.xreplace({Expect(inner): inner})))
    if varying.has(ALPHA_I):
        of_ratios = sp.cancel(varying.xreplace(AS_RATIO) / at.p_i)
        if not of_ratios.has(at.p_i, SIGMA_I, Expect):
            return at.mean(sp.factor(of_ratios))
    return ClientSum(varying)


def least(inner: sp.Expr) -> sp.Expr:
    """The least over the steps; that of roots is the root of the least."""
    root = isinstance(inner, sp.Pow) and inner.exp == sp.S.Half
    return sp.sqrt(LeastStep(inner.args[0])) if root else LeastStep(inner)


def random(expression: sp.Basic) -> bool:
    """Whether it depends on what a run does: an iterate, a local model, weights."""
    return bool((expression.atoms(Vec) - set(FIXED)) or expression.has(ALPHA_I, at.ALPHA, at.weight_ratio))


def expected(inner: sp.Expr, place: Token) -> sp.Expr:
    """The expectation, of each term, with what is not random taken out."""
    if at.is_vector(inner):
        raise wrong(place, "the expectation of a vector cannot be read", "take a norm")
    total = sp.Integer(0)
    for term in sp.Add.make_args(inner):
        factors = sp.Mul.make_args(term)
        chance = [x for x in factors if random(x) and not isinstance(x, Expect)]
        if len(chance) > 1:
            raise wrong(place, "the expectation of a product cannot be read", "state it of each factor")
        outside = sp.Mul(*(x for x in factors if x not in chance))
        for x in chance:
            if x.is_Pow and x.has(Least, LeastStep, StepSum, RoundSum, ClientSum, SelectedSum):
                raise wrong(place, "a power inside an expectation varies", "write it before the expectation")
            sum_ = isinstance(x, ClientSum | SelectedSum | StepSum | RoundSum)
            if isinstance(x, sp.Add):
                outside *= expected(x, place)
            else:
                outside *= x.func(expected(x.args[0], place)) if sum_ else Expect(x)
        total += outside
    return total


def of_draws(inner: sp.Expr, place: Token) -> sp.Expr:
    """The expectation over who is drawn."""
    if at.is_vector(inner):
        raise wrong(place, "the expectation of a vector cannot be read", "take a norm")
    return DrawExpect(inner)


def of_clients(inner: sp.Expr, place: Token) -> sp.Expr:
    """The mean over clients of equal weight."""
    if at.is_vector(inner) or not depends(inner, at.I):
        what = "an expectation over clients must be of a number that has their index"
        raise wrong(place, what, r"write \mathbb{E} for one over draws")
    return summed(inner, ClientSum, place) / N


def power(base: sp.Expr, exponent: sp.Expr, place: Token) -> sp.Expr:
    """A power, of a size that can be computed."""
    if at.is_vector(base) or at.is_vector(exponent):
        raise wrong(place, "a vector has no power", "take a norm")
    if exponent.is_number and base.is_number:
        size = sum(abs(int(part)).bit_length() for x in base.atoms(sp.Rational) for part in (x.p, x.q))
        if not exponent.is_Rational or size * abs(exponent) > MOST_BITS:
            raise wrong(place, "a number may not grow so large", "write a smaller one")
    if exponent.is_number and abs(exponent) > HIGHEST:
        raise wrong(place, f"a power may be at most {HIGHEST}", "write a smaller one")
    result = base**exponent
    if result.has(sp.zoo, sp.nan, sp.oo):
        raise wrong(place, "nothing may be divided by 0", "correct it")
    return result
