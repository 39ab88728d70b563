"""Two clients in the plane whose Hessians do not commute: the second is turned, by a rational angle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, from_first, quadratics, starts

# Legs and hypotenuse: cosines and sines that are fractions.
TRIANGLES = ((1, 0, 1), (12, 5, 13), (4, 3, 5), (3, 4, 5), (5, 12, 13), (0, 1, 1))
ANGLES = np.array([(a / c, sign * b / c) for a, b, c in TRIANGLES for sign in (1, -1)])


def coordinates(shape: Shape) -> dict[str, int]:
    """As elsewhere, and which angle it is."""
    return {"curvatures": 4, "minima": 0 if shape.losses == "same minimisers" else 2, "w0": 2, "angle": 1}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Quadratics of which the second is turned."""
    P = len(p)
    which = np.minimum((len(ANGLES) * parts["angle"][:, 0]).astype(int), len(ANGLES) - 1)
    turns = np.stack([np.broadcast_to(ANGLES[0], (P, 2)), ANGLES[which]], axis=1)
    c = MAX_CONDITION ** parts["curvatures"].reshape(P, 2, 2)
    m = from_first(parts["minima"], P, 2, 2)
    return quadratics(c, m, p, turns=turns), starts(parts["w0"])


FAMILY = InstanceFamily(
    "turned",
    "quadratics in the plane with turned axes",
    ((2, 2),),
    {
        "point": ((1, 1),),
        "step": ((1, 1), (2, 1), (10, 1)),
        "horizon": ((1, 1), (2, 1), (10, 1), (1, 8), (4, 10)),
        "constant": ((1, 1), (2, 1)),
    },
    coordinates,
    build,
    losses=("any", "same minimisers"),
)
