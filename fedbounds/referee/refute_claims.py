"""Searches over many claims and readings, whose pieces are saved as they finish."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbounds import io
from fedbounds.errors import whole
from fedbounds.plugins import Plugins, claims_from, modules_from, nearest
from fedbounds.referee.search import refute as search_for
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.family import families
from fedbounds.referee.work_items import WorkItems
from fedbounds.study.claim_identity import identity
from fedbounds.study.result_table import Findings, flat
from fedbounds.theory.claim import in_readings
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
    ``jobs``: processes; ``out``, a JSON file, has the verdicts so far, and ``out`` + ".state" until the end the
    pieces that the same call does not compute again.

    >>> refute("rate")[0].detail
    'w_0 is a fixed point for every step size: the gap is 1/18 at every T'
    """
    path = None if out is None else Path(out)
    if path is not None:
        io.require_writable(path.parent)
    if budget not in BUDGETS:
        raise nearest("budget", budget, BUDGETS)
    whole("jobs", jobs, 1)
    search = {"budget": budget, "seed": whole("seed", seed)}
    modules = modules_from(plugins)
    todo, by_family = list(in_readings(claims_from(claim, modules), reading)), families(modules)
    for item, _ in todo:
        item.require_fedavg()
    state = None if path is None else path.with_name(path.name + ".state")
    verdicts: dict[str, Verdict] = {}
    for item, name in todo:
        pieces = WorkItems(identity(item, name, budget, seed), state, jobs)
        each = partial(pieces.each, is_usable=search_for.is_outcome)
        verdicts[f"{item.key}/{name}"] = search_for.refute(
            item, READINGS[name], BUDGETS[budget], seed, progress, each, by_family
        )
        if path is not None:
            found = {place: verdict.to_json() for place, verdict in verdicts.items()}
            io.write_json(path, {"search": search, "verdicts": found})
    if state is not None:
        state.unlink(missing_ok=True)
    return Findings(tuple(verdicts.values()), _of_verdict)
