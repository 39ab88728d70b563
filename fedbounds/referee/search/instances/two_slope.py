"""Losses that are no quadratics: the curvature of a client changes at a kink above its minimiser.

Also one client at its kink under noise of the size of its gradient: noise on the flat side alone moves the mean.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, from_first, quadratics, starts

# Kinks lie from the minimiser to the farthest start.
REACH = 3.0
# The start lies at most this far above the kink, which is 1 above the minimiser.
NEAR = 0.5


def coordinates(shape: Shape) -> dict[str, int]:
    """Two curvatures a client, kinks, minimisers and the start."""
    N = shape.N if shape.losses != "one loss" else 1
    return {"curvatures": N, "upper": N, "kinks": N, "minima": shape.N - 1 if shape.losses == "any" else 0, "w0": 1}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Two-slope losses."""
    P, N = len(p), shape.N
    c, h, reach = (
        np.broadcast_to(values[..., None], (P, N, 1))
        for values in (MAX_CONDITION ** parts["curvatures"], MAX_CONDITION ** parts["upper"], REACH * parts["kinks"])
    )
    m = from_first(parts["minima"], P, N, 1)
    return quadratics(c, m, p, upper=h, kinks=m + reach), starts(parts["w0"])


def coordinates_at_kink(shape: Shape) -> dict[str, int]:
    """The upper curvature, and the start."""
    return {"upper": 1, "w0": 1}


def build_at_kink(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Curvature 1 up to the kink, so that the gradient there is 1."""
    ones = np.ones((len(p), 1, 1))
    upper = MAX_CONDITION ** parts["upper"][..., None]
    start = 1 + NEAR * np.maximum(2 * parts["w0"] - 1, 0)
    return quadratics(ones, 0 * ones, p, upper=upper, kinks=ones), start


FAMILY = (
    InstanceFamily(
        "two-slope",
        "piecewise quadratics of two slopes",
        ((1, 1), (2, 1), (3, 1)),
        {
            "point": ((1, 1), (2, 1)),
            "step": ((1, 1), (2, 1), (10, 1)),
            "horizon": ((1, 1), (2, 1), (1, 8), (1, 60)),
            "constant": ((1, 1), (1, 6)),
        },
        coordinates,
        build,
        noises=("", "additive"),
        losses=("any", "same minimisers", "one loss"),
        outcomes=2**8,
        linear=False,
    ),
    InstanceFamily(
        "at-the-kink",
        "one client's piecewise quadratic of two slopes from its kink",
        ((1, 1),),
        {"point": (), "step": (), "horizon": ((1, 2), (2, 1)), "constant": ()},
        coordinates_at_kink,
        build_at_kink,
        noises=("additive",),
        equal=(True,),
        quiet=4,
        linear=False,
    ),
)
