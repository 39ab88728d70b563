"""The first stage that tests: dimensions, and both sides in fractions at the limits where a theorem must be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from fedbounds.evidence.exact.compare import examine, unexpressed
from fedbounds.evidence.exact.instance import Instance
from fedbounds.referee import limit_cases
from fedbounds.referee.case import Case, Found
from fedbounds.referee.dimensions import misprints
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.shrink import by_hand, judge, shrink
from fedbounds.theory.claim import Kind
from fedbounds.theory.symbols import L, mu, tau
from fedbounds.theory.verdict import Evidence, Status, Verdict


def sanity(case: Case) -> Found:
    """Dimensions, and both sides in fractions at the limits where a theorem must be right."""
    claim, reading = case.claim, case.reading
    wrong = misprints(claim, reading)
    lines = tuple(f"warning: {item}, with w in metres and F in joules" for item in wrong) or ("dimensions agree",)
    if claim.kind is Kind.RATE or unexpressed(claim, reading):
        return Found((*lines, "limits: not in fractions"))
    tested: dict[str, limit_cases.Seen] = {}
    for instance, violated in limit_cases.sweep(claim, reading, bool(wrong), tested):
        if violated:
            return Found(lines, (confirmed(case, lines, instance),))
        case.so_far(lambda: _without_violation(case, lines, tested))
    return _without_violation(case, lines, tested)


def _without_violation(case: Case, lines: tuple[str, ...], tested: Mapping[str, limit_cases.Seen]) -> Found:
    """How many exact instances were compared, at which limits."""
    total, limits = tested.get(""), limit_cases.LIMITS
    if total is None:
        return Found((*lines, "no exact instance was tested"))
    seen = [f"  at {name}: {tested[name]}" for name in limits if name in tested]
    unseen = ", ".join(name for name in limits if name not in tested)
    said = f"no violation at {total.count} exact instances"
    seen += [f"  not seen (outside its assumptions, or 0 on both sides): {unseen}"] if unseen else []
    seen += [f"  {limit_cases.NOISY}"] if "noise" in tested else []
    verdict = case.verdict(Evidence.EXACT, Status.UNDECIDED, said)
    verdict = replace(verdict, margin=total.margin, data={"seen": [name for name in limits if name in tested]})
    return Found((*lines, said, *seen), (verdict,))


def confirmed(case: Case, lines: tuple[str, ...], instance: Instance) -> Verdict:
    """An instance that refutes the claim made as small as the time allows, with what checks it by hand."""

    def so_far(smallest: Instance) -> None:
        case.so_far(partial(_refuted, case, lines, smallest))

    so_far(instance)
    violates, effort = judge(case.claim, case.reading), BUDGETS[case.budget].shrink
    steps = case.claim.steps
    if steps is None or steps.free_symbols <= {L, mu, tau}:
        instance = shrink(instance, steps, violates, effort, so_far)
    return _refutation(case, instance)


def _refuted(case: Case, lines: tuple[str, ...], instance: Instance) -> Found:
    """What an instance that refutes the claim shows."""
    return Found(lines, (_refutation(case, instance),))


def _refutation(case: Case, instance: Instance) -> Verdict:
    verdict = examine(instance, case.claim, case.reading)
    return replace(verdict, data={**verdict.data, **by_hand(instance, case.claim, case.reading)})
