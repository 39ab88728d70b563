"""A certificate as a file that Rocq checks: whole numbers that write the inequality as constraints and squares.

What is stated here is about any vectors v_0 ... and numbers f_0 ...: where all constraints of the certificate hold of
their inner products and of the numbers, so does the inequality. Each row is the certificate's own, times a positive
number that makes it whole; over an interval each number is a polynomial of the parameter, by its coefficients. Where
`certificate_statements` has words for a certificate, it is stated about functions instead. What proves either is
written beside the proofs that it rests on, in `derivations`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from flint import fmpq_poly

from fedbounds.errors import reject
from fedbounds.evidence.kernel import certified_inequalities as stated
from fedbounds.evidence.kernel.proof_obligations import Obligation, sources
from fedbounds.evidence.sdp.functions_on_interval import Function, Interval, constant
from fedbounds.evidence.sdp.one_step.certificate import Certificate, read
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import Form, exact
from fedbounds.plugins import OWN, shipped
from fedbounds.theory.verdict import Status

HEAD = (
    "From Coq Require Import Reals {}ZArith List.\nRequire Import Space Certificate{}.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)
# Of flint, with rational coefficients.
Polynomial = Any


@dataclass(frozen=True)
class Rows:
    """A model, ``used`` (label, multiplier > 0), their ``constraints`` and the ``claim``, right less left side."""

    model: Model
    used: list[tuple[str, Any]]
    constraints: list[Form]
    claim: Form

    @property
    def rest(self) -> Any:
        """What the squares must make (n, n): the claim less the constraints times their multipliers."""
        rest = self.claim.quad.copy()
        for form, (_, value) in zip(self.constraints, self.used, strict=True):
            rest = rest - form.quad * exact(value)
        return rest


def rows_of(certificate: Certificate) -> Rows:
    """The rows of a certificate; InputError where it speaks of what not every model has."""
    model = build(certificate.parameters, exact)
    if beyond := sorted({certificate.lhs, *certificate.rhs} - model.quantities.keys()):
        remedy = "the certificate itself is verified exactly without Rocq"
        raise reject("Rocq reads the quantities that every model has", ", ".join(beyond), remedy)
    place = {label: j for j, label in enumerate(model.labels)}
    used = [(label, value) for label, value in certificate.numbers(certificate.multipliers).items() if value != 0]
    gap = model.sum(certificate.numbers(certificate.rhs)) - model[certificate.lhs]
    constraints = [Form(model.quad[place[label]], model.lin[place[label]]) for label, _ in used]
    return Rows(model, used, constraints, model.form(gap))


def flat(form: Form) -> list[Any]:
    """Coefficients of <v_i, v_j>, i <= j, row by row, and of the values."""
    n = len(form.quad)
    return [*(form.quad[i, j] * (1 if i == j else 2) for i in range(n) for j in range(i, n)), *form.lin.tolist()]


def standalone(certificates: Iterable[Certificate]) -> str:
    """A Rocq file that `coqc` alone checks, a module a certificate; it does not compile where one proves nothing."""
    every = [(module_of(one), _statement(one), _proof("gram", one)) for one in certificates]
    needed = ("Space", "Certificate", "Parametric")
    texts = [sources()[name].read_text(encoding="utf-8") for name in needed]
    together = "\n".join(line for text in texts for line in text.splitlines() if not line.startswith("Require"))
    modules = [
        f"\nModule C{k}_{name}.\n{stated}\n{proof}Print Assumptions proof.\nEnd C{k}_{name}.\n"
        for k, (name, stated, proof) in enumerate(every)
    ]
    return f"{together}\n{''.join(modules)}"


def certified() -> Iterator[Obligation]:
    """Every shipped certificate as a obligation, about its claim or about ``certificate``."""
    for path in shipped("certificates/*.json*"):
        yield from map(obligation_of, read(path))


def obligation_of(certificate: Certificate) -> Obligation:
    """The obligation of a certificate: about functions where there are words for it, else about inner products."""
    if stated.expressible(certificate):
        text, kind = stated.head(certificate) + stated.statement(certificate), "certificate"
    else:
        files = ("", "") if certificate.interval is None else ("Lra ", " Parametric")
        text, kind = HEAD.format(*files) + _statement(certificate), "gram"
    about = (module_of(certificate), certificate.claim or "certificate", (certificate.parameters.reading,))
    return Obligation(*about, Status.HOLDS, text, proof=lambda: _proof(kind, certificate))


def _proof(kind: str, certificate: Certificate) -> str:
    """The theorem ``proof`` of a statement, written beside the proofs in Rocq that it rests on."""
    return str(importlib.import_module(f"{OWN}._{kind}_proofs").proof(certificate))


def module_of(certificate: Certificate) -> str:
    """The module of a certificate's proof, in letters, digits and _ alone."""
    return "certificate_" + re.sub(r"\W", "_", certificate.name, flags=re.ASCII)


def _statement(certificate: Certificate) -> str:
    """The proposition ``statement``: where the constraints hold, so does the inequality."""
    rows, over = rows_of(certificate), certificate.interval
    kind, whole, given, holds = "list Z", "list (list Z)", " ", "holds"
    parameter = ""
    if over is not None:
        kind, whole, given, holds = (
            "row_of",
            "list row_of",
            f"\n  {stated.within(over)}",
            f"holds_at {over.parameter}",
        )
        parameter = f"({over.parameter} : R) "
    lines = [
        f"  {_row(flat(form), over)} (* {label} *)"
        for form, (label, _) in zip(rows.constraints, rows.used, strict=True)
    ]
    return (
        f"{stated.header(certificate)}(* v: {', '.join(rows.model.basis)}; f: {', '.join(rows.model.scalars)}. *)\n"
        f"Definition constraints : {whole} := [\n" + ";\n".join(lines) + "]%Z.\n"
        f"Definition claim : {kind} := {_row(flat(rows.claim), over)}%Z. (* right side less left side *)\n\n"
        f"Definition statement :=\n  forall {parameter}(V : Space) (v : list V) (f : list R),"
        f"{given}length v = {len(rows.model.basis)}%nat ->\n"
        f"  Forall ({holds} v f) constraints -> {holds} v f claim.\n"
    )


def _row(values: Sequence[Any], over: Interval | None) -> str:
    """Numbers as Rocq reads a row: times the least that makes them whole."""
    if over is not None:
        return polynomials(values, common(values, over))
    numbers = [fraction(x) for x in values]
    return listed([int(x * scale(numbers)) for x in numbers])


def fraction(x: object) -> Fraction:
    """A number of either arithmetic as a fraction."""
    return Fraction(int(x.p), int(x.q)) if x else Fraction(0)  # type: ignore[attr-defined]


def scale(row: Iterable[Fraction]) -> int:
    """The least whole number times which all of these are whole."""
    return lcm(*(x.denominator for x in row))


def listed(numbers: Sequence[int]) -> str:
    """Whole numbers as a list of Rocq."""
    return "[" + "; ".join(map(numeral, numbers)) + "]"


def numeral(number: int) -> str:
    """Hexadecimal where it is long: Rocq reads it five times faster."""
    text = str(number) if abs(number) < 10**6 else f"{number:#x}"
    return text if number >= 0 else f"({text})"


# Over an interval


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


def inverse(by: Polynomial, over: Interval) -> Function:
    """The function 1/by."""
    return Function(fmpq_poly([1]), by, over)


def polynomials(values: Iterable[Any], by: Polynomial) -> str:
    """Functions, times a polynomial that makes them whole, by their coefficients."""
    made = (num * (by // den) if den.degree() == 0 else num * by // den for num, den in map(parts, values))
    return "[" + "; ".join(listed([int(c.p) for c in one.coeffs()]) for one in made) + "]"


def inside(over: Interval) -> tuple[str, str]:
    """The polynomials q x - a and b - q x, or 1, of an interval a/q < x <= b/q."""
    a, b, q = ends(over)
    return listed([-a, q]), "[1]" if b is None else listed([b, -q])


def ends(over: Interval) -> tuple[int, int | None, int]:
    """(a, b, q) of an interval a/q < x <= b/q."""
    q = scale([over.low] if over.high is None else [over.low, over.high])
    return int(over.low * q), None if over.high is None else int(over.high * q), q
