"""The map of when biased aggregation helps: its stored cells, docs/design.md, and why it cannot help."""

from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest

import fedbounds
from fedbounds.engine.simulate import simulate
from fedbounds.evidence.sdp.multi_round.lower_bound import attained, experiment, instance
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.io import read_json
from fedbounds.weightings.fedsoftmax import FedSoftMax
from validate.biased_map import KAPPAS, NAMES, ROUNDS, TAUS, ZETAS, cell, title

ROOT = Path(__file__).parent.parent.parent
ROWS = read_json(ROOT / "validate" / "results" / "biased_map.json")
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
HALVES = (Q(1, 2), Q(1, 2))


def test_the_stored_map_and_the_page():
    worse = [row for row in ROWS if row["answer"] == "worse"]
    assert len({tuple(row[name] for name in NAMES) for row in ROWS}) == len(ROWS)
    assert len(ROWS) == len(KAPPAS) * len(TAUS) * len(ROUNDS) * len(ZETAS)
    assert all(row["certified"] and row["from"] <= row["to"] and row["answer"] != "better" for row in ROWS)
    assert f"{len(worse)} of {len(ROWS)} cells" in PAGE and f"{len(worse)} of {len(ROWS)}" in title(ROWS)
    far = next(row for row in ROWS if [row[name] for name in NAMES] == [10, 4, 8, 0.1])
    assert f"between {far['from']:.2f} and {far['to']:.1f} times" in PAGE


@pytest.mark.parametrize("at", [(2, 2, 2, Q(1, 10))])
def test_a_cell_is_computed_again(at):
    (row,) = (row for row in ROWS if tuple(row[name] for name in NAMES) == (*at[:3], float(at[3])))
    again = cell(*at)
    assert [again[name] for name in ("from", "to")] == pytest.approx([row[name] for name in ("from", "to")], rel=1e-4)
    assert again["answer"] == row["answer"] == "worse"


@pytest.mark.parametrize("rule", [FedSoftMax(0.3)])
def test_on_mirror_images_such_a_rule_is_fedavg(rule):
    """The clients that attain FedAvg's worst case have equal gaps at every round's start."""
    run = Run(3, 4, Q(1, 10), Q(1), Q(1))
    shape = np.array(attained(run).shape)
    problem, start = instance(run, shape, 1.0), np.array([np.cos(shape[4]), np.sin(shape[4])])
    biased = Run(3, 4, Q(1, 10), Q(1), Q(1), (Q(1), Q(0)), HALVES, (Q(0), Q(2)), rule)
    paths = [simulate(experiment(each, problem, start), record="distance").distance_sq for each in (run, biased)]
    assert paths[1] == pytest.approx(paths[0], rel=1e-9)


def test_rules_and_ratios():
    """FedMax on copies of clients is FedMax on the clients; ratios alone bound more than p does."""
    at = {"rounds": 2, "tau": 2, "kappa": 10, "step": 1}
    (two,), (four,) = (
        fedbounds.worst(**at, weights=rule, p=p)
        for rule, p in (("fedmax", "1/2,1/2"), ("fedmax:2", "1/4,1/4,1/4,1/4"))
    )
    assert two.worst == pytest.approx(four.worst, rel=1e-5) and two.lower == pytest.approx(four.lower, rel=1e-6)
    (soft,), (ratios,) = (
        fedbounds.worst(**at, weights=weights, p=p) for weights, p in (("fedsoftmax:0.5", "1/2,1/2"), ("0..2", ""))
    )
    (less,) = fedbounds.worst(**at, weights="1/2..3/2")
    assert soft.lower < two.lower < two.worst <= ratios.worst * (1 + 1e-6) and less.worst < ratios.worst
    assert two.certified and ratios.certified and less.lower <= less.worst and two.above
