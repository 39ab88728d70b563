"""One step of SGD over clients: the bound that PEPit's examples call empirically tight, proved, and its tightness.

Let x be the iterate, y = x - w*, i one of N clients at random, s_i = grad F_i(w*). As grad F_i - (L + mu)/2 Id is
(L - mu)/2-Lipschitz, grad F_i(x) = s_i + (L + mu)/2 y + e_i with ||e_i|| <= (L - mu)/2 ||y||, so that the next
iterate less w* is (1 - eta (L + mu)/2) y - eta s_i - eta e_i. The s_i have mean 0, and by Minkowski's inequality

    sqrt E||x_1 - w*||^2 <= sqrt((1 - eta (L + mu)/2)^2 ||y||^2 + eta^2 zeta_*^2) + eta (L - mu)/2 ||y||.

Noise of its own, of mean 0, adds eta^2 sigma^2 to the square. The square is concave in ||y||^2, so that by Jensen's
inequality it also bounds expectations from a random x. PEPit prints it for eta = 1/L and no noise.

It is attained for every N >= 2, eta, L, mu, ||y|| and zeta_*: let the s_i be orthogonal to y, of length zeta_* and
of mean 0, and F_i quadratic with Hessian (L + mu)/2 Id + (L - mu)/2 Q_i, where the reflection Q_i turns y into the
direction of -((1 - eta (L + mu)/2) y - eta s_i). All summands of E||x_1 - w*||^2 are then equal to the bound.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import zeta_star_sq

one_client = Assumption("one-client", "one client takes part in a round", sp.Eq(C * N, 1), found="C N = {left:.4g}")
one_step = Assumption("one-step", "a round is one local step", sp.Eq(tau, 1), found="tau = {tau:g}")

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
    assumptions=(a.smooth, a.strongly_convex, a.bounded_variance, a.equal_p, one_client, one_step),
    readings=("plain",),
    roles=(Role.DERIVED,),
    remark="SGD over clients is FedAvg with one local step and one client a round. The bound is attained for every "
    "step size and N >= 2 (see the module's docstring); PEPit states it for eta = 1/L and without noise.",
)
CLAIMS = (SGD_STEP,)
