"""What checks a refutation by hand: its instance and both sides, a line a field."""

from collections.abc import Mapping
from typing import Any

from fedbounds.evidence.exact.instance_json import fraction
from fedbounds.report.number_format import SHOWN, with_decimal

# So many equal numbers are written once.
MANY = 4


def instance(data: Mapping[str, Any], letters: Mapping[str, str] | None = None) -> list[str]:
    """The instance of a verdict's ``data``, the constants (some in ``letters`` for their names), and each term.

    >>> instance({"terms": {}, "constants": {"gap": "1/2"}, "lhs": "1/2", "rhs": "1"}, {"gap": "F(w)-F*"})[1]
    '  F(w)-F*    1/2'
    """
    given = data.get("instance", {})
    lines = fields(_in_words(given) | given)
    if "terms" in data:
        left, right = (with_decimal(data.get(side)) for side in ("lhs", "rhs"))
        if "bits" in data:  # two numbers between the sides
            above = fraction(data["lhs"]) > fraction(data["rhs"])
            left, right = (">= ", "<= ")[not above] + left, ("<= ", ">= ")[not above] + right
        named = letters or {}
        constants = {named.get(k, k): _short(x) for k, x in data.get("constants", {}).items() if k not in given}
        alpha = data.get("alpha")
        lines += fields({"alpha": alpha} if alpha != [given.get("p")] else {}) + fields(constants)
        lines += [*fields({named.get(k, k): x for k, x in data.get("varying", {}).items()}), *fields({"left": left})]
        lines += [*fields(data["terms"], "term"), *fields({"right": right})]
    return lines


def _in_words(given: Mapping[str, Any]) -> dict[str, str]:
    """What the losses and stochastic gradients of an instance are, in its own fields."""
    if "curvatures" not in given:
        return {}
    loss = "curvature (w - minimum)^2/2"
    if "widths" in given:
        loss += " + 4 (upper - curvature) width^2 (log(1 + exp((w - kink)/width)) less its tangent at the minimum)"
    elif "kinks" in given:
        loss += " + (upper - curvature) max(w - kink, 0)^2/2"
    elif "turns" in given:
        loss += " of each coordinate of the turned w"
    words = {"F_i(w)": loss}
    words |= (
        {"a round": "each client takes part with probability q; of nobody no model moves"} if "q" in given else {}
    )
    if "noise" in given or "growth" in given:
        xi = "u = rare with probability 1/(1 + u^2), else -1/u" if "rare" in given else "1 or -1"
        first = "(1 + xi growth) grad F_i(w)" if "growth" in given else "grad F_i(w)"
        words["g_i(w)"] = f"{first}{' + xi noise' * ('noise' in given)}, xi = {xi}"
    return words


def fields(data: Mapping[str, Any], kind: str = "") -> list[str]:
    """Name and value of each field, behind its ``kind`` if it has one."""
    if kind:
        return [f"  {kind:<10} {name} = {with_decimal(value)}" for name, value in data.items()]
    return [f"  {name:<10} {_flat(value)}" for name, value in data.items()]


def _short(value: Any) -> Any:
    """A number that follows from the instance, as a decimal where its fraction is long."""
    return with_decimal(value) if isinstance(value, str) and len(value) > SHOWN else value


def _flat(value: Any) -> str:
    if isinstance(value, list) and len(value) >= MANY and value.count(value[0]) == len(value):
        return f"({len(value)} times {_flat(value[0])})"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_flat(part)}" for key, part in value.items())
    return "(" + ", ".join(map(_flat, value)) + ")" if isinstance(value, list) else str(value)
