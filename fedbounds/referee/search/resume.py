"""A search that goes on where it was stopped: what its arms found stands in a JSON file.

What stands there is a point of the search, never a verdict: whether it violates the claim is computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from fedbounds import io
from fedbounds.referee.search.family import dimension, families
from fedbounds.referee.search.outcome import Outcome, Task
from fedbounds.referee.search.refute import Each
from fedbounds.study.identity import statement_digest, versions
from fedbounds.theory.claim import Claim


def resumed(
    file: Path, each: Each, claim: Claim, reading: str, budget: str, seed: int, extra: Sequence[ModuleType] = ()
) -> Each:
    """``each``, but for the tasks of this very search whose outcomes are in the file; the others' are put there.

    Raises InputError where the file is none that fedbounds wrote.
    """
    plugins = [hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest() for module in extra]
    search = [statement_digest(claim), reading, budget, seed, plugins, versions()["fedbounds"]]
    by_family = families(extra)

    def key(task: Task) -> str:
        return hashlib.sha256(json.dumps([*search, asdict(task)]).encode()).hexdigest()

    def fits(outcome: Outcome, task: Task) -> bool:
        shape = task.arm.shape
        size = dimension(shape, by_family[shape.family])
        return (outcome.arm, outcome.rung, len(outcome.point)) == (task.arm, task.rung, size)

    def outcomes(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Outcome]:
        done = io.shaped(io.read_json(file), dict[str, Outcome], file.name) if file.exists() else {}
        keys = [key(task) for task in tasks]
        known = [k in done and fits(done[k], task) for k, task in zip(keys, tasks, strict=True)]
        due = [task for task, there in zip(tasks, known, strict=True) if not there]
        fresh = iter(each(function, due))
        for k, there in zip(keys, known, strict=True):
            if not there:
                done[k] = next(fresh)
                io.write_json(file, {name: asdict(outcome) for name, outcome in done.items()})
            yield done[k]
        next(fresh, None)  # it has ended, not been given up: its processes stay for what follows

    return outcomes
