"""No O(1/T) under biased weights: FedMax on two quadratics stops at a point that is not w*."""

import sympy as sp

from fedbounds.evidence.symbolic.derivation import (
    Condition,
    Derivation,
    Earlier,
    Every,
    Hypothesis,
    Induction,
    Limit,
    Premise,
    step,
)
from fedbounds.theory.symbols import T, eta, gamma, gap, t

from ._setting import ONE, claim

CLAIM = claim("rate")
# F_1 = (w - 1)^2/2 and F_2 = (w + 1)^2/2 with p_1 - p_2 = c in (0, 1): w* = c, F_i* = 0.
c = sp.Symbol("c", positive=True)
x_1, x_2, w, total, total_next, total_T = sp.symbols("x_1 x_2 w sum sum_next sum_T", real=True)


def loss(point: sp.Expr) -> sp.Expr:
    """F(w) = p_1 F_1(w) + p_2 F_2(w)."""
    return (1 + c) / 2 * (point - 1) ** 2 / 2 + (1 - c) / 2 * (point + 1) ** 2 / 2


FIXED = (
    step("minimiser", sp.diff(loss(w), w).subs(w, c), "=", 0, note="w* = c"),
    step(
        "tie",
        (0 - sp.Integer(1)) ** 2 / 2,
        "=",
        (0 + sp.Integer(1)) ** 2 / 2,
        note="e_1(0) = e_2(0): FedMax weighs both 1/2",
    ),
    step("start", total, "=", 0, Premise("start", total, "x_1 + x_2 = 0 at the start w_0 = 0", "zero")),
    step(
        "symmetric",
        (x_1 - eta * (x_1 - 1)) + (x_2 - eta * (x_2 + 1)),
        "=",
        (1 - eta) * (x_1 + x_2),
        note="a local step; an aggregation with equal weights sets both to (x_1 + x_2)/2",
    ),
    step(
        "carry",
        total_next,
        "=",
        0,
        Premise("local-step", total_next - (1 - eta) * total, "step symmetric, with sum = x_1 + x_2", "zero"),
        (1 - eta, Hypothesis("sum", total, "zero")),
    ),
    step(
        "all",
        total_T,
        "=",
        0,
        by=Induction("sum", total, "start", "carry", start={}, next={total: total_next}, end={total: total_T}),
        note="w_t = (x_1 + x_2)/2 = 0 at every t, for every tau and every step size",
    ),
    step(
        "conclude",
        CLAIM.lhs,
        ">=",
        c**2 / 2,
        (total_T / 8 - c / 2, Earlier("all")),
        note="FedMax started at w_0 = 0 on F_i = (w -/+ 1)^2/2, p_1 - p_2 = c, stays there: the gap stays c^2/2",
    ),
)
K_more, above_four = (sp.Symbol(name, nonnegative=True) for name in ("K_more", "above_four"))
y, y_0, y_T = (sp.Symbol(name, nonnegative=True) for name in ("y", "y_0", "y_T"))
y_next = sp.Symbol("y_next", real=True)
K = sp.Rational(5, 4) + K_more
k = t + gamma
STATEMENT = K / k - y
ABOVE_ONE = Condition("scale", above_four, gamma - 4, "gamma = 4L/mu = 4")
START_SIZE = Premise("start-size", K - gamma * y_0, "K >= gamma |w_0|")
# For y = |w_t| > 0 FedMax picks the client on the other side: the step goes to (1 - 1/k) y - 1/k.
LANDED = (1 - 1 / k) * y - 1 / k
DRAWN = (
    step(
        "from-above",
        LANDED,
        "<=",
        K / (k + 1),
        ((t + above_four + 3) / k, Hypothesis("size", STATEMENT)),
        (1 / k + K / (k**2 * (k + 1)), ONE),
        note="if the step does not cross 0, |w_{t+1}| is at most (1 - 1/k)|w_t|",
    ),
    step(
        "from-below",
        -LANDED,
        "<=",
        K / (k + 1),
        ((t + above_four + 3) / k * y, ONE),
        ((K_more * k + (t + above_four) / 4) / (k * (k + 1)), ONE),
        note="if it crosses 0, |w_{t+1}| is at most 1/k",
    ),
    step("base", y_0, "<=", K / gamma, (1 / gamma, START_SIZE)),
    step(
        "carry",
        y_next,
        "<=",
        K / (k + 1),
        by=Every(y_next, ("from-above", "from-below")),
        note="|w_{t+1}| is the larger of the step and its opposite; at w_t = 0 FedMax stays",
    ),
    step(
        "all",
        y_T,
        "<=",
        K / (T + gamma),
        by=Induction(
            "size", STATEMENT, "base", "carry", start={y: y_0, t: 0}, next={y: y_next, t: t + 1}, end={y: y_T, t: T}
        ),
    ),
    step("vanishes", K / (T + gamma), "->", 0, by=Limit(T, sp.oo, "-"), note="so w_T tends to 0 from every start"),
    step("floor", loss(sp.Integer(0)) - loss(c), "=", c**2 / 2, note="and the gap tends to c^2/2 > 0"),
)
NAMES = {
    "sum": "(x_1+x_2)_t",
    "sum_next": "(x_1+x_2)_{t+1}",
    "sum_T": "(x_1+x_2)_T",
    "y": "|w_t|",
    "y_0": "|w_0|",
    "y_next": "|w_{t+1}|",
    "y_T": "|w_T|",
    "K_more": "K'",
}
DERIVATIONS = (
    Derivation(
        key="rate",
        title="Under FedMax the gap does not vanish",
        claim="rate",
        readings=("literal",),
        refutes=True,
        steps=FIXED,
        meaning={gap: loss(total_T / 2) - loss(c)},
        setting={
            "start": "w_0 = 0; the claim is read at T with tau | T",
            "local-step": "x_i - eta (x_i -/+ 1) is the local step of F_i = (w -/+ 1)^2/2",
        },
        notation=NAMES,
        findings=("The floor is c^2/2 with c = p_1 - p_2: FedMax stops where e_1 = e_2, not at w* = c.",),
    ),
    Derivation(
        key="rate-attraction",
        title="From every start FedMax is drawn to the point where the gaps tie (tau = 1, eta_t = 1/(t + gamma))",
        steps=DRAWN,
        conditions=(ABOVE_ONE,),
        abbreviations={y_next: sp.Max(LANDED, -LANDED, evaluate=False)},
        setting={"start-size": "K is at least gamma |w_0| and 5/4", "scale": "gamma = 4L/mu = 4"},
        notation=NAMES,
        findings=("The floor is not an accident of the start: |w_t| <= max(gamma |w_0|, 5/4)/(t + gamma).",),
    ),
)
