"""Whole rounds of FedAvg with a constant step: bounds that need no G and no Gamma, only zeta_*^2.

The proofs stand in `derivations/proofs/rounds.md` and `derivations/proofs/push.md`.
"""

from dataclasses import replace

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *
from fedbounds.theory.symbols import Delta_round, Delta_round_next, zeta_star_sq

SOURCE = "This package (proof in derivations/proofs/rounds.md)"
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
    assumptions=(*CONDITIONS, a.bounded_variance, a.steps_below_2_over_L_plus_mu),
    definitions={turn: RATIO, reach: TOP},
    eta=eta_0,
    readings=("literal",),
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
    assumptions=(*CONDITIONS, a.full_gradients, a.steps_up_to_2_over_L_plus_mu),
    definitions={push: PUSH},
    eta=eta_0,
    readings=("literal",),
    remark="Smaller than fedavg-rounds where tau eta mu is large; the square of a sum of distances. Of the proof the "
    "two facts on a local step are checked by machine (derivation rounds-push), not the sums over it.",
)
PUSHED = replace(
    CONTRACTION,
    key="fedavg-push",
    title="Rounds of FedAvg at a step of at most 1/L, by the exact push of a round",
    source="This package (proof in derivations/proofs/push.md)",
    assumptions=(*CONDITIONS, a.full_gradients, a.small_steps),
    definitions={push: ((1 - KEPT**tau) / mu - (1 - (1 - eta_0 * L) ** tau) / L) / 2},
    remark="One round from w* attains it where no weight exceeds 1/2. It is never above fedavg-contraction: the same "
    "at tau = 2 and, with many local steps and L much larger than mu, a quarter of its drift. The proof is text; its "
    "multipliers and its recursions are tested.",
)
TURNED = eta_0 * (L - mu) / 2
ALONG = HALF**2 + TURNED * (KEPT**2 + HALF**2 + TURNED**2) / (2 * KEPT)
ACROSS = (HALF * (1 + TURNED / KEPT)) ** 2 * Delta_round + eta_0**2 * zeta_star_sq
two_steps = Assumption("two-steps", "tau = 2", sp.Eq(tau, 2), observed="tau = {tau:g}")
TWO_STEPS = Claim(
    key="fedavg-two-steps",
    title="A round of two steps of FedAvg",
    source=SOURCE,
    scope="step",
    lhs=Delta_round_next,
    terms={"round": (ALONG * sp.sqrt(Delta_round) + TURNED * sp.sqrt(ACROSS)) ** 2},
    assumptions=(*CONDITIONS, a.full_gradients, a.steps_below_2_over_L_plus_mu, two_steps),
    eta=eta_0,
    readings=("literal",),
    remark="Within 1.1% of the exact worst case of a round wherever both were computed.",
)
CLAIMS = (ROUNDS, CONTRACTION, PUSHED, TWO_STEPS)
