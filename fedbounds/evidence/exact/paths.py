"""The values of a claim's own symbols on an exact run, over every path that chance may take."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fedbounds.evidence.exact.instance import Instance, Vector
from fedbounds.evidence.exact.outcomes import State, step
from fedbounds.evidence.exact.record import VIRTUALS, ExactRun
from fedbounds.evidence.quantity_values import Quadratic, Values, values
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Path
from fedbounds.theory.reading import Reading


def quantity_values(claim: Claim, record: ExactRun, reading: Reading) -> Values:
    """The values of the claim's own symbols in a reading; none where they need paths that were not enumerated."""
    if not claim.computed:
        return Values()
    instance = record.instance
    c, m, p, eta = map(_objects, (instance.curvatures, instance.minima, instance.p, instance.eta))
    losses = Quadratic(c, m, p, instance.L, instance.mu)

    def paths() -> Iterator[tuple[Fraction, Path]]:
        if not record.points:
            raise ValueError("too many paths of chance")
        for chance, states, last in histories(instance):
            w = _objects([*(s.w[reading.virtual] for s in states), last])
            X, alpha = _objects([s.X for s in states]), _objects([s.alpha for s in states])
            yield chance, Path(instance.tau, eta, losses, w, X, alpha)

    return values(claim, losses, Path(instance.tau, eta), paths)


def histories(instance: Instance) -> Iterator[tuple[Fraction, list[State], Vector]]:
    """Every outcome with its probability: the state before each step, and the last global model."""

    def follow(r: int, w: Vector) -> Iterator[tuple[Fraction, list[State], Vector]]:
        if r == instance.rounds:
            yield Fraction(1), [], w
            return
        for group in instance.groups:
            p, alpha = instance.round_weights(r, instance.excess(w), group)
            first = State(dict.fromkeys(VIRTUALS, w), (w,) * instance.N, p, alpha)
            for chance, states in within(r * instance.tau, instance.tau, first):
                for later, rest, last in follow(r + 1, states[-1].w["alpha"]):
                    yield chance * later / len(instance.groups), states[:-1] + rest, last

    def within(t: int, left: int, state: State) -> Iterator[tuple[Fraction, list[State]]]:
        if not left:
            yield Fraction(1), [state]
            return
        for chance, after in step(instance, state, t):
            for later, rest in within(t + 1, left - 1, after):
                yield chance * later, [state, *rest]

    return follow(0, instance.w0)


def _objects(rows: Any) -> Any:
    """Nested tuples of fractions as a numpy array of objects."""
    return np.array(rows, dtype=object)
