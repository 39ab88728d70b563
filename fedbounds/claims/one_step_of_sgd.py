"""One step of SGD over clients: the bound that PEPit's examples call empirically tight, proved, and its tightness.

The proof stands in `derivations/proofs/pepit.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import zeta_star_sq

one_present = Assumption(
    "one-client-a-round", "one client takes part in a round", sp.Eq(C * N, 1), observed="C N = {left:.4g}"
)

MIDDLE, HALF = (L + mu) / 2, (L - mu) / 2
SGD_STEP = Claim(
    key="pepit-sgd-step",
    title="One step of SGD over clients",
    source="Taylor, Hendrickx and Glineur, PESTO, CDC 2017, as printed for eta = 1/L in PEPit's example sgd",
    scope="step",
    lhs=Delta_next,
    terms={
        "step": (eta * HALF * sp.sqrt(Delta) + sp.sqrt((1 - eta * MIDDLE) ** 2 * Delta + eta**2 * zeta_star_sq)) ** 2,
        "variance": eta**2 * sigma_sq,
    },
    assumptions=(a.smooth, a.strongly_convex, a.bounded_variance, a.equal_p, one_present, a.one_local_step),
    readings=("plain",),
    remark="SGD over clients is FedAvg with one local step and one client a round. The bound is attained for every "
    "step size and N >= 2 (derivations/proofs/pepit.md); PEPit states it for eta = 1/L and without noise.",
)
CLAIMS = (SGD_STEP,)
