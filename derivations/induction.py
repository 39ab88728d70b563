"""The corollary's induction for a general beta: the conditions it needs, and that they cannot be weakened."""

import sympy as sp

from fedbounds.evidence.symbolic.derivation import (
    Cases,
    Condition,
    Derivation,
    Hypothesis,
    Induction,
    Limit,
    Premise,
    case,
    step,
)
from fedbounds.theory.symbols import Delta, Delta_0, Delta_next, T, gamma, t

from ._setting import ONE

b = sp.Symbol("b", positive=True)
C, D, beta = (sp.Symbol(name, nonnegative=True) for name in ("C", "D", "beta"))
above_one = sp.Symbol("b_1", positive=True)
room, within, beyond = (sp.Symbol(name, nonnegative=True) for name in ("room", "within", "beyond"))
Delta_T = sp.Symbol("Delta_T", nonnegative=True)
k = t + gamma
V = gamma * Delta_0 + beta**2 * C / (b - 1)
ERROR = beta * D / (b - 1)
STATEMENT = V / k + ERROR - Delta
V_ON_SIGHT = gamma * Delta_0 + beta**2 * C / above_one
# k + 1/(k + 1) - b: the room at t = 0, and what t adds to k + 1/(k + 1).
STILL_ROOM = room + t * (gamma * (k + 2) + t) / ((gamma + 1) * (k + 1))

RECURSION = Premise(
    "recursion",
    (1 - b / k) * Delta + beta**2 * C / k**2 + beta * D / k - Delta_next,
    "the one-step inequality at eta_t = beta/(t + gamma), with b = beta mu B",
)
ABOVE = Condition("b-above-one", above_one, b - 1, "beta > 1/(mu B)")
ROOM = Condition("b-room", room, gamma + 1 / (gamma + 1) - b, "beta mu B <= gamma + 1/(gamma + 1)")
WITHIN = Condition("case", within, k - b, "b <= t + gamma")
BEYOND = Condition("case", beyond, b - k, "b >= t + gamma")
NAMES = {"Delta_T": r"\Delta_T", "b": "b", "C": "C", "D": "D", "beta": r"\beta"}
SETTING = {
    "recursion": "Delta_{t+1} <= (1 - b/(t+gamma)) Delta_t + beta^2 C/(t+gamma)^2 + beta D/(t+gamma), b = beta mu B",
    "b-above-one": "b > 1 (the paper's beta > 1/(mu B))",
    "b-room": "b <= gamma + 1/(gamma + 1) (not in the paper)",
    "D": "D >= 0 (not in the paper): rho_tilde >= rho_bar",
}

SUFFICIENT = (
    step("base", Delta_0, "<=", V / gamma + ERROR, (beta**2 * C / (above_one * gamma) + beta * D / above_one, ONE)),
    step(
        "carry",
        Delta_next,
        "<=",
        V / (k + 1) + ERROR,
        by=Cases(
            case(
                WITHIN,
                RECURSION,
                (within / k, Hypothesis("Delta", STATEMENT)),
                (V_ON_SIGHT / (k**2 * (k + 1)) + above_one * gamma * Delta_0 / k**2, ONE),
                (beta * D / (above_one * k), ONE),
            ),
            # Here the factor 1 - b/k is negative: Delta >= 0 is used instead of the hypothesis, at times 0.
            case(
                BEYOND,
                RECURSION,
                (0, Hypothesis("Delta", STATEMENT)),
                (beyond / k * Delta, ONE),
                (gamma * Delta_0 / (k + 1), ONE),
                (beta**2 * C / (above_one * k**2) * STILL_ROOM, ONE),
                (beta * D / (above_one * k) * (STILL_ROOM + k / (k + 1)), ONE),
            ),
        ),
    ),
    step(
        "all",
        Delta_T,
        "<=",
        V / (T + gamma) + ERROR,
        by=Induction(
            "Delta",
            STATEMENT,
            "base",
            "carry",
            start={Delta: Delta_0, t: 0},
            next={Delta: Delta_next, t: t + 1},
            end={Delta: Delta_T, t: T},
        ),
    ),
)
over = sp.Symbol("over", positive=True)
OVER = Condition("b-over", over, b - gamma - 1 / (gamma + 1), "b > gamma + 1/(gamma + 1)")
C_pos, beta_pos, debt = (sp.Symbol(name, positive=True) for name in ("C", "beta", "debt"))
NEEDED = (
    step(
        "too-large-b",
        beta_pos**2 * C_pos / gamma**2,
        ">",
        beta_pos**2 * C_pos / ((b - 1) * (gamma + 1)),
        # b - 1 = gamma^2/(gamma + 1) + over.
        (beta_pos**2 * C_pos * over / (gamma**2 * (gamma**2 / (gamma + 1) + over)), ONE),
        note="Delta_0 = D = 0: the recursion allows Delta_1 = beta^2 C/gamma^2, above psi/(gamma + 1)",
    ),
    step(
        "negative-D",
        (gamma * Delta_0 + beta**2 * C / above_one) / (T + gamma) - beta * debt / above_one,
        "->",
        -beta * debt / above_one,
        by=Limit(T, sp.oo, "-"),
        note="D = -debt < 0: the bound on a squared distance becomes negative",
    ),
)
DERIVATIONS = (
    Derivation(
        key="induction",
        title="The induction holds for 1 < beta mu B <= gamma + 1/(gamma + 1) and D >= 0",
        steps=SUFFICIENT,
        conditions=(ABOVE, ROOM),
        setting=SETTING,
        notation=NAMES,
        findings=(
            "beta > 1/(mu B) and gamma > 0 do not suffice: beta mu B <= gamma + 1/(gamma + 1) and D >= 0 too do.",
            "At beta = 1/mu: rho_bar <= (8/3)(gamma + 1/(gamma + 1) - 1), just above the cap (8/3)(gamma - 1).",
        ),
    ),
    Derivation(
        key="induction-conditions",
        title="Neither condition of the induction can be dropped",
        steps=NEEDED,
        conditions=(OVER,),
        setting={"b-over": "b > gamma + 1/(gamma + 1)"},
        notation=NAMES | {"debt": "d", "b_1": "(b-1)"},
        findings=("For larger beta mu B the claimed psi/(t + gamma) fails at t = 1; for D < 0 it fails as T grows.",),
    ),
)
