"""The same network from PyTorch's own layers, trained client by client: what the batched pass is held against.

Tests compare the two to float tolerance, and the benchmark compares their speed. Nothing else uses this module.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fedbounds.model.problem import Array
from fedbounds.vision.network import CHANNELS, CLASSES, FLAT, HIDDEN, KERNEL, POOL, Params
from fedbounds.vision.training import ADAM_BETAS, ADAM_EPSILON, MOMENTUM, Plan, Samples


def build(model: str) -> nn.Sequential:
    """The paper's network as layers: input (n, 1, 28, 28), output (n, 10)."""
    first, second = CHANNELS
    middle: list[nn.Module] = [nn.Linear(FLAT, HIDDEN), nn.ReLU()] if model == "hidden" else []
    return nn.Sequential(
        nn.Conv2d(1, first, KERNEL),
        nn.ReLU(),
        nn.MaxPool2d(POOL),
        nn.Conv2d(first, second, KERNEL),
        nn.ReLU(),
        nn.MaxPool2d(POOL),
        nn.Flatten(),
        *middle,
        nn.Linear(HIDDEN if middle else FLAT, CLASSES),
    )


def put(net: nn.Sequential, params: Params) -> None:
    """Copy parameters in this package's layout (without the client axis) into the layers."""
    with torch.no_grad():
        for own, piece in zip(net.parameters(), _theirs(params), strict=True):
            own.copy_(piece)


def take(net: nn.Sequential) -> Params:
    """The parameters of the layers in this package's layout: the inverse of ``put``."""
    own = [piece.detach() for piece in net.parameters()]
    ours: list[Tensor] = []
    for k, piece in enumerate(own):
        if piece.ndim == 4:  # (out, in, row, column) to (row, column, in) x out
            ours.append(piece.permute(2, 3, 1, 0).flatten(0, 2))
        elif piece.ndim == 2:
            ours.append((_by_place(piece) if _follows_maps(k) else piece).T)
        else:
            ours.append(piece)
    return tuple(piece.clone() for piece in ours)


def _follows_maps(k: int) -> bool:
    """Whether the k-th tensor multiplies the flattened maps, whose channels come first here and last in ours."""
    return k == 4


def _by_place(weight: Tensor) -> Tensor:
    return weight.view(-1, CHANNELS[1], 5, 5).permute(0, 2, 3, 1).flatten(1)


def _theirs(params: Params) -> list[Tensor]:
    theirs: list[Tensor] = []
    for k, piece in enumerate(params):
        if k in (0, 2):
            inputs = 1 if k == 0 else CHANNELS[0]
            theirs.append(piece.view(KERNEL, KERNEL, inputs, -1).permute(3, 2, 0, 1))
        elif piece.ndim == 2:
            rows = piece.T
            theirs.append(
                rows.view(-1, 5, 5, CHANNELS[1]).permute(0, 3, 1, 2).flatten(1) if _follows_maps(k) else rows
            )
        else:
            theirs.append(piece)
    return theirs


def train(
    net: nn.Sequential, params: Params, samples: Samples, orders: list[Any], alpha: Array, plan: Plan, lr: float
) -> Params:
    """What ``training.train`` computes, one client and one batch after the other with autograd and torch.optim."""
    total: list[Tensor] | None = None
    for order, weight in zip(orders, alpha, strict=True):
        if weight == 0:
            continue
        put(net, params)
        optimiser = _optimiser(net, plan.optimiser, lr)
        for batch in order:
            rows = torch.from_numpy(batch)
            optimiser.zero_grad()
            with torch.enable_grad():
                nn.functional.cross_entropy(net(samples.x[rows].unsqueeze(1)), samples.y[rows]).backward()
            optimiser.step()
        own = [weight * piece.double() for piece in take(net)]
        total = own if total is None else [a + b for a, b in zip(total, own, strict=True)]
    assert total is not None
    return tuple(piece.float() for piece in total)


def _optimiser(net: nn.Sequential, kind: str, lr: float) -> torch.optim.Optimizer:
    if kind == "adam":
        return torch.optim.Adam(net.parameters(), lr=lr, betas=ADAM_BETAS, eps=ADAM_EPSILON)
    return torch.optim.SGD(net.parameters(), lr=lr, momentum=MOMENTUM if kind == "momentum" else 0.0)
