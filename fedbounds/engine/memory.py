"""The memory that a study takes at least, from its sizes, and the memory that there is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from fedbounds.engine.record import SAMPLE
from fedbounds.engine.streaming import FIELDS
from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment, Statistics

NUMBER = 8
# Steps are measured together as long as their local models have so many entries (4 MB), or one by one.
SPAN = 2**19
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
# Replicates that run together, at least.
TOGETHER = 4
# A round is a pair of whole numbers in a tuple of Python.
ROUND = 120
# What a control group may take: of version 2 of Linux's, and of version 1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available() -> int:
    """Bytes that this process may take: the machine's memory that is not in use, or less where its group has less."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in ("/proc/meminfo", *LIMITS):
        try:
            text = Path(name).read_text()
        except OSError:  # another system, or no such group
            continue
        if "MemAvailable:" in text:
            sizes.append(1024 * int(text.partition("MemAvailable:")[2].split()[0]))
        elif text.strip().isdigit():
            sizes.append(int(text))
    return min(sizes)


def require(parts: Mapping[str, float]) -> None:
    """InputError where ``parts`` (what for -> bytes, at least) need more memory than there is."""
    need, there = sum(parts.values()), available()
    if need > there:
        most = max(parts, key=lambda part: parts[part])
        raise InputError(
            f"This study needs at least {_size(need)} of memory, most of it for {most}, "
            f"and {_size(there)} are there: make it smaller, or use a machine with more."
        )


def require_run(experiment: Experiment, statistics: Statistics = "auto", record: str = "full") -> None:
    """The same, of the record of an experiment."""
    sizes = {name: getattr(experiment, name) for name in ("tau", "rounds", "replicates", "stride")}
    problem = experiment.problem
    batch = experiment.batch_size if problem.sampling == "indices" else None
    require(run_parts(problem.N, problem.d, **sizes, batch=batch, statistics=statistics, record=record))


def run_parts(
    N: int,
    d: int,
    *,
    tau: int,
    rounds: int,
    replicates: int,
    stride: int,
    batch: int | None,
    statistics: Statistics = "auto",
    record: str = "full",
) -> dict[str, float]:
    """What a run holds at once, at least: what for -> bytes."""
    T, together = tau * rounds, min(replicates, TOGETHER)
    if record == "distance":
        counts = {
            f"two numbers of {replicates} replicates a round": 2.0 * replicates * rounds * tau / max(stride, tau)
        }
    else:
        K = T // stride + 1
        stored = replicates * K * (FIELDS + 3 + 3.0 * N)
        streamed = K * (min(replicates, SAMPLE) * (FIELDS + 3) + 5.0 * N)
        choices = {"stored": stored, "streamed": streamed}
        counts = {
            f"the record of {replicates} replicates at {K} steps": choices.get(statistics, min(stored, streamed)),
            f"the moments of {N} clients at {T} steps": 4.0 * T * N,
            f"the extremes of {replicates} replicates and {N} clients": replicates * (N + 7.0),
            "the models and gradients of steps that are measured together": 3.0 * min(SPAN, T * replicates * N * d),
        }
    counts[f"the models of {N} clients in {d} dimensions"] = 3.0 * together * N * d
    counts[f"batches of {batch} samples"] = 3.0 * together * (batch or 0)
    return {f"{T} steps in {rounds} rounds": 8.0 * T + ROUND * rounds} | {
        what: NUMBER * n for what, n in counts.items()
    }


def _size(count: float) -> str:
    """Bytes in units of a thousand, as memory is sold."""
    power = min(max(int(math.log10(count)) // 3, 0), len(UNITS) - 1) if count else 0
    return f"{count / 1000**power:.3g} {UNITS[power]}"
