"""Evidence by expectation: both sides of a claim computed without sampling error, so that it is decided.

Every constant of a claim is an expectation known to rounding, sigma^2 and G^2 in the `total` reading. Only rho_bar,
the smallest skew of any path, is none: it is known to lie in an interval, over all of which the sides are compared.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from fedbounds.engine.expectations import ENGINE, not_applicable, work
from fedbounds.engine.quadratic_clients import hessians
from fedbounds.engine.simulate import simulate
from fedbounds.errors import DivergedError, reject
from fedbounds.evidence.assumption_checks import with_quantities
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.evidence.empirical.sides import wrong_and_right
from fedbounds.evidence.evaluate import difference
from fedbounds.evidence.judge import OnRun, conclude, judge, substitution, verdict
from fedbounds.evidence.measured_run import MeasuredRun, Policy, examine_run, rho_bar
from fedbounds.model.experiment import Experiment
from fedbounds.model.problem import Array, Problem
from fedbounds.model.trajectory import Trajectory
from fedbounds.theory import symbols
from fedbounds.theory.claim import Claim
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

# The interval of rho_bar is cut into so many cells: interval arithmetic overestimates a range by a multiple of
# the cell's width, and only a margin thinner than that stays undecided.
CELLS = 64
# A study adds this evidence on its own where it costs at most so much work (some seconds a run).
AUTOMATIC_WORK = 2e10
# Symbols that stand for the smallest skew over visited points; under constant weights the two are one.
SMALLEST_SKEWS = ("rho_bar", "rho_pairs")
TOTAL = "sigma^2 and G^2 as total expectations"

# A computed eigenvalue is off by a small multiple of the largest one's last place, the form itself by some more.
EIGENVALUE_ROUNDING = 1e-11

Range = tuple[Array, Array]
# The claim and the run with rho_bar at one value, and both sides there.
Pinned = tuple[Claim, MeasuredRun, empirical.Comparison]


def exact_run(trajectory: Trajectory, reading: Reading, policy: Policy | None = None) -> MeasuredRun:
    """The constants of a trajectory of exact expectations: moments in the `total` reading unless given.

    rho_bar is a lower bound, exact where `skew_range` is a point. Raises InputError for a sampled trajectory.
    """
    if trajectory.engine != ENGINE:
        raise reject(
            "evidence by expectation needs exact expectations",
            f"a run of the {trajectory.engine} engine",
            "use simulate(experiment, exact=True)",
        )
    run = examine_run(trajectory, reading, policy)
    low, high = skew_range(run)
    provenance = Provenance.EXACT if low == high else Provenance.BOUND
    skew = Constant(low, provenance, f"smallest skew, within [{low:.6g}, {high:.6g}]")
    return replace(run, constants={**run.constants, "rho_bar": skew})


def skew_range(run: MeasuredRun) -> tuple[float, float]:
    """An interval that contains rho_bar, the smallest skew rho(t, w_t) over the reading's steps and all paths.

    rho_bar sum_i p_i e_i(w_t) <= sum_i alpha_i e_i(w_t) on every path, so that it is at most the ratio of their
    expectations at any t; and it is at least the smallest skew of any w at all (`smallest_skew`). Both ends agree
    where alpha = p, and without randomness, where the ratio is the skew itself.
    """
    trajectory, high = run.trajectory, _largest_skew(run)
    if (trajectory.extremes.pi_min == 1).all() or not trajectory.experiment.stochastic:
        return high, high
    weights = np.unique(trajectory.alpha[0], axis=0)
    return min(high, *(smallest_skew(trajectory.experiment.problem, alpha) for alpha in weights)), high


def _largest_skew(run: MeasuredRun) -> float:
    return float(rho_bar(run.trajectory, run.reading).min())


def smallest_skew(problem: Problem, alpha: Array) -> float:
    """A number below inf_w sum_i alpha_i e_i(w) / sum_i p_i e_i(w), and at least pi, for constant Hessians.

    Both sums are quadratic forms in (w - w*, 1), the lower one block diagonal with blocks sum_i p_i H_i and 2 Gamma
    (halved), so that the infimum is an eigenvalue.
    """
    H, away = hessians(problem)
    slopes, heights = np.einsum("nab,nb->na", H, away), 2 * problem.star_excess
    factor = np.linalg.inv(np.linalg.cholesky(np.tensordot(problem.p, H, 1)))
    edge = factor @ (alpha @ slopes)
    form = factor @ np.tensordot(alpha, H, 1) @ factor.T
    Gamma = float(problem.p @ heights)
    if Gamma > 0:
        form = np.block([[form, edge[:, None] / np.sqrt(Gamma)], [edge / np.sqrt(Gamma), alpha @ heights / Gamma]])
    eigenvalues = np.linalg.eigvalsh(form)
    held = problem.p > 0
    pi = float((alpha[held] / problem.p[held]).min())
    return max(pi, float(eigenvalues[0] - EIGENVALUE_ROUNDING * eigenvalues[-1]))


@dataclass(frozen=True)
class Expected(OnRun):
    """A run of exact expectations (`exact_run`) as `judge` sees it: decided without sampling error.

    HOLDS and REFUTED are statements about this problem and protocol. Where rho_bar is only known to lie in an
    interval, they hold for every value in it, and UNDECIDED means that neither does. A rate is only ever refuted,
    and a claim about every visited point says nothing about expectations.
    """

    evidence = Evidence.EXPECTATION

    def of(self, claim: Claim) -> Expected:
        """The run with the claim's computed quantities."""
        return replace(self, run=with_quantities(claim, self.run))

    def refusal(self, claim: Claim) -> Verdict | None:
        """NOT_APPLICABLE to a claim about every point."""
        detail = "a claim about every point, not an expectation"
        return (
            verdict(claim, self.run.reading, Status.NOT_APPLICABLE, detail=detail) if claim.scope == "point" else None
        )

    def rate(self, claim: Claim) -> Verdict:
        """Whether the run shows a floor."""
        return empirical.examine_rate(claim, self.run, empirical.CERTAIN, deterministic=True)

    def sides(self, claim: Claim) -> list[Pinned]:
        """Both sides with rho_bar at each end of its interval, or once where the claim has none."""
        low, high = self.run.constants["rho_bar"].value, _largest_skew(self.run)
        used = {symbol.name for symbol in _difference(claim, self.run).free_symbols}
        ends = (low,) if low == high or used.isdisjoint(SMALLEST_SKEWS) else (low, high)
        pinned = [_with_skew(claim, self.run, end) for end in ends]
        return [(*each, empirical.compare(*each)) for each in pinned]

    def decide(self, claim: Claim, sides: list[Pinned]) -> Verdict:
        """The decision at the worse end, or over the whole interval of rho_bar."""
        if any(not np.isfinite(side.rhs).all() for _, _, side in sides):
            return verdict(claim, self.run.reading, Status.NOT_APPLICABLE, detail="the bound is infinite on this run")
        certain = np.ones(len(sides[0][2].times), dtype=bool)
        decided = [
            empirical.decide(at_end, run, side, side.band(empirical.CERTAIN, certain), certain)
            for at_end, run, side in sides
        ]
        worst = min(decided, key=lambda verdict: verdict.margin if verdict.margin is not None else np.inf)
        if len(sides) == 1:
            return replace(worst, detail=f"{worst.detail}; {TOTAL}")
        low, high = self.run.constants["rho_bar"].value, _largest_skew(self.run)
        return _over_skews(claim, self.run, worst, [side for _, _, side in sides], low, high)


def examine(claim: Claim, run: MeasuredRun) -> Verdict:
    """Judge a claim on a run of exact expectations (`exact_run`), in the run's reading."""
    return judge(claim, run.reading, Expected(run))


def verdicts(
    examined: Iterable[tuple[Claim, Experiment, Sequence[str]]], policy: Policy, limit: float = AUTOMATIC_WORK
) -> list[Verdict]:
    """The verdicts of (claim, experiment, names of readings) where exact expectations apply and cost little.

    One that is not applicable is left out: the empirical evidence says why. ``limit`` bounds the `work` of a run.
    """
    trajectories: dict[int, Trajectory | None] = {}
    runs: dict[tuple[int, str], MeasuredRun] = {}
    result = []
    for claim, experiment, readings in examined:
        number = id(experiment)
        if number not in trajectories:
            trajectories[number] = _affordable(experiment, limit)
        trajectory = trajectories[number]
        if trajectory is None:
            continue
        for name in readings:
            if (number, name) not in runs:
                runs[number, name] = exact_run(trajectory, READINGS[name], policy)
            result.append(examine(claim, runs[number, name]))
    return [verdict for verdict in result if verdict.status is not Status.NOT_APPLICABLE]


def _affordable(experiment: Experiment, limit: float) -> Trajectory | None:
    """The exact expectations of an experiment, or None: not applicable, too costly, or growing without bound."""
    if not_applicable(experiment) is not None or work(experiment) > limit:
        return None
    try:
        return simulate(experiment, exact=True)
    except DivergedError:  # rare large paths can make expectations grow where every sampled path stays small
        return None


def _with_skew(claim: Claim, run: MeasuredRun, value: float) -> tuple[Claim, MeasuredRun]:
    """The claim, with one symbol for every smallest skew, and the run with that skew at ``value``."""
    constants = {**run.constants, "rho_bar": replace(run.constants["rho_bar"], value=value)}
    run, same = replace(run, constants=constants), {symbols.rho_pairs: symbols.rho_bar}
    if symbols.rho_pairs.name not in claim.symbols:
        return claim, run
    terms = {name: sp.sympify(term).subs(same) for name, term in claim.terms.items()}
    return replace(claim, lhs=sp.sympify(claim.lhs).subs(same), terms=terms), run


def _difference(claim: Claim, run: MeasuredRun) -> sp.Expr:
    """lhs - rhs in the run's reading."""
    left, right, _ = claim.sides(run.reading)
    return difference(left, right)


def _over_skews(
    claim: Claim, run: MeasuredRun, verdict: Verdict, sides: Sequence[empirical.Comparison], low: float, high: float
) -> Verdict:
    """``verdict`` with the status that is right for every rho_bar in [low, high], by interval arithmetic."""
    edges = np.linspace(low, high, CELLS + 1)
    cell = edges[:-1, None], edges[1:, None]
    measurement = run.measurement(claim.symbols)
    formula = substitution(claim, run.reading, measurement)
    ranges: dict[str, Range] = {name: (np.asarray(value, dtype=float),) * 2 for name, value in formula.values.items()}
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        below, above = bounds(formula.difference, ranges | dict.fromkeys(SMALLEST_SKEWS, cell))
    below, above = (np.broadcast_to(side, (CELLS, len(measurement.times(claim.scope)))) for side in (below, above))
    below, above = (side[:, np.isin(measurement.times(claim.scope), sides[0].times)] for side in (below, above))
    rounding = np.maximum(sides[0].rounding, sides[1].rounding).max(axis=0)
    allowed = np.minimum(sides[0].allowed, sides[1].allowed)
    wrong, right = wrong_and_right(claim.kind, below, above, rounding, allowed)
    untested = np.logical_and.reduce([side.untested(*[(side.lhs - side.rhs)[0]] * 2) for side in sides])
    where = f"for every rho_bar in [{low:.4g}, {high:.4g}]"
    refuted = np.atleast_1d(wrong.any(axis=1).all())
    status, grounds = conclude(claim, run, refuted, np.atleast_1d(right.all(axis=0)), untested)
    if status is Status.UNDECIDED and not grounds:
        where = f"not decided {where}"
    detail = f"{verdict.detail}; {where}{grounds}; {TOTAL}"
    return replace(verdict, status=status, detail=detail)


def bounds(expression: sp.Expr, ranges: Mapping[str, Range]) -> Range:
    """The natural interval extension: numbers below and above a sympy expression while its symbols vary.

    Each symbol in its own range (arrays that broadcast); what is not known how to bound is unbounded.
    """
    if expression.is_Symbol:
        return ranges[expression.name]
    if expression.is_number:
        return (np.asarray(float(expression)),) * 2
    parts = [bounds(argument, ranges) for argument in expression.args]
    lows, highs = [part[0] for part in parts], [part[1] for part in parts]
    if expression.is_Add:
        return sum(lows[1:], lows[0]), sum(highs[1:], highs[0])
    if isinstance(expression, sp.Max | sp.Min):
        pick = np.maximum if isinstance(expression, sp.Max) else np.minimum
        return functools.reduce(pick, lows), functools.reduce(pick, highs)
    if expression.is_Mul:
        return functools.reduce(lambda result, part: _hull([a * b for a in result for b in part]), parts)
    if expression.is_Pow and expression.exp.is_Integer:
        return _power(parts[0], int(expression.exp))
    return np.asarray(-np.inf), np.asarray(np.inf)


def _hull(corners: Sequence[Array]) -> Range:
    """The smallest interval around values; where one is not a number (0 times infinity) anything may be."""
    stacked = np.stack(np.broadcast_arrays(*corners))
    unknown = np.isnan(stacked).any(axis=0)
    return np.where(unknown, -np.inf, stacked.min(axis=0)), np.where(unknown, np.inf, stacked.max(axis=0))


def _power(base: Range, exponent: int) -> Range:
    low, high = base
    if exponent < 0:
        inside = (low <= 0) & (high >= 0)
        return _power((np.where(inside, -np.inf, 1 / high), np.where(inside, np.inf, 1 / low)), -exponent)
    low, high = np.asarray(low**exponent), np.asarray(high**exponent)
    if exponent % 2 == 0:
        straddles = (base[0] < 0) & (base[1] > 0)
        return np.where(straddles, 0.0, np.minimum(low, high)), np.maximum(low, high)
    return low, high
