"""Certificates of gradient descent: one client's steps stand for those of all."""

from fractions import Fraction as F

from fedbounds.evidence.sdp.one_step.certificate import check, read
from fedbounds.evidence.sdp.one_step.coverage import coverage
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.plugins import claim_named, shipped


def test_they_cover_the_steps_they_were_solved_for_and_no_others():
    claim = claim_named("gradient-descent")
    (path,) = shipped("certificates/gradient-descent.jsonl")
    covered = [coverage(claim, Setting.from_json(one.setting)) for one in read(path) if check(one)[0]]
    assert len(covered) == 48
    run = {"kappa": 10, "eta_L": 1, "T": 3, "tau": 1, "participation": 1, "gradients": "full", "N": 5}
    assert sum(one.contains(run) for one in covered) == 1
    for other in ({"tau": 2}, {"T": 4}, {"kappa": 11}, {"eta_L": F(11, 10)}, {"gradients": "stochastic"}):
        assert not any(one.contains(run | other) for one in covered)
