"""What was run before on this machine is not run again: the same bytes, where all that it hangs on is the same."""

import json
import time

import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.app import main
from fedbounds.referee import power
from fedbounds.study import kept
from fedbounds.study.again import Earlier
from fedbounds.study.settings import Settings

TINY = ("--problem", "quadratic", "--clients", "2", "--dimension", "2", "--rounds", "3", "--tau", "2")
STUDY = ("check", *TINY, "--replicates", "8", "--weighting", "fedavg", "--claim", "lemma-2", "--claim", "lemma-1")
KEPT = "These numbers were kept from an earlier run"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FEDBOUNDS_FRESH")
    return tmp_path / "cache" / "fedbounds"


def call(*words):
    found = CliRunner().invoke(main, list(map(str, words)))
    assert found.exit_code == 0, found.output
    return found


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def forbidden(*arguments, **named):
    raise AssertionError("it was run again")


def test_the_same_study_is_not_run_again_and_gives_the_same_bytes(tmp_path, monkeypatch):
    first = call(*STUDY, "--out", tmp_path / "a")
    monkeypatch.setattr(fedbounds, "check", forbidden)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "participation.png").write_bytes(b"of another study")
    again = call(*STUDY, "--out", tmp_path / "b")
    assert again.stdout == first.stdout and KEPT in again.stderr and KEPT not in first.stderr
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b")
    assert len(files_in(tmp_path / "b")) > 4
    assert call(*STUDY).stdout == first.stdout
    told = json.loads((tmp_path / "a" / "result.json").read_text())
    assert json.loads(call(*STUDY, "--format", "json").stdout) == told


def test_without_pictures_it_is_run_again_for_them(tmp_path):
    first = call(*STUDY)
    assert KEPT in call(*STUDY).stderr
    drawn = call(*STUDY, "--out", tmp_path / "a")
    assert KEPT not in drawn.stderr and drawn.stdout == first.stdout
    assert KEPT in call(*STUDY, "--out", tmp_path / "b").stderr


def test_another_study_or_a_fresh_one_is_run(monkeypatch):
    call(*STUDY)
    assert KEPT not in call(*STUDY, "--seed", 1).stderr
    assert KEPT not in call(*STUDY, "--fresh").stderr
    monkeypatch.setenv("FEDBOUNDS_FRESH", "1")
    assert KEPT not in call(*STUDY).stderr
    monkeypatch.delenv("FEDBOUNDS_FRESH")
    known = kept.versions()
    monkeypatch.setattr(kept, "versions", lambda: known | {"numpy": "0"})
    assert KEPT not in call(*STUDY).stderr


def test_a_fresh_study_is_not_kept(cache):
    call(*STUDY, "--fresh")
    assert not list(cache.glob("study-*"))


def test_what_follows_from_files_of_the_user_is_not_kept(cache):
    for own in ({"data": "csv:mine.csv,target=y"}, {"partition": "hand:mine.json"}, {"plugins": ("mine.py",)}):
        assert Earlier(Settings.of(own), fresh=False).result(drawn=False) is None
        assert Earlier(Settings.of(own), fresh=False)._folder is None
    assert Earlier(Settings(), fresh=False)._folder.parent == cache


@pytest.mark.parametrize("name", ["result.json", "kept.json"])
def test_a_damaged_shelf_is_not_believed(cache, name):
    first = call(*STUDY)
    (path,) = cache.glob(f"study-*/{name}")
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    again = call(*STUDY)
    assert KEPT not in again.stderr and again.stdout == first.stdout
    assert KEPT in call(*STUDY).stderr


def test_a_source_that_changes_changes_the_state(tmp_path, monkeypatch):
    states = {kept.state(), kept.state(of=1), kept.state(of=2), kept.state(above={"cli"})}
    monkeypatch.setattr(kept, "__file__", str(tmp_path / "study" / "kept.py"))
    (tmp_path / "one.py").write_text("1")
    states.add(kept.state())
    (tmp_path / "one.py").write_text("2")
    assert len(states | {kept.state()}) == 6


def test_the_longest_unseen_makes_room(cache, monkeypatch):
    for k, name in enumerate("abc"):
        kept.shelve(cache / f"study-{name}", {"x": bytes(1000)})
        time.sleep(0.02 * (k < 2))
    assert kept.shelved(cache / "study-a") == {"x": bytes(1000)}
    monkeypatch.setattr(kept, "ROOM", 2 * sum(map(len, files_in(cache / "study-a").values())))
    kept.shelve(cache / "study-d", {"x": b""})
    assert not kept.shelved(cache / "study-b") and kept.shelved(cache / "study-a")
    kept.shelve(cache / "study-e", {"x": bytes(kept.ROOM)})
    assert not kept.shelved(cache / "study-e") and kept.shelved(cache / "study-a")


def test_nowhere_to_keep(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert KEPT not in call(*STUDY).stderr + call(*STUDY).stderr


def test_pages_and_tables_of_mutants(tmp_path, monkeypatch, cache):
    call(*STUDY, "--out", tmp_path / "a")
    page, rows = tmp_path / "page.html", call("power", "--claim", "lemma-1").stdout
    call("report", tmp_path / "a", "--out", page)
    first = page.read_bytes()
    monkeypatch.setattr(power, "power", forbidden)
    monkeypatch.setattr("fedbounds.show.report.study.page", forbidden)
    assert call("power", "--claim", "lemma-1").stdout == rows
    call("report", tmp_path / "a", "--out", page)
    assert page.read_bytes() == first
    assert isinstance(CliRunner().invoke(main, ["report", str(tmp_path / "a"), "--fresh"]).exception, AssertionError)
    assert isinstance(CliRunner().invoke(main, ["power", "--claim", "lemma-2"]).exception, AssertionError)
    assert "Deleted" in call("cache", "clear").stderr
    assert not list(cache.iterdir())
