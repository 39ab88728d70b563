"""The chain in pi = min alpha_i/p_i and Pi = max alpha_i/p_i, and the final bound."""

import sympy as sp

from fedbounds.claims.corollary import ERROR
from fedbounds.claims.pi_chain import LAMBDA_2
from fedbounds.evidence.symbolic.algebra import Mean, Positive, Slack, Weights
from fedbounds.evidence.symbolic.derivation import (
    Cited,
    Condition,
    Derivation,
    Display,
    Earlier,
    Premise,
    Step,
    averaged,
    step,
)
from fedbounds.theory.symbols import N, p_min, pi_max, pi_min, rho_bar, rho_tilde

from ._setting import ONE, P, claim, right_side

I = P.args[1]
KAPPA, EXCESS = Positive(sp.Symbol("kappa"), I), Slack(sp.Symbol("e"), I)
ABOVE_PI, BELOW_PI = Slack(sp.Symbol("above_pi"), I), Slack(sp.Symbol("below_Pi"), I)
total = sp.Symbol("total", positive=True)
pi = sp.Symbol("pi", positive=True)
over_pi, under_Pi = sp.Symbol("over_pi", nonnegative=True), sp.Symbol("under_Pi", nonnegative=True)

PI = Condition("positive-pi_min", pi, pi_min, "pi > 0")
LEAST = Condition("ratios", ABOVE_PI, KAPPA - pi_min, "alpha_i/p_i >= pi")
MOST = Condition("ratios", BELOW_PI, pi_max - KAPPA, "alpha_i/p_i <= Pi")
RATIOS = {
    "ratios": "pi <= alpha_t^i/p_i <= Pi at every t, and rho_bar, rho_tilde are skews of such weights",
    "skew": "rho_bar and rho_tilde are values of sum_i alpha_i e_i / sum_i p_i e_i, with sum_i p_i e_i > 0",
}
NAMES = {
    "kappa": r"\kappa_t^i",
    "e": "e_i",
    "p_i": r"\sum_i p_i",
    "total": r"\sum_i p_i e_i",
    "pi": r"\pi",
    "over_pi": r"(\overline\rho-\pi)",
    "under_Pi": r"(\Pi-\tilde\rho)",
    "above_pi": r"(\kappa_t^i-\pi)",
    "below_Pi": r"(\Pi-\kappa_t^i)",
}


def skew(rho: sp.Expr) -> tuple[Premise, Premise]:
    """rho sum_i p_i e_i = sum_i alpha_i e_i, and the sum's name."""
    return (
        Premise("skew", Mean(P, KAPPA * EXCESS) - rho * total, "definition of rho", "zero"),
        Premise("skew", Mean(P, EXCESS) - total, "sum_i p_i e_i", "zero"),
    )


def at_most(label: str, rho: sp.Expr) -> Step:
    """A skew is at most Pi."""
    return step(
        label,
        rho,
        "<=",
        pi_max,
        (1 / total, averaged(P, (BELOW_PI, GAP))),
        (1 / total, skew(rho)[0]),
        (-pi_max / total, skew(rho)[1]),
    )


GAP = Premise("skew", EXCESS, "e_i >= 0")
MEETS = (
    step(
        "rho-over-pi",
        pi_min,
        "<=",
        rho_bar,
        (1 / total, averaged(P, (ABOVE_PI, GAP))),
        (-1 / total, skew(rho_bar)[0]),
        (pi_min / total, skew(rho_bar)[1]),
    ),
    at_most("rho-under-Pi", rho_tilde),
)
OVER = Condition("step:rho-over-pi", over_pi, rho_bar - pi_min, "pi <= rho_bar")
UNDER = Condition("step:rho-under-Pi", under_Pi, pi_max - rho_tilde, "rho_tilde <= Pi")
BOTH = ("literal", "repaired")


def chain(key: str, title: str, steps: tuple[Step, ...], conditions: tuple[Condition, ...]) -> Derivation:
    """A derivation of one inequality of the chain."""
    return Derivation(
        key=key,
        title=title,
        claim=key,
        readings=BOTH,
        steps=steps,
        conditions=conditions,
        setting=RATIOS,
        notation=NAMES,
    )


def of(key: str) -> tuple[sp.Expr, sp.Expr]:
    """Both sides of a claim."""
    return claim(key).lhs, right_side(key)


RATIO, INVERSE, MAXIMUM = of("pi-ratio"), of("pi-inverse"), of("pi-max")

# The client of largest ratio has alpha = 1 - (N - 1) (mean of the others' alpha).
OTHERS = Weights(sp.Symbol("others"), I)
SHARE, ABOVE_P = Positive(sp.Symbol("share"), I), Slack(sp.Symbol("above_p"), I)
top_share, above_top = sp.Symbol("top_share", positive=True), sp.Symbol("above_top", nonnegative=True)
more_clients = sp.Symbol("others_count", nonnegative=True)
PI_MAX = Derivation(
    key="pi-max",
    title="Largest ratio against pi",
    claim="pi-max",
    readings=BOTH,
    steps=(
        step(
            "others",
            pi_min * p_min,
            "<=",
            Mean(OTHERS, KAPPA * SHARE),
            averaged(OTHERS, (ABOVE_PI * SHARE + pi_min * ABOVE_P, ONE)),
            note="alpha_j = kappa_j p_j >= pi min p for every other client",
        ),
        step(
            "conclude",
            MAXIMUM[0],
            "<=",
            MAXIMUM[1],
            (pi_max * above_top, ONE),
            (more_clients, Earlier("others")),
            Premise(
                "simplex",
                1 - (N - 1) * Mean(OTHERS, KAPPA * SHARE) - pi_max * top_share,
                "the weights sum to 1 at the client and time where Pi is attained",
                "zero",
            ),
        ),
    ),
    conditions=(
        LEAST,
        Condition("simplex", ABOVE_P, SHARE - p_min, "p_j >= min p"),
        Condition("simplex", above_top, top_share - p_min, "p_j >= min p"),
        Condition("simplex", more_clients, N - 1, "N >= 1"),
    ),
    setting=RATIOS | {"simplex": "alpha_t and p are on the simplex of N >= 1 clients"},
    notation=NAMES | {"others": r"\frac1{N-1}\sum_{j\ne i}", "share": "p_j", "top_share": "p_i"},
)
WIDER = step(
    "error",
    pi_max / pi - 1,
    "<=",
    1 / (pi_min * p_min) - N,
    (1 / (pi * p_min), Cited("pi-max")),
)
BY_PI = of("error-by-pi")[1]

DERIVATIONS = (
    chain(
        "pi-ratio",
        "Skews against weight ratios",
        (
            *MEETS,
            step(
                "conclude",
                RATIO[0],
                "<=",
                RATIO[1],
                ((pi_max * over_pi + under_Pi * pi) / (pi * (pi + over_pi)), ONE),
            ),
        ),
        (PI, LEAST, MOST, OVER, UNDER),
    ),
    chain(
        "pi-inverse",
        "Smallest skew against pi",
        (
            MEETS[0],
            step("conclude", INVERSE[0], "<=", INVERSE[1], (over_pi / (pi * (pi + over_pi)), ONE)),
        ),
        (PI, LEAST, OVER),
    ),
    PI_MAX,
    Derivation(
        key="error-by-pi-corrected",
        title="The error term against pi: the paper drops the factor 8 L Gamma/(3 mu)",
        steps=(
            WIDER,
            step(
                "conclude",
                ERROR,
                "<=",
                LAMBDA_2 * BY_PI,
                (LAMBDA_2, Cited("pi-ratio")),
                (LAMBDA_2, Earlier("error")),
                paper=Display(
                    BY_PI,
                    (LAMBDA_2 - 1) * BY_PI,
                    "the error is lambda_2 (rho_tilde/rho_bar - 1), and lambda_2 = 8 L Gamma/(3 mu) is dropped",
                ),
            ),
        ),
        conditions=(PI,),
        setting=RATIOS,
        notation=NAMES,
        findings=("error <= 1/(pi min p) - N lacks the factor 8 L Gamma/(3 mu); the final bound has it.",),
    ),
)
