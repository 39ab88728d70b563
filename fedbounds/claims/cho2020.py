"""Biased client selection: Cho, Wang and Joshi, 2020, the bound the paper extends."""

from fedbounds.claims.corollary import ETA, GAMMA, SPEED, per_step
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.symbols import *

CHO_2020 = Claim(
    key="cho-2020",
    title="Biased client selection",
    source="Cho, Wang and Joshi, Client selection in federated learning, 2020, Theorem 3.1",
    scope="horizon",
    lhs=gap,
    terms={
        **per_step(
            {
                "noise": 4 * L * (32 * tau**2 * G_sq + sigma_sq / m) / (3 * mu**2 * rho_pairs),
                "heterogeneity": SPEED["heterogeneity"],
                "start": SPEED["start"],
            }
        ),
        "error": 8 * L * Gamma / (3 * mu) * (rho_tilde / rho_pairs - 1),
    },
    assumptions=(*a.PAPER, a.full_participation, a.equal_selection, a.positive_rho_pairs),
    definitions=GAMMA,
    eta=ETA,
    readings=("literal",),
    remark="Its rho_bar is the smallest skew over all pairs of (selecting point, evaluated point); over R^d it is 0 "
    "for a deterministic selection of one client, so the pairs visited by the run are used.",
    roles=(Role.PICTURED,),
    short="Cho et al. 2020",
)
CLAIMS = (CHO_2020,)
