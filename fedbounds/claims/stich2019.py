"""Local SGD on one function: Stich, Local SGD converges fast and communicates little, ICLR 2019.

The proof stands in `derivations/proofs/stich2019.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

PAPER = "Stich, Local SGD converges fast and communicates little, ICLR 2019"
REMARK = "The constants were re-derived (derivations/proofs/stich2019.md), not compared with the printed lemma."

STEP = Claim(
    key="stich-2019-step",
    title="One step of local SGD on identical data",
    source=f"{PAPER}, one-step lemma with the variance of a mean of N",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu) * Delta,
        "variance": eta**2 * sigma_sq / N,
        "descent": -eta / sp.Integer(2) * gap_t,
        "drift": 2 * eta * L * drift,
    },
    assumptions=(*a.LOCAL_SGD, a.equal_p, a.identical, a.quarter_steps),
    readings=("literal",),
    remark=REMARK,
)
DRIFT = Claim(
    key="stich-2019-drift",
    title="Drift of local SGD",
    source=f"{PAPER}, lemma on the deviation of the local models",
    scope="step",
    lhs=drift,
    terms={"drift": 4 * eta**2 * tau**2 * G_sq},
    assumptions=(a.bounded_gradient, a.full_participation, a.unbiased, a.halving),
    readings=("literal",),
    remark=REMARK + " Identical clients are not needed for it.",
)
CLAIMS = (STEP, DRIFT)
