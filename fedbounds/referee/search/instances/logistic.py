"""Logistic losses with a ridge: curvature falls off smoothly on both sides, and no kink is met exactly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import InstanceFamily, Shape, from_first, quadratics, starts

# Curvatures between the ridge and the steepest; the bend lies so far from the minimiser, and has these widths.
CONDITION, REACH = 1e3, 3.0
NARROWEST, WIDEST = 0.05, 2.0


def coordinates(shape: Shape) -> dict[str, int]:
    """The ridge, the steepest curvature, the place and width of the bend of each loss, minimisers and the start."""
    N = shape.N if shape.losses != "one loss" else 1
    each = dict.fromkeys(("curvatures", "upper", "kinks", "widths"), N)
    return {**each, "minima": shape.N - 1 if shape.losses == "any" else 0, "w0": 1}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Logistic losses."""
    P, N = len(p), shape.N
    values = (
        CONDITION ** parts["curvatures"],
        CONDITION ** parts["upper"],
        REACH * (2 * parts["kinks"] - 1),
        WIDEST * (NARROWEST / WIDEST) ** parts["widths"],
    )
    ridge, more, reach, widths = (np.broadcast_to(value[..., None], (P, N, 1)) for value in values)
    m = from_first(parts["minima"], P, N, 1)
    return quadratics(ridge, m, p, upper=ridge * more, kinks=m + reach, widths=widths), starts(parts["w0"])


FAMILY = InstanceFamily(
    "logistic",
    "logistic losses with a ridge",
    ((1, 1), (2, 1)),
    {"point": ((1, 1),), "step": ((1, 1), (3, 1)), "horizon": ((1, 1), (2, 1), (1, 8)), "constant": ((1, 1),)},
    coordinates,
    build,
    losses=("any", "same minimisers", "one loss"),
    linear=False,
)
