"""What was run before on this machine is not run again: the same bytes, where all that it hangs on is the same."""

import hashlib
import json
import re
import time
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.app import main
from fedbounds.study import cache as store
from fedbounds.study.cached_study import Earlier
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


def answer(result):
    """What was printed, without the lines that name the folder."""
    return re.sub(r"^Pictures.*?(?=^\d+ claim)", "", result.stdout, flags=re.MULTILINE | re.DOTALL)


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
    assert answer(again) == answer(first) and KEPT in again.stderr and KEPT not in first.stderr
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b")
    assert len(files_in(tmp_path / "b")) > 4
    assert answer(call(*STUDY)) == answer(first)
    told = json.loads((tmp_path / "a" / "result.json").read_text())
    assert json.loads(call(*STUDY, "--format", "json").stdout) == told


def test_without_pictures_it_is_run_again_for_them(tmp_path):
    first = call(*STUDY)
    assert KEPT in call(*STUDY).stderr
    drawn = call(*STUDY, "--out", tmp_path / "a")
    assert KEPT not in drawn.stderr and answer(drawn) == answer(first)
    assert KEPT in call(*STUDY, "--out", tmp_path / "b").stderr


def test_another_study_or_a_fresh_one_is_run(monkeypatch):
    call(*STUDY)
    assert KEPT not in call(*STUDY, "--seed", 1).stderr
    assert KEPT not in call(*STUDY, "--fresh").stderr
    monkeypatch.setenv("FEDBOUNDS_FRESH", "1")
    assert KEPT not in call(*STUDY).stderr
    monkeypatch.delenv("FEDBOUNDS_FRESH")
    known = store.versions()
    monkeypatch.setattr(store, "versions", lambda: known | {"numpy": "0"})
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


def test_a_shelf_whose_names_leave_it_or_that_lacks_the_result_is_not_believed(tmp_path, cache):
    call(*STUDY, "--out", tmp_path / "a")
    (path,) = cache.glob("study-*/kept.json")
    known = json.loads(path.read_text())
    (path.parent / "evil.txt").write_bytes(b"")
    for told in (known | {"../evil.txt": hashlib.sha256(b"").hexdigest()}, {"weights.png": known["weights.png"]}):
        path.write_text(json.dumps(told))
        assert KEPT not in call(*STUDY, "--out", tmp_path / "b" / "c").stderr
        assert not (tmp_path / "b" / "evil.txt").exists()


def test_a_cache_that_is_for_reading_only_is_read(monkeypatch):
    first, touch = call(*STUDY), Path.touch

    def refused(path, *arguments, **named):
        if path.name == "kept.json" or path.suffix == ".json":
            raise PermissionError(30, "Read-only file system")
        touch(path, *arguments, **named)

    monkeypatch.setattr(Path, "touch", refused)
    again = call(*STUDY)
    assert KEPT in again.stderr and again.stdout == first.stdout


def test_what_is_too_large_to_keep_is_not_read(cache, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "ROOM", 100)
    result = fedbounds.check("quadratic", clients=2, rounds=2, replicates=4, weightings=("fedavg",))
    monkeypatch.setattr(Path, "read_bytes", forbidden)
    earlier = Earlier.__new__(Earlier)
    earlier._folder = cache / "study-a"
    with open(tmp_path / "large", "wb") as file:
        file.truncate(101)
    earlier.keep(result, [tmp_path / "large"])
    assert not cache.exists()


def test_an_unfinished_shelf_and_a_link_to_nothing_are_cleared(cache):
    (cache / "study-killed").mkdir(parents=True)
    (cache / "study-killed" / "trajectories.npz").write_bytes(b"half")
    (cache / "page-gone.json").symlink_to(cache / "nowhere")
    call("cache", "clear")
    assert not list(cache.iterdir())


def test_no_home_is_nowhere_to_keep(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert KEPT not in call(*STUDY).stderr + call(*STUDY).stderr


def test_the_code_of_an_installed_plug_in_is_part_of_the_state(tmp_path, monkeypatch):
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fedbounds.weightings]\nmine = mine_weighting\n")
    (tmp_path / "mine_weighting.py").write_text("factor = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [e.value for e in metadata.entry_points(group="fedbounds.weightings")] == ["mine_weighting"]
    before = store.state(of=1)
    (tmp_path / "mine_weighting.py").write_text("factor = 2\n")
    assert store.state(of=1) != before


def test_other_instructions_are_another_state(monkeypatch):
    before = store.state(of=1)
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    assert store.state(of=1) != before


def test_a_study_replaced_while_it_is_read_keeps_no_page(tmp_path, monkeypatch, cache):
    from fedbounds.study import store

    call(*STUDY, "--out", tmp_path / "a")
    call(*STUDY, "--seed", 1, "--out", tmp_path / "b")
    read = store.read

    def replaced(folder):
        found = read(folder)
        for name in store.FILES:
            (tmp_path / "a" / name).write_bytes((tmp_path / "b" / name).read_bytes())
        return found

    monkeypatch.setattr(store, "read", replaced)
    call("report", tmp_path / "a", "--out", tmp_path / "page.html")
    assert not list(cache.glob("page-*"))


def test_a_source_that_changes_changes_the_state(tmp_path, monkeypatch):
    states = {store.state(), store.state(of=1), store.state(of=2), store.state(above={"cli"})}
    monkeypatch.setattr(store, "__file__", str(tmp_path / "study" / "cache.py"))
    (tmp_path / "one.py").write_text("1")
    states.add(store.state())
    (tmp_path / "one.py").write_text("2")
    assert len(states | {store.state()}) == 6


def test_the_longest_unseen_makes_room(cache, monkeypatch):
    for k, name in enumerate("abc"):
        store.shelve(cache / f"study-{name}", {"x": bytes(1000)})
        time.sleep(0.02 * (k < 2))
    assert store.shelved(cache / "study-a") == {"x": bytes(1000)}
    monkeypatch.setattr(store, "ROOM", 2 * sum(map(len, files_in(cache / "study-a").values())))
    store.shelve(cache / "study-d", {"x": b""})
    assert not store.shelved(cache / "study-b") and store.shelved(cache / "study-a")
    store.shelve(cache / "study-e", {"x": bytes(store.ROOM)})
    assert not store.shelved(cache / "study-e") and store.shelved(cache / "study-a")


def test_nowhere_to_keep(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert KEPT not in call(*STUDY).stderr + call(*STUDY).stderr


def test_pages(tmp_path, monkeypatch, cache):
    call(*STUDY, "--out", tmp_path / "a")
    page = tmp_path / "page.html"
    call("report", tmp_path / "a", "--out", page)
    first = page.read_bytes()
    monkeypatch.setattr("fedbounds.report.html.study_page.page", forbidden)
    call("report", tmp_path / "a", "--out", page)
    assert page.read_bytes() == first
    assert isinstance(CliRunner().invoke(main, ["report", str(tmp_path / "a"), "--fresh"]).exception, AssertionError)
    assert "Deleted" in call("cache", "clear").stderr
    assert not list(cache.iterdir())
