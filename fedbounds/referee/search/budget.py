"""How much a search may spend, and what it costs to search a shape."""

from __future__ import annotations

from dataclasses import dataclass

from fedbounds.referee.search.family import InstanceFamily, Shape, dimension

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
