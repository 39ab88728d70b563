"""How much a search for counterexamples may spend."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """How much a search may spend: generations and restarts a family, which families, seconds of shrinking."""

    name: str
    generations: int
    population: int
    restarts: int
    clients: tuple[int, ...]
    dimensions: tuple[int, ...]
    polish: int
    shrink_seconds: float


BUDGETS = {
    b.name: b
    for b in (
        Budget("small", 40, 6, 1, (2,), (1,), 100, 4.0),
        Budget("medium", 150, 10, 2, (2, 3), (1, 2), 400, 30.0),
        Budget("large", 500, 15, 4, (2, 3, 4), (1, 2), 2000, 120.0),
    )
}
