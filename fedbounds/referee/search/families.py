"""How much a search may spend, and which families it tries: those that can meet the assumptions, simplest first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import penalty
from fedbounds.evidence.exact.outcomes import run
from fedbounds.referee.search.dynamics import simulate_batch
from fedbounds.referee.search.family import Batch, Family, decode
from fedbounds.referee.search.shrink import DENOMINATORS, round_to
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

# Members of a family looked at to see whether it can meet a claim's assumptions at all, steps apart.
TRIED = 64
OF_STEPS = frozenset({"eta", "eta_0", "eta_ratio", "t"})
# Outcomes of chance that a family may have: each is run, so that expectations are exact up to rounding.
MAX_COUNT = 64
# Beyond this many steps only closed forms are run.
LOOPED = 60
# (tau, rounds) tried for claims about one step, about every horizon, and about constants. The longest are 2 gamma
# steps at L/mu = 100: there bounds with a negative constant term fail.
LENGTHS = {
    "point": ((1, 1), (2, 1)),
    "step": ((1, 1), (2, 1), (3, 1), (2, 2), (10, 1)),
    "horizon": ((1, 1), (2, 1), (1, 8), (3, 4), (1, 60), (4, 10), (1, 800)),
    "constant": ((1, 1), (1, 2), (2, 1), (1, 6)),
}


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


def families(claim: Claim, reading: Reading, budget: Budget) -> list[Family]:
    """The families worth searching, simplest first: those that can meet the claim's assumptions."""
    schedules = (
        ("paper", "free") if claim.steps is None else ("start" if claim.steps.has(symbols.eta_0) else "claim",)
    )
    # One instance tells what depends on the family alone; only where none is left are all asked.
    found = next((found for count in (1, TRIED) if (found := _tried(claim, reading, budget, schedules, count))), [])
    none = Family(budget.clients[0], budget.dimensions[0], *LENGTHS[claim.scope][0], "fedavg", schedules[0])
    return sorted(
        found or [none], key=lambda f: (f.total > LOOPED, f.schedule == "free", f.chance, f.N * f.d, f.total)
    )


def _tried(claim: Claim, reading: Reading, budget: Budget, schedules: Sequence[str], count: int) -> list[Family]:
    """The families of which one of ``count`` instances meets every assumption."""
    found = []
    for N, d, (tau, rounds) in itertools.product(budget.clients, budget.dimensions, LENGTHS[claim.scope]):
        for noise, absent in itertools.product((False, True), range(N)):
            shape = Family(N, d, tau, rounds, "fedavg", schedules[0], noise=noise, absent=absent)
            steps = schedules[-1:] if shape.chance else schedules  # free steps hold those of the paper
            if shape.chance and (d > min(budget.dimensions) or shape.count > MAX_COUNT):
                continue
            kinds = itertools.product(_kinds(claim, reading, shape, count), steps)
            found += [replace(k, schedule=s) for k, s in kinds if k.total <= LOOPED or (k.straight and s != "free")]
    return found


def _kinds(claim: Claim, reading: Reading, shape: Family, count: int) -> list[Family]:
    """The weightings under which some instance meets the assumptions; losses apart, p free where they may be."""
    assumed = [a for a in claim.assumptions_in(reading) if a.symbols().isdisjoint(OF_STEPS)]
    asked = [a for a in opaque(claim, reading) if a in assumed]
    several = any("m" in a.symbols() for a in assumed)
    greedy = ["fedmax", *(f"fedmax:{k}" for k in range(2, shape.N) if several)]
    # A client alone has all weight, whatever the weighting.
    choices = (["fedavg"],) if shape.present == 1 else ([*greedy, "fixed"], ["fedavg"])
    # Clients with one loss need a second coordinate for L > mu.
    shapes = (shape, replace(shape, homogeneous=True), replace(shape, homogeneous=True, alike=True, d=shape.d + 1))
    for form, equal, weightings in itertools.product(shapes, (False, True), choices):
        if form.alike and weightings is not choices[-1]:
            continue  # they tie at the start of every round
        kinds = [replace(form, weighting=w, equal=equal) for w in weightings]
        possible = [kind for kind in kinds if _possible(claim, reading, assumed, kind, asked, count)]
        if possible:
            return possible
    return []


def _possible(
    claim: Claim,
    reading: Reading,
    assumed: Sequence[Assumption],
    family: Family,
    asked: Sequence[Assumption],
    count: int,
) -> bool:
    """Whether some of a few instances of a family meets what is assumed of losses and weights."""
    batch = examples(family, claim)
    values = simulate_batch(batch).measurement(batch, reading).constants
    near = np.flatnonzero(penalty(assumed, values, TRIED) == 0)[:count]
    return bool(len(near)) and any(told(asked, claim, reading, batch, k) for k in near)


def examples(family: Family, claim: Claim) -> Batch:
    """A few instances of a family, always the same."""
    return decode(family, np.random.default_rng(0).random((TRIED, family.dimension)), claim)


def opaque(claim: Claim, reading: Reading) -> list[Assumption]:
    """What a claim assumes that is no relation of symbols, so that no penalty leads a search to it."""
    return [a for a in claim.assumptions_in(reading) if a.exactly is not None and not a.parts]


def told(asked: Sequence[Assumption], claim: Claim, reading: Reading, batch: Batch, k: int) -> bool:
    """Whether member k of a population, one step long, meets assumptions that are no relation of symbols."""
    if not asked:
        return True
    family = replace(batch.family, tau=1, rounds=1, schedule="free")
    own = {name: getattr(batch, name)[k : k + 1] for name in ("curvatures", "minima", "p", "w0", "noise")}
    # Step sizes play no part, and one of 1 survives rounding.
    one = replace(batch, family=family, eta=np.ones((1, 1)), weights=batch.weights[k : k + 1, :1], **own)
    try:
        instance = round_to(one, claim, DENOMINATORS[-1])
        values = run(instance).constants(reading.skew)
    except InputError:
        return False
    return all(a.exactly(instance, values)[0] for a in asked if a.exactly is not None)
