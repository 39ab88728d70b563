"""Is a round function the algorithm it is meant to be? Its next states against their exact law, found by enumeration.

The laws are those of `fedbounds.testing.small_rounds`. A comparison has its error rate at every number of
samples, as the exact variances and ranges are known. Every sample must be one of the outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from fedbounds.errors import quoted, reject
from fedbounds.model.algorithm import Algorithm, State
from fedbounds.model.problem import Array
from fedbounds.plugins import algorithm_named
from fedbounds.testing.slips import slips
from fedbounds.testing.small_rounds import (
    ROUNDING,
    Task,
    equally_weighted,
    flat,
    law,
    state_after_two_rounds,
    tasks,
)

# Values at which a parameter equals its square, its complement, or nothing at all.
HIDING = (0.0, 0.5, 1.0)

RoundFunction = Callable[[State, Task, np.random.Generator], Mapping[str, Array]]


@dataclass(frozen=True)
class Conformance:
    """Whether a round function is the ``algorithm``: true where no task showed a difference.

    ``differences`` task -> what differs there; ``slips`` the known slips that the function's states fit;
    ``parameters`` name -> value of the algorithm, at which alone it was tried. ``undetected`` are the slips that
    would have passed too; ``equal_weights``: clients of unequal sizes are weighted equally.
    """

    algorithm: str
    tried: tuple[str, ...]
    differences: Mapping[str, str]
    slips: tuple[str, ...]
    samples: int
    error_rate: float
    parameters: Mapping[str, float]
    undetected: tuple[str, ...] = ()
    equal_weights: bool = False

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        if self:
            return (
                f"Nothing tells it from {self.algorithm} on {len(self.tried)} tasks ({'; '.join(self.tried)}), "
                f"{self.samples} rounds each where they are random.{self._limits()}"
            )
        task, difference = next(iter(self.differences.items()))
        named = (
            f"It does what happens where {', or '.join(self.slips)}." if self.slips else "No known slip does that."
        )
        rate = f"A right one is told so at most once in {1 / self.error_rate:g}."
        return f"It is not {self.algorithm}: on {task}, {difference}. {named} {rate}"

    def _limits(self) -> str:
        """What a pass does not show: other parameters, and the slips that pass too."""
        text = " It weights clients equally, whatever their sizes." if self.equal_weights else ""
        if self.parameters:
            values = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
            hiding = [name for name, value in self.parameters.items() if value in HIDING]
            unseen = f"; a wrong use of {' and '.join(hiding)} may not show there" if hiding else ""
            text += f" It was asked at {values} only{unseen}."
        if self.undetected:
            text += f" Not told apart from it here: {'; '.join(self.undetected)}."
        return text


def conforms(
    function: RoundFunction,
    algorithm: str | Algorithm,
    *,
    samples: int = 1000,
    seed: int = 0,
    error_rate: float = 1e-3,
    full: bool = True,
    batches: bool = True,
    partial: bool = True,
) -> Conformance:
    """Is ``function(state, task, rng) -> state`` one round of the algorithm?

    ``state`` maps "w" (d,) and the algorithm's own arrays; ``task`` is a `Task`. A right function is called wrong
    with probability ``error_rate`` at most, by Bernstein's inequality over ``samples`` independent rounds; that no
    difference was found does not prove that there is none. ``full``, ``batches`` and ``partial`` set to False leave
    out the rounds on all samples, on drawn ones, and of some of the clients.

    >>> def averaging(state, task, rng):
    ...     models = [state["w"].copy() for _ in task.targets]
    ...     for i, x in enumerate(models):
    ...         for _ in range(task.tau):
    ...             x -= task.eta * task.gradient(i, x)
    ...     return {"w": sum(models) / len(models)}
    >>> result = conforms(averaging, "fedavg", batches=False, partial=False)
    >>> bool(result), "clients are weighted equally, not by p" in result.slips
    (False, True)
    """
    algorithm = algorithm_named(algorithm) if isinstance(algorithm, str) else algorithm
    _check(function, algorithm, samples, seed, error_rate)
    if not (full or batches):
        raise reject("there must be a round to try", "full=False and batches=False", "leave one of them true")
    begun, every_slip = tasks(algorithm, full, batches, partial), slips(algorithm)
    rate, equal = error_rate / len(begun), False
    differences, fitting = {}, set(every_slip)
    for number, (task, state) in enumerate(begun):
        trials = [_Trial(function, algorithm, task, task, state, samples, rate)]
        if task.weights_may_be_equal:
            weighted = equally_weighted(task)
            start = state_after_two_rounds(algorithm, weighted, state["w"])
            trials.append(replace(trials[0], lawful=weighted, state=start))
        results = [trial.compare(np.random.default_rng([seed, number])) for trial in trials]
        if all(difference for _, difference in results):
            differences[task.name] = results[0][1]
        equal = equal or (bool(results[0][1]) and not results[-1][1])
        fitting = {
            words
            for words in fitting
            if any(
                trial.fits(every_slip[words], vectors) for trial, (vectors, _) in zip(trials, results, strict=True)
            )
        }
    fit = tuple(words for words in every_slip if words in fitting)
    named, undetected = (fit, ()) if differences else ((), fit)
    return Conformance(
        algorithm.key,
        tuple(task.name for task, _ in begun),
        differences,
        named,
        samples,
        error_rate,
        _real_parameters(algorithm),
        undetected,
        equal,
    )


@dataclass(frozen=True)
class _Trial:
    """A function on one task from one state; ``lawful`` is the task whose law its next states should have."""

    function: RoundFunction
    algorithm: Algorithm
    task: Task
    lawful: Task
    state: State
    samples: int
    error_rate: float

    def compare(self, rng: np.random.Generator) -> tuple[Array, str]:
        """The function's next states as vectors (S, D), and what tells them from the law."""
        exact = law(self.algorithm, self.lawful, self.state)
        count = self.samples if len(exact.outcomes) > 1 else 2
        after = [_next_state(self.function, self.task, self.state, rng) for _ in range(count)]
        states = {name: np.stack([state[name] for state in after]) for name in self.state}
        vectors = flat(states, self.state)
        difference = exact.difference(vectors, self.error_rate)
        left = np.abs(self.algorithm.zero(states, self.lawful.problem.p))
        if left.size and left.max() > ROUNDING * max(1.0, np.abs(vectors).max()):
            difference += f"; {self.algorithm.invariant} is {left.max():.3g}, and should be zero"
        return vectors, difference.removeprefix("; ")

    def fits(self, slip: Algorithm, vectors: Array) -> bool:
        """Whether the states may be those of the slip; of one step too few, or too many, one step says nothing."""
        if self.task.tau == 1 and getattr(slip, "spare", 0) != 0:
            return True
        return not law(slip, self.lawful, self.state).difference(vectors, self.error_rate)


def _real_parameters(algorithm: Algorithm) -> dict[str, float]:
    """The real parameters of an algorithm; its options are choices, not numbers."""
    real = [field.name for field in fields(cast(Any, algorithm)) if field.type in (float, "float")]
    return {name: getattr(algorithm, name) for name in real}


def _check(function: object, algorithm: object, samples: object, seed: object, error_rate: object) -> None:
    """Refuse what cannot be asked."""
    if not callable(function):
        raise reject("the round must be a function of state, task and rng", quoted(function), "give a callable")
    if not isinstance(algorithm, Algorithm):
        raise reject("the algorithm must be a name or an Algorithm", quoted(algorithm), "give one such as 'fedavg'")
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise reject(f"{name} must be a whole number of at least {least}", quoted(value), "give such a number")
    if not isinstance(error_rate, int | float | np.floating) or not 0 < error_rate < 1:
        raise reject("the error rate must lie between 0 and 1", quoted(error_rate), "give one such as 0.001")


def _next_state(function: RoundFunction, task: Task, state: State, rng: np.random.Generator) -> dict[str, Array]:
    """One call, of which every array of the state must come back in its shape, real and finite."""
    after: object = function({name: value.copy() for name, value in state.items()}, task, rng)
    if not isinstance(after, Mapping):
        raise reject(
            "the next state must be a dictionary of arrays", repr(after), f"return {', '.join(state)} in one"
        )
    return {name: _entry(name, after.get(name), value.shape) for name, value in state.items()}


def _entry(name: str, value: object, shape: tuple[int, ...]) -> Array:
    """One array of the next state."""
    what, remedy = f"{name} of the next state must be an array of shape {shape} of finite real numbers", "return it"
    if value is None:
        raise reject(what, "none", remedy)
    try:
        array = np.asarray(value)
        # Casting a complex array, or text that reads as a number, would go through.
        if array.dtype.kind not in "biufO":
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise reject(what, quoted(value), remedy) from None
    if array.shape != shape:
        raise reject(what, f"one of shape {array.shape}", remedy)
    if not np.all(np.isfinite(array)):
        raise reject(what, f"one with {np.sum(~np.isfinite(array))} entries that are infinite or no numbers", remedy)
    return array
