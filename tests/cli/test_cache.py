"""What was run before on this machine is not run again: the same bytes, where all that it hangs on is the same."""

import hashlib
import json
import time
from importlib import metadata
from pathlib import Path

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


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def forbidden():
    raise AssertionError("it was run again")


def kept(make=dict):
    return cache.cached("known", make, dict, dict)


def test_what_was_made_before_is_read_and_a_damaged_entry_is_not_believed(place):
    assert kept(lambda: {"a": 1}) == {"a": 1} == kept(forbidden)
    for name in (cache.VALUE, cache.MANIFEST):
        (path,) = place.glob(f"known-*/{name}")
        path.write_bytes(path.read_bytes().replace(b"1", b"2", 1).replace(b"a", b"b", 1))
        assert kept(lambda: {"a": 1}) == {"a": 1} == kept(forbidden)


def test_an_entry_whose_names_leave_it_or_that_lacks_the_value_is_not_believed(place):
    kept()
    (path,) = place.glob(f"known-*/{cache.MANIFEST}")
    (path.parent / "evil.txt").write_bytes(b"")
    digest = hashlib.sha256(b"").hexdigest()
    for stored in ({"../evil.txt": digest}, {"evil.txt": digest}):
        path.write_text(json.dumps(stored))
        assert cache.VALUE not in cache.load(path.parent) and kept(lambda: {"a": 1}) == {"a": 1}


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
    kept(lambda: {"a": 1})
    monkeypatch.setattr(Path, "touch", lambda *_, **__: (_ for _ in ()).throw(PermissionError(30, "read-only")))
    assert kept(forbidden) == {"a": 1}
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    assert kept(lambda: {"a": 2}) == {"a": 2} != kept(lambda: {"a": 3})
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert kept(lambda: {"a": 2}) == {"a": 2} != kept(lambda: {"a": 3})
