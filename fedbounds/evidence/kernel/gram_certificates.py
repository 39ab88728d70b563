"""A certificate as a file that Rocq checks: whole numbers that write the inequality as constraints and squares.

What is proved here is about any vectors v_0 ... and numbers f_0 ...: where all constraints of the certificate hold of
their inner products and of the numbers, so does the inequality. Each row is the certificate's own, times a positive
number that makes it whole. Where `rounds` has words for a certificate, it is proved about functions there instead.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from fedbounds.errors import reject
from fedbounds.evidence.kernel import certificate_statements as stated
from fedbounds.evidence.kernel import integer_squares, interval_rows
from fedbounds.evidence.kernel.proof_obligations import Obligation, sources
from fedbounds.evidence.sdp.one_step.certificate import Certificate, read
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import Form, exact
from fedbounds.plugins import OWN, shipped
from fedbounds.theory.verdict import Status

HEAD = (
    "From Coq Require Import Reals {}ZArith List.\nRequire Import Space Certificate{}.\n"
    "Import ListNotations.\nOpen Scope R_scope.\n"
)


@dataclass(frozen=True)
class Arithmetic:
    """How Rocq reads rows: in whole numbers, or in polynomials of the parameter of an interval.

    ``row`` writes one, ``share`` is what makes it whole, ``summed`` what writes the sum; the rest is text.
    """

    row: Callable[[list[Any]], str]
    share: Callable[[list[Any]], Any]
    summed: Callable[[NDArray[Any], Any, list[Any]], tuple[str, ...]]
    files: tuple[str, str] = ("", "")
    types: tuple[str, str] = ("list (list Z)", "list Z")
    parameter: str = ""
    within: str = " "
    holds: str = "holds"
    names: str = "V v f"
    lemma: str = "sound v f"
    sides: str = ""


def _arithmetic(certificate: Certificate) -> Arithmetic:
    """That of a certificate of one setting, or of every setting of an interval."""
    over = certificate.interval
    if over is None:
        return Arithmetic(integer_squares.row, integer_squares.share, integer_squares.summed)
    x, (u, v) = over.parameter, interval_rows.inside(over)
    return Arithmetic(
        lambda values: interval_rows.row(values, interval_rows.common(values, over)),
        lambda values: interval_rows.inverse(interval_rows.common(values, over), over),
        lambda rest, claim, weights: interval_rows.summed(over, rest.tolist(), claim, weights),
        ("Lra ", " Parametric"),
        ("list row_of", "row_of"),
        f"({x} : R) ",
        f"\n  {stated.within(over)}",
        f"holds_at {x}",
        f"x V v f {'low' if over.high is None else 'low high'}",  # the hypotheses that `within` writes
        f"sound_at x v f {u}%Z {v}%Z",
        "; [simpl; lra|simpl; lra|]",
    )


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
    every = [(module_of(one), _statement(one), _proof(one)) for one in certificates]
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
    """The obligation of a certificate: about functions where `rounds` has words for it, else about inner products."""
    reading = certificate.parameters.reading
    if stated.expressible(certificate):
        text, proof = stated.head(certificate) + stated.statement(certificate), _of_functions
    else:
        text, proof = HEAD.format(*_arithmetic(certificate).files) + _statement(certificate), _proof
    subject = certificate.claim or "certificate"
    module = module_of(certificate)
    return Obligation(module, subject, (reading,), Status.HOLDS, text, proof=lambda: proof(certificate))


def _of_functions(certificate: Certificate) -> str:
    """The theorem ``proof`` about functions, written beside the proofs in Rocq that it rests on."""
    return str(importlib.import_module(f"{OWN}._certificate_proofs").proof(certificate))


def module_of(certificate: Certificate) -> str:
    """The module of a certificate's proof, in letters, digits and _ alone."""
    return "certificate_" + re.sub(r"\W", "_", certificate.name, flags=re.ASCII)


def _statement(certificate: Certificate) -> str:
    """The proposition ``statement``: where the constraints hold, so does the inequality."""
    rows, of = rows_of(certificate), _arithmetic(certificate)
    forms = zip(map(flat, rows.constraints), rows.used, strict=True)
    lines = [f"  {of.row(form)} (* {label} *)" for form, (label, _) in forms]
    return (
        f"{stated.header(certificate)}(* v: {', '.join(rows.model.basis)}; f: {', '.join(rows.model.scalars)}. *)\n"
        f"Definition constraints : {of.types[0]} := [\n" + ";\n".join(lines) + "]%Z.\n"
        f"Definition claim : {of.types[1]} := {of.row(flat(rows.claim))}%Z. (* right side less left side *)\n\n"
        f"Definition statement :=\n  forall {of.parameter}(V : Space) (v : list V) (f : list R),"
        f"{of.within}length v = {len(rows.model.basis)}%nat ->\n"
        f"  Forall ({of.holds} v f) constraints -> {of.holds} v f claim.\n"
    )


def _proof(certificate: Certificate) -> str:
    """The theorem ``proof`` of the statement."""
    rows, of = rows_of(certificate), _arithmetic(certificate)
    weights = [value * of.share(flat(form)) for form, (_, value) in zip(rows.constraints, rows.used, strict=True)]
    factor, multipliers, squares, roots = of.summed(rows.rest, of.share(flat(rows.claim)), weights)
    return (
        f"Theorem proof : statement.\nProof.\n  intros {of.names} n.\n"
        f"  apply ({of.lemma} {factor}%Z claim\n    {multipliers}%Z constraints {squares}%Z\n"
        f"    {roots}%Z){of.sides}.\n  rewrite n. vm_compute. reflexivity.\nQed.\n"
    )
