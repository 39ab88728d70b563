"""Functions of a parameter as polynomials in whole numbers, and sums of powers that show them not negative.

``Parametric.v`` reads both: a polynomial by its coefficients, and one that is not negative where a/q < x <= b/q as
sum_k c_k u^k v^(d - k) with u = q x - a, v = b - q x (1 without an upper end) and whole c_k >= 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd, lcm
from typing import Any

from flint import fmpq_poly

from fedbounds.errors import reject
from fedbounds.evidence.kernel.integer_squares import listed
from fedbounds.evidence.sdp.rational_functions import Function, Interval, constant
from fedbounds.evidence.sdp.verification import factored

# Of flint, with rational coefficients.
Polynomial = Any
# A polynomial that is positive has coefficients >= 0 once it is multiplied by u + v often enough (Polya, 1928).
RAISED = 40


def parts(value: Any) -> tuple[Polynomial, Polynomial]:
    """Numerator and denominator of a number or a function."""
    return (value.num, value.den) if isinstance(value, Function) else constant(value)


def common(values: Iterable[Any], over: Interval) -> Polynomial:
    """A polynomial in whole numbers, positive inside, times which every one of these functions is one."""
    pairs, result = [constant(1), *map(parts, values)], fmpq_poly([1])
    for _, den in pairs:
        result *= den // result.gcd(den)
    sign = -1 if inverse(result, over) < 0 else 1
    return result * sign * lcm(*(int((num * (result // den)).denom()) for num, den in pairs))


def whole(value: Any, by: Polynomial) -> list[int]:
    """The coefficients of a function times a polynomial that makes it whole."""
    num, den = parts(value)
    return [int(c.p) for c in (num * (by // den) if den.degree() == 0 else num * by // den).coeffs()]


def inverse(by: Polynomial, over: Interval) -> Function:
    """The function 1/by."""
    return Function(fmpq_poly([1]), by, over)


def row(values: Iterable[Any], by: Polynomial) -> str:
    """Several of them as Rocq reads a row."""
    return "[" + "; ".join(listed(whole(value, by)) for value in values) + "]"


def inside(over: Interval) -> tuple[str, str]:
    """The polynomials u and v of an interval."""
    a, b, q = _ends(over)
    return listed([-a, q]), "[1]" if b is None else listed([b, -q])


def _ends(over: Interval) -> tuple[int, int | None, int]:
    q = lcm(over.low.denominator, 1 if over.high is None else over.high.denominator)
    return int(over.low * q), None if over.high is None else int(over.high * q), q


def _mixed(p: Polynomial, over: Interval) -> Polynomial:
    """The polynomial in u, with v = 1, whose coefficients are those of a polynomial's sum of powers."""
    (a, b, q), d = _ends(over), p.degree()
    if b is None:
        return p(fmpq_poly([a, 1]) / q)
    x, one = fmpq_poly([a, b]) / (q * (b - a)), fmpq_poly([1, 1]) / (b - a)
    return sum((p[k] * x**k * one ** (d - k) for k in range(d + 1)), fmpq_poly([0]))


def _proved(polynomials: Sequence[Polynomial], over: Interval) -> list[str]:
    """The sums of powers of polynomials, all times the same positive polynomial; InputError where none was found."""
    sums = [(_mixed(p, over), p.degree() + 1) for p in polynomials]
    for _ in range(RAISED):
        if all(c >= 0 for p, _ in sums for c in p.coeffs()):
            by = lcm(*(int(p.denom()) for p, _ in sums))
            every = [[int((c * by).p) for c in p.coeffs()] + [0] * (length - len(p.coeffs())) for p, length in sums]
            least = gcd(*(c for one in every for c in one))
            return [listed([c // least for c in one]) for one in every]
        sums = [(p * fmpq_poly([1, 1]), length + 1) for p, length in sums]
    what = "Rocq checks functions that are sums of powers of what is positive on the interval"
    raise reject(what, f"{over.parameter} {over}", "narrow the interval")


def summed(over: Interval, rest: list[list[Any]], claim: Any, rows: Sequence[Any]) -> tuple[str, ...]:
    """The claim's factor, the constraints' multipliers, the squares' weights and their roots, as Rocq reads them.

    ``rest`` is what the squares must make; ``claim`` > 0 and ``rows`` weigh the claim and its constraints.
    """
    orders = [list(range(len(rest))), _sparse(rest)]
    return min((_summed(over, rest, claim, rows, order) for order in orders), key=lambda texts: sum(map(len, texts)))


def _summed(
    over: Interval, rest: list[list[Any]], claim: Any, rows: Sequence[Any], order: list[int]
) -> tuple[str, ...]:
    """`summed` with the squares of one order of elimination."""
    back = [order.index(i) for i in range(len(order))]
    found = factored([[rest[i][j] for j in order] for i in order]) or ()
    squares = [(weight, [column[k] for k in back], common(column, over)) for weight, column in found]
    weights = [claim, *rows, *(weight * inverse(by * by, over) for weight, _, by in squares)]
    by = common(weights, over)
    factor, *others = _proved([parts(weight)[0] * (by // parts(weight)[1]) for weight in weights], over)
    roots = "; ".join(row(column, g) for _, column, g in squares)
    return factor, _several(others[: len(rows)]), _several(others[len(rows) :]), f"[{roots}]"


def _sparse(S: list[list[Any]]) -> list[int]:
    """An order of elimination, always the row with the fewest entries next: often ten times shorter."""
    near = {i: {j for j, x in enumerate(row) if x != 0 and j != i} for i, row in enumerate(S)}
    order = []
    while near:
        k = min(near, key=lambda i: (len(near[i]), sum(part.degree() for part in parts(S[i][i]))))
        order.append(k)
        mine = near.pop(k)
        for i in mine:
            near[i] = (near[i] | mine) - {i, k}
    return order


def _several(texts: Sequence[str]) -> str:
    return "[" + "; ".join(texts) + "]"
