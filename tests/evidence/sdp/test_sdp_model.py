"""The one-round model: real problems lie in it, both arithmetic agree, recorded proofs hold, bad settings do not."""

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.sdp import solver
from fedbounds.evidence.sdp.one_step.certificate import check
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.program import build, size
from fedbounds.evidence.sdp.one_step.tight_constants import tight
from fedbounds.evidence.sdp.program import Expression
from fedbounds.evidence.sdp.solver import Solved, worst_case
from fedbounds.evidence.sdp.symmetry import exchange
from fedbounds.plugins import claim_named
from validate.appendix import certify_appendix

# Solvers stop at 1e-8; values of the order of 1 agree to a little less.
SOLVER = 1e-6
SKEWED = {"alpha": (F(9, 10), F(1, 10)), "p": (F(1, 2), F(1, 2)), "rho_bar": F(3, 2)}


class TestModel:
    def test_real_problems_lie_in_the_model(self):
        """The Gram matrix of a quadratic problem satisfies every constraint, and the forms are its numbers."""
        rng = np.random.default_rng(0)
        chosen = round_setting(3, 3, kappa=10, alpha=(F(1, 2), F(1, 4), F(1, 4)), rho_bar=F(3, 4))
        model = build(chosen)
        H = np.stack([np.diag(rng.uniform(0.1, 1, 4)) for _ in range(3)])
        minima = rng.standard_normal((3, 4))
        star = np.linalg.solve(H.mean(0), np.einsum("nij,nj->i", H, minima) / 3)
        minima -= star
        vectors, values = {"w0": np.ones(4)}, {"G_sq": 1e3}
        local = np.tile(vectors["w0"], (3, 1))
        alpha = np.array([0.5, 0.25, 0.25])

        def gradient(i, x):
            return H[i] @ (x - minima[i])

        def value(i, x):
            return (x - minima[i]) @ gradient(i, x) / 2

        for k, step in enumerate(chosen.eta):
            slopes = [gradient(i, local[i]) for i in range(3)]
            for i in range(3):
                vectors[f"g{i}.{k}"], values[f"f{i}.{k}"] = slopes[i], value(i, local[i])
                vectors[f"h{i}.{k}"], values[f"v{i}.{k}"] = gradient(i, alpha @ local), value(i, alpha @ local)
            before, middle, local = local, alpha @ local, local - float(step) * np.array(slopes)
        for i in range(3):
            vectors[f"s{i}"], vectors[f"u{i}"], values[f"e{i}"] = gradient(i, 0 * star), minima[i], value(i, 0 * star)
        frame = np.stack([vectors[name] for name in model.basis])
        gram, z = frame @ frame.T, np.array([values[name] for name in model.scalars])
        slack = np.einsum("mij,ij->m", model.quad, gram) + model.lin @ z
        natural = [not label.startswith("rho") for label in model.labels]
        assert slack[natural].min() > -1e-9

        def number(name):
            quad, lin = model.form(model[name])
            return (quad * gram).sum() + lin @ z

        assert number("Delta") == pytest.approx(middle @ middle)
        assert number("Delta_next") == pytest.approx((alpha @ local) @ (alpha @ local))
        assert number("Gamma") == pytest.approx(np.mean([value(i, 0 * star) for i in range(3)]))
        at_local, at_star = (np.array([value(i, x[i]) for i in range(3)]) for x in (before, 0 * before))
        spread, ends = ((before - middle) ** 2).sum(-1), [gradient(i, 0 * star) for i in range(3)]
        told = {
            "local_excess": alpha @ at_local,
            "local_gap": alpha @ (at_local - at_star),
            "local_pull": alpha @ (before * slopes).sum(-1),
            "pull": middle @ (alpha @ slopes),
            "mean_slope_sq": (alpha @ slopes) @ (alpha @ slopes),
            "Delta_start": 4.0,
            "drift": alpha @ spread,
            "spread": spread.mean(),
            "own": at_star.mean(),
            "star_grad_sq": np.mean([s @ s for s in ends]),
            "grad_sq": slopes[0] @ slopes[0],
            "excess": at_local[0],
        }
        assert {name: number(name) for name in told} == pytest.approx(told)

    def test_unbounded_and_empty_problems_are_said_to_be_so(self):
        model = build(round_setting(2, 1))
        nothing = Expression()
        assert worst_case(model, model["Delta"], [model["drift"]]).outcome is not Solved.OPTIMAL
        assert worst_case(model, nothing, [size(model)]).value == pytest.approx(0, abs=SOLVER)


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


class TestAppendix:
    @pytest.mark.parametrize("weights", [SKEWED])
    @pytest.mark.parametrize("name", ["A_1", "A_3", "A_5"])
    def test_the_bounds_hold_at_the_corollary_s_steps(self, name, weights):
        certificate = certify_appendix(name, round_setting(2, 2, **weights))
        assert certificate is not None and check(certificate) == (True, "verified")


QUARTERS = (F(1, 4), F(1, 4), F(1, 2))
PAIRS = (F(1, 8), F(1, 8), F(3, 8), F(3, 8))
PAIRED = round_setting(4, 2, alpha=PAIRS, rho_tilde=F(6, 5))
SETTINGS = {
    "equal": round_setting(4, 2),
    "a pair": round_setting(3, 3, alpha=QUARTERS, p=QUARTERS),
    "two pairs": PAIRED,
    "two pairs, any models": replace(PAIRED, local="any"),
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
    for kappa in (50, 200):
        result = tight(claim_named("lemma-2"), round_setting(2, 4, kappa=kappa), "drift")
        assert result.solver < float(result.certified) < result.solver + 3e-6
