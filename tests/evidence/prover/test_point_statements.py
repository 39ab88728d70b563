"""Statements in quantities written as expressions of points are proved; changed in one place they are not."""

import dataclasses

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.derivation import ONE, Derivation, premise, step
from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import F, F_i, F_star, grad, mean, norm_sq, w, w_i, w_i_star, w_star
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Gamma, L, eta, gap_t, mu, zeta_star_sq
from fedbounds.theory.verdict import Status

CLASS = (a.smooth, a.strongly_convex)
HALF = sp.Rational(1, 2)
kappa, CHI_ZETA = L / mu, pq.chi_sq * zeta_star_sq
stepped_gap = measured("stepped_gap", F(mean(w_i) - eta * mean(grad(w_i))) - F_star)
DRIFT = {"before": pq.average_models_gap, "descent": -eta / 2 * pq.average_models_slope_sq}
# name -> scope, left, right, further assumptions, and right sides under which it is false.
STATEMENTS = {
    "below-slopes": ("step", 2 * mu * (gap_t + Gamma), pq.slope_sq, (), [pq.slope_sq / 2]),
    "above-slopes": (
        "step",
        pq.slope_sq,
        2 * L * (gap_t + Gamma),
        (),
        [L * (gap_t + Gamma), 2 * mu * (gap_t + Gamma)],
    ),
    "below-Gamma": ("constant", mu / 2 * pq.optimum_spread, Gamma, (), [Gamma / 2]),
    "Gamma": (
        "constant",
        Gamma,
        L / 2 * pq.optimum_spread,
        (),
        [L / 4 * pq.optimum_spread, mu / 2 * pq.optimum_spread],
    ),
    "Gamma-slopes": ("constant", Gamma, zeta_star_sq / (2 * mu), (), [zeta_star_sq / (2 * L)]),
    "optima": (
        "constant",
        pq.optimum_to_mean,
        (kappa - 1) ** 2 / (4 * kappa) * pq.spread_of_optima,
        (),
        [(kappa - 1) / (4 * kappa) * pq.spread_of_optima],
    ),
    "diversity": (
        "step",
        pq.slope_sq,
        2 * zeta_star_sq + ((kappa + 1) ** 2 / (2 * kappa) - 1) * pq.mean_slope_sq,
        (),
        [2 * zeta_star_sq + ((kappa + 1) ** 2 / (4 * kappa) - 1) * pq.mean_slope_sq],
    ),
    "displaced": (
        "step",
        pq.displaced_sq,
        pq.chi_sq * zeta_star_sq / mu**2,
        (),
        [pq.chi_sq * zeta_star_sq / (mu * L)],
    ),
    "one minimiser": (
        "step",
        pq.slope_sq,
        (L + mu) ** 2 / (4 * L * mu) * pq.mean_slope_sq,
        (a.homogeneous,),
        [L / mu * sp.Rational(1, 4) * pq.mean_slope_sq],
    ),
    "drift": (
        "step",
        stepped_gap,
        sp.Add(*DRIFT.values(), eta * L**2 / 2 * pq.dispersion),
        (a.small_steps,),
        [sp.Add(*DRIFT.values(), eta * L * mu / 2 * pq.dispersion)],
    ),
}


def proved(scope, lhs, rhs, assumptions):
    claim = Claim("mine", "Mine", "a stranger", scope, lhs, {"all": sp.sympify(rhs)}, assumptions=assumptions)
    verdict = automatic.examine(claim, READINGS["plain"])
    return verdict is not None and verdict.status is Status.HOLDS


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_in_expressions_of_points_is_proved_and_a_changed_one_is_not(name):
    scope, lhs, rhs, more, false = STATEMENTS[name]
    assert proved(scope, lhs, rhs, (*CLASS, *more))
    assert not any(proved(scope, lhs, wrong, (*CLASS, *more)) for wrong in false)
    assert not more or not proved(scope, lhs, rhs, CLASS)


def test_convexity_alone_is_enough_where_nothing_is_said_of_mu():
    bound = 4 * L * gap_t + 2 * zeta_star_sq
    assert proved("step", pq.slope_sq, bound, (a.smooth, a.convex))
    assert not proved("step", pq.slope_sq, bound, (a.smooth,))
    assert not proved("step", pq.slope_sq, 3 * L * gap_t + 2 * zeta_star_sq, (a.smooth, a.convex))


def test_one_function_has_one_gradient_at_a_point_of_all_clients():
    values = measured("values", mean(F_i(w_i)) - F_star)
    for left, right, wrong in (
        (pq.average_models_gap, values - mu / 2 * pq.dispersion, values - mu * pq.dispersion),
        (values, pq.average_models_gap + L / 2 * pq.dispersion, pq.average_models_gap + mu / 2 * pq.dispersion),
    ):
        assert proved("step", left, right, (*CLASS, a.identical))
        assert not proved("step", left, right, CLASS)
        assert not proved("step", left, wrong, (*CLASS, a.identical))


@pytest.mark.parametrize("point", [w_i, w + w_i, w_i_star])
def test_one_function_has_other_gradients_at_points_of_each_client(point):
    claim = Claim("own", "", "", "step", sp.Integer(0), {"all": pq.slope_sq}, assumptions=(*CLASS, a.identical))
    last = step("conclude", 0, "<=", pq.slope_sq).by((pq.slope_sq, ONE), premise("one-function", point, w))
    proof = Derivation("own-proof", "", (last,), claim="own", readings=("plain",))
    assert "gives nothing" in automatic.check(proof, claim, READINGS["plain"]).fault


def _checks(quantity):
    """Whether the checker accepts 0 <= quantity, for no other reason than its sign."""
    claim = Claim("own", "", "", "step", sp.Integer(0), {"all": quantity}, assumptions=CLASS)
    last = step("conclude", claim.lhs, "<=", claim.rhs).by((quantity, ONE))
    proof = Derivation("own-proof", "", (last,), claim="own", readings=("plain",))
    shelf = verified_proofs.shelf({proof.key: proof}, {"own": claim})
    return not verified_proofs.check(proof.key, shelf, READINGS["plain"]).fault


def test_the_gate_takes_a_quantity_at_its_expression_and_at_nothing_else():
    assert _checks(pq.slope_sq)
    # A sign that the expression does not show, and a function that nobody can read.
    assert not _checks(measured("signed", F(w) - F_star, nonnegative=True))
    assert not _checks(measured("function", lambda path: path.eta, nonnegative=True))
    # An expression that was exchanged for one that is no number of the setting.
    tampered = measured("tampered", norm_sq(w))
    tampered.on_path = dataclasses.replace(tampered.on_path, expression=norm_sq(w_i))
    assert not _checks(tampered)


def test_what_a_quantity_means_is_not_carried_from_a_step_to_the_horizon():
    claim = Claim("own", "", "", "step", pq.slope_sq, {"all": 2 * L * (gap_t + Gamma)}, assumptions=CLASS)
    (result,) = automatic.proposals(claim, READINGS["plain"])
    assert not automatic.check(result, claim, READINGS["plain"]).fault
    with pytest.raises(InputError):
        dataclasses.replace(claim, scope="horizon")
    local = measured("local", norm_sq(mean(w_i) - w_star))
    at_end = Claim("own", "", "", "horizon", sp.Integer(0), {"all": local}, assumptions=CLASS)
    proof = Derivation(
        "p", "", (step("conclude", 0, "<=", local).by(premise("optimum", w)),), claim="own", readings=("plain",)
    )
    assert automatic.check(proof, at_end, READINGS["plain"]).fault
