"""Searches over many claims and readings: in order or in several processes, saved as they finish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedbounds import files
from fedbounds.errors import reject
from fedbounds.plugins import claim_named, load_file
from fedbounds.referee.identity import stated, tell_anew
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.refute import Progress, refute
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS


def searches(claims: Mapping[str, Claim], reading: str | None = None) -> Iterator[tuple[Claim, str]]:
    """Every (claim, reading) that says something of its own, or every claim in one reading."""
    if reading is not None and reading not in READINGS:
        raise reject("a reading must be known", reading, f"use one of {', '.join(READINGS)}")
    for claim in claims.values():
        for name in claim.readings if reading is None else (reading,):
            yield claim, name


def run_all(
    todo: Sequence[tuple[str, str]],
    budget: str,
    seed: int,
    *,
    jobs: int = 1,
    out: Path | None = None,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Search every (claim key, reading), in ``jobs`` processes; verdicts as JSON objects, in order.

    ``out`` holds the verdicts found so far and is written after each, so that the same call continues; a
    single search also keeps its families beside it, in ``out`` + ".state".
    """
    identity = {"budget": budget, "seed": seed}
    extra = [load_file(path) for path in plugins]
    own = {key: stated(claim_named(key, extra)) for key, _ in todo}
    done, told = _saved(out, identity, own)
    left = [pair for pair in todo if "/".join(pair) not in done]
    state = out.with_name(out.name + ".state") if out is not None else None

    def keep(pair: tuple[str, str], verdict: dict[str, Any]) -> None:
        done["/".join(pair)] = verdict
        if out is not None:
            files.write_json(out, {"search": identity, "stated": told | own, "verdicts": done})
        if jobs > 1 and progress is not None:
            progress("claims", sum("/".join(pair) in done for pair in todo), len(todo))

    if jobs > 1:
        for pair, verdict in _in_parallel(left, budget, seed, tuple(plugins), jobs):
            keep(pair, verdict)
    else:
        for pair in left:
            keep(pair, _one(pair, budget, seed, tuple(plugins), state, progress))
            if state is not None:
                state.unlink(missing_ok=True)
    return [done["/".join(pair)] for pair in todo]


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
    left: Sequence[tuple[str, str]], budget: str, seed: int, plugins: tuple[str, ...], jobs: int
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Searches in fresh processes, as they finish; each has its own seed, so the order does not matter."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_one, pair, budget, seed, plugins): pair for pair in left}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _one(
    pair: tuple[str, str],
    budget: str,
    seed: int,
    plugins: tuple[str, ...],
    state: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One search by key, as a process of its own can run it."""
    claim = claim_named(pair[0], [load_file(path) for path in plugins])
    verdict = refute(claim, READINGS[pair[1]], BUDGETS[budget], seed, state, progress)
    return verdict.to_json()
