"""Scaffnew's linear rate: Mishchenko, Malinovsky, Stich and Richtarik, ProxSkip, ICML 2022.

The proof stands in `derivations/proofs/mishchenko2022.md`.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import zeta_star_sq

PAPER = "Mishchenko, Malinovsky, Stich and Richtarik, ProxSkip, ICML 2022"
# The probability of a communication is the algorithm's usual one, q = 1/tau.
RATE = sp.Min(eta_0 * mu, 1 / tau**2)

SCAFFNEW = Claim(
    key="mishchenko-2022",
    title="Linear convergence of Scaffnew",
    source=f"{PAPER}, the rate of Scaffnew; the term of the noise is derived here",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": (1 - RATE) ** T * (Delta_0 + eta_0**2 * tau**2 * zeta_star_sq),
        "noise": eta_0**2 * sigma_sq / RATE,
    },
    assumptions=a.LOCAL_SGD,
    eta=sp.Min(eta_0, 1 / L),
    readings=("literal",),
    remark="T counts iterations, of which a round of the package has tau, with probability 1/tau of a communication "
    "after each; w_T is the mean of the local models. The theorem bounds the larger Psi_T.",
    algorithm="scaffnew",
)
CLAIMS = (SCAFFNEW,)
