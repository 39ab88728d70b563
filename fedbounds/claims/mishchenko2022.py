"""Scaffnew's linear rate: Mishchenko, Malinovsky, Stich and Richtarik, ProxSkip, ICML 2022.

With h_i^* = grad F_i(w*), x_i the local models and q the probability of a communication, the theorem is about

    Psi_t = sum_i p_i ||x_i - w*||^2 + (eta/q)^2 sum_i p_i ||h_i - h_i^*||^2.

Put u_i = (x_i - eta g_i) - (w* - eta h_i^*) and v_i = h_i - h_i^*. As eta <= 1/L,

    E||u_i||^2 <= (1 - eta mu) ||x_i - w*||^2 + eta^2 sigma^2.

An iteration takes y_i = x_i - eta (g_i - h_i), so that y_i - w* = u_i + eta v_i. Without a communication x_i is y_i,
and h_i stays. With one, x_i becomes the mean of z_i = y_i - (eta/q) h_i, and h_i grows by (q/eta) (x_i - y_i): then
(eta/q) h_i is the mean less z_i. A mean and what it leaves are orthogonal, and w*, h_i^* is a fixed point: the new
Psi is sum_i p_i ||u_i - (eta/q) (1 - q) v_i||^2. In expectation over the coin the products of u_i and v_i cancel:

    E Psi_{t+1} = sum_i p_i [E||u_i||^2 + (1 - q^2) (eta/q)^2 ||v_i||^2]
               <= (1 - min(eta mu, q^2)) Psi_t + eta^2 sigma^2.

The paper's clients have equal weights; any p will do. As h_i = 0 at first, Psi_0 is the bracket below, and
||w_T - w*||^2 <= Psi_T for the mean w_T of the x_i.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Role
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
    roles=(Role.DERIVED,),
    remark="T counts iterations, of which a round of the package has tau, with probability 1/tau of a communication "
    "after each; w_T is the mean of the local models. The theorem bounds the larger Psi_T.",
    algorithm="scaffnew",
)
CLAIMS = (SCAFFNEW,)
