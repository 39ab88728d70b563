"""The worst case of gradient descent is known in closed form (arXiv 2412.04427): the programme must find it."""

from fractions import Fraction as F

import numpy as np
import pytest

from fedbounds.evidence.sdp.multi_round.central_path import worst
from fedbounds.evidence.sdp.multi_round.lower_bound import attained
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.one_step.certificate import check, read
from fedbounds.evidence.sdp.one_step.coverage import coverage
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.plugins import claim_named, shipped
from fedbounds.study.worst_case import bounds

# Each certificate lies about one part in a million above the smallest.
ABOVE = 1e-5


def law(kappa, gamma, N):
    """(L/2) max(1/(1 + k ((1 - gamma mu)^(-2N) - 1)), (1 - gamma L)^(2N)) with L = 1."""
    return max(1 / (1 + kappa * ((1 - gamma / kappa) ** (-2 * N) - 1)), (1 - gamma) ** (2 * N)) / 2


@pytest.mark.parametrize("gamma", [F(1, 10), F(1, 2), F(1), F(3, 2), F(19, 10)])
@pytest.mark.parametrize("kappa", [2, 10, 50])
@pytest.mark.parametrize("N", [1, 2, 5])
def test_one_local_step_and_a_common_minimiser_is_gradient_descent(kappa, gamma, N):
    run = Run(N, 1, F(1, kappa), F(1), gamma, measure="gap")
    found, exact = worst(run, zeta_sq=F(0)), law(kappa, float(gamma), N)
    assert found.certified and exact * (1 - 1e-9) <= found.value <= exact * (1 + ABOVE)
    assert attained(run, 1.0, 0.0).value == pytest.approx(exact, rel=1e-4)
    stated = bounds(run, F(1), F(0))
    assert stated["gradient-descent"] == pytest.approx(exact, rel=1e-12)
    assert min(stated.values()) == stated["gradient-descent"]


def test_the_claim_is_about_one_local_step_of_less_than_2_over_L():
    assert "gradient-descent" not in bounds(Run(2, 2, F(1, 10), F(1), F(1, 2), measure="gap"), F(1), F(1))
    assert "gradient-descent" not in bounds(Run(2, 1, F(1, 10), F(1), F(1, 2), measure="average"), F(1), F(1))
    assert np.isfinite(bounds(Run(2, 1, F(1, 2), F(1), F(19, 10), measure="gap"), F(1), F(0))["gradient-descent"])


def test_its_certificates_cover_what_they_were_solved_for():
    """One client's steps stand for those of all; nothing is said of other numbers of steps or other steps."""
    claim = claim_named("gradient-descent")
    (path,) = shipped("certificates/gradient-descent.jsonl")
    covered = [coverage(claim, Setting.from_json(one.setting)) for one in read(path) if check(one)[0]]
    assert len(covered) == 48
    run = {
        "kappa": 10,
        "eta_L": 1,
        "T": 3,
        "tau": 1,
        "participation": 1,
        "gradients": "full",
        "N": 5,
        "weight_ratio": 1,
    }
    assert sum(one.contains(run) for one in covered) == 1
    for other in ({"tau": 2}, {"T": 4}, {"kappa": 11}, {"eta_L": F(11, 10)}, {"gradients": "stochastic"}):
        assert not any(one.contains(run | other) for one in covered)
