"""The paper's convolutional network, its local training at the clients, and its evaluation on many samples."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedbounds.engine.parallel import in_threads
from fedbounds.engine.rng import absorb, client_keys, draw
from fedbounds.model.problem import Array, Indices
from fedbounds.vision.settings import ImageSettings

# Images in one evaluation call: the maps of more would leave the processor's cache.
EVALUATED = 250
CLASSES = 10
CHANNELS = (32, 64)
KERNEL, POOL = 3, 2
FLAT = 1600  # 64 channels of 5 x 5 after the second pooling
# The second pooling drops the last row and column of its 11 x 11 input. Those alone depend on the last two rows and
# columns of an image: leaving these out changes no score and saves a sixth of the work.
SEEN = 26

T = TypeVar("T")
S = TypeVar("S")


class Network(nn.Module):
    """Images (n, 1, 28, 28) to scores (n, 10).

    ReLU comes after the pooling, where there are four times fewer values: it is increasing, so that the result is
    the same. Channels are the last axis in memory, which is what a processor's convolutions are fastest on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, CHANNELS[0], KERNEL)
        self.second = nn.Conv2d(*CHANNELS, KERNEL)
        self.output = nn.Linear(FLAT, CLASSES)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(F.max_pool2d(self.first(x[..., :SEEN, :SEEN]), POOL))
        return self.output(F.relu(F.max_pool2d(self.second(h), POOL)).permute(0, 2, 3, 1).flatten(1))


@dataclass(frozen=True, eq=False)
class Samples:
    """Normalised images (n, 1, 28, 28) float32 and labels (n,) int64."""

    x: Tensor
    y: Tensor


def side_by_side(work: Callable[[T], S], items: Sequence[T], threads: int) -> Iterator[S]:
    """``work(item)`` of each, in order, on ``threads`` threads.

    Every operation uses one thread, and sums over clients have one order: no bit of a result depends on ``threads``.
    """
    return in_threads(lambda item, _: work(item), items, len(items), threads=threads) if items else iter(())


@contextmanager
def repeatable() -> Iterator[None]:
    """Inside, equal operations give equal bits: PyTorch's own threads would split sums by their number."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def batches(
    settings: ImageSettings, repetition: int, parts: Sequence[Indices], round: int
) -> tuple[tuple[Indices, ...], ...]:
    """For every client its batches of this round, as arrays of sample indices: epochs x ceil(n_i / batch) of them.

    The order of an epoch sorts hashes of (seed, repetition, client, round, epoch): it does not depend on who else
    trains, on the device or on earlier draws.
    """
    keys = client_keys(settings.seed, [repetition], len(parts))[0]
    orders = []
    for key, part in zip(keys, parts, strict=True):
        ends = range(settings.batch, len(part), settings.batch)
        client_batches: list[Indices] = []
        for epoch in range(settings.epochs):
            words = draw(absorb(absorb(key, round), epoch), len(part))[0]
            client_batches += np.split(part[np.argsort(words, kind="stable")], ends)
        orders.append(tuple(client_batches))
    return tuple(orders)


def train(start: Network, samples: Samples, order: Sequence[Indices], settings: ImageSettings, lr: float) -> Network:
    """What one client sends back: ``start`` after a step of size ``lr`` on each batch of ``order``."""
    net = copy.deepcopy(start)
    optimiser = torch.optim.SGD(net.parameters(), lr=lr)
    for batch in order:
        rows = torch.from_numpy(batch)
        with _products(settings.precision):
            scores = net(samples.x[rows])
        optimiser.zero_grad()
        F.cross_entropy(scores.float(), samples.y[rows]).backward()
        optimiser.step()
    return net


def _products(precision: str) -> torch.autocast:
    """Inside, layers multiply bfloat16 if that is asked for; parameters and their sums stay float32."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")


def average(weights: Array, models: Iterator[Network], like: Network) -> Network:
    """sum_i alpha_i w_i, in double precision and in the order of the models, rounded once to a network ``like``."""
    total = [torch.zeros_like(piece, dtype=torch.float64) for piece in like.parameters()]
    for weight, model in zip(weights, models, strict=True):
        for piece, parameter in zip(total, model.parameters(), strict=True):
            piece.add_(parameter.detach().double(), alpha=float(weight))
    net = copy.deepcopy(like)
    for parameter, piece in zip(net.parameters(), total, strict=True):
        parameter.data.copy_(piece)
    return net


def evaluate(net: Network, samples: Samples, index: Indices, precision: str, threads: int) -> tuple[Array, Array]:
    """Cross-entropy and correctness (0 or 1) of every sample of ``index``, in its order, as float64."""

    def measure(piece: Indices) -> Array:
        rows = torch.from_numpy(piece)
        with ExitStack() as stack:  # both are states of the thread
            stack.enter_context(torch.inference_mode())
            stack.enter_context(_products(precision))
            scores, y = net(samples.x[rows]).float(), samples.y[rows]
        losses = F.cross_entropy(scores, y, reduction="none")
        return torch.stack([losses.double(), (scores.argmax(1) == y).double()]).numpy()

    pieces = np.split(index, range(EVALUATED, len(index), EVALUATED))
    result = np.concatenate(list(side_by_side(measure, pieces, threads)), axis=1)
    return result[0], result[1]


def initial(rng: np.random.Generator) -> Network:
    """A network with weights and biases U(-1/sqrt(fan_in), 1/sqrt(fan_in)), PyTorch's default law.

    Drawn by numpy, weights as (row, column, input, output), so that a seed means the same everywhere and always.
    """
    net = Network()
    layers: tuple[nn.Conv2d | nn.Linear, ...] = (net.first, net.second, net.output)
    with torch.no_grad():
        for layer in layers:
            outputs, fan_in = layer.weight.shape[0], layer.weight[0].numel()
            bound = 1 / math.sqrt(fan_in)
            drawn = torch.from_numpy(rng.uniform(-bound, bound, (fan_in, outputs)))
            if layer.weight.ndim == 4:
                layer.weight.copy_(drawn.view(KERNEL, KERNEL, -1, outputs).permute(3, 2, 0, 1))
            else:
                layer.weight.copy_(drawn.T)
            assert layer.bias is not None
            layer.bias.copy_(torch.from_numpy(rng.uniform(-bound, bound, outputs)))
    return net
