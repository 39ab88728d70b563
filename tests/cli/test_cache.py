"""What was run before on this machine is not run again: the same bytes, where all that it hangs on is the same."""

import hashlib
import json
import re
import time
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.study import cache
from fedbounds.study.settings import Settings

TINY = ("--problem", "quadratic", "--clients", "2", "--dimension", "2", "--rounds", "3", "--tau", "2")
STUDY = ("check", *TINY, "--replicates", "8", "--weighting", "fedavg", "--claim", "lemma-2", "--claim", "lemma-1")
CACHED = "These numbers were kept from an earlier run"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FEDBOUNDS_FRESH")
    monkeypatch.setattr("fedbounds.study.ledger.known", lambda *_: [])  # to verify it all takes long
    monkeypatch.setattr("fedbounds.report.html.exact_instances._checked", lambda: {"": ""})
    return tmp_path / "cache" / "fedbounds"


def call(*words):
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result


def answer(result):
    """What was printed, without the lines that name the folder."""
    return re.sub(r"^Pictures.*?(?=^\d+ claim)", "", result.stdout, flags=re.MULTILINE | re.DOTALL)


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def forbidden(*arguments, **named):
    raise AssertionError("it was run again")


def test_the_same_study_is_not_run_again_and_gives_the_same_bytes(tmp_path, monkeypatch):
    assert CACHED not in call(*STUDY).stderr and CACHED in call(*STUDY).stderr
    first = call(*STUDY, "--out", tmp_path / "a")  # run again, for its pictures
    assert CACHED not in first.stderr
    monkeypatch.setattr("fedbounds.study.run_study.run_condensed", forbidden)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "bounds.png").write_bytes(b"of another study")
    again = call(*STUDY, "--out", tmp_path / "b")
    assert answer(again) == answer(first) == answer(call(*STUDY)) and CACHED in again.stderr
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b") and len(files_in(tmp_path / "b")) > 4
    stored = json.loads((tmp_path / "a" / "result.json").read_text())
    assert json.loads(call(*STUDY, "--format", "json").stdout) == stored


def test_another_study_or_a_fresh_one_is_run(place, monkeypatch):
    call(*STUDY, "--fresh")
    assert not list(place.glob("study-*"))
    call(*STUDY)
    assert CACHED not in call(*STUDY, "--seed", 1).stderr + call(*STUDY, "--fresh").stderr
    known = cache.versions()
    monkeypatch.setattr(cache, "versions", lambda: known | {"numpy": "0"})
    assert CACHED not in call(*STUDY).stderr


def test_what_follows_from_files_of_the_user_is_not_stored():
    for own in ({"data": "csv:mine.csv,target=y"}, {"partition": "hand:mine.json"}, {"plugins": ("mine.py",)}):
        assert Settings.of(own).reads_user_files
    assert not Settings().reads_user_files


@pytest.mark.parametrize("name", ["result.json", cache.MANIFEST])
def test_a_damaged_entry_is_not_believed(place, name):
    first = call(*STUDY)
    (path,) = place.glob(f"study-*/{name}")
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    again = call(*STUDY)
    assert CACHED not in again.stderr and again.stdout == first.stdout
    assert CACHED in call(*STUDY).stderr


def test_an_entry_whose_names_leave_it_or_that_lacks_the_result_is_not_believed(tmp_path, place):
    call(*STUDY, "--out", tmp_path / "a")
    (path,) = place.glob(f"study-*/{cache.MANIFEST}")
    known = json.loads(path.read_text())
    (path.parent / "evil.txt").write_bytes(b"")
    for stored in (known | {"../evil.txt": hashlib.sha256(b"").hexdigest()}, {"bounds.png": known["bounds.png"]}):
        path.write_text(json.dumps(stored))
        assert CACHED not in call(*STUDY, "--out", tmp_path / "b" / "c").stderr
        assert not (tmp_path / "b" / "evil.txt").exists()


def test_unfinished_entries_and_links_to_nothing_are_cleared(place):
    (place / "study-killed").mkdir(parents=True)
    (place / "study-killed" / "trajectories.npz").write_bytes(b"half")
    (place / "page-gone.json").symlink_to(place / "nowhere")
    assert "Deleted 2 entries" in call("cache", "clear").stderr and not list(place.iterdir())


def test_sources_plug_ins_and_instructions_are_part_of_the_state(tmp_path, monkeypatch):
    states = {cache.state(), cache.state(of=1), cache.state(of=2), cache.state(above={"cli"})}
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fedbounds.weightings]\nmine = mine_weighting\n")
    (tmp_path / "mine_weighting.py").write_text("factor = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [e.value for e in metadata.entry_points(group="fedbounds.weightings")] == ["mine_weighting"]
    states.add(cache.state(of=1))
    (tmp_path / "mine_weighting.py").write_text("factor = 2\n")
    states.add(cache.state(of=1))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    states.add(cache.state(of=1))
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "study" / "cache.py"))
    for text in ("1", "2"):
        (tmp_path / "one.py").write_text(text)
        states.add(cache.state())
    assert len(states) == 9


def test_the_longest_unread_makes_room(place, monkeypatch):
    for k, name in enumerate("abc"):
        cache.store(place / f"study-{name}", {"x": bytes(1000)})
        time.sleep(0.02 * (k < 2))
    assert cache.load(place / "study-a") == {"x": bytes(1000)}
    monkeypatch.setattr(cache, "CAPACITY", 2 * sum(map(len, files_in(place / "study-a").values())) + 100)
    cache.store(place / "study-d", {"x": b""})
    assert not cache.load(place / "study-b") and cache.load(place / "study-a")
    cache.store(place / "study-e", {"x": bytes(cache.CAPACITY)})
    assert not cache.load(place / "study-e") and cache.load(place / "study-a")


def test_a_read_only_cache_is_read_and_one_that_cannot_be_written_is_done_without(monkeypatch):
    first = call(*STUDY)
    monkeypatch.setattr(Path, "touch", lambda *_, **__: (_ for _ in ()).throw(PermissionError(30, "read-only")))
    again = call(*STUDY)
    assert CACHED in again.stderr and again.stdout == first.stdout
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert CACHED not in call(*STUDY).stderr + call(*STUDY).stderr
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert CACHED not in call(*STUDY).stderr + call(*STUDY).stderr
