"""What a release remembers of its evidence: used while nothing has changed, and never after."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from fedbounds import plugins
from fedbounds.cli.app import main
from fedbounds.study import release_evidence
from fedbounds.study.ledger import verified
from fedbounds.study.release_evidence import RECORD, keep, remember, remembered
from fedbounds.theory.verdict import Evidence, Status, Verdict

PROVED = Verdict("lemma-1", "literal", Evidence.SYMBOLIC, Status.HOLDS, detail="proved")


@pytest.fixture
def claims(tmp_path, monkeypatch):
    """Two claims, of one of which a record in a folder of its own says that it is proved."""
    found = {key: plugins.claim_named(key) for key in ("lemma-1", "lemma-2")}
    (tmp_path / "proof.py").write_text("DERIVATIONS = ()")
    monkeypatch.setattr(plugins, "installed", lambda: sorted(tmp_path.glob("*.*")))
    remember(found, [PROVED], tmp_path / RECORD)
    monkeypatch.setattr(plugins, "shipped", lambda pattern, own=False: tmp_path.glob(pattern))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    release_evidence._read.cache_clear()
    yield found
    release_evidence._read.cache_clear()


def test_what_is_unchanged_is_remembered(claims):
    assert remembered(claims) == [PROVED]
    assert remembered({"lemma-2": claims["lemma-2"]}) == []


def test_another_statement_of_the_same_key_is_not(claims):
    assert remembered({"lemma-1": replace(claims["lemma-1"], lhs=2 * claims["lemma-1"].lhs)}) is None
    assert remembered({"mine": claims["lemma-1"]}) is None


@pytest.mark.parametrize("change", ["a proof", "a new file", "a module", "no record"])
def test_after_a_change_nothing_is(claims, change, tmp_path):
    if change == "a proof":
        (tmp_path / "proof.py").write_text("DERIVATIONS = (1,)")
    elif change == "a new file":
        (tmp_path / "other.json").write_text("{}")
    elif change == "a module":
        path = tmp_path / RECORD
        path.write_text(path.read_text().replace('"theory/claim.py"', '"theory/verdict.py"'))
    else:
        (tmp_path / RECORD).write_text("[]")
    assert remembered(claims) is None


def test_this_machine_remembers_what_was_verified_after_a_change(claims, tmp_path, monkeypatch):
    (tmp_path / RECORD).unlink()
    assert remembered(claims) is None
    keep(claims, [PROVED])
    assert remembered(claims) == [PROVED] and remembered({"lemma-1": claims["lemma-1"]}) is None
    (tmp_path / "proof.py").write_text("DERIVATIONS = (1,)")
    release_evidence._read.cache_clear()
    assert remembered(claims) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    keep(claims, [PROVED])
    assert remembered(claims) is None


def test_files_of_installed_plug_ins_count(tmp_path, monkeypatch):
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[fedbounds.weightings]\nmine = mine_weighting\n")
    (tmp_path / "mine_weighting.py").write_text("factor = 1\n")
    digests = {release_evidence._digest(())}
    monkeypatch.syspath_prepend(str(tmp_path))
    digests.add(release_evidence._digest(()))
    (tmp_path / "mine_weighting.py").write_text("factor = 2\n")
    digests.add(release_evidence._digest(()))
    assert len(digests) == 3


def test_cache_clear_deletes_unfinished_entries_and_links_to_nothing(claims, tmp_path):
    keep(claims, [PROVED])
    place = tmp_path / "cache" / "fedbounds"
    (place / "study-killed").mkdir()
    (place / "study-killed" / "trajectories.npz").write_bytes(b"half")
    (place / "page-gone.json").symlink_to(place / "nowhere")
    assert "Deleted 3 entries" in CliRunner().invoke(main, ["cache", "clear"]).stderr and not list(place.iterdir())


def test_the_record_of_this_release_says_what_a_verification_says():
    found = {key: plugins.claim_named(key) for key in ("lemma-1", "lemma-2")}
    shipped = remembered(found)
    assert shipped is None or {str(v.to_json()) for v in shipped} == {str(v.to_json()) for v in verified(found)}
