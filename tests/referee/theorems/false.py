"""Ten theorems that are false by one slip each; `INSTANCES` show it in fractions, found by hand."""

from dataclasses import replace
from pathlib import Path

import sympy as sp

from fedbounds.plugins import load_file
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.symbols import C, Delta_0, G_sq, L, N, T, eta, eta_0, gamma, mu, sigma_sq, tau

at_most_half = Assumption("at-most-half", "at most half of the clients take part", sp.Le(C, sp.Rational(1, 2)))
true = load_file(Path(__file__).with_name("true.py"))


def slip(claim, key, **changes):
    """A claim with one place changed."""
    return replace(claim, key=key, **changes)


def with_term(claim, key, name, term, **changes):
    """A claim with one term changed."""
    return slip(claim, key, terms={**claim.terms, name: term}, **changes)


GRADIENT = slip(true.GRADIENT_DESCENT, "2/L", eta=2 / L)
DRIFT = with_term(true.DRIFT, "tau-for-tau^2", "drift", (tau - 1) * eta**2 * G_sq)
NOISE = with_term(true.LOCAL_STEP, "sigma^2/N", "noise", eta**2 * sigma_sq / N)
PARTIAL = slip(
    true.LOCAL_STEP,
    "no-(1-C)/C",
    assumptions=(*true.EVERYONE[:3], a.equal_p, a.steps_up_to_2_over_L_plus_mu, at_most_half),
)
INDEX = with_term(true.KHALED, "T-for-T+1", "start", (1 - eta_0 * mu) ** (T + 1) * Delta_0)
SYNCHRONISED = slip(true.SKEWED, "minimum-over-rounds", readings=("sync",))
OFFSET = slip(true.LI, "gamma-without-max", definitions={gamma: tau})
NORM = with_term(true.DRIFT, "norm-not-squared", "drift", (tau - 1) ** 2 * eta**2 * sp.sqrt(G_sq))
KAPPA = slip(true.LI, "kappa-upside-down", terms={name: term * mu**2 / L**2 for name, term in true.LI.terms.items()})
DECAY = slip(
    true.DRIFT,
    "no-constant-steps",
    terms={"drift": 16 * tau**2 * eta**2 * G_sq},
    assumptions=(a.bounded_gradient, a.full_participation),
)
CLAIMS = (GRADIENT, DRIFT, NOISE, PARTIAL, INDEX, SYNCHRONISED, OFFSET, NORM, KAPPA, DECAY)

ONE = {"curvatures": [1], "minima": [0], "p": [1], "w0": [1], "weighting": "fedavg"}
APART = {"p": ["1/2", "1/2"], "w0": [0], "weighting": "fedavg", "curvatures": [1, 1]}
INSTANCES = {
    "2/L": {**ONE, "eta": [2]},
    "tau-for-tau^2": {**APART, "minima": [1, -1], "eta": ["1/10"] * 3, "tau": 3},
    "sigma^2/N": {**APART, "minima": [0, 0], "p": ["9/10", "1/10"], "noise": [1, 1], "eta": ["1/2"]},
    "no-(1-C)/C": {**APART, "minima": [0, 1], "eta": [1], "present": 1},
    "T-for-T+1": {**ONE, "eta": ["1/4"]},
    "minimum-over-rounds": {
        **{"curvatures": [1, 1], "minima": [0, 1], "p": ["999/1000", "1/1000"], "w0": [0]},
        **{"eta": ["1/4"] * 2, "tau": 2, "weighting": "fedmax"},
    },
    "gamma-without-max": {**ONE, "curvatures": [["1", "10"]], "minima": [[0, 0]], "w0": [0, 1], "eta": [2]},
    "norm-not-squared": {**APART, "minima": [4, -4], "eta": ["1/10"] * 2, "tau": 2},
    "kappa-upside-down": {**ONE, "curvatures": [["1", "2"]], "minima": [[0, 0]], "w0": [0, 1], "eta": ["1/8"]},
    "no-constant-steps": {**APART, "minima": [1, -1], "eta": ["1/4", "1/100"], "tau": 2},
}
