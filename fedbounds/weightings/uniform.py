"""The plain mean: every client that takes part has the same weight, whatever p is."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedbounds.errors import reject
from fedbounds.model.problem import Array
from fedbounds.model.weighting import RoundStream, Weighting, WeightingPlugin


@dataclass(frozen=True)
class Uniform(Weighting):
    """alpha_i = 1/m on the m clients present, where p_i > 0."""

    name: ClassVar[str] = "uniform"
    depends_on_w: ClassVar[bool] = False

    def __call__(self, p: Array, excess: Array, round: int, stream: RoundStream) -> Array:
        share = np.broadcast_to(p / np.where(p > 0, p, 1), excess.shape)  # 1 or 0, in the numbers of p
        return share / share.sum(axis=-1, keepdims=True)


def build(argument: str | None) -> Uniform:
    if argument is not None:
        raise reject("uniform takes no argument", argument, "write uniform")
    return Uniform()


WEIGHTING = WeightingPlugin("uniform", build, "uniform", "the same weight for every client present")
