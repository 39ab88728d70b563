"""How numbers are written: short, never rounded across 1, and readable on a page."""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

MISSING = "–"
# Bound and measured value closer than this, relatively, differ by rounding: they are shown as equal.
EQUAL = 1e-9
# Beyond so many digits two decimals are not told apart.
DIGITS = 30
# A longer fraction is for files.
SHOWN = 40


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


def grouped(value: float | None) -> str:
    """`compact`, with whole numbers from a thousand to ten million written out, as 29,500."""
    text = compact(value, 6)
    if value is None or not 1000 <= value < 1e7:
        return text
    return f"{float(text):,.0f}"


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


def decimal_pair(left: str, right: str) -> tuple[str, str] | None:
    """Two fractions, given as text, to the fewest digits (at least 4) at which they differ; None if neither is."""
    try:
        exact = Fraction(left), Fraction(right)
    except (ValueError, ZeroDivisionError):
        return None
    for digits in range(4, DIGITS + 1):
        first, second = (_decimal(value, digits) for value in exact)
        if first != second:
            break
    return first, second


def with_decimal(value: Any) -> Any:
    """A fraction that is no integer as a decimal, with the fraction where it is short, as "0.5556 (5/9)"."""
    try:
        exact = Fraction(value) if isinstance(value, str) else None
    except (ValueError, ZeroDivisionError):
        return value
    if exact is None or exact.denominator == 1:
        return value
    return _decimal(exact, 4) + f" ({value})" * (len(value) <= SHOWN)


def _decimal(value: Fraction, digits: int) -> str:
    """A fraction of any size to so many significant digits."""
    context = Context(prec=DIGITS)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    mantissa, mark, exponent = f"{rounded:.{digits}g}".partition("e")
    plain = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{plain}e{int(exponent)}" if mark else plain


def counted(count: int, what: str) -> str:
    """Such as 1 round, 2 rounds."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def times(ratio: float | None) -> str:
    """Bound over measured, as "1.07×"; in words where the bound is negative."""
    text = compact(ratio)
    return "bound < 0" if text == "<0" else f"{readable(text)}×" if text else ""


def readable(text: str) -> str:
    """2.1e+04 as 2.1·10⁴, and a true minus sign."""
    powers = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    text = re.sub(
        r"\b(\d[\d.]*)e([+-]?\d+)\b", lambda result: f"{result[1]}·10{str(int(result[2])).translate(powers)}", text
    )
    return re.sub(r"(?<![\w)])-(?=\d)", "−", text)
