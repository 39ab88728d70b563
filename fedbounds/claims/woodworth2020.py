"""Local SGD where the clients' gradients differ by at most zeta: Woodworth, Patel and Srebro, NeurIPS 2020.

Drift, with V_k = sum_i p_i ||x_i - w||^2 after k steps of a round, w the mean of the x_i. A step of F_i brings no two
points further apart if eta <= 2/L, so ||x_i - w - eta (grad F_i(x_i) - grad F_i(w))|| <= ||x_i - w||. What is left of
the step is eta grad F_i(w), whose distance from its mean over clients is zeta at most, and to take off the mean makes
no sum of squares larger: without noise sqrt V_{k+1} <= sqrt V_k + eta zeta (Minkowski); noise adds eta^2 sigma^2 to
E V_{k+1} at most. With v_k^2 = E V_k that is v_{k+1}^2 <= (v_k + eta zeta)^2 + eta^2 sigma^2, from which by induction
v_k <= eta (k zeta + sqrt(k) sigma), and k <= tau - 1.

Bound: this drift in the step of `koloskova-2020-step` without its descent, summed over t.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import zeta_sq

PAPER = "Woodworth, Patel and Srebro, Minibatch vs local SGD for heterogeneous distributed learning, NeurIPS 2020"
REMARK = "The printed constants were not to be had: these are our own (derivation in the module's docstring)."


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
    roles=(Role.DERIVED,),
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
    roles=(Role.DERIVED,),
    remark=f"The step is any constant up to 1/(4L). {REMARK} With zeta = 0 it is the homogeneous case.",
)
CLAIMS = (DRIFT, BOUND)
