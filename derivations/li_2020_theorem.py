"""Li et al., ICLR 2020, Theorem 1, full participation: the induction over their one-step inequality."""

import sympy as sp

from ._recursion import *

CLAIM = claim("li-2020")
k = t + gamma
CONSTANT_TERMS = sigma_p_sq + 6 * L * Gamma
A_SQUARE = Square(tau - 1, "a square", vector=False)
PER_STEP = CONSTANT_TERMS + 8 * (tau - 1) ** 2 * G_sq
BOUND = gamma * Delta_0 + 4 * PER_STEP / mu**2
wide, long = sp.Symbol("wide", nonnegative=True), sp.Symbol("long", nonnegative=True)
LATE, BEGUN = Slack(sp.Symbol("late"), S), Slack(sp.Symbol("begun"), S)

STEPS = (
    step("gamma-L", 8 * L / mu, "<=", gamma).by(Extreme(gamma, 8 * L / mu)),
    step("gamma-tau", tau, "<=", gamma).by(Extreme(gamma, tau)),
    step("quarter", 0, "<=", sp.Rational(1, 4) - eta * L).by(
        ((t + wide) / (4 * k), ONE), note="eta_t <= 2/(mu gamma) <= 1/(4L)"
    ),
    step("halve", ETA_S, "<=", 2 * eta).by(
        (2 * (LATE + BEGUN + long + 1) / (mu * k * M_S), ONE),
        note="2(s + gamma) - (t + gamma) >= s + gamma - tau + 1 > 0 since gamma >= tau",
    ),
    step("recursion", Delta_next, "<=", (1 - eta * mu) * Delta + eta**2 * PER_STEP).by(
        Cited("li-one-step", {"quarter-steps": "quarter"}), (2, Cited("li-drift", {"halving": "halve"}))
    ),
    step("base", Delta_0, "<=", BOUND / gamma).by(
        (4 * CONSTANT_TERMS / (mu**2 * gamma), ONE), (32 * G_sq / (mu**2 * gamma), A_SQUARE)
    ),
    step("carry", Delta_next, "<=", BOUND / (k + 1)).by(
        Earlier("recursion"),
        ((t + wide + 8 * ell / mu + 6) / k, HYPOTHESIS),
        (gamma * Delta_0 * (1 / k**2 + 1 / (k**2 * (k + 1))), ONE),
        (4 * CONSTANT_TERMS / (mu**2 * k**2 * (k + 1)), ONE),
        (32 * G_sq / (mu**2 * k**2 * (k + 1)), A_SQUARE),
        note="(k - 1)/k^2 <= 1/(k + 1) with k = t + gamma, and 1 - 2/k >= 0 since gamma >= 8",
    ),
    step("all", Delta_T, "<=", BOUND / (T + gamma)).by(Induction("base", "carry")),
    SMOOTHNESS,
    conclude(CLAIM).by(*BOTH),
)
DERIVATIONS = (
    proof(
        CLAIM,
        "FedAvg with full participation (Li et al., Theorem 1)",
        steps=STEPS,
        conditions=(
            CURVATURES,
            Condition(wide, Earlier("gamma-L")),
            Condition(long, Earlier("gamma-tau")),
            Condition(LATE, premise("round-times")),
            Condition(BEGUN, premise("past-steps")),
        ),
        findings=(
            "Their theorem counts from w_1 and prints gamma + T - 1: from w_0, after T steps, gamma + T.",
            "Their Assumption 3 needs the clients' noises to be independent for the term sum p_i^2 sigma_i^2.",
        ),
    ),
)
