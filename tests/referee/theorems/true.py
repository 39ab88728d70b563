"""Eleven true theorems, as a user would write them down."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim

one_step = Assumption("one-step", "a round has one local step", sp.Eq(s.tau, 1))
EVERYONE = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation)
FEDAVG = (*EVERYONE, a.unbiased)
IDENTICAL = (*FEDAVG, a.equal_p, a.identical)

GRADIENT_DESCENT = Claim(
    key="gradient-descent",
    title="Gradient descent at 2/(L + mu)",
    source="textbook",
    scope="step",
    lhs=s.Delta_next,
    terms={"contraction": ((s.L - s.mu) / (s.L + s.mu)) ** 2 * s.Delta, "noise": s.eta**2 * s.sigma_sq},
    assumptions=(*FEDAVG, one_step),
    eta=2 / (s.L + s.mu),
)
DRIFT = Claim(
    key="drift-tight",
    title="Drift of the local models under a constant step",
    source="folklore",
    scope="step",
    lhs=s.drift,
    terms={"drift": (s.tau - 1) ** 2 * s.eta**2 * s.G_sq},
    assumptions=(a.bounded_gradient, a.full_participation, a.equal_steps),
)
SCALE = s.L / s.mu / (s.gamma + s.T)
LI = Claim(
    key="li",
    title="FedAvg on non-IID data",
    source="Li et al. 2020",
    scope="horizon",
    lhs=s.gap,
    terms={
        "noise": SCALE * 2 / s.mu * s.sigma_p_sq,
        "heterogeneity": SCALE * 12 * s.L / s.mu * s.Gamma,
        "drift": SCALE * 16 / s.mu * (s.tau - 1) ** 2 * s.G_sq,
        "start": SCALE * s.mu * s.gamma / 2 * s.Delta_0,
    },
    assumptions=(*FEDAVG, a.bounded_gradient),
    definitions={s.gamma: sp.Max(8 * s.L / s.mu, s.tau)},
    eta=2 / (s.mu * (s.gamma + s.t)),
)
STICH = Claim(
    key="stich",
    title="One step of local SGD on identical data",
    source="Stich 2019",
    scope="step",
    lhs=s.Delta_next,
    terms={
        "contraction": (1 - s.eta * s.mu) * s.Delta,
        "descent": -s.eta / sp.Integer(2) * s.gap_t,
        "noise": s.eta**2 * s.sigma_sq / s.N,
        "drift": 2 * s.eta * s.L * s.drift,
    },
    assumptions=(*IDENTICAL, a.quarter_steps),
)
KHALED = Claim(
    key="khaled",
    title="Local SGD on identical data, constant step",
    source="Khaled et al. 2020",
    scope="horizon",
    lhs=s.Delta_T,
    terms={
        "start": (1 - s.eta_0 * s.mu) ** s.T * s.Delta_0,
        "noise": s.eta_0 * s.sigma_sq / (s.mu * s.N),
        "drift": 2 * s.L * s.eta_0**2 * (s.tau - 1) * s.sigma_sq / s.mu,
    },
    assumptions=IDENTICAL,
    eta=sp.Min(s.eta_0, 1 / (4 * s.L)),
)
SMOOTH = Claim(
    key="smooth",
    title="A smooth function's gradient",
    source="textbook",
    scope="point",
    lhs=s.grad_sq,
    terms={"gap": 2 * s.L * s.excess},
    assumptions=(a.smooth,),
)
SKEWED = Claim(
    key="skewed-step",
    title="One step under any weights",
    source="after Cho et al. 2020",
    scope="step",
    lhs=s.Delta_next,
    terms={
        "contraction": (1 - s.eta * s.mu * (1 + s.rho_bar)) * s.Delta,
        "gradients": s.eta**2 * s.G_sq,
        "drift": s.eta * (s.L - s.mu) * s.drift,
        "bias": 2 * s.eta * s.Gamma * (s.rho_tilde - s.rho_bar),
    },
    assumptions=(*EVERYONE, a.bounded_gradient),
)
STEP = {
    "contraction": (1 - s.eta * s.mu) ** 2 * s.Delta,
    "drift": (1 - s.eta * s.mu) * s.eta * (s.L - s.mu) / 2 * s.drift,
}
LOCAL_STEP = Claim(
    key="local-step",
    title="One step of FedAvg",
    source="own",
    scope="step",
    lhs=s.Delta_next,
    terms={**STEP, "noise": s.eta**2 * s.sigma_sq},
    assumptions=(*FEDAVG, a.steps_up_to_2_over_L_plus_mu),
)
SHARED_NOISE = Claim(
    key="shared-noise",
    title="One step of FedAvg, the noise of unequal clients averaged",
    source="own",
    scope="step",
    lhs=s.Delta_next,
    terms={**STEP, "noise": s.eta**2 * s.sigma_p_sq},
    assumptions=(*FEDAVG, a.steps_up_to_2_over_L_plus_mu),
)
DISTANCE = Claim(
    key="distance-by-gap",
    title="The gap bounds the distance",
    source="textbook",
    scope="horizon",
    lhs=s.Delta_T,
    terms={"gap": 2 / s.mu * s.gap},
    assumptions=(a.strongly_convex,),
)
NOISY_DRIFT = Claim(
    key="identical-drift",
    title="On identical data only noise drives the local models apart",
    source="after Stich 2019 and Khaled et al. 2020",
    scope="step",
    lhs=s.drift,
    terms={"drift": (1 - sp.Integer(1) / s.N) * (s.tau - 1) * s.eta_ratio**2 * s.eta**2 * s.sigma_sq},
    assumptions=(*IDENTICAL, a.steps_up_to_2_over_L_plus_mu),
)
CLAIMS = (GRADIENT_DESCENT, DRIFT, LI, STICH, KHALED, SMOOTH, SKEWED, LOCAL_STEP, SHARED_NOISE, DISTANCE, NOISY_DRIFT)
