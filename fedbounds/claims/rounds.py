"""Whole rounds of FedAvg with a constant step: bounds that need no G and no Gamma, only zeta_*^2.

zeta_*^2 = sum_i p_i ||grad F_i(w*)||^2, which is sigma_dif^2 where gradients are full. Put w* = 0, s_i = grad F_i(0),
q = 1 - eta mu, K = L - mu, and c_i = grad F_i(x_i) - s_i - mu x_i, for which ||c_i||^2 <= K <c_i, x_i>. A step is
x_i <- q x_i - eta (c_i + s_i); m is the mean of the x_i, d_i = x_i - m, c the mean of the c_i and v_i = c_i - c.

`fedavg-rounds`. The sum of the inequalities is <c, m> + sum_i p_i <v_i, d_i> >= (||c||^2 + sum_i p_i ||v_i||^2)/K,
and with eta (L + mu) <= 2 what is left of c is not positive:

    ||m'||^2 <= q^2 ||m||^2 + 2 eta q sum_i p_i (<v_i, d_i> - ||v_i||^2/K),      d_i' = q d_i - eta (v_i + s_i).

So a round of n steps, after which the d_i are 0 again, adds at most E_n zeta_*^2, the value of a control problem in
the v_i that is linear-quadratic. With a = (2 - eta (L + mu))/(eta K) and j steps to go its value is sum_i p_i q^2j
(||d_i||^2 j/(a + j) - 2 beta_j <s_i, d_i>) + E_j zeta_*^2, by induction on j, where

    (a + j) beta_j = ((a + j - 1) beta_{j-1} + eta (j - 1))/q,
    E_n = eta^2/(a (a + n)) sum_{0 < i, k < n} q^(i + k) min(i, k) (a + n - max(i, k)).

E_{j+1} - E_j = q^2j max_y (y^2 j/(a + j) + 2 beta_j y - (1 + a)(y - eta)^2), and that maximum grows with j as j/(a +
j) and beta_j do (the latter since q^x >= 1 - (1 - q) x): so E_n over S_n = 1 + q^2 + ... + q^2(n-1) grows with n, and
after T steps, whole rounds or not, Delta_T <= q^2T Delta_0 + zeta_*^2 S_T E_tau/S_tau.

For a formula without the double sum, 2 q^(i + k) <= q^2i + q^2k leaves sum_i q^2i h_i with h_i = (i/2)(tau (tau - i)
+ a (2 tau - 1 - i)); by Abel's summation, as q^2i falls, that is at most S_tau times the largest mean of h_0 ..
h_{n-1} over n <= tau. With y + 1 the n at which that parabola is largest, the best n <= tau gives (tau + a)/6 times
y^2 - max(0, y + 1 - tau)^2. The claim's h is 1/a, finite at L = mu.

Noise enters a step linearly: eta^2 q^2j times its mean's variance and j/(a + j) of its deviations', j < tau steps
before the round's end.

`fedavg-contraction`. Two runs of tau steps of client i end ||T^tau x - T^tau y|| <= q^tau ||x - y|| apart. Those from
w* end in the mean within b_tau zeta_* of w*: a step x <- x - eta grad F_i(x) from 0 adds a vector of the ball about
(1 - eta (L + mu)/2) x of radius (eta K/2) ||x|| to -eta s_i, whose mean vanishes, and ||x|| <= ||s_i|| (1 - q^k)/mu.
So b_{k+1} = (1 - eta (L + mu)/2) b_k + (eta K/2)(1 - q^k)/mu, and b_k/(1 - q^k) grows with k; sum the rounds.

`fedavg-two-steps`. With a = 1 - eta (L + mu)/2 and b = eta K/2 a step is x_i <- a x_i + b y_i - eta s_i, and the mean
of ||y_i||^2 <= ||x_i||^2 is all that is used. Let X = ||m|| at the round's start, where the d_i are 0, and Z = eta
zeta_*. The first step leaves the mean a X + b X cos(v) long at the most, and the root mean square of the d_i is then
Z + b X sin(v), for some angle v. The second adds b times the root of the sum of their squares to a times the first:

    ||m'|| <= max_v a (a X + b X cos(v)) + b sqrt((a X + b X cos(v))^2 + (Z + b X sin(v))^2)
            = max_u b X sqrt(a^2 + b^2 + 2 a b cos(u)) + a X (a + b cos(u)) + b Z sin(u).

Two clients whose runs are mirror images in the plane attain it. Their points are at the angles 0 and w >= v from the
mean's axis and their y at v and 0 (at the best v that is the angle of (a, 0) + b e(w), so v <= w): so interpolation
asks for sin(w/2) cos(v/2) sin((w - v)/2) >= 0 and sin(v/2) cos(w/2) sin((w - v)/2) >= 0, and there are functions. The
claim has (q^2 + a^2 + b^2 + 2 a b cos(u))/(2 q) for the root in u, no smaller, and then the maximum is explicit. As
the square of a sum of roots it is concave in X^2 and zeta_*^2, so by Jensen means may be put in.
"""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import Delta_round, Delta_round_next, zeta_star_sq

SOURCE = "This package (proof in fedbounds/claims/rounds.py)"
KEPT = 1 - eta_0 * mu
# S_T = sum_{t < T} q^2t.
SUMMED = (1 - KEPT ** (2 * T)) / (eta_0 * mu * (2 - eta_0 * mu))
RATIO = eta_0 * (L - mu) / (2 - eta_0 * (L + mu))
TOP = (3 * tau - 1 + 3 * (tau - 1) / (1 + tau * RATIO)) / 4
SHARE = (tau - 1) * turn / (1 + (tau - 1) * turn)
CONDITIONS = (a.smooth, a.strongly_convex, a.full_participation, a.unbiased)

ROUNDS = Claim(
    key="fedavg-rounds",
    title="Rounds of FedAvg at a constant step, by a control problem",
    source=SOURCE,
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": KEPT ** (2 * T) * Delta_0,
        "drift": SUMMED * eta_0**2 * sigma_dif_sq * turn * (reach**2 - sp.Max(0, reach + 1 - tau) ** 2) / 6,
        "noise": SUMMED * eta_0**2 * (sigma_p_sq + SHARE * (sigma_sq - sigma_p_sq)),
    },
    assumptions=(*CONDITIONS, a.bounded_variance, a.below_monotone_steps),
    definitions={turn: RATIO, reach: TOP},
    eta=eta_0,
    readings=("literal",),
    roles=(Role.DERIVED,),
    remark="At tau = 1 it is the exact rate of gradient descent, and the noise is that of the mean alone. Of the "
    "proof one step is checked by machine (derivations rounds-step and rounds-control), not the sums over it.",
)
HALF = 1 - eta_0 * (L + mu) / 2
PUSH = ((L - mu) / (L + mu) * (1 - HALF**tau) - KEPT**tau + HALF**tau) / mu
# What is pushed in T steps, in whole rounds.
REACH = push * (1 - KEPT**T) / (1 - KEPT**tau)
CONTRACTION = Claim(
    key="fedavg-contraction",
    title="Rounds of FedAvg at a constant step, by contraction",
    source=SOURCE,
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": KEPT ** (2 * T) * Delta_0,
        "cross": 2 * KEPT**T * REACH * sp.sqrt(Delta_0 * sigma_dif_sq),
        "drift": REACH**2 * sigma_dif_sq,
    },
    assumptions=(*CONDITIONS, a.full_gradients, a.monotone_steps),
    definitions={push: PUSH},
    eta=eta_0,
    readings=("literal",),
    roles=(Role.DERIVED,),
    remark="Smaller than fedavg-rounds where tau eta mu is large; the square of a sum of distances. Of the proof the "
    "two facts on a local step are checked by machine (derivation rounds-push), not the sums over it.",
)
TURNED = eta_0 * (L - mu) / 2
ALONG = HALF**2 + TURNED * (KEPT**2 + HALF**2 + TURNED**2) / (2 * KEPT)
ACROSS = (HALF * (1 + TURNED / KEPT)) ** 2 * Delta_round + eta_0**2 * zeta_star_sq
two_steps = Assumption("two-steps", "tau = 2", sp.Eq(tau, 2), found="tau = {tau:g}")
TWO_STEPS = Claim(
    key="fedavg-two-steps",
    title="A round of two steps of FedAvg",
    source=SOURCE,
    scope="step",
    lhs=Delta_round_next,
    terms={"round": (ALONG * sp.sqrt(Delta_round) + TURNED * sp.sqrt(ACROSS)) ** 2},
    assumptions=(*CONDITIONS, a.full_gradients, a.below_monotone_steps, two_steps),
    eta=eta_0,
    readings=("literal",),
    roles=(Role.DERIVED,),
    remark="Within 1.1% of the exact worst case of a round wherever both were computed.",
)
CLAIMS = (ROUNDS, CONTRACTION, TWO_STEPS)
