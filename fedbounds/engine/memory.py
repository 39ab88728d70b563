"""The memory that a study takes, at least and at most, from its sizes, and the memory that there is."""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path

from fedbounds.errors import InputError
from fedbounds.model.experiment import Experiment
from fedbounds.model.trajectory import PATH_FIELDS

NUMBER, FIELDS = 8, len(PATH_FIELDS)
# Steps are measured together as long as their local models have so many entries (4 MB), or one by one.
SPAN = 2**19
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
# Replicates that run together, at least.
TOGETHER = 4
# A round is a pair of whole numbers in a tuple of Python.
ROUND = 120
# A check takes no more by default, and no more than this share of the machine's memory.
MOST, SHARE = 4 * 10**9, 1 / 4
# Bytes of a check whatever its size: the package, what it imports, and steps that are measured together.
PROCESS = 240 * 10**6
# A forked process has these besides its run.
FORKED = 60 * 10**6
# What is compared: arrays of one number a replicate and recorded time, bytes a replicate, time
# and client, and the arrays of a run in pictures.
COMPARED, POINT, DRAWN = 40, 8, 5
# What a control group may take: of version 2 of Linux's, and of version 1.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available() -> int:
    """Bytes that this process may take: the machine's memory that is not in use, or less where its group has less."""
    return _smallest("/proc/meminfo", *LIMITS)


def budget() -> int:
    """Bytes that a check takes at most where nobody says another number, the same however busy the machine is."""
    return min(MOST, int(SHARE * _smallest(*LIMITS)))


def _smallest(*names: str) -> int:
    """The smallest of the machine's memory and the numbers in these files."""
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for name in names:
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
            f"This study needs at least {size(need)} of memory, most of it for {most}, "
            f"and {size(there)} are there: make it smaller, or use a machine with more."
        )


def require_run(experiment: Experiment, record: str = "full") -> None:
    """The same, of the record of an experiment."""
    sizes = {name: getattr(experiment, name) for name in ("tau", "rounds", "replicates", "stride")}
    problem = experiment.problem
    batch = experiment.batch_size if problem.sampling == "indices" else None
    require(run_parts(problem.N, problem.d, **sizes, batch=batch, record=record))


def run_parts(
    N: int,
    d: int,
    *,
    tau: int,
    rounds: int,
    replicates: int,
    stride: int,
    batch: int | None,
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
        counts = {
            f"the record of {replicates} replicates at {K} steps": replicates * K * (FIELDS + 3 + 3.0 * N),
            f"the extremes of {replicates} replicates and {N} clients": replicates * (N + 7.0),
            "the models and gradients of steps that are measured together": 3.0 * min(SPAN, T * replicates * N * d),
        }
    counts[f"the models of {N} clients in {d} dimensions"] = 3.0 * together * N * d
    counts[f"batches of {batch} samples"] = 3.0 * together * (batch or 0)
    return {f"{T} steps in {rounds} rounds": 8.0 * T + ROUND * rounds} | {
        what: NUMBER * n for what, n in counts.items()
    }


def fitting_stride(experiment: Experiment, limit: float) -> int:
    """The smallest stride, the experiment's at least, with which a check takes no more than ``limit`` bytes, or T."""
    strides = range(experiment.stride, experiment.total_steps)
    chosen = bisect_left(strides, True, key=lambda stride: check_peak(experiment.with_(stride=stride)) <= limit)
    return experiment.stride + chosen


def check_peak(experiment: Experiment, drawn: int = 0, processes: int = 1) -> float:
    """Bytes that a check takes at most, with runs in ``processes``; of ``drawn`` what pictures need is held."""
    N, tau, stride, T = experiment.problem.N, experiment.tau, experiment.stride, experiment.total_steps
    K, R, rounds = T // stride + 1, experiment.replicates, T // max(stride, tau) + 1
    record = NUMBER * R * (K * (2 * FIELDS + 3 + 3 * N) + rounds * N)
    compared = R * K * (NUMBER * (COMPARED + DRAWN * drawn) + POINT * N)
    samples = 4.0 * int(experiment.problem.sizes.sum()) * experiment.problem.d  # a kernel's tables of them
    a_run = record + compared + NUMBER * (samples + R * (N + 7.0))
    return PROCESS + processes * (a_run + (FORKED if processes > 1 else 0))


def size(count: float) -> str:
    """Bytes in units of a thousand, as memory is sold."""
    power = min(max(int(math.log10(count)) // 3, 0), len(UNITS) - 1) if count else 0
    return f"{count / 1000**power:.3g} {UNITS[power]}"
