"""The first stage that tests: dimensions, and both sides in fractions at the limits where a theorem must be right."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine, unexpressed
from fedbounds.evidence.exact.instance import Instance
from fedbounds.referee import limit_cases
from fedbounds.referee.search.outcome import by_hand
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.search.shrink import judge, shrink
from fedbounds.referee.stage_context import Case, StageResult
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.point_values import NUMBER, shown, units_of
from fedbounds.theory.quantity import quantities_on_paths
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import L, eta, mu, tau
from fedbounds.theory.verdict import Evidence, Status, Verdict


def sanity(case: Case) -> StageResult:
    """Dimensions, and both sides in fractions at the limits where a theorem must be right."""
    claim, reading = case.claim, case.reading
    wrong = misprints(claim, reading)
    lines = tuple(f"warning: {item}, with w in metres and F in joules" for item in wrong) or ("dimensions agree",)
    if claim.kind is Kind.RATE or unexpressed(claim, reading):
        return StageResult((*lines, "limits: not in fractions"))
    seen = limit_cases.Seen()
    for instance, violated in limit_cases.sweep(claim, reading, bool(wrong), seen):
        if violated:
            return StageResult(lines, (smallest_refutation(case, lines, instance),))
        case.so_far(lambda: _without_violation(case, lines, seen))
    return _without_violation(case, lines, seen)


def misprints(claim: Claim, reading: Reading) -> tuple[str, ...]:
    """Each term, and the step size, whose dimension is not what the statement needs, w in metres and F in joules."""
    left, _, terms = claim.sides(reading)
    sides = {name: sp.sympify(term) for name, term in terms.items() if _has_units(left) and _has_units(term)}
    wanted = {f"the term {name!r}": (term, _dimension(left)) for name, term in sides.items() if term != 0}
    if claim.steps is not None:
        wanted["the step size"] = (claim.steps, _dimension(eta))
    result = ((what, _dimension(side), needed) for what, (side, needed) in wanted.items() if left != 0)
    return tuple(
        f"{what} has the dimension of {actual}, not {needed}" for what, actual, needed in result if actual != needed
    )


def _has_units(expression: sp.Expr) -> bool:
    """Whether the user gave the unit of each symbol of theirs."""
    return all(symbol.units is not None for symbol in quantities_on_paths(expression))


def _dimension(expression: sp.Expr) -> str:
    try:
        units = units_of(expression) or NUMBER
    except InputError:
        return "a sum of unlike things"
    return "a pure number" if not any(units) else shown(units)


def _without_violation(case: Case, lines: tuple[str, ...], seen: limit_cases.Seen) -> StageResult:
    """How many exact instances were compared, at which limits."""
    if not seen.count:
        return StageResult((*lines, "no exact instance was tested"))
    limits = [name for name in limit_cases.LIMITS if name in seen.at]
    unseen = ", ".join(name for name in limit_cases.LIMITS if name not in limits)
    text = f"no violation at {seen.count} exact instances"
    more = [f"  at {', '.join(f'{name} {seen.at[name]}' for name in limits)}"]
    more += [f"  not seen (outside its assumptions, or 0 on both sides): {unseen}"] * bool(unseen)
    more += [f"  {limit_cases.NOISY}"] * ("noise" in limits)
    verdict = case.verdict(Evidence.EXACT, Status.UNDECIDED, text)
    return StageResult((*lines, text, *more), (replace(verdict, margin=seen.margin, data={"seen": limits}),))


def smallest_refutation(case: Case, lines: tuple[str, ...], instance: Instance) -> Verdict:
    """An instance that refutes the claim made as small as the time allows, with what checks it by hand."""

    def so_far(smallest: Instance) -> None:
        case.so_far(partial(_refuted, case, lines, smallest))

    so_far(instance)
    violates, effort = judge(case.claim, case.reading), BUDGETS[case.budget].shrink
    steps = case.claim.steps
    if steps is None or steps.free_symbols <= {L, mu, tau}:
        instance = shrink(instance, steps, violates, effort, so_far)
    return _refutation(case, instance)


def _refuted(case: Case, lines: tuple[str, ...], instance: Instance) -> StageResult:
    """What an instance that refutes the claim shows."""
    return StageResult(lines, (_refutation(case, instance),))


def _refutation(case: Case, instance: Instance) -> Verdict:
    verdict = examine(instance, case.claim, case.reading)
    return replace(verdict, data={**verdict.data, **by_hand(instance, case.claim, case.reading)})
