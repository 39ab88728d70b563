"""A function of many things, computed in several processes or on a cluster, in order."""

from __future__ import annotations

import functools
import os
import pickle
import sys
from collections.abc import Callable, Generator, Sequence
from typing import Any

from fedbounds.plugins import PLUGIN
from fedbounds.study.sweep.cluster import cluster
from fedbounds.study.sweep.run import AHEAD, followed, processes, stream


def in_order(
    function: Callable[[Any], Any], items: Sequence[Any], jobs: int = 1, scheduler: str | None = None
) -> Generator[Any, None, None]:
    """function(item) of each item, in their order, from ``jobs`` processes or the workers of a Dask scheduler.

    It may be made of what a plug-in file defines, and is packed here, once.
    """
    import cloudpickle
    from joblib import Parallel

    count = processes(jobs, len(items))
    if scheduler is None and count < 2:
        yield from map(function, items)
        return
    for name, module in list(sys.modules.items()):
        if name.startswith(PLUGIN):
            cloudpickle.register_pickle_by_value(module)
    task = functools.partial(_unpacked, cloudpickle.dumps(function))
    if scheduler is None:
        pool = Parallel(n_jobs=count, return_as="generator", batch_size=1, pre_dispatch=AHEAD * count)
        yield from stream(pool, functools.partial(followed, task, os.getpid()), items)
        return
    with cluster(scheduler) as client:
        futures = client.map(task, items, pure=False)
        yield from (future.result() for future in futures)


def _unpacked(packed: bytes, item: Any) -> Any:
    return _function(packed)(item)


@functools.lru_cache(maxsize=1)
def _function(packed: bytes) -> Any:
    return pickle.loads(packed)
