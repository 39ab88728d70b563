"""FedAvg: alpha_t^i = p_i (McMahan et al., 2017)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin


@dataclass(frozen=True)
class FedAvg(Weighting):
    """alpha = p at every round."""

    name: ClassVar[str] = "fedavg"
    depends_on_w: ClassVar[bool] = False
    returns_p: ClassVar[bool] = True

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        return np.broadcast_to(p, excess.shape)


def build(argument: str | None) -> FedAvg:
    if argument is not None:
        raise reject("fedavg takes no argument", argument, "write fedavg")
    return FedAvg()


WEIGHTING = WeightingPlugin("fedavg", build, "fedavg", "alpha = p")
