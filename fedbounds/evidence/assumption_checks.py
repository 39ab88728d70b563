"""Whether an experiment meets an assumption: on a run, in fractions, or by how much a population misses it.

Each answer is None where the assumption cannot be expressed there: it has neither a facet nor a relation in symbols
that have values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from operator import eq, le, lt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbounds.engine.expectations import ENGINE as EXPECTATIONS
from fedbounds.engine.replay import replay
from fedbounds.evidence.ball_arithmetic import compared
from fedbounds.evidence.evaluate import Array, Measurement, Numbers, evaluate, first_of
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.evidence.quantity_values import EXTREMES, Values
from fedbounds.evidence.quantity_values import values as quantity_values
from fedbounds.theory.assumption import Answer, Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.constant import Constant, Provenance
from fedbounds.theory.quantity import Path, Scope
from fedbounds.theory.verdict import Failure

NO_TIME = "at no time of the run"
# A search in floating point stays this far, relatively, on the right side of a relation.
NEGLIGIBLE = 1e-9


class Unmet(NamedTuple):
    """Assumptions of a claim that ``failed``, and keys of those that cannot be expressed, which are ``unknown``."""

    failed: tuple[Failure, ...] = ()
    unknown: tuple[str, ...] = ()


def on_run(assumption: Assumption, run: MeasuredRun) -> Answer | None:
    """The assumption on a run: its own check, or its relation at every step."""
    if assumption.on_run is not None:
        return Answer(*assumption.on_run(run))
    return in_floats(assumption, run.at_every_step(assumption.symbols()))


def in_floats(assumption: Assumption, values: Mapping[str, Numbers]) -> Answer | None:
    """The relation of an assumption in floating point, wherever the arrays of values range over."""
    names = sorted(_shown(assumption))
    if not assumption.parts or not values.keys() >= set(names):
        return None
    result = ""
    for part in assumption.parts:
        sides = failing_places(part, values, assumption.tolerance)
        wrong, left, right, *shown = np.broadcast_arrays(*sides, *(values[name] for name in names))
        # An equality is shown at the first step where it fails, an inequality at its worst.
        worst = int((wrong if part.sign == "=" else np.nan_to_num(left - right, nan=np.inf)).argmax())
        here = {name: value.flat[worst] for name, value in zip(names, shown, strict=True)}
        result = result or _words(assumption, part, here | {"left": left.flat[worst], "right": right.flat[worst]})
        if wrong.any():
            return Answer(False, result)
    return Answer(True, result)


def failing_places(part: Part, values: Mapping[str, Numbers], tolerance: float) -> tuple[Any, Array, Array]:
    """(where a relation fails, its left side, its right side), wherever the arrays of values range over."""
    left, right = evaluate(part.left, values), evaluate(part.right, values)
    slack = tolerance * np.maximum(np.abs(left), np.abs(right))
    holds = {"<": left < right, "<=": left <= right + slack, "=": np.abs(left - right) <= slack}[part.sign]
    return ~holds, left, right


def _shown(assumption: Assumption) -> frozenset[str]:
    """The symbols of a relation, and the step where it speaks of one."""
    used = assumption.symbols()
    return used | {"t"} if "eta" in used else used


def _words(assumption: Assumption, part: Part, values: Mapping[str, Any]) -> str:
    """What was found: the assumption's own words, or both sides of its relation."""
    return (assumption.observed or f"{part.left} = {{left:.4g}} against {{right:.4g}}").format(**values)


def unmet_assumptions(assumptions: Iterable[Assumption], answer: Callable[[Assumption], Answer | None]) -> Unmet:
    """The assumptions that are answered not to hold, and the keys of those that cannot be expressed."""
    answers = [(assumption, answer(assumption)) for assumption in assumptions]
    failed = [
        Failure(a.key, a.statement, given.observed) for a, given in answers if given is not None and not given.holds
    ]
    return Unmet(tuple(failed), tuple(assumption.key for assumption, given in answers if given is None))


def with_quantities_if_needed(claim: Claim, run: MeasuredRun) -> MeasuredRun:
    """The run with the claim's own symbols, which may cost a replay; as it is if an assumption without them fails."""
    return _with_quantities(claim, run, claim.assumptions_in(run.reading))


def _with_quantities(claim: Claim, run: MeasuredRun, assumed: Iterable[Assumption]) -> MeasuredRun:
    names = {symbol.name for symbol in claim.computed}
    plain = [a for a in assumed if not a.symbols() & names] if names else []
    unmet = unmet_assumptions(plain, lambda assumption: on_run(assumption, run))
    return run if unmet.failed else with_quantities(claim, run)


def judged_on(claim: Claim, run: MeasuredRun) -> Unmet:
    """The assumptions of a claim that a run does not meet, and those that cannot be expressed on it."""
    assumed, names = claim.assumptions_in(run.reading), {symbol.name for symbol in claim.computed}
    if any(assumption.symbols() & names for assumption in assumed):
        run = _with_quantities(claim, run, assumed)
    spoken = places_in_scope(claim.scope, assumed, run.measurement(claim.symbols))
    at_times = None if spoken is None else Answer(bool(spoken.any()), NO_TIME)
    return unmet_assumptions(assumed, lambda item: at_times if item.limits_times else on_run(item, run))


def places_in_scope(
    scope: Scope, assumed: Iterable[Assumption], measurement: Measurement[Any]
) -> NDArray[np.bool_] | None:
    """The places of a scope, in floats, at which those assumptions hold that limit its times, as T >= 1 does.

    Their shape is (m,), of a population (P, m), and (1,) where there is no such assumption. None where a symbol of
    one has no value.
    """
    values = first_of(measurement.varying(scope), measurement.constants)
    spoken = np.ones(1, dtype=bool)
    for item in assumed:
        if item.limits_times:
            if not item.symbols() <= values.keys():
                return None
            for part in item.parts:
                spoken = spoken & ~failing_places(part, values, item.tolerance)[0]
    return spoken


def in_fractions(assumption: Assumption, every_values: Iterable[Mapping[str, Fraction]]) -> Answer | None:
    """The relation of an assumption at every place, exactly: values of the symbols, one mapping a step."""
    if not assumption.parts:
        return None
    grounds = ""
    for values in every_values:
        if not assumption.symbols() <= values.keys():
            return None
        for part in assumption.parts:
            both = compared(part.left, part.right, values)
            if both is None:
                return None
            left, right = both
            holds = {"<": lt, "<=": le, "=": eq}[part.sign](left, right)
            if not holds or not grounds:
                numbers = {name: float(values[name]) for name in _shown(assumption)}
                grounds = _words(assumption, part, numbers | {"left": float(left), "right": float(right)})
            if not holds:
                return Answer(False, grounds)
    return Answer(True, grounds)


def penalty(assumptions: Iterable[Assumption], values: Mapping[str, Numbers], size: int) -> Array:
    """How far a population (``size``,) is from meeting assumptions: 0 where all relations hold.

    ``values`` maps symbols to (size, 1) or (size, T). What has no relation in these symbols counts nothing: whoever
    confirms an instance exactly has to check it.
    """
    total = np.zeros(size)
    for assumption in assumptions:
        if assumption.limits_times or not assumption.symbols() <= values.keys():
            continue
        for part in assumption.parts:
            left, right = evaluate(part.left, values), evaluate(part.right, values)
            scale = np.where(right != 0, np.abs(right), np.abs(left))
            strict = part.sign == "<"
            with np.errstate(invalid="ignore"):  # with what is undefined none but <= holds
                away = np.abs(left - right) if part.sign == "=" else left - right
                excess = np.where(scale > 0, away / np.where(scale > 0, scale, 1.0), 1.0 if strict else 0.0)
            excess = np.nan_to_num(excess, nan=1.0) if part.sign == "=" or strict else excess
            beyond = np.maximum(excess + (NEGLIGIBLE if strict else -NEGLIGIBLE), 0)
            total = total + np.broadcast_to(beyond.reshape(-1, beyond.shape[-1]).max(axis=1), (size,))
    return total


def steps_of(constants: Mapping[str, Fraction], eta: Iterable[Fraction]) -> Iterator[Mapping[str, Fraction]]:
    """The places of a relation in symbols of a step: the constants with t and eta_t, one a step."""
    for t, size in enumerate(eta):
        yield first_of({"t": Fraction(t), "eta": size}, constants)


# Iterates that are kept at once at most, in numbers (256 MB).
MOST_ENTRIES = 2**25


def with_quantities(claim: Claim, run: MeasuredRun) -> MeasuredRun:
    """The run with the values of the claim's own symbols, at the times of its scope."""
    wanted = frozenset(claim.computed)
    if run.evaluated == (wanted, claim.scope) or not (wanted or run.evaluated):
        return run
    if run.evaluated is not None:  # what another claim had measured, or lacked, is not this one's
        gone = {symbol.name for symbol in run.evaluated[0]}
        constants = {name: constant for name, constant in run.constants.items() if name not in gone}
        run = replace(run, constants=constants, quantities=Values(), evaluated=None)
    if not wanted:
        return run
    experiment, times = run.trajectory.experiment, run._times(claim.scope)
    losses, eta = experiment.problem, run.trajectory.eta
    unknown = {symbol for symbol in wanted if symbol.statistic in EXTREMES and run.trajectory.random}
    result = quantity_values(claim, losses, Path(experiment.tau, eta), lambda: _paths(run), unknown)
    for symbol in unknown:
        result.lacking[symbol.name] = (
            f"the {symbol.statistic} on any path is not known from the paths that were drawn"
        )
    constants = {
        symbol.name: Constant(float(result.constants[symbol.name]), Provenance.EXACT, symbol.meaning)
        for symbol in wanted
        if symbol.name in result.constants
    }
    fields = {name: np.asarray(rows, dtype=float)[..., times] for name, rows in result.fields.items()}
    quantities = replace(result, fields=fields)
    constants = {**run.constants, **constants}
    return replace(run, constants=constants, quantities=quantities, evaluated=(wanted, claim.scope))


def _paths(run: MeasuredRun) -> list[tuple[None, Path]]:
    """Every repetition's path. Raises ValueError where there is none."""
    experiment, eta = run.trajectory.experiment, run.trajectory.eta
    entries = experiment.replicates * len(eta) * experiment.problem.N * experiment.problem.d
    if run.trajectory.engine == EXPECTATIONS:
        raise ValueError("exact expectations have no paths")
    if entries > MOST_ENTRIES:
        raise ValueError("the iterates of this run are not kept: it is too large")
    models, *others = replay(experiment)
    rows = zip(models[run.reading.virtual], *others, strict=True)
    losses = experiment.problem
    return [(None, Path(experiment.tau, eta, losses, w, X, alpha, X_next=last)) for w, X, alpha, last in rows]
