"""Algorithm 1 over a population of instances at once, in floats, every outcome of chance included."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from fedbounds.engine.reference import Step, algorithm_1
from fedbounds.evidence.exact.few_paths import pairwise_shocks
from fedbounds.evidence.exact.measure import VIRTUALS, Measured, Stretch, WholePaths, stretches, whole_paths
from fedbounds.evidence.exact.quadratics import Numbers, single_shocks
from fedbounds.evidence.quantity_values import Values, values
from fedbounds.model.problem import Array
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import weighting_named
from fedbounds.referee.search.family import RARE, Population, Shape
from fedbounds.theory.claim import Claim
from fedbounds.theory.measurement import Measurement, OnDemand, first_of
from fedbounds.theory.path_quantities import Delta_round, Delta_round_next, gap_round
from fedbounds.theory.quantity import Path, Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import Scope
from fedbounds.weightings.fixed import FixedByRound
from fedbounds.weightings.multinomial import Multinomial


@dataclass(frozen=True)
class PopulationRun:
    """A population's measured run, and its steps with the probabilities of their outcomes where they were taken."""

    population: Population
    measured: Measured
    steps: list[Step]
    odds: list[Array]

    @cached_property
    def _whole(self) -> dict[str, WholePaths]:
        return {}

    def _paths(self, virtual: str) -> WholePaths:
        """The paths of all members, put together once."""
        if virtual not in self._whole:
            self._whole[virtual] = whole_paths(self.steps, self.odds[-1], virtual)
        return self._whole[virtual]

    def computed(self, claim: Claim, reading: Reading) -> Values:
        """The values of the claim's quantities, as `measurement` has the others; nan where a member has none."""
        if not claim.computed:
            return Values()
        every, nothing = range(len(self.population.w0)), np.full(1, np.nan)
        measured = {symbol: source for symbol in claim.computed if (source := at_rounds(symbol))}
        names = {symbol.name for symbol in claim.computed if symbol not in measured}
        members = [self._member(claim, reading, k, measured) for k in every] if names else []
        constants = {n for result in members for n in result.constants}
        rows = {n: [np.atleast_1d(m.constants.get(n, m.fields.get(n, nothing))) for m in members] for n in names}
        longest = {n: max(map(len, row)) for n, row in rows.items()}
        table = {
            n: np.stack([np.broadcast_to(item, longest[n]) for item in row]).astype(float) for n, row in rows.items()
        }
        constant, varying = (
            {n: row for n, row in table.items() if (n in constants) is fixed} for fixed in (True, False)
        )
        for symbol, (name, later) in measured.items():
            varying[symbol.name] = self._rounds(claim, reading, name, later)
        return Values(constant, varying)

    def constants_of(self, claim: Claim, reading: Reading, count: int) -> dict[str, Array]:
        """The claim's own constants of the problem (count, 1), of so many members."""
        later = [symbol for symbol in claim.computed if symbol.statistic != "constant"]
        members = [self._member(claim, reading, k, later).constants for k in range(count)]
        shared = set.intersection(*map(set, members))
        return {name: np.array([[float(member[name])] for member in members]) for name in shared}

    def _rounds(self, claim: Claim, reading: Reading, name: str, later: bool) -> Array:
        """An expectation at the start of each step's round, or at its end, which a run that goes on has."""
        tau, total = self.population.shape.tau, self.population.shape.total
        times = np.arange(total + (claim.scope == "horizon" and not later))
        return self.measured.paths[reading.virtual][name][:, times - times % tau + later * tau]

    def _member(self, claim: Claim, reading: Reading, k: int, measured: Collection[Quantity]) -> Values:
        population = self.population
        eta, tau, losses = population.eta[k], population.shape.tau, population.member(k).losses
        alone = replace(losses, **{name: row[0] for name in ROWS if (row := getattr(losses, name)) is not None})

        def paths() -> Any:
            return list(self._paths(reading.virtual).of(k, tau, eta, alone))

        return values(claim, alone, Path(tau, eta), paths, measured)

    def measurement(self, reading: Reading, computed: Values | None = None) -> Measurement[Array]:
        """The population as claims see it in a reading: constants (P, 1), fields (P, m), times and eta too."""
        computed, measured = computed or Values(), self.measured
        path = measured.paths[reading.virtual]
        fields = {
            "eta": lambda: self.population.eta,
            "next_mean": lambda: path["distance_sq"][:, 1:],
            "grad_sq": lambda: measured.grad_sq,
            "local_excess": lambda: measured.excess,
        }

        def at(scope: Scope) -> Any:
            if scope == "point":
                return measured.times
            total = self.population.shape.total
            return np.arange({"constant": 1, "step": total}.get(scope, total + 1))

        def field(scope: Scope, name: str) -> Array:
            if name == "time":
                return at(scope)[None, :].astype(float)
            return fields[name]() if name in fields else path[name][:, : len(at(scope))]

        rho_bar = OnDemand({"rho_bar": lambda: measured.rho_sync if reading.skew == "sync" else measured.rho_all})
        draws = self.population.shape.draws
        drawn = {"m": np.full(len(self.population.w0), float(draws))} if draws else {}
        recorded = first_of(rho_bar, drawn, measured.constants)
        columns = OnDemand({name: partial(_column, recorded, name) for name in recorded})
        constants: Any = first_of(computed.constants, columns)
        return Measurement(constants, at, field, computed.fields)


# Shipped functions of a path that the run's expectations at the start of a round give, or (True) at its end.
AT_ROUNDS = ((Delta_round, "distance_sq", False), (Delta_round_next, "distance_sq", True), (gap_round, "gap", False))


def at_rounds(symbol: Quantity) -> tuple[str, bool] | None:
    """Which expectation of a run a shipped function of a path is, and whether at the end of the round."""
    return next(((name, later) for q, name, later in AT_ROUNDS if q.on_path is symbol.on_path), None)


def _column(rows: Mapping[str, Array], name: str) -> Array:
    """A constant of each member (P, 1)."""
    return rows[name][:, None]


# What of losses has an axis of the population.
ROWS = ("curvatures", "minima", "p", "L", "mu", "upper", "kinks", "turns", "noise", "growth")


def simulate(population: Population) -> PopulationRun:
    """Run Algorithm 1 on every instance of a population."""
    shape, losses = population.shape, population.losses
    steps: list[Step] = []
    odds: list[Array] = []
    if _straight(population):
        parts: Any = [_fixed_direction(population)]
        steps, odds = _as_steps(parts[0], population)
    else:
        steps, odds = _taken(population)
        parts = stretches(steps, odds, leading=1)
    return PopulationRun(population, Measured(losses, tuple(parts), population.eta, shape.tau), steps, odds)


def rule(population: Population) -> Weighting:
    """The weighting of a population."""
    fixed = population.shape.weighting == "fixed"
    return FixedByRound(population.weights) if fixed else weighting_named(population.shape.weighting)


def _taken(population: Population) -> tuple[list[Step], list[Array]]:
    """The steps of the reference, with the probabilities of the outcomes before each."""
    shape, losses = population.shape, population.losses
    xi, chances = outcomes_of_a_step(shape)
    if shape.along_paths:
        paths, weights = single_shocks(np.ones(shape.N), shape.total)
        losses = replace(losses, paths=paths)
        odds = [np.ones(1), *[weights] * shape.total]
    elif shape.pairwise:
        paths, weights = pairwise_shocks(np.ones(shape.N), shape.total)
        losses = replace(losses, paths=paths)
        odds = [np.ones(1), *[weights] * shape.total]
    else:
        losses = replace(losses, shocks=xi) if shape.noise else losses
        odds = probabilities(shape, chances, _drawn(population)[1] if shape.draws else None)
    weighting = _drawn(population)[0] if shape.draws else rule(population)
    steps = algorithm_1(losses, population.w0, population.eta, shape.tau, weighting, participants(shape))
    return list(steps), odds


def _drawn(population: Population) -> tuple[Weighting, Array]:
    """The weights of each outcome of draws with replacement, and the probabilities (K, P) of the outcomes."""
    weighting, chances = Multinomial(population.shape.draws).enumerated(population.losses.p)
    return weighting, chances


@lru_cache(maxsize=64)
def outcomes_of_a_step(shape: Shape) -> tuple[Array, Array]:
    """The outcomes (M, N) of the noise of a step and their probabilities (M,)."""
    if not shape.noise:
        return np.zeros((1, shape.N)), np.ones(1)
    u = RARE if shape.noise == "rare" else 1.0
    if not shape.enumerated:
        return np.zeros((1, shape.N)), np.ones(1)
    both = ((u, 1 / (1 + u**2)), (-1 / u, u**2 / (1 + u**2)))
    drawn = np.array(list(itertools.product(both, repeat=shape.N)))
    return drawn[..., 0], drawn[..., 1].prod(-1)


def probabilities(shape: Shape, chances: Array, drawn: Array | None = None) -> list[Array]:
    """The probabilities of the outcomes before each step and at the end.

    Those of ``drawn`` clients (K, P) differ between the members of a population; without them all choices are equally
    likely.
    """
    groups = len(_groups(shape.N, shape.present))
    odds, before = [], np.ones(1 if drawn is None else (1, drawn.shape[1]))
    for t in range(shape.total + 1):
        if t % shape.tau == 0 and t < shape.total:
            before = np.tile(before, groups) / groups if drawn is None else _each(drawn, before)
        odds.append(before)
        before = _each(chances, before) if t < shape.total else before
    return odds


def _each(chances: Array, before: Array) -> Array:
    """The probabilities (K ...,) of what was ``before`` followed by each outcome of ``chances``."""
    chances = chances.reshape(len(chances), 1, *(chances.shape[1:] or (1,) * (before.ndim - 1)))
    product: Array = (chances * before).reshape(-1, *before.shape[1:])
    return product


@lru_cache(maxsize=64)
def _groups(N: int, present: int) -> Array:
    """Which clients take part, in each of the equally likely cases."""
    return np.array([[i in group for i in range(N)] for group in itertools.combinations(range(N), present)])


def participants(shape: Shape) -> Callable[[int, Numbers], Numbers] | None:
    """Who takes part in a round: every set of clients, an axis in front."""
    if not (shape.absent or shape.draws):
        return None
    everyone = np.ones((Multinomial(shape.draws).outcomes(shape.N), shape.N), dtype=bool)
    groups = everyone if shape.draws else _groups(shape.N, shape.present)
    return lambda r, gaps: groups.reshape(len(groups), *(1,) * (gaps.ndim - 1), shape.N)


def _straight(population: Population) -> bool:
    """Whether every step of a run goes by the same weights, on quadratics: it then has a closed form."""
    return population.shape.straight and population.losses.kinks is None and population.losses.turns is None


def _fixed_direction(population: Population) -> Stretch:
    """The run in closed form, for one step a round with weights that are always the same and no chance.

    w_T - v = prod_t (1 - eta_t a) (w_0 - v) in each coordinate, a = sum_i alpha_i c_i and v the point where the
    weighted gradient vanishes; so a long run costs no more than a short one.
    """
    shape, losses = population.shape, population.losses
    alpha = losses.p if shape.weighting == "fedavg" else population.weights[:, 0]
    a, v = (alpha[..., None] * losses.curvatures).sum(1), losses.argmin(alpha)
    factors = np.cumprod(1 - population.eta.T[:, :, None] * a, axis=0)
    w = np.concatenate([population.w0[None], v + factors * (population.w0 - v)])[:, None]
    x = np.repeat(w[..., None, :], shape.N, axis=-2)
    p, weights = (np.broadcast_to(row, x.shape[:-1]) for row in (losses.p, alpha))
    together = (True,) * len(w)
    return Stretch(range(len(w)), together, np.ones(1), x, p, weights, dict.fromkeys(VIRTUALS, w))


def _as_steps(part: Stretch, population: Population) -> tuple[list[Step], list[Array]]:
    """The steps of a run in closed form."""
    x, sizes = part.x[:, 0], population.eta.T[..., None, None]
    ends = np.concatenate([x[:1], x[:-1] - sizes * population.losses.client_grads(x[:-1])])
    rows = zip(part.times, x, part.p[:, 0], part.alpha[:, 0], ends, strict=True)
    return [Step(t, x, p, alpha, True, last) for t, x, p, alpha, last in rows], [part.odds] * len(part.times)
