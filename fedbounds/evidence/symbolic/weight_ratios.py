"""What the ratios alpha_i/p_i are between, what they sum to, and what a weighting skew is."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic.proof_objects import (
    AT_PI,
    OTHERS,
    SHARE,
    TOP_SHARE,
    P,
    define,
    excess,
    non_negative,
    ratio,
    rho,
    zero,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Part
from fedbounds.theory.vectors import Mean, Ratio


def _skew(at: sp.Symbol) -> sp.Expr:
    if at not in (sy.rho_bar, sy.rho_tilde, rho):
        raise KeyError(at)
    return at


def _ratio(kappa: sp.Expr) -> sp.Expr:
    if type(kappa) is not Ratio:
        raise KeyError(kappa)
    return kappa


DEFINITIONS = (
    define("least-ratio", "pi <= alpha_i/p_i", lambda o, k: non_negative(_ratio(k) - sy.pi_min)),
    define("largest-ratio", "alpha_i/p_i <= Pi", lambda o, k: non_negative(sy.pi_max - _ratio(k))),
    define("weights-sum", "sum_i p_i (alpha_i/p_i) = sum_i alpha_i = 1", lambda o, k: zero(1 - Mean(P, _ratio(k)))),
    define("weight-at-most-one", "alpha_i <= 1", lambda o, k: non_negative(1 - _ratio(k) * SHARE)),
    define("least-p", "p_i >= min p", lambda o: non_negative(SHARE - sy.p_min)),
    define("least-p-at-Pi", "p_i >= min p for the client of ratio Pi", lambda o: non_negative(TOP_SHARE - sy.p_min)),
    define(
        "weights-sum-at-Pi",
        "the weights sum to 1 at the client and time where Pi is attained",
        lambda o: zero(1 - (sy.N - 1) * Mean(OTHERS, AT_PI * SHARE) - sy.pi_max * TOP_SHARE),
    ),
    define(
        "skew",
        "rho sum_i p_i e_i = sum_i alpha_i e_i where the skew rho is taken",
        lambda o, at: zero(Mean(P, ratio(_skew(at)) * excess(at)) - at * Mean(P, excess(at))),
    ),
    define(
        "skew-denominator",
        "sum_i p_i e_i > 0 where a skew is taken (by convention it is 1 where all e_i vanish)",
        lambda o, at: Part(sp.Integer(0), "<", Mean(P, excess(_skew(at)))),
    ),
)
