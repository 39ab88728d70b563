"""Perturbed theorems: none that is known to be false may hold, none that is known to be true may be refuted."""

import dataclasses

import pytest

from fedbounds.referee.regime import Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.theory.symbols import eta, sigma_sq
from validate import false_theorems as study


@pytest.fixture(scope="module")
def fates():
    suite = Suite(REGIMES)
    return [study.tried(specimen, suite, 5, search=False) for specimen in study.specimens(5, 8)]


def test_no_false_theorem_holds_and_no_true_one_is_refuted(fates):
    counts = study.counted(fates)
    assert counts["false"] and counts["true"]
    assert not counts["false with a HOLDS that contains the counterexample"], [fate.unsound for fate in fates]
    assert not counts["true refuted"]


def test_most_are_decided(fates):
    counts = study.counted(fates)
    assert counts["false refuted"] >= counts["false"] - 1
    assert counts["true certified or proved somewhere"] >= counts["true"] - 1


def test_what_is_called_false_is_false_in_fractions():
    for specimen in study.specimens(6, 6):
        if not specimen.true:
            verdict = study.exactly.examine(specimen.instance, specimen.claim, specimen.reading)
            assert verdict.status is study.Status.REFUTED


def test_a_checker_that_certifies_anything_is_caught(monkeypatch):
    """The study itself must notice: every certificate is given, and the false ones among them are named."""
    claim, reading = next(pair for pair in study.bases() if pair[0].key == "fedavg-step")
    wrong = dataclasses.replace(claim, key="wrong", terms={"nothing": eta**2 * sigma_sq})
    instance = study.counterexample(wrong, reading, study.pool(5))
    fate = study.Fate(study.Specimen(wrong, reading, claim.key, "all but the noise dropped", False, instance))
    real = study.sdp.examine

    def gullible(claim, setting):
        verdict = real(claim, setting)
        covered = study.scope.coverage(claim, setting)
        return dataclasses.replace(verdict, status=study.Status.HOLDS, coverage=covered, failed=())

    monkeypatch.setattr(study.sdp, "examine", gullible)
    for kappa, tau, (alpha, p) in study.SETTINGS[::2]:
        study._certified(
            fate, study.round_setting(2, tau, kappa=kappa, alpha=alpha, p=p), study.np.random.default_rng(0)
        )
    assert fate.unsound
