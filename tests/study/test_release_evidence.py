"""What a release remembers of its evidence: used while nothing has changed, and never after."""

from dataclasses import replace

import pytest

from fedbounds import plugins
from fedbounds.study import release_evidence
from fedbounds.study.ledger import verified
from fedbounds.study.release_evidence import RECORD, remember, remembered
from fedbounds.theory.verdict import Evidence, Status, Verdict

PROVED = Verdict("lemma-1", "literal", Evidence.SYMBOLIC, Status.HOLDS, detail="proved")


@pytest.fixture
def claims(tmp_path, monkeypatch):
    """Two claims, of one of which a record in a folder of its own says that it is proved."""
    found = {key: plugins.claim_named(key) for key in ("lemma-1", "lemma-2")}
    (tmp_path / "proof.py").write_text("DERIVATIONS = ()")
    remember(found, [PROVED], tmp_path)
    monkeypatch.setattr(plugins, "shipped", lambda pattern, own=False: tmp_path.glob(pattern))
    release_evidence._record.cache_clear()
    yield found
    release_evidence._record.cache_clear()


def test_what_is_unchanged_is_remembered(claims):
    assert remembered(claims) == [PROVED]
    assert remembered({"lemma-2": claims["lemma-2"]}) == []


def test_another_statement_of_the_same_key_is_not(claims):
    assert remembered({"lemma-1": replace(claims["lemma-1"], lhs=2 * claims["lemma-1"].lhs)}) is None
    assert remembered({"mine": claims["lemma-1"]}) is None


@pytest.mark.parametrize("change", ["a proof", "a new file", "a module", "another package", "no record"])
def test_after_a_change_nothing_is(claims, change, tmp_path, monkeypatch):
    if change == "a proof":
        (tmp_path / "proof.py").write_text("DERIVATIONS = (1,)")
    elif change == "a new file":
        (tmp_path / "other.json").write_text("{}")
    elif change == "a module":
        path = tmp_path / RECORD
        path.write_text(path.read_text().replace('"theory/claim.py"', '"theory/verdict.py"'))
    elif change == "another package":
        entry = plugins.registered("fedbounds.derivations")[0]
        monkeypatch.setattr(plugins, "registered", lambda group: (replace_value(entry),))
    else:
        (tmp_path / RECORD).write_text("[]")
    assert remembered(claims) is None


def replace_value(entry):
    """The same entry point, of another package."""
    return type(entry)(entry.name, "elsewhere", entry.group)


def test_the_record_of_this_release_says_what_a_verification_says():
    found = {key: plugins.claim_named(key) for key in ("lemma-1", "lemma-2")}
    shipped = remembered(found)
    assert shipped is None or {str(v.to_json()) for v in shipped} == {str(v.to_json()) for v in verified(found)}
