"""The theorems' page is that of its records, their evidence holds up, and false variants are refuted."""

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
import sympy as sp

from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import claim_named
from fedbounds.theory.symbols import zeta_star_sq
from fedbounds.weightings.fedavg import FedAvg
from validate import theorem_others as evidence
from validate.theorem_others import potential_attained, scaffnew_runs
from validate.theorem_runs import problems
from validate.theorems import ON_FEDAVG, PAGE, PAGES, pages, recorded

SCAFFNEW, SGD = claim_named("mishchenko-2022"), claim_named("pepit-sgd-step")


def test_the_pages_show_the_records():
    for path, text in pages(recorded()).items():
        assert path.read_text(encoding="utf-8") == text, path
    assert set(PAGES.iterdir()) == pages(recorded()).keys() - {PAGE}
    assert len(recorded()) >= 11
    assert {key for _, keys, _ in ON_FEDAVG for key in keys} <= {key for item in recorded() for key in item.keys}


def test_no_recorded_theorem_is_refuted_and_the_page_says_so():
    assert not any("refuted" in item.verdict and "not refuted" not in item.verdict for item in recorded())


def skew(minima, selected, at):
    """rho of equal weights on the selected clients of curvature 1 and equal p, at a point."""
    gaps = [(at - Q(minimum)) ** 2 for minimum in minima]
    return sum(gaps[i] for i in selected) / len(selected) / (sum(gaps) / len(gaps))


def test_the_skew_of_a_selection_over_all_pairs_of_points():
    """FedMax: 0. FedMax(2): 1/4, the least value, as rho - 1/4 times the mean of (w' - m)^2 is (3 w' + 2)^2/12."""
    assert skew((1, -1), (1,), Q(-1)) == 0
    minima, pair = (-1, 0, 1), (0, 1)
    assert skew(minima, pair, Q(-2, 3)) == Q(1, 4)
    for at in (Q(k, 7) for k in range(-40, 40)):
        assert (skew(minima, pair, at) - Q(1, 4)) * sum((at - m) ** 2 for m in minima) / 3 == (3 * at + 2) ** 2 / 12
    assert all(skew(minima, (0, 2), Q(k, 7)) >= 1 for k in range(-40, 40))
    far = np.exp([(10.0 - m) ** 2 / 2 / 5 for m in minima])
    farther = np.exp([(100.0 - m) ** 2 / 2 / 5 - 1000 for m in minima])
    assert (farther / farther.sum())[1:].max() < 1e-6 < (far / far.sum())[1:].max()


@pytest.mark.parametrize("N, step, mu, R, zeta", [(3, 1.0, 0.5, 0.1, 1)])
def test_the_step_of_sgd_is_attained(N, step, mu, R, zeta):
    assert evidence.attained(SGD, N, step, 1.0, mu, R, zeta) == pytest.approx(1, abs=1e-9)


def test_smaller_constants_in_the_step_of_sgd_are_refuted_by_the_attaining_instances():
    less = replace(SGD, terms={"step": sp.Rational(999, 1000) * SGD.terms["step"]})
    assert evidence.attained(less, 3, 0.7, 1.0, 0.2, 1.0, 1.0) < 1


def test_scaffnew_is_not_refuted_and_its_potential_is_attained():
    for _, experiment in scaffnew_runs():
        assert evidence.tried(SCAFFNEW, experiment)[0] == evidence.NOT_REFUTED
    assert potential_attained() == pytest.approx(1, abs=1e-12)


def test_enumerated_coins_give_the_mean_of_replicates():
    _, run = next(scaffnew_runs())
    many = evidence.run_algorithm(evidence.algorithm_named("scaffnew"), run.with_(replicates=4000)).distance_sq
    exact = evidence.coins_of_scaffnew(run)[0]
    assert np.abs(many.mean(0) - exact).max() < 5 * (many.std(0) / np.sqrt(4000)).max()


@pytest.mark.parametrize("left_out", ["start", "potential"])
def test_false_variants_of_scaffnews_rate_are_refuted(left_out):
    terms = dict(SCAFFNEW.terms)
    if left_out == "potential":
        terms["start"] = terms["start"].subs(zeta_star_sq, 0)
    else:
        terms[left_out] = sp.Integer(0)
    batch = 1 if left_out == "noise" else None
    problem = problems()[0]
    shape = {"tau": 4, "rounds": 60 if batch else 3, "replicates": 200, "batch_size": batch}
    w0 = problem.w_star if left_out == "potential" else np.full(2, 3.0)
    run = Experiment(problem, FedAvg(), ConstantStep(1 / problem.L), w0=w0, **shape)
    assert evidence.tried(replace(SCAFFNEW, terms=terms), run)[0] == "refuted"
