"""A certificate as a file that Rocq checks: whole numbers that write the inequality as constraints and squares.

What is proved here is about any vectors v_0 ... and numbers f_0 ...: where all constraints of the certificate hold of
their inner products and of the numbers, so does the inequality. Each row is the certificate's own, times a positive
number that makes it whole. Where `rounds` has words for a certificate, it is proved about functions there instead.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from fedbounds.evidence.kernel import certificate_statements as stated
from fedbounds.evidence.kernel import interval_certificates as of_interval
from fedbounds.evidence.kernel.certificate_rows import flat, rows_of
from fedbounds.evidence.kernel.integer_squares import Row, fraction, listed, scale, summed, whole
from fedbounds.evidence.kernel.proof_obligations import Obligation, sources
from fedbounds.evidence.sdp.one_step.certificate import Certificate, read
from fedbounds.evidence.sdp.program import Form
from fedbounds.plugins import OWN, shipped
from fedbounds.theory.verdict import Status

Writer = Callable[[Certificate], str]
HEAD = (
    "From Coq Require Import Reals ZArith List.\nRequire Import Space Certificate.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)


def standalone(certificates: Iterable[Certificate]) -> str:
    """A Rocq file that `coqc` alone checks, a module a certificate; it does not compile where one proves nothing."""
    every = [(module_of(one), *(write(one) for write in _of_products(one)[1:])) for one in certificates]
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


def _of_products(certificate: Certificate) -> tuple[str, Writer, Writer]:
    """What a file begins with, and what writes the statement about inner products and its proof."""
    if certificate.interval is not None:
        return of_interval.HEAD, of_interval.statement, of_interval.proof
    return HEAD, _statement, _proof


def obligation_of(certificate: Certificate) -> Obligation:
    """The obligation of a certificate: about functions where `rounds` has words for it, else about inner products."""
    reading = certificate.parameters.reading
    proof: Writer
    if stated.expressible(certificate):
        head, proposition, proof = (
            stated.head(certificate),
            stated.statement(certificate),
            _of_functions,
        )
    else:
        head, write, proof = _of_products(certificate)
        proposition = write(certificate)
    subject = certificate.claim or "certificate"
    module = module_of(certificate)
    return Obligation(module, subject, (reading,), Status.HOLDS, head + proposition, proof=lambda: proof(certificate))


def _of_functions(certificate: Certificate) -> str:
    """The theorem ``proof`` about functions, written beside the proofs in Rocq that it rests on."""
    return str(importlib.import_module(f"{OWN}._certificate_proofs").proof(certificate))


def module_of(certificate: Certificate) -> str:
    """The module of a certificate's proof, in letters, digits and _ alone."""
    return "certificate_" + re.sub(r"\W", "_", certificate.name, flags=re.ASCII)


def _statement(certificate: Certificate) -> str:
    """The proposition ``statement``: where the constraints hold, so does the inequality."""
    rows = rows_of(certificate)
    model = rows.model
    lines = [
        f"  {listed(whole(_flat(form)))} (* {label} *)"
        for form, (label, _) in zip(rows.constraints, rows.used, strict=True)
    ]
    return (
        f"{stated.header(certificate)}(* v: {', '.join(model.basis)}; f: {', '.join(model.scalars)}. *)\n"
        "Definition constraints : list (list Z) := [\n" + ";\n".join(lines) + f"]%Z.\n"
        f"Definition claim : list Z := {listed(whole(_flat(rows.claim)))}%Z. (* right side less left side *)\n\n"
        "Definition statement :=\n"
        f"  forall (V : Space) (v : list V) (f : list R), length v = {len(model.basis)}%nat ->\n"
        "  Forall (holds v f) constraints -> holds v f claim.\n"
    )


def _proof(certificate: Certificate) -> str:
    """The theorem ``proof`` of the statement."""
    rows = rows_of(certificate)
    weights = [value / scale(_flat(form)) for form, (_, value) in zip(rows.constraints, rows.used, strict=True)]
    factor, multipliers, of_squares, roots = summed(rows.rest, Fraction(1) / scale(_flat(rows.claim)), weights)
    return (
        "Theorem proof : statement.\nProof.\n  intros V v f n.\n"
        f"  apply (sound v f {factor}%Z claim {multipliers}%Z constraints {of_squares}%Z\n    {roots}%Z).\n"
        "  rewrite n. vm_compute. reflexivity.\nQed.\n"
    )


def _flat(form: Form) -> Row:
    """The same in fractions."""
    return [fraction(x) for x in flat(form)]
