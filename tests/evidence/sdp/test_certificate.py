"""The exact checker: what it accepts, and everything it must not."""

from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fedbounds.evidence.sdp.verification as module
from fedbounds.evidence.sdp.one_step.certificate import check, read
from fedbounds.evidence.sdp.one_step.coverage import coverage
from fedbounds.evidence.sdp.one_step.parameters import Setting, round_setting
from fedbounds.evidence.sdp.one_step.verdict import certify
from fedbounds.evidence.sdp.program import Constraint, Program, Symbol, Vector, exact
from fedbounds.evidence.sdp.verification import is_psd, verify
from fedbounds.plugins import claim_named, shipped

LEMMA_2 = certify(claim_named("lemma-2"), round_setting(2, 2, kappa=10))


def test_the_checker_is_short_and_free_of_floats_and_solvers():
    text = Path(module.__file__).read_text()
    assert len(text.splitlines()) < 100
    assert not any(word in text for word in ("float(", "cvxpy", "numpy", "sdp_solve", "isclose"))


def test_every_multiplier_matters():
    label, value = max(LEMMA_2.multipliers.items(), key=lambda item: F(item[1]))
    for wrong in (F(0), -F(value), F(value) * 2, F(value) + F(1, 10**9)):
        changed = replace(LEMMA_2, multipliers={**LEMMA_2.multipliers, label: str(wrong)})
        assert not check(changed)[0]


def test_a_smaller_right_side_is_not_proved():
    rhs = {"G_sq": str(F(LEMMA_2.rhs["G_sq"]) / 1000)}
    assert check(replace(LEMMA_2, rhs=rhs)) == (False, "this is not the inequality of lemma-2")
    assert not check(replace(LEMMA_2, rhs=rhs, claim=None))[0]


def test_the_inequality_must_be_the_claims_own():
    assert not check(replace(LEMMA_2, lhs="Delta"))[0]
    assert not check(replace(LEMMA_2, scale={"drift": "2"}))[0]
    assert not check(replace(LEMMA_2, claim="lemma-1"))[0]


small = st.integers(-4, 4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(small, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(0, 3))
def test_definiteness_agrees_with_how_the_matrix_was_made(rows, k):
    B = np.array(rows)
    S = B.T @ B
    assert is_psd([[fmpq(int(v)) for v in row] for row in S])
    S = S.astype(object)
    eigenvalues = np.linalg.eigvalsh(S.astype(float) - np.diag([1e-3 * (j == k) for j in range(3)]))
    S = [[fmpq(int(S[i, j])) - (fmpq(1, 1000) if i == j == k else 0) for j in range(3)] for i in range(3)]
    assume(abs(eigenvalues[0]) > 1e-9)
    assert is_psd(S) is bool(eigenvalues[0] > 0)


def test_a_negative_multiplier_and_a_zero_pivot_prove_nothing():
    """Each where nothing else is wrong: -|x|^2 is minus a constraint, and 2 x y is of no sign."""
    x = Vector({Symbol("x"): exact(F(1))})
    program = Program((Symbol("x"),), (), (Constraint("square", -1, "", x.squared),), exact, apart=True)
    assert verify(program, x.squared, {"square": exact(F(1))})[0]
    assert verify(program, -x.squared, {"square": exact(F(-1))}) == (False, "the multiplier of square is negative")
    crossed, plain = ([[fmpq(v) for v in row] for row in S] for S in ([[0, 1], [1, 0]], [[0, 0], [0, 1]]))
    assert is_psd(plain) and not is_psd(crossed)


def test_certificates_of_gradient_descent_cover_the_steps_they_were_solved_for():
    """One client's steps stand for those of all; nothing is said of other numbers of steps or other steps."""
    claim = claim_named("gradient-descent")
    (path,) = shipped("certificates/gradient-descent.jsonl")
    covered = [coverage(claim, Setting.from_json(item.setting)) for item in read(path) if check(item)[0]]
    assert len(covered) == 48
    run = {"kappa": 10, "eta_L": 1, "T": 3, "tau": 1, "participation": 1, "gradients": "full", "N": 5}
    assert sum(item.contains(run) for item in covered) == 1
    for other in ({"tau": 2}, {"T": 4}, {"kappa": 11}, {"eta_L": F(11, 10)}, {"gradients": "stochastic"}):
        assert not any(item.contains(run | other) for item in covered)
