"""Long runs of two clients: from w*, from a fixed point of a round, and from near and far away."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import InstanceFamily, Shape, from_first, quadratics, starts

# Curvatures differ less than elsewhere: at L/mu = 1e6 nothing happens in 2,000 steps.
CONDITION = 1e3
# A far start lies so many times as far as the others.
FAR = 1e3


def coordinates(shape: Shape) -> dict[str, int]:
    """As elsewhere, and which start it is."""
    return {"curvatures": 2, "minima": 0 if shape.losses == "same minimisers" else 1, "w0": 1, "start": 1}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Quadratics, and a start that the last coordinate chooses."""
    c = CONDITION ** parts["curvatures"][..., None]
    m = from_first(parts["minima"], len(p), 2, 1)
    losses, anywhere = quadratics(c, m, p), starts(parts["w0"])
    kinds = [losses.w_star, fixed_point(losses, shape, weights), anywhere, FAR * anywhere]
    which = np.minimum((4 * parts["start"]).astype(int), 3)
    return losses, np.choose(which, kinds)


def fixed_point(losses: Quadratics, shape: Shape, weights: Array) -> Array:
    """Where rounds of one step come to rest (P, 1).

    Of weights that stay it is the minimiser of sum_i alpha_i F_i; FedMax stays where both gaps are equal.
    """
    if shape.weighting == "fixed":
        return losses.argmin(weights[:, -1])
    if not shape.weighting.startswith("fedmax"):
        return losses.w_star
    root = np.sqrt(losses.curvatures)
    return (root * losses.minima).sum(1) / root.sum(1)


FAMILY = InstanceFamily(
    "long-runs",
    "quadratics of two clients over long runs",
    ((2, 1),),
    {
        "point": (),
        "step": ((20, 1), (50, 2)),
        "horizon": ((20, 4), (50, 2), (5, 50), (1, 250), (1, 1000), (20, 100)),
        "constant": ((10, 1), (50, 1)),
    },
    coordinates,
    build,
    noises=("", "additive"),
    losses=("any", "same minimisers"),
    loops=2000,
)
