"""One round of FedAvg under (G, B) dissimilarity: Karimireddy et al., SCAFFOLD, ICML 2020.

The proof stands in `derivations/proofs/karimireddy2020.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import Delta_round, Delta_round_next, gap_round, zeta_sq

PAPER = "Karimireddy et al., SCAFFOLD, ICML 2020"
B_SQ = 1
short_rounds = Assumption(
    "short-rounds",
    f"tau eta_t L (1 + B^2) <= 1/8 with B^2 = {B_SQ}",
    sp.Le(tau * eta * L * (1 + B_SQ), sp.Rational(1, 8)),
    observed="max_t tau eta_t L (1 + B^2) = {left:.4g}",
)

ROUND = Claim(
    key="karimireddy-2020-round",
    title="One round of FedAvg under (G, B) dissimilarity",
    source=f"derived here, after {PAPER}, FedAvg for strongly convex functions",
    scope="step",
    lhs=Delta_round_next,
    terms={
        "contraction": (1 - tau * eta * mu / 2) * Delta_round,
        "descent": -tau * eta * gap_round,
        "drift": sp.Rational(3, 8) * eta**3 * L * tau * (tau - 1) * (2 * tau - 1) * zeta_sq,
    },
    assumptions=(a.smooth, a.strongly_convex, a.full_gradients, a.full_participation, a.unbiased, short_rounds),
    eta=eta_0,
    readings=("plain",),
    remark="Stated for B^2 = 1. The paper hides its constants in O(.): these are our own "
    "(derivations/proofs/karimireddy2020.md). The step is any constant that is short enough.",
)
CLAIMS = (ROUND,)
