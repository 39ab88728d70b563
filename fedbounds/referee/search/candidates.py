"""Which shapes a search tries: those that can meet the assumptions, cheapest first, a share for each family."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from fedbounds.errors import InputError
from fedbounds.evidence.assumption_checks import penalty
from fedbounds.evidence.exact.instance import no_fractions
from fedbounds.evidence.exact.population_measurement import Measured
from fedbounds.evidence.exact.run import needs_every_outcome
from fedbounds.evidence.quantity_values import Values
from fedbounds.plugins import user_weightings
from fedbounds.referee.search.family import (
    COINS,
    MANY_STEPS,
    InstanceFamily,
    Population,
    Shape,
    decode,
    dimension,
    families,
)
from fedbounds.referee.search.populations import (
    FIRST,
    MOST_PATHS,
    Budget,
    Scale,
    constants_of,
    cost,
    on_populations,
    scales,
    simulate,
    size,
)
from fedbounds.referee.search.shrink import round_to
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import with_replacement, without_replacement
from fedbounds.theory.claim import Claim
from fedbounds.theory.protocol_assumptions import assumed_weightings
from fedbounds.theory.reading import Reading

# Members of a shape looked at to see whether it can meet a claim's assumptions at all, steps apart.
TRIED = 64
# Costs within this power of two are the same: plain shapes then come first.
SAME_COST = 4
# And of which the constants are asked that the user computes; rounds of the instances looked at.
FEW, FEW_ROUNDS = 8, 2
# Denominators in an instance of which only the assumptions are asked.
CLOSE = 10**8
# Rounds of drawn clients: each has an axis of its outcomes, even of one, and arrays have 32 axes.
DRAWN_ROUNDS = 24
OF_STEPS = frozenset({"eta", "eta_0", "eta_ratio", "eta_growth", "t"})


@dataclass(frozen=True)
class Arm:
    """One shape searched with one objective."""

    shape: Shape
    scale: Scale = "change"

    @property
    def label(self) -> str:
        """A short name."""
        return f"{self.shape.label}{', ratio' * (self.scale == 'ratio')}"

    @property
    def group(self) -> tuple[str, bool]:
        """What has a share of the budget: a family, with noise or without."""
        return self.shape.family, bool(self.shape.noise)


def arms(
    claim: Claim,
    reading: Reading,
    budget: Budget,
    by_family: Mapping[str, InstanceFamily] | None = None,
    extra: Sequence[ModuleType] = (),
) -> list[Arm]:
    """What is worth searching, cheapest first: the shapes that can meet the claim's assumptions.

    Families, unless given, and weightings are those that are shipped, installed or of ``extra`` modules.
    """
    by_family = by_family or families(extra)
    # One instance tells what depends on the shape alone; only where none is left are all looked at.
    every = (_Criteria(claim, reading, user_weightings(extra), count, {}) for count in (1, TRIED))
    shapes = next((result for criteria in every if (result := _met(criteria, budget, by_family))), None)
    if shapes is None:
        family = by_family["diagonal"]
        shapes = [Shape(family.key, 2, 1, *family.lengths[claim.scope][0], "fedavg", _schedules(claim, family)[0])]
    ordered = sorted(shapes, key=lambda s: _cost(s, by_family[s.family]))
    every_arm = [Arm(shape, scale) for shape in ordered for scale in scales(claim)]
    costs = [cost(arm.shape, by_family[arm.shape.family], budget, FIRST, functions(claim)) for arm in every_arm]
    return _affordable_arms(every_arm, costs, budget.seconds / budget.rungs)


def functions(claim: Claim) -> int:
    """How many quantities of a claim are functions that each path of each instance is put to."""
    return sum(not on_populations(q) for q in claim.computed)


def _affordable_arms(every: list[Arm], costs: list[float], seconds: float) -> list[Arm]:
    """Of each family, with noise and without, the first arms that its share pays; then what the rest of all pays."""
    groups: dict[tuple[str, bool], list[int]] = {}
    for k, arm in enumerate(every):
        groups.setdefault(arm.group, []).append(k)
    chosen: set[int] = set()
    for group in groups.values():
        chosen.update(_paid(group, costs, seconds / len(groups)))
    left = seconds - sum(costs[k] for k in chosen)
    chosen.update(_paid([k for k in range(len(every)) if k not in chosen], costs, left))
    return [every[k] for k in sorted(chosen)] or every[:1]


def _paid(items: list[int], costs: list[float], seconds: float) -> list[int]:
    """The first of the items, as many as so many seconds pay."""
    spent = itertools.accumulate(costs[k] for k in items)
    return [k for k, total in zip(items, spent, strict=True) if total <= seconds]


def _cost(shape: Shape, family: InstanceFamily) -> tuple[int, bool, bool, int]:
    """What one instance costs about, plain shapes first among equals."""
    return size(shape).bit_length() // SAME_COST, family.key != "diagonal", shape.random, dimension(shape, family)


def _schedules(claim: Claim, family: InstanceFamily) -> tuple[str, ...]:
    if claim.steps is None:
        return family.schedules
    return ("start",) if claim.steps.has(symbols.eta_0) else ("claim",)


@dataclass(frozen=True)
class _Criteria:
    """What shapes are tried for: one of ``count`` instances meets the claim's assumptions, also under ``rules``.

    ``answers`` keeps what was looked at: an assumption on losses and weights does not ask how many rounds there are.
    """

    claim: Claim
    reading: Reading
    rules: Sequence[str]
    count: int
    answers: dict[Shape, bool]

    @property
    def assumed(self) -> list[Assumption]:
        """What is assumed of losses and weights."""
        every = self.claim.assumptions_in(self.reading)
        return [item for item in every if item.symbols().isdisjoint(OF_STEPS)]


def _met(criteria: _Criteria, budget: Budget, by_family: Mapping[str, InstanceFamily]) -> list[Shape]:
    """The shapes of which one instance meets every assumption."""
    result: list[Shape] = []
    claim, assumed = criteria.claim, criteria.claim.assumptions_in(criteria.reading)
    for family in by_family.values():
        schedules = _schedules(claim, family)
        for (N, d), (tau, rounds) in itertools.product(
            family.allowed(budget.dimensions, budget.clients), family.lengths.get(claim.scope, ())
        ):
            selections = [(absent, "0") for absent in range(N if family.absent and not claim.by_coins else 1)]
            selections += [(0, q) for q in COINS] * (family.absent and claim.by_coins)
            for noise, (absent, q) in itertools.product(family.noises, selections):
                shape = Shape(family.key, N, d, tau, rounds, "fedavg", schedules[0], noise=noise, absent=absent, q=q)
                shape = replace(shape, linear=family.linear, server=claim.has_server_step)
                # Sizes decide some relations without a run.
                sizes = {"N": N, "tau": tau, "C": 0 if shape.coins else (N - absent) / N}
                if penalty(assumed, {name: np.full((1, 1), size) for name, size in sizes.items()}, 1)[0] > 0:
                    continue
                if shape.total > budget.longest or (shape.random and d > min((*budget.dimensions, 2))):
                    continue
                steps = [s for s in schedules if s != "free" or shape.total <= MANY_STEPS]
                steps = steps[-1:] if shape.random else steps
                for kind in _kinds(criteria, shape, family):
                    result += [replace(kind, schedule=s) for s in steps]
    return result


def _kinds(criteria: _Criteria, shape: Shape, family: InstanceFamily) -> list[Shape]:
    """The weightings under which some instance meets the assumptions; losses apart, p free where they may be."""
    claim, reading, assumed, answers = criteria.claim, criteria.reading, criteria.assumed, criteria.answers
    few = min(shape.rounds, FEW_ROUNDS)
    several = any("m" in a.symbols() for a in assumed)
    biased = ["fedmax", *(f"fedmax:{k}" for k in range(2, min(shape.N, 4)) if several), "fixed"]
    others = [rule for rule in dict.fromkeys((*criteria.rules, *assumed_weightings(assumed))) if rule not in biased]
    biased += [rule for rule in others if shape.present > 1 and not no_fractions(rule, (shape.N,))]
    # A client alone has all weight, whatever the weighting.
    choices = (["fedavg"],) if shape.present == 1 else (biased, ["fedavg"])
    if with_replacement in assumed:
        choices = (["multinomial:1", "multinomial:2"] * (not shape.absent),)
    elif without_replacement in assumed:
        choices = (["uniform"], ["fedavg"])  # of unequal p only the first shares equally
    for losses, equal, weighting in itertools.product(family.losses, family.equal, choices):
        form = replace(shape, losses=losses, equal=equal)
        if losses == "one loss":
            if shape.N == 1 or weighting is not choices[-1]:
                continue  # they tie at the start of every round
            form = replace(form, d=shape.d + (family.key == "diagonal"))  # for L > mu
        named = [replace(form, weighting=name) for name in weighting]
        kinds = [kind for kind in named if _affordable(kind, family) and _given(claim, reading, kind)]
        possible = []
        for kind in kinds:
            short = replace(kind, rounds=few)
            if short not in answers:
                answers[short] = _possible(criteria, short, family)
            possible += [kind] * answers[short]
        if possible:
            return possible
    return []


def _affordable(shape: Shape, family: InstanceFamily) -> bool:
    """Whether a run of the shape is short, has a closed form, or few outcomes."""
    if (shape.draws or shape.coins) and shape.rounds > DRAWN_ROUNDS:
        return False
    if shape.random:
        few = {"linear": shape.total <= MANY_STEPS, "pairwise": shape.paths <= MOST_PATHS, "all": False}[shape.taken]
        return few or shape.chance.count <= family.outcomes
    return shape.total <= family.loops or shape.straight


def _given(claim: Claim, reading: Reading, shape: Shape) -> bool:
    """Whether the outcomes that are run give every symbol of the claim."""
    if shape.taken == "all":
        return True
    biased = shape.weighting != "fedavg"
    return not needs_every_outcome(claim, reading, bent=not shape.linear, biased=biased)


def _possible(criteria: _Criteria, shape: Shape, family: InstanceFamily) -> bool:
    """Whether some of a few instances of a shape meets what is assumed of losses and weights.

    What is no relation is asked of runs of one step, so that ``answers`` keeps a no for every length; equalities of
    the losses alone are asked once, whatever the weighting and the noise.
    """
    claim, reading, assumed, answers = criteria.claim, criteria.reading, criteria.assumed, criteria.answers
    narrow = [a for a in without_penalty(claim, reading) if a in assumed]
    step = replace(shape, tau=1, rounds=1, schedule="one step")
    alone = replace(step, weighting="", noise="", absent=0)
    if not (answers.get(step, True) and answers.get(alone, True)):
        return False
    population = examples(shape, family, claim)
    run = simulate(population)
    if alone not in answers:
        answers[alone] = _equal(assumed, claim, reading, run)
    if not answers[alone]:
        return False
    values = run.measurement(reading, Values()).constants
    near = np.flatnonzero(penalty(assumed, values, TRIED) == 0)[: criteria.count]
    met = bool(admitted(narrow, claim, reading, population, near)[near].any())
    if len(near):
        answers[step] = answers.get(step, False) or met
    return met


def _equal(assumed: Sequence[Assumption], claim: Claim, reading: Reading, run: Measured) -> bool:
    """Whether some members meet the equalities assumed of constants of the user's: mostly a shape decides that."""
    constants = {q.name for q in claim.computed if q.statistic == "constant"}
    equal = [a for a in assumed if a.symbols() <= constants and a.parts and all(part.sign == "=" for part in a.parts)]
    return not equal or bool((penalty(equal, constants_of(run, claim, reading.virtual, FEW), FEW) == 0).any())


def examples(shape: Shape, family: InstanceFamily, claim: Claim) -> Population:
    """A few instances of a shape, always the same."""
    return decode(shape, family, np.random.default_rng(0).random((TRIED, dimension(shape, family))), claim)


def without_penalty(claim: Claim, reading: Reading) -> list[Assumption]:
    """What a claim assumes that is no relation of symbols, so that no penalty leads a search to it."""
    return [a for a in claim.assumptions_in(reading) if a.exactly is not None and not a.parts]


def admitted(
    assumed: Iterable[Assumption],
    claim: Claim,
    reading: Reading,
    population: Population,
    members: Iterable[int] | None = None,
) -> NDArray[np.bool_]:
    """Which members (all by default) of a population meet what is no relation of symbols, after one step.

    Their constants are measured in floats: an instance that is confirmed is asked again, exactly.
    """
    wanted = [a.exactly for a in assumed if a.exactly is not None]
    met = np.ones(len(population.w0), dtype=bool)
    if not wanted:
        return met
    shape = replace(population.shape, tau=1, rounds=1, schedule="free")
    small = 1 / (2 * population.losses.L[:, None])
    short = replace(population, shape=shape, eta=small, weights=population.weights[:, :1])
    constants = simulate(short).measurement(reading, Values()).constants
    rows = {name: np.broadcast_to(row, (len(met), 1))[:, 0] for name, row in constants.items()}
    for k in range(len(met)) if members is None else members:
        try:
            instance = round_to(short.member(k), claim, CLOSE)
        except InputError:
            met[k] = False
            continue
        values = {name: Fraction(float(row[k])) for name, row in rows.items() if np.isfinite(row[k])}
        met[k] = all(exactly(instance, values)[0] for exactly in wanted)
    return met
