"""The paper's convolutional network for many clients at once, with its gradient written out.

Every parameter has a leading axis of G clients and every image batch is (G, B, 28, 28), so that one call advances
all of them: a convolution is a batched matrix product over 3x3 patches, on a processor and on a GPU alike.
The gradient is spelled out instead of recorded: no graph is kept, what is only needed for its shape is never stored,
and the whole step is one function of tensors that a compiler can fuse. Channels come last, so a patch is three
contiguous runs of memory. ``reference.py`` is the same network from PyTorch's own layers; tests hold them equal.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fedbounds.errors import reject
from fedbounds.vision.settings import MODELS

Params = tuple[Tensor, ...]

IMAGE, CLASSES = 28, 10
CHANNELS = (32, 64)
KERNEL, POOL = 3, 2
FLAT = 1600  # 64 channels of 5 x 5 after the second pooling
HIDDEN = 1600


@dataclass(frozen=True)
class Layer:
    """One affine layer: the inputs of a unit, its outputs, and which pieces of the network it is."""

    name: str
    fan_in: int
    outputs: int


def layers(model: str) -> tuple[Layer, ...]:
    """The affine layers of a reading of the paper's model, input to output."""
    if model not in MODELS:
        raise reject("the model must be flatten or hidden", repr(model), "choose one of these readings")
    convolutions = (Layer("conv1", KERNEL**2, CHANNELS[0]), Layer("conv2", KERNEL**2 * CHANNELS[0], CHANNELS[1]))
    hidden = (Layer("hidden", FLAT, HIDDEN),) if model == "hidden" else ()
    return (*convolutions, *hidden, Layer("output", HIDDEN if hidden else FLAT, CLASSES))


def size(model: str) -> int:
    """The number of parameters."""
    return sum((layer.fan_in + 1) * layer.outputs for layer in layers(model))


def initial(model: str, rng: np.random.Generator) -> Params:
    """Weights (fan_in, outputs) and biases (outputs,) of one network, each U(-1/sqrt(fan_in), 1/sqrt(fan_in)).

    PyTorch's default law for both kinds of layer, drawn by numpy so that a seed means the same on every device.
    """
    params: list[Tensor] = []
    for layer in layers(model):
        bound = 1 / math.sqrt(layer.fan_in)
        for shape in ((layer.fan_in, layer.outputs), (layer.outputs,)):
            params.append(torch.from_numpy(rng.uniform(-bound, bound, shape).astype(np.float32)))
    return tuple(params)


def logits(params: Params, x: Tensor, low: bool = False) -> Tensor:
    """Scores (G, B, 10) of images x (G, B, 28, 28); ``low`` multiplies the large matrices in bfloat16."""
    h = x.unsqueeze(-1)
    for k in (0, 2):
        h = _block(h, params[k], params[k + 1], low and k > 0)[0]
    h = h.flatten(2)
    if len(params) > 6:
        h = torch.relu(_affine(h, params[4], params[5], low))
    return _affine(h, params[-2], params[-1], False)


def gradients(params: Params, x: Tensor, y: Tensor, weight: Tensor, low: bool = False) -> Params:
    """Gradient of sum_b weight[g, b] CE(x[g, b], y[g, b]) for every client g, in the order of ``params``.

    x (G, B, 28, 28), y (G, B) int64, weight (G, B): 1/b on the b samples of a client's batch, 0 on padding.
    """
    h0 = x.unsqueeze(-1)
    h1, patches1, scores1, best1 = _block(h0, params[0], params[1], False)
    h2, patches2, scores2, best2 = _block(h1, params[2], params[3], low)
    flat = h2.flatten(2)
    hidden = torch.relu(_affine(flat, params[4], params[5], low)) if len(params) > 6 else flat
    out = torch.softmax(_affine(hidden, params[-2], params[-1], False), dim=-1)
    g = (out - F.one_hot(y, CLASSES).to(out.dtype)) * weight.unsqueeze(-1)
    tail: tuple[Tensor, ...] = (torch.bmm(hidden.mT, g), g.sum(1))
    g = torch.bmm(g, params[-2].mT)
    if len(params) > 6:
        g = g * (hidden > 0)
        tail = (_product(flat.mT, g, low), g.sum(1), *tail)
        g = _product(g, params[4].mT, low)
    g2, bias2 = _unpool(g.view(h2.shape), h2, scores2, best2)
    weight2 = torch.bmm(patches2.mT, g2).to(x.dtype)
    back = _fold(torch.bmm(g2, params[2].to(g2.dtype).mT), h1.shape).to(x.dtype)
    g1, bias1 = _unpool(back, h1, scores1, best1)
    return (torch.bmm(patches1.mT, g1), bias1, weight2, bias2, *tail)


def losses(scores: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy of every sample: (G, B, 10) and (G, B) to (G, B)."""
    return F.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none").view(y.shape)


def _block(h: Tensor, w: Tensor, b: Tensor, low: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """ReLU(max-pool(convolution)), and what its gradient needs: patches, scores before pooling, their maxima.

    The bias and ReLU come after the pooling, where there are four times fewer values: max(s + b) = max(s) + b and
    ReLU is increasing, so the output is the same. Positions that the pooling drops are never computed.
    """
    if low:
        h, w = h.bfloat16(), w.bfloat16()
    clients, batch, side = h.shape[0], h.shape[1], h.shape[2]
    half = (side - KERNEL + 1) // POOL
    patches = _patches(h, half * POOL)
    scores = torch.bmm(patches, w).view(clients, batch, half, POOL, half, POOL, w.shape[-1])
    best = _largest([_corner(scores, k) for k in range(POOL * POOL)])
    return torch.relu(best.to(b.dtype) + b[:, None, None, None]), patches, scores, best


def _patches(h: Tensor, side: int) -> Tensor:
    """(G, B, H, H, C) to the 3x3 patches (G, B side^2, 9 C) with the upper left corner in [0, side)^2."""
    if not torch.compiler.is_compiling():  # a view of overlapping windows, copied once in runs of 3 C numbers
        clients, batch, channels = h.shape[0], h.shape[1], h.shape[-1]
        window = (clients, batch, side, side, KERNEL, KERNEL * channels)
        return h.as_strided(window, (*h.stride()[:4], h.stride(2), 1)).reshape(clients, batch * side**2, -1)
    shifted = [h[:, :, i : i + side, j : j + side] for i in range(KERNEL) for j in range(KERNEL)]
    return torch.stack(shifted, dim=4).flatten(1, 3).flatten(2)


def _fold(patches: Tensor, shape: torch.Size) -> Tensor:
    """The adjoint of ``_patches``: every patch is added where it was taken from."""
    side = (shape[2] - KERNEL + 1) // POOL * POOL
    pieces = patches.view(*shape[:2], side, side, KERNEL * KERNEL, shape[-1])
    if torch.compiler.is_compiling():  # one fused loop over the result; out of place it would be nine passes
        padded = [F.pad(pieces[..., k, :], _margin(k, side, shape[2])) for k in range(KERNEL * KERNEL)]
        return functools.reduce(torch.add, padded)
    total = patches.new_zeros(shape)
    for k in range(KERNEL * KERNEL):
        i, j = divmod(k, KERNEL)
        total[:, :, i : i + side, j : j + side] += pieces[..., k, :]
    return total


def _margin(k: int, side: int, whole: int) -> tuple[int, ...]:
    i, j = divmod(k, KERNEL)
    return (0, 0, j, whole - side - j, i, whole - side - i)


def _unpool(g: Tensor, out: Tensor, scores: Tensor, best: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient before pooling (G, B side^2, C), to the first maximum of each window, and that of the bias (G, C)."""
    left = torch.where(out > 0, g, 0.0)
    bias = left.sum((1, 2, 3))
    left = left.to(scores.dtype)
    corners = []
    for k in range(POOL * POOL):
        hit = _corner(scores, k) == best
        corners.append(torch.where(hit, left, 0.0))
        left = torch.where(hit, 0.0, left)
    if torch.compiler.is_compiling():
        rows = [torch.stack(corners[POOL * i : POOL * (i + 1)], dim=4) for i in range(POOL)]
        return torch.stack(rows, dim=3).flatten(1, 5), bias
    given = torch.empty_like(scores)
    for k, corner in enumerate(corners):
        _corner(given, k).copy_(corner)
    return given.flatten(1, 5), bias


def _corner(scores: Tensor, k: int) -> Tensor:
    """The k-th place of every pooling window, row by row."""
    i, j = divmod(k, POOL)
    return scores[:, :, :, i, :, j]


def _largest(items: list[Tensor]) -> Tensor:
    return functools.reduce(torch.maximum, items)


def _affine(h: Tensor, w: Tensor, b: Tensor, low: bool) -> Tensor:
    return _product(h, w, low) + b.unsqueeze(1)


def _product(a: Tensor, b: Tensor, low: bool) -> Tensor:
    """a @ b for every client, the operands rounded to bfloat16 if ``low`` (sums are kept in float32 either way)."""
    return torch.bmm(a.bfloat16(), b.bfloat16()).to(a.dtype) if low else torch.bmm(a, b)
