"""What checks a refutation by hand: its instance and both sides, a line a field."""

from collections.abc import Mapping
from typing import Any

from fedbounds.evidence.exact.instance_json import fraction
from fedbounds.report.number_format import with_decimal


def instance(data: Mapping[str, Any]) -> list[str]:
    """The instance of a verdict's ``data``, the constants, and each term."""
    lines = fields(data.get("instance", {}))
    if "terms" in data:
        left, right = (with_decimal(data.get(side)) for side in ("lhs", "rhs"))
        if "bits" in data:  # two numbers between the sides
            above = fraction(data["lhs"]) > fraction(data["rhs"])
            left, right = (">= ", "<= ")[not above] + left, ("<= ", ">= ")[not above] + right
        alpha, p = data.get("alpha"), data.get("instance", {}).get("p")
        lines += fields({"alpha": alpha} if alpha != [p] else {}) + fields(data.get("constants", {}))
        lines += [*fields(data.get("varying", {})), *fields({"left": left})]
        lines += [*fields(data["terms"], "term"), *fields({"right": right})]
    return lines


def fields(data: Mapping[str, Any], kind: str = "") -> list[str]:
    """Name and value of each field, behind its ``kind`` if it has one."""
    if kind:
        return [f"  {kind:<10} {name} = {with_decimal(value)}" for name, value in data.items()]
    return [f"  {name:<10} {_flat(value)}" for name, value in data.items()]


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_flat(part)}" for key, part in value.items())
    return "(" + ", ".join(map(_flat, value)) + ")" if isinstance(value, list) else str(value)
