"""What claims need of an experiment: the one form in which every engine hands over what it measured."""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbounds.theory.symbols import Scope, in_scope

V = TypeVar("V")


class OnDemand(Mapping[str, V]):
    """Values by name, each computed when it is first looked up: a claim names few of those that a run has."""

    def __init__(self, formulas: Mapping[str, Callable[[], V]]) -> None:
        self._formulas = formulas
        self._values: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        if name not in self._values:
            self._values[name] = self._formulas[name]()
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._formulas  # Mapping's own would compute the value

    def __iter__(self) -> Iterator[str]:
        return iter(self._formulas)

    def __len__(self) -> int:
        return len(self._formulas)


def first_of(*mappings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of each name the value in the first mapping that has it; none is computed before it is looked up."""
    return ChainMap(*mappings)  # type: ignore[arg-type]


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

    def varying(self, scope: Scope) -> Mapping[str, V]:
        """Symbol name -> its values at every place of a scope, the constants left out."""
        sources = in_scope(scope).items()
        recorded = OnDemand({name: partial(self.field, scope, source) for name, source in sources})
        return first_of(self.quantities, recorded)
