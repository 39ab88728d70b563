"""One client at its kink under noise of the size of its gradient: noise on the flat side alone moves the mean."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, quadratics

# The start lies at most this far above the kink, which is 1 above the minimiser.
NEAR = 0.5


def coordinates(shape: Shape) -> dict[str, int]:
    """The upper curvature, and the start."""
    return {"upper": 1, "w0": 1}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Curvature 1 up to the kink, so that the gradient there is 1."""
    ones = np.ones((len(p), 1, 1))
    upper = MAX_CONDITION ** parts["upper"][..., None]
    start = 1 + NEAR * np.maximum(2 * parts["w0"] - 1, 0)
    return quadratics(ones, 0 * ones, p, upper=upper, kinks=ones), start


FAMILY = InstanceFamily(
    "at-the-kink",
    "one client's piecewise quadratic of two slopes from its kink",
    ((1, 1),),
    {"point": (), "step": (), "horizon": ((1, 2), (2, 1)), "constant": ()},
    coordinates,
    build,
    noises=("additive",),
    equal=(True,),
    quiet=4,
    linear=False,
)
