"""A certificate as a file that Rocq checks: whole numbers that write the inequality as constraints and squares.

What is proved is about any vectors v_0 ... and numbers f_0 ...: where every constraint of the certificate holds of
their inner products and of the numbers, so does the inequality. That the constraints hold of smooth strongly convex
functions is not part of it. Each row is the certificate's own, times a positive number that makes it whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from fedbounds.evidence.kernel.pieces import sources
from fedbounds.evidence.sdp.certificate import Certificate
from fedbounds.evidence.sdp.forms import Form, exact
from fedbounds.evidence.sdp.model import build
from fedbounds.evidence.sdp.setting import Setting

Row = list[Fraction]
Square = tuple[Fraction, list[int]]
# Roots are rounded to this many bits below the largest entry; what they miss must be dominated by its diagonal.
ROOT_BITS = 60
# Eigenvalues below this part of the largest are the rounding of floats: such a matrix is taken apart exactly.
FLAT = 1e-12


def standalone(certificates: Iterable[Certificate]) -> str:
    """A Rocq file that `coqc` alone checks, a module a certificate; it does not compile where one proves nothing."""
    texts = [sources()[name].read_text(encoding="utf-8") for name in ("Space", "Certificate")]
    together = "\n".join(line for text in texts for line in text.splitlines() if not line.startswith("Require"))
    modules = [f"\nModule C{k}.\n{_proved(one)}End C{k}.\n" for k, one in enumerate(certificates)]
    return f"{together}\n{''.join(modules)}"


def _proved(certificate: Certificate) -> str:
    """The certificate's numbers and its theorem ``certified``."""
    model = build(Setting.from_json(certificate.setting), exact)
    place = {label: j for j, label in enumerate(model.labels)}
    used = [(label, Fraction(value)) for label, value in certificate.multipliers.items() if Fraction(value)]
    rhs = model.combine({name: Fraction(value) for name, value in certificate.rhs.items()}, exact)
    claim = rhs - model.forms[certificate.lhs]
    rest = claim.quad.copy()
    for label, value in used:
        rest = rest - model.quad[place[label]] * exact(value)
    squares = list(_squares([[_fraction(x) for x in row] for row in rest.tolist()]))
    rows = [_flat(Form(model.quad[place[label]], model.lin[place[label]])) for label, _ in used]
    scales, whole = [_scale(row) for row in rows], [_whole(row) for row in rows]
    weights = [value / scale for (_, value), scale in zip(used, scales, strict=True)]
    target = _flat(claim)
    weights_and = [Fraction(1) / _scale(target), *weights, *(weight for weight, _ in squares)]
    common = lcm(*(weight.denominator for weight in weights_and))
    factor, *numbers = [int(weight * common) for weight in weights_and]
    lines = [f"  {_list(row)} (* {label} *)" for row, (label, _) in zip(whole, used, strict=True)]
    names = f"v: {', '.join(model.basis)}; f: {', '.join(model.scalars)}"
    multipliers, of_squares = numbers[: len(used)], numbers[len(used) :]
    return (
        f"(* {certificate.name or certificate.claim}: {certificate.lhs} <= {dict(certificate.rhs)}\n"
        f"   at {dict(certificate.setting)}.\n   {names}. Written from the certificate; do not edit. *)\n"
        "Definition constraints : list (list Z) := [\n" + ";\n".join(lines) + f"]%Z.\n"
        f"Definition claim : list Z := {_list(_whole(target))}%Z. (* right side less left side *)\n\n"
        f"Theorem certified : forall (V : Space) (v : list V) (f : list R), length v = {len(model.basis)}%nat ->\n"
        "  Forall (holds v f) constraints -> holds v f claim.\nProof.\n  intros V v f n.\n"
        f"  apply (sound v f {_hex(factor)}%Z claim {_list(multipliers)}%Z constraints {_list(of_squares)}%Z\n"
        f"    [{'; '.join(_list(root) for _, root in squares)}]%Z).\n"
        "  rewrite n. vm_compute. reflexivity.\nQed.\nPrint Assumptions certified.\n"
    )


def _squares(S: list[Row]) -> Iterator[Square]:
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
    for k in range(n):
        pivot = S[k][k]
        if pivot:
            column = [S[i][k] / pivot if i >= k else Fraction(0) for i in range(n)]
            scale = _scale(column)
            yield pivot / scale**2, [int(x * scale) for x in column]
            S = [[S[i][j] - pivot * column[i] * column[j] for j in range(n)] for i in range(n)]


def _unit(n: int, *entries: tuple[int, int]) -> list[int]:
    found = [0] * n
    for i, value in entries:
        found[i] = value
    return found


def _flat(form: Form) -> Row:
    """Coefficients of <v_i, v_j>, i <= j, row by row, and of the values."""
    quad = [[_fraction(x) for x in row] for row in form.quad.tolist()]
    n = len(quad)
    upper = [quad[i][j] * (1 if i == j else 2) for i in range(n) for j in range(i, n)]
    return upper + [_fraction(x) for x in form.lin.tolist()]


def _fraction(x: object) -> Fraction:
    return Fraction(str(x))


def _scale(row: Sequence[Fraction]) -> int:
    return lcm(*(x.denominator for x in row))


def _whole(row: Row) -> list[int]:
    return [int(x * _scale(row)) for x in row]


def _list(numbers: Sequence[int]) -> str:
    return "[" + "; ".join(map(_hex, numbers)) + "]"


def _hex(number: int) -> str:
    """Hexadecimal where it is long: Rocq reads it five times faster."""
    text = str(number) if abs(number) < 10**6 else f"{number:#x}"
    return text if number >= 0 else f"({text})"
