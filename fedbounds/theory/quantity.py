"""A quantity: one symbol of a theorem, and what each kind of evidence needs to compute it.

It is written as an expression of points (`fedbounds.theory.points`), which every kind of evidence reads, or as a
function. The function travels with the symbol, so that nothing is registered. It is called with floats and with
fractions (in numpy arrays of objects): sums, products, quotients, whole powers, maxima and comparisons are exact.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import sympy as sp
from sympy.core.basic import ordering_of_classes

from fedbounds.errors import reject
from fedbounds.theory import points
from fedbounds.theory.point_values import PointFormula, StepSum, WeightedGap
from fedbounds.theory.sample_path import Losses as Losses
from fedbounds.theory.sample_path import Numbers
from fedbounds.theory.sample_path import Path as Path

# How values become the quantity: one value of the problem; the largest or smallest entry along any path; a mean over
# paths at each time; or one value a time that the step sizes and tau determine.
Statistic = Literal["constant", "largest", "smallest", "measured", "scheduled"]
# What a claim ranges over: every point and client visited, every step t -> t+1, every horizon T, or constants alone.
Scope = Literal["point", "step", "horizon", "constant"]
# Powers of (metre, joule) where w is measured in metres and F in joules.
NUMBER, LENGTH_SQ, VALUE, CURVATURE, STEP, SLOPE_SQ = (0, 0), (2, 0), (0, 1), (-2, 1), (2, -1), (-2, 2)
Formula = Callable[[Any], Any]
# Where the shipped quantities are, which are made of this module.
SHIPPED = f"{__package__}.symbols"
# Sympy orders the factors of a product by this list: a quantity stands beside other symbols there, before powers.
ordering_of_classes.insert(ordering_of_classes.index("Symbol") + 1, "Quantity")


class Quantity(sp.Symbol):
    """A symbol with notation, meaning and facets; shipped ones stand in `fedbounds.theory.symbols`.

    ``units`` are powers of (metre, joule) with w in metres and F in joules. Facets, empty where that evidence
    cannot express the quantity: ``on_path`` gives its values on a `Path`, or of a constant on `Losses`; ``in_class``
    its value at an SDP's setting; ``in_proof`` and ``in_rocq`` say whether their rules speak of it. Where ``on_path``
    is given as an expression of points, proofs read the same expression, and LaTeX, meaning and units follow.
    ``recorded`` maps a scope to the field in which engines record it, {} for a constant that every run gives; None
    where evidence computes it by ``on_path``. Raises InputError for a name that numpy, Python or a claim uses.
    """

    FACETS = ("on_path", "in_class", "in_proof", "in_rocq")
    __slots__ = ("latex", "meaning", "recorded", "statistic", "units", *FACETS)
    statistic: Statistic
    latex: str
    meaning: str
    units: tuple[int, int] | None
    recorded: Mapping[Scope, str] | None
    on_path: Callable[[Any], Any] | None
    in_class: Callable[[Any], Any] | None
    in_proof: bool
    in_rocq: bool

    def __new__(
        cls,
        name: str,
        on_path: Callable[[Any], Any] | sp.Expr | None = None,
        statistic: Statistic = "constant",
        latex: str = "",
        meaning: str = "",
        units: tuple[int, int] | None = None,
        recorded: Mapping[Scope, str] | None = None,
        in_class: Callable[[Any], Any] | None = None,
        in_proof: bool = False,
        in_rocq: bool = False,
        **signs: bool,
    ) -> Quantity:
        # Formulas are evaluated in a namespace that has the names of numpy and of Python.
        taken = getattr(_shipped(name), "recorded", None) is not None
        if taken or not name.isidentifier() or hasattr(np, name) or hasattr(builtins, name):
            raise reject("a quantity needs a name that is free, also in numpy", name, "choose another")
        if isinstance(on_path, sp.Basic | PointFormula):
            on_path = on_path if isinstance(on_path, PointFormula) else PointFormula(on_path)
            wrong = fault(on_path.expression, statistic == "constant")
            if wrong:
                raise reject(f"{name} must be one number", on_path.expression, wrong)
            if units not in (None, on_path.units):
                raise reject(f"{name} has the units {on_path.units} of its expression", units, "leave units out")
            signs = signs or ({"nonnegative": True} if points.never_negative(on_path.expression) else {})
            symbols = points.latex(on_path.expression)
            latex = latex or (rf"\mathbb{{E}}\left[{symbols}\right]" if statistic == "measured" else symbols)
            meaning, units = meaning or points.words(on_path.expression), on_path.units
            in_proof = statistic in ("constant", "measured")
        symbol = sp.Symbol.__xnew__(cls, name, **(signs or {"real": True}))
        facets = {"on_path": on_path, "in_class": in_class, "in_proof": in_proof, "in_rocq": in_rocq}
        text = {"statistic": statistic, "latex": latex or sp.latex(sp.Symbol(name)), "meaning": meaning}
        for slot, value in (text | facets | {"units": units, "recorded": recorded}).items():
            setattr(symbol, slot, value)
        return symbol  # type: ignore[no-any-return]

    @classmethod
    def class_key(cls) -> Any:
        """Sympy prints it where it prints other symbols."""
        return sp.Symbol.class_key()

    def _hashable_content(self) -> tuple[Any, ...]:
        written = type(self.on_path) is WeightedGap and isinstance(self.on_path.weights, sp.Expr)
        written = written or type(self.on_path) is StepSum
        message = self.on_path if written else id(self.on_path) if self.expression is None else self.expression
        return (*super()._hashable_content(), self.statistic, message)

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: a shipped one is itself there."""
        if _shipped(self.name) is self:
            return _shipped, (self.name,)
        names = ("on_path", "statistic", "latex", "meaning", "units", "recorded", "in_class", "in_proof", "in_rocq")
        facets = {name: getattr(self, name) for name in names}
        return partial(Quantity, self.name, **facets, **self._assumptions_orig), ()

    @property
    def expression(self) -> sp.Expr | None:
        """The expression of points that it stands for, if it is written as one."""
        return self.on_path.expression if type(self.on_path) is PointFormula else None

    @property
    def computed(self) -> bool:
        """Whether evidence computes it by ``on_path``, since no engine records it."""
        return self.recorded is None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes over which it varies; none for a constant."""
        if self.recorded is not None:
            return tuple(self.recorded)
        return ("step", "horizon") if self.statistic in ("measured", "scheduled") else ()

    def _pretty(self, printer: Any, **_: Any) -> Any:
        """Printed as a symbol: sympy's printers take the name of this class for their own physical quantities."""
        return printer._print_Symbol(self)

    def _latex(self, printer: Any, **_: Any) -> str:
        return str(printer._print_Symbol(self))

    def admits(self, values: Numbers) -> bool:
        """Whether each of the values has every sign (and integer, even, ...) that sympy was told."""
        # Sympy is asked about a number of the same sign, which is the value itself where that is whole.
        whole = values % 1 == 0
        like = {sp.Integer(int(x)) for x in set(values[whole])}
        like |= {sp.Rational(1 if positive else -1, 2) for positive in set(values[~whole] > 0)}
        declared = [(f"is_{name}", truth) for name, truth in self._assumptions_orig.items()]
        return all(getattr(x, name) in (truth, None) for x in like for name, truth in declared)


def _shipped(name: str) -> Any:
    return vars(importlib.import_module(SHIPPED)).get(name)


def fault(expression: sp.Expr, constant: bool = False) -> str:
    """`points.fault`, and that its numbers are shipped ones: evidence knows them, and nobody's word is taken.

    >>> fault(points.norm_sq(points.w) * constant("five", lambda losses: 5))
    'five is none of the shipped numbers: multiply by it outside of the quantity'
    """
    numbers = [symbol for symbol in expression.free_symbols if hasattr(symbol, "statistic")]
    other = next((number for number in numbers if (type(number), number) != (Quantity, _shipped(number.name))), None)
    inside = f"{other} is none of the shipped numbers: multiply by it outside of the quantity"
    return points.fault(expression, constant) or ("" if other is None else inside)


def defined(
    statistic: Statistic,
    latex: str,
    units: tuple[int, int],
    recorded: Mapping[Scope, str] | None = None,
    **more: Any,
) -> Callable[[Formula], Quantity]:
    """A shipped quantity made of the function that computes it, whose docstring is the meaning.

    >>> @defined("smallest", "e", STEP)
    ... def eta_least(path):
    ...     "smallest step size"
    ...     return path.eta
    >>> eta_least.meaning
    'smallest step size'
    """

    def make(on_path: Formula) -> Quantity:
        signs: dict[str, Any] = {} if "positive" in more else {"nonnegative": True}
        meaning = on_path.__doc__ or ""
        return Quantity(on_path.__name__, on_path, statistic, latex, meaning, units, recorded, **more, **signs)

    return make


def constant(name: str, on_path: Callable[[Losses], Any] | sp.Expr, **declared: Any) -> Quantity:
    """A constant of the problem: an expression of points that do not move, or ``on_path(losses)``, one number.

    ``declared``: ``latex``, ``meaning``, ``units``; other facets; and sympy's signs, which every value must then
    have.

    >>> constant("mean_L", lambda losses: (losses.L + losses.mu) / 2, units=(-2, 1)).on_path(problem)
    2.5
    """
    return Quantity(name, on_path, "constant", **declared)


def largest(name: str, on_path: Callable[[Path], Any] | sp.Expr, **declared: Any) -> Quantity:
    """A constant of a run: the largest entry of ``on_path(path)`` on any path.

    >>> largest("R_sq", lambda path: (path.w**2).sum(-1), units=(2, 0)).statistic
    'largest'
    """
    return Quantity(name, on_path, "largest", **declared)


def smallest(name: str, on_path: Callable[[Path], Any] | sp.Expr, **declared: Any) -> Quantity:
    """A constant of a run: the smallest entry of ``on_path(path)`` on any path.

    >>> smallest("eta_min", lambda path: path.eta, units=(2, -1)).statistic
    'smallest'
    """
    return Quantity(name, on_path, "smallest", **declared)


def measured(name: str, on_path: Callable[[Path], Any] | sp.Expr, **declared: Any) -> Quantity:
    """What is measured at each step t and horizon T, in expectation: an expression of points, or a function of paths.

    >>> from fedbounds.theory.points import grad, mean, norm_sq, w
    >>> measured("slope_sq", mean(norm_sq(grad(w)))).meaning
    'sum_i p_i (||grad(w)||^2)'

    ``on_path(path)`` is (T + 1,) or (T,).
    """
    return Quantity(name, on_path, "measured", **declared)


def scheduled(name: str, on_path: Callable[[Path], Any], **declared: Any) -> Quantity:
    """What step sizes and tau determine at each step: ``on_path(path)`` (T + 1,) or (T,), of a path with only these.

    >>> path = Path(tau=1, eta=np.array([0.5, 0.25]))
    >>> scheduled("eta_sum", lambda path: np.cumsum(path.eta)).on_path(path).tolist()
    [0.5, 0.75]
    """
    return Quantity(name, on_path, "scheduled", **declared)


def without_facet(quantities: Sequence[Quantity], facet: str) -> tuple[str, ...]:
    """The names of those computed quantities that one kind of evidence cannot express, for want of a facet.

    >>> from fedbounds.theory.symbols import gone_sq, zeta_sq
    >>> without_facet((gone_sq, zeta_sq), "in_class")
    ('zeta_sq',)
    """
    read = {q for q in quantities if getattr(q, facet) or (facet == "in_class" and q.in_proof and q.expression)}
    return tuple(q.name for q in quantities if q.computed and q not in read)


def quantities_on_paths(*expressions: Any) -> tuple[Quantity, ...]:
    """The quantities in expressions that evidence computes by ``on_path``, sorted by name.

    >>> from fedbounds.theory.symbols import L, zeta_sq, zeta_star_sq
    >>> quantities_on_paths(zeta_sq + 2 * zeta_star_sq + L)
    (zeta_sq, zeta_star_sq)
    """
    symbols = {s for expression in expressions for s in sp.sympify(expression).free_symbols}
    computed = {s for s in symbols if isinstance(s, Quantity) and s.computed}
    named = {symbol.name: symbol for symbol in computed}
    if len(named) < len(computed):
        twice = sorted(symbol.name for symbol in computed)
        raise reject("quantities of one's own need names of their own", twice, "rename one")
    return tuple(named[name] for name in sorted(named))
