"""The page of the zoo says what the studies recorded, and the records are what a run finds."""

import numpy as np
import pytest

from fedbounds.engine.replay import run_algorithm
from fedbounds.plugins import algorithm_named, algorithms
from fedbounds.testing.round_conformance import conforms
from validate import conformance, frameworks, zoo

CURVES, ROWS = zoo.STUDY.stored()["full"], conformance.STUDY.stored()


def test_the_page_shows_the_records():
    for study in (zoo.STUDY, conformance.STUDY, frameworks.STUDY):
        page = study.page.read_text(encoding="utf-8")
        assert study.written(page, study.stored()) == page


def test_the_curves_are_found_again():
    curves, setting = CURVES, zoo.experiment(None, 1)
    assert set(curves) == set(algorithms())
    for key in ("fedavg", "scaffold", "scaffnew"):
        result = run_algorithm(algorithm_named(key), setting.with_(rounds=40)).distance_sq[0]
        np.testing.assert_allclose(result / result[0], curves[key][:41], rtol=1e-3)


def test_only_corrected_algorithms_fall_without_end_at_full_gradients():
    linear = {key for key, curve in CURVES.items() if np.isfinite(zoo.rate(curve))}
    assert linear == {"minibatch", "scaffnew", "scaffold", "sgd"}


def test_no_right_implementation_was_refused_and_every_slip_was():
    wrong = [row for row in ROWS if row["slip"]]
    assert {(row["algorithm"], row["slip"]) for row in wrong} == {
        (text, slip) for text in conformance.WRITTEN for slip in conformance.slips(text)
    }
    assert len(wrong) >= 20 and all(row["refused"] == row["named"] == row["tried"] for row in wrong)
    assert not any(row["refused"] for row in ROWS if not row["slip"])


@pytest.mark.parametrize("which", [3, 70])
def test_a_row_of_the_matrix_is_found_again(which):
    row = [row for row in ROWS if row["slip"]][which]
    result = conforms(conformance.by_hand(row["slip"]), row["algorithm"])
    assert " / ".join(result.slips) in row["words"]
