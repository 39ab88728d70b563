"""FedMax maximises the skew at a fixed point; the limits and the slope of FedSoftMax in its temperature."""

import sympy as sp

from ._setting import *

EXCESS = Slack(sp.Symbol("e"), I)
top, total = sp.Symbol("top", nonnegative=True), sp.Symbol("total", positive=True)
FEDMAX = Weights(sp.Symbol("fedmax"), I)
MAXIMAL = Assumption("largest", "e_i(w) <= max_j e_j(w)", gives=lambda o: Part(EXCESS, "<=", top))
ARGMAX = Assumption(
    "argmax",
    "FedMax gives weight 1/|J| to each client of J = argmax e_i(w)",
    gives=lambda o: Part(sp.Integer(0), "=", Mean(FEDMAX, top - EXCESS)),
)

# FedSoftMax at inverse temperature x = 1/T: alpha_i = p_i exp(x e_i)/Z.
x = sp.Symbol("x", nonnegative=True)
e, tilt = Value(sp.Symbol("e"), I), sp.exp(x * Value(sp.Symbol("e"), I))
Z, FIRST, SECOND = Mean(P, tilt), Mean(P, e * tilt), Mean(P, e**2 * tilt)
PARTITION = step("partition", Z, ">", 0).by(averaged(P, (tilt, ONE)))
p_1, p_2, p_3, a, gap_3 = sp.symbols("p_1 p_2 p_3 a gap_3", positive=True)
THREE = p_1 * sp.exp(x * a) + p_2 * sp.exp(x * a) + p_3 * sp.exp(x * (a - gap_3))
COLD = p_1 + p_2 + p_3 * sp.exp(-x * gap_3)
e_1, e_2, e_3 = sp.symbols("e_1 e_2 e_3", real=True)
GENERAL = p_1 * sp.exp(x * e_1) + p_2 * sp.exp(x * e_2) + p_3 * sp.exp(x * e_3)
s = sp.Symbol("scale", positive=True)
LINEAR = normal(sp.diff(sp.exp(s * x * e) / Mean(P, sp.exp(s * x * e)), s).subs(s, 0))

DERIVATIONS = (
    Derivation(
        key="fedmax-optimal",
        title="FedMax maximises the weighting skew at a fixed point",
        steps=(
            step("bound", Mean(ALPHA, EXCESS) / total, "<=", top / total).by(
                (1 / total, averaged(ALPHA, premise("largest"))),
                note="a linear-fractional function on the simplex is largest at a vertex",
            ),
            step("attained", Mean(FEDMAX, EXCESS) / total, "=", top / total).by((-1 / total, premise("argmax"))),
            step("conclude", Mean(ALPHA, EXCESS) / total, "<=", Mean(FEDMAX, EXCESS) / total).by(
                Earlier("bound"), Earlier("attained")
            ),
        ),
        assumes=(MAXIMAL, ARGMAX),
        findings=("At each fixed w only: along a run the weights change the points visited.",),
    ),
    Derivation(
        key="softmax-limits",
        title="FedSoftMax tends to p as T grows and to p on the maximisers as T vanishes",
        steps=(
            step("hot", p_1 * sp.exp(x * e_1) / GENERAL, "->", p_1 / (p_1 + p_2 + p_3)).by(Limit(x, sp.Integer(0))),
            step("shift-maximiser", p_1 * sp.exp(x * a) / THREE, "=", p_1 / COLD).by(
                note="three clients, x = 1/T: 1 and 2 share the largest e, 3 delta below (others group into these)"
            ),
            step("shift-other", p_3 * sp.exp(x * (a - gap_3)) / THREE, "=", p_3 * sp.exp(-x * gap_3) / COLD),
            step("cold-maximiser", p_1 / COLD, "->", p_1 / (p_1 + p_2)).by(Limit(x, sp.oo)),
            step("cold-other", p_3 * sp.exp(-x * gap_3) / COLD, "->", 0).by(
                Limit(x, sp.oo),
                note="so the limit is p on the maximisers, never 1/k on the k largest unless they tie with equal p",
            ),
        ),
        findings=(
            "T to infinity gives FedAvg, T to 0 gives p on the argmax: never FedMax(k) for k >= 2 without ties.",
        ),
    ),
    Derivation(
        key="temperature",
        title="At a fixed point the skew rises as the temperature falls",
        steps=(
            PARTITION,
            step("slope", sp.diff(FIRST / Z, x), "=", (SECOND * Z - FIRST**2) / Z**2).by(
                note="the derivative of sum_i alpha_i e_i in x = 1/T is the variance of e under alpha"
            ),
            step("conclude", 0, "<=", (SECOND / Z - FIRST**2 / Z**2) / total).by(
                (1 / (total * Z), averaged(P, (tilt, Square(e - FIRST / Z, "a square", vector=False)))),
                note="d rho/d(1/T) = Var_alpha(e)/sum_i p_i e_i >= 0",
            ),
        ),
        findings=(
            "At a fixed point a lower temperature raises rho, so the bound's speed improves as T falls, not rises.",
        ),
    ),
    Derivation(
        key="alpha-limit",
        title="FedSoftMax near a point: alpha_i - p_i is of the order of the gaps",
        steps=(
            PARTITION,
            step("deviation", tilt / Z - 1, "=", (tilt - 1 - Mean(P, tilt - 1)) / Z).by(
                note="(alpha_i - p_i)/p_i; it vanishes exactly where all e_i are equal"
            ),
            step("linear", LINEAR, "=", x * (e - Mean(P, e))).by(
                note="at gaps s e_i the ratio's slope at s = 0 is (e_i - sum_j p_j e_j)/T"
            ),
            step(
                "elsewhere",
                p_1 * sp.exp(x * e_1) / (p_1 * sp.exp(x * e_1) + p_2 * sp.exp(x * e_2)),
                "->",
                p_1 * sp.exp(x * a) / (p_1 * sp.exp(x * a) + p_2 * sp.exp(x * e_2)),
            ).by(
                Limit(e_1, a),
                note="the weights tend to p_i exp(e_i(w)/T)/Z at a limit point w: to p only where the e_i agree",
            ),
        ),
        findings=(
            "With Gamma = 0 the gaps vanish at w*, so alpha_i - p_i = O(max e_i): O(1/t) in mean where the gaps are.",
            "Otherwise alpha_i tends to p_i exp(e_i(w)/T)/Z at the limit point w: not p_i unless the e_i agree.",
        ),
    ),
)
