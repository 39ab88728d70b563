"""The values of the quantities that a claim computes on an exact run, over every path that chance may take."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fedbounds.evidence.exact.instance import array
from fedbounds.evidence.exact.measure import whole_paths
from fedbounds.evidence.exact.record import ExactRun
from fedbounds.evidence.quantity_values import Values, values
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Path
from fedbounds.theory.reading import Reading


def quantity_values(claim: Claim, record: ExactRun, reading: Reading) -> Values:
    """The values of the claim's quantities in a reading; none where they need paths that were not enumerated."""
    if not claim.computed:
        return Values()
    instance, losses = record.instance, record.instance.losses
    eta = array(instance.eta)

    def paths() -> Iterator[tuple[Fraction, Path]]:
        if record.history is None:
            raise ValueError("too many paths of chance")
        steps, odds = record.history
        yield from whole_paths(steps, odds, instance.tau, eta, losses, reading.virtual)

    return values(claim, losses, Path(instance.tau, eta), paths)
