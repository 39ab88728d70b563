"""The false statements as they would be true: each claim with what its author, or the key, says is wrong undone.

Left out are those whose correction needs a quantity that the claim does not have (ordinary-14, -26, subtle-19, -30),
those whose slip is a whole argument (subtle-03), and those that the referee does not refute (subtle-22, -25).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import Delta_0, L, N, T, eta_0, gamma, m, mu, sigma_p_sq, t
from validate.outside_theorems import vocabulary as v
from validate.outside_theorems.subtle import ARBITRARY_STEP
from validate.outside_theorems.trials import CLAIMS
from validate.outside_theorems.vocabulary import KEPT, kappa, up_to


def _with(key: str, **fields: Any) -> Claim:
    return replace(CLAIMS[key], key=f"{key}-corrected", **fields)


def _times(key: str, factor: sp.Expr, *names: str) -> Claim:
    """The claim with some of its terms, or all, times a factor."""
    terms = CLAIMS[key].terms
    return _with(key, terms={k: factor * x if k in (names or terms) else x for k, x in terms.items()})


def _if_also(key: str, *assumed: Any) -> Claim:
    return _with(key, assumptions=(*CLAIMS[key].assumptions, *assumed))


def _in_place(key: str, exchange: Mapping[sp.Basic, sp.Expr]) -> Claim:
    return _with(key, terms={k: sp.sympify(x).subs(exchange) for k, x in CLAIMS[key].terms.items()})


_noise = sp.sqrt(eta_0 * sigma_p_sq / (mu * (2 - eta_0 * mu)))
_decaying = {"definitions": {gamma: 1 / (mu * eta_0)}, "eta": 1 / (mu * (t + gamma))}

# Any one of those of a key will do.
CORRECTED: dict[str, tuple[Claim, ...]] = {
    "ordinary-01": (_times("ordinary-01", 1 + sp.log(T), "noise"),),
    "ordinary-03": (_times("ordinary-03", sp.Integer(2)),),
    "ordinary-06": (_if_also("ordinary-06", a.equal_p),),
    "ordinary-08a": (_if_also("ordinary-08a", a.equal_p),),
    "ordinary-15": (_times("ordinary-15", 1 / pq.p_sq),),
    "ordinary-16": (_times("ordinary-16", N / (N - 1)),),
    "ordinary-17": (_times("ordinary-17", sp.Integer(4)),),
    "ordinary-18": (
        _with("ordinary-18", eta=up_to(2 / (mu + L)), assumptions=CLAIMS["ordinary-18"].assumptions[:-1]),
        _if_also("ordinary-18", a.steps_up_to_2_over_L_plus_mu),
    ),
    "ordinary-19": (_times("ordinary-19", kappa),),
    "ordinary-20": (_times("ordinary-20", sp.Integer(2), "noise"),),
    "ordinary-24": (_with("ordinary-24", terms={"bound": KEPT ** (2 * v.begun) * Delta_0}),),
    "ordinary-25": (_in_place("ordinary-25", {L: mu}),),
    "ordinary-27": (_in_place("ordinary-27", {N: m}),),
    "subtle-05": (_with("subtle-05", terms=ARBITRARY_STEP),),
    "subtle-07": (_with("subtle-07", eta=up_to(1 / L)),),
    "subtle-09": (_with("subtle-09", **_decaying),),
    "subtle-12": (_with("subtle-12", terms={"bound": (KEPT**T * sp.sqrt(Delta_0) + _noise) ** 2}),),
    "subtle-15": (_times("subtle-15", kappa),),
    "subtle-18": (_times("subtle-18", N / (N - 1)),),
    "subtle-20": (_times("subtle-20", (kappa + 1) ** 2 / (4 * kappa)),),
    "subtle-24": (_times("subtle-24", kappa),),
    "subtle-28a": (_with("subtle-28a", eta=up_to(1 / (L + mu))),),
}
