"""What the conformance oracle says of FedLab, FedJAX and Flower, each where it is installed.

    python -m validate.frameworks [--samples 1000] [--only NAME]

An adapter gives the framework its own objects: models, loaders, replies. Which clients take part is drawn here, as
the frameworks draw it in ways of their own; local steps and aggregation are the framework's, but for Flower, whose
strategies are the server's only.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterator
from unittest.mock import MagicMock

import numpy as np

from fedbounds.report.table import Table
from fedbounds.testing.round_conformance import conforms
from fedbounds.testing.small_rounds import Task
from validate.markdown import of_table
from validate.runner import DOCS, Study


def _chosen(task: Task, rng: np.random.Generator) -> list[int]:
    return sorted(rng.choice(len(task.targets), task.participants, replace=False).tolist())


def _rows(task: Task, i: int, rng: np.random.Generator) -> list:
    """The rows of every local step, drawn with replacement."""
    n, size = len(task.targets[i]), task.batch_size
    return [np.arange(n) if size is None else rng.integers(0, n, size) for _ in range(task.steps[i])]


class _Loaders:
    """A FedLab dataset that serves the batches of the local steps."""

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        self.task, self.rng = task, rng

    def get_dataloader(self, i: int, batch_size: int) -> list:
        import torch

        X, y = (torch.tensor(values[i]) for values in (self.task.features, self.task.targets))
        return [(X[rows], y[rows]) for rows in map(torch.tensor, _rows(self.task, i, self.rng))]


def _half_mse(output, target):
    return ((output[:, 0] - target) ** 2).mean() / 2


def fedlab(state: dict, task: Task, rng: np.random.Generator) -> dict:
    """A round of FedLab's serial trainer and synchronous server."""
    import torch

    for missing in ("torchvision", "torchvision.transforms", "torchvision.datasets"):
        sys.modules.setdefault(missing, MagicMock())  # FedLab's data sets import it, which are not used here
    from fedlab.contrib.algorithm import basic_client, basic_server, fednova, fedprox, scaffold

    key, N = task.algorithm.key, len(task.targets)
    trainers = {
        "fedprox": fedprox.FedProxSerialClientTrainer,
        "scaffold": scaffold.ScaffoldSerialClientTrainer,
        "fednova": fednova.FedNovaSerialClientTrainer,
    }
    servers = {"scaffold": scaffold.ScaffoldServerHandler, "fednova": fednova.FedNovaServerHandler}
    trainer = trainers.get(key, basic_client.SGDSerialClientTrainer)(_linear(state["w"]), N)
    server = servers.get(key, basic_server.SyncServerHandler)(_linear(state["w"]), 1, task.participants / N)
    server.num_clients = N
    server.sample_ratio = (task.participants + 1e-9) / N  # the server rounds down
    trainer.setup_dataset(_Loaders(task, rng))
    trainer.setup_optim(1, task.batch_size, task.eta, *([task.algorithm.strength] if key == "fedprox" else []))
    trainer.criterion = _half_mse
    if key in servers:
        server.setup_optim(*([task.algorithm.server_step] if key == "scaffold" else []))
    if key == "scaffold":
        server.global_c = torch.tensor(state["c"])
        trainer.cs = [torch.tensor(c) for c in state["c_i"]]
    trainer.local_process(server.downlink_package, _chosen(task, rng))
    for pack in trainer.uplink_package:
        server.load(pack)
    result = {"w": server.model_parameters.numpy()}
    if key == "scaffold":
        result |= {"c": server.global_c.numpy(), "c_i": np.stack([c.numpy() for c in trainer.cs])}
    return result


def _linear(w: np.ndarray):
    import torch

    model = torch.nn.Linear(len(w), 1, bias=False).double()
    model.weight.data[:] = torch.tensor(w)
    return model


_BUILT: dict = {}


def fedjax(state: dict, task: Task, rng: np.random.Generator) -> dict:
    """A round of FedJAX's `federated_averaging` or `fed_prox`, which shuffle the samples of a client."""
    import fedjax
    import jax

    name = (task.algorithm.key, task.tau, task.batch_size, task.eta)
    if name not in _BUILT:  # or every round would be compiled
        _BUILT[name] = _fedjax(task)
    algorithm = _BUILT[name]
    clients = [
        (str(i), fedjax.ClientDataset({"x": task.features[i], "y": task.targets[i]}), jax.random.PRNGKey(0))
        for i in _chosen(task, rng)
    ]
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002  what its shuffling draws from
    after, _ = algorithm.apply(algorithm.init(jax.numpy.asarray(state["w"])), clients)
    return {"w": np.asarray(after.params)}


def _fedjax(task: Task):
    import fedjax
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.tree_map = jax.tree_util.tree_map  # newer versions of JAX took it away, and FedJAX asks for it

    def loss(w, batch, rng=None):
        return ((batch["x"] @ w - batch["y"]) ** 2).mean() / 2

    key = task.algorithm.key
    batches = fedjax.ShuffleRepeatBatchHParams(batch_size=task.batch_size, num_epochs=None, num_steps=task.tau)
    steps = fedjax.optimizers.sgd(task.eta), fedjax.optimizers.sgd(task.algorithm.server_step)
    if key == "fedprox":
        per_example = lambda w, batch, rng: (batch["x"] @ w - batch["y"]) ** 2 / 2  # noqa: E731
        return fedjax.algorithms.fed_prox.fed_prox(per_example, *steps, batches, task.algorithm.strength)
    return fedjax.algorithms.fed_avg.federated_averaging(jax.grad(loss), *steps, batches)


def flower(state: dict, task: Task, rng: np.random.Generator) -> dict:
    """A round whose server is Flower's `FedAvg` or `FedAvgM` strategy."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.serverapp.strategy import FedAvg, FedAvgM
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1  # what its runtime would set
    replies = []
    for i in _chosen(task, rng):
        x = state["w"].copy()
        for rows in _rows(task, i, rng):
            x = x - task.eta * task.gradient(i, x, rows)
        counted = MetricRecord({"num-examples": len(task.targets[i])})
        content = RecordDict({"arrays": ArrayRecord([x]), "metrics": counted})
        replies.append(Message(content, dst_node_id=1, message_type="train"))
    if task.algorithm.key == "fedavg":
        result, _ = FedAvg().aggregate_train(1, replies)
        return {"w": result.to_numpy_ndarrays()[0]}
    method = task.algorithm
    strategy = FedAvgM(server_learning_rate=method.server_step, server_momentum=method.momentum)
    strategy.current_arrays, strategy.momentum_vector = ArrayRecord([state["w"]]), [-state["m"]]
    result, _ = strategy.aggregate_train(1, replies)
    return {"w": result.to_numpy_ndarrays()[0], "m": -strategy.momentum_vector[0]}


ASKED = {
    "fedlab": (fedlab, ("fedavg", "fedprox:strength=1.0", "scaffold:server_step=0.7", "fednova")),
    "fedjax": (fedjax, ("local-rr", "fedavg")),
    "flwr": (flower, ("fedavg", "fedavgm:momentum=0.5,server_step=0.7")),
}


def verdicts(samples: int, only: str) -> Iterator[dict]:
    """What the oracle says of every framework that is installed, for each of its algorithms."""
    for name, (function, asked) in ASKED.items():
        if importlib.util.find_spec(name) is not None and only in ("", name):
            version = importlib.metadata.version(name)
            for text in asked:
                result = conforms(function, text, samples=samples, full=name != "fedjax")  # its batches have one size
                found = {"conforms": bool(result), "slips": result.slips, "message": str(result)}
                yield {"framework": name, "version": version, "algorithm": text, **found}


def compute(samples: int = 1000, only: str = "") -> list[dict]:
    """Their rows; what was recorded of other frameworks stays."""
    result = list(verdicts(samples, only))
    tried = {row["framework"] for row in result}
    return [row for row in STUDY.stored() if row["framework"] not in tried] + result


def table(rows: list[dict]) -> str:
    """What was said of the frameworks."""
    lines = []
    for row in sorted(rows, key=lambda row: row["framework"]):
        slip = re.search(r"It does what happens where (.*?)\. A right one", row["message"])
        name = f"{row['framework']} {row['version']}"
        lines.append((name, row["algorithm"], "yes" if row["conforms"] else "no", slip[1] if slip else "–"))
    return of_table(Table.of(("framework", "compared with", "conforms", "what it does instead"), lines))


STUDY = Study(__doc__, "frameworks", compute, table, page=DOCS / "zoo.md", blocks={"frameworks": table})

if __name__ == "__main__":
    STUDY.main()
