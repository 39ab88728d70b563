"""Symbols of one's own: a constant of the problem, or what is measured along a run, as a function in Python.

The function travels with the symbol, so that nothing is registered. It is called with floats and with fractions (in
numpy arrays of objects): what it computes with +, -, *, /, whole powers, sums, maxima and comparisons is exact there.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory.symbols import NOTATION

# One value of the problem; the largest value along any path of the run; one value a time, averaged over paths; or
# one a time that the step sizes and tau determine.
Kind = Literal["constant", "largest", "measured", "known"]
# Floats, or fractions in an array of objects.
Numbers = Any


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
    models ``X`` (T, N, d) and weights ``alpha`` (T, N). A known symbol sees ``eta`` and ``tau`` only.
    """

    tau: int
    eta: Numbers
    losses: Losses = None  # type: ignore[assignment]
    w: Numbers = None
    X: Numbers = None
    alpha: Numbers = None

    def __post_init__(self) -> None:
        for name in ("eta", "w", "X", "alpha"):
            if getattr(self, name) is not None:
                seen = getattr(self, name).view()
                seen.flags.writeable = False  # what one symbol's function changed another's would see
                object.__setattr__(self, name, seen)

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
    """A symbol with the function ``of`` that gives its value; `constant`, `largest`, `measured`, `known` make one."""

    __slots__ = ("kind", "latex", "meaning", "of", "units")
    kind: Kind
    of: Callable[[Any], Any]
    latex: str
    meaning: str
    units: tuple[int, int] | None

    def __new__(
        cls,
        name: str,
        of: Callable[[Any], Any],
        kind: Kind,
        latex: str = "",
        meaning: str = "",
        units: tuple[int, int] | None = None,
        **signs: bool,
    ) -> Quantity:
        # Formulas are evaluated in a namespace that has the names of numpy and of Python.
        if name in NOTATION or not name.isidentifier() or hasattr(np, name) or hasattr(builtins, name):
            raise reject("a symbol of one's own needs a name that is free, also in numpy", name, "choose another")
        symbol = sp.Symbol.__xnew__(cls, name, **(signs or {"real": True}))
        given = {"of": of, "kind": kind, "latex": latex or sp.latex(sp.Symbol(name)), "meaning": meaning}
        for slot, value in (given | {"units": units}).items():
            setattr(symbol, slot, value)
        return symbol  # type: ignore[no-any-return]

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.kind, id(self.of))

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, bool]]:
        signs = dict(self._assumptions_orig)
        return (self.name, self.of, self.kind, self.latex, self.meaning, self.units), signs

    def admits(self, values: Numbers) -> bool:
        """Whether each of the values has every sign (and integer, even, ...) that sympy was told."""
        # Sympy is asked about a number of the same sign, which is the value itself where that is whole.
        whole = values % 1 == 0
        like = {sp.Integer(int(x)) for x in set(values[whole])}
        like |= {sp.Rational(1 if positive else -1, 2) for positive in set(values[~whole] > 0)}
        told = [(f"is_{name}", told) for name, told in self._assumptions_orig.items()]
        return all(getattr(x, name) in (truth, None) for x in like for name, truth in told)


def constant(name: str, of: Callable[[Losses], Any], **declared: Any) -> Quantity:
    """A constant of the problem: ``of(losses)`` is one number.

    ``latex``, ``meaning``; ``units`` = powers of (metre, joule) with w in metres and F in joules; and sympy's signs,
    as in nonnegative=True, which every value must then have.

    >>> constant("mean_L", lambda losses: (losses.L + losses.mu) / 2, units=(-2, 1)).of(problem)
    2.5
    """
    return Quantity(name, of, "constant", **declared)


def largest(name: str, of: Callable[[Path], Any], **declared: Any) -> Quantity:
    """A constant of a run: the largest entry of ``of(path)`` on any path.

    >>> largest("R_sq", lambda path: (path.w**2).sum(-1), units=(2, 0)).kind
    'largest'
    """
    return Quantity(name, of, "largest", **declared)


def measured(name: str, of: Callable[[Path], Any], **declared: Any) -> Quantity:
    """What is measured at each step t and horizon T: ``of(path)`` (T + 1,) or (T,); an expectation over paths.

    >>> measured("norm_sq", lambda path: (path.w**2).sum(-1), units=(2, 0)).kind
    'measured'
    """
    return Quantity(name, of, "measured", **declared)


def known(name: str, of: Callable[[Path], Any], **declared: Any) -> Quantity:
    """What step sizes and tau determine at each step: ``of(path)`` (T + 1,) or (T,), of a path with only these.

    >>> known("eta_sum", lambda path: np.cumsum(path.eta)).of(Path(tau=1, eta=np.array([0.5, 0.25]))).tolist()
    [0.5, 0.75]
    """
    return Quantity(name, of, "known", **declared)


def computed_quantities(*expressions: Any) -> tuple[Quantity, ...]:
    """The symbols of one's own in expressions, by name. Raises InputError where two have one name.

    >>> computed_quantities(zeta_sq + 2 * zeta_star_sq)
    (zeta_sq, zeta_star_sq)
    """
    found = {s for one in expressions for s in sp.sympify(one).free_symbols if isinstance(s, Quantity)}
    named = {symbol.name: symbol for symbol in found}
    if len(named) < len(found):
        twice = sorted(symbol.name for symbol in found)
        raise reject("symbols of one's own need names of their own", twice, "rename one")
    return tuple(named[name] for name in sorted(named))


def _norm_sq(vectors: Numbers) -> Numbers:
    return (vectors**2).sum(-1)


def _distance_sq(path: Path, times: Any) -> Numbers:
    return _norm_sq(path.w[times] - path.losses.w_star)


# Functions with names, so that a shipped claim that uses them is the same in every process.
def _distance_begun(path: Path) -> Numbers:
    return _distance_sq(path, path.begun)


def _distance_ended(path: Path) -> Numbers:
    return _distance_sq(path, path.begun[:-1] + path.tau)


def _gap_begun(path: Path) -> Numbers:
    return path.losses.gap(path.w[path.begun])


def _slopes_at_optimum(losses: Losses) -> Numbers:
    return losses.p @ _norm_sq(losses.grads(losses.w_star))


zeta_star_sq = constant(
    "zeta_star_sq",
    _slopes_at_optimum,
    latex=r"\zeta_\star^2",
    meaning="sum_i p_i ||grad F_i(w*)||^2",
    units=(-2, 2),
    nonnegative=True,
)
eta_round = known(
    "eta_round",
    lambda path: path.eta[path.begun[:-1]],
    latex=r"\eta_{t_0}",
    meaning="step size of the first step of the round",
    units=(2, -1),
    positive=True,
)


Delta_round = measured(
    "Delta_round",
    _distance_begun,
    latex=r"\mathbb{E}\Vert w_{r\tau}-w^\star\Vert^2",
    meaning="squared distance to w* at the start of the round",
    units=(2, 0),
    nonnegative=True,
)
Delta_round_next = measured(
    "Delta_round_next",
    _distance_ended,
    latex=r"\mathbb{E}\Vert w_{(r+1)\tau}-w^\star\Vert^2",
    meaning="squared distance to w* at the end of the round",
    units=(2, 0),
    nonnegative=True,
)
gap_round = measured(
    "gap_round",
    _gap_begun,
    latex=r"\left(\mathbb{E}[F(w_{r\tau})]-F^\star\right)",
    meaning="suboptimality at the start of the round",
    units=(0, 1),
    nonnegative=True,
)


def _spread_sq(path: Path) -> Numbers:
    slopes, p = path.losses.grads(path.w), path.losses.p
    mean = (slopes * p[:, None]).sum(-2)
    return _norm_sq(slopes - mean[..., None, :]) @ p


zeta_sq = largest(
    "zeta_sq",
    _spread_sq,
    latex=r"\zeta^2",
    meaning="largest sum_i p_i ||grad F_i(w_t) - grad F(w_t)||^2 at the iterates visited",
    units=(-2, 2),
    nonnegative=True,
)


def weighted_gap(name: str, weights: Callable[[Path], Numbers], tail: int = 0, **declared: Any) -> Quantity:
    """E F(sum_t c_t w_t / sum_t c_t) - F* over the steps t < T.

    ``weights(path)`` (T,) are the c_t > 0. With ``tail`` = k the first T // k steps are left out. At T = 0 it is w_0.

    >>> weighted_gap("late_gap", lambda path: path.eta, tail=2).kind
    'measured'
    """

    def gaps(path: Path) -> Numbers:
        c = weights(path)
        ends = np.arange(1, len(path.w))
        starts = ends // tail if tail else 0 * ends
        above, below = (np.append(0 * s[:1], np.cumsum(s, axis=0), axis=0) for s in (c[:, None] * path.w[:-1], c))
        means = (above[ends] - above[starts]) / (below[ends] - below[starts])[:, None]
        return path.losses.gap(np.append(path.w[:1], means, axis=0))

    return measured(name, gaps, units=(0, 1), nonnegative=True, **declared)


def _ones(path: Path) -> Numbers:
    return np.ones(len(path.eta), dtype=path.w.dtype)


average_gap = weighted_gap(
    "average_gap",
    _ones,
    latex=r"\mathbb{E}[F(\bar w_T)]-F^\star",
    meaning="suboptimality of the mean of w_0 ... w_{T-1}",
)
tail_gap = weighted_gap(
    "tail_gap",
    _ones,
    tail=2,
    latex=r"\mathbb{E}[F(\bar w_{T/2:T})]-F^\star",
    meaning="suboptimality of the mean of w_t over T/2 <= t < T, rounded down",
)


def dissimilarity(B_sq: Any, name: str = "G_B_sq") -> Quantity:
    """The smallest G^2 >= 0 of (G, B) dissimilarity for a given B^2, at the iterates w_t visited.

    It is where sum_i p_i ||grad F_i||^2 <= G^2 + B^2 ||grad F||^2.

    >>> dissimilarity(4).meaning
    'smallest G^2 of (G, B) dissimilarity at the iterates, B^2 = 4'
    """

    def needed(path: Path) -> Numbers:
        slopes, p = path.losses.grads(path.w), path.losses.p
        mean = (slopes * p[:, None]).sum(-2)
        return np.maximum(_norm_sq(slopes) @ p - B_sq * _norm_sq(mean), 0)

    meaning = f"smallest G^2 of (G, B) dissimilarity at the iterates, B^2 = {B_sq}"
    return largest(name, needed, latex="G_B^2", meaning=meaning, units=(-2, 2), nonnegative=True)
