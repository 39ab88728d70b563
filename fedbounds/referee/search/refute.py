"""Adversarial search for a counterexample to a claim: global optimisation, then an exact confirmation.

The objective is the claim's relative margin over small families of quadratics: with full gradients and every client
present, and with noise of two values and subsets of clients. A violation counts only once it has been made rational
and re-run exactly; otherwise the closest approach and the evaluations spent are reported, which proves nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds import io
from fedbounds.errors import InputError, reject
from fedbounds.evidence.exact.compare import examine, judge_assumptions, unexpressed
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.outcomes import run
from fedbounds.evidence.judge import cannot_express
from fedbounds.model.problem import Array
from fedbounds.referee.search.families import OF_STEPS, Budget, examples, families, opaque, told
from fedbounds.referee.search.family import STEP_SYMBOLS, Batch, Family, decode, schedule
from fedbounds.referee.search.margins import OUTSIDE, UNTESTED, margins
from fedbounds.referee.search.searched import OF_CHANCE, limits, parts, searched
from fedbounds.referee.search.shrink import DENOMINATORS, by_hand, judge, rationalise, round_to, shrink
from fedbounds.study.fingerprint import identity, tell_anew
from fedbounds.theory.claim import OWN_STEPS, Claim, Kind
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict, finite_or_none

# A floating-point margin above this may be rounding: not worth making rational.
WORTH_TRYING = -1e-7

# Of so many instances of a family each meets an assumption that hangs on the family alone; else the search asks.
ASKED = 8

# What a call must share with that which wrote its state file; where only the statement differs, it starts anew.
REQUIRED = ("claim", "reading", "budget", "seed")
UNMET = "no instance met its assumptions"

Progress = Callable[[str, int, int], None]
Each = Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Outcome:
    """One family searched: evaluations spent, the smallest margin met, where, and at which instance."""

    family: Family
    evaluations: int
    margin: float
    point: tuple[float, ...]


def search(claim: Claim, reading: Reading, family: Family, budget: Budget, rng: np.random.Generator) -> Outcome:
    """Minimise the margin over one family: differential evolution with restarts, then Nelder-Mead."""
    from scipy.optimize import differential_evolution, minimize

    spent, narrow, seen = 0, opaque(claim, reading), examples(family, claim)
    if all(told(narrow, claim, reading, seen, k) for k in range(ASKED)):
        narrow = []

    def objective(cube: Array) -> Array:
        nonlocal spent
        points = np.clip(np.atleast_2d(cube.T), 0.0, 1.0)
        spent += len(points)
        batch = decode(family, points, claim)
        found = margins(claim, reading, batch).objective
        for k in np.flatnonzero(found < OUTSIDE).tolist() if narrow else ():
            found[k] += 0.0 if told(narrow, claim, reading, batch, k) else OUTSIDE
        return found

    best: tuple[float, tuple[float, ...]] = (np.inf, ())
    for _ in range(budget.restarts):
        result = differential_evolution(
            objective,
            [(0.0, 1.0)] * family.dimension,
            maxiter=budget.generations,
            popsize=budget.population,
            rng=rng,
            polish=False,
            vectorized=True,
            updating="deferred",
            tol=0.0,
        )
        local = minimize(
            lambda x: float(objective(x)[0]), result.x, method="Nelder-Mead", options={"maxfev": budget.polish}
        )
        candidate = min((float(result.fun), tuple(result.x)), (float(local.fun), tuple(np.clip(local.x, 0, 1))))
        best = min(best, candidate)
    return Outcome(family, spent, best[0], tuple(float(x) for x in best[1]))


def refute(
    claim: Claim,
    reading: Reading,
    budget: Budget,
    seed: int = 0,
    state: Path | None = None,
    progress: Progress | None = None,
    each: Each = map,
) -> Verdict:
    """Search every family of the budget until one yields an exact counterexample.

    ``state`` is a JSON file that lets the same call continue where it was stopped; ``progress(label, done,
    total)`` is called before every family; ``each`` computes the families, in order. REFUTED carries the instance and
    both sides as fractions in ``data``; otherwise UNDECIDED with the closest approach and the evaluations spent.
    """
    unknown = unexpressed(claim, reading)
    if claim.steps is not None and not {s.name for s in claim.steps.free_symbols} <= STEP_SYMBOLS:
        unknown = (*unknown, OWN_STEPS)
    if unknown:
        detail = f"{cannot_express(unknown)} in fractions, so nothing could be called refuted"
        return Verdict(claim.key, reading.name, Evidence.EXACT, Status.UNDECIDED, detail=detail)
    if claim.kind is Kind.RATE:
        return _fixed_points(claim, reading)
    todo = families(claim, reading, budget)
    outcomes = _load(state, claim, reading, budget, seed)
    violates = judge(claim, reading)
    fresh = iter(each(partial(_searched, claim, reading, budget, seed), list(enumerate(todo))[len(outcomes) :]))
    for k, family in enumerate(todo):
        if progress is not None:
            progress(f"{claim.key} [{reading.name}]", k, len(todo))
        if k >= len(outcomes):
            outcomes.append(_outcome(next(fresh)))
            _save(state, claim, reading, budget, seed, outcomes)
        close = outcomes[k].margin <= WORTH_TRYING
        instance = rationalise(_batch(claim, outcomes[k]), claim, violates) if close else None
        if instance is not None:
            smallest = shrink(instance, schedule(claim, family), violates, budget.shrink_seconds)
            verdict, spent = examine(smallest, claim, reading), sum(o.evaluations for o in outcomes[: k + 1])
            told = {**by_hand(smallest, claim, reading), "budget": budget.name, "evaluations": spent}
            return replace(verdict, data={**verdict.data, **told})
    return _survived(claim, reading, budget, outcomes)


def _searched(claim: Claim, reading: Reading, budget: Budget, seed: int, task: tuple[int, Family]) -> dict[str, Any]:
    """One family's outcome as a JSON object, whoever computes it."""
    k, family = task
    return asdict(search(claim, reading, family, budget, np.random.default_rng([seed, k])))


def is_outcome(task: tuple[int, Family], data: Any) -> bool:
    """Whether a JSON object is an outcome of a task's family; InputError where it is of none."""
    outcome = io.shaped(data, Outcome, "a family's outcome")
    return outcome.family == task[1] and len(outcome.point) == task[1].dimension


def _outcome(data: Mapping[str, Any]) -> Outcome:
    return Outcome(Family(**data["family"]), data["evaluations"], data["margin"], tuple(data["point"]))


def _batch(claim: Claim, outcome: Outcome) -> Batch:
    return decode(outcome.family, np.array([outcome.point]), claim)


def _survived(claim: Claim, reading: Reading, budget: Budget, outcomes: list[Outcome]) -> Verdict:
    """Not refuted: the families in which sides were compared, the closest approach lhs/rhs and what was spent."""
    spent = f"{sum(o.evaluations for o in outcomes)} evaluations over {len(outcomes)} families"
    nearest = sorted(outcomes, key=lambda o: o.margin)
    met = [o for o in nearest if o.margin < UNTESTED and _meets(claim, reading, o)]
    if not met:
        return _untested(claim, reading, budget, outcomes, spent)
    best, todo = met[0], [o.family for o in outcomes if o in met]
    ratio = float(margins(claim, reading, _batch(claim, best)).ratio[0])
    approach = _approach(best, ratio)
    first, *others = parts(todo)
    also = [Coverage({axis: part.axes[axis] for axis in OF_CHANCE}).words() for part in others]
    where, beyond = ", nor for ".join([first.words(), *also]), searched(todo).words(claim.coverage(reading))
    beyond = beyond.partition("; ")[2]
    idle = len(outcomes) - len(todo)
    spent += f", in {idle} of which no instance met its assumptions with sides not both 0" if idle else ""
    detail = f"not refuted for {where}: {approach}; {spent}"
    return Verdict(
        claim.key,
        reading.name,
        Evidence.EXACT,
        Status.UNDECIDED,
        margin=best.margin,
        tightness=1 / ratio if math.isfinite(ratio) and ratio else None,
        detail="; ".join(filter(None, (detail, beyond, "this proves nothing"))),
        data={
            "closest": finite_or_none(ratio),
            "family": best.family.label,
            "budget": budget.name,
            "evaluations": sum(o.evaluations for o in outcomes),
            "limits": limits(todo),
            "approach": approach,
            "searched": [part.to_json() for part in (first, *others)],
        },
        coverage=first,
    )


def _untested(claim: Claim, reading: Reading, budget: Budget, outcomes: list[Outcome], spent: str) -> Verdict:
    """Nothing was compared, so that nothing is covered."""
    best = min(outcomes, key=lambda o: o.margin)
    sides = " with sides that are defined and not both 0" if UNTESTED <= best.margin < OUTSIDE else ""
    detail = f"nothing was compared: {UNMET}{sides}; {spent}; this proves nothing"
    total = sum(o.evaluations for o in outcomes)
    data = {"closest": None, "family": best.family.label, "budget": budget.name, "evaluations": total}
    return Verdict(claim.key, reading.name, Evidence.EXACT, Status.UNDECIDED, detail=detail, data=data)


def _meets(claim: Claim, reading: Reading, outcome: Outcome) -> bool:
    """Whether a family's best point, made exact, meets the assumptions: some of them no margin in floats counts.

    Step sizes that are no fractions are rounded, and then what is assumed of them is what the margin says.
    """
    batch = _batch(claim, outcome)
    rounded = replace(batch, family=replace(batch.family, schedule="free"))
    for denominator, (members, exact) in itertools.product(reversed(DENOMINATORS), ((batch, True), (rounded, False))):
        try:
            record = run(round_to(members, claim, denominator))
        except InputError:
            continue
        failed = {failure.key for failure in judge_assumptions(claim, record, reading)[0]}
        steps = {a.key for a in claim.assumptions_in(reading) if not exact and a.symbols() & OF_STEPS}
        if failed <= steps:
            return True
    return False


def _approach(best: Outcome, ratio: float) -> str:
    """How close the search came, in words that agree with the status: nothing was refuted."""
    at = f"({best.family.label})"
    if best.margin <= WORTH_TRYING:
        return f"it fails by {-best.margin:.3g} in floating point, which no instance in fractions confirmed {at}"
    if best.margin <= -WORTH_TRYING:
        return f"closest approach lhs = rhs up to rounding {at}"
    if not math.isfinite(ratio):
        return f"closest approach margin {best.margin:.3g} {at}"
    return f"closest approach lhs/rhs = {ratio:.6g}, margin {best.margin:.3g} {at}"


def _fixed_points(claim: Claim, reading: Reading) -> Verdict:
    """A rate is refuted by an instance that never moves: two clients on a small grid of starts and weights."""
    tried = 0
    for q, x in itertools.product((2, 3, 4, 5), range(-4, 5)):
        p = Fraction(1, q)
        base = Instance(
            curvatures=((Fraction(1),), (Fraction(1),)),
            minima=((Fraction(1),), (Fraction(-1),)),
            p=(1 - p, p),
            w0=(Fraction(x, 4),),
            eta=(Fraction(1, 4),),
        )
        tried += 1
        verdict = examine(base, claim, reading)
        if verdict.status is Status.REFUTED:
            return replace(verdict, data={**verdict.data, **by_hand(base, claim, reading), "evaluations": tried})
    detail = (
        f"not refuted for full gradients, C = 1, tau = 1 and two clients on a line under FedMax: no fixed point away "
        f"from w* among {tried} instances; this proves nothing"
    )
    return Verdict(
        claim.key, reading.name, Evidence.EXACT, Status.UNDECIDED, detail=detail, data={"evaluations": tried}
    )


def _load(state: Path | None, claim: Claim, reading: Reading, budget: Budget, seed: int) -> list[Outcome]:
    """Families already searched according to the state file, none of an older claim; InputError on another search."""
    if state is None or not state.exists():
        return []
    saved = io.shaped(io.read_json(state), _State, state.name)
    wanted, found = identity(claim, reading.name, budget.name, seed), saved.search
    if any(found.get(name) != wanted[name] for name in REQUIRED):
        raise reject(f"the state file {state} belongs to another search", found, "use another file")
    if found != wanted:
        tell_anew(state, claim.key)
        return []
    searched = families(claim, reading, budget)[: len(saved.outcomes)]
    if [one.family for one in saved.outcomes] != searched or any(
        len(one.point) != one.family.dimension for one in saved.outcomes
    ):
        raise reject(f"the state file {state} must hold the families of its search", "others", "delete it")
    return saved.outcomes


@dataclass(frozen=True)
class _State:
    """A search as its state file holds it."""

    search: dict[str, Any]
    outcomes: list[Outcome]


def _save(
    state: Path | None, claim: Claim, reading: Reading, budget: Budget, seed: int, outcomes: list[Outcome]
) -> None:
    """Write the state; a stop never leaves half a file."""
    if state is None:
        return
    data = {"search": identity(claim, reading.name, budget.name, seed), "outcomes": [asdict(o) for o in outcomes]}
    io.write_json(state, data)
