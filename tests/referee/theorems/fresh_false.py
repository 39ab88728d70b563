"""Five more theorems that are false by one slip each; `INSTANCES` show it in fractions, found by hand."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_T,
    G_sq,
    L,
    N,
    T,
    drift,
    eta,
    eta_ratio,
    gamma,
    m,
    mu,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
)

CONVEX = (a.smooth, a.strongly_convex, a.bounded_variance)
FEDAVG = (*CONVEX, a.bounded_gradient, a.full_participation, a.unbiased)

# Who takes part is drawn once a round: what it adds grows with the square of the steps since.
SELECTION = Claim(
    key="selection-per-step",
    title="One step with m of N clients",
    source="a draft",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu) ** 2 * Delta,
        "drift": (1 - eta * mu) * eta * (L - mu) / 2 * drift,
        "noise": eta**2 * sigma_sq / m,
        "selection": eta**2 * (N - m) / (N - 1) / m * G_sq,
    },
    assumptions=(*CONVEX, a.bounded_gradient, a.equal_selection, a.equal_p, a.steps_up_to_2_over_L_plus_mu),
)
# The sum of (1 - eta mu)^(2k) is 1/(eta mu (2 - eta mu)), not 1/(2 eta mu).
step = 1 / (4 * L)
FLOOR = Claim(
    key="half-floor",
    title="A constant step ends at a floor",
    source="a draft",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": (1 - step * mu) ** (2 * T) * Delta_0,
        "drift": (1 - step * mu) * step**2 * (L - mu) * (tau - 1) ** 2 * G_sq / (2 * mu * (2 - step * mu)),
        "noise": step * sigma_p_sq / (2 * mu),
    },
    assumptions=FEDAVG,
    eta=step,
)
# T Delta_T tends to 4/3 sigma^2/mu^2, and is above it on the way.
RATE = Claim(
    key="limit-for-bound",
    title="FedAvg at rate 1/T with the constant of the limit",
    source="a draft",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "bound": sp.Max(gamma * Delta_0, sp.Rational(4, 3) * (sigma_p_sq + (tau - 1) ** 2 * G_sq) / mu**2)
        / (gamma + T),
    },
    assumptions=FEDAVG,
    definitions={gamma: sp.Max(8 * L / mu, tau)},
    eta=2 / (mu * (gamma + t)),
)
RATIO = Claim(
    key="ratio-not-squared",
    title="Drift where steps shrink inside a round",
    source="a draft",
    scope="step",
    lhs=drift,
    terms={"drift": (tau - 1) ** 2 * eta_ratio * eta**2 * G_sq},
    assumptions=(a.bounded_gradient, a.full_participation),
)
# Where the minimisers coincide the clients still contract at different rates, and so drift apart.
SHARED = Claim(
    key="no-drift-at-Gamma-0",
    title="One step of FedAvg where the minimisers coincide",
    source="a draft",
    scope="step",
    lhs=Delta_next,
    terms={"contraction": (1 - eta * mu) ** 2 * Delta, "noise": eta**2 * sigma_sq},
    assumptions=(*CONVEX, a.homogeneous, a.full_participation, a.unbiased, a.steps_up_to_2_over_L_plus_mu),
)
CLAIMS = (SELECTION, FLOOR, RATE, RATIO, SHARED)

ONE = {"curvatures": [1], "minima": [0], "p": [1], "w0": [0], "weighting": "fedavg", "noise": [1]}
TWO = {"curvatures": [1, 1], "p": ["1/2", "1/2"], "w0": [0], "weighting": "fedavg"}
APART = {**TWO, "minima": [1, -1], "tau": 2}
INSTANCES = {
    "selection-per-step": {**APART, "eta": ["1/4"] * 2, "present": 1},
    "half-floor": {**ONE, "eta": ["1/4"] * 4},
    "limit-for-bound": {**ONE, "w0": ["2/5"], "eta": ["1/4"]},
    "ratio-not-squared": {**APART, "eta": ["1/4", "1/100"]},
    "no-drift-at-Gamma-0": {**TWO, "curvatures": [1, 2], "minima": [0, 0], "w0": [1], "eta": ["2/3"] * 2, "tau": 2},
}
