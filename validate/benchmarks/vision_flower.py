"""The same round in Flower's simulation engine, where `flwr[simulation]` is installed.

Flower gives every client's training to a worker process (one, on one processor); the client is the tuned plain loop.
The engine starts once and its first round, in which the worker loads its libraries, is not timed. Times are by the
clock, from handing out the model to the averaged one, as the work is spread over processes.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

ONE_WORKER = {
    "init_args": {"num_cpus": 1, "include_dashboard": False},
    "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
}


def train(parameters: Sequence[np.ndarray], client: int, sizes: tuple[int, int, int], lr: float) -> list[np.ndarray]:
    """One client's local epochs from ``parameters``, on its batches of the workload."""
    from validate.benchmarks import vision

    work, net = _workload(sizes), vision.Tuned()
    with torch.no_grad():
        for own, piece in zip(net.parameters(), parameters, strict=True):
            own.copy_(torch.from_numpy(np.array(piece)))
    vision.descend(net, replace(work, settings=replace(work.settings, lr=lr)), work.orders[client])
    return [piece.detach().numpy() for piece in net.parameters()]


@functools.cache
def _workload(sizes: tuple[int, int, int]) -> Any:
    from validate.benchmarks import vision

    torch.set_num_threads(1)
    return vision.workload(*sizes)


def seconds(sizes: tuple[int, int, int], lr: float, repeats: int) -> float:
    """Median seconds of a round by the clock; ``sizes`` are clients, samples of each, and epochs."""
    from flwr.client import ClientApp, NumPyClient
    from flwr.common import ndarrays_to_parameters
    from flwr.server import ServerApp, ServerAppComponents, ServerConfig
    from flwr.server.strategy import FedAvg
    from flwr.simulation import run_simulation

    spent: list[float] = []

    class Client(NumPyClient):
        def __init__(self, number: int) -> None:
            self.number = number

        def fit(self, parameters: Any, config: Any) -> Any:
            return train(parameters, self.number, sizes, lr), sizes[1], {}

    class Timed(FedAvg):
        def configure_fit(self, *given: Any, **named: Any) -> Any:
            spent.append(-time.perf_counter())
            return super().configure_fit(*given, **named)

        def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
            if failures or len(results) != sizes[0]:
                raise AssertionError(f"{len(results)} of {sizes[0]} clients answered Flower")
            averaged = super().aggregate_fit(server_round, results, failures)
            spent[-1] += time.perf_counter()
            return averaged

    def server(_: Any) -> Any:
        from validate.benchmarks.vision import Tuned

        start = [piece.detach().numpy() for piece in Tuned().parameters()]
        everyone = {"fraction_evaluate": 0.0, "min_fit_clients": sizes[0], "min_available_clients": sizes[0]}
        strategy = Timed(initial_parameters=ndarrays_to_parameters(start), **everyone)
        return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=1 + repeats))

    def client(context: Any) -> Any:
        return Client(int(context.node_config["partition-id"])).to_client()

    apps = {"server_app": ServerApp(server_fn=server), "client_app": ClientApp(client_fn=client)}
    run_simulation(**apps, num_supernodes=sizes[0], backend_config=ONE_WORKER)
    return float(np.median(spent[1:]))
