"""The smallest proved bound on FedAvg at given constants, and the rounds after which it reaches a target.

Every claim is evaluated at every tau and at constant steps from 1e-9/L to 2/L, or at the decreasing steps it states.
A bound on ||w_T - w*||^2 bounds F(w_T) - F* by L/2 times it; one on F(w_T) - F* bounds the distance by 2/mu times it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.assumption_checks import failing_places
from fedbounds.evidence.ball_arithmetic import upper
from fedbounds.evidence.evaluate import Array, evaluate
from fedbounds.evidence.sdp.one_step.parameters import round_setting
from fedbounds.plugins import claims
from fedbounds.study.ledger import Line, ledger_lines
from fedbounds.study.problem_constants import Measure, ProblemConstants
from fedbounds.study.worst_case_and_theorems import FACTORS
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import sample_smooth
from fedbounds.theory.claim import Claim, Kind, OwnSteps, Role
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

# How a formula becomes numbers (`evaluate` or `upper`), tau (n, 1), steps (n, m) -> bounds (n, m).
BoundOfSteps = Callable[[Callable[..., Array], Array, Array], Array]
# A plan of more rounds is none.
MOST_ROUNDS = 10**9
# A constant step equals the one that a claim states, up to rounding.
SAME_STEP = 1e-12
# Assumptions on a class are examined at this L/mu at least, as at 1 it has one function, and for so many clients.
LEAST_KAPPA, MOST_CLIENTS = 1.0001, 100
# The search over steps: the smallest step in units of 1/L; points of a grid, refinements, and their factor.
SMALLEST_STEP, POINTS, REFINEMENTS, REFINED_BY = 1e-9, 61, 10, 0.15
# The same in interval arithmetic, which takes a thousand times as long, and the values of tau tried there.
SURE_POINTS, SURE_REFINEMENTS, SURE_TAUS = 21, 6, 9
# Floats that are off by more than this, relatively, may have chosen a step at which they err.
TRUSTED = 1e-6
# Digits of a step as it is printed.
STEP_DIGITS = 6


@dataclass(frozen=True)
class SmallestBound:
    """A claim's smallest bound, with its ``tau`` and constant ``step`` (None: the steps it states); or the ``reason``
    why it gives none.

    ``support``: "proved" by a derivation or Rocq, "derived" by a proof in text.
    """

    claim: str
    reading: str
    support: str
    bound: float | None = None
    tau: int | None = None
    step: float | None = None
    step_formula: str = ""
    rounds: int | None = None
    reason: str = ""


def smallest_bounds(constants: ProblemConstants, extra: Iterable[ModuleType] = ()) -> tuple[SmallestBound, ...]:
    """Every claim about the measure: the smallest bound first, at the end the claims that give none."""
    return _sorted(_smallest(candidate, constants) for candidate in _candidates(constants.measure, extra))


def plan(constants: ProblemConstants, target: float, extra: Iterable[ModuleType] = ()) -> tuple[SmallestBound, ...]:
    """The rounds after which each claim's bound, at its best tau and step, is at most ``target``; fewest first.

    Rounds are doubled until the bound reaches the target, then bisected. Raises InputError unless target > 0.
    """
    if not 0 < target < math.inf:
        raise reject("the target must be a positive number", target, "give for example 0.01")

    def fewest(candidate: Line | SmallestBound) -> SmallestBound:
        return _fewest_rounds(lambda rounds: _smallest(candidate, replace(constants, rounds=rounds)), target)

    return _sorted(map(fewest, _candidates(constants.measure, extra)))


def _sorted(bounds: Iterable[SmallestBound]) -> tuple[SmallestBound, ...]:
    def key(row: SmallestBound) -> tuple[bool, int, float, str]:
        return row.bound is None, row.rounds or 0, math.inf if row.bound is None else row.bound, row.claim

    return tuple(sorted(bounds, key=key))


def _fewest_rounds(bound_after: Callable[[int], SmallestBound], target: float) -> SmallestBound:
    def reaches(result: SmallestBound) -> bool:
        return result.bound is not None and result.bound <= target

    high, result = 1, bound_after(1)
    while not reaches(result):
        if result.bound is None or high > MOST_ROUNDS:
            least = "" if result.bound is None else f"after {high:.0e} rounds it is still {result.bound:.3g}"
            return replace(result, bound=None, tau=None, step=None, step_formula="", reason=result.reason or least)
        high *= 2
        result = bound_after(high)
    rounds = bisect_left(range(high), True, lo=high // 2 + 1, key=lambda count: reaches(bound_after(count)))
    return replace(bound_after(rounds), rounds=rounds)


def unverifiable_assumptions(extra: Iterable[ModuleType] = ()) -> frozenset[str]:
    """Keys of the assumptions that neither a constant nor the class of smooth, strongly convex functions shows."""
    available = claims(extra).values()
    every = [*(c.assumptions for c in available), *(c.repair.assumptions for c in available if c.repair)]
    return frozenset(item.key for items in every for item in items if not item.parts and item.in_class is None)


def _candidates(measure: Measure, extra: Iterable[ModuleType]) -> list[Line | SmallestBound]:
    """The claims about the measure, each in its best supported reading, or the reason why it is not used."""
    about = {symbols.gap, symbols.Delta_T}
    wanted = {key: c for key, c in claims(extra).items() if c.lhs in about and c.kind is Kind.INEQUALITY}
    lines = ledger_lines(wanted)
    return [_candidate(claim, [line for line in lines if line.claim is claim]) for claim in wanted.values()]


def _candidate(claim: Claim, lines: list[Line]) -> Line | SmallestBound:
    unused = SmallestBound(claim.key, claim.readings[0], "")
    if not claim.on_fedavg:
        return replace(unused, reason=f"it is about {claim.algorithm}")
    unrefuted = [line for line in lines if line.reading in claim.readings and not line.under(Status.REFUTED)]
    supported = [line for line in unrefuted if support_of(line)]
    if supported:
        return min(supported, key=lambda line: support_of(line) != "proved")
    return replace(unused, reason="neither proved nor derived in this package" if unrefuted else "refuted")


def support_of(line: Line) -> str:
    """ "proved" by a derivation or in Rocq, "derived" in text, or nothing."""
    kinds = (Evidence.SYMBOLIC, Evidence.KERNEL)
    if any(verdict.status is Status.HOLDS for kind in kinds for verdict in line.verdicts(kind)):
        return "proved"
    return "derived" if Role.DERIVED in line.claim.roles else ""


def _smallest(candidate: Line | SmallestBound, constants: ProblemConstants) -> SmallestBound:
    """A claim's smallest bound over tau and constant steps."""
    if isinstance(candidate, SmallestBound):
        return candidate
    claim = candidate.claim
    unused = SmallestBound(claim.key, candidate.reading, support_of(candidate))
    values: dict[str, Any] = {**constants.values(), "tau": constants.taus, "T": constants.rounds * constants.taus}
    missing = sorted(claim.symbols - {*values, *map(str, claim.definitions), "eta_0", str(claim.lhs)})
    if missing:
        return replace(unused, reason=f"needs {', '.join(missing)}")
    decreasing = claim.steps is not None and claim.steps.has(symbols.t)
    if reason := _inapplicable(claim, candidate.reading, constants, values):
        return replace(unused, reason=reason)

    def bounds(by: Callable[..., Array], tau: Array, **eta: Array) -> Array:
        at = {**values, "tau": tau, "T": constants.rounds * tau} | eta
        return _bounds(candidate, constants, at | (_decreasing_steps(claim, at) if decreasing else {}), by)

    if decreasing:
        row = int((bounds(evaluate, constants.taus) + 0 * constants.taus).argmin())
        value, tau, step = float(bounds(upper, constants.taus[[row]]).min()), int(constants.taus[row, 0]), None
    else:
        value, tau, step = best_step(
            lambda by, tau, eta: bounds(by, tau, eta_0=eta, eta=eta), constants.taus, constants.L
        )
    if not math.isfinite(value):
        return replace(unused, reason="its assumptions allow no step and tau here")
    return replace(unused, bound=value, tau=tau, step=step, step_formula=f"eta_t = {claim.eta}")


def _bounds(line: Line, constants: ProblemConstants, values: Mapping[str, Any], by: Callable[..., Array]) -> Array:
    """The claim's bound on the measure, evaluated ``by``; infinite where an assumption fails."""
    claim, reading = line.claim, READINGS[line.reading]
    with np.errstate(all="ignore"):
        bound = by(FACTORS.get((constants.measure, claim.lhs), sp.S.One) * claim.sides(reading).rhs, values)
        for assumption in claim.assumptions_in(reading):
            if isinstance(assumption, OwnSteps):
                if "eta_0" in values:
                    away = np.abs(evaluate(claim.steps, values) - values["eta_0"])
                    bound = np.where(away > SAME_STEP * values["eta_0"], np.inf, bound)
                continue
            for part in assumption.parts:
                bound = np.where(failing_places(part, values, assumption.tolerance)[0], np.inf, bound)
    return np.where(np.isfinite(bound), bound, np.inf)


def _decreasing_steps(claim: Claim, values: Mapping[str, Any]) -> dict[str, Array]:
    """eta and the largest ratio of two steps of a round, for steps c/(t + b): both are largest at the start."""
    first, last = (evaluate(claim.steps, {**values, "t": t}) for t in (0.0, values["tau"] - 1))
    return {"eta": first, "eta_ratio": first / last, "eta_growth": 0 * first + 1}


def _inapplicable(claim: Claim, reading: str, constants: ProblemConstants, values: Mapping[str, Any]) -> str:
    """Why constants do not show that a claim applies, or an empty string."""
    if claim.steps is not None and claim.steps.has(symbols.t):
        slope = sp.diff(1 / claim.steps, symbols.t)
        if slope.has(symbols.t) or not slope.is_positive:
            return f"its steps {claim.eta} are no c/(t + b)"
    assumed = {*constants.assumed} | ({sample_smooth.key} if constants.L_sample is not None else set())
    examined = (
        item
        for item in claim.assumptions_in(READINGS[reading])
        if not isinstance(item, OwnSteps) and (item.parts or item.key not in assumed)
    )
    return next(
        filter(None, (_not_shown(item, {"eta", "eta_ratio", "eta_growth", *values}, constants) for item in examined)),
        "",
    )


def _not_shown(assumption: Assumption, available: set[str], constants: ProblemConstants) -> str:
    """Why constants do not show an assumption; empty where they do, or where it depends on tau and step."""
    if assumption.parts:
        missing = sorted(assumption.symbols() - available)
        return f"{assumption.key} needs {', '.join(missing)}" if missing else ""
    if assumption.in_class is None:
        return f"no constant shows {assumption.key}: name it if it holds"
    kappa = max(Fraction(constants.L) / Fraction(constants.mu), Fraction(LEAST_KAPPA)).limit_denominator(10**6)
    clients = min(max(constants.N, 2), MOST_CLIENTS)
    holds, why = assumption.in_class(round_setting(clients=clients, tau=1, kappa=kappa, eta=Fraction(1, 2)))
    return "" if holds else f"{assumption.key}: {why}"


def best_step(bounds: BoundOfSteps, taus: Array, L: float) -> tuple[float, int, float]:
    """(smallest bound, tau, step): the bound is a float not below the formula's value, or infinite.

    Steps are searched in floats; where these err, again in interval arithmetic.
    """
    rough, tau, step = _refined(bounds, evaluate, taus, L, POINTS, REFINEMENTS)
    if not math.isfinite(rough):
        return rough, tau, step
    sure = float(bounds(upper, np.array([[float(tau)]]), np.array([[step]]))[0, 0]), tau, step
    if abs(sure[0] - rough) <= TRUSTED * sure[0] < math.inf:
        return sure
    few = np.unique(np.geomspace(1, len(taus), SURE_TAUS).astype(int)) - 1
    return min(sure, _refined(bounds, upper, taus[few], L, SURE_POINTS, SURE_REFINEMENTS))


def _refined(
    bounds: BoundOfSteps, by: Any, taus: Array, L: float, points: int, times: int
) -> tuple[float, int, float]:
    """On a grid of steps for each tau, refined around the best; the bound is that of the step as it is printed."""
    half = math.log(2 / SMALLEST_STEP) / 2
    best = np.full((len(taus), 1), math.log(SMALLEST_STEP) + half)
    for _ in range(times):
        logs = np.minimum(best + half * np.linspace(-1, 1, points), math.log(2))
        values = bounds(by, taus, np.exp(logs) / L)
        best, half = np.take_along_axis(logs, values.argmin(axis=1)[:, None], 1), half * REFINED_BY
    down = Context(prec=STEP_DIGITS, rounding=ROUND_FLOOR)
    steps = np.array([[float(down.create_decimal(Decimal(float(step))))] for step in np.exp(best[:, 0]) / L])
    last = bounds(by, taus, steps)
    row = int(last.argmin())
    return float(last[row, 0]), int(taus[row, 0]), float(steps[row, 0])
