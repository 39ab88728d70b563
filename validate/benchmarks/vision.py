"""One round of the vision path beside other ways to it: `python -m validate.benchmarks --only vision`.

The paper's network on N = 50 clients of 200 made-up images, batches of 64, plain SGD, one local epoch, one thread.
The contestants take turns and medians are kept: other work on the machine slows all of them, so what counts are the
ratios to the tuned plain loop: PyTorch's layers with channels last and pooling before ReLU, autograd and torch.optim,
one client after the other. The untuned loop is what a newcomer writes. Ratios are of processor time. The averaged
models are checked to agree before any time is printed. The evaluation of 10,000 images, which every round ends with,
is timed apart. bfloat16 takes part where the processor multiplies it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from fedbounds.model.problem import Array, Indices
from fedbounds.vision import network, training
from fedbounds.vision.network import Network
from fedbounds.vision.settings import ImageSettings
from fedbounds.vision.training import Samples
from validate.benchmarks.clock import turns

TUNED, PLAIN = "plain loop, tuned", "plain loop"
EVALUATED = 10_000
SIDE = 28
# Largest distance of two averaged models, relative to how far the plain loop moved: sums in another order, and
# products of operands rounded to 8 bits of mantissa.
SAME, ROUNDED = 1e-2, 0.3


@dataclass(frozen=True, eq=False)
class Work:
    """A round: the model it starts from, the data, the batches of each client, the weights alpha, the settings."""

    start: Network
    samples: Samples
    orders: tuple[tuple[Indices, ...], ...]
    alpha: Array
    settings: ImageSettings


def workload(clients: int, samples: int, epochs: int = 1) -> Work:
    """FedAvg's round on uniform noise with uniform labels, equal clients."""
    rng = np.random.default_rng(0)
    total = clients * samples
    x = torch.from_numpy(rng.random((total, 1, SIDE, SIDE), dtype=np.float32))
    y = torch.from_numpy(rng.integers(network.CLASSES, size=total))
    settings = ImageSettings(clients=clients, samples=samples, epochs=epochs)
    orders = training.batches(settings, 0, np.split(np.arange(total), clients), 0)
    return Work(network.initial("flatten", rng), Samples(x, y), orders, np.full(clients, 1 / clients), settings)


class Plain(nn.Sequential):
    """The network as its layers, in the order in which a paper names them."""

    def __init__(self) -> None:
        first, second = network.CHANNELS
        body = [nn.Conv2d(1, first, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(first, second, 3), nn.ReLU()]
        super().__init__(*body, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(network.FLAT, network.CLASSES))

    def put(self, net: Network) -> Plain:
        """The parameters of ``net``; the linear layer's inputs have the channel first here and last there."""
        own = dict(zip(("first", "second", "output"), (self[0], self[3], self[7]), strict=True))
        with torch.no_grad():
            for name, layer in own.items():
                theirs = getattr(net, name)
                layer.bias.copy_(theirs.bias)
                weight = theirs.weight
                layer.weight.copy_(_places(weight, (5, 5, -1), (0, 3, 1, 2)) if name == "output" else weight)
        return self

    def take(self, like: Network) -> Network:
        """The inverse of ``put``, into ``like``."""
        with torch.no_grad():
            for name, layer in zip(("first", "second", "output"), (self[0], self[3], self[7]), strict=True):
                theirs, weight = getattr(like, name), layer.weight
                theirs.bias.copy_(layer.bias)
                theirs.weight.copy_(_places(weight, (-1, 5, 5), (0, 2, 3, 1)) if name == "output" else weight)
        return like


def _places(weight: torch.Tensor, shape: tuple[int, int, int], order: tuple[int, ...]) -> torch.Tensor:
    return weight.view(len(weight), *shape).permute(*order).flatten(1)


class Tuned(Plain):
    """The same with channels last in memory and ReLU after the pooling."""

    def __init__(self) -> None:
        super().__init__()
        self[1], self[2], self[4], self[5] = self[2], self[1], self[5], self[4]
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def descend(net: Plain, work: Work, order: tuple[Indices, ...]) -> Plain:
    """The net after one client's batches, in place."""
    optimiser = torch.optim.SGD(net.parameters(), lr=work.settings.lr)
    for batch in order:
        rows = torch.from_numpy(batch)
        optimiser.zero_grad()
        F.cross_entropy(net(work.samples.x[rows]), work.samples.y[rows]).backward()
        optimiser.step()
    return net


def loop(kind: type[Plain], work: Work) -> Network:
    """Client by client, batch by batch."""
    models = (descend(kind().put(work.start), work, order).take(Network("flatten")) for order in work.orders)
    return training.average(work.alpha, models, work.start)


def ours(precision: str, work: Work) -> Network:
    """The package's own round; who has no weight does not train."""
    settings, where = replace(work.settings, precision=precision), training.machine("cpu")
    sent = np.flatnonzero(work.alpha)
    args = (settings, settings.lr, where.device)
    models = (training.train(work.start, work.samples, work.orders[i], *args) for i in sent)
    return training.average(work.alpha[sent], models, work.start)


def contestants() -> dict[str, Callable[[Work], Network]]:
    """Name -> one round."""
    native = training.machine("cpu").precision
    precisions = dict.fromkeys(("float32", native))
    return {PLAIN: functools.partial(loop, Plain), TUNED: functools.partial(loop, Tuned)} | {
        f"fedbounds, {precision}": functools.partial(ours, precision) for precision in precisions
    }


def check(work: Work, rounds: dict[str, Callable[[Work], Network]]) -> dict[str, float]:
    """How far every contestant ends from the plain loop, relative to its path; an AssertionError if too far."""
    wanted = loop(Plain, work)
    moved = _distance(wanted, work.start)
    away = {name: _distance(run(work), wanted) / moved for name, run in rounds.items()}
    for name, far in away.items():
        if not far <= (ROUNDED if "bfloat16" in name else SAME):
            raise AssertionError(f"{name} ends {far:.2g} of the way from the plain loop")
    return away


def _distance(a: Network, b: Network) -> float:
    with torch.no_grad():
        squares = [((x - y).double() ** 2).sum() for x, y in zip(a.parameters(), b.parameters(), strict=True)]
    return float(sum(squares) ** 0.5)


def measure(clients: int = 50, samples: int = 200, epochs: int = 1, repeats: int = 3) -> dict[str, object]:
    """Median seconds of a round of every contestant, and the ratio of the tuned loop's to its own."""
    sizes, where = (clients, samples, epochs), training.machine("cpu")
    work = workload(*sizes)
    with training.repeatable():
        rounds = contestants()
        away = check(workload(2, samples, epochs), rounds)
        tasks: dict[str, Callable[[], object]] = {name: functools.partial(run, work) for name, run in rounds.items()}
        alone = replace(work, alpha=np.eye(clients)[0])
        tasks["fedbounds, FedMax"] = functools.partial(ours, "float32", alone)
        index = np.arange(EVALUATED) % len(work.samples.y)
        evaluation = functools.partial(training.evaluate, work.start, work.samples, index)
        tasks["evaluation of 10,000 images, float32"] = functools.partial(evaluation, "float32", where)
        rows = _ratios(turns(tasks, repeats, np.median))
    given = dict(zip(("clients", "samples", "epochs"), sizes, strict=True)) | {"batch": 64, "repeats": repeats}
    return {"workload": given, "distance from the plain loop": away, "rounds": rows}


def _ratios(seconds: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    base = seconds[TUNED]["processor"]
    return {name: {**spent, "tuned loop over it": base / spent["processor"]} for name, spent in seconds.items()}


def table(found: dict[str, object]) -> str:
    """One line a contestant, the slowest first."""
    rows: dict[str, dict[str, float]] = found["rounds"]  # type: ignore[assignment]
    lines = [f"{'one round':<38}{'processor s':>12}{'clock s':>10}{'tuned loop / it':>17}"]
    for name, row in sorted(rows.items(), key=lambda item: item[1]["tuned loop over it"]):
        lines.append(f"{name:<38}{row['processor']:>12.3f}{row['wall']:>10.3f}{row['tuned loop over it']:>17.2f}")
    return "\n".join(lines)
