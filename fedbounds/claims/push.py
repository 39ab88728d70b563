"""Rounds of FedAvg at a constant step of at most 1/L, by contraction and by the exact push of a round.

**Gradient descent on one function.** Let F be mu-strongly convex and L-smooth, eta L <= 1, r = 1 - eta L and q = 1
- eta mu, x_0 = 0, s = grad F(0) and x_{k+1} = x_k - eta grad F(x_k). With A_k = 1 + q + ... + q^(k-1) and B_k
likewise of r, x_tau lies in the ball of which -eta A_tau s and -eta B_tau s are opposite points, as it does for
quadratics:

    <x_tau + eta A_tau s, x_tau + eta B_tau s> <= 0.

Write v = -eta s, K = q - r (K = 0 is clear) and x_{k+1} = v + r x_k + c_k. Then c_k = grad h(x_k), where h(x) =
(eta L/2) ||x||^2 - eta (F(x) - F(0) - <s, x>) is convex and K-smooth, with h(0) = 0 and grad h(0) = 0. For 1 <= k
<= n = tau - 1 such an h has

    h_{k+1} - h_k - <c_k, x_{k+1} - x_k> - ||c_{k+1} - c_k||^2/(2K) >= 0      times lambda_k, k < n,
    h_k - ||c_k||^2/(2K) >= 0                                                 times a_k,
    <c_k, x_k> - h_k - ||c_k||^2/(2K) >= 0                                    times b_k,

and with E = A_tau - B_tau, g_m = (q^m - r^m)/(q - r), lambda_0 = lambda_n = 0 and otherwise

    lambda_k = E g_{n-k} (A_{k+1} - B_{k+1})/(A_k B_{k+1}),   b_k = (E r^(n-k) + r^k lambda_k)/B_k,
    a_k = b_k + lambda_k - lambda_{k-1}

none is negative. For a_k, k > 1, B_k a_k/E is r^(n-k) (1 - q + r B_{k-1}/A_{k-1}) + g_{n-k} f(r)/A_k, where f(r) =
q (1 - q^k) + (q A_k/A_{k-1} - 1) (r + ... + r^(k-1)) - r^k has one change of sign among its coefficients in r, so
that q is its only positive root and f >= 0 below it; a_1 = E q^(n-1).

Subtract the sum of these inequalities from -<x_tau - A_tau v, x_tau - B_tau v>. All h_k cancel by the choice of a_k
and all <v, c_k> by that of b_k, as x_k = B_k v + sum_{j<k} r^(k-1-j) c_j. What is left is a quadratic form S in c_1
.. c_n alone, and no entry of S off the diagonal is positive. It vanishes on A = (A_1, .., A_n): row k of S A = 0
reads lambda_{k-1} A_{k-1} = lambda_k A_{k+1} + beta_k (A_k - B_k) - R_k, beta_k = (lambda_k + E r^(n-k))/B_k, where
R_n = 0 and R_{k-1} = K A_k beta_k + r R_k; and R_k = E K g_{n-k} A_{k+1}/B_{k+1} solves both. As every A_k is
positive, S scaled by A has rows that its diagonal dominates: S is positive semidefinite.

**A round.** The sum of all s_i p_i is 0. So the mean of the local models is sum_i p_i (x_i + eta (A + B)/2 s_i), of
a norm of at most b_tau sum_i p_i ||s_i|| <= b_tau zeta_*, b_tau = eta (A_tau - B_tau)/2. Two quadratics on the
line, of curvatures mu and L and with equal weights, come so far; where no p_i exceeds 1/2 unit vectors s_i with
sum_i p_i s_i = 0 exist, and quadratics that reach any point of their spheres. Where one, m, does, sum_i p_i ||s_i||
<= 2 sqrt(m (1 - m)) zeta_*, as p_1 ||s_1|| is at most the sum of the others. The rest is as for
`fedavg-contraction`; b_k/(1 - q^k) grows with k since B_k/A_k falls.
"""

from dataclasses import replace

from fedbounds.claims.rounds import CONDITIONS, CONTRACTION, KEPT
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

PUSHED: Claim = replace(
    CONTRACTION,
    key="fedavg-push",
    title="Rounds of FedAvg at a step of at most 1/L, by the exact push of a round",
    source="This package (proof in fedbounds/claims/push.py)",
    assumptions=(*CONDITIONS, a.full_gradients, a.small_steps),
    definitions={push: ((1 - KEPT**tau) / mu - (1 - (1 - eta_0 * L) ** tau) / L) / 2},
    remark="One round from w* attains it where no weight exceeds 1/2. It is never above fedavg-contraction: the same "
    "at tau = 2 and, with many local steps and L much larger than mu, a quarter of its drift. The proof is text; its "
    "multipliers and its recursions are tested.",
)
CLAIMS = (PUSHED,)
