"""The regime suite: it runs, it reaches what its summaries promise, and no true claim is refuted in it."""

import numpy as np
import pytest

from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.plugins import claims
from fedbounds.referee.regimes import ERROR_RATE, REGIMES, Suite, prescribed_steps
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

KNOWN = claims()
# Proved in the reading named.
TRUE = {**dict.fromkeys(("theorem-1", "lemma-2", "pi-ratio"), "repaired"), "lemma-1": "literal"}
FALSE = (
    *(("theorem-1", "literal"), ("theorem-1", "sync"), ("corollary", "literal"), ("lemma-2", "literal")),
    *(("error-minimiser", "literal"), ("error-by-pi", "repaired"), ("speed-floor", "literal")),
)
BY_NAME = {regime.name: regime for regime in REGIMES}


@pytest.fixture(scope="module")
def suite():
    return Suite(REGIMES)


def statuses(suite, key, reading):
    claim = KNOWN[key]
    for regime in suite.regimes:
        run = suite.run(regime, READINGS[reading], claim)
        yield regime.name, empirical.examine(claim, run, ERROR_RATE)


@pytest.mark.parametrize(("key", "reading"), TRUE.items())
def test_no_regime_refutes_a_true_claim(suite, key, reading):
    result = dict(statuses(suite, key, reading))
    assert {name: v.detail for name, v in result.items() if v.status is Status.REFUTED} == {}
    assert any(verdict.status is Status.HOLDS for verdict in result.values())


@pytest.mark.parametrize(("key", "reading"), FALSE)
def test_some_regime_refutes_each_false_claim(suite, key, reading):
    assert any(verdict.status is Status.REFUTED for _, verdict in statuses(suite, key, reading))


def test_a_suite_simulates_each_regime_once(suite):
    regime = BY_NAME["one client"]
    claim = KNOWN["sharper-step"]
    first = suite.run(regime, READINGS["repaired"], claim)
    assert suite.run(regime, READINGS["repaired"], claim) is first
    # Another reading is another view of the same simulation.
    assert suite.run(regime, READINGS["literal"], claim).trajectory is first.trajectory


def test_claims_are_run_with_their_own_step_size(suite):
    claim, regime = KNOWN["li-2020"], BY_NAME["homogeneous, one step at a time"]
    run = suite.run(regime, READINGS["literal"], claim)
    gamma = max(8 * run.constants["L"].value, 1)
    np.testing.assert_allclose(run.trajectory.eta, 2 / (gamma + np.arange(40)), rtol=1e-12)
    assert prescribed_steps(regime.build(), claim)(3) == pytest.approx(2 / (gamma + 3), rel=1e-12)
