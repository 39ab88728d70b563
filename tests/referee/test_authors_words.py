"""What authors of theorems say, from the claim to the verdict of a trial: a false one refuted, a true one not."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.replay import replay
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import examine as in_fractions
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.evidence.prover import automatic
from fedbounds.referee.regimes import REGIMES, Suite, experiment, quadratics
from fedbounds.referee.search.family import Shape, decode, dimension, families
from fedbounds.referee.search.populations import BUDGETS, computed
from fedbounds.referee.search.populations import simulate as simulate_population
from fedbounds.referee.search.refute import refute
from fedbounds.referee.stage_context import Case
from fedbounds.referee.stages import certificates, read_back
from fedbounds.referee.trial import Outcome, try_claim
from fedbounds.theory import Claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]
TWO = from_json(
    {"curvatures": [1, 2], "minima": [-1, 1], "p": ["1/2", "1/2"], "w0": [0], "eta": ["1/4"] * 4, "tau": 2}
    | {"weighting": "fedavg", "noise": ["1/2", 0]}
)


def claim(lhs, rhs, *assumptions, scope="step", **more):
    return Claim("mine", "", "", scope, lhs, {"bound": rhs}, assumptions=assumptions, **more)


def outcome(mine, seconds=20):
    return try_claim(mine, seconds=seconds, suite=Suite(REGIMES[:4])).outcome


def at_trial(mine, suite=None):
    return Case(mine, PLAIN, "small", 0, suite or Suite(()))


DESCENT = (a.smooth, a.strongly_convex, a.full_gradients, a.full_participation, a.unbiased, a.constant_steps)
MOVED = measured("moved", at.mean(at.norm_sq(at.w_i_next - at.w_round)))
FIRST_SLOPES = measured("first_slopes", at.mean(at.norm_sq(at.grad(at.w_round))))
FROM_START = measured("from_start", at.norm_sq(at.w - at.w_0))


def test_local_models_after_a_step_and_the_start_of_a_round_are_points():
    """In k local steps a client moves by at most k eta ||grad F_i||, so squared; k alone is too little."""
    true = claim(MOVED, s.tau**2 * s.eta**2 * FIRST_SLOPES, *DESCENT, a.small_steps)
    false = claim(MOVED, s.tau * s.eta**2 * FIRST_SLOPES, *DESCENT, a.small_steps)
    quiet = TWO.with_(noise=(Fraction(0),) * 2)
    assert in_fractions(quiet, true, PLAIN).status is Status.HOLDS
    assert outcome(false) is Outcome.FALSE


def test_models_after_the_last_local_step_are_those_that_are_averaged():
    """With noise too, in fractions and on a run: sum_i p_i w_i_next is the next global model under FedAvg."""
    apart = measured("apart", at.norm_sq(at.w_next - at.mean(at.w_i_next)))
    same = claim(apart, 0 * s.L, *DESCENT[:2], a.unbiased)
    assert in_fractions(TWO, same, PLAIN).status is Status.HOLDS
    assert outcome(claim(apart, 0 * s.L, a.smooth, a.strongly_convex)) is Outcome.FALSE
    models = replay(experiment(quadratics([1, 2], [-1, 1], noise=1.0), [0.5], eta=0.25, tau=3, rounds=2))
    assert models.X_next.mean(axis=2) == pytest.approx(models.w["alpha"][:, 1:])


def test_certificates_name_the_point_that_they_lack():
    said = " ".join(read_back(at_trial(claim(MOVED, s.Delta))).lines)
    assert "they lack moved" in said and "Rocq cannot express moved" in said and "proofs cannot" not in said
    assert "proofs cannot express" not in " ".join(read_back(at_trial(claim(FROM_START, s.Delta))).lines)


SGD = (a.smooth, a.strongly_convex, a.bounded_variance, a.full_participation, a.unbiased)
ALONE = a.one_client
OFFSET = Assumption("offset", "gamma >= 1 + L/mu", sp.Ge(s.gamma, 1 + s.L / s.mu))


def test_an_offset_that_is_bounded_but_not_given_is_what_the_first_step_makes_it():
    """Both sides of SGD's 1/t: true with (T + gamma), false where all of it is squared."""
    right = sp.Max(4 * s.sigma_sq / s.mu**2, s.gamma * s.Delta_0) / (s.gamma + s.T)
    squared = sp.Max(4 * s.sigma_sq / s.mu**2, s.gamma**2 * s.Delta_0) / (s.gamma + s.T) ** 2
    steps = {"scope": "horizon", "eta": 2 / (s.mu * (s.t + s.gamma))}
    true, false = (claim(s.Delta_T, item, *SGD, ALONE, OFFSET, **steps) for item in (right, squared))
    assert true.definitions == {s.gamma: 2 / (s.mu * s.eta_0)}
    one = with_steps(
        from_json({"curvatures": [1], "minima": [0], "p": [1], "w0": [3], "eta": ["1/2"] * 3}), true.steps
    )
    assert in_fractions(one, true, PLAIN).status is Status.HOLDS
    assert outcome(false) is Outcome.FALSE


def test_a_constant_without_a_value_is_refused_with_what_to_write():
    with pytest.raises(InputError, match=r"must define gamma, .* give definitions="):
        claim(s.Delta_next, s.gamma * s.Delta)


def test_a_free_constant_has_another_value_in_another_problem():
    """Young: ||u + v||^2 <= (1 + c) ||u||^2 + (1 + 1/c) ||v||^2 for every c > 0, and not with 1/(2 c)."""
    c, u, v = s.free("c"), at.w_next - at.w_star, at.w - at.w_0
    both, first, second = (measured(n, at.norm_sq(x)) for n, x in (("both", u + v), ("first", u), ("second", v)))
    true, false = (claim(both, (1 + c) * first + (1 + k / c) * second) for k in (1, sp.Rational(1, 2)))
    assert in_fractions(TWO, true, PLAIN).status is Status.HOLDS
    assert outcome(false) is Outcome.FALSE
    lines = read_back(at_trial(true)).lines
    assert "c is any positive number: tried at one value a problem" in lines
    assert "proofs cannot express c" in lines


def test_an_equality_is_a_kind_of_claim():
    moved = measured("step_sq", at.mean(at.norm_sq(at.w_i_next - at.w_i)))
    right = s.eta**2 * s.QUANTITIES["models_slope_sq"]
    assert in_fractions(TWO.with_(noise=()), claim(moved, right, kind="identity"), PLAIN).status is Status.HOLDS
    assert outcome(claim(moved, 2 * right, kind="identity")) is Outcome.FALSE


def test_of_losses_whose_mean_alone_is_strongly_convex_one_may_have_no_minimum():
    """||grad F_i(w) - grad F_i(w*)||^2 <= 2 L gap needs every F_i convex; with L/mu_F more it does not."""
    apart = measured("apart", at.mean(at.norm_sq(at.grad(at.w) - at.grad(at.w_star))))
    false = claim(apart, 2 * s.L * s.gap_t, a.smooth, a.mean_strongly_convex)
    true = claim(apart, 2 * s.L**2 / s.mu_F * s.gap_t, a.smooth, a.mean_strongly_convex)
    assert outcome(false) is Outcome.FALSE
    bent = TWO.with_(curvatures=((Fraction(2),), (Fraction(-1),)), noise=())
    assert in_fractions(bent, true, PLAIN).status is Status.HOLDS
    assert s.mu_F.on_path(bent.losses) == Fraction(1, 2)
    each = claim(apart, 2 * s.L * s.gap_t, a.smooth, a.strongly_convex)
    assert in_fractions(bent, each, PLAIN).status is Status.NOT_APPLICABLE
    assert not any("certified" in line for line in certificates(at_trial(true)).lines)


def test_a_claim_about_minima_says_nothing_where_a_loss_has_none():
    bent = TWO.with_(curvatures=((Fraction(2),), (Fraction(-1),)), noise=())
    about = claim(s.zeta_star_sq, 2 * s.L * s.Gamma, a.smooth, scope="constant")
    assert in_fractions(bent, about, PLAIN).status is Status.NOT_APPLICABLE


def test_the_read_back_says_that_a_number_bounds_the_steps_from_outside():
    mine = claim(s.Delta_next, s.Delta, a.smooth, a.strongly_convex, a.steps_up_to_2_over_L_plus_mu)
    assert "eta L at every step <= 2, and there only eta_t <= 2/(L + mu);" in read_back(at_trial(mine)).lines[0]
    small = claim(s.Delta_next, s.Delta, a.smooth, a.strongly_convex, a.small_steps)
    assert "there only" not in read_back(at_trial(small)).lines[0]


@pytest.mark.parametrize("assumption", [a.projection, a.own_local_steps])
def test_what_no_run_does_is_refused_by_its_name(assumption):
    mine = claim(s.Delta_next, s.Delta, *DESCENT, assumption)
    with pytest.raises(InputError, match=f"not expressible, but received {assumption.key}"):
        try_claim(mine)
    assert automatic.proved(mine, PLAIN) is None


def test_clients_drawn_by_p_with_replacement_are_averaged_to_the_mean_with_a_variance_by_m():
    """E||w_next - wbar||^2 is the variance of the models under p, over m; and not over m^2."""
    off = measured("off", at.norm_sq(at.w_next - at.mean(at.w_i_next)))
    spread = measured("spread", at.mean(at.norm_sq(at.w_i_next - at.mean(at.w_i_next))))
    equal, less = (claim(off, spread / s.m**k, a.with_replacement, kind="identity") for k in (1, 2))
    drawn = TWO.with_(p=(Fraction(1, 3), Fraction(2, 3)), noise=(), weighting="multinomial:2")
    assert in_fractions(drawn, equal, PLAIN).status is Status.HOLDS
    assert in_fractions(drawn.with_(weighting="fedavg"), equal, PLAIN).status is Status.NOT_APPLICABLE
    assert outcome(less) is Outcome.FALSE


@pytest.mark.parametrize("gap", [s.average_gap])
def test_the_gap_at_an_average_is_that_of_each_member_of_a_population(gap):
    mine = claim(gap, s.L * s.Delta_0, a.smooth, scope="horizon")
    for shape in (
        Shape("diagonal", 2, 2, 2, 2, "fedavg", "free", noise="additive"),
        Shape("diagonal", 2, 1, 1, 6, "fedavg", "free", absent=1),
        Shape("long-runs", 2, 1, 5, 50, "fedmax", "constant"),
        Shape("diagonal", 2, 1, 2, 2, "multinomial:2", "constant"),
    ):
        family = families()[shape.family]
        cube = np.random.default_rng(0).random((3, dimension(shape, family)))
        run = simulate_population(decode(shape, family, cube, mine))
        members = [run.member(mine, PLAIN.virtual, k).fields[gap.name] for k in range(3)]
        assert computed(run, mine, PLAIN).fields[gap.name] == pytest.approx(np.array(members, dtype=float))


def test_a_drift_that_shows_after_many_local_steps_refutes_a_theorem_on_averages():
    """(tau - 1) for (tau - 1)(2 tau - 1) is enough up to five local steps."""
    given = (a.smooth, a.convex, a.bounded_gradient, a.full_gradients, a.full_participation, a.unbiased)
    start = s.Delta_0 / (s.eta_0 * s.T)
    false = start + s.eta_0**2 * s.L * s.G_sq * (s.tau - 1) / 4
    mine = claim(s.average_gap, false, *given, a.quarter_steps, scope="horizon", eta=s.eta_0)
    only = replace(families()["long-runs"], lengths={"horizon": ((50, 2),)}, losses=("any",), noises=("",))
    budget = replace(BUDGETS["small"], polish=1, shrink=1000)
    assert refute(mine, PLAIN, budget, by_family={"long-runs": only}).status is Status.REFUTED


def test_clients_that_share_equally_need_equal_p():
    """Of unequal p the plain mean of the clients has another limit than w*; FedAvg on them hides it."""
    base = (a.smooth, a.strongly_convex, a.full_gradients, a.without_replacement, a.one_local_step, a.small_steps)
    floor = (1 - s.eta * s.mu) * s.Delta + s.eta**2 * s.G_sq * (s.N - s.m) / (s.m * (s.N - 1))
    given = (*base, a.bounded_gradient, Assumption("two", "N >= 2", sp.Ge(s.N, 2)))
    trial = try_claim(claim(s.Delta_next, floor, *given), seconds=20, suite=Suite(REGIMES[:4]))
    assert trial.outcome is Outcome.FALSE
    assert trial.refutation.data["instance"]["weighting"] == "uniform"
