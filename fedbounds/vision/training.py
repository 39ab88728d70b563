"""Local training of many clients in one batched pass, and the evaluation of one model on many samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedbounds.engine.streams import absorb, client_keys, draw
from fedbounds.errors import reject
from fedbounds.model.problem import Array, Indices
from fedbounds.vision import network
from fedbounds.vision.network import Params

# Batches are padded to a multiple of this, so that a compiled step meets few shapes; padding has weight 0.
WIDTH = 16
# Images in one evaluation call: the scores before pooling then stay near the cache.
EVALUATED = 128
MOMENTUM = 0.9
ADAM_BETAS, ADAM_EPSILON = (0.9, 0.999), 1e-8  # PyTorch's defaults

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Samples:
    """Normalised images (n, 28, 28) float32 and labels (n,) int64 on one device."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Plan:
    """How a client trains: ``epochs`` over its samples in batches of ``batch``, and the optimiser."""

    epochs: int
    batch: int
    optimiser: str
    low: bool = False


@dataclass(frozen=True, eq=False)
class Machine:
    """Where and how the arithmetic is done. ``together`` clients advance in one call; threads share the calls.

    The calls and their sums do not depend on ``threads``, so neither do the bits of a result.
    """

    device: torch.device
    together: int
    threads: int = 1
    compiled: bool = False
    gradients: Callable[..., Params] = field(default=network.gradients)
    logits: Callable[..., Tensor] = field(default=network.logits)

    def map(self, work: Callable[[T], S], items: Sequence[T]) -> list[S]:
        """``work`` on every item, in order."""
        if self.threads == 1 or len(items) < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, items))


def machine(device: str, together: int | None = None, threads: int = 1, compiled: bool = False) -> Machine:
    """The machine named ``auto``, ``cpu``, ``cuda`` or ``cuda:1``; one sentence if it is not there.

    On a processor clients advance one a call by default (a client's batch fills the cache), on a GPU all at once.
    """
    name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        place = torch.device(name)
        torch.zeros(1, device=place)
    except (RuntimeError, AssertionError, NotImplementedError) as wrong:
        reason = str(wrong).strip().splitlines()[0]
        raise reject(
            "the device must be auto, cpu or a GPU that PyTorch can use", f"{name!r} ({reason})", "use --device cpu"
        ) from None
    if together is not None and together < 1:
        raise reject("client-batch must be at least 1", str(together), "give the clients that train in one call")
    if threads < 1:
        raise reject("threads must be at least 1", str(threads), "give for example 2")
    count = together or (1 if place.type == "cpu" else 10**9)
    if place.type != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it equal seeds may give unequal bits
    if not compiled:
        return Machine(place, count, threads if place.type == "cpu" else 1)
    step = torch.compile(network.gradients, dynamic=False)
    forward = torch.compile(network.logits, dynamic=False)
    return Machine(place, count, threads if place.type == "cpu" else 1, True, step, forward)


@contextmanager
def one_thread_an_operation() -> Iterator[None]:
    """PyTorch's own threads split sums by their number; without them a result has the same bits on any machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def batches(seed: int, repetition: int, clients: int, parts: Sequence[Indices], plan: Plan, round: int) -> list[Any]:
    """For every client its batches of this round, as arrays of sample indices: epochs x ceil(n_i / batch) of them.

    The order of an epoch sorts hashes of (seed, repetition, client, round, epoch): it does not depend on who else
    trains, on the device or on what was drawn before.
    """
    keys = client_keys(seed, [repetition], clients)[0]
    orders: list[list[Indices]] = []
    for key, part in zip(keys, parts, strict=True):
        own: list[Indices] = []
        for epoch in range(plan.epochs):
            words = draw(absorb(absorb(key, round), epoch), len(part))[0]
            shuffled = part[np.argsort(words, kind="stable")]
            own += np.split(shuffled, range(plan.batch, len(part), plan.batch))
        orders.append(own)
    return orders


def train(
    params: Params, samples: Samples, orders: list[Any], alpha: Array, plan: Plan, lr: float, where: Machine
) -> Params:
    """sum_i alpha_i w_i over the clients with alpha_i > 0, each trained from ``params`` on its batches ``orders[i]``.

    Clients whose weight is 0 are not trained. Sums over clients are taken in double precision, in order of chunks.
    """
    chunks = _chunks(np.flatnonzero(alpha > 0), orders, where)

    def weighted(chunk: NDArray) -> list[Tensor]:
        return _weighted(alpha[chunk], _train_chunk(params, samples, [orders[i] for i in chunk], plan, lr, where))

    return _total(where.map(weighted, chunks))


def train_everyone(
    params: Params,
    samples: Samples,
    orders: list[Any],
    parts: Sequence[Indices],
    plan: Plan,
    lr: float,
    where: Machine,
) -> tuple[Callable[[Array], Params], Array]:
    """All clients trained, as a function of the weights alpha (N,) that averages them, and F_i(w^i) (N,).

    For weights that depend on how good the local models are, on each client's own samples ``parts[i]``.
    """
    chunks = _chunks(np.arange(len(orders)), orders, where)
    alone = replace(where, threads=1)  # already inside a thread

    def trained(chunk: NDArray) -> tuple[list[Tensor], list[float]]:
        own = _train_chunk(params, samples, [orders[i] for i in chunk], plan, lr, where)
        models = (tuple(piece[g] for piece in own) for g in range(len(chunk)))
        found = [evaluate(w, samples, parts[i], alone, plan.low)[0] for w, i in zip(models, chunk, strict=True)]
        return own, [float(values.mean()) for values in found]

    results, losses = where.map(trained, chunks), np.zeros(len(orders))
    for chunk, (_, own_losses) in zip(chunks, results, strict=True):
        losses[chunk] = own_losses

    def average(alpha: Array) -> Params:
        return _total([_weighted(alpha[chunk], own) for chunk, (own, _) in zip(chunks, results, strict=True)])

    return average, losses


def _chunks(clients: NDArray, orders: list[Any], where: Machine) -> list[NDArray]:
    """Who shares a call: clients with like numbers of samples, which wastes the least on those that have finished."""
    ordered = clients[np.argsort([-sum(map(len, orders[i])) for i in clients], kind="stable")]
    return [ordered[k : k + where.together] for k in range(0, len(ordered), where.together)]


def _weighted(weight: Array, models: list[Tensor]) -> list[Tensor]:
    own = torch.from_numpy(weight).to(models[0].device)
    return [torch.tensordot(own, piece.double(), dims=1) for piece in models]


def _total(pieces: list[list[Tensor]]) -> Params:
    """The sum over chunks in their order, rounded to single precision once."""
    return tuple(sum(rest, first).float() for first, *rest in zip(*pieces, strict=True))


def _train_chunk(
    params: Params, samples: Samples, orders: list[Any], plan: Plan, lr: float, where: Machine
) -> list[Tensor]:
    """The parameters (G, ...) of G clients after all their batches."""
    own = [piece.expand(len(orders), *piece.shape).clone() for piece in params]
    update = Optimiser(plan.optimiser, lr, own)
    for step in range(max(len(order) for order in orders)):
        index, weight = _padded(orders, step)
        index, weight = index.to(where.device), weight.to(where.device)
        grads = where.gradients(tuple(own), samples.x[index], samples.y[index], weight, plan.low)
        active = None if all(step < len(order) for order in orders) else weight.sum(1) > 0
        update(own, grads, active)
    return own


def _padded(orders: list[Any], step: int) -> tuple[Tensor, Tensor]:
    """Indices (G, B) of the step's batches and weights (G, B), 1/b_i on client i's own b_i samples, else 0."""
    rows = [order[step] if step < len(order) else order[0][:0] for order in orders]
    width = -(-max(map(len, rows)) // WIDTH) * WIDTH
    index, weight = np.zeros((len(rows), width), dtype=np.int64), np.zeros((len(rows), width), dtype=np.float32)
    for g, row in enumerate(rows):
        index[g, : len(row)] = row
        weight[g, : len(row)] = 1 / max(len(row), 1)
    return torch.from_numpy(index), torch.from_numpy(weight)


class Optimiser:
    """SGD, SGD with momentum 0.9, or Adam, for G clients at once, each from a fresh state.

    Called with parameters and gradients (G, ...) it moves the parameters in place; clients that are not ``active``
    neither move nor age, as a client that has finished its batches.
    """

    def __init__(self, kind: str, lr: float, params: Sequence[Tensor]) -> None:
        self.kind, self.lr = kind, lr
        moments = {"sgd": 0, "momentum": 1, "adam": 2}[kind]
        self.state = [[torch.zeros_like(piece) for piece in params] for _ in range(moments)]
        self.steps = 0

    def __call__(self, params: list[Tensor], grads: Sequence[Tensor], active: Tensor | None = None) -> None:
        # Clients of a chunk start together and stop for good, so those still active have taken equally many steps.
        self.steps += 1
        for k, (piece, grad) in enumerate(zip(params, grads, strict=True)):
            change = self._change(k, grad)
            if active is not None:
                change = torch.where(active.view(-1, *[1] * (piece.ndim - 1)), change, 0.0)
            piece.sub_(change)

    def _change(self, k: int, grad: Tensor) -> Tensor:
        if self.kind == "sgd":
            return self.lr * grad
        if self.kind == "momentum":
            return self.lr * self.state[0][k].mul_(MOMENTUM).add_(grad)
        (first, second), t = ADAM_BETAS, self.steps
        mean = self.state[0][k].mul_(first).add_(grad, alpha=1 - first)
        square = self.state[1][k].mul_(second).addcmul_(grad, grad, value=1 - second)
        scale = (square / (1 - second**t)).sqrt_().add_(ADAM_EPSILON)
        return (self.lr / (1 - first**t)) * mean / scale


def evaluate(params: Params, samples: Samples, index: Indices, where: Machine, low: bool) -> tuple[Array, Array]:
    """Cross-entropy and correctness (0 or 1) of every sample of ``index``, in its order, as float64."""
    pieces = [index[k : k + EVALUATED] for k in range(0, len(index), EVALUATED)]
    model = tuple(piece.unsqueeze(0) for piece in params)

    def measure(piece: Indices) -> tuple[Array, Array]:
        filled = np.zeros(EVALUATED, dtype=np.int64)  # one shape for every call
        filled[: len(piece)] = piece
        rows = torch.from_numpy(filled).to(where.device)
        scores, y = where.logits(model, samples.x[rows].unsqueeze(0), low), samples.y[rows].unsqueeze(0)
        right = scores.argmax(-1) == y
        both = torch.stack([network.losses(scores, y)[0].double(), right[0].double()])
        values = both[:, : len(piece)].cpu().numpy()
        return values[0], values[1]

    found = where.map(measure, pieces)
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])
