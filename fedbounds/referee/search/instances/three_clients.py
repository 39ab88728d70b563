"""Three clients on a line and in the plane, at every budget."""

from __future__ import annotations

from collections.abc import Iterable

from fedbounds.referee.search.family import InstanceFamily
from fedbounds.referee.search.instances.diagonal import build, coordinates


def sizes(dimensions: tuple[int, ...], clients: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    """Three clients on a line, with noise too, and in two coordinates, unless the budget has them anyway."""
    return () if 3 in clients and 2 in dimensions else ((3, 1), (3, 2))


FAMILY = InstanceFamily(
    "three-clients",
    "diagonal quadratics of three clients",
    sizes,
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
)
