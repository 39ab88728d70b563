"""Certificates over an interval as files that Rocq checks: what holds at every point of it, by ``Parametric.v``.

As in `gram_certificates`, what is proved is about any vectors and numbers; each row is the certificate's own, times a
positive polynomial that makes it whole.
"""

from __future__ import annotations

from fedbounds.evidence.kernel import certificate_statements as stated
from fedbounds.evidence.kernel.certificate_rows import flat, rows_of
from fedbounds.evidence.kernel.interval_rows import common, inside, inverse, row, summed
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.rational_functions import Interval

HEAD = (
    "From Coq Require Import Reals Lra ZArith List.\nRequire Import Space Certificate Parametric.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)


def statement(certificate: Certificate) -> str:
    """The proposition ``statement``: where constraints hold at a point of the interval, so does the claim."""
    over, rows = _interval(certificate), rows_of(certificate)
    model, claim = rows.model, flat(rows.claim)
    forms = zip(map(flat, rows.constraints), rows.used, strict=True)
    lines = [f"  {row(form, common(form, over))} (* {label} *)" for form, (label, _) in forms]
    return (
        f"{stated.header(certificate)}(* v: {', '.join(model.basis)}; f: {', '.join(model.scalars)}. *)\n"
        "Definition constraints : list row_of := [\n" + ";\n".join(lines) + "]%Z.\n"
        f"Definition claim : row_of := {row(claim, common(claim, over))}%Z. (* right side less left side *)\n\n"
        f"Definition statement :=\n  forall ({over.parameter} : R) (V : Space) (v : list V) (f : list R),\n"
        f"  {stated.within(over)}length v = {len(model.basis)}%nat ->\n"
        f"  Forall (holds_at {over.parameter} v f) constraints -> holds_at {over.parameter} v f claim.\n"
    )


def proof(certificate: Certificate) -> str:
    """The theorem ``proof`` of the statement."""
    over, rows = _interval(certificate), rows_of(certificate)
    forms = zip(map(flat, rows.constraints), rows.used, strict=True)
    weights = [value * inverse(common(form, over), over) for form, (_, value) in forms]
    claim = inverse(common(flat(rows.claim), over), over)
    factor, factors, of_squares, roots = summed(over, rows.rest.tolist(), claim, weights)
    u, v = inside(over)
    ends = "low" if over.high is None else "low high"  # the hypotheses that `within` writes
    return (
        f"Theorem proof : statement.\nProof.\n  intros x V v f {ends} n.\n"
        f"  apply (sound_at x v f {u}%Z {v}%Z {factor}%Z claim\n    {factors}%Z constraints {of_squares}%Z\n"
        f"    {roots}%Z); [simpl; lra|simpl; lra|].\n  rewrite n. vm_compute. reflexivity.\nQed.\n"
    )


def _interval(certificate: Certificate) -> Interval:
    assert certificate.interval is not None
    return certificate.interval
