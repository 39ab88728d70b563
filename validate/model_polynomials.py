"""The one-step model of `fedbounds.evidence.sdp` as polynomials, for the second checker to compare.

    python -m validate.model_polynomials < SETTINGS

Reads settings of certificates, one JSON object a line; prints for each {label: [[coefficient, name, ..], ..]}. Two names
are an inner product and one is a function value or a bound.
"""

import json
import sys

from fedbounds.evidence.sdp.expressions import exact
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import build

# The quantities that a certificate's two sides are made of.
QUANTITIES = (
    "Delta", "Delta_next", "Delta_start", "drift", "Gamma", "Gamma_alpha", "G_sq", "sigma_sq", "star_grad_sq",
    "grad_sq", "excess", "local_excess", "local_gap", "local_pull", "pull", "mean_slope_sq",
)  # fmt: skip


def polynomials(setting):
    """Label or quantity -> its terms."""
    model = build(setting, exact)
    rows = {label: (quad, lin) for label, quad, lin in zip(model.labels, model.quad, model.lin, strict=True)}
    rows |= {name: (model.forms[name].quad, model.forms[name].lin) for name in QUANTITIES}
    return {label: _terms(model, quad, lin) for label, (quad, lin) in rows.items()}


def _terms(model, quad, lin):
    n = range(len(model.basis))
    squares = [(quad[i, j], model.basis[i], model.basis[j]) for i in n for j in n]
    values = zip(lin, model.scalars, strict=True)
    return [[str(number), *names] for number, *names in (*squares, *values) if number != 0]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(polynomials(Setting.from_json(json.loads(line)))))
