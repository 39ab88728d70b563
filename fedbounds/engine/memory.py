"""The memory that a study takes, at least and at most, from its sizes, and the memory that there is."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from fedbounds.engine.record import FIELDS, SAMPLE
from fedbounds.errors import InputError, reject
from fedbounds.model.experiment import Experiment, Statistics

NUMBER = 8
# Steps are measured together as long as their local models have so many entries (4 MB), or one by one.
SPAN = 2**19
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
# Replicates that run together, at least.
TOGETHER = 4
# A round is a pair of whole numbers in a tuple of Python.
ROUND = 120
# A check takes no more by default, and no more than this share of the machine's memory.
MOST, SHARE = 10**9, 1 / 4
# Bytes of a check whatever its size: the package, what it imports, and steps that are measured together.
PROCESS = 240 * 10**6
# A forked process has these besides its run.
FORKED = 60 * 10**6
# What is compared: arrays of one number a replicate and recorded time, bytes a replicate, time
# and client, and the arrays of a run in pictures.
COMPARED, POINT, DRAWN = 40, 8, 5
# Statistics of blocks in flight, and those into which they are merged; numbers of one, a time, and a time and client.
TALLIES, A_TIME, A_CLIENT = 5, 2 * FIELDS * (FIELDS + 2), 9
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


def wants_streaming(experiment: Experiment, statistics: Statistics, limit: float | None = None) -> bool:
    """Whether a run streams: ``auto`` does where a check of its record would take more than ``limit``, or `budget`.

    InputError for an unknown ``statistics``.
    """
    if statistics not in ("auto", "stored", "streamed"):
        raise reject("statistics must be auto, stored or streamed", statistics, "use auto")
    most = budget() if limit is None else limit
    return statistics == "streamed" or (statistics == "auto" and check_peak(experiment, streamed=False) > most)


def check_peak(experiment: Experiment, streamed: bool, drawn: int = 0, processes: int = 1) -> float:
    """Bytes that a check takes at most, with runs in ``processes``; of ``drawn`` what pictures need is held."""
    N, tau, stride, T = experiment.problem.N, experiment.tau, experiment.stride, experiment.total_steps
    K, R = T // stride + 1, experiment.replicates
    rounds, kept, clients = T // max(stride, tau) + 1, min(R, SAMPLE) if streamed else R, 0 if streamed else N
    record = NUMBER * kept * (K * (2 * FIELDS + 3 + 3 * clients) + rounds * clients)
    compared = kept * K * (NUMBER * (COMPARED + DRAWN * drawn) + POINT * clients)
    tallies = TALLIES * K * (A_TIME + A_CLIENT * N) if streamed else 0
    samples = 4.0 * int(experiment.problem.sizes.sum()) * experiment.problem.d  # a kernel's tables of them
    a_run = record + compared + NUMBER * samples + NUMBER * (tallies + R * (N + 7.0) + 4.0 * T * N)
    return PROCESS + processes * a_run + (FORKED if processes > 1 else 0) * processes


def size(count: float) -> str:
    """Bytes in units of a thousand, as memory is sold."""
    power = min(max(int(math.log10(count)) // 3, 0), len(UNITS) - 1) if count else 0
    return f"{count / 1000**power:.3g} {UNITS[power]}"
