"""Local SGD where the clients' gradients differ by at most zeta: Woodworth, Patel and Srebro, NeurIPS 2020.

The proof stands in `derivations/proofs/woodworth2020.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import zeta_sq

PAPER = "Woodworth, Patel and Srebro, Minibatch vs local SGD for heterogeneous distributed learning, NeurIPS 2020"
REMARK = "The printed constants were not to be had: these are our own (derivations/proofs/woodworth2020.md)."


SPREAD = ((tau - 1) * sp.sqrt(zeta_sq) + sp.sqrt((tau - 1) * sigma_sq)) ** 2

DRIFT = Claim(
    key="woodworth-2020-drift",
    title="Drift of local SGD by the distance of the gradients",
    source=f"derived here, after {PAPER}",
    scope="step",
    lhs=drift,
    terms={"drift": (eta * eta_ratio) ** 2 * SPREAD},
    assumptions=(*a.LOCAL_SGD, a.small_steps),
    readings=("plain",),
    remark=REMARK,
)
BOUND = Claim(
    key="woodworth-2020",
    title="Local SGD by the distance of the gradients, constant step",
    source=f"derived here, after {PAPER}, strongly convex case",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": (1 - eta_0 * mu) ** T * Delta_0,
        "noise": eta_0 * sigma_p_sq / mu,
        "drift": sp.Rational(3, 2) * L / mu * eta_0**2 * SPREAD,
    },
    assumptions=a.LOCAL_SGD,
    eta=sp.Min(eta_0, 1 / (4 * L)),
    readings=("plain",),
    remark=f"The step is any constant up to 1/(4L). {REMARK} With zeta = 0 it is the homogeneous case.",
)
CLAIMS = (DRIFT, BOUND)
