"""The page of the zoo says what the studies recorded, and the records are what a run finds."""

import json

import numpy as np
import pytest

from fedbounds.engine.iterates import run_algorithm
from fedbounds.plugins import algorithm_named, algorithms
from fedbounds.testing.conformance.exact_round_law import conforms
from validate import conformance, zoo


def kept(name):
    return json.loads((zoo.RESULTS / f"{name}.json").read_text())


def test_the_page_shows_the_records():
    page = zoo.PAGE.read_text(encoding="utf-8")
    assert zoo.written(page) == page


def test_the_curves_are_found_again():
    curves, setting = kept("zoo")["full"], zoo.experiment(None, 1)
    assert set(curves) == set(algorithms())
    for key in ("fedavg", "scaffold", "scaffnew"):
        result = run_algorithm(algorithm_named(key), setting.with_(rounds=40)).distance_sq[0]
        np.testing.assert_allclose(result / result[0], curves[key][:41], rtol=1e-3)


def test_only_corrected_algorithms_fall_without_end_at_full_gradients():
    linear = {key for key, curve in kept("zoo")["full"].items() if np.isfinite(zoo.rate(curve))}
    assert linear == {"minibatch", "scaffnew", "scaffold", "sgd"}


def test_no_right_implementation_was_refused_and_every_slip_was():
    rows = kept("conformance")
    wrong = [row for row in rows if row["slip"]]
    assert {(row["algorithm"], row["slip"]) for row in wrong} == {
        (text, slip) for text in conformance.WRITTEN for slip in conformance.slips(text)
    }
    assert len(wrong) >= 20 and all(row["refused"] == row["named"] == row["tried"] for row in wrong)
    assert not any(row["refused"] for row in rows if not row["slip"])


@pytest.mark.parametrize("which", [3, 70])
def test_a_row_of_the_matrix_is_found_again(which):
    row = [row for row in kept("conformance") if row["slip"]][which]
    result = conforms(conformance.by_hand(row["slip"]), row["algorithm"])
    assert " / ".join(result.slips) in row["words"]
