"""Mutants are made and caught; false alarms are as rare as promised."""

from dataclasses import replace

import cloudpickle
import numpy as np
import pytest
import sympy as sp

from fedbounds.claims.sharper_one_step import SHARPER_STEP
from fedbounds.evidence.empirical import comparison as empirical
from fedbounds.plugins import claims
from fedbounds.referee.changed_terms import parts, replaced_at, scaled
from fedbounds.referee.regimes import ERROR_RATE, REGIMES, Suite
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, eta, mu, rho_bar
from fedbounds.theory.verdict import Status
from validate import false_alarms

KNOWN = claims()
REPAIRED = READINGS["repaired"]


def part(claim, *needles, whole=False):
    """The part of a claim whose label has these words, the outermost if several do."""
    return next(
        p for p in parts(claim) if all(n in p.label for n in needles) and (whole or p.path or len(needles) == 1)
    )


@pytest.fixture(scope="module")
def suite():
    return Suite(REGIMES)


STEEPER = {**SHARPER_STEP.terms, "contraction": (1 - 3 * eta * mu * (1 + rho_bar)) * Delta}
WRONG = {
    "lemma-2 with 15 for 16": (
        scaled(KNOWN["lemma-2"], part(KNOWN["lemma-2"], "drift"), sp.Rational(15, 16)),
        REPAIRED,
    ),
    "a contraction thrice as strong": (replace(SHARPER_STEP, terms=STEEPER), REPAIRED),
    "corollary without its error": (scaled(KNOWN["corollary"], part(KNOWN["corollary"], "error"), 0), REPAIRED),
}


@pytest.mark.parametrize("name", WRONG)
def test_false_variants_are_refuted(suite, name):
    claim, reading = WRONG[name]
    runs = (suite.run(regime, reading, claim) for regime in suite.regimes)
    assert any(empirical.examine(claim, run, ERROR_RATE).status is Status.REFUTED for run in runs)


def test_parts_are_terms_and_every_addend():
    labels = [p.label for p in parts(KNOWN["theorem-1"])]
    assert labels[:4] == [
        "contraction",
        "contraction: 1 of -eta*mu*(3*rho_bar/8 + 1) + 1",
        "contraction: -eta*mu*(3*rho_bar/8 + 1) of -eta*mu*(3*rho_bar/8 + 1) + 1",
        "contraction: 1 of 3*rho_bar/8 + 1",
    ]
    assert len(set(labels)) == len(labels)
    for claim in KNOWN.values():
        for p in parts(claim):
            term = sp.sympify(claim.terms[p.term])
            assert replaced_at(term, p.path, p.expression) == term


def test_a_claim_with_its_own_steps_is_the_same_in_another_process():
    claim = claims()["averaged-corollary"]
    reading = READINGS[claim.readings[0]]
    before = claim.assumptions_in(reading)
    for item in (claim, claims()["mishchenko-2022"]):
        asked = item.assumptions_in(READINGS[item.readings[0]])
        again = cloudpickle.loads(cloudpickle.dumps(item)).assumptions_in(READINGS[item.readings[0]])
        assert [(type(a), a.key) for a in again] == [(type(a), a.key) for a in asked]
    again = cloudpickle.loads(cloudpickle.dumps(claim)).assumptions_in(reading)
    assert again[-1].key == before[-1].key


class TestFalseAlarms:
    def test_the_claims_are_equalities(self):
        """Pooled over many replicates the two sides agree to a few standard errors, and not when one is off."""
        trajectory = false_alarms.simulate(false_alarms.planned(20, 4000, 1))
        run = false_alarms.examine_run(next(false_alarms.batches(trajectory, 4000)), false_alarms.READING)
        for name, claim in false_alarms.EQUALITIES.items():
            sides = empirical.compare(claim, run)
            difference = (sides.lhs - sides.rhs)[:, -20:]
            z = difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(4000))
            assert np.abs(z).max() < 4, name
            off = scaled(claim, part(claim, "variance"), sp.Rational(4, 5))
            assert empirical.examine(off, run).status is Status.REFUTED
            assert empirical.examine(claim, run).status is not Status.REFUTED

    def test_rates_are_within_the_nominal(self):
        for cell in false_alarms.measure(1, 16, 40):
            assert cell["runs"] == 40
            for name in ("false_refuted", "false_margin"):
                low, high = cell[f"{name}_interval"]
                assert low <= cell["error_rate"] / 2 and 0 <= low <= high <= 1
            assert cell["false_holds"] <= cell["false_margin"] or cell["claim"] == "horizon"
