"""Twenty-five clients of three kinds: a term that is wrong by a factor N shows, and weights of two that prevail.

Also eight of two-slope losses: noise biases local steps, which no mean over clients undoes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, quadratics, starts
from fedbounds.referee.search.instances.two_slope import REACH

CLIENTS, BENT = 25, 8
# This share of the coordinate of the start means w*, where noise and drift show best; a run without stays there.
AT_REST = 0.25
# Of a coordinate of the curvatures: those of all kinds are often alike.
NEAR = 3


def coordinates(shape: Shape) -> dict[str, int]:
    """Three curvatures, the minimisers of the second and third kinds, the sizes of the first two, and the start."""
    if shape.losses == "one loss":
        return {"curvatures": 1, "minima": 0, "share": 0, "w0": 1}
    one_hessian = shape.losses == "one Hessian"
    return {
        "curvatures": 1 if one_hessian else 3,
        "minima": 0 if shape.losses == "same minimisers" else 2,
        "share": 2,
        "w0": 1,
    }


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """The first kind has its minimiser at 0, the others theirs in [-1, 1]; or all have one loss."""
    kind = kinds(shape, parts["share"], len(p))
    c = of_kinds(MAX_CONDITION ** parts["curvatures"] ** NEAR, kind)
    losses, part = quadratics(c, minima(kind, parts["minima"]), p), parts["w0"]
    if shape.straight and shape.weighting == "fedavg":
        return losses, starts(part)
    return losses, np.where(part < AT_REST, losses.w_star, starts((part - AT_REST) / (1 - AT_REST)))


def of_kinds(part: Array, kind: NDArray[np.int_]) -> Array:
    """Numbers of each kind, or one of all, as those (P, N, 1) of the clients."""
    three = np.broadcast_to(part, (len(part), 3))
    return np.take_along_axis(three, kind, axis=1)[..., None]


def kinds(shape: Shape, share: Array, P: int) -> NDArray[np.int_]:
    """The kind 0, 1 or 2 of each client (P, N); the first two kinds often have one client each."""
    if not share.size:
        return np.zeros((P, shape.N), dtype=int)
    ends = 1 + np.cumsum(np.floor(share**2 * shape.N / 2), axis=1)
    i = np.arange(shape.N)
    return (i >= ends[:, :1]).astype(int) + (i >= ends[:, 1:] + 1).astype(int)


def minima(kind: NDArray[np.int_], part: Array) -> Array:
    """The minimisers (P, N, 1) of clients of these kinds."""
    at = np.concatenate([np.zeros((len(kind), 1)), 2 * part - 1], axis=1) if part.size else np.zeros((len(kind), 3))
    return np.take_along_axis(at, kind, axis=1)[..., None]


def bent_coordinates(shape: Shape) -> dict[str, int]:
    """As of a clusters_of_clients, and the upper curvature and the kink of each kind."""
    several = coordinates(shape)
    return {**several, "upper": several["curvatures"], "kinks": several["curvatures"]}


def build_bent(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Two-slope losses, the kink often at the minimiser."""
    kind = kinds(shape, parts["share"], len(p))
    m = minima(kind, parts["minima"])
    reach = REACH * np.maximum(2 * parts["kinks"] - 1, 0)
    c, h, above = (
        of_kinds(part, kind)
        for part in (MAX_CONDITION ** parts["curvatures"], MAX_CONDITION ** parts["upper"], reach)
    )
    return quadratics(c, m, p, upper=h, kinks=m + above), starts(parts["w0"])


FAMILY = (
    InstanceFamily(
        "crowd",
        f"quadratics of {CLIENTS} clients",
        ((CLIENTS, 1),),
        {
            "point": ((1, 1),),
            "step": ((1, 1), (3, 1)),
            "horizon": ((1, 1), (3, 2), (1, 8)),
            "constant": ((1, 1), (2, 1)),
        },
        coordinates,
        build,
        noises=("", "additive"),
        losses=("any", "one Hessian", "same minimisers", "one loss"),
    ),
    InstanceFamily(
        "bent-crowd",
        f"piecewise quadratics of two slopes of {BENT} clients",
        ((BENT, 1),),
        {
            "point": ((1, 1),),
            "step": ((1, 1), (3, 1)),
            "horizon": ((1, 1), (2, 1), (3, 1)),
            "constant": ((1, 1), (2, 1)),
        },
        bent_coordinates,
        build_bent,
        noises=("", "additive", "proportional"),
        losses=("any", "one loss"),
        linear=False,
    ),
)
