"""Certificates over an interval as files that Rocq checks: what holds at every point of it, by ``Parametric.v``.

As in `gram_certificates`, what is proved is about any vectors and numbers; each row is the certificate's own, times a
positive polynomial that makes it whole.
"""

from __future__ import annotations

from typing import Any

from fedbounds.evidence.kernel import certificate_statements as stated
from fedbounds.evidence.kernel.interval_rows import common, inside, inverse, row, summed
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import Expression, Form, exact
from fedbounds.evidence.sdp.rational_functions import Interval

HEAD = (
    "From Coq Require Import Reals Lra ZArith List.\nRequire Import Space Certificate Parametric.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)


def statement(certificate: Certificate) -> str:
    """The proposition ``statement``: where constraints hold at a point of the interval, so does the claim."""
    over, model, used, claim = _rows(certificate)
    rows = [f"  {row(form, common(form, over))} (* {label} *)" for label, form in used.items()]
    return (
        f"{stated.header(certificate)}(* v: {', '.join(model.basis)}; f: {', '.join(model.scalars)}. *)\n"
        "Definition constraints : list row_of := [\n" + ";\n".join(rows) + "]%Z.\n"
        f"Definition claim : row_of := {row(claim, common(claim, over))}%Z. (* right side less left side *)\n\n"
        f"Definition statement :=\n  forall ({over.parameter} : R) (V : Space) (v : list V) (f : list R),\n"
        f"  {stated.within(over)}length v = {len(model.basis)}%nat ->\n"
        f"  Forall (holds_at {over.parameter} v f) constraints -> holds_at {over.parameter} v f claim.\n"
    )


def proof(certificate: Certificate) -> str:
    """The theorem ``proof`` of the statement."""
    over, model, used, claim = _rows(certificate)
    multipliers = certificate.numbers(certificate.multipliers)
    weights = [multipliers[label] * inverse(common(form, over), over) for label, form in used.items()]
    factor, factors, of_squares, roots = summed(
        over, remainder(certificate, model), inverse(common(claim, over), over), weights
    )
    u, v = inside(over)
    return (
        f"Theorem proof : statement.\nProof.\n  intros x V v f {ends(over)} n.\n"
        f"  apply (sound_at x v f {u}%Z {v}%Z {factor}%Z claim\n    {factors}%Z constraints {of_squares}%Z\n"
        f"    {roots}%Z); [simpl; lra|simpl; lra|].\n  rewrite n. vm_compute. reflexivity.\nQed.\n"
    )


def ends(over: Interval) -> str:
    """The names of the hypotheses that `within` writes."""
    return "low" if over.high is None else "low high"


def remainder(certificate: Certificate, model: Model) -> list[list[Any]]:
    """What the squares of a certificate must make: the claim less its constraints times their multipliers."""
    gap = model.sum(certificate.numbers(certificate.rhs)) - model[certificate.lhs]
    rows = {c.label: c.expression for c in model.constraints}
    multipliers = certificate.numbers(certificate.multipliers)
    paid = Expression.mean(map(exact, multipliers.values()), [rows[label] for label in multipliers])
    result: list[list[Any]] = model.form(gap - paid).quad.tolist()
    return result


def _rows(certificate: Certificate) -> tuple[Interval, Model, dict[str, list[Any]], list[Any]]:
    """The interval, the model, the constraints in use and the claim, right less left side, in coordinates."""
    assert certificate.interval is not None
    model = build(certificate.parameters, exact)
    rows = {c.label: c.expression for c in model.constraints}
    gap = model.sum(certificate.numbers(certificate.rhs)) - model[certificate.lhs]
    used = {label: flat(model.form(rows[label])) for label in stated.used(certificate)}
    return certificate.interval, model, used, flat(model.form(gap))


def flat(form: Form) -> list[Any]:
    """Coefficients of <v_i, v_j>, i <= j, row by row, and of the values."""
    n = len(form.quad)
    return [*(form.quad[i, j] * (1 if i == j else 2) for i in range(n) for j in range(i, n)), *form.lin.tolist()]
