"""How the paper's claims are judged, on numbers whose answer is known."""

import numpy as np
import pytest
from made_runs import climbing, record

from fedbounds.vision.records import from_json
from validate.vision import estimates, verdicts
from validate.vision.experiments import grid
from validate.vision.stored import Stored
from validate.vision.verdicts import NOT, OPPOSITE, REPRODUCED, UNDECIDED

SOFT = "fedsoftmax:0.2"


def made(name, weighting, repetition, accuracy, **other):
    """A run of the grid's settings with these accuracies."""
    result = record(accuracy, weighting, repetition)
    return from_json({**result, "settings": grid()[name].settings.to_json(), "seed": 0, **other}, "made")


def pair(name, base, soft):
    """Runs of FedAvg and FedSoftMax with these R_90."""
    both = (("fedavg", base), (SOFT, soft))
    return [made(name, weighting, k, climbing(r)) for weighting, values in both for k, r in enumerate(values)]


def judged(claim, **folders):
    """where -> verdict of a claim's cases, of records by folder (underscores for dashes)."""
    named = {name.replace("_", "-"): result for name, result in folders.items()}
    stored = Stored(grid(), {name: named.get(name, []) for name in grid()})
    return {
        item.case.where: item.verdict for item in verdicts.judge(verdicts.claims(stored)) if item.case.claim == claim
    }


@pytest.mark.parametrize(
    ("values", "p", "verdict"),
    [
        ([-3, -2, -4, -3, -2, -3], 0.01, REPRODUCED),
        ([-3, -2, -4, -3, -2, -3], 0.06, UNDECIDED),
        ([3, 2, 4, 3, 2, 3], 0.01, OPPOSITE),
        ([-3, 3, -9, 9, -3, 3], 0.01, UNDECIDED),
    ],
)
def test_direction(values, p, verdict):
    result = estimates.paired(values, values)[0]
    assert verdicts.directional(result, p, sign=-1, size=2.5) == verdict
    turned = estimates.paired(np.negative(values), np.negative(values))[0]
    assert verdicts.directional(turned, p, sign=1, size=2.5) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([0.1, -0.2, 0.0, 0.1] * 2, REPRODUCED), ([3.0, 3.1, 2.9] * 2, NOT), ([0.1, -0.2, 0.0, 0.1, 0.0], UNDECIDED)],
)
def test_margin(values, verdict):
    assert verdicts.inside(estimates.mean(values), -1, 1) == verdict


def test_six_pairs_cannot_pass_among_several_tests_and_ten_can():
    for count, verdict in ((6, UNDECIDED), (10, REPRODUCED)):
        folders = {
            "mnist_niid": pair("mnist-niid", [13, 12, 14, 13, 15] * 2, [10, 10, 11, 11, 12] * 2),
            "mnist_tniid": pair("mnist-tniid", [25, 26, 24, 25, 26] * 2, [17, 18, 17, 16, 18] * 2),
        }
        kept = {name: [run for run in group if run.repetition < count] for name, group in folders.items()}
        assert judged("faster", **kept) == {f"NIID, {SOFT}": verdict, f"TNIID, {SOFT}": verdict}


def test_faster_slower_and_the_same():
    folders = {
        "mnist_niid": pair("mnist-niid", [13, 12, 14, 13, 15] * 2, [10, 10, 11, 11, 12] * 2),
        "mnist_tniid": pair("mnist-tniid", [15, 16, 14, 15, 15] * 2, [17, 18, 17, 16, 18] * 2),
        "mnist_iid": pair("mnist-iid", [20, 21, 20, 19, 20] * 2, [20, 21, 21, 19, 20] * 2),
    }
    assert judged("faster", **folders) == {f"NIID, {SOFT}": REPRODUCED, f"TNIID, {SOFT}": OPPOSITE}
    assert judged("same-iid", **folders) == {f"IID, {SOFT}": REPRODUCED}
    assert judged("more-skew", **folders) == {"NIID against IID": REPRODUCED, "TNIID against NIID": OPPOSITE}


def test_a_claim_has_its_worst_verdict_and_extras_do_not_count():
    def outcome(verdict, extra=False):
        case = verdicts.Judged("faster", "", "", "", None, lambda _: verdict, extra)
        return verdicts.judge([case])[0]

    cases = [outcome(REPRODUCED), outcome(NOT)]
    assert verdicts.overall(cases) == NOT
    assert verdicts.overall([cases[0], outcome(OPPOSITE, extra=True)]) == REPRODUCED
    assert verdicts.overall([]) == UNDECIDED
