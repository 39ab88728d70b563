"""Five more true theorems, by a reader of the documentation only."""

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

step = 1 / (4 * L)
FLOOR = Claim(
    key="noise-floor",
    title="A constant step ends at a floor",
    source="a textbook's sum, with local steps",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": (1 - step * mu) ** (2 * T) * Delta_0,
        "drift": (1 - step * mu) * step**2 * (L - mu) * (tau - 1) ** 2 * G_sq / (2 * mu * (2 - step * mu)),
        "noise": step * sigma_p_sq / (mu * (2 - step * mu)),
    },
    assumptions=FEDAVG,
    eta=step,
)
RATE = Claim(
    key="sharp-rate",
    title="FedAvg at rate 1/T, with neither Gamma nor a large constant",
    source="own",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "bound": sp.Max(gamma * Delta_0, 2 * (sigma_p_sq + (tau - 1) ** 2 * G_sq) / mu**2) / (gamma + T),
    },
    assumptions=FEDAVG,
    definitions={gamma: sp.Max(4 * L / mu, tau)},
    eta=2 / (mu * (gamma + t)),
)
DRIFT = Claim(
    key="identical-drift",
    title="On identical data only noise drives the local models apart",
    source="after Stich 2019 and Khaled et al. 2020",
    scope="step",
    lhs=drift,
    terms={"drift": (1 - sp.Integer(1) / N) * (tau - 1) * eta_ratio**2 * eta**2 * sigma_sq},
    assumptions=(*CONVEX, a.full_participation, a.unbiased, a.equal_p, a.identical, a.steps_up_to_2_over_L_plus_mu),
)
SHARED = Claim(
    key="shared-minimiser",
    title="One step under any weights and any participation, where the minimisers coincide",
    source="own",
    scope="step",
    lhs=Delta_next,
    terms={"contraction": (1 - eta * mu) ** 2 * (Delta + drift), "noise": eta**2 * sigma_sq},
    assumptions=(*CONVEX, a.homogeneous, a.steps_up_to_2_over_L_plus_mu),
)
NOISE = step * sigma_sq / (mu * (2 - step * mu))
SPEED_UP = Claim(
    key="speed-up",
    title="Identical data, m of N clients a round: the noise of their mean, and of their drift",
    source="own",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": (1 - step * mu) ** (2 * T) * Delta_0,
        "noise": NOISE / m,
        "drift": NOISE * (1 - step * mu) * step * (L - mu) / 2 * (1 - 1 / m) * (tau - 1),
    },
    assumptions=(*CONVEX, a.identical, a.equal_selection),
    eta=step,
)
CLAIMS = (FLOOR, RATE, DRIFT, SHARED, SPEED_UP)
