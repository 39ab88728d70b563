"""The studies of the paper's experiments: tiny runs from end to end, records, the stored numbers, the page."""

import importlib
import json
import math

import numpy as np
import pytest
from made_runs import record

from fedbounds.errors import InputError
from fedbounds.vision import estimates, runs
from validate.vision import _markdown, _records, _verdict, experiments, local_minima, page, search
from validate.vision._common import PICTURES, load, rounded
from validate.vision.experiments import RESULTS, grid

STUDIES = ("r90", "accuracy", "temperatures", "alpha", "participation", "stability", "readings", "precision")


def study(name):
    return importlib.import_module(f"validate.vision.{name}")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Tiny runs of every experiment, trained once."""
    folder = tmp_path_factory.mktemp("vision")
    options = ["--small", "--results", str(folder / "records"), "--work", str(folder / "work"), "--quiet"]
    return folder / "records", options, experiments.main(options)


def climbing(reached, rounds=50, last=0.95):
    """Accuracies that first have 90% in round ``reached``."""
    return [0.1] + [0.5 if r < reached else last for r in range(1, rounds + 1)]


class TestTraining:
    def test_what_is_stored_is_not_trained_again(self, small):
        records, options, count = small
        assert count == 34 and experiments.main(options) == 0
        path = records / "mnist-niid" / "run-fedsoftmax-0.2-000.json"
        before = json.loads(path.read_text())
        path.unlink()
        work = [*options[:4], str(records.parent / "again"), options[5]]
        assert experiments.main(work) == 1
        after = json.loads(path.read_text())
        before.pop("total_seconds"), after.pop("total_seconds")
        assert before == after

    def test_a_whole_run_replaces_one_that_ended_early(self, small, tmp_path):
        records = small[0]
        run = runs.read(records / "mnist-iid")[0]
        short = json.loads((records / "mnist-iid" / run.source).read_text())
        short["settings"]["stop_after"] = 0
        for key, ends in (("accuracy", 2), ("test_loss", 2), ("client_losses", 2), ("alpha", 1), ("trained", 1)):
            short[key] = short[key][:ends]
        short["accuracy"][1] = 0.95
        _records.store(short, tmp_path)
        settings = grid(small=True)["mnist-iid"].settings
        assert _records.missing(tmp_path, settings, ["fedavg"], 0) == ["fedavg"]
        early = grid(small=True)["mnist-iid"].settings.__class__(**{**settings.to_json(), "stop_after": 0})
        assert _records.missing(tmp_path, early, ["fedavg"], 0) == []
        # One that was interrupted below 90% is not finished, whatever was wanted.
        short["accuracy"][1] = 0.85
        _records.store(short, tmp_path)
        assert _records.missing(tmp_path, early, ["fedavg"], 0) == ["fedavg"]

    def test_a_run_planned_whole_replaces_one_that_went_on_by_its_outcome(self, tmp_path):
        settings = grid()["mnist-tniid"].settings.to_json()
        by_chance = record([0.1] + [0.5] * 50, settings={**settings, "stop_after": 0})
        planned = record([0.1] + [0.6] * 50, settings=settings)
        assert _records.store_longer(by_chance, tmp_path) and not _records.store_longer(by_chance, tmp_path)
        assert _records.missing(tmp_path, grid()["mnist-tniid"].settings, ["fedavg"], 0) == ["fedavg"]
        assert _records.store_longer(planned, tmp_path) and not _records.store_longer(by_chance, tmp_path)
        assert _records.missing(tmp_path, grid()["mnist-tniid"].settings, ["fedavg"], 0) == []

    def test_records_of_other_settings_are_refused(self, small):
        with pytest.raises(InputError, match="data digits instead of mnist"):
            load(small[0])

    def test_local_losses_have_a_name_of_their_own(self, small):
        found = load(small[0], small=True).cases("mnist")["NIID"]
        assert {"fedavg", "fedsoftmax:0.2", "fedsoftmax:0.2@local", "fedmax:2", "fedsoftmax:0.0333333"} <= set(found)
        same, other = found["fedsoftmax:0.2"][0], found["fedsoftmax:0.2@local"][0]
        assert same.accuracy[0] == other.accuracy[0] and not np.array_equal(same.alpha, other.alpha)

    @pytest.mark.parametrize("name", STUDIES)
    def test_a_study_runs_small(self, small, name, tmp_path, capsys):
        before = (sorted(RESULTS.rglob("*")), sorted(PICTURES.glob("*")))
        data = study(name).main(["--small", "--records", str(small[0]), "--out", str(tmp_path)])
        assert json.loads((tmp_path / f"{name}.json").read_text()) == data
        pictures = sorted(tmp_path.glob("*.png"))
        assert pictures and all(path.read_bytes()[:4] == b"\x89PNG" for path in pictures)
        assert {path.stem for path in pictures} <= set(page.pictures_of(name))
        assert (sorted(RESULTS.rglob("*")), sorted(PICTURES.glob("*"))) == before
        assert all(claim["verdict"] in _verdict.ORDER for claim in data["claims"])
        assert capsys.readouterr().out
        blocks = page.blocks(page.results(tmp_path), tmp_path)
        assert blocks[name] != _markdown.NOTHING and blocks["search"] == _markdown.NOTHING

    def test_small_numbers_never_become_results(self):
        for run in (study("r90").main, local_minima.main, experiments.main):
            with pytest.raises(InputError, match="small runs are no results"):
                run(["--small"])

    def test_local_minima(self, tmp_path):
        data = local_minima.main(["--small", "--out", str(tmp_path)])
        rows = [row for case in data["data"].values() for row in case["clients"]]
        assert len(rows) == 3 and all(row["smallest"] == min(row["losses"]) > 0 for row in rows)
        assert all(row["losses"][-1] < math.log(10) for row in rows)
        assert data["factors"]["fedsoftmax:0.2"] == pytest.approx(math.exp(data["largest"] / 0.2), rel=1e-6)


class TestRecords:
    def test_a_compact_record_says_the_same(self, tmp_path):
        rng = np.random.default_rng(0)
        p = rng.multinomial(10_000, np.full(50, 0.02)) / 10_000
        alpha = rng.dirichlet(np.full(50, 2.0), 50)
        losses = rng.lognormal(-1, 1, (51, 50))
        settings = grid()["mnist-niid"].settings.to_json()
        whole = record(
            climbing(12), "fedsoftmax:0.2", settings=settings, p=p.tolist(), alpha=alpha.tolist(), trained=[50] * 50
        ) | {"client_losses": losses.tolist()}
        path = _records.store(whole, tmp_path)
        assert path.name == "run-fedsoftmax-0.2-000.json" and path.stat().st_size < 50_000
        (run,) = runs.read(tmp_path)
        assert np.array_equal(run.p, p) and run.accuracy.tolist() == climbing(12)
        np.testing.assert_allclose(run.alpha, alpha, rtol=5.1e-5)
        np.testing.assert_allclose(run.client_losses, losses, rtol=5.1e-5)
        assert json.loads(path.read_text())["total_seconds"] == 25.0

    def test_weights_equal_to_p_stay_equal(self):
        p = [1 / 3, 1 / 3, 1 / 3]
        kept = _records.compact(record(climbing(3), p=p, alpha=[p] * 50, trained=[3] * 50))
        assert kept["alpha"] == [p] * 50

    def test_collect_takes_what_belongs_to_the_grid(self, tmp_path):
        own = record(climbing(9), "fedsoftmax:0.2", settings=grid()["mnist-tniid"].settings.to_json())
        other = record(climbing(9), "fedsoftmax:0.7", settings=grid()["mnist-tniid"].settings.to_json())
        foreign = record(climbing(9), settings={**grid()["mnist-iid"].settings.to_json(), "samples": 7})
        for k, found in enumerate((own, other, foreign)):
            (tmp_path / f"run-{k}.json").write_text(json.dumps(found))
        assert experiments.collect(tmp_path, tmp_path / "kept") == 1
        assert _records.repetitions(tmp_path / "kept" / "mnist-tniid", "fedsoftmax:0.2") == [0]
        assert "mnist-tniid: fedavg none; fedsoftmax:0.2 1 (0..0)" in experiments.listing(tmp_path / "kept")


class TestPage:
    def test_it_agrees_with_the_stored_results(self):
        text = page.PAGE.read_text(encoding="utf-8")
        assert page.filled(text, page.blocks(page.results())) == text

    def test_the_page_rests_on_records(self):
        assert all((RESULTS / f"{name}.json").is_file() for name in (*STUDIES, "search"))
        assert len(load().runs["mnist-niid"]) >= 2

    def test_marks_must_be_those_of_the_blocks(self):
        with pytest.raises(InputError, match="marks"):
            page.filled("no marks", page.blocks({}))

    def test_an_estimate_survives_json(self):
        samples = [estimates.mean([1.0, 2.0, 4.0]), estimates.mean([]), estimates.median([3, 51], [3, math.inf])]
        samples += [estimates.median([51] * 7, [math.inf] * 7), estimates.mean([2.0])]
        for found in samples:
            again = _markdown.estimate(json.loads(json.dumps(found.to_json())))
            assert estimates.text(again, 2) == estimates.text(found, 2)

    @pytest.mark.parametrize("name", STUDIES)
    def test_stored_numbers_are_those_of_the_stored_records(self, name):
        """And the records are of the described settings: ``load`` refuses others."""
        found = load()
        path = RESULTS / f"{name}.json"
        own = study(name).STUDY
        assert path.is_file() == any(found.runs[folder] for folder in own.folders)
        if path.is_file():
            again = rounded(own.measure(found))
            known = {key: value for key, value in json.loads(path.read_text()).items() if key in again}
            assert_same(known, json.loads(json.dumps(again)))

    def test_the_stored_minima_are_of_the_experiments(self):
        data = json.loads((RESULTS / "local_minima.json").read_text())
        wanted = {grid()[name].framework: grid()[name].settings.to_json() for name in local_minima.NAMES}
        assert {framework: case["settings"] for framework, case in data["data"].items()} == wanted
        assert 0 < data["largest"] < 0.05 and data["epochs"] == local_minima.EPOCHS

    def test_the_search_and_the_experiments_share_no_run(self):
        used = {(run.seed, run.repetition) for group in load().runs.values() for run in group}
        assert all(seed == experiments.READING.seed for seed, _ in used)
        if (RESULTS / "search").is_dir():
            searched = runs.read(RESULTS / "search")
            assert not used & {(run.seed, run.repetition) for run in searched}
            data = json.loads((RESULTS / "search.json").read_text())
            assert_same(data, json.loads(json.dumps(rounded(search.measure(searched)))))
            assert search.agrees(data)


def assert_same(known, again, place=""):
    """Equal, numbers up to what machines may differ in."""
    if isinstance(known, dict):
        assert set(known) == set(again), place
        for key in known:
            assert_same(known[key], again[key], f"{place}/{key}")
    elif isinstance(known, list):
        assert len(known) == len(again), place
        for k, (a, b) in enumerate(zip(known, again, strict=True)):
            assert_same(a, b, f"{place}/{k}")
    elif isinstance(known, float):
        assert known == pytest.approx(again, rel=1e-5, abs=1e-9), place
    else:
        assert known == again, place
