"""Twenty-five clients of two kinds, of equal weight but for the first: a term that is wrong by a factor N shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, quadratics, starts

CLIENTS = 25


def sizes(dimensions: tuple[int, ...], clients: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    """One size."""
    return ((CLIENTS, 1),)


def coordinates(shape: Shape) -> dict[str, int]:
    """Two curvatures, the minimiser of the second kind, how many clients are of the first, and the start."""
    if shape.losses == "one loss":
        return {"curvatures": 1, "minima": 0, "share": 0, "w0": 1}
    return {"curvatures": 2, "minima": 0 if shape.losses == "same minimisers" else 1, "share": 1, "w0": 1}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """The first kind has its minimiser at 0, the second one in [-1, 1]; or all have one loss."""
    if shape.losses == "one loss":
        c = np.broadcast_to(MAX_CONDITION ** parts["curvatures"][..., None], (len(p), CLIENTS, 1))
        return quadratics(c, np.zeros(c.shape), p), starts(parts["w0"])
    first = 1 + np.floor(parts["share"] * (CLIENTS - 1.001))
    second = (np.arange(CLIENTS) >= first)[..., None]
    c = MAX_CONDITION ** parts["curvatures"][:, None, :]
    at = parts["minima"][:, None, :] * 2 - 1 if parts["minima"].size else np.zeros((len(p), 1, 1))
    return quadratics(np.where(second, c[..., 1:], c[..., :1]), np.where(second, at, 0.0), p), starts(parts["w0"])


FAMILY = InstanceFamily(
    "crowd",
    f"quadratics of {CLIENTS} clients",
    sizes,
    {
        "point": ((1, 1),),
        "step": ((1, 1), (3, 1)),
        "horizon": ((1, 1), (3, 2), (1, 8)),
        "constant": ((1, 1), (2, 1)),
    },
    coordinates,
    build,
    noises=("", "additive"),
    losses=("any", "same minimisers", "one loss"),
)
