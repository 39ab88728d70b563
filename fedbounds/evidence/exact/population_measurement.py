"""What claims need of a run of Algorithm 1, over a population of instances in floats or in fractions.

A run holds every outcome of chance, so expectations are sums over outcomes and extremes are over all of them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from fedbounds.engine.reference import Step, unit
from fedbounds.evidence.ball_arithmetic import largest, smallest
from fedbounds.evidence.evaluate import Measurement, OnDemand, first_of
from fedbounds.evidence.exact.quadratics import Numbers, Quadratics
from fedbounds.evidence.exact.random_outcomes import Stretch, WholePaths, whole_paths
from fedbounds.evidence.quantity_values import Values, values
from fedbounds.theory import sample_path as on
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Path, Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope

VIRTUALS = ("alpha", "p")
# A share of the weight this far from 1/m is another share: in floats these are sums of a few terms.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Measured:
    """What claims need of a run, with a number of steps a row, each computed when it is first looked up.

    ``constants`` (...,) by name, but rho_bar, and expectations ``paths[virtual][field]`` (..., T + 1).
    Of the local models visited, all outcomes: their ``times`` and ``clients`` (m,), ||grad F_i||^2, variances and
    e_i (..., m). ``alphas``, ``ratios`` and ``excesses`` (visits, ..., N); the smallest rho at the starts of rounds
    and everywhere (...,). ``steps`` with the weights of their outcomes before each are what was run, and ``draws``
    how many clients are drawn with replacement in a round, ``q`` the probability with which each takes part, or 0.
    ``server_step`` (...,) is 1 unless given.
    """

    losses: Quadratics
    parts: tuple[Stretch, ...]
    eta: Numbers
    tau: int
    steps: Sequence[Step] = field(repr=False)
    odds: Sequence[Numbers] = field(repr=False)
    draws: int = 0
    q: Any = 0
    server_step: Numbers | None = None

    @cached_property
    def _whole(self) -> dict[str, WholePaths]:
        return {}

    def whole(self, virtual: str) -> WholePaths:
        """The paths of all outcomes and members, put together once."""
        if virtual not in self._whole:
            self._whole[virtual] = whole_paths(self.steps, self.odds[-1], virtual)
        return self._whole[virtual]

    def member(self, claim: Claim, virtual: str, k: int, unknown: Collection[Quantity] = ()) -> Values:
        """The values of a claim's quantities on member k, but the ``unknown`` ones."""
        eta, losses = self.eta[k], self.losses.rows(k)

        def paths() -> Iterator[tuple[Any, Path]]:
            return self.whole(virtual).of(k, self.tau, eta, losses)

        return values(claim, losses, Path(self.tau, eta), paths, unknown)

    def constants_in(self, skew: str) -> Mapping[str, Numbers]:
        """The constants, with rho_bar over synchronisation times (``sync``) or every step."""
        rho_bar = OnDemand({"rho_bar": lambda: self.rho_sync if skew == "sync" else self.rho_all})
        drawn = {"m": self.losses.p[..., 0] * 0 + self.draws} if self.draws else {}
        return first_of(rho_bar, drawn, self.constants)

    def measurement(self, reading: Reading, computed: Values) -> Measurement[Numbers]:
        """The population as claims see it in a reading: constants (P, 1), fields (P, m), times and eta too."""
        path, T = self.paths[reading.virtual], self.eta.shape[-1]
        fields: dict[str, Callable[[], Numbers]] = {
            "eta": lambda: self.eta,
            "next_mean": lambda: path["distance_sq"][:, 1:],
            "grad_sq": lambda: self.grad_sq,
            "local_excess": lambda: self.excess,
        }

        def at(scope: Scope) -> Any:
            return self.times if scope == "point" else np.arange({"constant": 1, "step": T}.get(scope, T + 1))

        def field(scope: Scope, name: str) -> Numbers:
            if name == "time":
                return at(scope)[None] * unit(self.losses.p)
            return fields[name]() if name in fields else path[name][:, : len(at(scope))]

        every = self.constants_in(reading.skew)
        columns = OnDemand({name: partial(_column, every, name) for name in every})
        return Measurement(first_of(computed.constants, columns), at, field, computed.fields)

    @cached_property
    def constants(self) -> OnDemand[Numbers]:
        losses, eta, tau = self.losses, self.eta, self.tau
        ones, N = losses.p[..., 0] * 0 + 1, losses.p.shape[-1]
        return OnDemand(
            {
                "L": lambda: losses.L,
                "mu": lambda: losses.mu,
                "Gamma": lambda: self.Gamma,
                "tau": lambda: ones * tau,
                "N": lambda: ones * N,
                "T_run": lambda: ones * eta.shape[-1],
                "Delta_0": lambda: on.norm_sq(self.parts[0].w["alpha"][0, 0] - losses.w_star),
                "sigma_sq": lambda: largest(self.variance),
                "sigma_0_sq": lambda: self._noise_bounds[0],
                "growth": lambda: self._noise_bounds[1],
                "sigma_p_sq": lambda: on.variance_of_mean(
                    losses.p, self.variance.reshape(*self.variance.shape[:-1], -1, N)
                ),
                "G_sq": lambda: largest(self.grad_sq + self.variance),
                "rho_tilde": lambda: ones * self._skew_at_optimum(),
                "pi_min": lambda: self._ratio_range[0],
                "pi_max": lambda: self._ratio_range[1],
                "p_min": lambda: losses.p.min(-1),
                "m": lambda: ones * on.equally_many(self.alphas, 0 if self.alphas.dtype == object else ROUNDING),
                "C": lambda: ones * self._share,
                "q": lambda: ones * (self.q or (1 if self._share == 1 and not self.draws else np.nan)),
                "eta_0": lambda: eta[..., 0],
                "eta_s": lambda: ones if self.server_step is None else self.server_step,
                "eta_ratio": lambda: largest(on.ratios_of_steps(eta, tau)),
                "eta_growth": lambda: largest(on.growth_of_steps(eta, tau)),
                "rho_pairs": lambda: smallest_pair(losses, self.alphas, self.excesses),
            }
        )

    @cached_property
    def _noise_bounds(self) -> tuple[Numbers, Numbers]:
        """sigma_0^2 and c with (s + r |grad F_i|)^2 <= sigma_0^2 + c |grad F_i|^2 of every client."""
        none = 0 * self.losses.p
        s, r = (none if size is None else size**2 for size in (self.losses.noise, self.losses.growth))
        twice = 1 + (s * r > 0).any(-1)
        return twice * s.max(-1), twice * r.max(-1)

    @property
    def _share(self) -> Any:
        """The share of the clients that take part, at least: nobody may where each has a chance of its own."""
        if self.q or not self.parts:
            return 1 - bool(self.q)
        return (self.parts[0].p[0, 0] > 0).sum(-1).min() * unit(self.losses.p) / self.losses.p.shape[-1]

    @cached_property
    def paths(self) -> dict[str, OnDemand[Numbers]]:
        alpha = self._path("alpha")
        exact = self.losses.p.dtype == object
        one_iterate = exact and all((part.alpha == part.p)[~np.array(part.synchronised)].all() for part in self.parts)
        return {"alpha": alpha, "p": alpha if one_iterate else self._path("p")}

    @cached_property
    def rho_sync(self) -> Numbers:
        starts = [
            row[k]
            for part, row in zip(self.parts, self._skews, strict=True)
            for k in range(len(row))
            if part.synchronised[k]
        ]
        return smallest(np.concatenate(starts), 0)

    @cached_property
    def rho_all(self) -> Numbers:
        return smallest(_visits(self._skews), 0)

    @cached_property
    def times(self) -> Any:
        return np.concatenate(
            [np.repeat(part.times[:n], part.x.shape[1] * part.x.shape[-2]) for part, n in self._before_the_end]
        )

    @cached_property
    def clients(self) -> Any:
        return np.concatenate(
            [np.tile(np.arange(part.x.shape[-2]), n * part.x.shape[1]) for part, n in self._before_the_end]
        )

    @cached_property
    def grad_sq(self) -> Numbers:
        return self._of_models([on.norm_sq(grads) for grads in self._grads])

    @cached_property
    def variance(self) -> Numbers:
        return self._of_models([self.losses.variance(grads) for grads in self._grads])

    @cached_property
    def excess(self) -> Numbers:
        return self._of_models([self.losses.client_excess(part.x[:n]) for part, n in self._before_the_end])

    @cached_property
    def alphas(self) -> Numbers:
        return _visits([part.alpha[:n] for part, n in self._before_the_end])

    @cached_property
    def ratios(self) -> Numbers:
        return _visits([on.ratio(part.alpha[:n], part.p[:n], otherwise=-1) for part, n in self._before_the_end])

    @cached_property
    def excesses(self) -> Numbers:
        return _visits(self._gaps)

    @cached_property
    def Gamma(self) -> Numbers:
        return on.heterogeneity(self.losses)

    @cached_property
    def _before_the_end(self) -> list[tuple[Stretch, int]]:
        """The parts, and how many of their times are steps."""
        T = self.parts[-1].times[-1]
        return [(part, len(part.times) - (part.times[-1] == T)) for part in self.parts]

    @cached_property
    def _grads(self) -> list[Numbers]:
        return [self.losses.client_grads(part.x[:n]) for part, n in self._before_the_end]

    @cached_property
    def _gaps(self) -> list[Numbers]:
        return [self.losses.excess(part.w["alpha"]) for part in self.parts]

    @cached_property
    def _skews(self) -> list[Numbers]:
        rows = zip(self._before_the_end, self._gaps, strict=True)
        return [on.skew(part.alpha[:n], part.p[:n], e[:n]) for (part, n), e in rows]

    @cached_property
    def _ratio_range(self) -> tuple[Numbers, Numbers]:
        ratios = self.ratios
        return np.where(ratios < 0, np.inf, ratios).min(axis=(0, -1)), ratios.max(axis=(0, -1))

    def _of_models(self, parts: Sequence[Numbers]) -> Numbers:
        """Values (n, K, ..., N) of each part as (..., m)."""
        leading = self.losses.p.ndim - 1
        rows = (np.moveaxis(v, (0, 1), (leading, leading + 1)).reshape(*v.shape[2:-1], -1) for v in parts)
        return np.concatenate(list(rows), axis=-1)

    def _path(self, name: str) -> OnDemand[Numbers]:
        losses = self.losses

        def expected(value: Callable[[Stretch], Numbers]) -> Callable[[], Numbers]:
            return lambda: np.concatenate([part.expected(value(part)) for part in self.parts], axis=-1)

        return OnDemand(
            {
                "distance_sq": expected(lambda part: on.norm_sq(part.w[name] - losses.w_star)),
                "gap": expected(lambda part: losses.gap(part.w[name])),
                "drift": expected(lambda part: on.deviation(part.alpha, part.w[name], part.x)),
            }
        )

    def _skew_at_optimum(self) -> Numbers:
        lowest, highest = self._ratio_range
        # Where alpha = p on the clients present, rho is 1 by definition.
        is_p = (lowest == 1) & (highest == 1)
        return on.skew_at_optimum((self.alphas * self.losses.star_excess).sum(-1).max(0), self.Gamma, is_p)


def at_start(losses: Quadratics, w0: Numbers) -> OnDemand[Numbers]:
    """What a step size may be tuned to, as it is at w_0 (..., d), where every local model starts: (...,) each."""

    def slopes() -> Numbers:
        return losses.client_grads(w0[..., None, :] + 0 * losses.p[..., None])

    return OnDemand(
        {
            "Delta_0": lambda: on.norm_sq(w0 - losses.w_star),
            "Gamma": lambda: on.heterogeneity(losses),
            "gap_0": lambda: losses.gap(w0),
            "sigma_sq": lambda: largest(losses.variance(slopes())),
            "G_sq": lambda: largest(on.norm_sq(g := slopes()) + losses.variance(g)),
        }
    )


def _column(rows: Mapping[str, Numbers], name: str) -> Numbers:
    """A constant of each member (P, 1)."""
    return rows[name][:, None]


def _visits(parts: Sequence[Numbers]) -> Numbers:
    """Values (n, K, ...) of each part as (visits, ...)."""
    return np.concatenate([values.reshape(-1, *values.shape[2:]) for values in parts])


def smallest_pair(losses: Quadratics, alphas: Numbers, excesses: Numbers) -> Numbers:
    """min over visited weights, and over visited points and w*, of the skew."""
    points = np.concatenate([excesses, losses.star_excess[None]])
    below = (losses.p * points).sum(-1)
    if alphas.dtype == object and (alphas == losses.p).all():
        return losses.p[..., 0] * 0 + 1  # the skew of p is 1
    per = points / np.where(below > 0, below, 1)[..., None]
    least = np.inf + 0 * below[0]
    exact = alphas.dtype == object
    distinct = alphas if exact else np.unique(alphas, axis=0)
    for alpha in {str(row): row for row in distinct}.values() if exact else distinct:
        skews = np.where(below > 0, (alpha * per).sum(-1), np.inf)
        least = smallest(np.concatenate([least[None], skews]), 0)
    return np.where(least < np.inf, least, 1)
