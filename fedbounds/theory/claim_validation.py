"""Which expressions a claim may be made of: exact, finite, and of the claims' own symbols."""

import difflib
import typing
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.errors import InputError, StatementWarning, nearest, reject
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.coverage import Coverage, Span
from fedbounds.theory.point_values import have_units, same_units
from fedbounds.theory.quantity import Quantity, Scope, quantities_on_paths
from fedbounds.theory.reading import READINGS

UNITS = 'give units="as written"'
# What a step size may be tuned to, known of a problem, a start and a horizon.
TUNED_TO = frozenset({"T", "Delta_0", "Gamma", "sigma_sq", "G_sq", "gap_0"})
# Warnings of signs that were given as a claim was made, not to be given again as its file is loaded.
SAID = set[str]()
# Symbols that have a value only where a statement gives it.
NEEDS_VALUE = frozenset({"gamma", "turn", "reach", "push", "skew", "kept"})


def check_claim(claim: Any) -> None:
    """Refuse a claim that cannot be examined, as it is made."""
    for name, kind in (("key", str), ("algorithm", str), ("terms", Mapping), ("definitions", Mapping)):
        if not isinstance(getattr(claim, name), kind) or claim.key == "":
            what = f"the {name} of claim {claim.key} must be a {kind.__name__}"
            remedy = (
                f'write {name}={{"name": expression, ...}}' if kind is Mapping else "give a text that is not empty"
            )
            raise reject(what, repr(getattr(claim, name)), remedy)
    if claim.kind == "inequality" and not claim.terms:
        raise reject(f"claim {claim.key} needs a term on its right side", "none", "give for example a term 0 * L")
    step = () if claim.eta is None else (claim.eta,)
    put = claim.repair.substitutions if claim.repair else {}
    floor = () if claim.floor is None else (claim.floor,)
    for part in (claim.lhs, *claim.terms.values(), *claim.definitions.values(), *step, *put, *put.values(), *floor):
        check_expression(claim.key, part)
    terms = claim.terms.values()
    if claim.lhs != 0 and all(sp.sympify(side).is_number for side in (claim.lhs, *terms)):
        raise reject(f"claim {claim.key} needs a quantity on a side", claim.lhs, "fedbounds symbols lists them")
    if claim.lhs != 0 and isinstance(claim.lhs, int):
        remedy = f"fedbounds symbols lists the quantities; if the number is meant, write sympy.Integer({claim.lhs})"
        raise reject(f"claim {claim.key} needs a quantity on its left side", claim.lhs, remedy)
    if claim.scope not in typing.get_args(Scope):
        raise nearest(f"the scope of claim {claim.key}", claim.scope, typing.get_args(Scope))
    if not claim.readings:
        raise reject(f"claim {claim.key} needs a reading", "none", f"choose from {', '.join(READINGS)}")
    for name in claim.readings:
        if name not in READINGS:
            raise nearest(f"a reading of claim {claim.key}", name, READINGS)
    _check_assumptions(claim)
    check_symbols(claim)
    check_definitions(claim)
    require_first_step(claim)
    check_units(claim, claim.units or "as written")


def _check_assumptions(claim: Any) -> None:
    if isinstance(claim.assumptions, Assumption):
        what = f"the assumptions of claim {claim.key} must be a tuple"
        raise reject(what, claim.assumptions.key, "write assumptions=(a.smooth,)")
    for item in (*claim.assumptions, *(claim.repair.assumptions if claim.repair else ())):
        check_assumption(claim.key, item)


def check_assumption(key: str, item: object) -> None:
    """Refuse what is no assumption, or is another under the key of a shipped one."""
    if not isinstance(item, Assumption):
        remedy = "build it with fedbounds.Assumption"
        raise reject(f"an assumption of claim {key} must be an Assumption", repr(item), remedy)
    if SHIPPED.get(item.key, item) is not item:
        what = f"an assumption {item.key} of claim {key} must be the shipped one"
        raise reject(what, item.statement, "choose another key")
    for relation in item.relation if isinstance(item.relation, tuple) else (item.relation,):
        for side in getattr(relation, "args", ()):
            check_expression(key, side)


def check_symbols(claim: Any) -> None:
    """Refuse a symbol that nothing declares, and one that does not vary over the claim's scope."""
    sides = (claim.lhs, *claim.terms.values())
    used = {symbol for side in sides for symbol in sp.sympify(side).free_symbols} - set(claim.definitions)
    more = (*claim.definitions.values(), *(() if claim.eta is None else (claim.eta,)))
    every = used | {symbol for part in more for symbol in sp.sympify(part).free_symbols} - set(claim.definitions)
    for symbol in sorted(every, key=str):
        if not isinstance(symbol, Quantity):
            close = difflib.get_close_matches(str(symbol), symbols.QUANTITIES, 1) or ["zeta_sq"]
            remedy = f"use a quantity such as {close[0]}, make one with fedbounds.constant, or give it in definitions"
            raise reject(f"claim {claim.key} must declare its symbols", symbol, remedy)
    for symbol in sorted(used, key=str):
        if symbol.scopes and claim.scope not in symbol.scopes:
            where = " or ".join(symbol.scopes)
            remedy = f'give scope="{symbol.scopes[0]}", or use a quantity of the scope {claim.scope}'
            raise reject(f"{symbol} of claim {claim.key} varies over {where}", f"scope={claim.scope!r}", remedy)

    related = {symbol for assumption in claim.assumptions for symbol in getattr(assumption, "_names", ())}
    valueless = sorted(({symbol.name for symbol in every} | related) & NEEDS_VALUE - set(map(str, claim.definitions)))
    if valueless:
        remedy = f"give definitions={{{valueless[0]}: ...}}, or say it of a constant made with symbols.free"
        raise reject(f"claim {claim.key} must define {valueless[0]}, which no run has a value for", "none", remedy)


def gamma_from_steps(eta: object, definitions: Mapping[Any, Any]) -> dict[sp.Expr, sp.Expr]:
    """gamma as eta_0 determines it, where it stands in the step size and nothing defines it."""
    first = eta.subs(symbols.t, 0) if isinstance(eta, sp.Expr) else sp.Integer(0)
    if symbols.gamma in definitions or not first.has(symbols.gamma) or first.has(symbols.eta_0):
        return {}
    result = sp.solve(first - symbols.eta_0, symbols.gamma)
    return {symbols.gamma: result[0]} if len(result) == 1 else {}


def check_definitions(claim: Any) -> None:
    """Refuse a definition of what a run measures, and a step size in symbols of one's own."""
    for symbol in claim.definitions:
        if isinstance(symbol, Quantity) and symbol.recorded != {}:
            remedy = f"write it into the two sides{', or give eta=' * (symbol == symbols.eta)}"
            raise reject(f"claim {claim.key} may define constants only", f"{symbol}, which a run measures", remedy)
    if claim.eta is not None and set(quantities_on_paths(claim.eta)) - {symbols.gap_0}:
        remedy = "use L, mu, tau, N, eta_0 and t, or tune it to T, sigma_sq, G_sq, Gamma, Delta_0 or gap_0"
        raise reject(f"the step size of claim {claim.key} cannot have symbols of one's own", claim.eta, remedy)
    if claim.eta is not None and sp.sympify(claim.eta).has(symbols.T) and claim.scope != "horizon":
        what = f"a step size tuned to T is one of a claim about the horizon T alone, as {claim.key} must be"
        raise reject(what, f"scope={claim.scope!r}", 'give scope="horizon", or eta=eta_0 for every constant step')


def require_steps(claim: Any) -> None:
    """Refuse a step size that is tuned to what a run only has at its end, such as rho_bar."""
    late = sorted({*claim.tuned} - TUNED_TO)
    if late:
        what = f"the step size of claim {claim.key} depends on {', '.join(late)}, known after a run alone"
        raise reject(f"{what}: not expressible", claim.eta, "state it for every constant step: eta=eta_0")


def require_first_step(claim: Any) -> None:
    """Refuse a step size that is made of eta_0, the size of the first step, and is another at t = 0."""
    step = sp.Integer(0) if claim.eta is None else sp.sympify(claim.eta).xreplace(dict(claim.definitions))
    first = step.subs(symbols.t, 0) if step.has(symbols.eta_0) else step
    pieces = first.args if isinstance(first, sp.Min) else (first,)
    if first.has(symbols.eta_0) and symbols.eta_0 not in (*pieces, *map(sp.simplify, pieces)):
        what = f"eta_0 is the size of the first step of claim {claim.key}: its steps are eta_0 at t = 0"
        raise reject(what, claim.eta, "write steps by L, mu, T and t, or state it for every constant step: eta=eta_0")


def check_units(claim: Any, units: str) -> None:
    """Refuse sides of different units, and a step size of others than a step's, where they are to be ``checked``."""
    parts = [sp.sympify(part) for part in (claim.lhs, *claim.terms.values())]
    if units not in ("checked", "as written"):
        raise reject(f"the units of claim {claim.key} are checked or as written", repr(units), "leave it out")
    sides = [parts] * (claim.kind != "rate")
    sides += [] if claim.eta is None else [[symbols.eta, sp.sympify(claim.eta).subs(claim.definitions)]]
    for side in sides:
        try:
            if units == "checked" and have_units(side):
                same_units(side)
        except InputError as fault:
            raise InputError(f"claim {claim.key}: {fault}".replace("say that units are as written", UNITS)) from None


def warn_as_made(claim: Any) -> None:
    """Warn of unlike units where a claim's author says nothing of them, and of signs that a drawn point shows."""
    if not claim.units and not _not_finite(claim):
        for base, name in unknown_signs(claim):
            SAID.add(_of_sign(claim, base, name))
            warnings.warn(_of_sign(claim, base, name), StatementWarning, stacklevel=4)
        try:
            check_units(claim, "checked")
        except InputError as fault:
            warnings.warn(str(fault), StatementWarning, stacklevel=4)


def _not_finite(claim: Any) -> list[Any]:
    """The parts that have no value."""
    return [part for part in claim.expressions if part.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I)]


def check_written(claim: Any) -> None:
    """Refuse a claim of an author's that divides by 0, and warn of what has no known sign.

    A slip of a claim may divide by 0: what is made of it is then called undefined.
    """
    for part in _not_finite(claim):
        raise reject(f"claim {claim.key} is made of numbers", part, "leave out what divides by 0 or is no number")
    for what in (_of_sign(claim, *pair) for pair in unknown_signs(claim)):
        if what not in SAID:
            warnings.warn(what, StatementWarning, stacklevel=4)


def _of_sign(claim: Any, base: sp.Expr, name: str) -> str:
    remedy = f"assume Assumption('sign', '{base} > 0', sympy.Gt({base}, 0))"
    return f"the sign of {base} in {name} of claim {claim.key} is unknown: {remedy}"


def require_met(claim: Any, reading: Any) -> None:
    """Refuse a claim whose assumptions contradict each other, as far as they limit one number each."""
    for axis, region in claim.coverage(reading).axes.items():
        if isinstance(region, Span) and region.low > region.high:
            what = f"an instance must be able to meet the assumptions of {claim.key}"
            raise reject(what, Coverage({axis: region}).words(), "leave one of those that contradict each other out")


def check_expression(key: str, part: object) -> None:
    """Refuse what is not exact, and a symbol with the name of one of the claims' that is another."""
    if not isinstance(part, sp.Expr | int | float):
        raise reject(f"claim {key} is made of sympy expressions", repr(part), "use fedbounds.theory.symbols")
    if isinstance(part, float) or (isinstance(part, sp.Expr) and part.atoms(sp.Float)):
        raise reject(f"claim {key} is made of exact numbers", part, "write 1.5 as sympy.Rational(3, 2)")
    for symbol in part.free_symbols if isinstance(part, sp.Expr) else ():
        shipped = symbols.QUANTITIES.get(symbol.name, symbol)
        if type(shipped) is not type(symbol) or shipped != symbol:
            remedy = f"import {symbol.name} from fedbounds.theory.symbols"
            raise reject(f"{symbol.name} of claim {key} must be the claims' own", "another symbol", remedy)


def require_own(claim: Any) -> None:
    """Refuse a claim that is read by names and has a symbol of another's name, whatever was done to it since."""
    put = claim.repair.substitutions if claim.repair else {}
    parts = (claim.lhs, *claim.terms.values(), *claim.definitions.values(), claim.eta or sp.Integer(0))
    for part in (*parts, *put, *put.values()):
        check_expression(claim.key, part)
    for item in (*claim.assumptions, *(claim.repair.assumptions if claim.repair else ())):
        check_assumption(claim.key, item)
    quantities_on_paths(*parts, *put.values())


# Points that are drawn to see a sign, and the symbols that are whole numbers at them.
POINTS, WHOLE = 400, ("t", "T", "T_run", "R", "tau", "N", "m")


def _facts(claim: Any) -> list[sp.Expr]:
    """What a claim assumes not to be negative, of the first step too."""
    parts = [part for assumption in claim.assumptions for part in assumption.parts]
    facts = [part.right - part.left for part in parts if part.sign != "="]
    return [*facts, *(fact.subs(symbols.eta, symbols.eta_0) for fact in facts)]


def _bases(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """What a side divides by or takes a root of and is not positive by its form, and the name of its term."""
    for name, term in {"the left side": claim.lhs, **claim.terms}.items():
        for power in sorted(sp.sympify(term).atoms(sp.Pow), key=str):
            base, exponent = power.base, power.exp
            odd = exponent.is_negative or (exponent.is_Rational and not exponent.is_Integer)
            if odd and not (exponent.is_Integer and exponent % 2 == 0) and not base.is_nonnegative:
                yield base, name


def unknown_signs(claim: Any) -> Iterator[tuple[sp.Expr, str]]:
    """What a side divides by or takes a root of and is negative at a drawn point that meets what is assumed."""
    parts = (part for assumption in claim.assumptions for part in assumption.parts)
    equal = {part.left: part.right for part in parts if part.sign == "=" and part.left.is_Symbol}
    for base, name in _bases(claim):
        least, *facts = (sp.sympify(item).subs(claim.definitions).subs(equal) for item in (base, *_facts(claim)))
        drawn = _drawn(sorted(set().union(*(item.free_symbols for item in (least, *facts))), key=str))
        with np.errstate(all="ignore"):
            met = np.all([np.ones(POINTS), *(_at(fact, drawn) >= 0 for fact in facts)], axis=0)
            if np.any(met & (_at(least, drawn) < 0)):
                yield base, name


def _at(expression: sp.Expr, values: Mapping[sp.Symbol, NDArray[np.float64]]) -> NDArray[np.float64]:
    """An expression of sums, products, powers, maxima and minima at points; nan of another."""
    if expression.is_Symbol or expression.is_number:
        return values[expression] if expression.is_Symbol else np.full(POINTS, float(expression))
    parts = [_at(part, values) for part in expression.args]
    join = {sp.Add: np.add, sp.Mul: np.multiply, sp.Pow: np.power, sp.Max: np.maximum, sp.Min: np.minimum}
    how = join.get(expression.func)
    return np.full(POINTS, np.nan) if how is None else reduce(how, parts)


def _drawn(names: Sequence[sp.Symbol]) -> dict[sp.Symbol, NDArray[np.float64]]:
    """Values of symbols at random, with L >= mu, times that are whole numbers, and steps about 1/L and far below."""
    rng = np.random.default_rng(0)
    powers = {symbol: 10.0 ** rng.uniform(-1, 1, POINTS) for symbol in names}
    mu = 10.0 ** rng.uniform(-1, 1, POINTS)
    L = mu * 10.0 ** rng.uniform(0, 2, POINTS)
    values = {"mu": mu, "L": L} | {name: rng.choice([1.0, 2, 3, 5, 20], POINTS) for name in WHOLE}
    values |= {name: 10.0 ** rng.uniform(-3, 1, POINTS) / L for name in ("eta", "eta_0")}
    signs = {symbol: 1 if symbol.is_nonnegative else rng.choice([-1, 1], POINTS) for symbol in names}
    return {symbol: values.get(symbol.name, powers[symbol] * signs[symbol]) for symbol in names}
