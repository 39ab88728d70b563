"""Searches over many claims and readings: in order or in several processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbounds import io
from fedbounds.errors import whole
from fedbounds.plugins import Plugins, claims_from, modules_from, nearest
from fedbounds.referee.search import refute as search_for
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.family import InstanceFamily, families
from fedbounds.study.parallel import in_order
from fedbounds.study.result_table import Findings, flat
from fedbounds.theory.claim import Claim, in_readings
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Verdict

if TYPE_CHECKING:
    from fedbounds.plugins import Theorem


def _of_verdict(verdict: Verdict) -> list[dict[str, Any]]:
    return [flat(verdict.to_json())]


def refute(
    claim: Theorem | None = None,
    reading: str | None = None,
    budget: str = "small",
    *,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    plugins: Plugins = (),
    progress: search_for.Progress | None = None,
) -> Findings[Verdict]:
    """Search for a counterexample to a claim (all, if none is given) in each reading, confirmed in fractions.

    REFUTED carries the instance and both sides in ``data``; anything else the closest approach, which proves nothing.
    ``jobs``: processes; ``out``: a JSON file for the verdicts.

    >>> refute("rate")[0].detail
    'w_0 is a fixed point for every step size: the gap is 1/18 at every T'
    """
    path = None if out is None else Path(out)
    if path is not None:
        io.require_writable(path.parent)
    modules = modules_from(plugins)
    todo, by_family = list(in_readings(claims_from(claim, modules), reading)), families(modules)
    for item, _ in todo:
        item.require_fedavg()
    result = run_all(todo, budget, seed, jobs=jobs, out=path, progress=progress, by_family=by_family)
    return Findings(tuple(result), _of_verdict)


def run_all(
    todo: Sequence[tuple[Claim, str]],
    budget: str,
    seed: int,
    *,
    jobs: int = 1,
    out: Path | None = None,
    progress: search_for.Progress | None = None,
    by_family: Mapping[str, InstanceFamily] | None = None,
) -> list[Verdict]:
    """Search every (claim, reading), in ``jobs`` processes; verdicts in order, also in ``out`` as they are found."""
    if budget not in BUDGETS:
        raise nearest("budget", budget, BUDGETS)
    whole("jobs", jobs, 1)
    spent = {"budget": budget, "seed": whole("seed", seed)}
    search = partial(_search_for, budget, seed, progress if jobs == 1 else None, by_family)
    verdicts: list[Verdict] = []
    for verdict in in_order(search, todo, jobs):
        verdicts.append(verdict)
        if out is not None:
            by_place = {f"{item.claim}/{item.reading}": item.to_json() for item in verdicts}
            io.write_json(out, {"search": spent, "verdicts": by_place})
        if jobs > 1 and progress is not None:
            progress("claims", len(verdicts), len(todo))
    return verdicts


def _search_for(
    budget: str,
    seed: int,
    progress: search_for.Progress | None,
    by_family: Mapping[str, InstanceFamily] | None,
    pair: tuple[Claim, str],
) -> Verdict:
    claim, reading = pair
    return search_for.refute(claim, READINGS[reading], BUDGETS[budget], seed, progress, by_family=by_family)
