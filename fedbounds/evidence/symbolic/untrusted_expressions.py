"""What is seen of an expression without a proof, and every object of a proof made anew from plain data.

Exact is what has rational numbers, symbols, and known functions of them; one number is not random, of no client and
of no step. Nothing that was written into a derivation, a claim or an assumption is believed: each container is read
once, for what it holds. Symbols are the canonical ones, or new ones of that name and sign; numbers come from
numerators and denominators, other expressions from their class and arguments. What is of another class, or has more
written into it than its fields, is refused. Functions alone stay what they are.
"""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.core.assumptions import StdFactKB
from sympy.core.cache import clear_cache
from sympy.core.relational import Relational

from fedbounds.evidence.symbolic import definitions, derivation
from fedbounds.evidence.symbolic.proof_objects import F_MIN, OWN, SHARE, START, SUM_SO_FAR, W_STAR, P
from fedbounds.evidence.symbolic.proof_state import Context, Unproved
from fedbounds.plugins import foreign
from fedbounds.theory import symbols as sy
from fedbounds.theory import vectors
from fedbounds.theory import vectors as formal
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import Claim, Kind, OwnSteps, Repair, Role
from fedbounds.theory.point_values import PointFormula, StepSum, WeightedGap
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import RECORDED
from fedbounds.theory.vector_normal_form import depends
from fedbounds.theory.vectors import Noise, Value, Vec, Weights

NUMBERS = tuple({type(sp.Rational(*pair)) for pair in ((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (2, 3))})
SYMBOLS = (sp.Symbol, Quantity)
FUNCTIONS = (sp.Add, sp.Mul, sp.Min, sp.Max, sp.exp)
# Names of numbers that differ from step to step, beside the claims' symbols whose axis says so.
MOVING = {"n", "rho", "steps", "gaps", "weighted_gaps", "weighted_gaps_T", "s", "u_s", "eta_s", "m_s"}
MOVING |= {symbol.name for power in definitions.POWERS for symbol in (power.now, power.last)}
MOVING |= {definitions.POTENTIAL_NEXT.name, definitions.POTENTIAL_T.name}
MOVING |= {"kappa_rho", "kappa", "e_rho"}


def in_time(exponent: sp.Basic) -> bool:
    """Whether an exponent is a T + b or a t + b in whole numbers, a > 0 and b >= 0."""
    time = exponent.free_symbols & {sy.t, sy.T}
    if len(time) != 1 or exponent.free_symbols != time:
        return False
    (symbol,) = time
    slope, start = exponent.coeff(symbol), exponent.subs(symbol, 0)
    whole = isinstance(slope, sp.Integer) and isinstance(start, sp.Integer)
    return bool(whole and exponent == slope * symbol + start and slope > 0 and start >= 0)


def require_exact(*sides: sp.Basic) -> None:
    """Raise unless what a claim or a relation is stated with has rational numbers and known functions only."""
    for part in (node for side in sides for node in sp.preorder_traversal(side)):
        whole = type(part) is not sp.Pow or part.exp.is_Integer or in_time(part.exp)
        if type(part) not in (*NUMBERS, *SYMBOLS, *FUNCTIONS, sp.Pow) or not whole:
            raise Unproved(f"{part}, with which it is stated, is not exact: use rational numbers and known functions")


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


def degree(expression: sp.Basic) -> int:
    """How many random variables are multiplied in an expression: its mean is known where there is at most one."""
    if not formal.random(expression) or expression == formal.WEIGHT_RATIO:
        return 0  # weights are known before the rest, and multiply it as a mean's weights do
    if isinstance(expression, sp.Add):
        return max(degree(term) for term in expression.args)
    if isinstance(expression, sp.Mul):
        count = sum(degree(factor) for factor in expression.args)
    elif isinstance(expression, sp.Pow):
        count = 2 if degree(expression.base) else 0
    elif isinstance(expression, formal.Mean):
        count = max(1, degree(expression.args[1]))
    else:
        count = 1
    if count > 1:
        raise Unproved(f"the mean of the product {expression} is not the product of means")
    return count


def indices(expression: sp.Basic) -> set[sp.Symbol]:
    """The client or step that an expression is about, where it is about one."""
    return {index for index in (definitions.I, definitions.S) if depends(expression, index)}


def require_number(expression: sp.Expr, scope: Context, allowed: Iterable[sp.Basic] = ()) -> None:
    """Raise unless an expression, its meanings put in, is one number (or one for each of the allowed indices)."""
    meaning = scope.unfolded(expression)
    if formal.random(meaning) or not indices(meaning) <= set(allowed):
        raise Unproved(f"{expression} is not one number")


def require_steady(expression: sp.Expr, scope: Context, fixed: Iterable[sp.Basic]) -> None:
    """Raise unless an expression, its meanings put in, keeps its value from step to step (T apart)."""
    meaning = scope.unfolded(expression)
    fixed = {str(s) for s in set(fixed) & meaning.free_symbols}
    at_T = meaning.has(definitions.X_T, definitions.W_T)
    if moving(meaning) - {sy.T.name} or fixed or at_T or formal.random(meaning) or indices(meaning):
        raise Unproved(
            f"an induction's line speaks of more that varies in time than T and its sequence at T: {meaning}"
        )


def moving(expression: sp.Expr) -> set[str]:
    """Names of the symbols in an expression that differ from step to step."""
    moving_names = {s.name for s in expression.free_symbols if isinstance(s, Quantity) and s.computed and s.scopes}
    names = {s.name for s in expression.free_symbols}
    return moving_names | {name for name in names if _moves(name)}


def _moves(name: str) -> bool:
    return name in MOVING or name.endswith(SUM_SO_FAR) or (name in RECORDED and bool(RECORDED[name].recorded))


CANONICAL = {s.name: s for s in (*sy.RECORDED.values(), *definitions.OWN_SYMBOLS)}
SIGNS = ("real", "nonnegative", "positive")
VALUES = (str, int, bool, float, type(None), Kind, Role)
ATOMS = [var for var in vars(vectors).values() if isinstance(var, type) and issubclass(var, sp.Expr)]
PARTS = [var for var in vars(derivation).values() if isinstance(var, type) and is_dataclass(var)]
PARTS += [Claim, Repair, Assumption, OwnSteps]


def clear_sympy_caches() -> None:
    """Forget what sympy computed before, and the signs of what there is one of: code may have written into them."""
    clear_cache()
    for number in (sp.S.Zero, sp.S.One, sp.S.NegativeOne, sp.S.Half):
        number._assumptions = type(number).default_assumptions
    for symbol in CANONICAL.values():
        symbol._assumptions = StdFactKB(dict(symbol._assumptions0))


def rebuilt(thing: Any) -> Any:
    """The same, made anew; Unproved where it is of a class of its own."""
    if type(thing) in VALUES:
        return thing
    if isinstance(thing, sp.Basic):
        return _expression(thing)
    if isinstance(thing, tuple):
        return tuple(map(rebuilt, tuple.__iter__(thing)))
    if isinstance(thing, dict):
        return {rebuilt(key): rebuilt(value) for key, value in dict.items(thing)}
    if any(thing is assumption for assumption in SHIPPED.values()):
        return thing
    if type(thing) in PARTS:
        return _made_of_fields(thing)
    raise Unproved(f"{type(thing).__name__} is no fact, nor another part of a proof")


def _made_of_fields(thing: Any) -> Any:
    kind, kinds = type(thing), {field.name: str(field.type) for field in fields(thing)}
    for name in vars(thing).keys() - kinds.keys():
        if not isinstance(getattr(kind, name, None), cached_property):
            raise Unproved(f"{name} is written into {kind.__name__}(...)")
    written = vars(thing)
    read = {name: written[name] if "Callable" in kinds[name] else rebuilt(written[name]) for name in kinds}
    for name, value in read.items():
        if not _fits(value, kinds[name]):
            raise Unproved(f"the {name} of {kind.__name__}(...) must be {kinds[name]}")
    return kind(**read)


def _fits(value: Any, kind: str) -> bool:
    """Whether a value is a text, a pair or a container where its field is one."""
    if kind in ("str", "Relation", "Scope"):
        return type(value) is str
    if kind.startswith("tuple[Use") and type(value) is tuple:
        return all(type(use) is tuple and len(use) == 2 for use in value)
    if kind.startswith("Mapping") and type(value) is dict:
        several = tuple(value.values())
        if kind == "Mapping[str, str]":
            return all(type(text) is str for text in (*value, *several))
        return "tuple" not in kind or all(type(three) is tuple and len(three) == 3 for three in several)
    if kind == "tuple[str, ...]" and type(value) is tuple:
        return all(type(text) is str for text in value)
    if kind.startswith(("tuple", "Mapping")) and "|" not in kind:
        return type(value) is tuple and kind.startswith("tuple")
    return True


def _expression(thing: Any) -> sp.Basic:
    kind = type(thing)
    if kind in (sp.Symbol, Quantity):
        return _symbol(thing)
    if isinstance(thing, sp.Rational) and not foreign(thing, "sympy"):
        return sp.Rational(int(thing.p), int(thing.q))
    if kind not in ATOMS and foreign(thing, "sympy"):
        raise Unproved(f"{kind.__name__} is of a class of its own, which may equal what it likes")
    if not thing.args:
        return thing  # what sympy has one of, or a number that is not exact
    arguments = map(_expression, thing.args)
    return kind(*arguments, evaluate=False) if isinstance(thing, Relational) else kind(*arguments)


def _symbol(thing: sp.Symbol) -> sp.Symbol:
    """The canonical symbol, a quantity of one's own with the same facets, or a new symbol of that name and sign."""
    if type(thing.name) is not str:
        raise Unproved("the name of a symbol must be a plain text")
    canonical = CANONICAL.get(thing.name)
    if canonical is not None and type(canonical) is type(thing) and canonical == thing:
        return canonical
    made = sp.Symbol.__xnew__(type(thing), thing.name, **dict(thing._assumptions_orig))
    for slot in Quantity.__slots__ if type(thing) is Quantity else ():
        setattr(made, slot, getattr(thing, slot))
    if type(getattr(made, "on_path", None)) is PointFormula:
        made.on_path = PointFormula(_expression(made.on_path.expression))
    elif type(getattr(made, "on_path", None)) is StepSum:
        made.on_path = StepSum(_expression(made.on_path.term), bool(made.on_path.of_rounds))
    elif type(getattr(made, "on_path", None)) is WeightedGap and isinstance(made.on_path.weights, sp.Basic):
        made.on_path = WeightedGap(_expression(made.on_path.weights), int(made.on_path.tail))
    return made


# What a line about local models may speak of beside them.
OF_MODELS = {START, W_STAR, OWN, P, SHARE, F_MIN}
STEPPED_MODEL = definitions.X - sy.eta * definitions.G


def of_models_at_end(line: sp.Expr, place: int, scope: Context) -> sp.Expr:
    """A line in the local models at T, within one round, as it is at its start, at t, and after the step from t."""
    meaning, at_T = scope.unfolded(line), definitions.X_T
    if not _named(meaning) <= OF_MODELS | {at_T} or moving(meaning) - {sy.T.name}:
        raise Unproved(f"a line in the models at T speaks of these, their start, T and constants alone: {line}")
    model = (START, definitions.X, STEPPED_MODEL)[place]
    return line.xreplace({at_T: model, sy.T: (sp.Integer(0), sy.t, sy.t + 1)[place]})


def in_a_round(line: sp.Expr, place: int, scope: Context) -> sp.Expr:
    """A line in the local models at a round's start, at t, and after the step from t."""
    X, k = definitions.X, sy.local_step
    present = definitions.ALL_PRESENT in scope.universe
    if not present or moving(line) - {k.name} or not _named(line) <= OF_MODELS | {X}:
        raise Unproved(f"an induction over local steps speaks of local models, their start and k alone: {line}")
    model, step = (START, X, STEPPED_MODEL)[place], (sp.Integer(0), k, k + 1)[place]
    return line.xreplace({X: model, k: step})


def _named(line: sp.Expr) -> set[sp.Basic]:
    """The vectors, weights and values in a line, which have names."""
    return set(line.atoms(Vec, Noise, Weights, Value))
