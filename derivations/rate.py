"""No O(1/T) under biased weights: FedMax on two quadratics stops at a point that is not w*."""

import sympy as sp

from ._setting import *

# F_1 = (w - 1)^2/2 and F_2 = (w + 1)^2/2 with p_1 - p_2 = c in (0, 1): w* = c, F_i* = 0.
a, d = sp.symbols("a d", positive=True)
p_1, p_2 = (a + d) / (2 * a + d), a / (2 * a + d)
c = d / (2 * a + d)


def objective(point: sp.Expr) -> sp.Expr:
    """F(w) = p_1 F_1(w) + p_2 F_2(w)."""
    return p_1 * (point - 1) ** 2 / 2 + p_2 * (point + 1) ** 2 / 2


STAYS = (
    step("bias", p_1 - p_2, "=", c),
    step("tie", (0 - sp.Integer(1)) ** 2 / 2, "=", (0 + sp.Integer(1)) ** 2 / 2).by(
        note="e_1(0) = e_2(0): FedMax weighs both 1/2"
    ),
    step("floor", objective(sp.Integer(0)) - objective(c), "=", c**2 / 2).by(
        note="w* = c: FedMax started at 0 stays there, and the gap stays c^2/2"
    ),
)
K_more, above_four = (sp.Symbol(name, nonnegative=True) for name in ("K_more", "above_four"))
y, y_0, y_T, y_next = (sp.Symbol(name, nonnegative=True) for name in ("y", "y_0", "y_T", "y_next"))
landed = sp.Symbol("landed", real=True)
K = sp.Rational(5, 4) + K_more
k = t + gamma
SCALE = Assumption("scale", "gamma = 4L/mu = 4", sp.Ge(gamma, 4))
START_SIZE = Assumption("start-size", "K is at least gamma |w_0| and 5/4", sp.Ge(K, gamma * y_0))
# For y = |w_t| > 0 FedMax picks the client on the other side: the step goes to (1 - 1/k) y - 1/k.
LANDED = (1 - 1 / k) * y - 1 / k
FARTHER = sp.Max(LANDED, -LANDED, evaluate=False)
AWAY = Assumption(
    "next", "|w_{t+1}| is the larger of a step and its opposite", sp.Eq(y_next, FARTHER, evaluate=False)
)
DRAWN = (
    step("from-above", LANDED, "<=", K / (k + 1)).by(
        ((t + above_four + 3) / k, Hypothesis("all")),
        (1 / k + K / (k**2 * (k + 1)), ONE),
        note="if the step does not cross 0, |w_{t+1}| is at most (1 - 1/k)|w_t|",
    ),
    step("from-below", -LANDED, "<=", K / (k + 1)).by(
        ((t + above_four + 3) / k * y, ONE),
        ((K_more * k + (t + above_four) / 4) / (k * (k + 1)), ONE),
        note="if it crosses 0, |w_{t+1}| is at most 1/k",
    ),
    step("base", y_0, "<=", K / gamma).by((1 / gamma, premise("start-size"))),
    step("landed", landed, "<=", K / (k + 1)).by(Every(landed, ("from-above", "from-below"))),
    step("carry", y_next, "<=", K / (k + 1)).by(Earlier("landed"), premise("next"), note="at w_t = 0 FedMax stays"),
    step("all", y_T, "<=", K / (T + gamma)).by(Induction("base", "carry")),
    step("vanishes", K / (T + gamma), "->", 0).by(Limit(T, sp.oo), note="so w_T tends to 0 from every start"),
    step("floor", objective(sp.Integer(0)) - objective(c), "=", c**2 / 2).by(note="and the gap tends to c^2/2 > 0"),
)
DERIVATIONS = (
    Derivation(
        key="rate",
        title="Under FedMax the gap does not vanish",
        steps=STAYS,
        findings=("The floor is c^2/2 with c = p_1 - p_2: FedMax stops where e_1 = e_2, not at w* = c.",),
    ),
    Derivation(
        key="rate-attraction",
        title="From every start FedMax is drawn to the point where the gaps tie (tau = 1, eta_t = 1/(t + gamma))",
        steps=DRAWN,
        assumes=(SCALE, START_SIZE, AWAY),
        conditions=(Condition(above_four, premise("scale")),),
        abbreviations={landed: FARTHER},
        sequences={y_T: (y_0, y, y_next)},
        findings=("The floor is not an accident of the start: |w_t| <= max(gamma |w_0|, 5/4)/(t + gamma).",),
    ),
)
