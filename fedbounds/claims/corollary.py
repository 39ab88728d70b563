"""The corollary E[F(w_T)] - F* <= V/(T + gamma) + error, its error-free case and its remarks."""

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Kind, Repair, Role
from fedbounds.theory.symbols import *

GAMMA = {gamma: 4 * L / mu}
ETA = 1 / (mu * (t + gamma))

NOISE = 4 * L * (32 * tau**2 * G_sq + sigma_sq) / (3 * mu**2 * rho_bar)
SPEED = {
    "noise": NOISE,
    "heterogeneity": 8 * L**2 * Gamma / mu**2,
    "start": L * gamma * Delta_0 / 2,
}
ERROR = 8 * L * Gamma / (3 * mu) * (rho_tilde / rho_bar - 1)
V_MIN = {name: SPEED[name] for name in ("heterogeneity", "start")}

# B = 1 + 3 rho_bar / 8 <= gamma keeps the induction's factor 1 - B/(t + gamma) non-negative.
CAPPED = sp.Min(rho_bar, sp.Rational(8, 3) * (gamma - 1))
REPAIR = Repair(
    "rho_bar is capped at 8(gamma - 1)/3 so that B <= gamma, and rho_tilde is at least rho_bar so that D >= 0",
    (),
    {rho_bar: CAPPED, rho_tilde: sp.Max(rho_tilde, CAPPED)},
)
CONDITIONS = (*a.PAPER, a.full_participation, a.positive_rho_bar)


def per_step(speed: dict[str, sp.Expr]) -> dict[str, sp.Expr]:
    """Each term of the speed divided by T + gamma."""
    return {name: term / (T + gamma) for name, term in speed.items()}


COROLLARY = Claim(
    key="corollary",
    title="Convergence bound",
    source="Corollary 1",
    scope="horizon",
    lhs=gap,
    terms={**per_step(SPEED), "error": ERROR},
    assumptions=CONDITIONS,
    definitions=GAMMA,
    eta=ETA,
    readings=("literal", "sync", "repaired"),
    repair=REPAIR,
    roles=(Role.MAIN, Role.BOUND, Role.PICTURED, Role.HEADLINE),
    short="corollary",
)
ERROR_FREE = Claim(
    key="error-free",
    title="Convergence bound without heterogeneity",
    source="Error-free framework, second display",
    scope="horizon",
    lhs=gap,
    terms=per_step({name: SPEED[name] for name in ("noise", "start")}),
    assumptions=(*CONDITIONS, a.homogeneous),
    definitions=GAMMA,
    eta=ETA,
    readings=("literal", "sync", "repaired"),
    repair=REPAIR,
)
RATE = Claim(
    key="rate",
    title="O(1/T)",
    source="Remark after Corollary 1",
    scope="horizon",
    kind=Kind.RATE,
    lhs=gap,
    terms={"floor": sp.Integer(0)},
    assumptions=(*a.PAPER, a.full_participation),
    definitions=GAMMA,
    eta=ETA,
    readings=("literal",),
    remark="A floor of the gap refutes it on a run; no finite run proves it.",
    floor=ERROR,
    roles=(Role.HEADLINE,),
)
SPEED_FLOOR = Claim(
    key="speed-floor",
    title="V_min is approached as rho_bar grows without bound",
    source="Remark on V_min",
    scope="constant",
    # rho is an average of alpha_i/p_i, so it never exceeds 1/min p: the smallest speed any weighting can have.
    lhs=sp.Add(*SPEED.values()).subs(rho_bar, 1 / p_min),
    terms=V_MIN,
    assumptions=(*a.PAPER, a.positive_p),
    definitions=GAMMA,
    readings=("literal",),
    remark="The left side is the speed at rho_bar = 1/min p, the largest any weighting on the simplex can reach.",
)
FEDAVG_SPEED = Claim(
    key="fedavg-speed",
    title="Speed under FedAvg",
    source="Derived aggregation strategies, speed of generalized FedAvg",
    scope="constant",
    kind=Kind.IDENTITY,
    lhs=sp.Add(*SPEED.values()).subs(rho_bar, 1),
    terms={**V_MIN, "noise": (4 * L - 32 * tau**2 * G_sq + sigma_sq) / (3 * mu**2)},
    assumptions=(*a.PAPER, a.unbiased),
    definitions=GAMMA,
    readings=("literal",),
    units="as written",
    remark="A misprint: the product 4L(32 tau^2 G^2 + sigma^2) became a difference.",
)
ERROR_MINIMISER = Claim(
    key="error-minimiser",
    title="The error is smallest, and zero, at alpha = p",
    source="Remark in the general framework",
    scope="constant",
    lhs=sp.Integer(0),
    terms={"error": ERROR},
    assumptions=(*a.PAPER, a.full_participation, a.positive_rho_bar),
    readings=("literal", "repaired"),
    repair=Repair("rho_tilde is replaced by at least rho_bar", (), {rho_tilde: sp.Max(rho_tilde, rho_bar)}),
    remark="The left side is the error at alpha = p. On finite runs rho_tilde < rho_bar is possible.",
)
CLAIMS = (COROLLARY, ERROR_FREE, RATE, SPEED_FLOOR, FEDAVG_SPEED, ERROR_MINIMISER)
