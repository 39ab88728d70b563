"""An assumption: what a claim is made under, and all that each kind of evidence may make of it.

Mostly it is a relation between run symbols, such as ``eta * L <= 1`` at every step. From it follow the check on a
run, the check in fractions, a penalty for a search, the check at an SDP's setting, and the facts a proof may use.
Where it is no relation, it gives these facets itself, as pure functions against the protocols below.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy.core.relational import Equality, GreaterThan, LessThan, Relational, StrictGreaterThan, StrictLessThan

from fedbounds.theory.constant import Constant
from fedbounds.theory.sample_path import ConvexLosses

Array = NDArray[np.float64]
Sign = Literal["<", "<=", "="]
# Two numbers that are equal by design differ by a few units in the last place once computed in floating point.
EQUAL = 1e-12
# What counts the times that a claim speaks of.
TIMES = frozenset({"t", "T", "R", "local_step"})
# Where the shipped assumptions are, which are made of this module.
SHIPPED = f"{__package__}.assumptions"


class Answer(NamedTuple):
    """Whether an assumption holds, and on which grounds."""

    holds: bool
    observed: str


class RunLike(Protocol):
    """A run in one reading, as an assumption may look at it (`fedbounds.evidence.measured_run.MeasuredRun`).

    ``constant`` is any constant symbol with its provenance; ``reached`` the largest value at the points visited of
    ``sigma_sq``, ``G_sq`` or ``radius`` = ||w_t^i - w*||; ``weighting`` the text of its rule.
    """

    problem: ConvexLosses
    start: Array
    every_round_recorded: bool
    weighting: str

    def constant(self, name: str) -> Constant: ...
    def reached(self, name: str) -> float: ...


class InstanceLike(Protocol):
    """A small federated problem in fractions (`evidence.exact.instance`).

    ``functions`` are the numbers of each client's loss: two clients with equal ones have one loss. ``weighting`` is
    its name.
    """

    weighting: str
    functions: tuple[tuple[tuple[Fraction, ...], ...], ...]


class Part(NamedTuple):
    """One relation ``left sign right`` of an assumption, written with < or <= or =."""

    left: sp.Expr
    sign: Sign
    right: sp.Expr


@dataclass(frozen=True)
class Assumption:
    """A condition of a claim, and how each kind of evidence checks it.

    ``relation`` is a sympy relation, or several in a tuple, between run symbols; symbols of a step (``eta``,
    ``t``) range over every step. A facet given beside it replaces what would follow from the relation: ``on_run``
    checks a run, ``exactly`` an instance and its constants in fractions, ``in_class`` says whether the class of
    the SDP evidence builds it in. ``gives`` is a fact for a proof, made of points and of what
    `fedbounds.evidence.symbolic.definitions.Formal` lists; beside a relation of one's own it is not read. Evidence
    with neither a facet nor the relation's symbols answers UNDECIDED, "cannot express <key>". ``observed`` is the
    message where it fails: a format string of the symbols' values there and of ``left`` and ``right``.
    ``tolerance`` is the relative rounding allowed for in <= and = where floats are compared.
    Raises TypeError where the relation is none, ValueError where sympy decides it from the symbols' signs alone.
    """

    key: str
    statement: str
    relation: Any = None
    on_run: Callable[[Any], tuple[bool, str]] | None = None
    exactly: Callable[[Any, Mapping[str, Fraction]], tuple[bool, str]] | None = None
    in_class: Callable[[Any], tuple[bool, str]] | None = None
    gives: Callable[..., Part] | None = None
    observed: str = ""
    tolerance: float = EQUAL

    def __post_init__(self) -> None:
        if isinstance(self.relation, tuple):  # one of another class may hold others each time
            object.__setattr__(self, "relation", tuple(self.relation))
        for item in self._relations():
            if item in (sp.true, sp.false, True, False):
                raise ValueError(
                    f"the relation of {self.key!r} is {item} by its symbols' declared signs: write it unevaluated, "
                    "for example sp.Gt(m, 0, evaluate=False)"
                )
            if not isinstance(item, Relational):
                raise TypeError(
                    f"the relation of {self.key!r} must be a sympy relation, but received {item!r}: "
                    "a check on a run is given as on_run=..."
                )
            _part(item)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same; functions are compared by identity, as some may equal anything."""
        return self is other or (type(other) is type(self) and self._identity == other._identity)

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        functions = (self.on_run, self.exactly, self.in_class, self.gives)
        texts = (str.__str__(self.key), str.__str__(self.statement), str.__str__(self.observed))
        return (*texts, self.relation, self.tolerance, *map(id, functions))

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: a shipped one is itself there, and no relation is decided anew, as sympy would."""
        shipped = [name for name, entry in vars(importlib.import_module(SHIPPED)).items() if entry is self]
        if shipped:
            return _shipped, (shipped[0],)
        written = tuple((relation.func, relation.args) for relation in self._relations())
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return _written, (type(self), values | {"relation": written})

    def _relations(self) -> Sequence[Any]:
        if self.relation is None:
            return ()
        if isinstance(self.relation, sp.And):
            return tuple(self.relation.args)
        return self.relation if isinstance(self.relation, tuple) else (self.relation,)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The relations it consists of; none where it is no relation. Raises TypeError for !=."""
        return tuple(_part(relation) for relation in self._relations())

    def facts(self) -> tuple[Part, ...]:
        """The relations as facts for a proof: 0 <= right - left, 0 < right - left or 0 = right - left."""
        return tuple(Part(sp.Integer(0), part.sign, part.right - part.left) for part in self.parts)

    def with_values(self, values: Mapping[sp.Symbol, sp.Expr]) -> Assumption:
        """The same with values put into its relations; itself where they have none of the symbols."""
        if self._names.isdisjoint(map(str, values)):
            return self
        put = {symbol: sp.sympify(value) for symbol, value in values.items()}
        sides = ((item.func, [side.xreplace(put) for side in item.args]) for item in self._relations())
        return replace(self, relation=tuple(relation(*both, evaluate=False) for relation, both in sides))

    @property
    def bounds_steps(self) -> bool:
        """Whether it bounds step sizes otherwise than by L alone, so that no number bounds eta L exactly."""
        bounds = any(part.sign != "=" for part in self.parts)
        return bounds and "eta" in self._names and not self._names <= {"eta", "L"}

    @property
    def limits_times(self) -> bool:
        """Whether it limits the times that a claim speaks of, as T >= 1 does, and nothing that is run."""
        return bool(self._names & TIMES) and "eta" not in self._names and not (self.on_run or self.exactly)

    def symbols(self) -> frozenset[str]:
        """Names of the symbols that its relations speak of."""
        return self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(s.name for part in self.parts for s in (part.left - part.right).free_symbols)


def _shipped(name: str) -> Assumption:
    result: Assumption = getattr(importlib.import_module(SHIPPED), name)
    return result


def _written(kind: type[Assumption], values: dict[str, Any]) -> Assumption:
    relations = tuple(relation(*sides, evaluate=False) for relation, sides in values["relation"])
    result = kind.__new__(kind)
    Assumption.__init__(result, **values | {"relation": relations[0] if len(relations) == 1 else relations or None})
    return result


def _part(relation: Relational) -> Part:
    left, right = relation.lhs, relation.rhs
    kind = type(relation)  # one of another class may equal what it likes
    if kind is Equality:
        return Part(left, "=", right)
    if kind in (GreaterThan, StrictGreaterThan):
        return Part(right, "<=" if kind is GreaterThan else "<", left)
    if kind in (LessThan, StrictLessThan):
        return Part(left, "<=" if kind is LessThan else "<", right)
    raise TypeError(f"an assumption is made of <, <=, =, >= and >, but received {relation}")
