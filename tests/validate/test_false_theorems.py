"""Perturbed theorems: none that is known to be false may hold, none that is known to be true may be refuted."""

import dataclasses

import numpy as np
import pytest
from proofs import proved

from fedbounds.plugins import claims
from fedbounds.referee.regimes import REGIMES, Suite
from fedbounds.theory.claim import Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import eta, sigma_sq
from fedbounds.theory.verdict import Evidence, Status
from validate.false_theorems import __main__ as study
from validate.false_theorems import evidences, specimens

SEED, DRAWN = 5, 6  # of the runs, and of specimens among which some are true


@pytest.fixture(scope="module", autouse=True)
def few():
    """Fewer instances; what is proved comes from the release's record while that is of today's sources."""
    shown = {(claim.key, name) for claim, name in proved()}
    known = [claim for claim in claims().values() if claim.kind is not Kind.RATE]
    every = tuple((one, READINGS[name], (one.key, name) in shown) for one in known for name in one.readings)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(specimens, "POOL", 50)
        patched.setattr(specimens, "subjects", lambda: every)
        yield
    specimens.pool.cache_clear()


@pytest.fixture(scope="module")
def bench():
    return evidences.Bench(SEED, Suite(REGIMES[::3]))


@pytest.fixture(scope="module")
def fates(bench):
    return [evidences.tried(specimens.specimen(DRAWN, k), bench, k, search=False) for k in range(4)]


def test_no_false_theorem_holds_and_no_true_one_is_refuted(fates):
    counts = study.counted([study.record(k, fate) for k, fate in enumerate(fates)])
    assert counts["false"] and counts["true"]
    assert not counts["unsound"], [fate.unsound for fate in fates]
    assert not counts["wrongly refuted"]


def test_most_are_decided(fates):
    counts = study.counted([study.record(k, fate) for k, fate in enumerate(fates)])
    assert counts["refuted"] >= counts["false"] - 1
    assert counts["as wide"] >= counts["true"] - 1, [fate.narrower for fate in fates]


def test_what_is_called_false_is_false_in_fractions(fates):
    for fate in fates:
        one = fate.specimen
        if not one.true:
            instance = evidences.from_json(one.against.data["instance"])
            assert specimens.exactly.examine(instance, one.claim, one.reading).status is Status.REFUTED


@pytest.fixture(scope="module")
def wrong():
    """FedAvg's one-step bound with all but the noise dropped, and a counterexample."""
    base = next(claim for claim, _, _ in specimens.subjects() if claim.key == "fedavg-step")
    claim = dataclasses.replace(base, key="wrong", terms={"nothing": eta**2 * sigma_sq})
    rng, reading = np.random.default_rng(0), READINGS["repaired"]
    against = next(specimens.pool(SEED, None).against(claim, reading, rng))
    return specimens.Specimen(claim, reading, base, "deleted", "all but the noise dropped", against)


def test_a_checker_that_certifies_anything_is_caught(monkeypatch, wrong, bench):
    """The study itself must notice: every certificate is given, and the false ones among them are named."""

    def gullible(claim, setting):
        covered = evidences.coverage.coverage(claim, setting)
        return evidences.Verdict(claim.key, setting.reading, Evidence.SDP, Status.HOLDS, coverage=covered)

    monkeypatch.setattr(evidences.sdp, "examine", gullible)
    fate = evidences.Fate(wrong)
    for k in range(4):
        evidences._certified(fate, bench, np.random.default_rng(k))
    assert fate.unsound


def test_a_checker_that_believes_every_proof_is_caught(monkeypatch, wrong):
    fate = evidences.Fate(wrong)
    evidences._proved(fate)
    assert not fate.unsound and "UNDECIDED" in fate.said["symbolic"]

    def gullible(checked, claim, reading):
        return evidences.Verdict(claim.key, reading.name, Evidence.SYMBOLIC, Status.HOLDS)

    monkeypatch.setattr(evidences.symbolic, "judge", gullible)
    evidences._proved(fate)
    assert fate.unsound


def test_a_run_that_holds_where_the_claim_fails_is_caught(monkeypatch, wrong):
    monkeypatch.setattr(
        evidences,
        "_judged",
        lambda kind, claim, seen: evidences.Verdict(claim.key, "repaired", kind, Status.HOLDS),
    )
    fate = evidences.Fate(wrong)
    evidences._where_it_fails(fate)
    assert fate.unsound


def test_the_page_shows_the_stored_records_and_they_are_as_wanted():
    seed, records = study.read(study.RECORDS)
    assert study.table(seed, records) in study.PAGE.read_text(encoding="utf-8")
    counts = study.counted(records)
    assert not counts["unsound"] and not counts["wrongly refuted"]
    assert counts["refuted"] >= 0.9 * counts["false"] and counts["as wide"] >= 0.9 * counts["true"]
