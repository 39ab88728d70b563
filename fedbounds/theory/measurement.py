"""What claims need of an experiment: the one form in which every engine hands over what it measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.theory.symbols import Scope, in_scope

V = TypeVar("V")


@dataclass(frozen=True)
class Measurement(Generic[V]):
    """An experiment in one reading: its ``constants``, and what was measured at the places of each scope.

    ``times(scope)`` are the places' local steps (m,); ``field(scope, name)`` the values of a measured field there: of
    a run (R, m) or (m,), of a population (P, m), in fractions a sequence (m,). ``quantities``: the
    claim's own.
    """

    constants: Mapping[str, V]
    times: Callable[[Scope], Sequence[int] | NDArray[np.int64]]
    field: Callable[[Scope, str], V]
    quantities: Mapping[str, V] = made(default_factory=dict)

    def places(self, scope: Scope) -> dict[str, V]:
        """Symbol name -> its values at every place of a scope, the constants left out."""
        return {**{name: self.field(scope, source) for name, source in in_scope(scope).items()}, **self.quantities}
