"""Diagonal quadratics: of two clients, or more at larger budgets, of one and of three.

Of one client they are gradient descent and SGD, where a theorem about many clients must hold too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, from_first, quadratics, starts


def sizes(dimensions: tuple[int, ...], clients: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    """Every pair that the budget allows."""
    return itertools.product(clients, dimensions)


def three(dimensions: tuple[int, ...], clients: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    """Three clients on a line, with noise too, and in two coordinates, unless the budget has them anyway."""
    return () if 3 in clients and 2 in dimensions else ((3, 1), (3, 2))


def coordinates(shape: Shape) -> dict[str, int]:
    """Curvatures, minimisers but the first, and the start."""
    N, d = shape.N, shape.d
    one_hessian = shape.losses in ("one Hessian", "one loss")
    apart = shape.losses in ("any", "one Hessian")
    return {"curvatures": d * (1 if one_hessian else N), "minima": (N - 1) * d if apart else 0, "w0": d}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """F_i = sum_k c_ik (w_k - m_ik)^2/2 with c in [1, MAX_CONDITION] and m in [-1, 1]."""
    P, N, d = len(p), shape.N, shape.d
    c = np.broadcast_to(MAX_CONDITION ** parts["curvatures"].reshape(P, -1, d), (P, N, d))
    m = from_first(parts["minima"], P, N, d)
    return quadratics(c, m, p), starts(parts["w0"])


# The longest are 2 gamma steps at L/mu = 100: there bounds with a negative constant term fail.
FAMILY = (
    InstanceFamily(
        "diagonal",
        "diagonal quadratics",
        sizes,
        {
            "point": ((1, 1), (2, 1)),
            "step": ((1, 1), (2, 1), (3, 1), (2, 2), (10, 1)),
            "horizon": ((1, 1), (2, 1), (1, 8), (3, 4), (1, 60), (4, 10), (1, 800)),
            "constant": ((1, 1), (1, 2), (2, 1), (1, 6)),
        },
        coordinates,
        build,
        schedules=("paper", "free", "constant"),
        noises=("", "additive", "proportional", "samples", "rare"),
        absent=True,
        losses=("any", "one Hessian", "same minimisers", "one loss"),
    ),
    InstanceFamily(
        "single-client",
        "one client's diagonal quadratic",
        ((1, 1), (1, 2)),
        {
            "point": ((1, 1),),
            "step": ((1, 1), (3, 1)),
            "horizon": ((1, 1), (3, 2), (1, 8), (1, 60)),
            "constant": ((1, 1), (1, 6)),
        },
        coordinates,
        build,
        schedules=("free", "constant"),
        noises=("", "additive", "proportional", "samples"),
        equal=(True,),
    ),
    InstanceFamily(
        "three-clients",
        "diagonal quadratics of three clients",
        three,
        {
            "point": ((1, 1),),
            "step": ((1, 1), (3, 1)),
            "horizon": ((1, 1), (3, 2), (1, 8)),
            "constant": ((1, 1), (2, 1)),
        },
        coordinates,
        build,
        noises=("", "additive", "proportional", "rare"),
        absent=True,
        losses=("any", "one Hessian", "same minimisers"),
    ),
)
