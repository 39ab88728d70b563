"""A certificate in coordinates, of one setting or over an interval: what it uses, what it claims, what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedbounds.errors import reject
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.program import Model, build
from fedbounds.evidence.sdp.program import Form, exact


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
