"""The studies of the paper's experiments: tiny runs from end to end, records, the page, and how claims are judged."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from made_runs import climbing, record

from fedbounds.errors import InputError
from fedbounds.vision import records
from fedbounds.vision.records import from_json
from validate.vision import __main__ as studies
from validate.vision import experiments, measures, page, storage, verdicts
from validate.vision.experiments import grid
from validate.vision.measures import Stored
from validate.vision.statistics import known
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
    cases = {grid()[name.replace("_", "-")].framework: runs for name, runs in folders.items()}
    cases = {f: {w: [r for r in cases[f] if r.weighting == w] for w in ("fedavg", SOFT)} for f in sorted(cases)}
    return {
        case.where: verdict for case, verdict in verdicts.judge(verdicts.cases(Stored(cases))) if case.claim == claim
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
    result = known(pd.Series(values))
    assert verdicts.directional(result, p, sign=-1, size=2.5) == verdict
    assert verdicts.directional(-result, p, sign=1, size=2.5) == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([0.1, -0.2, 0.0, 0.1] * 2, REPRODUCED), ([3.0, 3.1, 2.9] * 2, NOT), ([0.1, -0.2, 0.0, 0.1, 0.0], UNDECIDED)],
)
def test_margin(values, verdict):
    assert verdicts.inside(known(pd.Series(values)), -1, 1) == verdict


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
        case = verdicts.Case("faster", "", "", "", None, lambda _: verdict, extra)
        return verdicts.judge([case])[0]

    cases = [outcome(REPRODUCED), outcome(NOT)]
    assert verdicts.overall(cases) == NOT
    assert verdicts.overall([cases[0], outcome(OPPOSITE, extra=True)]) == REPRODUCED
    assert verdicts.overall([]) == UNDECIDED


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Tiny runs of every experiment, trained once."""
    folder = tmp_path_factory.mktemp("vision")
    options = ["--small", "--results", str(folder / "records"), "--work", str(folder / "work"), "--quiet"]
    return folder / "records", options, experiments.main(options)


def test_what_is_stored_is_not_trained_again(small):
    where, options, count = small
    assert count == 15 and experiments.main(options) == 0
    path = where / "mnist-niid" / "run-fedsoftmax-0.2-000.json"
    before = json.loads(path.read_text())
    path.unlink()
    assert experiments.main([*options[:4], str(where.parent / "again"), options[5]]) == 1
    after = json.loads(path.read_text())
    before.pop("total_seconds"), after.pop("total_seconds")
    assert before == after


def test_the_map_is_one_command_that_goes_on(tmp_path, capsys):
    options = ["--small", "--results", str(tmp_path / "r"), "--work", str(tmp_path / "w"), "--quiet", "--map"]
    options += ["--steps", "0.1", "0.2", "--temperatures", "0.5"]
    told = [o for o in options if o != "--quiet"]
    assert experiments.main([*told, "--only", "map/niid-lr-0.1"]) == 2
    assert re.search(r"map/niid-lr-0.1: .*: round 2 of 2, accuracy 0\.\d{3}", capsys.readouterr().err)
    assert experiments.main(options) == 6 and experiments.main(options) == 0


def test_a_whole_run_replaces_one_that_ended_early_and_no_other(tmp_path):
    settings = grid()["mnist-tniid"].settings
    early = dataclasses.replace(settings, stop_after=0)
    interrupted = record([0.1] + [0.5] * 9, settings=early.to_json())
    by_chance = record([0.1] + [0.5] * 50, settings=early.to_json())
    planned = record([0.1] + [0.6] * 50, settings=settings.to_json())
    wanted = (
        (interrupted, ["fedavg"], ["fedavg"]),
        (by_chance, ["fedavg"], []),
        (planned, [], []),
        (by_chance, [], []),
    )
    for result, missing, missing_early in wanted:
        storage.store(result, tmp_path)
        assert storage.missing(tmp_path, settings, ["fedavg"], 0) == missing
        assert storage.missing(tmp_path, early, ["fedavg"], 0) == missing_early


def test_records_of_other_settings_are_refused(small):
    with pytest.raises(InputError, match="data digits instead of mnist"):
        measures.load(small[0])
    with pytest.raises(InputError, match="small runs are no results"):
        experiments.main(["--small"])
    with pytest.raises(InputError, match="--only names experiments"):
        experiments.main(["--only", "nothing"])


def test_tiny_records_are_judged_and_drawn_and_the_page_is_left_alone(small, tmp_path, capsys):
    before = page.PAGE.read_bytes()
    outcomes = studies.main(["--records", str(small[0]), "--out", str(tmp_path), "--small"])
    assert {verdict for _, verdict in outcomes} == {verdicts.UNDECIDED}
    said = capsys.readouterr().out
    assert "faster, NIID, fedsoftmax:0.2 (step 0.2, T = 0.2): UNDECIDED" in said
    drawn = {path.stem for path in tmp_path.glob("*.png") if path.read_bytes()[:4] == b"\x89PNG"}
    assert drawn == {"r90"}
    made = page.blocks(measures.load(small[0], small=True), outcomes, tmp_path)
    assert made["map"] == page.NOTHING and "| NIID | fedmax:2 |" in made["accuracy"]
    assert page.PAGE.read_bytes() == before


def test_a_compact_record_says_the_same(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.multinomial(10_000, np.full(50, 0.02)) / 10_000
    alpha, losses = rng.dirichlet(np.full(50, 2.0), 50), rng.lognormal(-1, 1, (51, 50))
    alpha[3] = p
    settings = grid()["mnist-niid"].settings.to_json()
    whole = record(climbing(12), "fedsoftmax:0.2", settings=settings, p=p.tolist(), alpha=alpha.tolist())
    path = storage.store(whole | {"client_losses": losses.tolist()}, tmp_path)
    assert path.name == "run-fedsoftmax-0.2-000.json" and path.stat().st_size < 50_000
    (run,) = records.read(tmp_path)
    assert np.array_equal(run.p, p) and run.accuracy.tolist() == climbing(12) and np.array_equal(run.alpha[3], p)
    np.testing.assert_allclose(run.alpha, alpha, rtol=5.1e-5)
    np.testing.assert_allclose(run.client_losses, losses, rtol=5.1e-5)
    assert json.loads(path.read_text())["total_seconds"] == 25.0


def test_the_page_is_that_of_the_stored_records():
    result, text = measures.load(), page.PAGE.read_text(encoding="utf-8")
    made = page.blocks(result, verdicts.judge(verdicts.cases(result)), page.PICTURES)
    for name, block in made.items():
        assert page.filled(text, block, name) == text
