"""FedAvg: alpha_t^i = p_i (McMahan et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.model.weighting import RoundStream, WeightingPlugin


@dataclass(frozen=True)
class FedAvg:
    """alpha = p at every round."""

    name: ClassVar[str] = "fedavg"
    constant: ClassVar[bool] = True

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        return np.broadcast_to(p, excess.shape).copy()


def build(argument: str | None) -> FedAvg:
    """FedAvg takes no argument."""
    if argument is not None:
        raise reject("fedavg takes no argument", argument, "write fedavg")
    return FedAvg()


WEIGHTING = WeightingPlugin("fedavg", build, "fedavg", "alpha = p")
