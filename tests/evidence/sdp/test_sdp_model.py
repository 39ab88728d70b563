"""The one-round model: real problems lie in it, both arithmetic agree, recorded proofs hold, bad settings do not."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.sdp import solver
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.program import build, size
from fedbounds.evidence.sdp.one_step.tight_constants import tight
from fedbounds.evidence.sdp.program import Expression
from fedbounds.evidence.sdp.solver import Solved, worst_case
from fedbounds.evidence.sdp.symmetry import exchange
from fedbounds.plugins import claim_named

# Solvers stop at 1e-8; values of the order of 1 agree to a little less.
SOLVER = 1e-6
SKEWED = {"alpha": (F(9, 10), F(1, 10)), "p": (F(1, 2), F(1, 2)), "rho_bar": F(3, 2)}


class TestInput:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"alpha": (F(1, 2), F(1, 3))},
            {"alpha": (F(3, 2), F(-1, 2))},
            {"p": (F(1),), "alpha": (F(1, 2), F(1, 2))},
            {"kappa": 1},
            {"reading": "nonsense"},
            {"rho_bar": F(5)},
            {"rho_bar": F(-1)},
            {"rho_tilde": F(1, 10)},
            {"step": 9},
            {"eta": F(0)},
            {"local": "any", "reading": "literal"},
            {"alpha": (), "p": ()},
            {"local": "some"},
        ],
    )
    def test_bad_settings_are_one_clear_sentence(self, wrong):
        with pytest.raises(InputError, match="but received"):
            round_setting(**{"clients": 2, "tau": 2, **wrong})

    @pytest.mark.parametrize(
        ("given", "gradients"), [({}, "some"), ({"reading": "literal"}, "stochastic"), ({"step": 1}, "stochastic")]
    )
    def test_gradients_that_a_setting_cannot_have_too(self, given, gradients):
        with pytest.raises(InputError, match="but received"):
            replace(round_setting(2, 2, **given), gradients=gradients)

    def test_settings_survive_json(self):
        chosen = round_setting(2, 3, rho_tilde=F(8, 5), **SKEWED)
        assert Setting.from_json(chosen.to_json()) == chosen


QUARTERS = (F(1, 4), F(1, 4), F(1, 2))
PAIRS = (F(1, 8), F(1, 8), F(3, 8), F(3, 8))
PAIRED = round_setting(4, 2, alpha=PAIRS, rho_tilde=F(6, 5))
SETTINGS = {
    "a pair": round_setting(3, 3, alpha=QUARTERS, p=QUARTERS),
    "two pairs": PAIRED,
    "noise": replace(PAIRED, local="any", gradients="stochastic"),
    "two of four": replace(PAIRED, alpha=(*QUARTERS[::-1], F(0)), rho_bar=F(0)),
}


def asked(setting):
    model = build(setting)
    names = ("Delta_start", "star_grad_sq", "G_sq", "Gamma", "spread", "sigma_sq")
    return (
        model,
        model["Delta_next"],
        [model[name] for name in names[: 5 + (setting.gradients == "stochastic")]],
    )


def test_nothing_is_no_worst_case():
    """Where the unit is 0 all over the class there is none; of nothing it is 0."""
    model = build(round_setting(2, 1))
    assert worst_case(model, model["Delta"], [model["drift"]]).outcome is not Solved.OPTIMAL
    assert worst_case(model, Expression(), [size(model)]).value == pytest.approx(0, abs=SOLVER)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_worst_case_is_that_of_the_whole_programme(name, monkeypatch):
    model, left, against = asked(SETTINGS[name])
    small = worst_case(model, left, against, "nonneg")
    size = len(exchange(model, left, *against).orbits)
    monkeypatch.setattr(solver, "exchange", lambda model, *forms: exchange(model, any_client=False))
    large = worst_case(model, left, against, "nonneg")
    assert small.outcome == large.outcome == Solved.OPTIMAL
    assert size < len(model.labels)
    assert small.value == pytest.approx(large.value, rel=1e-7)
    slack = np.einsum("mij,ij->m", model.quad, small.gram) + model.lin @ small.values
    assert min(slack.min(), np.linalg.eigvalsh(small.gram)[0]) > -1e-6
    quad, lin = model.form(left)
    assert (quad * small.gram).sum() + lin @ small.values == pytest.approx(small.value, rel=1e-6)
    rest, paid = model.form(sum((y * item for y, item in zip(small.y, against, strict=True)), -left))
    rest = rest - np.einsum("m,mij->ij", small.multipliers, model.quad)
    assert small.multipliers.min() > -1e-9 and np.linalg.eigvalsh(rest)[0] > -1e-7
    np.testing.assert_allclose(small.multipliers @ model.lin, paid, atol=1e-7)


def test_more_equal_clients_make_the_programme_no_larger():
    few, many = (exchange(build(round_setting(N, 2))) for N in (3, 9))
    assert few.sizes == many.sizes and few.shared.shape[1] == many.shared.shape[1]
    assert len(few.orbits) == len(many.orbits)


def test_a_tight_constant_is_proved_to_seven_digits_along_kappa():
    """At the solver's own accuracy of 1e-8 the proofs just above the constant were lost in rounding."""
    result = tight(claim_named("lemma-2"), round_setting(2, 4, kappa=200), "drift")
    assert result.solver < float(result.certified) < result.solver + 3e-6
