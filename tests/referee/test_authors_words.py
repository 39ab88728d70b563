"""What authors of theorems say, from the claim to the verdict of a trial: a false one refuted, a true one not."""

from fractions import Fraction

import pytest

from fedbounds.engine.replay import replay
from fedbounds.evidence.exact.compare import examine as in_fractions
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.referee.case import Case
from fedbounds.referee.regime import Suite, experiment, line
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.stages import read_back
from fedbounds.referee.trial import Outcome, try_claim
from fedbounds.theory import Claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import points as at
from fedbounds.theory import symbols as s
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


def test_the_start_of_a_run_is_a_point():
    assert outcome(claim(FROM_START, s.Delta_0, *DESCENT, a.small_steps)) is Outcome.FALSE
    true = claim(FROM_START, 4 * s.Delta_0, *DESCENT, a.identical, a.small_steps)
    one = TWO.with_(curvatures=((Fraction(1),),) * 2, minima=((Fraction(1),),) * 2, noise=(Fraction(0),) * 2)
    assert in_fractions(one, true, PLAIN).status is Status.HOLDS


def test_models_after_the_last_local_step_are_those_that_are_averaged():
    """With noise too, in fractions and on a run: sum_i p_i w_i_next is the next global model under FedAvg."""
    apart = measured("apart", at.norm_sq(at.w_next - at.mean(at.w_i_next)))
    same = claim(apart, 0 * s.L, *DESCENT[:2], a.unbiased)
    assert in_fractions(TWO, same, PLAIN).status is Status.HOLDS
    assert outcome(claim(apart, 0 * s.L, a.smooth, a.strongly_convex)) is Outcome.FALSE
    models = replay(experiment(line([1, 2], [-1, 1], noise=1.0), [0.5], eta=0.25, tau=3, rounds=2))
    assert models.X_next.mean(axis=2) == pytest.approx(models.w["alpha"][:, 1:])


def test_certificates_name_the_point_that_they_lack():
    said = " ".join(read_back(Case(claim(MOVED, s.Delta), PLAIN, "small", 0, Suite(()))).lines)
    assert "lack moved" in said and "proofs cannot express moved" in said
    assert "proofs cannot express" not in " ".join(
        read_back(Case(claim(FROM_START, s.Delta), PLAIN, "small", 0, Suite(()))).lines
    )


def test_every_shipped_quantity_is_imported_from_one_place():
    assert {name for name in s.QUANTITIES if not hasattr(s, name)} == set()
