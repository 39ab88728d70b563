"""How a server turns client losses into aggregation coefficients alpha_t^i (equation 3: they sum to 1)."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import InputError, reject
from fedbounds.model.problem import SIMPLEX_TOLERANCE, Array, Problem

# What a weighting sees as the excess of an absent client: below every true excess (which is >= 0), yet
# finite, so that no maximum picks it and no arithmetic on it yields nan.
ABSENT_EXCESS = -1.0


class RoundStream(Protocol):
    """Randomness a weighting may use: keyed by (seed, replicate, round), so reproducible bit for bit."""

    def uniform(self, count: int) -> Array:
        """Independent U[0, 1) numbers, shape (replicates, count)."""


class Weighting(abc.ABC):
    """alpha = weighting(p, excess, round, stream), the weights of one round; a subclass is a frozen dataclass.

    ``depends_on_w`` is False where alpha is the same whatever the losses; ``random`` says that it draws from the
    stream; ``needs_problem`` that it is found from L, mu and w* of a strongly convex problem; ``returns_p`` that
    alpha is p whoever takes part; the engine then does not call it. A subclass with its own weights resets it.
    """

    depends_on_w: ClassVar[bool] = True
    random: ClassVar[bool] = False
    needs_problem: ClassVar[bool] = False
    returns_p: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "__call__" in vars(cls) and "returns_p" not in vars(cls):
            cls.returns_p = False

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What a table shows, the registered key first; a class attribute will do."""

    def to_text(self) -> str:
        """The text from which the registry builds this very rule: the name, unless that rounds numbers."""
        return self.name

    def bind(self, problem: Problem) -> Weighting:
        """The rule on this problem; the engine calls it once before a run. Errors: InputError where it has none."""
        return self

    @abc.abstractmethod
    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        """Weights like ``excess`` (replicates, N), every row on the simplex.

        Exact evidence calls the same rule with fractions, in arrays of objects: sums, quotients, maxima and
        comparisons stay exact there. A rule that needs more, such as exp, raises `not_in_fractions`.
        ``p`` is (..., N) or (N,), 0 for a client that does not take part; ``excess`` is e_i(w_t) = F_i(w_t) - F_i*.
        """


# What a weighting that is more than a function of the losses has to do.
SUBCLASS = "subclass fedbounds.model.weighting.Weighting"
Rule = Callable[[Array, Array, int, RoundStream], Array]


@dataclass(frozen=True)
class PlainRule(Weighting):
    """A callable of one's own: its weights may depend on the losses, but draw no random numbers."""

    rule: Rule

    @property
    def name(self) -> str:
        """The callable's ``name`` or ``__name__``, else its type's."""
        rule = self.rule
        return str(getattr(rule, "name", None) or getattr(rule, "__name__", type(rule).__name__))

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        return self.rule(p, excess, round, _NoStream(self.name))


@dataclass(frozen=True)
class _NoStream:
    """The stream of a plain rule: drawing from it would make a random run look like a deterministic one."""

    name: str

    def uniform(self, count: int) -> Array:
        """Refused."""
        raise reject(
            "a weighting that draws random numbers must be a Weighting with random = True",
            f"the plain callable {self.name}",
            SUBCLASS,
        )


def as_weighting(rule: Weighting | Rule) -> Weighting:
    """A weighting as it is, a plain callable as a `PlainRule`; anything that says more must be a `Weighting`.

    >>> as_weighting(lambda losses, p, t, rng: p).bind(problem).name
    '<lambda>'
    """
    if isinstance(rule, Weighting):
        return rule
    facts = "bind", "constant", "random", "needs_problem", "depends_on_w", "returns_p"
    facts_stated = [name for name in facts if hasattr(rule, name)]
    if facts_stated or isinstance(rule, type) or not callable(rule):
        received = f"{rule!r} with {facts_stated[0]}" if facts_stated else repr(rule)
        raise reject("a weighting must be a Weighting or a plain callable", received, SUBCLASS)
    return PlainRule(rule)


@dataclass(frozen=True)
class WeightingPlugin:
    """One entry of the registry: ``key`` on the command line, and a builder from the text after its colon.

    ``example`` is a text that builds it for four clients (the key alone unless given): the contract
    tests run it.
    """

    key: str
    build: Callable[[str | None], Weighting]
    usage: str
    summary: str
    example: str = ""


def number(value: float) -> str:
    """The shortest text that reads back as ``value``, with no ".0".

    >>> number(2.0), number(0.1)
    ('2', '0.1')
    """
    return repr(float(value)).removesuffix(".0")


def check_simplex(alpha: NDArray[Any], shape: tuple[int, ...], name: str) -> Array:
    """``alpha`` if every row is on the simplex, else an input error that names the weighting.

    >>> check_simplex([[0.25, 0.75]], (1, 2), "mine")
    array([[0.25, 0.75]])
    """
    if np.asarray(alpha).dtype == object:
        fractions: Array = _check_fractions(np.asarray(alpha), shape, name)
        return fractions
    alpha = np.array(alpha, dtype=float)  # a rule may fill one array again and again
    if alpha.shape != shape:
        raise reject(
            f"weighting {name} must return one row of weights a replicate, shape {shape}",
            f"shape {alpha.shape}",
            "keep the leading axes of the losses it is given",
        )
    bad = ~np.isfinite(alpha).all(-1) | (alpha < 0).any(-1) | (np.abs(alpha.sum(-1) - 1) > SIMPLEX_TOLERANCE)
    if bad.any():
        row = alpha[np.argmax(bad)]
        raise reject(
            f"weighting {name} must return non-negative weights that sum to 1",
            f"{np.array2string(row, threshold=8)} with sum {row.sum():.12g}",
            "normalise its rows",
        )
    return alpha


def _check_fractions(alpha: NDArray[Any], shape: tuple[int, ...], name: str) -> Any:
    """The same of weights in fractions, which must sum to 1 exactly."""
    if not all(isinstance(a, Rational) for a in alpha.flat):
        raise not_in_fractions(name, "floats")
    exact = np.array([Fraction(a.numerator, a.denominator) for a in alpha.flat], dtype=object).reshape(alpha.shape)
    if exact.shape != shape or np.any(exact < 0) or np.any(exact.sum(-1) != 1):
        row = [str(a) for a in exact.reshape(-1, alpha.shape[-1])[0]]
        raise reject(f"weighting {name} must return rows of shape {shape} on the simplex", row, "normalise its rows")
    return exact


def require_fractions(rule: Weighting, N: int) -> None:
    """Refuse a weighting that a counterexample cannot have: it gives N clients no weights in fractions, or draws.

    >>> from fedbounds.weightings.fedavg import FedAvg
    >>> require_fractions(FedAvg(), 2)
    """
    needs = [what for what, wanted in (("random numbers", rule.random), ("a problem", rule.needs_problem)) if wanted]
    if needs:
        raise not_in_fractions(rule.name, needs[0])
    p, excess = np.array([Fraction(1, N)] * N), np.array([[Fraction(i, N) for i in range(N)]])
    try:
        alpha = rule(p, excess, 0, _NoStream(rule.name))
    except InputError:
        raise
    except Exception as wrong:  # whatever a rule of the user's own may raise
        raise not_in_fractions(rule.name, f"{type(wrong).__name__}: {wrong}") from None
    check_simplex(alpha, excess.shape, rule.name)


def not_in_fractions(name: str, what: str) -> InputError:
    """The error of a weighting that has no value in fractions, because it needs ``what``.

    >>> print(not_in_fractions("fedsoftmax", "exp"))
    weighting fedsoftmax has no weights in fractions, but received exp: use sums, quotients and comparisons.
    """
    return reject(f"weighting {name} has no weights in fractions", what, "use sums, quotients and comparisons")
