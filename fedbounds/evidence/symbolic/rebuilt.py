"""A derivation, a claim and an assumption made anew from plain data, so that nothing written into them is believed.

Each container is read once, for what it holds, whatever a subclass lists. Symbols are the canonical ones, or new
ones of that name and sign; numbers come from numerators and denominators, other expressions from their class and
arguments. What is of another class, or has more written into it than its fields, is refused. Functions alone
stay what they are.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from sympy.core.assumptions import StdFactKB
from sympy.core.cache import clear_cache
from sympy.core.relational import Relational

from fedbounds.evidence.symbolic import definitions, derivation
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.plugins import foreign
from fedbounds.theory import symbols as sy
from fedbounds.theory import vectors
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import Claim, Kind, OwnSteps, Repair, Role
from fedbounds.theory.point_values import PointFormula, WeightedGap
from fedbounds.theory.quantity import Quantity

CANONICAL = {s.name: s for s in (*sy.RECORDED.values(), *definitions.OWN_SYMBOLS)}
SIGNS = ("real", "nonnegative", "positive")
VALUES = (str, int, bool, float, type(None), Kind, Role)
ATOMS = [var for var in vars(vectors).values() if isinstance(var, type) and issubclass(var, sp.Expr)]
PARTS = [var for var in vars(derivation).values() if isinstance(var, type) and is_dataclass(var)]
PARTS += [Claim, Repair, Assumption, OwnSteps]


def begin_anew() -> None:
    """Forget what sympy computed before, and the signs of what there is one of: code may have written into them."""
    clear_cache()
    for number in (sp.S.Zero, sp.S.One, sp.S.NegativeOne, sp.S.Half):
        number._assumptions = type(number).default_assumptions
    for symbol in CANONICAL.values():
        symbol._assumptions = StdFactKB(dict(symbol._assumptions0))


def rebuilt(one: Any) -> Any:
    """The same, made anew; Unproved where it is of a class of its own."""
    if type(one) in VALUES:
        return one
    if isinstance(one, sp.Basic):
        return _expression(one)
    if isinstance(one, tuple):
        return tuple(map(rebuilt, tuple.__iter__(one)))
    if isinstance(one, dict):
        return {rebuilt(key): rebuilt(value) for key, value in dict.items(one)}
    if any(one is known for known in SHIPPED.values()):
        return one
    if type(one) in PARTS:
        return _made_of_fields(one)
    raise Unproved(f"{type(one).__name__} is no fact, nor another part of a proof")


def _made_of_fields(one: Any) -> Any:
    kind, kinds = type(one), {field.name: str(field.type) for field in fields(one)}
    for name in vars(one).keys() - kinds.keys():
        if not isinstance(getattr(kind, name, None), cached_property):
            raise Unproved(f"{name} is written into {kind.__name__}(...)")
    written = vars(one)
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


def _expression(one: Any) -> sp.Basic:
    kind = type(one)
    if kind in (sp.Symbol, Quantity):
        return _symbol(one)
    if isinstance(one, sp.Rational) and not foreign(one, "sympy"):
        return sp.Rational(int(one.p), int(one.q))
    if kind not in ATOMS and foreign(one, "sympy"):
        raise Unproved(f"{kind.__name__} is of a class of its own, which may equal what it likes")
    if not one.args:
        return one  # what sympy has one of, or a number that is not exact
    arguments = map(_expression, one.args)
    return kind(*arguments, evaluate=False) if isinstance(one, Relational) else kind(*arguments)


def _symbol(one: sp.Symbol) -> sp.Symbol:
    """The canonical symbol, a quantity of one's own with the same facets, or a new symbol of that name and sign."""
    if type(one.name) is not str:
        raise Unproved("the name of a symbol must be a plain text")
    known = CANONICAL.get(one.name)
    if known is not None and type(known) is type(one) and known == one:
        return known
    made = sp.Symbol.__xnew__(type(one), one.name, **dict(one._assumptions_orig))
    for slot in Quantity.__slots__ if type(one) is Quantity else ():
        setattr(made, slot, getattr(one, slot))
    if type(getattr(made, "on_path", None)) is PointFormula:
        made.on_path = PointFormula(_expression(made.on_path.expression))
    elif type(getattr(made, "on_path", None)) is WeightedGap and isinstance(made.on_path.weights, sp.Basic):
        made.on_path = WeightedGap(_expression(made.on_path.weights), int(made.on_path.tail))
    return made
