"""The chain in pi = min alpha_i/p_i and Pi = max alpha_i/p_i."""

import sympy as sp

from fedbounds.claims.corollary import ERROR
from fedbounds.claims.pi_inequalities import LAMBDA_2
from fedbounds.theory import assumptions as a

from ._setting import *

pi = sp.Symbol("pi", positive=True)
total, total_star = sp.Symbol("total", positive=True), sp.Symbol("total_star", positive=True)
over_pi, under_Pi = sp.Symbol("over_pi", nonnegative=True), sp.Symbol("under_Pi", nonnegative=True)
ABOVE_PI, ABOVE_P = Slack(sp.Symbol("above_pi"), I), Slack(sp.Symbol("above_p"), I)
above_top, more_clients = sp.Symbol("above_top", nonnegative=True), sp.Symbol("others_count", nonnegative=True)

PI = Condition(pi, premise("positive-pi_min"))
TOTALS = (
    Condition(total, premise("skew-denominator", rho_bar)),
    Condition(total_star, premise("skew-denominator", rho_tilde)),
)
OVER, UNDER = Condition(over_pi, Earlier("rho-over-pi")), Condition(under_Pi, Earlier("rho-under-Pi"))
BOTH = ("literal", "repaired")


def at_most(label: str, at: sp.Symbol, whole: sp.Symbol) -> Step:
    """A skew, whose denominator is ``whole``, is at most Pi."""
    return step(label, at, "<=", pi_max).by(
        (1 / whole, averaged(P, (definitions.excess(at), largest(at)))), (1 / whole, premise("skew", at))
    )


def largest(at: sp.Symbol) -> Fact:
    """alpha_i/p_i <= Pi where a skew is taken."""
    return premise("largest-ratio", ratio(at))


OVER_PI = step("rho-over-pi", pi_min, "<=", rho_bar).by(
    (1 / total, averaged(P, (definitions.excess(rho_bar), premise("least-ratio", ratio(rho_bar))))),
    (-1 / total, premise("skew", rho_bar)),
)
PI_POSITIVE = step("pi-positive", pi_min, ">", 0).by(premise("positive-pi_min"))
MEETS = (
    PI_POSITIVE,
    OVER_PI,
    step("rho-positive", rho_bar, ">", 0).by(Earlier("rho-over-pi"), Earlier("pi-positive")),
    at_most("rho-under-Pi", rho_tilde, total_star),
)
RATIO, INVERSE, MAXIMUM, ERROR_BY_PI = (claim(key) for key in ("pi-ratio", "pi-inverse", "pi-max", "error-by-pi"))
WIDER = step("error", pi_max / pi_min - 1, "<=", 1 / (pi_min * p_min) - N).by((1 / (pi * p_min), Cited("pi-max")))
BY_PI = ERROR_BY_PI.rhs

DERIVATIONS = (
    proof(
        RATIO,
        "Skews against weight ratios",
        readings=BOTH,
        steps=(*MEETS, conclude(RATIO).by(((pi_max * over_pi + under_Pi * pi) / (pi * (pi + over_pi)), ONE))),
        conditions=(PI, *TOTALS, OVER, UNDER),
    ),
    proof(
        INVERSE,
        "Smallest skew against pi",
        readings=BOTH,
        steps=(*MEETS[:3], conclude(INVERSE).by((over_pi / (pi * (pi + over_pi)), ONE))),
        conditions=(PI, TOTALS[0], OVER),
    ),
    proof(
        MAXIMUM,
        "Largest ratio against pi",
        readings=BOTH,
        steps=(
            # The client of largest ratio has alpha = 1 - (N - 1) (mean of the others' alpha).
            step("others", pi_min * p_min, "<=", Mean(OTHERS, AT_PI * SHARE)).by(
                averaged(OTHERS, (ABOVE_PI * SHARE + pi_min * ABOVE_P, ONE)),
                note="alpha_j = kappa_j p_j >= pi min p for every other client",
            ),
            conclude(MAXIMUM).by(
                (pi_max * above_top, ONE), (more_clients, Earlier("others")), premise("weights-sum-at-Pi")
            ),
        ),
        conditions=(
            Condition(ABOVE_PI, premise("least-ratio", AT_PI)),
            Condition(ABOVE_P, premise("least-p")),
            Condition(above_top, premise("least-p-at-Pi")),
            Condition(more_clients, premise("some-client")),
        ),
    ),
    Derivation(
        key="error-by-pi-corrected",
        title="The error term against pi: the paper drops the factor 8 L Gamma/(3 mu)",
        steps=(
            *MEETS[:3],
            WIDER,
            step("conclude", ERROR, "<=", LAMBDA_2 * BY_PI).by(
                (LAMBDA_2, Cited("pi-ratio")),
                (LAMBDA_2, Earlier("error")),
                paper=Display(
                    BY_PI,
                    (LAMBDA_2 - 1) * BY_PI,
                    "the error is lambda_2 (rho_tilde/rho_bar - 1), and lambda_2 = 8 L Gamma/(3 mu) is dropped",
                ),
            ),
        ),
        assumes=(a.full_participation, a.positive_pi, a.positive_p),
        conditions=(PI, TOTALS[0]),
        findings=("error <= 1/(pi min p) - N lacks the factor 8 L Gamma/(3 mu); the final bound has it.",),
    ),
)
