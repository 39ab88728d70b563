"""One client: gradient descent and SGD, where a theorem about many clients must hold too."""

from __future__ import annotations

from fedbounds.referee.search.family import InstanceFamily
from fedbounds.referee.search.instances.diagonal import build, coordinates

FAMILY = InstanceFamily(
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
)
