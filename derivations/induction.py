"""The corollary's induction for a general beta: the conditions it needs, and that they cannot be weakened."""

import sympy as sp

from ._setting import *

b, above_one, over = (sp.Symbol(name, positive=True) for name in ("b", "b_1", "over"))
C, D, beta = (sp.Symbol(name, nonnegative=True) for name in ("C_0", "D", "beta"))
room, within, beyond = (sp.Symbol(name, nonnegative=True) for name in ("room", "within", "beyond"))
k = t + gamma
# b - 1 with its sign on sight.
V = gamma * Delta_0 + beta**2 * C / above_one
ERROR = beta * D / above_one
# k + 1/(k + 1) - b: the room at t = 0, and what t adds to k + 1/(k + 1).
STILL_ROOM = room + t * (gamma * (k + 2) + t) / ((gamma + 1) * (k + 1))
LIMIT = gamma + 1 / (gamma + 1)

RECURSION = Assumption(
    "recursion",
    "Delta_{t+1} <= (1 - b/(t+gamma)) Delta_t + beta^2 C/(t+gamma)^2 + beta D/(t+gamma), b = beta mu B, D >= 0",
    sp.Le(Delta_next, (1 - b / k) * Delta + beta**2 * C / k**2 + beta * D / k),
)
ABOVE = Assumption("b-above-one", "b > 1 (the paper's beta > 1/(mu B))", sp.Gt(b, 1))
ROOM = Assumption("b-room", "b <= gamma + 1/(gamma + 1) (not in the paper)", sp.Le(b, LIMIT))
OVER = Assumption("b-over", "b > gamma + 1/(gamma + 1)", sp.Gt(b, LIMIT))

SUFFICIENT = (
    step("base", Delta_0, "<=", V / gamma + ERROR).by(
        (beta**2 * C / (above_one * gamma) + beta * D / above_one, ONE)
    ),
    step("carry", Delta_next, "<=", V / (k + 1) + ERROR).by(
        Cases(
            k - b,
            case(
                within,
                premise("recursion"),
                (within / k, Hypothesis("all")),
                (V / (k**2 * (k + 1)) + above_one * gamma * Delta_0 / k**2, ONE),
                (beta * D / (above_one * k), ONE),
            ),
            # Here the factor 1 - b/k is negative: Delta >= 0 is used instead of the hypothesis.
            case(
                beyond,
                premise("recursion"),
                (beyond / k * Delta, ONE),
                (gamma * Delta_0 / (k + 1), ONE),
                (beta**2 * C / (above_one * k**2) * STILL_ROOM, ONE),
                (beta * D / (above_one * k) * (STILL_ROOM + k / (k + 1)), ONE),
            ),
        )
    ),
    step("all", Delta_T, "<=", V / (T + gamma) + ERROR).by(Induction("base", "carry")),
)
C_pos, beta_pos, debt = (sp.Symbol(name, positive=True) for name in ("C_1", "beta_1", "debt"))
NEEDED = (
    step("b", b - 1, ">", 0).by((gamma**2 / (gamma + 1), ONE), (over, ONE)),
    step("too-large-b", beta_pos**2 * C_pos / gamma**2, ">", beta_pos**2 * C_pos / ((b - 1) * (gamma + 1))).by(
        (beta_pos**2 * C_pos * over / (gamma**2 * (b - 1)), ONE),
        note="Delta_0 = D = 0: the recursion allows Delta_1 = beta^2 C/gamma^2, above psi/(gamma + 1)",
    ),
    step(
        "negative-D",
        (gamma * Delta_0 + beta**2 * C / above_one) / (T + gamma) - beta * debt / above_one,
        "->",
        -beta * debt / above_one,
    ).by(Limit(T, sp.oo), note="D = -debt < 0: the bound on a squared distance becomes negative"),
)
DERIVATIONS = (
    Derivation(
        key="induction",
        title="The induction holds for 1 < beta mu B <= gamma + 1/(gamma + 1) and D >= 0",
        steps=SUFFICIENT,
        assumes=(RECURSION, ABOVE, ROOM),
        conditions=(Condition(above_one, premise("b-above-one")), Condition(room, premise("b-room"))),
        findings=(
            "beta > 1/(mu B) and gamma > 0 do not suffice: beta mu B <= gamma + 1/(gamma + 1) and D >= 0 too do.",
            "At beta = 1/mu: rho_bar <= (8/3)(gamma + 1/(gamma + 1) - 1), just above the cap (8/3)(gamma - 1).",
        ),
    ),
    Derivation(
        key="induction-conditions",
        title="Neither condition of the induction can be dropped",
        steps=NEEDED,
        assumes=(OVER,),
        conditions=(Condition(over, premise("b-over")),),
        findings=("For larger beta mu B the claimed psi/(t + gamma) fails at t = 1; for D < 0 it fails as T grows.",),
    ),
)
