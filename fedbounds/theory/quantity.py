"""A quantity: one symbol of a theorem, and what each kind of evidence needs to compute it.

The functions travel with the symbol, so that nothing is registered. They are called with floats and with fractions
(in numpy arrays of objects): what they compute with +, -, *, /, whole powers, sums, maxima and comparisons is exact.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import sympy as sp
from sympy.core.basic import ordering_of_classes

from fedbounds.errors import reject

# How values become the quantity: one value of the problem; the largest or smallest entry along any path; a mean over
# paths at each time; or one value a time that the step sizes and tau determine.
Statistic = Literal["constant", "largest", "smallest", "measured", "scheduled"]
# What a claim ranges over: every point and client visited, every step t -> t+1, every horizon T, or constants alone.
Scope = Literal["point", "step", "horizon", "constant"]
# Floats, or fractions in an array of objects.
Numbers = Any
# Powers of (metre, joule) where w is measured in metres and F in joules.
NUMBER, LENGTH_SQ, VALUE, CURVATURE, STEP, SLOPE_SQ = (0, 0), (2, 0), (0, 1), (-2, 1), (2, -1), (-2, 2)
Formula = Callable[[Any], Any]
# Where the shipped quantities are, which are made of this module.
SHIPPED = f"{__package__}.symbols"
# Sympy orders the factors of a product by this list: a quantity stands beside other symbols there, before powers.
ordering_of_classes.insert(ordering_of_classes.index("Symbol") + 1, "Quantity")


class Losses(Protocol):
    """The clients' functions, as a symbol may look at them (`fedbounds.model.problem.Problem`, or one in fractions).

    ``p`` (N,), ``w_star`` (d,), ``w_i_star`` (N, d), ``L``, ``mu``; at points w (..., d) the gradients
    grad F_i(w) (..., N, d), the gaps e_i(w) = F_i(w) - F_i* (..., N), and F(w) - F* (...).
    """

    @property
    def p(self) -> Numbers: ...
    @property
    def w_star(self) -> Numbers: ...
    @property
    def w_i_star(self) -> Numbers: ...
    @property
    def L(self) -> Any: ...
    @property
    def mu(self) -> Any: ...
    def grads(self, w: Numbers) -> Numbers: ...
    def excess(self, w: Numbers) -> Numbers: ...
    def gap(self, w: Numbers) -> Numbers: ...


@dataclass(frozen=True)
class Path:
    """One path of a run: step sizes ``eta`` (T,), virtual iterates ``w`` (T + 1, d), and before each step the local
    models ``X`` (T, N, d) and weights ``alpha`` (T, N). A scheduled quantity sees ``eta`` and ``tau`` only.

    ``shares`` (T, N) are the p_i of the clients present, p unless given. ``variance`` maps points (..., N, d) to
    the variance of each client's stochastic gradient at its own point (..., N). With ``synchronised_skew`` rho_bar
    is taken at the first step of each round only.
    """

    tau: int
    eta: Numbers
    losses: Losses = None  # type: ignore[assignment]
    w: Numbers = None
    X: Numbers = None
    alpha: Numbers = None
    shares: Numbers = None
    variance: Callable[[Numbers], Numbers] | None = None
    synchronised_skew: bool = False

    def __post_init__(self) -> None:
        p = getattr(self.losses, "p", None)
        if self.shares is None and self.alpha is not None and p is not None:
            object.__setattr__(self, "shares", np.broadcast_to(p, self.alpha.shape))
        for name in ("eta", "w", "X", "alpha", "shares"):
            if getattr(self, name) is not None:
                view = getattr(self, name).view()
                view.flags.writeable = False  # what one quantity's function changed another's would see
                object.__setattr__(self, name, view)

    @property
    def t(self) -> Numbers:
        """0, 1, ..., T."""
        return np.arange(len(self.eta) + 1, dtype=object)

    @property
    def begun(self) -> np.ndarray:
        """The first step of the round that each of 0 ... T lies in (T + 1,)."""
        times = np.arange(len(self.eta) + 1)
        return times - times % self.tau


class Quantity(sp.Symbol):
    """A symbol with its notation, meaning and facets; shipped ones stand in `fedbounds.theory.symbols`.

    ``units`` are powers of (metre, joule) with w in metres and F in joules. Facets, empty where that evidence
    cannot express the quantity: ``on_path`` gives its values on a `Path`, or of a constant on `Losses`; ``in_class``
    its value at an SDP's setting; ``in_proof`` and ``in_rocq`` say whether their rules speak of it.
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
        on_path: Callable[[Any], Any] | None = None,
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
        symbol = sp.Symbol.__xnew__(cls, name, **(signs or {"real": True}))
        facets = {"on_path": on_path, "in_class": in_class, "in_proof": in_proof, "in_rocq": in_rocq}
        said = {"statistic": statistic, "latex": latex or sp.latex(sp.Symbol(name)), "meaning": meaning}
        for slot, value in (said | facets | {"units": units, "recorded": recorded}).items():
            setattr(symbol, slot, value)
        return symbol  # type: ignore[no-any-return]

    @classmethod
    def class_key(cls) -> Any:
        """Sympy prints it where it prints other symbols."""
        return sp.Symbol.class_key()

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.statistic, id(self.on_path))

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process: a shipped one is itself there."""
        if _shipped(self.name) is self:
            return _shipped, (self.name,)
        names = ("on_path", "statistic", "latex", "meaning", "units", "recorded", "in_class", "in_proof", "in_rocq")
        return _rebuilt, (self.name, {name: getattr(self, name) for name in names} | dict(self._assumptions_orig))

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


def _rebuilt(name: str, declared: dict[str, Any]) -> Quantity:
    return Quantity(name, **declared)


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


def constant(name: str, on_path: Callable[[Losses], Any], **declared: Any) -> Quantity:
    """A constant of the problem: ``on_path(losses)`` is one number.

    ``declared``: ``latex``, ``meaning``, ``units``; other facets; and sympy's signs, which every value must then
    have.

    >>> constant("mean_L", lambda losses: (losses.L + losses.mu) / 2, units=(-2, 1)).on_path(problem)
    2.5
    """
    return Quantity(name, on_path, "constant", **declared)


def largest(name: str, on_path: Callable[[Path], Any], **declared: Any) -> Quantity:
    """A constant of a run: the largest entry of ``on_path(path)`` on any path.

    >>> largest("R_sq", lambda path: (path.w**2).sum(-1), units=(2, 0)).statistic
    'largest'
    """
    return Quantity(name, on_path, "largest", **declared)


def smallest(name: str, on_path: Callable[[Path], Any], **declared: Any) -> Quantity:
    """A constant of a run: the smallest entry of ``on_path(path)`` on any path.

    >>> smallest("eta_min", lambda path: path.eta, units=(2, -1)).statistic
    'smallest'
    """
    return Quantity(name, on_path, "smallest", **declared)


def measured(name: str, on_path: Callable[[Path], Any], **declared: Any) -> Quantity:
    """What is measured at each step t and horizon T: ``on_path(path)`` (T + 1,) or (T,); an expectation over paths.

    >>> measured("norm_sq", lambda path: (path.w**2).sum(-1), units=(2, 0)).statistic
    'measured'
    """
    return Quantity(name, on_path, "measured", **declared)


def scheduled(name: str, on_path: Callable[[Path], Any], **declared: Any) -> Quantity:
    """What step sizes and tau determine at each step: ``on_path(path)`` (T + 1,) or (T,), of a path with only these.

    >>> path = Path(tau=1, eta=np.array([0.5, 0.25]))
    >>> scheduled("eta_sum", lambda path: np.cumsum(path.eta)).on_path(path).tolist()
    [0.5, 0.75]
    """
    return Quantity(name, on_path, "scheduled", **declared)


def without_facet(quantities: Iterable[Quantity], facet: str) -> tuple[str, ...]:
    """The names of those computed quantities that one kind of evidence cannot express, for want of a facet.

    >>> from fedbounds.theory.symbols import gone_sq, zeta_sq
    >>> without_facet((gone_sq, zeta_sq), "in_class")
    ('zeta_sq',)
    """
    return tuple(q.name for q in quantities if q.computed and not getattr(q, facet))


def computed_quantities(*expressions: Any) -> tuple[Quantity, ...]:
    """The quantities in expressions that evidence computes by ``on_path``, sorted by name.

    >>> from fedbounds.theory.symbols import L, zeta_sq, zeta_star_sq
    >>> computed_quantities(zeta_sq + 2 * zeta_star_sq + L)
    (zeta_sq, zeta_star_sq)
    """
    symbols = {s for expression in expressions for s in sp.sympify(expression).free_symbols}
    computed = {s for s in symbols if isinstance(s, Quantity) and s.computed}
    named = {symbol.name: symbol for symbol in computed}
    if len(named) < len(computed):
        twice = sorted(symbol.name for symbol in computed)
        raise reject("quantities of one's own need names of their own", twice, "rename one")
    return tuple(named[name] for name in sorted(named))
