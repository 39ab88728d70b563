"""Symbols of one's own that have a value at a setting, told by what they are: another may have such a name."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from fedbounds.theory.quantity import Quantity
from fedbounds.theory.sums import gone_sq, parting

OWN: Mapping[Quantity, Callable[[Any], Fraction]] = {
    parting: lambda setting: 1 - max(2 * max(setting.alpha) - 1, Fraction(0)) ** 2,
    gone_sq: lambda setting: (
        (1 - math.prod((1 - eta * setting.mu for eta in setting.eta[:-1]), start=Fraction(1))) ** 2
    ),
}
