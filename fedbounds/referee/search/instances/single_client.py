"""One client: gradient descent and SGD, where a theorem about many clients must hold too."""

from __future__ import annotations

from collections.abc import Iterable

from fedbounds.referee.search.family import InstanceFamily
from fedbounds.referee.search.instances.diagonal import build, coordinates


def sizes(dimensions: tuple[int, ...], clients: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    """One client in one coordinate and in two, so that L > mu."""
    return ((1, 1), (1, 2))


FAMILY = InstanceFamily(
    "single-client",
    "one client's diagonal quadratic",
    sizes,
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
)
