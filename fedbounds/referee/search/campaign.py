"""Searches over many claims and readings: in order or in several processes, saved as they finish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.plugins import claim_named, claims, load_file
from fedbounds.referee.identity import stated, tell_anew
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.refute import Progress, refute
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS


def searches(chosen: Mapping[str, Claim], reading: str | None = None) -> Iterator[tuple[Claim, str]]:
    """Every (claim, reading) that says something of its own, or every claim in one reading."""
    if reading is not None and reading not in READINGS:
        raise reject("a reading must be known", reading, f"use one of {', '.join(READINGS)}")
    for claim in chosen.values():
        for name in claim.readings if reading is None else (reading,):
            yield claim, name


def run_all(
    todo: Sequence[tuple[Claim, str]],
    budget: str,
    seed: int,
    *,
    jobs: int = 1,
    out: Path | None = None,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Search every (claim, reading), in ``jobs`` processes; verdicts as JSON objects, in order.

    Processes find a claim by its key, in the files ``plugins`` too; InputError where that is another one.
    ``out`` holds the verdicts found so far and is written after each, so that the same call continues; a
    single search also keeps its families beside it, in ``out`` + ".state".
    """
    identity = {"budget": budget, "seed": seed}
    own = {claim.key: stated(claim) for claim, _ in todo}
    done, told = _saved(out, identity, own)
    left = [pair for pair in todo if _place(pair) not in done]
    state = out.with_name(out.name + ".state") if out is not None else None

    def keep(pair: tuple[Claim, str], verdict: dict[str, Any]) -> None:
        done[_place(pair)] = verdict
        if out is not None:
            files.write_json(out, {"search": identity, "stated": told | own, "verdicts": done})
        if jobs > 1 and progress is not None:
            progress("claims", sum(_place(pair) in done for pair in todo), len(todo))

    if jobs > 1:
        known = claims([load_file(path) for path in plugins])
        for claim, _ in left:
            if claim.key not in known or stated(known[claim.key]) != own[claim.key]:
                remedy = "use one job, or a plug-in file"
                raise reject("several processes find claims by key", f"{claim.key}, an object", remedy)
        for pair, verdict in _in_parallel(left, budget, seed, tuple(plugins), jobs):
            keep(pair, verdict)
    else:
        for claim, name in left:
            verdict = refute(claim, READINGS[name], BUDGETS[budget], seed, state, progress).to_json()
            keep((claim, name), verdict)
            if state is not None:
                state.unlink(missing_ok=True)
    return [done[_place(pair)] for pair in todo]


def _place(pair: tuple[Claim, str]) -> str:
    return f"{pair[0].key}/{pair[1]}"


def _saved(out: Path | None, identity: dict[str, Any], own: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Verdicts of an earlier call, "key/reading" -> verdict, and the statements (key -> hash) that they are about.

    Verdicts on other statements than our ``own`` are left out. InputError if that call searched differently.
    """
    if out is None or not out.exists():
        return {}, {}
    saved = files.read_json(out)
    if saved.get("search") != identity:
        raise reject(f"{out} belongs to another search", saved.get("search"), "use another file")
    told = saved.get("stated", {})
    known = {verdict["claim"] for verdict in saved["verdicts"].values()}
    changed = {key for key in known & own.keys() if told.get(key) != own[key]}
    for key in sorted(changed):
        tell_anew(out, key)
    return {pair: found for pair, found in saved["verdicts"].items() if found["claim"] not in changed}, told


def _in_parallel(
    left: Sequence[tuple[Claim, str]], budget: str, seed: int, plugins: tuple[str, ...], jobs: int
) -> Iterator[tuple[tuple[Claim, str], dict[str, Any]]]:
    """Searches in fresh processes, as they finish; each has its own seed, so the order does not matter."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_named, pair[0].key, pair[1], budget, seed, plugins): pair for pair in left}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _named(key: str, name: str, budget: str, seed: int, plugins: tuple[str, ...]) -> dict[str, Any]:
    """One search by key, as a process of its own can run it."""
    claim = claim_named(key, [load_file(path) for path in plugins])
    return refute(claim, READINGS[name], BUDGETS[budget], seed).to_json()
