"""Other ways to one FedAvg round of the paper's network: grouped convolutions, and FedJAX where it is installed.

Both get the parameters in the layout of `fedbounds.vision.network` and the batches of the workload or their like.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fedbounds.model.problem import Indices
from fedbounds.vision import network, reference
from fedbounds.vision.network import CHANNELS, Params
from fedbounds.vision.training import Samples

# FedJAX's gradient of one batch against ours, relative to the largest entry: float32 sums in another order.
AGREEMENT = 1e-3


def grouped(params: Params, samples: Samples, orders: Sequence[Sequence[Indices]], lr: float) -> Params:
    """The mean over G clients after plain SGD, all at once: a convolution with one group of channels a client.

    Gradients by autograd. For the model flatten and clients with equal numbers of samples only.
    """
    count = len(orders)
    net = reference.build("flatten")
    reference.put(net, params)
    own = [piece.detach().expand(count, *piece.shape).clone().requires_grad_() for piece in net.parameters()]
    for batch in zip(*orders, strict=True):
        rows = torch.from_numpy(np.stack(batch))
        with torch.enable_grad():
            scores = _grouped_scores(own, samples.x[rows])
            # The sum of the clients' mean losses: no client's parameters are in another's loss.
            loss = F.cross_entropy(scores.flatten(0, 1), samples.y[rows].flatten(), reduction="sum") / rows.shape[1]
            gradients = torch.autograd.grad(loss, own)
        with torch.no_grad():
            for piece, gradient in zip(own, gradients, strict=True):
                piece.sub_(gradient, alpha=lr)
    with torch.no_grad():
        for mean, piece in zip(net.parameters(), own, strict=True):
            mean.copy_(piece.double().mean(0))
    return reference.take(net)


def _grouped_scores(own: Sequence[Tensor], x: Tensor) -> Tensor:
    """(G, B, 10) of images (G, B, 28, 28), channels of client g in group g."""
    count = len(x)
    h = x.transpose(0, 1)
    for k in range(len(CHANNELS)):
        weight, bias = own[2 * k], own[2 * k + 1]
        h = F.max_pool2d(F.relu(F.conv2d(h, weight.flatten(0, 1), bias.flatten(), groups=count)), network.POOL)
    flat = h.view(x.shape[1], count, -1).transpose(0, 1)
    return torch.baddbmm(own[-1].unsqueeze(1), flat, own[-2].mT)


def fedjax_round(
    params: Params, samples: Samples, parts: Sequence[Indices], batch: int, epochs: int, lr: float
) -> Callable[[], None]:
    """One round of FedJAX's own federated averaging from ``params``, on one thread; its batches are its own.

    Its gradient is first held against ours on the first batch. Source of the loop: fedjax.algorithms.fed_avg.
    """
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    import jax

    if "tree_map" not in dir(jax):  # FedJAX 0.0.17 calls it by the name that later versions of JAX took away
        jax.tree_map = jax.tree_util.tree_map
    import fedjax

    gradient = jax.grad(_jax_loss)
    x, y = samples.x.numpy(), samples.y.numpy()
    start = [np.array(piece) for piece in params]
    _agree(gradient(start, {"x": x[parts[0][:batch]], "y": y[parts[0][:batch]]}), params, samples, parts[0][:batch])
    algorithm = fedjax.algorithms.fed_avg.federated_averaging(
        lambda w, given, rng: gradient(w, given),
        fedjax.optimizers.sgd(learning_rate=lr),
        fedjax.optimizers.sgd(learning_rate=1.0),
        fedjax.ShuffleRepeatBatchHParams(batch_size=batch, num_epochs=epochs),
    )
    data = [fedjax.ClientDataset({"x": x[part], "y": y[part]}) for part in parts]
    keys = jax.random.split(jax.random.PRNGKey(0), len(data))

    def run() -> None:
        clients = [(str(i), data[i], keys[i]) for i in range(len(data))]
        state, _ = algorithm.apply(algorithm.init(start), clients)
        jax.block_until_ready(state.params)

    return run


def _jax_loss(params: Any, given: Any) -> Any:
    """Mean cross-entropy of the network on a batch, channels last."""
    import jax

    h = given["x"][..., None]
    for k in (0, 2):
        weight = params[k].reshape(network.KERNEL, network.KERNEL, h.shape[-1], -1)
        layout = ("NHWC", "HWIO", "NHWC")
        h = jax.lax.conv_general_dilated(h, weight, (1, 1), "VALID", dimension_numbers=layout) + params[k + 1]
        window = (1, network.POOL, network.POOL, 1)
        h = jax.lax.reduce_window(jax.nn.relu(h), -np.inf, jax.lax.max, window, window, "VALID")
    scores = h.reshape(len(h), -1) @ params[-2] + params[-1]
    return -jax.nn.log_softmax(scores)[np.arange(len(h)), given["y"]].mean()


def _agree(theirs: Any, params: Params, samples: Samples, rows: Indices) -> None:
    weight = torch.full((1, len(rows)), 1 / len(rows))
    model = tuple(piece.unsqueeze(0) for piece in params)
    ours = network.gradients(model, samples.x[rows].unsqueeze(0), samples.y[rows].unsqueeze(0), weight)
    for a, b in zip(theirs, ours, strict=True):
        if np.abs(np.asarray(a) - b[0].numpy()).max() > AGREEMENT * b.abs().max():
            raise AssertionError("FedJAX has another gradient")
