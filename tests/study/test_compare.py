"""Theorems and algorithms compared: rounds by hand, rankings by hand, and runs whose answers are known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.plugins import algorithm_named
from fedbounds.report import comparison_report as show
from fedbounds.study import compare as study
from fedbounds.study.compare import recorded_run
from fedbounds.study.comparison_rows import (
    AlgorithmRow,
    ErrorCurve,
    Reached,
    TheoremComparison,
    TheoremRow,
    stays_from,
)
from fedbounds.study.objects_from_settings import build_experiment, build_problem
from fedbounds.study.result import facts_of
from fedbounds.study.settings import Settings
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg
from validate import markdown

SMALL = Settings(problem="quadratic", clients=3, dimension=2, rounds=40, tau=2, replicates=16, batch=None)
FALSE = """
import sympy as sp
from fedbounds import Claim
from fedbounds.theory import assumptions as a, symbols as s
CLAIMS = (
    Claim("too-fast", "FedAvg", "a draft", "horizon", s.Delta_T, {"start": s.Delta_0 * sp.exp(-s.T)},
          assumptions=(a.smooth, a.strongly_convex, a.unbiased), eta=1 / (4 * s.L)),
)
"""


def test_a_level_counts_from_when_on_it_is_kept():
    assert [stays_from(np.array(line), 1.0) for line in ([3, 1, 2, 1, 0], [1, 0], [0, 2])] == [3, 0, None]
    line = ErrorCurve(np.array([9.0, 3, 1, 2, 1]), np.array([9.0, 1, 0, 1, 0]), np.array([9.0, 5, 3, 4, 3]))
    result = line.reached(2.0)
    assert result == Reached(2, 1, None, 4) and result.between == (1, math.inf)
    assert str(result) == "2 (1 to > 4)" and str(Reached(None, None, None, 4)) == "> 4"
    assert str(Reached(None, 3, None, 4)) == "> 4 (perhaps from 3)" and str(Reached(2, 2, 2, 4)) == "2"


def theorem(bound, mean):
    line, bounds = np.array([1.0, mean]), np.array([2.0, bound])
    return TheoremRow("c", "fedavg", quantity="distance", curve=ErrorCurve(line, line, line), bounds=bounds)


def test_tightness_is_the_progress_that_is_certified():
    assert theorem(0.1, 0.01).share[0] == pytest.approx(0.5) and theorem(0.1, 0.01).looseness == pytest.approx(10)
    idle, loose = theorem(0.999, 0.99), theorem(3.0, 1e-6)
    assert idle.looseness < theorem(0.1, 0.01).looseness and idle.share[0] < 0.11
    assert loose.share == (0, 0, 0)


def ranking(*rows):
    """A comparison of algorithms, each with (first, earliest, latest, promised)."""
    line = ErrorCurve(np.ones(2), np.ones(2), np.ones(2))
    made = [
        AlgorithmRow(name, step=1.0, curve=line, reached=Reached(*told, 99), by="x", promised=by)
        for name, *told, by in rows
    ]
    problem = build_problem(SMALL)
    return TheoremComparison(SMALL, facts_of(problem), 0.01, (), tuple(made))


def test_what_the_limits_do_not_tell_apart_is_a_tie():
    result = ranking(("a", 5, 4, 6, 70), ("b", 6, 5, 8, 50), ("c", 20, 15, 30, 60), ("d", None, None, None, None))
    assert [row.algorithm for row in result.ranked] == ["a", "b", "c", "d"]
    assert "Fastest to 0.01 of the start is a, in 5 (4 to 6) rounds; b may be as fast." in show.answer(result)[1]


def test_the_record_of_another_algorithm_is_that_of_a_run():
    settings = replace(SMALL, problem="least-squares", batch=4, rounds=5)
    problem = build_problem(settings)
    like = simulate(build_experiment(settings, problem, FedAvg()).with_(stride=2))
    experiment = like.experiment.with_(eta=lambda t: 0.1 / problem.L)
    right = simulate(experiment)
    result = recorded_run(algorithm_named("fedavg"), experiment, like, squares=True)
    np.testing.assert_allclose(result.paths["alpha"].distance_sq, right.paths["alpha"].distance_sq, rtol=1e-9)
    np.testing.assert_allclose(result.paths["p"].gap, right.paths["p"].gap, rtol=1e-9)
    np.testing.assert_allclose(result.extremes.sigma_i_sq[0], right.extremes.sigma_i_sq.max(0), rtol=1e-9)
    for name in ("G_sq", "radius"):
        assert getattr(result.extremes, name).max() == pytest.approx(getattr(right.extremes, name).max())


@pytest.fixture(scope="module")
def found():
    return study.compare_at(SMALL, 0.01, ("fedavg", "scaffnew", "sgd", "local-rr"))


def test_every_bound_lies_above_its_run_and_every_theorem_is_accounted_for(found):
    rows = {row.claim: row for row in found.theorems}
    assert {"corollary", "li-2020", "khaled-2020-opt", "mishchenko-2022"} <= {row.claim for row in found.applying}
    assert "F_i is the same" in rows["khaled-2020"].unmet or "p_i = 1/N" in rows["khaled-2020"].unmet
    for row in found.applying:
        # Every step of FedAvg is recorded, of another algorithm the ends of rounds: that run can refute, not hold.
        assert row.status is (Status.HOLDS if row.algorithm == "fedavg" else Status.UNDECIDED)
        assert (row.bounds >= row.curve.mean * (1 - 1e-9)).all() and len(row.bounds) == SMALL.rounds + 1
        if row.promised is not None and row.reached.latest is not None:
            assert row.reached.latest <= row.promised


def test_a_false_theorem_is_said_to_be_refuted_and_promises_nothing(tmp_path):
    (tmp_path / "false.py").write_text(FALSE)
    settings = replace(SMALL, plugins=(str(tmp_path / "false.py"),), claims=("too-fast",), rounds=5)
    result = study.compare_at(settings, 0.01, ("fedavg",))
    assert [row.status for row in result.theorems] == [Status.REFUTED]
    assert result.algorithms[0].by == "" and show.answer(result)[0].startswith("REFUTED on its run here: too-fast.")
    assert "**REFUTED**" in markdown.of_blocks(show.blocks(result))


TOSSED = FALSE.replace("too-fast", "false-scaffnew")
TOSSED = TOSSED.replace("s.Delta_0 * sp.exp(-s.T)", "(1 - s.eta_0 * s.mu) ** (20 * s.T) * (s.Delta_0 + zeta_star_sq)")
TOSSED = TOSSED.replace("eta=1 / (4 * s.L)", 'eta=sp.Min(s.eta_0, 1 / s.L), algorithm="scaffnew"')
TOSSED = TOSSED.replace("CLAIMS", "from fedbounds.theory.symbols import zeta_star_sq\nCLAIMS")


def test_a_theorem_about_an_algorithm_that_tosses_is_refuted_with_full_gradients(tmp_path):
    (tmp_path / "false.py").write_text(TOSSED)
    problem = {"problem": "least-squares", "data": "regression:1", "samples": 5, "tau": 5}
    claims = ("false-scaffnew", "mishchenko-2022", "fedavg-rounds")
    settings = replace(
        SMALL, **problem, rounds=2, replicates=64, plugins=(str(tmp_path / "false.py"),), claims=claims
    )
    result = study.compare_at(settings, 0.01, ("fedavg", "scaffnew"))
    told = {row.claim: row.status for row in result.theorems}
    assert told["false-scaffnew"] is Status.REFUTED is not told["mishchenko-2022"]
    assert result.applying[-1].claim == "false-scaffnew" and len(result.standing) == 2
    assert "REFUTED on its run here: false-scaffnew. Of 2 theorems that apply" in show.answer(result)[0]
    assert next(row.by for row in result.algorithms if row.algorithm == "scaffnew") == "mishchenko-2022"
    few = study.compare_at(replace(settings, replicates=8), 0.01, ("scaffnew",))  # too few to refute, or to crown
    assert "not refuted: false-scaffnew. Of 2" in show.answer(few)[0] and few.algorithms[0].by == "mishchenko-2022"


def test_a_bound_below_the_band_is_not_the_tightest():
    low, sure = theorem(0.005, 0.01), replace(theorem(0.1, 0.01), claim="d", status=Status.HOLDS)
    assert not replace(low, status=Status.UNDECIDED).consistent and sure.consistent
    result = replace(ranking(), theorems=(replace(low, status=Status.UNDECIDED), sure))
    said = show.answer(result)[0]
    assert "though not refuted: c. d is the only other theorem that applies" in said and "c (below the run)" in str(
        show.theorem_table(result).rows[1][0]
    )


@pytest.mark.parametrize(
    ("changed", "target", "wanted", "words"),
    [
        ({}, 0.0, (), "fraction of the start"),
        ({}, 0.01, ("fedavgg",), "did you mean 'fedavg'"),
        ({"claims": ("lemma-2",)}, 0.01, (), "bound the distance or the gap"),
        ({"claims": ("lemma-77",)}, 0.01, (), "did you mean"),
    ],
)
def test_wrong_input_is_a_sentence(changed, target, wanted, words):
    with pytest.raises(InputError, match=words):
        study.compare_at(replace(SMALL, **changed), target, wanted)
