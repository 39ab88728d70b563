"""The trade-off between speed and error made exact: the best weights for a known problem, and how far a scheme is.

The corollary's bound is (a + b rho_tilde)/rho_bar plus what no weights change, so with price = a/b only
(price + rho_tilde)/rho_bar matters; `fedbounds.weightings.bound_optimal` minimises it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedbounds.engine.simulate import simulate
from fedbounds.errors import reject
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.run_constants import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array
from fedbounds.model.trajectory import Trajectory
from fedbounds.plugins import modules_from, weighting_named
from fedbounds.study.bounds import main_bound, speed_and_error
from fedbounds.study.objects_from_settings import build_problem, build_step
from fedbounds.study.settings import Settings
from fedbounds.theory import symbols
from fedbounds.theory.reading import READINGS
from fedbounds.weightings.bound_optimal import best_weights, skews

# Prices of speed against error, from the infinite horizon to the first step.
PRICES = tuple(float(v) for v in np.geomspace(1e-3, 1e3, 25))
SCHEMES = ("fedavg", "fedmax", "fedmax:2", "fedsoftmax:0.1", "fedsoftmax:0.5", "fedsoftmax:2")
REPAIRED = READINGS["repaired"]


@dataclass(frozen=True)
class Mark:
    """A scheme on the picture: ``speed`` 1/rho_bar and ``error`` rho_tilde/rho_bar - 1, both to be small."""

    name: str
    rho_bar: float
    rho_tilde: float
    alpha: tuple[float, ...] | None = None

    @property
    def speed(self) -> float:
        """1/rho_bar, what multiplies the noise term; inf where rho_bar = 0."""
        return 1 / self.rho_bar if self.rho_bar > 0 else math.inf

    @property
    def error(self) -> float:
        """rho_tilde/rho_bar - 1, what multiplies the error term."""
        return self.rho_tilde * self.speed - 1 if self.rho_bar > 0 else math.inf

    def cost(self, price: float) -> float:
        return (price + self.rho_tilde) * self.speed if self.rho_bar > 0 else math.inf


@dataclass(frozen=True)
class TradeOff:
    """The front of constant weights over the points FedAvg visits, the schemes on their own runs, and prices.

    ``clients`` holds r_i at the start and c_i (N, 2): the whole trade-off at one point is their convex hull.
    ``prices`` maps horizons T to the corollary's price there, with FedAvg's constants.
    """

    clients: Array
    front: tuple[Mark, ...]
    schemes: tuple[Mark, ...]
    prices: Mapping[int, float]

    def excess_cost(self, mark: Mark, price: float) -> float:
        return mark.cost(price) / min(best.cost(price) for best in self.front)


def front(r: Array, c: Array, prices: Sequence[float] = PRICES) -> tuple[Mark, ...]:
    """The Pareto front of constant weights over points r (K, N): the best at every price, duplicates dropped."""
    marks: list[Mark] = []
    for price in prices:
        alpha = best_weights(r, c, price)
        if not marks or np.abs(alpha - np.array(marks[-1].alpha)).max() > 1e-9:
            marks.append(Mark(f"best at {price:.3g}", float((r @ alpha).min()), float(c @ alpha), tuple(alpha)))
    return tuple(marks)


def place(name: str, trajectory: Trajectory) -> Mark:
    """Where a run's weighting lies: its own rho_bar and rho_tilde, over every step."""
    constants = examine_run(trajectory, REPAIRED).constants
    return Mark(name, constants["rho_bar"].value, constants["rho_tilde"].value)


def price_at(trajectory: Trajectory, horizon: int) -> float:
    """a/b of the theory's bound after T = ``horizon`` steps: (32 tau^2 G^2 + sigma^2) / (2 mu Gamma (T + gamma))."""
    main = main_bound()
    speed, error = speed_and_error(main, READINGS[main.readings[0]])
    a = speed.expand().coeff(symbols.rho_bar, -1) / (symbols.T + main.definitions[symbols.gamma])
    b = error.expand().coeff(symbols.rho_bar, -1).coeff(symbols.rho_tilde)
    return float(evaluate(a / b, examine_run(trajectory, REPAIRED).values() | {"T": horizon}))


def picture(settings: Settings, schemes: Sequence[str] = SCHEMES, horizons: Sequence[int] = ()) -> TradeOff:
    """Run every scheme on a problem and place it beside the front; full gradients, so that nothing is random.

    ``bound-optimal`` is added at the prices of ``horizons`` (T = rounds * tau, a tenth and ten times that,
    unless given). Raises InputError where Gamma = 0, as there is no error to trade for then.
    """
    extra = modules_from(settings.plugins)
    for name in schemes:
        weighting_named(name, extra)  # before the minimiser is looked for
    problem = build_problem(replace(settings, replicates=1, batch=None), extra)
    if float(problem.Gamma) <= 0:
        raise reject("the trade-off needs clients with different minima", "Gamma = 0", "use heterogeneous data")

    def run(name: str) -> Trajectory:
        return simulate(
            Experiment(
                problem,
                weighting_named(name, extra),
                build_step(settings, problem),
                tau=settings.tau,
                rounds=settings.rounds,
                replicates=1,
                batch_size=None,
            )
        )

    base = run("fedavg")
    total = settings.rounds * settings.tau
    horizons = tuple(horizons) or (max(total // 10, 1), total, 10 * total)
    prices = {horizon: price_at(base, horizon) for horizon in horizons}
    names = [*schemes, *(f"bound-optimal:{price:.4g}" for price in prices.values())]
    r, c = skews(problem, base.excess[0])
    marks = tuple(place(name, run(name)) for name in names)
    return TradeOff(np.stack([r[0], c], axis=1), front(r, c, sorted({*PRICES, *prices.values()})), marks, prices)
