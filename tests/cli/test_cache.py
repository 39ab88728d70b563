"""What was run before on this machine is not run again: the same bytes, where all that it hangs on is the same."""

import time
from importlib import metadata

import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.study import cache


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fedbounds"


def call(*words):
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result


def forbidden():
    raise AssertionError("it was run again")


def kept(make=dict):
    return cache.cached("known", make, dict, dict)


def test_what_was_made_before_is_read_and_a_damaged_entry_is_not_believed(place):
    assert kept(lambda: {"a": 1}) == {"a": 1} == kept(forbidden)
    (path,) = place.glob("known-*.json")
    for damaged in (path.read_bytes().replace(b'"a": 1', b'"a": 2'), path.read_bytes()[1:], b"", b"\xff\n{}"):
        path.write_bytes(damaged)
        assert kept(lambda: {"a": 1}) == {"a": 1} == kept(forbidden)


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
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "study" / "cache.py"))
    for text in ("1", "2"):
        (tmp_path / "one.py").write_text(text)
        states.add(cache.state())
    assert len(states) == 8


def test_the_oldest_make_room(place, monkeypatch):
    monkeypatch.setattr(cache, "KEPT", 2)
    for k in range(3):
        assert cache.cached("known", lambda k=k: {"a": k}, dict, dict, of=k) == {"a": k}
        time.sleep(0.02)
    assert cache.cached("known", forbidden, dict, dict, of=2) == {"a": 2} and len(list(place.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert kept(lambda: {"a": 2}) == {"a": 2} != kept(lambda: {"a": 3})
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert kept(lambda: {"a": 2}) == {"a": 2} != kept(lambda: {"a": 3})
