"""A number together with where it comes from."""

import enum
import math
from dataclasses import dataclass


class Provenance(enum.StrEnum):
    """How a constant was obtained, from the strongest to the weakest."""

    EXACT = "exact"
    BOUND = "bound"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class Constant:
    """A value with its provenance; ``note`` says on which set or by which formula it holds."""

    value: float
    provenance: Provenance
    note: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError(f"a constant must be a number, but received nan ({self.note})")

    def __float__(self) -> float:
        return float(self.value)

    def to_json(self) -> dict[str, object]:
        """The constant as a JSON object; infinities become null, as JSON has none."""
        value = self.value if math.isfinite(self.value) else None
        return {"value": value, "provenance": str(self.provenance), "note": self.note}
