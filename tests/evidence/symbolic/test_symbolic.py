"""The checker of derivations must reject every false step: wrong constants, signs, premises, citations."""

from dataclasses import replace

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from proofs import checked, fault, gives, outcome

from fedbounds.errors import InputError
from fedbounds.evidence.symbolic import checker
from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    NOISE,
    NOISE_0,
    START,
    W_NEXT,
    I,
    P,
    S,
    U,
    W,
    X,
    grad,
    loss,
)
from fedbounds.evidence.symbolic.derivation import (
    ONE,
    Cases,
    Cited,
    Condition,
    Derivation,
    Display,
    Earlier,
    Every,
    Extreme,
    Hypothesis,
    Induction,
    Limit,
    Square,
    averaged,
    case,
    premise,
    step,
)
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.vector_normal_form import depends, normal, normal_fraction
from fedbounds.theory.vectors import Centre, Inner, Mean, Value, Vec, Weights, norm_sq
from fedbounds.theory.verdict import Status

A = ALPHA
x, g = Vec(sp.Symbol("x"), I), Vec(sp.Symbol("v"), I)
y, z = Vec(sp.Symbol("y_1")), Vec(sp.Symbol("z_1"))
p, q = sp.symbols("p z", positive=True)
r = sp.Symbol("r", real=True)
F, H = Value(sp.Symbol("F"), I), Value(sp.Symbol("H"), I)


def is_zero(expression):
    return normal_fraction(expression) == 0


class TestAlgebra:
    @given(st.lists(st.integers(-9, 9), min_size=8, max_size=8), st.integers(1, 9), st.integers(1, 9))
    @settings(max_examples=40, deadline=None)
    def test_normal_form_agrees_with_numbers(self, coordinates, p_1, p_2):
        """Means and inner products of two clients in the plane, computed in exact rationals."""
        weights = (sp.Rational(p_1, p_1 + p_2), sp.Rational(p_2, p_1 + p_2))
        points = [sp.Matrix(coordinates[k : k + 2]) for k in (0, 2, 4, 6)]
        xs, gs = points[:2], points[2:]

        def centre(vectors):
            return weights[0] * vectors[0] + weights[1] * vectors[1]

        expression = norm_sq(Centre(A, x) - 3 * Centre(A, g)) + Mean(A, Inner(x, g - Centre(A, g)))
        values = {
            norm_sq(Centre(A, x)): centre(xs).dot(centre(xs)),
            norm_sq(Centre(A, g)): centre(gs).dot(centre(gs)),
            Inner(Centre(A, x), Centre(A, g)): centre(xs).dot(centre(gs)),
            Mean(A, Inner(x, g)): weights[0] * xs[0].dot(gs[0]) + weights[1] * xs[1].dot(gs[1]),
        }
        away = centre(xs) - 3 * centre(gs)
        spread_out = sum(w * a.dot(b - centre(gs)) for w, a, b in zip(weights, xs, gs, strict=True))
        assert normal(expression).subs(values) == away.dot(away) + spread_out

    def test_noise_is_orthogonal_to_what_was_known_when_it_was_drawn(self):
        assert is_zero(Inner(NOISE, W)) and is_zero(Inner(Centre(A, NOISE), Centre(A, X)))
        assert is_zero(Inner(NOISE, grad(X))) and is_zero(Inner(NOISE_0, START))
        assert not is_zero(norm_sq(NOISE)) and not is_zero(Inner(NOISE, Centre(A, NOISE)))

    @pytest.mark.parametrize(
        "v", [W_NEXT, grad(W_NEXT), grad(X - NOISE), y, grad(y), Centre(Weights(sp.Symbol("b"), I), X)]
    )
    def test_noise_is_not_orthogonal_to_what_may_depend_on_it(self, v):
        assert not is_zero(Inner(NOISE, v))

    def test_nested_means_keep_their_indices_apart(self):
        eta = Value(sp.Symbol("eta"), S)
        both = Mean(A, Mean(U, eta * F))
        assert is_zero(both - Mean(A, F) * Mean(U, eta))
        assert not depends(both, I) and depends(Mean(U, eta * F), I)

    def test_a_product_of_vectors_is_no_vector(self):
        with pytest.raises(ValueError, match="a number times one vector"):
            normal(Inner(x * y, z))


class TestCombination:
    def test_young(self):
        assert not fault(step("young", 2 * Inner(y, z), "<=", norm_sq(y) + norm_sq(z)).by(Square(y - z)))

    def test_multiplier_of_unknown_sign(self):
        assert "not non-negative on sight" in fault(step("no", 0, "<=", r * norm_sq(y)).by((r, Square(y))))

    def test_zero_facts_take_any_multiplier(self):
        zero = gives("zero", r, "=")
        for factor in (p, -p):
            proof = step("yes", factor * r, "=", 0).by((factor, premise("zero")))
            assert not fault(proof, assumes=(zero,))

    def test_smoothness_and_convexity_have_their_directions(self):
        bound = loss(y) + Inner(grad(y), z - y) + sy.L / 2 * norm_sq(z - y)
        both = {"assumes": (a.smooth, a.strongly_convex)}
        assert not fault(step("up", loss(z), "<=", bound).by(premise("smooth", y, z)), **both)
        assert fault(step("up", loss(z), "<=", bound).by(premise("strongly-convex", y, z)), **both)
        assert fault(step("up", loss(z), "<=", bound).by(premise("smooth", z, y)), **both)
        assert outcome(step("up", loss(z), "<=", bound).by(premise("smooth", y, z)), **both).assumptions == {"smooth"}

    def test_averages_need_the_weights_they_name(self):
        jensen = averaged(A, Square(x - Centre(A, x)))
        other = averaged(P, Square(x - Centre(A, x)))
        assert not fault(step("yes", norm_sq(Centre(A, x)), "<=", Mean(A, norm_sq(x))).by(jensen))
        assert fault(step("no", norm_sq(Centre(A, x)), "<=", Mean(A, norm_sq(x))).by(other))

    def test_paper_difference_is_verified(self):
        known = {"assumes": (gives("a", 3 * p - q),)}
        assert not fault(step("yes", q, "<=", 3 * p).by(premise("a"), paper=Display(2 * p, p, "one p")), **known)
        wrong = Display(2 * p, 2 * p, "one p is missing")
        assert "paper's line" in fault(step("yes", q, "<=", 3 * p).by(premise("a"), paper=wrong), **known)


class TestStructure:
    def test_a_step_falls_with_the_step_it_rests_on(self):
        false = step("false", norm_sq(y), "<=", 0)
        result = outcome(false, step("then", 2 * norm_sq(y), "<=", 0).by((2, Earlier("false"))))
        assert not result.outcomes["then"].ok and "does not check" in result.outcomes["then"].message

    def test_cases_cover_everything_by_their_form(self):
        low, high = sp.symbols("low high", nonnegative=True)
        square = p**2 - 2 * p + 1
        both = Cases(1 - p, case(low, (low * low, ONE)), case(high, (high * high, ONE)))
        assert not fault(step("yes", 0, "<=", square).by(both))
        assert not outcome(step("yes", 0, "<=", square).by(both)).assumptions
        strict = sp.Symbol("low", positive=True)
        assert "= 0 too" in fault(step("no", 0, "<=", square).by(replace(both, first=case(strict, (strict**2, ONE)))))

    def test_a_positive_and_a_zero_case(self):
        K = sp.Symbol("K", positive=True)
        known = step("known", sy.mu, "<=", sy.L).by(premise("curvatures"))
        rule = Cases(sy.L - sy.mu, case(K, (1 / K * K**2, ONE)), case(sy.L), zero="known")
        parts = {"assumes": (a.smooth, a.strongly_convex)}
        assert not fault(known, step("yes", 0, "<=", sy.L - sy.mu).by(rule), **parts)
        assert "no earlier step" in fault(step("no", 0, "<=", sy.L - sy.mu).by(rule), **parts)
        other = replace(rule, of=sy.Gamma * (sy.L - sy.mu))
        weak = step("known", 0, "<=", sy.Gamma * (sy.L - sy.mu)).by((sy.Gamma, premise("curvatures")))
        assert "makes" in fault(weak, step("no", 0, "<=", sy.L - sy.mu).by(other), **parts)

    T, t = sy.T, sy.t
    RECURSION = gives("recursion", sy.Delta * (t + 1) / (t + 2) - sy.Delta_next)
    BASE = step("base", sy.Delta_0, "<=", p).by(premise("start"))
    CARRY = step("carry", sy.Delta_next, "<=", p / (t + 2)).by(
        premise("recursion"), ((t + 1) / (t + 2), Hypothesis("all"))
    )
    ALL = step("all", sy.Delta_T, "<=", p / (T + 1)).by(Induction("base", "carry"))
    KNOWN = (RECURSION, gives("start", p - sy.Delta_0))

    @pytest.mark.parametrize(
        "changed",
        [
            replace(ALL, rhs=p / (T + 2)),
            replace(ALL, because=Induction("carry", "carry")),
            replace(ALL, because=Induction("base", "base")),
            replace(ALL, lhs=sy.Delta),
            replace(ALL, rhs=p / (t + 1)),
            replace(ALL, rhs=p / (T + 1) + sy.eta),
            replace(ALL, rhs=p / (T + 1) + sy.drift),
            replace(ALL, relation="<"),
        ],
    )
    def test_an_induction_shows_its_own_line_only(self, changed):
        assert fault(self.BASE, self.CARRY, changed, assumes=self.KNOWN)

    def test_a_hypothesis_is_discharged_by_its_induction_only(self):
        assert fault(self.BASE, self.CARRY, assumes=self.KNOWN)
        taken = step("taken", sy.Delta, "<=", p / (self.t + 1)).by(Hypothesis("all"))
        later = replace(taken, label="later", because=((sp.Integer(1), Earlier("taken")),))
        assert "no induction" in fault(self.BASE, self.CARRY, taken, self.ALL, later, assumes=self.KNOWN)
        # What the induction has shown for every T holds at t.
        assert not fault(self.BASE, self.CARRY, self.ALL, taken, assumes=self.KNOWN)

    def test_extremes(self):
        m, M = sp.Symbol("low", real=True), sp.Symbol("high", real=True)
        words = {"abbreviations": {m: sp.Min(p, q), M: sp.Max(p, q)}}
        assert not fault(step("yes", m, "<=", p).by(Extreme(m, p)), **words)
        assert fault(step("no", p, "<=", m).by(Extreme(m, p)), **words)
        assert fault(step("no", m, "<=", p + 1).by(Extreme(m, p + 1)), **words)
        lower = (step("p", 0, "<=", p).by((p, ONE)), step("q", 0, "<=", q).by((q, ONE)))
        assert not fault(*lower, step("m", 0, "<=", m).by(Every(m, ("p", "q"))), **words)
        assert "compares" in fault(*lower, step("m", 0, "<=", m).by(Every(m, ("p",))), **words)
        assert "side" in fault(*lower, step("M", 0, "<=", M).by(Every(M, ("p", "q"))), **words)

    def test_limits(self):
        assert not fault(step("yes", 1 / (p + 1), "->", 0).by(Limit(p, sp.oo)))
        assert "limit" in fault(step("no", p / (p + 1), "->", 0).by(Limit(p, sp.oo)))


class TestCitation:
    SLACK = sp.Symbol("slack", nonnegative=True)
    LEMMA = Derivation(
        "lemma",
        "lemma",
        (step("end", sy.drift * sy.eta * sy.L, "<=", sy.drift).by((SLACK * sy.drift, ONE)),),
        assumes=(a.small_steps,),
        conditions=(Condition(SLACK, premise("small-steps")),),
    )

    def cite(self, cited, *before, **more):
        end = step("end", 2 * sy.drift * sy.eta * sy.L, "<=", 2 * sy.drift).by((2, cited))
        citing = Derivation("citing", "citing", (*before, end), **more)
        return symbolic.check_all([self.LEMMA, citing])["citing"]

    def test_a_citation_brings_its_assumptions(self):
        assert self.cite(Cited("lemma")).assumptions == {"small-steps"}

    def test_a_step_discharges_an_assumption(self):
        eta = 1 / (2 * sy.mu * (sy.t + sy.gamma))
        bound = gives("gamma", sy.mu * sy.gamma - sy.L)
        spare = sp.Symbol("spare", nonnegative=True)
        half = step("half", 0, "<=", 1 - sy.eta * sy.L).by(
            ((spare + sy.mu * (sy.gamma + 2 * sy.t)) / (2 * sy.mu * (sy.t + sy.gamma)), ONE)
        )
        more = {"eta": eta, "assumes": (bound,), "conditions": (Condition(spare, premise("gamma")),)}
        result = self.cite(Cited("lemma", {"small-steps": "half"}), half, **more)
        assert not result.fault and result.assumptions == {"gamma"}

    def test_a_step_that_shows_something_else_does_not(self):
        other = step("other", 0, "<=", sy.eta * sy.L).by((sy.eta * sy.L, ONE))
        assert "small-steps" in self.cite(Cited("lemma", {"small-steps": "other"}), other).fault

    def test_a_step_size_is_not_forgotten(self):
        fixed = replace(self.LEMMA, eta=1 / (sy.mu * (sy.t + sy.gamma)))
        end = step("end", sy.drift * sy.eta * sy.L, "<=", sy.drift).by(Cited("lemma"))
        citing = Derivation("citing", "citing", (end,))
        assert "only" in symbolic.check_all([fixed, citing])["citing"].fault

    def test_unknown_broken_and_circular_citations(self):
        assert "no derivation" in self.cite(Cited("nothing")).fault
        broken = replace(self.LEMMA, conditions=())
        end = step("end", sy.drift * sy.eta * sy.L, "<=", sy.drift).by(Cited("lemma"))
        citing = Derivation("citing", "citing", (end,))
        assert "rests on lemma" in symbolic.check_all([broken, citing])["citing"].fault
        circular = replace(citing, key="lemma")
        assert "cites itself" in symbolic.check_all([circular])["lemma"].fault


class TestJudge:
    CLAIM = Claim("toy", "toy", "here", "constant", sy.sigma_sq, {"twice": 2 * sy.sigma_sq}, readings=("repaired",))
    PROOF = Derivation(
        "toy", "toy", (step("end", sy.sigma_sq, "<=", 2 * sy.sigma_sq).by((sy.sigma_sq, ONE)),), claim="toy"
    )

    def judge(self, derivation, claim=CLAIM, of=None):
        result = checked(derivation, of or claim)
        return symbolic.judge(result, claim, READINGS["repaired"])

    def test_holds_says_proved_under_assumptions(self):
        verdict = self.judge(self.PROOF)
        assert verdict.status is Status.HOLDS and verdict.detail.startswith("proved under these assumptions")
        assert verdict.coverage is not None and not verdict.coverage.axes

    def test_the_coverage_is_what_the_assumptions_describe(self):
        claim = replace(self.CLAIM, assumptions=(a.full_participation, a.small_steps, a.unbiased))
        covered = self.judge(self.PROOF, claim).coverage
        assert covered.contains({"participation": 1, "eta_L": 1, "weight_ratio": 1})
        for axis, value in (("participation", 0.5), ("eta_L", 2), ("weight_ratio", 3)):
            assert not covered.contains({"participation": 1, "eta_L": 1, "weight_ratio": 1, axis: value})

    def test_the_last_line_must_be_the_claims(self):
        other = replace(self.CLAIM, terms={"three": 3 * sy.sigma_sq})
        verdict = self.judge(self.PROOF, other)
        assert verdict.status is Status.UNDECIDED and "right side differs" in verdict.detail

    def test_an_identity_is_not_proved_by_an_inequality(self):
        verdict = self.judge(self.PROOF, replace(self.CLAIM, kind=Kind.IDENTITY))
        assert verdict.status is Status.UNDECIDED and "relation" in verdict.detail

    def test_further_assumptions_leave_it_undecided(self):
        extra = gives("extra", sy.sigma_sq)
        proof = replace(self.PROOF, steps=(step("end", sy.sigma_sq, "<=", 2 * sy.sigma_sq).by(premise("extra")),))
        assert "extra" in self.judge(replace(proof, assumes=(extra,))).detail
        assert self.judge(replace(proof, assumes=(extra,))).status is Status.UNDECIDED
        assert self.judge(proof, replace(self.CLAIM, assumptions=(extra,))).status is Status.HOLDS

    def test_another_step_size_leaves_it_undecided(self):
        verdict = self.judge(replace(self.PROOF, eta=1 / (sy.mu * (sy.t + 1))))
        assert verdict.status is Status.UNDECIDED and "eta = " in verdict.detail

    def test_a_proof_is_of_the_statement_it_was_checked_against(self):
        timed = replace(self.CLAIM, eta=1 / (sy.mu * (sy.t + 1)))
        assert self.judge(self.PROOF, timed).status is Status.HOLDS
        verdict = self.judge(self.PROOF, replace(timed, eta=2 / (sy.mu * (sy.t + 1))), of=timed)
        assert verdict.status is Status.UNDECIDED and "another statement" in verdict.detail

    def test_a_plugin_may_not_take_a_shipped_key(self):
        class Module:
            DERIVATIONS = (self.PROOF,)

        assert set(symbolic.collected([Module], {})) == {"toy"}
        with pytest.raises(InputError, match="key of its own"):
            symbolic.collected([Module], {"toy": self.PROOF})
        with pytest.raises(InputError, match="key of its own"):
            symbolic.collected([Module, Module], {})

    def test_unknown_reading(self):
        with pytest.raises(InputError, match="reading must be a known name"):
            symbolic.check_all([replace(self.PROOF, readings=("hopeful",))])


def test_a_check_that_a_limit_of_time_ends_can_be_made_again(monkeypatch):
    def ended():
        raise TimeoutError

    shelf = symbolic.shelf(symbolic.installed())
    key = next(iter(shelf.derivations))
    monkeypatch.setattr(checker, "clear_sympy_caches", ended)
    with pytest.raises(TimeoutError):
        symbolic.check(key, shelf)
    monkeypatch.undo()
    assert symbolic.check(key, shelf).fault == ""
