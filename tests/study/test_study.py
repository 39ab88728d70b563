"""The main job end to end on small real problems: result, JSON, saved arrays, companions, refusals."""

import json

import numpy as np
import pytest

import fedbounds
from fedbounds.engine.memory import check_peak
from fedbounds.errors import InputError
from fedbounds.study.run_study import resolve, run_condensed, run_request
from fedbounds.theory.verdict import Status

SMALL = {"rounds": 6, "replicates": 16, "engine": "reference", "clients": 5, "samples": 20, "dimension": 3}


@pytest.fixture(scope="module")
def result():
    return fedbounds.check("least-squares", weightings=["fedavg", "fedmax"], claims="all", **SMALL)


def test_no_true_claim_is_refuted(result):
    misprints = {"speed-floor", "fedavg-speed", "error-minimiser", "error-by-pi", "rate"}
    for weighting, verdict in result.refuted:
        assert verdict.claim in misprints or verdict.reading != "repaired", (weighting, verdict)


def test_li_2020_is_examined_on_a_run_with_its_own_step_size(result):
    verdict = next(v for w, v in result.verdicts if w == "fedavg" and v.claim == "li-2020")
    assert verdict.status is Status.HOLDS and "own step size" in verdict.detail
    biased = next(v for w, v in result.verdicts if w == "fedmax" and v.claim == "li-2020")
    assert biased.status is Status.NOT_APPLICABLE and "FedAvg" in biased.detail


def test_a_study_is_written_with_the_arrays_of_its_pictures(result, tmp_path):
    out = result.save(tmp_path / "study")
    assert json.loads((out / "result.json").read_text()) == json.loads(json.dumps(result.to_json()))
    run, verdicts = result.runs[0].trajectory, result.runs[0].verdicts
    k = next(k for k, v in enumerate(verdicts) if (v.claim, v.reading) == ("corollary", "repaired"))
    with np.load(out / "trajectories.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["0.gap"], run.paths["alpha"].gap)
        assert arrays[f"0.{k}.rhs"].shape == run.times.shape
    assert sorted(path.name for path in out.iterdir()) == ["result.json", "trajectories.npz"]


@pytest.mark.parametrize(
    ("data", "problem", "extra"),
    [("breast-cancer", "logistic", {"partition": "dirichlet:0.3"}), ("synthetic:1,1", "logistic", {"rounds": 2})],
)
def test_real_and_synthetic_data(data, problem, extra):
    result = fedbounds.check(problem, data=data, weightings=["fedsoftmax:0.5"], claims="all", **(SMALL | extra))
    statuses = {v.claim: v.status for _, v in result.verdicts if v.reading == "repaired"}
    assert statuses["theorem-1"] is Status.HOLDS and statuses["sharper-step"] is Status.HOLDS
    assert result.problem.Gamma.value > 0


def test_a_problem_and_a_weighting_of_ones_own():
    from fedbounds.problems.quadratic import quadratic

    problem = quadratic(np.array([[1.0], [3.0]]), np.array([[0.0], [1.0]]), np.array([0.4, 0.6]))

    def largest(p, excess, round, stream):
        return np.eye(2)[excess.argmax(axis=-1)]

    small = {"rounds": 3, "replicates": 1, "batch": None, "engine": "reference"}
    result = fedbounds.check(problem, weightings=[largest, "fedmax"], claims=["sharper-step"], **small)
    assert [run.weighting for run in result.runs] == ["largest", "fedmax"]
    assert {v.status for _, v in result.verdicts} == {Status.HOLDS}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"weightings": ["fedmax:9"]}, "k = 9"),
        ({"replacement": False, "batch": 21}, "cannot be larger than a client"),
        ({"problem": "logistic", "data": "diabetes"}, "class"),
        ({"problem": "logistic", "data": "breast-cancer", "regularisation": 0.0}, "regularisation"),
        ({"data": "synthetic:1"}, "2 numbers"),
        ({"data": "regression:1", "partition": "iid"}, "generates the data of each client"),
        ({"p": (0.5, 0.6, 0.0, 0.0, 0.0)}, "distribution"),
        ({"p": (1.0, 0.0, 0.0, 0.0, 0.0)}, "positive weight"),
        ({"step": "inverse:1,0"}, "gamma > 0"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(settings, words):
    with pytest.raises(InputError, match=words):
        fedbounds.check(**{**SMALL, **settings})


def test_a_diverging_run_says_where_and_why():
    with pytest.raises(fedbounds.DivergedError, match="2/L"):
        fedbounds.check("least-squares", weightings=["fedavg"], step="constant:5", **(SMALL | {"rounds": 100}))


def test_a_run_within_less_memory_records_as_many_steps_as_fit():
    settings = {"clients": 2, "rounds": 4, "replicates": 200, "weightings": "fedavg", "claims": "corollary"}
    whole = fedbounds.check("quadratic", **settings)
    experiment = whole.runs[0].trajectory.experiment
    most, least = (check_peak(experiment.with_(stride=stride)) for stride in (3, 20))
    light = fedbounds.check("quadratic", memory=most / 1e9, **settings)
    assert [result.settings.stride for result in (whole, light)] == [1, 3]
    assert light.runs[0].trajectory.times.tolist() == [0, 3, 6, 9, 12, 15, 18, 20]
    for name, value in vars(whole.runs[0].trajectory.extremes).items():
        np.testing.assert_array_equal(getattr(light.runs[0].trajectory.extremes, name), value)
    with pytest.raises(InputError, match="memory must be at least"):
        fedbounds.check("quadratic", memory=(least - 1) / 1e9, **settings)


def gap_of(run):
    return run.trajectory.paths["alpha"].gap


def test_weightings_in_processes_of_their_own_say_the_same_bits():
    small = {"clients": 2, "rounds": 4, "replicates": 8}
    asked = resolve(small, "quadratic", ["fedavg", "fedmax", "fedmax:2"], "lemma-1")
    told = []
    whole = run_request(asked)
    result, gaps = run_condensed(
        asked, lambda run: run.trajectory.paths["alpha"].gap, lambda *count: told.append(count), 2
    )
    assert result.to_json() == whole.to_json() and {name for name, *_ in told} == {"fedavg", "fedmax", "fedmax:2"}
    assert all((gap_of(run) == gap).all() for run, gap in zip(whole.runs, gaps, strict=True))
