"""The bound for biased weights at a constant step: what it adds up, and the floor that FedMax ends at."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.empirical import comparison
from fedbounds.evidence.measured_run import examine_run
from fedbounds.model.experiment import Experiment
from fedbounds.model.schedule import ConstantStep
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import quadratic
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_0, T, eta, eta_0, eta_ratio, kept, mu, rho_bar, skew
from fedbounds.weightings.fedmax import FedMax

STEP, FIXED = claim_named("cho-2020-step"), claim_named("cho-2020-fixed")


def test_the_bound_is_its_step_added_up():
    """At T = 0 it is the start; at T + 1 it is q >= 0 times it at T, plus what a step adds: so induction shows it."""
    at = {eta: eta_0, eta_ratio: 1, Delta: FIXED.rhs, sp.Min(rho_bar, 1 / (eta * mu)): skew}
    left = FIXED.rhs.subs(T, T + 1) - STEP.rhs.subs(at)
    assert sp.simplify(left.subs(kept, (1 - eta_0 * mu) * (1 - eta_0 * mu * skew))) == 0
    assert sp.simplify(FIXED.rhs.subs(T, 0) - Delta_0) == 0
    assert sp.simplify(FIXED.definitions[kept].subs(rho_bar, 3 + 1 / (eta_0 * mu))) == 0
    assert FIXED.assumptions == STEP.assumptions and FIXED.eta == eta_0


def test_fedmax_ends_at_a_floor_that_the_bound_keeps_and_its_bias_accounts_for():
    """On (w - 1)^2/2 and 2 (w + 1)^2, tau = 1 and full gradients: drift and noise are 0."""
    problem = quadratic([[1.0], [4.0]], np.array([[1.0], [-1.0]]))
    run = Experiment(problem, FedMax(), ConstantStep(0.002), tau=1, rounds=4000, replicates=1, w0=np.array([3.0]))
    result = examine_run(simulate(run), READINGS["repaired"])
    sides = comparison.compare(FIXED, result)
    assert comparison.examine(FIXED, result).status == "HOLDS"
    assert 0.01 < sides.lhs[0, -1] < sides.rhs[0, -1] == pytest.approx(sides.rhs[0, -100], rel=1e-3)
    fair = replace(FIXED, terms={**FIXED.terms, "bias": sp.Integer(0)})
    assert comparison.examine(fair, result).status == "REFUTED"
