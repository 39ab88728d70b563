"""Sympy expressions as numbers, in floating point on whole arrays or exactly in fractions, and their symbols' values.

A `Measurement` is the one form in which every engine hands over what claims need of an experiment.
"""

import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from dataclasses import field as made
from fractions import Fraction
from functools import lru_cache, partial, reduce
from typing import Any, Generic, TypeVar

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import Scope, in_scope, measured_fields

Array = NDArray[np.float64]
Numbers = float | Array
# What a division by zero or the root of a negative number makes of a formula, whatever its symbols are.
UNDEFINED = (sp.zoo, sp.nan, sp.I)
# Numbers up to this size sympy takes a root of at once, exactly where it is a fraction.
SHORT = 2**64


@lru_cache(maxsize=512)
def difference(left: sp.Expr, right: sp.Expr) -> sp.Expr:
    """left - right, made once: sympy looks anew, each time, whether one side of a Max or Min is always the larger."""
    return left - right


@lru_cache(maxsize=512)
def derivative(expression: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """The derivative, taken once."""
    return sp.diff(expression, symbol)


@lru_cache(maxsize=4096)
def names_in(expression: sp.Expr) -> tuple[str, ...]:
    """The names of an expression's symbols in order, looked for once: sympy walks the whole expression each time."""
    return tuple(sorted(symbol.name for symbol in expression.free_symbols))


@lru_cache(maxsize=512)
def _in_floats(expression: sp.Expr) -> tuple[tuple[str, ...], Callable[[Mapping[str, Array]], Any]]:
    if expression.has(*UNDEFINED):
        raise reject("a formula must have a real value", f"{expression}, whatever its symbols are", "mend it")
    names = names_in(expression)
    written = code(expression)
    if written is not None:
        calls = {name: partial(reduce, function) for name, function in (("max", np.maximum), ("min", np.minimum))}
        return names, eval(f"lambda v: {written}", {"sqrt": np.sqrt, "log": np.log, **calls})
    # Symbols without assumptions, so that lambdify's arguments match whatever signs were declared.
    plain = expression.xreplace({symbol: sp.Symbol(symbol.name) for symbol in expression.free_symbols})
    function = sp.lambdify([sp.Symbol(name) for name in names], plain, modules="numpy")
    return names, lambda v: function(*(v[name] for name in names))


def evaluate(expression: sp.Expr, values: Mapping[str, Numbers]) -> Array:
    """The number (or array) of a sympy expression.

    A division by zero and a number too large for floats are infinities, 0 * infinity is nan.
    """
    names, function = _in_floats(sp.sympify(expression))
    missing = [name for name in names if name not in values]
    if missing:
        raise reject(f"{expression} needs a value for {missing[0]}", sorted(values), f"give {missing[0]}")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        arrays = {name: np.asarray(values[name], dtype=np.float64) for name in names}
        return np.asarray(function(arrays), dtype=np.float64)


def nudged(expression: sp.Expr, values: Mapping[str, Numbers], by: float) -> Iterator[Array]:
    """The expression as `evaluate` has it, with the values of each of its symbols in turn ``by`` times as large."""
    names, function = _in_floats(expression)
    arrays = {name: np.asarray(values[name], dtype=np.float64) for name in names}
    for name in names:
        yield np.asarray(function({**arrays, name: np.asarray(arrays[name] * by)}), dtype=np.float64)


class NoFraction(ArithmeticError):
    """A root is no fraction."""


def fraction_root(number: Any) -> Fraction:
    """The square root, where it is a fraction."""
    if isinstance(number, Fraction | int) and number >= 0:
        result = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        if result * result == number:
            return result
    raise NoFraction


@lru_cache(maxsize=512)
def _in_fractions(expression: sp.Expr) -> tuple[tuple[str, ...], Callable[[Mapping[str, Fraction]], Fraction] | None]:
    """(names of symbols, function of their fractions), None in place of the function where it is no root of any."""
    names = names_in(expression)
    roots = not expression.has(sp.log) and all(power.exp.is_number for power in expression.atoms(sp.Pow))
    written = code(expression, exact=True, powers=roots)
    leaves = {"Fraction": Fraction, "sqrt": fraction_root}
    return names, None if written is None else eval(f"lambda v: {written}", leaves)


def code(expression: sp.Expr, exact: bool = False, powers: bool = False) -> str | None:
    """Python that computes a rational function, Max and Min included; every leaf of it is a Fraction if ``exact``.

    Else it is a float or an array. Square roots and powers of symbols are known then too, or with ``powers``. Made in
    a hundredth of lambdify's time.
    """
    powers = powers or not exact
    if expression.is_Symbol:
        return f"v[{expression.name!r}]"
    if expression.is_Rational:
        return f"Fraction({expression.p}, {expression.q})" if exact else repr(expression.p / expression.q)
    if expression.is_Pow and (expression.exp.is_Integer or (expression.exp == sp.S.Half and powers)):
        base = code(expression.base, exact, powers)
        power = f"({base})**({expression.exp})" if expression.exp.is_Integer else f"sqrt({base})"
        return None if base is None else power
    if expression.is_Pow and powers and expression.exp.is_Rational and expression.exp.q == 2:
        root = code(sp.sqrt(expression.base), exact, powers)
        return None if root is None else f"({root})**({expression.exp.p})"
    if expression.is_Pow and powers and not expression.exp.is_number:
        base, exponent = (code(arg, exact, powers) for arg in expression.args)
        return None if None in (base, exponent) else f"({base})**({exponent})"
    inside = [code(argument, exact, powers) for argument in expression.args]
    if isinstance(expression, sp.log) and powers and None not in inside:
        return f"log({inside[0]})"
    below = [
        k for k, item in enumerate(expression.args) if expression.is_Mul and item.is_Pow and item.exp.is_negative
    ]
    if below and None not in inside:
        # In floats x/x is 1 and (1/x) x need not be: a bound that is attained would seem to fail by a rounding.
        above = " * ".join(str(item) for k, item in enumerate(inside) if k not in below)
        under = [code(1 / expression.args[k], exact, powers) for k in below]
        return None if None in under else f"(({above or 1}) / ({' * '.join(map(str, under))}))"
    join = {sp.Add: " + ", sp.Mul: " * ", sp.Max: ", ", sp.Min: ", "}.get(type(expression))
    if join is None or None in inside:
        return None
    call = {sp.Max: "max", sp.Min: "min"}.get(type(expression), "")
    return f"{call}(({join.join(map(str, inside))}))"


def rational(expression: sp.Expr, values: Mapping[str, Fraction]) -> Fraction | None:
    """The exact value of a sympy expression at rational values; None where it is undefined or not rational."""
    expression = sp.sympify(expression)
    names, function = _in_fractions(expression)
    missing = [name for name in names if name not in values]
    if missing:
        raise reject(f"{expression} needs a value for {missing[0]}", sorted(values), f"give {missing[0]}")
    try:
        if function is not None:
            return function(values)
    except ZeroDivisionError:
        return None
    except NoFraction:  # a product of roots may be one; sympy would factor long numbers to see
        if any(max(abs(values[name].numerator), values[name].denominator) > SHORT for name in names):
            return None
    if not all(isinstance(values[name], Fraction | int) for name in names):
        return None
    numbers = {s: sp.Rational(values[s.name].numerator, values[s.name].denominator) for s in expression.free_symbols}
    try:
        result = expression.xreplace(numbers)
    except ValueError:
        return None  # the largest of numbers of which one is a division by 0
    return Fraction(int(result.p), int(result.q)) if isinstance(result, sp.Rational) else None


def steps_asked(formula: sp.Expr, constants: Mapping[str, Numbers], total: int) -> Array:
    """eta_0 ... eta_{T-1} of a step size in constants and t: (T,), or (P, T) where a constant of it is (P, 1)."""
    times = np.arange(total, dtype=float)
    result = evaluate(formula, {**constants, "t": times})
    return np.broadcast_to(result, np.broadcast_shapes(result.shape, times.shape))


@lru_cache(maxsize=512)
def _has_least(expression: sp.Expr) -> bool:
    return bool(expression.has(sp.Min))


def without_infinite(expression: sp.Expr, values: Mapping[str, Any]) -> sp.Expr:
    """The expression less what is a positive number over 0 in a Min, where something else is the least."""
    if not _has_least(expression):
        return expression
    names, zero = names_in(expression), set()
    for name in names:
        if name not in values or values[name] < 0:
            return expression
        if values[name] == 0:
            zero.add(name)
    return _finite(expression, frozenset(zero)) if zero else expression


@lru_cache(maxsize=512)
def _finite(expression: sp.Expr, zero: frozenset[str]) -> sp.Expr:
    """`without_infinite` where these symbols are 0 and all others positive."""
    positive = {s: sp.Symbol(s.name, positive=True) for s in expression.free_symbols}
    nothing = {positive[s]: 0 for s in positive if s.name in zero}

    def infinite(part: sp.Expr) -> bool:
        above, below = sp.fraction(sp.together(sp.expand_power_base(part.xreplace(positive))))
        return below.xreplace(nothing) == 0 and bool(sp.sympify(above).xreplace(nothing).is_positive)

    parts = {least: [part for part in least.args if not infinite(part)] for least in expression.atoms(sp.Min)}
    return expression.xreplace({least: sp.Min(*left) for least, left in parts.items() if left})


def moving(symbols: Iterable[sp.Basic]) -> set[str]:
    """Names of the symbols of one's own that stand for an expectation."""
    return {symbol.name for symbol in symbols if isinstance(symbol, Quantity) and symbol.statistic == "measured"}


@lru_cache(maxsize=512)
def is_affine(expression: sp.Expr) -> bool:
    """Whether an expression is, as it stands or expanded, c + a.x in the symbols x that stand for expectations.

    Only of such a side is the mean over replicates an estimate: in general E f(X) is not f(E X).
    """
    random = set(measured_fields()) | moving(expression.free_symbols)
    return _written_affine(expression, random) or _written_affine(sp.expand(expression), random)


def _written_affine(expression: sp.Basic, random: Set[str]) -> bool:
    """Derivatives would not tell: those of a step function are 0."""
    inside = [part for part in expression.args if random & {s.name for s in part.free_symbols}]
    if isinstance(expression, sp.Piecewise):
        affine = [_written_affine(value, random) for value, _ in expression.args]
        return all(affine) and not any(random & {s.name for s in where.free_symbols} for _, where in expression.args)
    if not inside or expression.is_Add or (expression.is_Mul and len(inside) == 1):
        return all(_written_affine(part, random) for part in inside)
    return False


V = TypeVar("V")


class OnDemand(Mapping[str, V]):
    """Values by name, each computed when it is first looked up: a claim names few of those that a run has."""

    def __init__(self, formulas: Mapping[str, Callable[[], V]]) -> None:
        self._formulas = formulas
        self._values: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        if name not in self._values:
            self._values[name] = self._formulas[name]()
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._formulas  # Mapping's own would compute the value

    def __iter__(self) -> Iterator[str]:
        return iter(self._formulas)

    def __len__(self) -> int:
        return len(self._formulas)


def first_of(*mappings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of each name the value in the first mapping that has it; none is computed before it is looked up."""
    return ChainMap(*mappings)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Measurement(Generic[V]):
    """An experiment in one reading: its ``constants``, and what was measured at the places of each scope.

    ``times(scope)`` are the places' local steps (m,); ``field(scope, name)`` the values of a measured field there: of
    a run (R, m) or (m,), of a population (P, m), in fractions a sequence (m,). ``quantities``: the
    claim's own.
    """

    constants: Mapping[str, V]
    times: Callable[[Scope], Sequence[int] | NDArray[np.int64]]
    field: Callable[[Scope, str], V]
    quantities: Mapping[str, V] = made(default_factory=dict)

    def varying(self, scope: Scope) -> Mapping[str, V]:
        """Symbol name -> its values at every place of a scope, the constants left out."""
        sources = in_scope(scope).items()
        recorded = OnDemand({name: partial(self.field, scope, source) for name, source in sources})
        return first_of(self.quantities, recorded)
