"""Eleven true theorems, as a user would write them down."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import (
    Delta,
    Delta_0,
    Delta_next,
    Delta_T,
    G_sq,
    Gamma,
    L,
    N,
    T,
    drift,
    eta,
    eta_0,
    eta_ratio,
    excess,
    gamma,
    gap,
    gap_t,
    grad_sq,
    mu,
    rho_bar,
    rho_tilde,
    sigma_p_sq,
    sigma_sq,
    t,
    tau,
)

one_step = Assumption("one-step", "a round has one local step", sp.Eq(tau, 1))
EVERYONE = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation)
FEDAVG = (*EVERYONE, a.unbiased)
IDENTICAL = (*FEDAVG, a.equal_p, a.identical)

GRADIENT_DESCENT = Claim(
    key="gradient-descent",
    title="Gradient descent at 2/(L + mu)",
    source="textbook",
    scope="step",
    lhs=Delta_next,
    terms={"contraction": ((L - mu) / (L + mu)) ** 2 * Delta, "noise": eta**2 * sigma_sq},
    assumptions=(*FEDAVG, one_step),
    eta=2 / (L + mu),
)
DRIFT = Claim(
    key="drift-tight",
    title="Drift of the local models under a constant step",
    source="folklore",
    scope="step",
    lhs=drift,
    terms={"drift": (tau - 1) ** 2 * eta**2 * G_sq},
    assumptions=(a.bounded_gradient, a.full_participation, a.equal_steps),
)
SCALE = L / mu / (gamma + T)
LI = Claim(
    key="li",
    title="FedAvg on non-IID data",
    source="Li et al. 2020",
    scope="horizon",
    lhs=gap,
    terms={
        "noise": SCALE * 2 / mu * sigma_p_sq,
        "heterogeneity": SCALE * 12 * L / mu * Gamma,
        "drift": SCALE * 16 / mu * (tau - 1) ** 2 * G_sq,
        "start": SCALE * mu * gamma / 2 * Delta_0,
    },
    assumptions=(*FEDAVG, a.bounded_gradient),
    definitions={gamma: sp.Max(8 * L / mu, tau)},
    eta=2 / (mu * (gamma + t)),
)
STICH = Claim(
    key="stich",
    title="One step of local SGD on identical data",
    source="Stich 2019",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu) * Delta,
        "descent": -eta / sp.Integer(2) * gap_t,
        "noise": eta**2 * sigma_sq / N,
        "drift": 2 * eta * L * drift,
    },
    assumptions=(*IDENTICAL, a.quarter_steps),
)
KHALED = Claim(
    key="khaled",
    title="Local SGD on identical data, constant step",
    source="Khaled et al. 2020",
    scope="horizon",
    lhs=Delta_T,
    terms={
        "start": (1 - eta_0 * mu) ** T * Delta_0,
        "noise": eta_0 * sigma_sq / (mu * N),
        "drift": 2 * L * eta_0**2 * (tau - 1) * sigma_sq / mu,
    },
    assumptions=IDENTICAL,
    eta=sp.Min(eta_0, 1 / (4 * L)),
)
SMOOTH = Claim(
    key="smooth",
    title="A smooth function's gradient",
    source="textbook",
    scope="point",
    lhs=grad_sq,
    terms={"gap": 2 * L * excess},
    assumptions=(a.smooth,),
)
SKEWED = Claim(
    key="skewed-step",
    title="One step under any weights",
    source="after Cho et al. 2020",
    scope="step",
    lhs=Delta_next,
    terms={
        "contraction": (1 - eta * mu * (1 + rho_bar)) * Delta,
        "gradients": eta**2 * G_sq,
        "drift": eta * (L - mu) * drift,
        "bias": 2 * eta * Gamma * (rho_tilde - rho_bar),
    },
    assumptions=(*EVERYONE, a.bounded_gradient),
)
STEP = {"contraction": (1 - eta * mu) ** 2 * Delta, "drift": (1 - eta * mu) * eta * (L - mu) / 2 * drift}
LOCAL_STEP = Claim(
    key="local-step",
    title="One step of FedAvg",
    source="own",
    scope="step",
    lhs=Delta_next,
    terms={**STEP, "noise": eta**2 * sigma_sq},
    assumptions=(*FEDAVG, a.steps_up_to_2_over_L_plus_mu),
)
SHARED_NOISE = Claim(
    key="shared-noise",
    title="One step of FedAvg, the noise of unequal clients averaged",
    source="own",
    scope="step",
    lhs=Delta_next,
    terms={**STEP, "noise": eta**2 * sigma_p_sq},
    assumptions=(*FEDAVG, a.steps_up_to_2_over_L_plus_mu),
)
DISTANCE = Claim(
    key="distance-by-gap",
    title="The gap bounds the distance",
    source="textbook",
    scope="horizon",
    lhs=Delta_T,
    terms={"gap": 2 / mu * gap},
    assumptions=(a.strongly_convex,),
)
NOISY_DRIFT = Claim(
    key="identical-drift",
    title="On identical data only noise drives the local models apart",
    source="after Stich 2019 and Khaled et al. 2020",
    scope="step",
    lhs=drift,
    terms={"drift": (1 - sp.Integer(1) / N) * (tau - 1) * eta_ratio**2 * eta**2 * sigma_sq},
    assumptions=(*IDENTICAL, a.steps_up_to_2_over_L_plus_mu),
)
CLAIMS = (GRADIENT_DESCENT, DRIFT, LI, STICH, KHALED, SMOOTH, SKEWED, LOCAL_STEP, SHARED_NOISE, DISTANCE, NOISY_DRIFT)
