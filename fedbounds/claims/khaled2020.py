"""Local SGD with a constant step: Khaled, Mishchenko and Richtarik, Tighter theory for local SGD, AISTATS 2020.

The proof stands in `derivations/proofs/khaled2020.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

PAPER = "Khaled, Mishchenko and Richtarik, Tighter theory for local SGD, AISTATS 2020"
START = (1 - eta_0 * mu) ** T * Delta_0

IDENTICAL = Claim(
    key="khaled-2020",
    title="Local SGD on identical data, constant step",
    source=f"{PAPER}, strongly convex case, identical data",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": START,
        "noise": eta_0 * sigma_sq / (mu * N),
        "drift": 2 * L * eta_0**2 * (tau - 1) * sigma_sq / mu,
    },
    assumptions=(*a.LOCAL_SGD, a.equal_p, a.identical),
    eta=sp.Min(eta_0, 1 / (4 * L)),
    readings=("literal",),
    remark="The step is any constant up to 1/(4L). The constants were re-derived (derivations/proofs/khaled2020.md), "
    "not compared with the printed theorem.",
)

AT_OPTIMUM = Claim(
    key="khaled-2020-opt",
    title="Local SGD on different data, moments at the optimum only",
    source=f"after {PAPER}, heterogeneous data; derived in this package",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": START,
        "noise": 2 * eta_0 * sigma_opt_sq / mu,
        "drift": sp.Rational(11, 2) * eta_0**2 * L_sample * (tau - 1) ** 2 * sigma_dif_sq / mu,
    },
    assumptions=(a.smooth, a.strongly_convex, a.sample_smooth, a.full_participation, a.unbiased),
    eta=sp.Min(eta_0, 1 / (8 * L_sample * sp.Max(1, tau - 1))),
    readings=("literal",),
    remark="The paper bounds F at an averaged iterate with the same sigma_dif^2; this is the last iterate, with "
    "constants of our own (derivations/proofs/khaled2020.md). The step is any constant up to the one shown.",
)
CLAIMS = (IDENTICAL, AT_OPTIMUM)
