"""The paper's convolutional network: two 3x3 convolutions of 32 and 64 channels, then a linear classifier."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

CLASSES = 10
CHANNELS = (32, 64)
KERNEL, POOL = 3, 2
FLAT = HIDDEN = 1600  # 64 channels of 5 x 5 after the second pooling
# The second pooling drops the last row and column of its 11 x 11 input. Those alone depend on the last two rows and
# columns of an image: leaving these out changes no score and saves a sixth of the work.
SEEN = 26


class Network(nn.Module):
    """Images (n, 1, 28, 28) to scores (n, 10). ``model`` is ``flatten`` or ``hidden``, see ``ImageSettings``.

    ReLU comes after the pooling, where there are four times fewer values: it is increasing, so that the result is
    the same. Channels are the last axis in memory, which is what a processor's convolutions are fastest on.
    """

    def __init__(self, model: str) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, CHANNELS[0], KERNEL)
        self.second = nn.Conv2d(*CHANNELS, KERNEL)
        self.hidden = nn.Linear(FLAT, HIDDEN) if model == "hidden" else None
        self.output = nn.Linear(HIDDEN, CLASSES)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(F.max_pool2d(self.first(x[..., :SEEN, :SEEN]), POOL))
        h = F.relu(F.max_pool2d(self.second(h), POOL)).permute(0, 2, 3, 1).flatten(1)
        return self.output(h if self.hidden is None else F.relu(self.hidden(h)))


def initial(model: str, rng: np.random.Generator) -> Network:
    """A network with weights and biases U(-1/sqrt(fan_in), 1/sqrt(fan_in)), PyTorch's default law.

    Drawn by numpy, weights as (row, column, input, output), so that a seed means the same everywhere and always.
    """
    net = Network(model)
    layers: list[nn.Conv2d | nn.Linear] = [net.first, net.second]
    layers += [layer for layer in (net.hidden, net.output) if layer is not None]
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
