"""Eight clients of three kinds with two-slope losses: noise biases local steps, which no mean over clients undoes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.problem import Array
from fedbounds.referee.search.family import MAX_CONDITION, InstanceFamily, Shape, quadratics, starts
from fedbounds.referee.search.instances import clusters_of_clients
from fedbounds.referee.search.instances.two_slope import REACH

CLIENTS = 8


def coordinates(shape: Shape) -> dict[str, int]:
    """As of a clusters_of_clients, and the upper curvature and the kink of each kind."""
    several = clusters_of_clients.coordinates(shape)
    return {**several, "upper": several["curvatures"], "kinks": several["curvatures"]}


def build(shape: Shape, parts: Mapping[str, Array], p: Array, weights: Array) -> tuple[Quadratics, Array]:
    """Two-slope losses, the kink often at the minimiser."""
    kind = clusters_of_clients.kinds(shape, parts["share"], len(p))
    m = clusters_of_clients.minima(kind, parts["minima"])
    reach = REACH * np.maximum(2 * parts["kinks"] - 1, 0)
    c, h, above = (
        clusters_of_clients.of_kinds(part, kind)
        for part in (MAX_CONDITION ** parts["curvatures"], MAX_CONDITION ** parts["upper"], reach)
    )
    return quadratics(c, m, p, upper=h, kinks=m + above), starts(parts["w0"])


FAMILY = InstanceFamily(
    "bent-crowd",
    f"piecewise quadratics of two slopes of {CLIENTS} clients",
    ((CLIENTS, 1),),
    {
        "point": ((1, 1),),
        "step": ((1, 1), (3, 1)),
        "horizon": ((1, 1), (2, 1), (3, 1)),
        "constant": ((1, 1), (2, 1)),
    },
    coordinates,
    build,
    noises=("", "additive", "proportional"),
    losses=("any", "one loss"),
    linear=False,
)
