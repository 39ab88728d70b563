"""Performance estimation of one round: closed forms, PEPit, replays in the simulator and mutants as oracles."""

from dataclasses import replace
from fractions import Fraction as F

import pepit_oracle
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.certificate import check
from fedbounds.evidence.sdp.one_step.parameters import applies, round_setting
from fedbounds.evidence.sdp.one_step.program import BOUNDS, build
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight, tight_value
from fedbounds.evidence.sdp.one_step.verdict import examination, examine
from fedbounds.evidence.sdp.one_step.worst_instance import replay
from fedbounds.evidence.sdp.solver import Solved, worst_case
from fedbounds.plugins import claim_named, claims
from fedbounds.theory.verdict import Status
from validate.tight_constants import at

# Solvers stop at 1e-8; values of the order of 1 agree to a little less.
SOLVER = 1e-6
LEMMA_1, LEMMA_2, THEOREM_1 = (claim_named(key) for key in ("lemma-1", "lemma-2", "theorem-1"))
SKEWED = {"alpha": (F(9, 10), F(1, 10)), "p": (F(1, 2), F(1, 2)), "rho_bar": F(3, 2)}


def worst_descent(N, tau_steps, bounds=("Delta_start", "star_grad_sq")):
    model = build(round_setting(N, tau_steps, kappa=10, eta=F(1, 2)), float, bounds=())
    return worst_case(model, model["Delta_next"], [model[name] for name in bounds], "nonneg")


class TestAgainstPepit:
    def test_lemma_1(self):
        result = tight(LEMMA_1, round_setting(1, 1), "gap")
        assert result.solver == pytest.approx(2, rel=1e-6) == pytest.approx(pepit_oracle.lemma_1(0.1, 1.0), rel=1e-5)

    @pytest.mark.parametrize(("N", "steps"), [(3, 1), (2, 3)])
    def test_a_round_of_local_descent(self, N, steps):
        mine, theirs = worst_descent(N, steps).value, pepit_oracle.local_descent(N, steps, 0.1, 1.0, 0.5)
        assert mine == pytest.approx(theirs, rel=1e-5)


class TestClosedForms:
    @settings(max_examples=10, deadline=None)
    @given(st.integers(2, 1000), st.integers(1, 19))
    def test_gradient_descent_contracts_by_its_known_rate(self, kappa, tenths):
        step = F(tenths, 10)
        model = build(round_setting(2, 1, kappa=kappa, eta=step), float, bounds=())
        value = worst_case(model, model["Delta_next"], [model["Delta_start"]]).value
        known = max((1 - float(step) / kappa) ** 2, (1 - float(step)) ** 2)
        assert value == pytest.approx(known, abs=SOLVER)

    @pytest.mark.parametrize("steps", [3])
    def test_lemma_2_at_constant_steps_needs_the_square_of_the_steps_taken(self, steps):
        # Opposite gradients +-G for s steps drift by (s eta G)^2; curvature lowers it, kappa = 10^6 hardly.
        result = tight_value(LEMMA_2, round_setting(2, steps, kappa=10**6, eta=F(1, 10**4)), "drift")
        assert result == pytest.approx(((steps - 1) / steps) ** 2, rel=1e-3)


class TestVerdicts:
    @pytest.mark.parametrize("key", sorted(key for key, claim in claims().items() if applies(claim)))
    def test_one_round_claims_hold_in_the_repaired_reading_or_do_not_apply(self, key):
        for step, chosen in enumerate((round_setting(2, 2, 0), round_setting(2, 2, 1, **SKEWED))):
            verdict, certificate = examination(claim_named(key), chosen)
            assert verdict.status in (Status.HOLDS, Status.NOT_APPLICABLE)
            assert (certificate is not None) is (verdict.status is Status.HOLDS)
            if certificate is not None:
                nothing = key == "drift-full" and step == 0  # both sides are 0
                assert check(certificate) == (True, "verified") and (verdict.margin is None) is nothing
                assert verdict.margin is None or verdict.margin > -SOLVER

    def test_what_is_no_one_round_statement_is_not_applicable(self):
        assert examine(claim_named("corollary"), round_setting()).status is Status.NOT_APPLICABLE
        with pytest.raises(InputError, match="one-round"):
            coefficients(claim_named("corollary"), round_setting())

    def test_the_literal_reading_of_theorem_1_is_refuted_at_an_aggregation_step(self):
        chosen = round_setting(2, 2, alpha=SKEWED["alpha"], kappa=1000, reading="literal")
        verdict = examine(THEOREM_1, chosen)
        assert verdict.status is Status.REFUTED and verdict.margin < 0
        assert examine(THEOREM_1, replace(chosen, reading="repaired")).status is Status.HOLDS

    def test_lemma_2_is_refuted_by_steps_that_shrink_too_fast(self):
        chosen = replace(round_setting(2, 2), eta=(F(1, 4), F(1, 100)))
        assert examine(LEMMA_2, replace(chosen, reading="literal")).status is Status.REFUTED
        verdict = examine(LEMMA_2, chosen)
        assert verdict.status is Status.NOT_APPLICABLE and "slow-decay" in verdict.detail

    def test_an_assumption_the_model_cannot_impose_leaves_it_undecided(self):
        claim = claim_named("error-free-step")
        terms = {name: term for name, term in claim.terms.items() if name != "drift"}
        verdict = examine(replace(claim, terms=terms), round_setting(2, 1, **SKEWED))
        assert verdict.status is Status.UNDECIDED and "homogeneous" in verdict.detail


class TestMutants:
    """A false claim is never certified: just below a tight constant nothing is proved."""

    def test_a_mutant_is_refuted_by_an_instance(self):
        mutant = replace(LEMMA_2, terms={"drift": LEMMA_2.terms["drift"] / 100})
        verdict, certificate = examination(mutant, round_setting(2, 2))
        assert verdict.status is Status.REFUTED and certificate is None


class TestTightConstants:
    def test_the_gradient_term_of_theorem_1_is_not_needed_without_skew(self):
        result = tight(THEOREM_1, round_setting(2, 2), "drift")
        assert not result.needed and result.certified == 0 and "G_sq" not in result.certificate.rhs

    def test_a_larger_contraction_is_certified_from_below(self):
        result = tight(THEOREM_1, round_setting(2, 2), "contraction")
        assert (
            result.stated == 3 / 8 < result.solver and 0.999 * result.solver < float(result.certified) < result.solver
        )
        assert check(result.certificate) == (True, "verified")


class TestReplay:
    @settings(max_examples=4, deadline=None)
    @given(st.sampled_from(["theorem-1", "sharper-step", "star-step", "lemma-2"]), st.integers(2, 30), st.booleans())
    def test_a_worst_case_shows_its_value_in_the_simulator(self, key, kappa, skewed):
        claim = claim_named(key)
        chosen = round_setting(2, 2, kappa=kappa, **(SKEWED if skewed else {}))
        model = build(chosen, float, [name for name in BOUNDS if coefficients(claim, chosen).get(name)])
        rhs = {k: float(v) for k, v in coefficients(claim, chosen).items()}
        result = worst_case(model, model[str(claim.lhs)], [model.sum(rhs)])
        assert result.outcome is Solved.OPTIMAL
        shown = replay(claim, model, result)
        assert shown.lhs / shown.rhs == pytest.approx(result.value, rel=1e-3)


@pytest.mark.parametrize(
    ("key", "term", "weights"),
    [("star-step", "heterogeneity", "skewed")],  # the second is tight in a limit
)
def test_a_constant_just_below_the_certified_one_is_refuted_by_a_run_where_only_a_term_measures_the_violation(
    key, term, weights
):
    claim, setting = claim_named(key), at(10, 3, weights)
    smaller = tight(claim, setting, term).certified * F(999, 1000) / split(claim, setting, term).stated
    below = sp.Rational(smaller.numerator, smaller.denominator) * claim.terms[term]
    changed = replace(claim, key="below", terms={**claim.terms, term: below})
    assert examine(changed, setting).status is Status.REFUTED
