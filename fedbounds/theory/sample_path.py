"""What a quantity is computed on: the clients' functions and one path of a run; and what definitions share."""

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


class ConvexLosses(Losses, Protocol):
    """The same, which say of themselves whether they are convex."""

    @property
    def convex(self) -> bool: ...
    @property
    def star_excess(self) -> Numbers: ...


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


def norm_sq(vectors: Numbers) -> Numbers:
    """||v||^2 along the last axis."""
    return (vectors**2).sum(-1)


def ratio(above: Numbers, below: Numbers, otherwise: float = 1) -> Numbers:
    """above / below, and ``otherwise`` where below is not positive."""
    positive = below > 0
    return np.where(positive, above / np.where(positive, below, 1), otherwise)


def skew(alpha: Numbers, p: Numbers, gaps: Numbers) -> Numbers:
    """rho = sum_i alpha_i e_i / sum_i p_i e_i of weights and gaps (..., N); 1 where every gap is 0."""
    return ratio((alpha * gaps).sum(-1), (p * gaps).sum(-1))


def heterogeneity(losses: Losses) -> Numbers:
    """Gamma = F* - sum_i p_i F_i* (...)."""
    return (losses.p * losses.excess(losses.w_star)).sum(-1)


def skew_at_optimum(products: Numbers, Gamma: Numbers, is_p: Any) -> Numbers:
    """rho(t, w*) = sum_i alpha_i e_i(w*) / Gamma; 1 where ``is_p`` says that alpha = p, and where Gamma = 0."""
    return np.where(is_p, 1, ratio(products, Gamma))


def deviation(alpha: Numbers, w: Numbers, x: Numbers) -> Numbers:
    """sum_i alpha_i ||w - x_i||^2 of w (..., d) and x (..., N, d)."""
    return (alpha * norm_sq(w[..., None, :] - x)).sum(-1)


def variance_of_mean(p: Numbers, variances: Numbers) -> Numbers:
    """sum_i p_i^2 sigma_i^2 (...), with sigma_i^2 the largest of the variances (..., n, N) of client i."""
    return (p**2 * variances.max(-2)).sum(-1)


def equally_many(alphas: Numbers, slack: float) -> Numbers:
    """How many clients share the weight equally in each of the rows (rows, ..., N), or 0: (...)."""
    count = (alphas > 0).sum(-1)
    equal = (abs(alphas.max(-1) * count - 1) <= slack).all(0) & (count == count[:1]).all(0)
    return np.where(equal, count[0], 0)


def ratios_of_steps(eta: Numbers, tau: int) -> Numbers:
    """max_{t_0 <= s <= t} eta_s / eta_t of step sizes (..., T), with t_0 the first step of the round."""
    rounds = eta.reshape(*eta.shape[:-1], -1, tau)
    return (np.maximum.accumulate(rounds, axis=-1) / rounds).reshape(eta.shape)


def growth_of_steps(eta: Numbers, tau: int) -> Numbers:
    """max_{t_0 <= s <= t} eta_t / eta_s of step sizes (..., T), with t_0 the first step of the round."""
    rounds = eta.reshape(*eta.shape[:-1], -1, tau)
    return (rounds / np.minimum.accumulate(rounds, axis=-1)).reshape(eta.shape)


def quotients_of_steps(eta: Numbers, tau: int) -> dict[str, float]:
    """eta_ratio and eta_growth of step sizes (T,): the largest quotients inside a round."""
    return {"eta_ratio": float(ratios_of_steps(eta, tau).max()), "eta_growth": float(growth_of_steps(eta, tau).max())}


def sums(values: Numbers) -> Numbers:
    """0 and the sums of the first 1, 2, ... values."""
    return np.append([0], np.cumsum(values))


def distance_sq(path: Path) -> Numbers:
    """||w_t - w*||^2 at 0 ... T."""
    return norm_sq(path.w - path.losses.w_star)


def each_client_at_its_point(values: Numbers) -> Numbers:
    """Each client's function at its own point (T, N, ...), of every function at every point (T, N, N, ...)."""
    clients = np.arange(values.shape[1])
    return values[:, clients, clients]


def virtual(path: Path) -> Numbers:
    """sum_i alpha_t^i w_t^i at 0 ... T - 1 (T, d), whatever weights the reading gives the iterate inside a round."""
    starts = np.arange(len(path.eta)) == path.begun[:-1]
    return np.where(starts[:, None], path.w[:-1], (path.alpha[..., None] * path.X).sum(-2))


def is_p(path: Path) -> bool:
    """Whether alpha = p on the clients present: rho is then 1 by definition, not merely up to rounding."""
    return bool((path.alpha == path.shares).all())


def weight_ratios(path: Path) -> Numbers:
    """alpha_t^i / p_i over the clients present."""
    present = path.shares > 0
    return path.alpha[present] / path.shares[present]


def variances(path: Path, x: Numbers = None) -> Numbers:
    """The variance of each client's stochastic gradient at its local model, or at points x (..., N, d): (..., N)."""
    if path.variance is None:
        raise ValueError("the variance of stochastic gradients is not known on this path")
    return path.variance(path.X if x is None else x)


def variances_at_optimum(path: Path) -> Numbers:
    """The same at w* (N,)."""
    return variances(path, np.broadcast_to(path.losses.w_star, (1, *path.X.shape[1:])))[0]


def gradients_and_their_mean(path: Path) -> tuple[Numbers, Numbers]:
    """grad F_i(w_t) (T + 1, N, d) and grad F(w_t) (T + 1, d)."""
    slopes = path.losses.grads(path.w)
    return slopes, (slopes * path.losses.p[:, None]).sum(-2)


def averages(c: Numbers, w: Numbers, tail: int = 0) -> Numbers:
    """sum_t c_t w_t / sum_t c_t over t < T at every T, of c (..., T) and w (..., T + 1, d); w_0 at T = 0.

    The first T // tail steps are left out, where tail is not 0.
    """
    ends = np.arange(1, w.shape[-2])
    starts = ends // tail if tail else 0 * ends
    parts = c[..., None] * w[..., :-1, :], c[..., None]
    above, below = (np.append(0 * s[..., :1, :], np.cumsum(s, axis=-2), axis=-2) for s in parts)
    means = (above[..., ends, :] - above[..., starts, :]) / (below[..., ends, :] - below[..., starts, :])
    return np.append(w[..., :1, :], means, axis=-2)
