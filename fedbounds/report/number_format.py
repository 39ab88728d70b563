"""How numbers are written: short, never rounded across 1, and readable on a page."""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

MISSING = "–"
# Bound and measured value closer than this, relatively, differ by rounding: they are shown as equal.
EQUAL = 1e-9


def compact(value: float | None, width: int = 7) -> str:
    """``value`` in at most ``width`` characters where three allow it; never rounded across 1."""
    if value is None or not math.isfinite(value):
        return ""
    if value < 0:
        return "<0"
    value = 1.0 if abs(value - 1) <= EQUAL else value
    for digits in (3, 2, 1):
        text = _short(value, digits)
        if len(text) <= width and (value == 1 or float(text) != 1):
            return text
    return "<1" if value < 1 else ">1" if _short(value, 1) == "1" else _short(value, 1)


def number(value: float | None, digits: int = 4) -> str:
    """``value`` to ``digits`` significant digits with a short exponent; a dash for None."""
    return MISSING if value is None else _short(float(value), digits)


def upward(value: float, digits: int = 4) -> str:
    """`number` of an upper bound: never below ``value``."""
    return _short(float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))), digits)


def downward(value: float, digits: int = 4) -> str:
    """`number` of a lower bound: never above ``value``."""
    return _short(float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(value))), digits)


def _short(value: float, digits: int) -> str:
    """2.1e4 rather than 2.1e+04."""
    mantissa, mark, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def times(ratio: float | None) -> str:
    """Bound over measured, as "1.07×"; in words where the bound is negative."""
    text = compact(ratio)
    return "bound < 0" if text == "<0" else f"{readable(text)}×" if text else ""


def readable(text: str) -> str:
    """2.1e+04 as 2.1·10⁴, and a true minus sign."""
    powers = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = re.sub(r"(?<=\d)e([+-]?\d+)", lambda found: f"·10{str(int(found[1])).translate(powers)}", text)
    return re.sub(r"(?<![\w)])-(?=\d)", "−", text)
