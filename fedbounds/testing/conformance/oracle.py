"""Is a round function the algorithm it is meant to be? Its next states against their exact law, found by enumeration.

The laws are those of `fedbounds.testing.conformance.law`. The comparison's error rate holds at every number of
samples, as the exact variances and ranges are known. Every sample must be one of the outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from fedbounds.errors import quoted, reject
from fedbounds.model.algorithm import Algorithm, State
from fedbounds.model.problem import Array
from fedbounds.plugins import algorithm_named
from fedbounds.testing.conformance.law import ROUNDING, Task, flat, law, tasks
from fedbounds.testing.conformance.slips import slips

# Values at which a parameter equals its square, its complement, or nothing at all.
HIDING = (0.0, 0.5, 1.0)

RoundFunction = Callable[[State, Task, np.random.Generator], Mapping[str, Array]]


@dataclass(frozen=True)
class Conformance:
    """Whether a round function is the ``algorithm``: true where no task told them apart.

    ``differences`` task -> what differs there; ``slips`` the known slips that the function's states fit;
    ``parameters`` name -> value of the algorithm, at which alone it was asked.
    """

    algorithm: str
    tried: tuple[str, ...]
    differences: Mapping[str, str]
    slips: tuple[str, ...]
    samples: int
    error_rate: float
    parameters: Mapping[str, float]

    def __bool__(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        on = f"{len(self.tried)} tasks ({'; '.join(self.tried)})"
        if self:
            rounds = f"{self.samples} rounds each where they are random"
            return f"Nothing tells it from {self.algorithm} on {on}, {rounds}.{self._asked()}"
        task, said = next(iter(self.differences.items()))
        known = (
            f" It does what happens where {', or '.join(self.slips)}." if self.slips else " No known slip does that."
        )
        wrongly = f"A right one is told so at most once in {1 / self.error_rate:g}."
        return f"It is not {self.algorithm}: on {task}, {said}.{known} {wrongly}"

    def _asked(self) -> str:
        """At which parameters it was asked, and which of them may be used wrongly unseen."""
        if not self.parameters:
            return ""
        at = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        hiding = [name for name, value in self.parameters.items() if value in HIDING]
        unseen = f"; a wrong use of {' and '.join(hiding)} may not show there" if hiding else ""
        return f" It was asked at {at} only{unseen}."


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

    ``state`` is a dictionary of arrays: "w" (d,), the server's model, and the algorithm's own, c (d,) and c_i (N, d)
    for SCAFFOLD; ``task`` is a `Task`, which holds the data and the settings. A right function is called wrong with
    probability ``error_rate`` at most, by Bernstein's inequality over ``samples`` independent rounds; that no
    difference was found does not prove that there is none. ``full``, ``batches`` and ``partial`` set to False leave
    out the rounds on all samples, on drawn ones, and of some of the clients, where an implementation has none.

    >>> def averaging(state, task, rng):
    ...     models = [state["w"].copy() for _ in task.targets]
    ...     for i, x in enumerate(models):
    ...         for _ in range(task.tau):
    ...             x -= task.eta * task.gradient(i, x)
    ...     return {"w": sum(models) / len(models)}
    >>> found = conforms(averaging, "fedavg", batches=False, partial=False)
    >>> bool(found), "clients are weighted equally, not by p" in found.slips
    (False, True)
    """
    algorithm = algorithm_named(algorithm) if isinstance(algorithm, str) else algorithm
    _check(function, algorithm, samples, seed, error_rate)
    if not (full or batches):
        raise reject("there must be a round to try", "full=False and batches=False", "leave one of them true")
    begun = tasks(algorithm, full, batches, partial)
    rate, known = error_rate / len(begun), slips(algorithm)
    differences, fitting = {}, set(known)
    for number, (task, state) in enumerate(begun):
        exact = law(algorithm, task, state)
        count = samples if len(exact.outcomes) > 1 else 2
        rng = np.random.default_rng([seed, number])
        found = [_one(function, task, state, rng) for _ in range(count)]
        states = {name: np.stack([one[name] for one in found]) for name in state}
        vectors = flat(states, state)
        said = exact.against(vectors, rate)
        left = np.abs(algorithm.zero(states, task.problem.p))
        if left.size and left.max() > ROUNDING * max(1.0, np.abs(vectors).max()):
            said += f"; {algorithm.invariant} is {left.max():.3g}, and should be zero"
        if said:
            differences[task.name] = said.removeprefix("; ")
        fitting = {words for words in fitting if _fits(known[words], task, state, vectors, rate)}
    named = tuple(words for words in known if words in fitting) if differences else ()
    tried = tuple(task.name for task, _ in begun)
    return Conformance(algorithm.key, tried, differences, named, samples, error_rate, _parameters(algorithm))


def _parameters(algorithm: Algorithm) -> dict[str, float]:
    """The real parameters of an algorithm; its options are choices, not numbers."""
    real = [field.name for field in fields(cast(Any, algorithm)) if field.type in (float, "float")]
    return {name: getattr(algorithm, name) for name in real}


def _fits(slip: Algorithm, task: Task, state: State, found: Array, rate: float) -> bool:
    """Whether the states found may be those of the slip; a step too few of one, or too many, is not asked for."""
    if task.tau == 1 and getattr(slip, "spare", 0) != 0:
        return True
    return not law(slip, task, state).against(found, rate)


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


def _one(function: RoundFunction, task: Task, state: State, rng: np.random.Generator) -> dict[str, Array]:
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
        found = np.asarray(value)
        # Casting a complex array, or text that reads as a number, would go through.
        if found.dtype.kind not in "biufO":
            raise TypeError
        found = found.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise reject(what, quoted(value), remedy) from None
    if found.shape != shape:
        raise reject(what, f"one of shape {found.shape}", remedy)
    if not np.all(np.isfinite(found)):
        raise reject(what, f"one with {np.sum(~np.isfinite(found))} entries that are infinite or no numbers", remedy)
    return found
