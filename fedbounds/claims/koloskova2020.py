"""One step of local SGD on different data: Koloskova, Loizou, Boreiri, Jaggi and Stich, ICML 2020.

The proof stands in `derivations/proofs/koloskova2020.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

PAPER = "Koloskova et al., A unified theory of decentralized SGD, ICML 2020"
STEP = Claim(
    key="koloskova-2020-step",
    title="One step of local SGD on different data",
    source=f"derived here, after {PAPER}, descent lemma for convex functions",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu) * Delta,
        "descent": -eta * gap_t,
        "drift": sp.Rational(3, 2) * eta * L * drift,
        "variance": eta**2 * sigma_p_sq,
    },
    assumptions=(*a.LOCAL_SGD, a.quarter_steps),
    readings=("plain",),
    remark="The printed lemma was not to be had: the constants are our own (derivation koloskova-2020-step). With "
    "mu = 0 and full gradients they are those of Khaled, Mishchenko and Richtarik 2019, Lemma 1.",
)
CLAIMS = (STEP,)
