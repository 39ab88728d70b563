"""Searches over many claims and readings: in order or in several processes, saved as they finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbounds import io
from fedbounds.errors import reject, whole
from fedbounds.plugins import Plugins, claims_from, modules_from, nearest
from fedbounds.referee.search import refute as search_for
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.family import InstanceFamily, families
from fedbounds.referee.work_items import WorkItems
from fedbounds.study import claim_identity
from fedbounds.study.claim_identity import statement_digest, tell_anew
from fedbounds.study.parallel import in_order
from fedbounds.study.result import verdicts_from
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
    ``jobs``: processes; ``out``, a JSON file, lets the same call continue.

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
    """Search every (claim, reading), in ``jobs`` processes; verdicts in order.

    ``out`` holds the verdicts found so far and is written after each, so that the same call continues; a
    single search also keeps its families beside it, in ``out`` + ".state".
    """
    if budget not in BUDGETS:
        raise nearest("budget", budget, BUDGETS)
    whole("jobs", jobs, 1)
    identity = {"budget": budget, "seed": whole("seed", seed)}
    statements = {claim.key: statement_digest(claim) for claim, _ in todo}
    done, earlier = _saved(out, identity, statements)
    left = [pair for pair in todo if _place(pair) not in done]
    state = out.with_name(out.name + ".state") if out is not None and jobs == 1 else None
    search = partial(_search_for, budget, seed, state, progress if jobs == 1 else None, by_family)
    for pair, verdict in zip(left, in_order(search, left, jobs), strict=True):
        done[_place(pair)] = verdict.to_json()
        if out is not None:
            io.write_json(out, {"search": identity, "stated": earlier | statements, "verdicts": done})
        if state is not None:
            state.unlink(missing_ok=True)
        if jobs > 1 and progress is not None:
            progress("claims", sum(_place(pair) in done for pair in todo), len(todo))
    return verdicts_from([done[_place(pair)] for pair in todo])


def _search_for(
    budget: str,
    seed: int,
    state: Path | None,
    progress: search_for.Progress | None,
    by_family: Mapping[str, InstanceFamily] | None,
    pair: tuple[Claim, str],
) -> Verdict:
    claim, reading = pair
    items = WorkItems(claim_identity.identity(claim, reading, budget, seed), state)
    each = partial(items.each, is_usable=search_for.is_outcome)
    return search_for.refute(claim, READINGS[reading], BUDGETS[budget], seed, progress, each, by_family)


def _place(pair: tuple[Claim, str]) -> str:
    return f"{pair[0].key}/{pair[1]}"


def _saved(
    out: Path | None, identity: dict[str, Any], statements: dict[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Verdicts of an earlier call, "key/reading" -> verdict, and the statements (key -> hash) that they are about.

    Verdicts on other ``statements`` than these are left out. InputError if that call searched differently.
    """
    if out is None or not out.exists():
        return {}, {}
    saved = io.shaped(io.read_json(out), _Saved, out.name)
    if saved.search != identity:
        raise reject(f"{out} belongs to another search", saved.search, "use another file")
    result = verdicts_from(list(saved.verdicts.values()))
    about = {pair: verdict.claim for pair, verdict in zip(saved.verdicts, result, strict=True)}
    changed = {key for key in statements.keys() & about.values() if saved.stated.get(key) != statements[key]}
    for key in sorted(changed):
        tell_anew(out, key)
    return {pair: verdict for pair, verdict in saved.verdicts.items() if about[pair] not in changed}, saved.stated


@dataclass(frozen=True)
class _Saved:
    """What the file of an earlier call holds."""

    search: dict[str, Any]
    verdicts: dict[str, dict[str, Any]]
    stated: dict[str, str] = field(default_factory=dict)
