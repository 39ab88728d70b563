"""The one-step model of `fedbounds.evidence.sdp` as polynomials, for the second checker to compare.

    python -m validate.model_polynomials < SETTINGS

Reads settings of certificates, one JSON object a line; prints for each {label: [[coefficient, name, ..], ..]}. Two
names are an inner product and one is a function value or a bound.
"""

import json
import sys

from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.program import build
from fedbounds.evidence.sdp.program import exact

# The quantities that a certificate's two sides are made of.
QUANTITIES = (
    "Delta", "Delta_next", "Delta_start", "drift", "Gamma", "Gamma_alpha", "G_sq", "sigma_sq", "star_grad_sq",
    "grad_sq", "excess", "local_excess", "local_gap", "local_pull", "pull", "mean_slope_sq", "gap", "Delta_0",
)  # fmt: skip


def polynomials(setting, build=build):
    """Label or quantity -> its terms, in the model that ``build`` makes."""
    model = build(setting, exact)
    rows = {constraint.label: constraint.expression for constraint in model.constraints}
    rows |= {name: model[name] for name in QUANTITIES if name in model.quantities}
    return {
        label: [[str(number), *map(str, symbols)] for symbols, number in expression.terms.items()]
        for label, expression in rows.items()
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(polynomials(Setting.from_json(json.loads(line)))))
