"""Losses that are no quadratics: the curvature of a client changes at a kink above its minimiser."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, from_first, quadratics, starts

# Kinks lie from the minimiser to the farthest start.
REACH = 3.0


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


FAMILY = InstanceFamily(
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
)
