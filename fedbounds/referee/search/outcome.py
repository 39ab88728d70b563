"""What a search for counterexamples is of, what each of its tasks found, and the verdict where none was confirmed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.evidence.ball_arithmetic import Ball, has_roots, midpoint
from fedbounds.evidence.evaluate import evaluate, names_in, rational
from fedbounds.evidence.exact.compare import Sides, compare, examine, violation
from fedbounds.evidence.exact.instance import BENT, Instance, no_fractions
from fedbounds.evidence.exact.instance_json import text
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.evidence.judge import cannot_express
from fedbounds.plugins import user_weightings
from fedbounds.referee.search.candidates import Arm, admitted, without_penalty
from fedbounds.referee.search.family import (
    MAX_CONDITION,
    MAX_STEP,
    MIN_STEP,
    InstanceFamily,
    Population,
    Shape,
    decode,
)
from fedbounds.referee.search.populations import OUTSIDE, UNTESTED, Budget, objectives
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage, Span, only
from fedbounds.theory.protocol_assumptions import assumed_weightings
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict, finite_or_none

# What everybody's taking part with FedAvg's weights makes 1, which a person need not check.
FAIR = {"C": "1", "pi_min": "1", "pi_max": "1"}

# A floating-point margin above this may be rounding: not worth making rational.
WORTH_TRYING = -1e-7


@dataclass(frozen=True)
class Task:
    """One arm in one rung: so many ``generations``, from the point that earlier ones reached or afresh."""

    arm: Arm
    rung: int
    number: int
    generations: int
    start: tuple[float, ...] = ()
    last: bool = False


@dataclass(frozen=True)
class Outcome:
    """One arm searched in a rung: evaluations spent, the smallest margin met, and at which instance."""

    arm: Arm
    rung: int
    evaluations: int
    margin: float
    point: tuple[float, ...]


@dataclass(frozen=True)
class Search:
    """What a search is of."""

    claim: Claim
    reading: Reading
    budget: Budget
    seed: int
    by_family: Mapping[str, InstanceFamily]
    extra: tuple[ModuleType, ...] = ()

    @property
    def left_out(self) -> str:
        """Which weightings of the ``extra`` modules no instance can have, and why."""
        rules = {rule: no_fractions(rule) for rule in user_weightings(self.extra)}
        names = [f"weighting {rule} ({why})" for rule, why in rules.items() if why]
        return f"{cannot_express(names)} in fractions" if names else ""

    def population(self, outcome: Outcome) -> Population:
        """The best instance of an outcome."""
        shape = outcome.arm.shape
        return decode(shape, self.by_family[shape.family], np.array([outcome.point]), self.claim)


UNMET = "no instance met its assumptions"


def not_refuted(search: Search, outcomes: Sequence[Outcome], unconfirmed: Sequence[Outcome]) -> Verdict:
    """Not refuted: what floating point alone showed, where sides were compared, the closest approach, what was spent.

    ``unconfirmed`` violations come first: the exact numbers grew too long, or a step size is no fraction.
    """
    total = sum(o.evaluations for o in outcomes)
    tried = {o.arm.shape for o in outcomes}
    spent = f"{total} evaluations over {len(tried)} shapes of instances"
    nearest = sorted(outcomes, key=lambda o: o.margin)
    best_of = {o.arm.shape: o for o in reversed(nearest) if o.margin < UNTESTED}
    shapes = [shape for shape, o in best_of.items() if o in unconfirmed or _meets(search, o)]
    met = [o for o in nearest if o.arm.shape in shapes and o.margin < UNTESTED]
    if not met:
        return _untested(search, nearest[0], spent, total)
    best = met[0]
    population = search.population(best)
    ratio = float(objectives(search.claim, search.reading, population, best.arm.scale).ratio[0])
    approach = _approach(best, ratio, best in unconfirmed)
    among, idle = limits(shapes, search.by_family), len(tried) - len(shapes)
    spent += f", in {idle} of which {UNMET} with sides not both 0" if idle else ""
    head = f"not refuted among {among}: {approach}"
    if best in unconfirmed:  # a violation is said first
        head = f"{approach}; searched: {among}"
    searched = regions(shapes, search.by_family)
    data: dict[str, Any] = {
        "closest": finite_or_none(ratio),
        "family": best.arm.label,
        "budget": search.budget.name,
        "evaluations": total,
        "approach": approach,
        "searched": [part.to_json() for part in searched],
    }
    if best in unconfirmed:
        data["unconfirmed"] = {"margin": best.margin, "instance": _in_floats(search, best)}
    return Verdict(
        search.claim.key,
        search.reading.name,
        Evidence.EXACT,
        Status.UNDECIDED,
        margin=best.margin,
        tightness=1 / ratio if math.isfinite(ratio) and ratio else None,
        detail="; ".join(filter(None, (head, spent, search.left_out, "this proves nothing"))),
        data=data,
        coverage=searched[0],
    )


def _in_floats(search: Search, outcome: Outcome) -> dict[str, object]:
    """The numbers of an outcome's best instance."""
    population = search.population(outcome)
    losses = population.losses
    rows = {name: getattr(losses, name) for name in ("curvatures", "minima", "p", *BENT, "noise")}
    rows |= {"growth": losses.growth, "w0": population.w0, "weights": population.weights}
    shown = {name: row[0].tolist() for name, row in rows.items() if row is not None and row.size}
    eta = population.eta[0].tolist()
    shape = outcome.arm.shape
    steps = eta if len(set(eta)) > 1 else eta[:1]
    return {**shown, "eta": steps, "tau": shape.tau, "rounds": shape.rounds, "weighting": shape.weighting}


def _untested(search: Search, best: Outcome, spent: str, total: int) -> Verdict:
    """Nothing was compared, so that nothing is covered."""
    sides = " with sides that are defined and not both 0" if UNTESTED <= best.margin < OUTSIDE else ""
    words = f"nothing was compared: {UNMET}{sides}", spent, search.left_out, "this proves nothing"
    detail = "; ".join(filter(None, words))
    data = {"closest": None, "family": best.arm.label, "budget": search.budget.name, "evaluations": total}
    names = search.claim.key, search.reading.name
    return Verdict(*names, Evidence.EXACT, Status.UNDECIDED, detail=detail, data=data)


def _meets(search: Search, outcome: Outcome) -> bool:
    """Whether the best point of an arm meets what no penalty leads to: the search asks some points only."""
    claim, reading = search.claim, search.reading
    return bool(admitted(without_penalty(claim, reading), claim, reading, search.population(outcome))[0])


def _approach(best: Outcome, ratio: float, unconfirmed: bool) -> str:
    """How close the search came, in words that agree with the status: nothing was refuted."""
    at = f"({best.arm.label})"
    if unconfirmed:
        return f"it fails by {-best.margin:.3g} in floating point, which no instance in fractions confirmed {at}"
    if best.margin <= -WORTH_TRYING:  # or below, where exact numbers show no violation
        return f"closest approach lhs = rhs up to rounding {at}"
    if not math.isfinite(ratio):
        return f"closest approach margin {best.margin:.3g} {at}"
    return f"closest approach lhs/rhs = {ratio:.6g}, margin {best.margin:.3g} {at}"


def fixed_points(claim: Claim, reading: Reading, extra: Sequence[ModuleType] = ()) -> Verdict:
    """A rate is refuted by an instance that never moves: two clients on a small grid of starts and weights."""
    tried = 0
    rules = assumed_weightings(claim.assumptions_in(reading)) or user_weightings(extra)
    rules = ["fedmax", *(rule for rule in rules if not no_fractions(rule, (2,)))]
    for rule, q, x in itertools.product(rules, (2, 3, 4, 5), range(-4, 5)):
        p = Fraction(1, q)
        base = Instance(
            curvatures=((Fraction(1),), (Fraction(1),)),
            minima=((Fraction(1),), (Fraction(-1),)),
            p=(1 - p, p),
            w0=(Fraction(x, 4),),
            eta=(Fraction(1, 4),),
            weighting=rule,
        )
        tried += 1
        verdict = examine(base, claim, reading)
        if verdict.status is Status.REFUTED:
            return replace(verdict, data={**verdict.data, **by_hand(base, claim, reading), "evaluations": tried})
    detail = (
        f"not refuted for full gradients, C = 1, tau = 1 and two clients on a line under {' and '.join(rules)}: no "
        f"fixed point away from w* among {tried} instances; this proves nothing"
    )
    data = {"evaluations": tried}
    return Verdict(claim.key, reading.name, Evidence.EXACT, Status.UNDECIDED, detail=detail, data=data)


def regions(shapes: Sequence[Shape], families: Mapping[str, InstanceFamily]) -> list[Coverage]:
    """What was searched: one set a family, without chance and for each kind of it; together they are no product."""
    kinds: dict[tuple[str, bool, bool], list[Shape]] = {}
    for s in sorted(shapes, key=_plainest):
        kinds.setdefault((s.family, bool(s.noise), s.absent > 0), []).append(s)
    return [_region(some, families) for some in kinds.values()]


def _region(shapes: Sequence[Shape], families: Mapping[str, InstanceFamily]) -> Coverage:
    """The experiments that shapes are made of: what a search of them spoke of, and no more."""
    words = dict.fromkeys(f"{families[s.family].what} in at most {s.d} coordinates" for s in shapes)
    axes: dict[str, Span | frozenset] = {
        "problem": only(*words),
        "gradients": only(*("stochastic" if s.noise else "full" for s in shapes)),
        "participation": only(*(0 if s.coins else Fraction(s.present, s.N) if s.absent else 1 for s in shapes)),
        "kappa": Span(1, int(MAX_CONDITION)),
        "N": only(*(s.N for s in shapes)),
        "tau": only(*(s.tau for s in shapes)),
        "T": Span(1, max(s.total for s in shapes)),
        "weights": only(*(s.weighting for s in shapes)),
    }
    searched = {s.schedule for s in shapes}
    if searched <= {"free", "paper", "constant"}:
        axes["eta_L"] = Span(MIN_STEP, MAX_STEP if searched == {"constant"} else 1)
    return Coverage(axes)


def _plainest(shape: Shape) -> tuple[bool, bool, bool]:
    return shape.family != "diagonal", bool(shape.noise), shape.absent > 0


def limits(shapes: Sequence[Shape], families: Mapping[str, InstanceFamily]) -> str:
    """The sizes beyond which nothing was searched, in a few words."""
    by_family: dict[str, list[Shape]] = {}
    for s in sorted(shapes, key=_plainest):
        by_family.setdefault(s.family, []).append(s)
    words = []
    for key, some in by_family.items():
        clients = ", ".join(map(str, sorted({s.N for s in some})))
        longest = {"": max(s.total for s in some)}  # of all, and with each kind of chance
        for s in some:
            for kind in (f"{s.noise} noise" * bool(s.noise), "absent clients" * bool(s.absent)):
                longest[kind] = max(longest.get(kind, 0), s.total)
        sizes = [f"{kind} T <= {total}".strip() for kind, total in longest.items()]
        words.append(f"{families[key].what} (N = {clients}, d <= {max(s.d for s in some)}, {', '.join(sizes)})")
    return ", ".join(words)


def by_hand(instance: Instance, claim: Claim, reading: Reading) -> dict[str, Any]:
    """What checks a violation by hand: the weights visited, the constants, and each term at the worst place.

    Numbers are fractions as text; ``varying`` holds the symbols that belong to that place alone.
    """
    result = violation(instance, claim, reading)
    record = run(instance) if result is None else result[0]
    seen = record.measurement(claim, reading)
    left, _, terms = claim.sides(reading)
    used = {s.name for side in (left, *terms.values()) for s in side.free_symbols}
    assumed = frozenset[str]().union(*(assumption.symbols() for assumption in claim.assumptions_in(reading)))
    failing = [s for s in compare(claim, record, reading) if s.violated(claim.kind)]
    values, place = {name: seen.constants[name] for name in seen.constants if name in used | assumed}, {}
    if failing:
        worst = min(failing, key=lambda s: s.margin)
        k = next(i for i, t in enumerate(seen.times(claim.scope)) if _is_place(record, claim, worst, i, t))
        place = {name: column[k] for name, column in seen.varying(claim.scope).items()}
        values |= place
    shown = {name: text(value) for name, value in values.items() if name in used | assumed and name not in place}
    for name in FAIR.keys() - used:
        if shown.get(name) == FAIR[name]:
            del shown[name]
    return {
        "alpha": [list(map(text, row)) for row in sorted(record.alphas)],
        "constants": shown,
        "varying": {name: text(value) for name, value in place.items() if name in used | assumed},
        "terms": {name: _term(term, values) for name, term in terms.items()},
    }


def _term(term: sp.Expr, values: dict[str, Fraction]) -> str:
    """A term as a fraction, or about its value where it is none."""
    in_balls = has_roots(term) or any(isinstance(values.get(name), Ball) for name in names_in(term))
    exact = None if in_balls else rational(term, values)
    floats = {name: midpoint(value) for name, value in values.items()}
    return f"about {float(evaluate(term, floats)):.6g}" if exact is None else text(exact)


def _is_place(record: ExactRun, claim: Claim, worst: Sides, k: int, t: int) -> bool:
    """Whether place k of a scope is where ``worst`` was found."""
    if claim.scope == "constant":
        return True
    return t == worst.t and (claim.scope != "point" or record.points[k][1] == worst.client)
