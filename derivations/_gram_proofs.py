"""Proofs in Rocq of certificates about any vectors: the inequality as constraints and squares, in whole numbers.

Over an interval numbers are polynomials of the parameter. ``Parametric.v`` reads one that is not negative where
a/q < x <= b/q as sum_k c_k u^k v^(d - k) with u = q x - a, v = b - q x (1 without an upper end) and whole c_k >= 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from flint import fmpq_poly
from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.evidence.kernel.gram_certificates import (
    Polynomial,
    common,
    ends,
    flat,
    fraction,
    inside,
    inverse,
    listed,
    numeral,
    parts,
    polynomials,
    rows_of,
    scale,
)
from fedbounds.evidence.sdp.functions_on_interval import Interval
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.verification import factored

Row = list[Fraction]
Square = tuple[Fraction, list[int]]
# Roots are rounded to this many bits below the largest entry; what they miss must be dominated by its diagonal.
ROOT_BITS = 60
# Eigenvalues below this part of the largest are the rounding of floats: such a matrix is taken apart exactly.
FLAT = 1e-12
# A polynomial that is positive has coefficients >= 0 once it is multiplied by u + v often enough (Polya, 1928).
RAISED = 40


def proof(certificate: Certificate) -> str:
    """The theorem ``proof`` of the statement that ``gram_certificates`` writes."""
    rows, over = rows_of(certificate), certificate.interval
    forms, values = [*map(flat, rows.constraints)], [value for _, value in rows.used]
    claim: Any
    shares: list[Any]
    if over is None:
        claim, *shares = (Fraction(1) / scale(map(fraction, form)) for form in (flat(rows.claim), *forms))
        names, lemma, sides = "V v f", "sound v f", ""
    else:
        claim, *shares = (inverse(common(form, over), over) for form in (flat(rows.claim), *forms))
        u, v = inside(over)
        names = f"x V v f {'low' if over.high is None else 'low high'}"  # the hypotheses that `within` writes
        lemma, sides = f"sound_at x v f {u}%Z {v}%Z", "; [simpl; lra|simpl; lra|]"
    weights = [value * share for value, share in zip(values, shares, strict=True)]
    texts = summed(rows.rest, claim, weights) if over is None else shortest(over, rows.rest.tolist(), claim, weights)
    factor, multipliers, of_squares, roots = texts
    return (
        f"Theorem proof : statement.\nProof.\n  intros {names} n.\n"
        f"  apply ({lemma} {factor}%Z claim\n    {multipliers}%Z constraints {of_squares}%Z\n"
        f"    {roots}%Z){sides}.\n  rewrite n. vm_compute. reflexivity.\nQed.\n"
    )


def squares(S: list[Row]) -> Iterator[Square]:
    """Weights w >= 0 and whole l with S = sum w l l^T: rounded roots and what they miss, else an exact LDL^T."""
    n = len(S)
    floats = np.array([[float(x) for x in row] for row in S])
    least, *_, largest = np.linalg.eigvalsh(floats) if n > 1 else (floats[0, 0], floats[0, 0])
    unit = Fraction(2) ** (ROOT_BITS - int(np.floor(np.log2(max(np.sqrt(floats.diagonal().max()), 1e-300)))))
    if least > FLAT * largest:
        upper = np.linalg.cholesky(floats - least / 2 * np.eye(n)).T
        roots = [[round(Fraction(float(x)) * unit) for x in row] for row in upper]
        missed = [
            [S[i][j] - sum((Fraction(r[i] * r[j]) for r in roots), Fraction(0)) / unit**2 for j in range(n)]
            for i in range(n)
        ]
        spare = [2 * missed[i][i] - sum(abs(x) for x in missed[i]) for i in range(n)]
        if min(spare) >= 0 and all(missed[i][i] >= 0 for i in range(n)):
            yield from ((1 / unit**2, root) for root in roots)
            yield from ((spare[i], _unit(n, (i, 1))) for i in range(n) if spare[i])
            for i in range(n):
                for j in range(i + 1, n):
                    if missed[i][j]:
                        yield abs(missed[i][j]), _unit(n, (i, 1), (j, 1 if missed[i][j] > 0 else -1))
            return
    for weight, column in factored(S) or ():
        by = scale(column)
        yield weight / by**2, [int(x * by) for x in column]


def _unit(n: int, *entries: tuple[int, int]) -> list[int]:
    row = [0] * n
    for i, value in entries:
        row[i] = value
    return row


def summed(rest: NDArray[Any], claim: Fraction, rows: Sequence[Fraction]) -> tuple[str, str, str, str]:
    """The claim's factor, the constraints' multipliers, the squares' weights and their roots, as whole numbers.

    ``rest`` is what the squares must make; ``claim`` and ``rows`` weigh the claim and its constraints.
    """
    made = list(squares([[fraction(x) for x in row] for row in rest.tolist()]))
    weights = [claim, *rows, *(weight for weight, _ in made)]
    common_denominator = scale(weights)
    factor, *whole = [int(weight * common_denominator) for weight in weights]
    roots = "; ".join(listed(root) for _, root in made)
    return numeral(factor), listed(whole[: len(rows)]), listed(whole[len(rows) :]), f"[{roots}]"


def shortest(over: Interval, rest: list[list[Any]], claim: Any, rows: Sequence[Any]) -> tuple[str, str, str, str]:
    """The same over an interval, where ``claim`` > 0: in the order of elimination that makes it shorter."""
    orders = [list(range(len(rest))), _sparse(rest)]
    return min((_ordered(over, rest, claim, rows, order) for order in orders), key=lambda texts: sum(map(len, texts)))


def _ordered(
    over: Interval, rest: list[list[Any]], claim: Any, rows: Sequence[Any], order: list[int]
) -> tuple[str, str, str, str]:
    back = [order.index(i) for i in range(len(order))]
    found = factored([[rest[i][j] for j in order] for i in order]) or ()
    made = [(weight, [column[k] for k in back], common(column, over)) for weight, column in found]
    weights = [claim, *rows, *(weight * inverse(by * by, over) for weight, _, by in made)]
    by = common(weights, over)
    factor, *others = _proved([parts(weight)[0] * (by // parts(weight)[1]) for weight in weights], over)
    multipliers, of_squares = others[: len(rows)], others[len(rows) :]
    roots = (polynomials(column, g) for _, column, g in made)
    return factor, *(f"[{'; '.join(texts)}]" for texts in (multipliers, of_squares, roots))  # type: ignore[return-value]


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


def _mixed(p: Polynomial, over: Interval) -> Polynomial:
    """The polynomial in u, with v = 1, whose coefficients are those of a polynomial's sum of powers."""
    (a, b, q), d = ends(over), p.degree()
    if b is None:
        return p(fmpq_poly([a, 1]) / q)
    x, one = fmpq_poly([a, b]) / (q * (b - a)), fmpq_poly([1, 1]) / (b - a)
    return sum((p[k] * x**k * one ** (d - k) for k in range(d + 1)), fmpq_poly([0]))


def _proved(of: Sequence[Polynomial], over: Interval) -> list[str]:
    """The sums of powers of polynomials, all times the same positive polynomial; InputError where none was found."""
    sums = [(_mixed(p, over), p.degree() + 1) for p in of]
    for _ in range(RAISED):
        if all(c >= 0 for p, _ in sums for c in p.coeffs()):
            by = lcm(*(int(p.denom()) for p, _ in sums))
            every = [[int((c * by).p) for c in p.coeffs()] + [0] * (length - len(p.coeffs())) for p, length in sums]
            least = gcd(*(c for one in every for c in one))
            return [listed([c // least for c in one]) for one in every]
        sums = [(p * fmpq_poly([1, 1]), length + 1) for p, length in sums]
    what = "Rocq checks functions that are sums of powers of what is positive on the interval"
    raise reject(what, f"{over.parameter} {over}", "narrow the interval")
