"""Algorithm 1 over a population of instances at once, in floats: how near a claim is to failing on each.

What a search of them may spend is here too.

Every outcome of chance is included.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from fedbounds.engine.reference import Step
from fedbounds.evidence.assumption_checks import penalty, places_in_scope
from fedbounds.evidence.evaluate import evaluate, first_of
from fedbounds.evidence.exact.population_measurement import VIRTUALS, Measured
from fedbounds.evidence.exact.random_outcomes import Stretch, grouped_by_outcomes
from fedbounds.evidence.judge import substitution
from fedbounds.evidence.quantity_values import Values
from fedbounds.model.problem import Array
from fedbounds.plugins import weighting_named
from fedbounds.referee.search.family import InstanceFamily, Population, Shape, dimension
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.path_quantities import OF_MANY_RUNS, Delta_round, Delta_round_next, gap_round, gap_round_next
from fedbounds.theory.point_values import WeightedGap
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import Reading
from fedbounds.theory.sample_path import Path
from fedbounds.theory.symbols import Delta_next
from fedbounds.weightings.fixed import FixedByRound

# Shipped functions of a path that the run's expectations at the start of a round give, or (True) at its end.
AT_ROUNDS = (
    (Delta_round, "distance_sq", False),
    (Delta_round_next, "distance_sq", True),
    (gap_round, "gap", False),
    (gap_round_next, "gap", True),
)


def on_populations(symbol: Quantity) -> bool:
    """Whether a quantity is computed of a whole population at once, not of each member on each path."""
    whole = symbol.statistic in ("constant", "scheduled") or isinstance(symbol.on_path, WeightedGap)
    return whole or at_rounds(symbol) is not None


def at_rounds(symbol: Quantity) -> tuple[str, bool] | None:
    """Which expectation of a run a shipped function of a path is, and whether at the end of the round."""
    return next(((name, later) for q, name, later in AT_ROUNDS if q.on_path is symbol.on_path), None)


def simulate(population: Population) -> Measured:
    """Run Algorithm 1 on every instance of a population."""
    shape, losses = population.shape, population.losses
    parts: Any
    if shape.straight and losses.kinks is None and losses.turns is None:
        parts = [_fixed_direction(population)]
        steps, odds = _as_steps(parts[0], population)
    else:
        fixed = shape.weighting == "fixed"
        rule = FixedByRound(population.weights) if fixed else weighting_named(shape.weighting)
        steps, odds = shape.chance.steps(
            losses, population.w0, population.eta, rule, shape.taken, server_step=population.server_step
        )
        parts = grouped_by_outcomes(steps, odds)
    drawn = shape.draws, float(Fraction(shape.q))
    return Measured(losses, tuple(parts), population.eta, shape.tau, steps, odds, *drawn, population.server_step)


def computed(run: Measured, claim: Claim, reading: Reading) -> Values:
    """The values of the claim's quantities on every member; nan where a member has none."""
    if not claim.computed:
        return Values()
    nothing = np.full(1, np.nan)
    measured = {symbol: source for symbol in claim.computed if (source := at_rounds(symbol))}
    averaged = {symbol: symbol.on_path for symbol in claim.computed if isinstance(symbol.on_path, WeightedGap)}
    whole = [*measured, *averaged]
    names = {symbol.name for symbol in claim.computed if symbol not in whole}
    members = [run.member(claim, reading.virtual, k, whole) for k in range(len(run.eta)) if names]
    constants = {n for result in members for n in result.constants}
    table: tuple[dict[str, Array], dict[str, Array]] = ({}, {})
    for n in names:
        row = [np.atleast_1d(m.constants.get(n, m.fields.get(n, nothing))) for m in members]
        longest = max(map(len, row))
        table[n not in constants][n] = np.stack([np.broadcast_to(item, longest) for item in row]).astype(float)
    constant, varying = table
    for symbol, (name, later) in measured.items():
        times = np.arange(run.eta.shape[-1] + (claim.scope == "horizon" and not later))
        at = times - times % run.tau + later * run.tau
        varying[symbol.name] = run.paths[reading.virtual][name][:, at]
    varying |= {symbol.name: _gap_of_average(gap, run, reading.virtual) for symbol, gap in averaged.items()}
    return Values(constant, varying)


def _gap_of_average(gap: WeightedGap, run: Measured, virtual: str) -> Array:
    """E F(sum_t c_t w_t / sum_t c_t) - F* (P, T + 1) of every member at once."""
    if gap.weights in OF_MANY_RUNS and len(run.parts) == 1:  # its outcomes are the same at all times
        w, odds = np.moveaxis(run.parts[0].w[virtual], 0, 2), run.parts[0].odds
    else:
        w, odds = run.whole(virtual).w, run.whole(virtual).odds
    if gap.weights in OF_MANY_RUNS:
        c = gap.coefficients(Path(run.tau, run.eta))
    else:
        rows = enumerate(run.eta)
        firsts = (next(run.whole(virtual).of(k, run.tau, eta, run.losses.rows(k)))[1] for k, eta in rows)
        c = np.stack([np.broadcast_to(gap.coefficients(path), path.eta.shape) for path in firsts])
    points = np.moveaxis(gap.averages(c, w), 2, 0)
    return np.asarray((odds.reshape(len(odds), -1) * run.losses.gap(points)).sum(1).T, dtype=float)


def constants_of(run: Measured, claim: Claim, virtual: str, count: int) -> dict[str, Array]:
    """The claim's own constants of the problem (count, 1), of so many members."""
    later: Collection[Quantity] = [symbol for symbol in claim.computed if symbol.statistic != "constant"]
    members = [run.member(claim, virtual, k, later).constants for k in range(count)]
    shared = set.intersection(*map(set, members))
    return {name: np.array([[float(member[name])] for member in members]) for name in shared}


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


# A place where both sides are this small against the largest term of the run is 0 <= 0 up to rounding.
NEGLIGIBLE = 1e-9
# Violated assumptions push the objective above every margin of an instance that satisfies them (at most 2).
OUTSIDE = 3.0
# The margin where a side is undefined, or where both are 0: nothing was tested there.
UNTESTED = 2.0

# (rhs - lhs)/scale: of the ``change`` since the step before or the start of the run, or of the sides as they are
# (``ratio``), which finds violations where a bound decays.
Scale = Literal["change", "ratio"]


@dataclass(frozen=True)
class Objectives:
    """Per instance (P,): the ``values`` to minimise (negative where the claim fails), the ratio lhs/rhs there, and
    the place."""

    values: Array
    ratio: Array
    place: Array


def scales(claim: Claim) -> tuple[Scale, ...]:
    """The objectives that differ for a claim."""
    return ("change", "ratio") if claim.scope == "horizon" else ("change",)


def objectives(claim: Claim, reading: Reading, population: Population, scale: Scale = "change") -> Objectives:
    """The smallest relative margin of a claim on each instance.

    (rhs - lhs) over |lhs| or the sum of the sizes of the terms, the larger. With the scale ``change``, what the left
    side is before the step, or at the start of the run, is taken off both: tiny steps would otherwise bring every
    margin to 0. OUTSIDE and more where an assumption fails.
    """
    with np.errstate(all="ignore"):
        run = simulate(population)
        measurement = run.measurement(reading, computed(run, claim, reading))
        sides = substitution(claim, reading, measurement)
        values = sides.values
        terms = [evaluate(term, values) for term in sides.terms.values()]
        lhs = evaluate(sides.lhs, values)
        P = len(population.w0)
        shape = np.broadcast_shapes(np.shape(lhs), *(np.shape(term) for term in terms), (P, 1))
        lhs, rhs = np.broadcast_to(lhs, shape), np.broadcast_to(np.sum(np.broadcast_arrays(*terms), axis=0), shape)
        start = lhs[:, :1] if claim.scope == "horizon" else 0.0
        before = values["Delta"] if claim.lhs == Delta_next else start
        base = before if scale == "change" else 0 * lhs
        size = np.maximum(np.abs(lhs - base), np.abs(rhs - base))
        # Where terms of both signs cancel, their sizes tell how far the right-hand side is from failing.
        margin = (rhs - lhs) / np.maximum(size, _spread(terms, base, shape))
        if claim.kind is Kind.IDENTITY:
            margin = -np.abs(margin)
        everything = np.abs(np.broadcast_arrays(lhs, before + 0 * lhs, *terms, np.empty(shape)))[:-1]
        largest = np.where(np.isfinite(everything), everything, 0).max(axis=(0, 2))  # 1/T is infinite at T = 0
        margin = np.where(np.isfinite(margin) & (size > NEGLIGIBLE * largest[:, None]), margin, UNTESTED)
        spoken = places_in_scope(claim.scope, claim.assumptions_in(reading), measurement)
        margin = margin if spoken is None else np.where(spoken, margin, UNTESTED)
        if claim.scope == "horizon":
            # The start is near the bound of every convergence theorem, trivially: only a violation counts there, and
            # as long as both sides stay what they were, as they do within the first round where rounds are compared.
            start = (lhs == lhs[:, :1]) & (rhs == rhs[:, :1])
            margin = np.where(start & (margin >= 0), UNTESTED, margin)
        where = margin.argmin(axis=1)
        rows = np.arange(P)
        ratio = (lhs / rhs)[rows, where]
    if population.shape.taken == "linear":
        # With larger steps the largest gradients lie elsewhere than on the paths that are taken.
        stepped = (population.eta.max(1) * population.losses.L)[:, None]
        margin = np.where(stepped > 1, UNTESTED, margin)
        where = margin.argmin(axis=1)
    outside = penalty(claim.assumptions_in(reading), first_of(measurement.varying("step"), values), P)
    return Objectives(np.where(outside > 0, OUTSIDE + outside, margin[rows, where]), ratio, where)


def _spread(terms: list[Array], base: Array | float, shape: tuple[int, ...]) -> Array:
    """The sum of the sizes of the terms, ``base`` taken off the largest."""
    stacked = np.stack([np.broadcast_to(term, shape) for term in terms or [np.zeros(shape)]])
    first = stacked.argmax(axis=0)[None]
    np.put_along_axis(stacked, first, np.take_along_axis(stacked, first, 0) - base, 0)
    return np.abs(stacked).sum(axis=0)


# Generations of the first rung.
FIRST = 4
# Members of a generation, and numbers in the runs of all of them.
LEAST_MEMBERS, MOST_MEMBERS, MOST_NUMBERS = 8, 64, 10**6
# Paths of chance in the runs of a generation: a quantity of one's own is computed on each.
MOST_PATHS = 2**12
# Seconds of one processor, measured: for a population's run, for each of its steps, and for each number in it.
PER_CALL, PER_STEP, PER_NUMBER = 6e-3, 1.2e-4, 2e-7
# And for a function of the user's, of each member on each path, and more for so many steps that it may go through.
PER_PATH, STEPS_OF_A_PATH = 3e-4, 8


@dataclass(frozen=True)
class Budget:
    """How much a search may spend: generations of the last rung, restarts, sizes, numbers computed while shrinking.

    ``longest`` is the largest T; ``rungs`` how often the best third of the arms goes on with twice the generations;
    ``seconds`` of a processor by `cost`, which leaves the most expensive arms out.
    """

    name: str
    generations: int
    population: int
    restarts: int
    clients: tuple[int, ...]
    dimensions: tuple[int, ...]
    polish: int
    shrink: int
    longest: int
    rungs: int = 4
    seconds: float = 30.0

    def members(self, shape: Shape, family: InstanceFamily) -> int:
        """How many instances of a shape a generation has."""
        most = min(MOST_MEMBERS, MOST_NUMBERS // size(shape), MOST_PATHS // shape.paths)
        wanted = min(self.population * dimension(shape, family), most)
        return max(wanted, LEAST_MEMBERS)


BUDGETS = {
    b.name: b
    for b in (
        Budget("small", 40, 10, 1, (2,), (1,), 60, 40_000, 800),
        Budget("medium", 150, 10, 2, (2, 3), (1, 2), 400, 200_000, 2000, seconds=300.0),
        Budget("large", 500, 15, 4, (2, 3, 4), (1, 2), 2000, 1_000_000, 2000, seconds=3600.0),
    )
}
# What is spent on a claim that is proved: a few seconds, in which a fault of the proof may show.
PROVED = Budget("small, of a proved claim", FIRST, 10, 1, (2,), (1,), 1, 40_000, 800, rungs=1, seconds=1.0)


def size(shape: Shape) -> int:
    """How many numbers one instance's run has about."""
    return shape.total * shape.N * shape.d * shape.paths


def cost(shape: Shape, family: InstanceFamily, budget: Budget, generations: int, functions: int = 0) -> float:
    """About how many seconds of a processor so many generations take: the same on every machine, for a plan.

    ``functions`` of the user's are put to each path of each member.
    """
    steps, members = 0 if shape.straight else shape.total, budget.members(shape, family)
    each = PER_CALL + PER_STEP * steps + PER_NUMBER * members * size(shape)
    each += PER_PATH * functions * members * shape.paths * (1 + shape.total / STEPS_OF_A_PATH)
    return (generations + 1) * each
