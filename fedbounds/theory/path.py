"""What a quantity is computed on: the clients' functions, and one path of a run. Floats and fractions alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

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
    models ``X`` (T, N, d) and weights ``alpha`` (T, N). A scheduled quantity sees ``eta`` and ``tau`` only.
    ``X_next`` (T, N, d) are the local models after each step, before a round's end averages them.

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
    X_next: Numbers = None

    def __post_init__(self) -> None:
        p = getattr(self.losses, "p", None)
        if self.shares is None and self.alpha is not None and p is not None:
            object.__setattr__(self, "shares", np.broadcast_to(p, self.alpha.shape))
        for name in ("eta", "w", "X", "alpha", "X_next", "shares"):
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
