"""Adversarial search for a counterexample to a claim: global optimisation, then a confirmation without rounding.

The objective is the claim's relative margin over the families of instances. A budget is spent by successive halving:
every arm, a shape with an objective, gets a few generations of differential evolution; then the best third gets
twice as many, afresh lest it stay where bounds are only near, and so on; the last rung goes on from the best point.
A violation counts once it is confirmed. Where none is, the closest approach and the
evaluations spent are reported, which proves nothing; a violation that floating point alone shows comes first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine, unexpressed
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.judge import cannot_express
from fedbounds.model.problem import Array
from fedbounds.referee.search.candidates import Arm, admitted, arms, examples, functions, without_penalty
from fedbounds.referee.search.family import InstanceFamily, decode, dimension, families, schedule
from fedbounds.referee.search.outcome import WORTH_TRYING, Outcome, Search, Task, by_hand, fixed_points, not_refuted
from fedbounds.referee.search.populations import FIRST, OUTSIDE, Budget, cost, objectives
from fedbounds.referee.search.shrink import AS_THEY_ARE, Judge, judge, rationalise, round_to, rounding_of, shrink
from fedbounds.theory.claim import OWN_STEPS, Claim, Kind
from fedbounds.theory.claim_validation import TUNED_TO
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import L_sample
from fedbounds.theory.verdict import Evidence, Status, Verdict

# One arm in so many goes on to the next rung.
KEPT_SHARE = 3
# So many copies of a violation are moved by a rounding.
MOVED = 16
# If so many examples of a shape all meet what no penalty leads to, the shape decides it; else the search asks.
EXAMPLES = 8

Progress = Callable[[str, int, int], None]
# (function, items) -> the results in order, whoever computes them.
Each = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]


def run_arm(search: Search, task: Task) -> Outcome:
    """Minimise the margin over one arm: differential evolution with restarts, in the last rung Nelder-Mead too."""
    from scipy.optimize import differential_evolution, minimize

    claim, reading, budget, shape = search.claim, search.reading, search.budget, task.arm.shape
    family, spent, rng = (
        search.by_family[shape.family],
        0,
        np.random.default_rng([search.seed, task.rung, task.number]),
    )
    narrow, seen = without_penalty(claim, reading), examples(shape, family, claim)
    if admitted(narrow, claim, reading, seen, range(EXAMPLES)).all():
        narrow = []

    def objective(cube: Array) -> Array:
        nonlocal spent
        points = np.clip(np.atleast_2d(cube.T), 0.0, 1.0)
        spent += len(points)
        population = decode(shape, family, points, claim)
        results = objectives(claim, reading, population, task.arm.scale).values
        inside = np.flatnonzero(results < OUTSIDE).tolist()
        return np.where(admitted(narrow, claim, reading, population, inside), results, results + OUTSIDE)

    members, size = budget.members(shape, family), dimension(shape, family)
    best: tuple[float, tuple[float, ...]] = (np.inf, ())
    for _ in range(budget.restarts if task.last else 1):
        result = differential_evolution(
            objective,
            [(0.0, 1.0)] * size,
            maxiter=task.generations,
            init=_latin_hypercube(members, size, rng),
            rng=rng,
            x0=np.array(task.start) if task.start else None,
            polish=False,
            vectorized=True,
            updating="deferred",
            tol=0.0,
        )
        best = min(best, (float(result.fun), tuple(result.x)))
        if task.last:
            options = {"maxfev": budget.polish}
            local = minimize(lambda x: float(objective(x)[0]), result.x, method="Nelder-Mead", options=options)
            best = min(best, (float(local.fun), tuple(np.clip(local.x, 0, 1))))
    return Outcome(task.arm, task.rung, spent, best[0], tuple(float(x) for x in best[1]))


def _latin_hypercube(count: int, size: int, rng: np.random.Generator) -> Array:
    """A point in every one of ``count`` slices of each coordinate (count, size), as `scipy.stats.qmc` draws them."""
    # scipy.stats takes longer to import than a search of a shape.
    rng = rng.spawn(1)[0]
    places = rng.uniform(size=(count, size))
    slices = np.tile(np.arange(1, count + 1), (size, 1))
    for row in slices:
        rng.shuffle(row)
    return (slices.T - places) / count


def refute(
    claim: Claim,
    reading: Reading,
    budget: Budget,
    seed: int = 0,
    progress: Progress | None = None,
    each: Each = map,
    by_family: Mapping[str, InstanceFamily] | None = None,
    so_far: Callable[[Callable[[], Verdict]], None] = lambda verdict: None,
    extra: Sequence[ModuleType] = (),
) -> Verdict:
    """Search the arms of the budget until one yields a confirmed counterexample.

    ``progress(label, done, total)`` is called before every arm; ``each`` computes the arms of a rung, in order;
    ``by_family``: the families by key, unless given all with those of the ``extra`` modules, of which weightings are
    tried too; ``so_far`` is called after every arm with what the verdict is if that was the last. REFUTED carries the
    instance and both sides as fractions in ``data``; otherwise UNDECIDED with the closest approach.
    """
    unknown = unexpressed(claim, reading)
    if not ({*claim.tuned} <= TUNED_TO) or (claim.steps is not None and claim.steps.has(L_sample)):
        unknown = (*unknown, OWN_STEPS)
    if unknown:
        detail = f"{cannot_express(unknown)} in fractions, so nothing could be called refuted"
        return Verdict(claim.key, reading.name, Evidence.EXACT, Status.UNDECIDED, detail=detail)
    if claim.kind is Kind.RATE:
        return fixed_points(claim, reading, extra)
    search = Search(claim, reading, budget, seed, by_family or families(extra), extra=tuple(extra))
    violates = judge(claim, reading)
    outcomes: list[Outcome] = []
    unconfirmed: list[Outcome] = []
    chosen = arms(claim, reading, budget, search.by_family, extra)
    for outcome in _outcomes(search, chosen, progress, each):
        outcomes.append(outcome)
        if outcome.margin <= WORTH_TRYING:
            so_far(lambda: not_refuted(search, outcomes, [*unconfirmed, *_no_rounding(search, outcomes[-1])]))
            instance = _confirmed(search, outcomes, violates, so_far)
            if instance is not None:
                return _refuted(search, outcomes, instance)
            unconfirmed.extend(_no_rounding(search, outcome))
        so_far(lambda: not_refuted(search, outcomes, unconfirmed))
    return not_refuted(search, outcomes, unconfirmed)


def _confirmed(
    search: Search, outcomes: list[Outcome], violates: Judge, so_far: Callable[[Callable[[], Verdict]], None]
) -> Instance | None:
    """The smallest instance found that refutes the claim, near the last outcome's; None where none was confirmed."""
    population = search.population(outcomes[-1])
    instance = rationalise(population, search.claim, violates)
    if instance is None:
        return None
    formula, effort = schedule(search.claim, population.shape), search.budget.shrink
    return shrink(
        instance, formula, violates, effort, lambda smallest: so_far(lambda: _refuted(search, outcomes, smallest))
    )


def _refuted(search: Search, outcomes: list[Outcome], instance: Instance) -> Verdict:
    """REFUTED by an instance, with what checks it by hand and what was spent."""
    verdict = examine(instance, search.claim, search.reading)
    spent = {"budget": search.budget.name, "evaluations": sum(o.evaluations for o in outcomes)}
    return replace(verdict, data={**verdict.data, **by_hand(instance, search.claim, search.reading), **spent})


def _no_rounding(search: Search, outcome: Outcome) -> list[Outcome]:
    """A violation in floats, unless it goes when numbers are moved by a rounding, or exact arithmetic denies it."""
    if _moved(search, outcome) > WORTH_TRYING:
        return []
    with contextlib.suppress(InputError):  # too many outcomes or digits, or a step that is no fraction: not known
        instance = round_to(search.population(outcome), search.claim, AS_THEY_ARE)
        verdict = examine(instance, search.claim, search.reading)
        if verdict.status is Status.HOLDS or verdict.failed:
            return []
    return [outcome]


def _moved(search: Search, outcome: Outcome) -> float:
    """The largest margin of the outcome's instance with every number moved by what may be rounding."""
    population = search.population(outcome)
    rng, losses = np.random.default_rng(0), population.losses.rows(np.zeros(MOVED, dtype=int))
    copies: dict[str, Any] = {
        name: np.repeat(row, MOVED, axis=0)
        for name in ("w0", "eta", "weights", "server_step")
        if (row := getattr(population, name)) is not None
    }
    size = rounding_of(copies["w0"], losses.minima)
    copies["w0"] = copies["w0"] + size * rng.uniform(-1, 1, size.shape)
    moved = replace(population, losses=losses, **copies)
    values = objectives(search.claim, search.reading, moved, outcome.arm.scale).values
    return float(values[values < OUTSIDE].max(initial=outcome.margin))


def _outcomes(search: Search, chosen: Sequence[Arm], progress: Progress | None, each: Each) -> Iterator[Outcome]:
    """The outcomes of every rung."""
    done, budget = 0, search.budget
    left: list[tuple[Arm, int, Outcome | None]] = [(arm, k, None) for k, arm in _in_turn(chosen)]
    total = sum(-(-len(left) // KEPT_SHARE**rung) for rung in range(budget.rungs))  # at least
    for rung in range(budget.rungs):
        last = rung == budget.rungs - 1
        generations = max(min(FIRST, budget.generations), budget.generations >> (budget.rungs - 1 - rung))
        starts = [before.point if last and before is not None else () for _, _, before in left]
        tasks = [
            Task(arm, rung, k, generations, start, last) for (arm, k, _), start in zip(left, starts, strict=True)
        ]
        results = iter(each(partial(run_arm, search), tasks))
        reached: list[Outcome] = []
        for k in range(len(tasks)):
            if progress is not None:
                progress(f"{search.claim.key} [{search.reading.name}]", done + k, total)
            yield (outcome := next(results))
            reached.append(min(outcome, left[k][2] or outcome, key=lambda item: item.margin))
        next(results, None)  # ended, so that processes stay for the next rung
        done += len(tasks)
        rank = _best([task.arm for task in tasks], [item.margin for item in reached])
        rank.sort(key=lambda k: (_price(search, tasks[k]), k))  # the search may be cut
        left = [(tasks[k].arm, tasks[k].number, reached[k]) for k in rank]


def _price(search: Search, task: Task) -> float:
    """About how many seconds a task takes."""
    shape = task.arm.shape
    return cost(shape, search.by_family[shape.family], search.budget, task.generations, functions(search.claim))


def _in_turn(every: Sequence[Arm]) -> list[tuple[int, Arm]]:
    """Arms with their numbers, the first of each family, then the second of each: a search may be cut."""
    groups = [arm.group for arm in every]
    return sorted(enumerate(every), key=lambda item: groups[: item[0]].count(item[1].group))


def _best(every: list[Arm], margins: list[float]) -> list[int]:
    """The best third of the arms of each family, noise and objective, in which instances meet the assumptions.

    Where a bound is attained nothing more is to be had: such arms come last. A family whose bound is nearly attained
    would else leave no arm of the others, and the ratio, near 1 where steps are tiny, none of the change.
    """
    groups: dict[Any, list[int]] = {}
    for k, arm in enumerate(every):
        groups.setdefault((arm.group, arm.scale), []).append(k)
    chosen: list[int] = []
    for group in groups.values():
        ranked = sorted(group, key=lambda k: (abs(margins[k]) <= -WORTH_TRYING, margins[k], k))
        chosen += [k for k in ranked[: -(-len(group) // KEPT_SHARE)] if margins[k] < OUTSIDE]
    return chosen or [min(range(len(margins)), key=lambda k: (margins[k], k))]
