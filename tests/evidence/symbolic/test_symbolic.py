"""The checker of derivations must reject every false step: wrong constants, signs, premises, citations."""

from dataclasses import replace

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbounds.errors import InputError
from fedbounds.evidence.symbolic import library as symbolic
from fedbounds.evidence.symbolic.algebra import (
    Centre,
    Inner,
    Mean,
    Noise,
    Slack,
    Value,
    Vec,
    Weights,
    depends,
    is_zero,
    norm_sq,
    normal,
    spread,
)
from fedbounds.evidence.symbolic.derivation import (
    Cases,
    Cited,
    Condition,
    Convex,
    Derivation,
    Display,
    Earlier,
    Every,
    Extreme,
    Fact,
    Given,
    Hypothesis,
    Induction,
    Instance,
    Jet,
    Limit,
    Premise,
    Smooth,
    Square,
    averaged,
    case,
    step,
)
from fedbounds.evidence.symbolic.sums import shown_non_negative
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

i, s = sp.symbols("i s")
A = Weights(sp.Symbol("a"), i)
U = Weights(sp.Symbol("u"), s)
x, g, n = Vec(sp.Symbol("x"), i), Vec(sp.Symbol("g"), i), Noise(sp.Symbol("n"), i)
y, z = Vec(sp.Symbol("y")), Vec(sp.Symbol("z"))
p, q = sp.symbols("p q", positive=True)
r = sp.Symbol("r", real=True)
ONE = Given()
F, H = Value(sp.Symbol("F"), i), Value(sp.Symbol("H"), i)


def outcome(*steps, **more):
    """The check of one derivation: its fault, empty where everything checks."""
    derivation = Derivation("test", "test", tuple(steps), **more)
    return symbolic.check_all([derivation])["test"]


def fault(*steps, **more):
    return outcome(*steps, **more).fault


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

    def test_variance_identity_is_exact_for_any_number_of_clients(self):
        assert is_zero(Mean(A, norm_sq(x - Centre(A, x))) - Mean(A, norm_sq(x)) + norm_sq(Centre(A, x)))
        assert not is_zero(Mean(A, norm_sq(x - Centre(A, x))) - Mean(A, norm_sq(x)))

    def test_noise_is_orthogonal_to_the_past_and_not_to_noise(self):
        assert is_zero(Inner(n, y)) and is_zero(Inner(Centre(A, n), Centre(A, x)))
        assert not is_zero(norm_sq(n)) and not is_zero(Inner(n, Centre(A, n)))

    def test_the_mean_of_a_product_is_not_the_product_of_means(self):
        assert not is_zero(Mean(A, F * H) - Mean(A, F) * Mean(A, H))
        assert not is_zero(Mean(A, norm_sq(x)) - norm_sq(Centre(A, x)))

    def test_means_over_different_weights_are_different(self):
        assert not is_zero(Mean(A, F) - Mean(Weights(sp.Symbol("b"), i), F))

    def test_nested_means_keep_their_indices_apart(self):
        eta = Value(sp.Symbol("eta"), s)
        both = Mean(A, Mean(U, eta * F))
        assert is_zero(both - Mean(A, F) * Mean(U, eta))
        assert not depends(both, i) and depends(Mean(U, eta * F), i)

    def test_an_inner_product_is_symmetric_and_linear(self):
        assert Inner(y, z) == Inner(z, y)
        assert is_zero(Inner(y + 2 * z, y - z) - norm_sq(y) - Inner(y, z) + 2 * norm_sq(z))

    def test_spread_restores_nested_denominators(self):
        expression = (p + q) / (p + 1 / (q + 1)) / (p + q + 1) ** 2
        assert sp.simplify(spread(expression) - expression) == 0
        assert not spread(expression).atoms(sp.Dummy)

    def test_a_product_of_vectors_is_no_vector(self):
        with pytest.raises(ValueError, match="not a scalar times one vector"):
            normal(Inner(x * y, z))


class TestCombination:
    def test_young(self):
        assert not fault(step("young", 2 * Inner(y, z), "<=", norm_sq(y) + norm_sq(z), Square(y - z)))

    def test_wrong_constant(self):
        assert "remains" in fault(step("young", 3 * Inner(y, z), "<=", norm_sq(y) + norm_sq(z), Square(y - z)))

    def test_wrong_direction(self):
        assert fault(step("young", 2 * Inner(y, z), ">=", norm_sq(y) + norm_sq(z), Square(y - z)))

    def test_negative_multiplier(self):
        assert "not non-negative on sight" in fault(step("no", norm_sq(y), "<=", 0, (-1, Square(y))))

    def test_multiplier_of_unknown_sign(self):
        assert "not non-negative on sight" in fault(step("no", 0, "<=", r * norm_sq(y), (r, Square(y))))

    def test_identity_may_not_rest_on_an_inequality(self):
        assert "identity" in fault(step("no", norm_sq(y), "=", 0, Square(y)))

    def test_zero_facts_take_any_multiplier(self):
        zero = Premise("zero", r, "r = 0", "zero")
        assert not fault(step("yes", r * p, "=", 0, (p, zero))) and not fault(step("yes", -r * p, "=", 0, (-p, zero)))

    def test_strict_needs_a_positive_part(self):
        assert not fault(step("yes", p + 1, ">", p, ONE))
        assert "positive" in fault(step("no", norm_sq(y), ">", 0, Square(y)))

    def test_bare_fact_is_refused(self):
        assert "not elementary" in fault(step("no", 1, "<=", 0, Fact(sp.Integer(-1), "because I say so")))

    def test_nameless_premise_is_refused(self):
        assert "name" in fault(step("no", 1, "<=", 0, Premise("", sp.Integer(-1), "because I say so")))

    def test_nameless_condition_is_refused(self):
        slack = sp.Symbol("slack", nonnegative=True)
        hidden = Condition("", slack, sp.Integer(-1), "hidden")
        assert fault(step("no", 1, "<=", 0, (1, hidden)), conditions=(hidden,))

    def test_condition_is_recorded_and_missing_one_fails(self):
        slack = sp.Symbol("slack", nonnegative=True)
        small = Condition("small", slack, 1 - p, "p <= 1")
        proof = step("yes", p * q, "<=", q, (slack * q, ONE))
        assert outcome(proof, conditions=(small,)).assumptions == {"small"}
        assert fault(proof)

    def test_smoothness_and_convexity_have_their_directions(self):
        at, to = Jet(y, F, g), Jet(z, H)
        bound = F + Inner(g, z - y) + sy.L / 2 * norm_sq(z - y)
        assert not fault(step("up", H, "<=", bound, Smooth(at, to)))
        assert fault(step("up", H, "<=", bound, Convex(at, to)))
        assert outcome(step("up", H, "<=", bound, Smooth(at, to))).assumptions == {"smooth"}

    def test_averages_need_the_weights_they_name(self):
        jensen = averaged(A, Square(x - Centre(A, x)))
        other = averaged(Weights(sp.Symbol("b"), i), Square(x - Centre(A, x)))
        assert not fault(step("yes", norm_sq(Centre(A, x)), "<=", Mean(A, norm_sq(x)), jensen))
        assert fault(step("no", norm_sq(Centre(A, x)), "<=", Mean(A, norm_sq(x)), other))

    def test_paper_difference_is_verified(self):
        shown = Display(2 * p, p, "one p is missing")
        assert not fault(step("yes", q, "<=", 3 * p, (1, Premise("a", 3 * p - q, "a")), paper=shown))
        wrong = Display(2 * p, 2 * p, "one p is missing")
        assert "paper's line" in fault(step("no", q, "<=", 3 * p, (1, Premise("a", 3 * p - q, "a")), paper=wrong))

    def test_non_negative_on_sight(self):
        assert shown_non_negative(p**2 + 2 * p * q) and shown_non_negative(p / (p + q))
        assert not shown_non_negative(p - q) and not shown_non_negative(p / (p - q))
        assert shown_non_negative(Slack(sp.Symbol("k"), i)) and not shown_non_negative(Value(sp.Symbol("k"), i))


class TestStructure:
    def test_a_step_falls_with_the_step_it_rests_on(self):
        false = step("false", norm_sq(y), "<=", 0)
        result = outcome(false, step("then", 2 * norm_sq(y), "<=", 0, (2, Earlier("false"))))
        assert not result.outcomes["then"].ok and "does not check" in result.outcomes["then"].message

    def test_no_step_rests_on_a_later_one_or_on_itself(self):
        assert "no earlier step" in fault(step("a", norm_sq(y), "<=", 0, Earlier("a")))

    def test_labels_are_unique(self):
        assert "twice" in fault(step("a", 0, "<=", p, (p, ONE)), step("a", 0, "<=", q, (q, ONE)))

    def test_cases_must_cover_everything(self):
        low, high = sp.symbols("low high", nonnegative=True)
        below, above = Condition("case", low, 1 - p, "p <= 1"), Condition("case", high, p - 1, "p >= 1")
        gap = Condition("case", high, p - 2, "p >= 2")
        lhs, rhs = sp.Integer(0), p**2 - 2 * p + 1
        first, second = case(below, (low * low, ONE)), case(above, (high * high, ONE))
        assert not fault(step("yes", lhs, "<=", rhs, by=Cases(first, second)))
        assert "cover" in fault(step("no", lhs, "<=", rhs, by=Cases(first, case(gap, (high * high, ONE)))))
        assert not outcome(step("yes", lhs, "<=", rhs, by=Cases(first, second))).assumptions

    def test_induction(self):
        t, T = sp.symbols("t T", nonnegative=True)
        d, d_0, d_1, d_T = sp.symbols("d d_0 d_1 d_T", nonnegative=True)
        statement = p / (t + 1) - d
        base = step("base", d_0, "<=", p, Premise("start", p - d_0, "start"))
        halved = Premise("step", d * (t + 1) / (t + 2) - d_1, "recursion")
        carry = step("carry", d_1, "<=", p / (t + 2), halved, ((t + 1) / (t + 2), Hypothesis("h", statement)))
        rule = Induction("h", statement, "base", "carry", {d: d_0, t: 0}, {d: d_1, t: t + 1}, {d: d_T, t: T})
        end = step("all", d_T, "<=", p / (T + 1), by=rule)
        assert not fault(base, carry, end)
        assert "hypothesis" in fault(base, carry)
        assert fault(base, carry, replace(end, rhs=p / (T + 2)))
        shifted = replace(rule, next={d: d_1, t: t + 2})
        assert "statement" in fault(base, carry, replace(end, because=shifted))
        assert "hypothesis" in fault(base, carry, step("all", d_1, "<=", p / (t + 2), Earlier("carry")))

    def test_extremes(self):
        m, M = sp.Symbol("m", real=True), sp.Symbol("M", real=True)
        words = {"abbreviations": {m: sp.Min(p, q), M: sp.Max(p, q)}}
        assert not fault(step("yes", m, "<=", p, Extreme(m, p, sp.Min)), **words)
        assert fault(step("no", p, "<=", m, Extreme(m, p, sp.Max)), **words)
        assert fault(step("no", m, "<=", p + 1, Extreme(m, p + 1, sp.Min)), **words)
        lower = (step("p", 0, "<=", p, (p, ONE)), step("q", 0, "<=", q, (q, ONE)))
        assert not fault(*lower, step("m", 0, "<=", m, by=Every(m, ("p", "q"))), **words)
        assert "compares" in fault(*lower, step("m", 0, "<=", m, by=Every(m, ("p",))), **words)
        assert "side" in fault(*lower, step("M", 0, "<=", M, by=Every(M, ("p", "q"))), **words)

    def test_abbreviation_may_not_be_positive_unshown(self):
        m = sp.Symbol("m", positive=True)
        assert "not shown to be positive" in fault(step("no", 0, "<=", m, (m, ONE)), abbreviations={m: sp.Min(r, p)})

    def test_limits_and_instances(self):
        assert not fault(step("yes", 1 / (p + 1), "->", 0, by=Limit(p, sp.oo, "-")))
        assert "limit" in fault(step("no", p / (p + 1), "->", 0, by=Limit(p, sp.oo, "-")))
        assert not fault(step("yes", p, "!=", q, by=Instance({p: 1, q: 2})))
        assert "do not differ" in fault(step("no", p, "!=", q, by=Instance({p: 1, q: 1})))

    def test_undecidable_limit_is_undecided(self):
        a = sp.Symbol("a", real=True)
        x_1 = sp.Symbol("x_1", positive=True)
        limit = step("no", sp.exp(a * x_1) / (1 + sp.exp(a * x_1)), "->", 1, by=Limit(x_1, sp.oo, "-"))
        assert fault(limit)


class TestCitation:
    SLACK = sp.Symbol("slack", nonnegative=True)
    SMALL = Condition("small", SLACK, 1 - sy.eta * sy.L, "eta <= 1/L")
    LEMMA = Derivation(
        "lemma",
        "lemma",
        (step("end", sy.drift * sy.eta * sy.L, "<=", sy.drift, (SLACK * sy.drift, ONE)),),
        claim="some-lemma",
        conditions=(SMALL,),
    )

    def cite(self, cited, *before, **more):
        end = step("end", 2 * sy.drift * sy.eta * sy.L, "<=", 2 * sy.drift, (2, cited))
        citing = Derivation("citing", "citing", (*before, end), **more)
        return symbolic.check_all([self.LEMMA, citing])["citing"]

    def test_a_citation_brings_its_assumptions(self):
        assert self.cite(Cited("lemma")).assumptions == {"small"}

    def test_a_step_discharges_a_condition(self):
        meaning = {sy.eta: 1 / (2 * sy.L)}
        half = step("half", 0, "<=", 1 - sy.eta * sy.L, (sp.Rational(1, 2), ONE))
        result = self.cite(Cited("lemma", {"small": "half"}), half, meaning=meaning)
        assert not result.fault and not result.assumptions

    def test_a_step_that_shows_something_else_does_not(self):
        other = step("other", 0, "<=", sy.eta * sy.L, (sy.eta * sy.L, ONE))
        assert "condition small" in self.cite(Cited("lemma", {"small": "other"}), other).fault

    def test_a_fixed_step_size_is_not_forgotten(self):
        fixed = replace(self.LEMMA, meaning={sy.eta: 1 / (2 * sy.L)})
        end = step("end", sy.drift * sy.eta * sy.L, "<=", sy.drift, Cited("lemma"))
        citing = Derivation("citing", "citing", (end,))
        assert "only" in symbolic.check_all([fixed, citing])["citing"].fault

    def test_unknown_broken_and_circular_citations(self):
        assert "no derivation" in self.cite(Cited("nothing")).fault
        broken = replace(self.LEMMA, conditions=())
        end = step("end", sy.drift * sy.eta * sy.L, "<=", sy.drift, Cited("lemma"))
        citing = Derivation("citing", "citing", (end,))
        assert "rests on lemma" in symbolic.check_all([broken, citing])["citing"].fault
        circular = replace(citing, key="lemma")
        assert "cites itself" in symbolic.check_all([circular])["lemma"].fault


class TestJudge:
    CLAIM = Claim("toy", "toy", "here", "constant", sy.sigma_sq, {"twice": 2 * sy.sigma_sq})
    PROOF = Derivation(
        "toy", "toy", (step("end", sy.sigma_sq, "<=", 2 * sy.sigma_sq, (sy.sigma_sq, ONE)),), claim="toy"
    )

    def judge(self, derivation, claim=CLAIM):
        return symbolic.judge(symbolic.check_all([derivation])[derivation.key], claim, READINGS["repaired"])

    def test_holds_says_proved_under_assumptions(self):
        verdict = self.judge(self.PROOF)
        assert verdict.status is Status.HOLDS and verdict.detail.startswith("proved under these assumptions")

    def test_the_last_line_must_be_the_claims(self):
        other = replace(self.CLAIM, terms={"three": 3 * sy.sigma_sq})
        verdict = self.judge(self.PROOF, other)
        assert verdict.status is Status.UNDECIDED and "right side differs" in verdict.detail

    def test_an_identity_is_not_proved_by_an_inequality(self):
        verdict = self.judge(self.PROOF, replace(self.CLAIM, kind=Kind.IDENTITY))
        assert verdict.status is Status.UNDECIDED and "relation" in verdict.detail

    def test_further_assumptions_leave_it_undecided(self):
        extra = Premise("extra", sy.sigma_sq, "extra")
        proof = replace(self.PROOF, steps=(step("end", sy.sigma_sq, "<=", 2 * sy.sigma_sq, extra),))
        assert "extra" in self.judge(proof).detail and self.judge(proof).status is Status.UNDECIDED
        assert self.judge(replace(proof, setting={"extra": "by definition"})).status is Status.HOLDS

    def test_a_claims_assumption_cannot_hide_in_the_setting(self):
        hidden = Premise("small-steps", sy.sigma_sq, "hidden")
        proof = replace(self.PROOF, steps=(step("end", sy.sigma_sq, "<=", 2 * sy.sigma_sq, hidden),))
        verdict = self.judge(replace(proof, setting={"small-steps": "by definition"}))
        assert verdict.status is Status.UNDECIDED

    def test_a_fixed_parameter_leaves_it_undecided(self):
        verdict = self.judge(replace(self.PROOF, meaning={sy.tau: sp.Integer(1)}))
        assert verdict.status is Status.UNDECIDED and "tau = 1" in verdict.detail

    def test_refutation_is_strict(self):
        claim = replace(self.CLAIM, lhs=2 * sy.L, terms={"once": sy.L})
        proof = Derivation("no", "no", (step("end", 2 * sy.L, ">", sy.L, (sy.L, ONE)),), claim="toy", refutes=True)
        assert self.judge(proof, claim).status is Status.REFUTED
        weak = replace(proof, steps=(step("end", 2 * sy.L, ">=", sy.L, (sy.L, ONE)),))
        assert self.judge(weak, claim).status is Status.UNDECIDED

    def test_a_rate_is_refuted_by_a_positive_floor_only(self):
        claim = replace(self.CLAIM, lhs=sy.gap, terms={"floor": sp.Integer(0)}, kind=Kind.RATE)
        floor = Premise("floor", sy.gap - p, "floor")
        proof = Derivation(
            "f", "f", (step("end", sy.gap, ">=", p, floor),), claim="toy", refutes=True, setting={"floor": "a floor"}
        )
        assert self.judge(proof, claim).status is Status.REFUTED
        falling = step("end", sy.gap, ">=", p / (sy.T + 1), Premise("floor", sy.gap - p / (sy.T + 1), "floor"))
        assert self.judge(replace(proof, steps=(falling,)), claim).status is Status.UNDECIDED

    def test_unknown_reading(self):
        with pytest.raises(InputError, match="reading must be a known name"):
            symbolic.reading_of("hopeful")
