"""The true claims are thrown at random problems and never refuted; the false ones are refuted on instances."""

import pytest
from hypothesis import given, settings

from fedbounds.plugins import claims
from fedbounds.testing import assert_claim, runs, verdict_on
from fedbounds.theory.verdict import Status

settings.load_profile("fedbounds")
KNOWN = claims()


@pytest.mark.parametrize(
    "key", ["lemma-1", "lemma-2", "theorem-1", "sharper-step", "pi-ratio", "pi-inverse", "pi-max", "error-minimiser"]
)
@given(trajectory=runs())
def test_true_claims_are_never_refuted(key, trajectory):
    assert_claim(KNOWN[key], trajectory)


@pytest.mark.parametrize("key", ["corollary", "sharper-corollary", "final-bound", "lemma-2", "theorem-1"])
@given(trajectory=runs(theory=True))
def test_true_claims_under_their_own_step_size(key, trajectory):
    assert_claim(KNOWN[key], trajectory)


@pytest.mark.parametrize("key", ["error-free", "error-free-step"])
@given(trajectory=runs(theory=True, homogeneous=True))
def test_error_free_claims_where_minimisers_coincide(key, trajectory):
    assert verdict_on(KNOWN[key], trajectory).status in (Status.HOLDS, Status.UNDECIDED, Status.NOT_APPLICABLE)
    if key == "error-free-step":
        assert "Gamma" not in verdict_on(KNOWN[key], trajectory).detail


@given(trajectory=runs(noise=False))
def test_noiseless_runs_are_decided(trajectory):
    assert verdict_on(KNOWN["sharper-step"], trajectory).status is Status.HOLDS
