"""Attacks that once proved something false, or more than was shown: each is tried again and must be refused."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp
from proofs import checked, fault, gives

from fedbounds.errors import InputError
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.kernel.counterexample_statements import _assumed
from fedbounds.evidence.symbolic import library as symbolic
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, SHARE, W_NEXT, W_STAR, P, W, gap
from fedbounds.evidence.symbolic.derivation import (
    ONE,
    CauchySchwarz,
    Cited,
    Condition,
    Derivation,
    Earlier,
    Every,
    Hypothesis,
    Induction,
    Limit,
    Step,
    averaged,
    beyond,
    premise,
    step,
)
from fedbounds.evidence.symbolic.formal_vectors import Centre, Grad, Inner, Mean, Slack, Vec, norm_sq
from fedbounds.plugins import claim_named
from fedbounds.referee.implication import follows
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Span, only
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status

PAPER = (a.smooth, a.strongly_convex, a.bounded_gradient, a.bounded_variance, a.full_participation)
REPAIRED = READINGS["repaired"]
c = sp.Symbol("c", nonnegative=True)
q = Slack(sp.Symbol("q"))
TINY = sp.Float("1e-17")


def refused(*steps, **more):
    """The complaint about a derivation under the paper's assumptions."""
    return fault(*steps, **{"assumes": PAPER, **more})


def claim_of(lhs, terms, **more):
    """A claim about one step."""
    stated = {"assumptions": PAPER, "readings": ("repaired",), **more}
    return Claim("toy", "toy", "here", "step", lhs, terms, **stated)


def undecided(claim, *uses, right=None):
    """Whether a proof of a claim by these facts is refused."""
    line = step("end", claim.lhs, "<=", claim.rhs if right is None else right).by(*uses)
    verdict = symbolic.judge(checked(Derivation("toy", "toy", (line,), claim="toy"), claim), claim, REPAIRED)
    return verdict.status is Status.UNDECIDED


def citing(lemma, *steps, **more):
    """The complaint about a derivation that cites a lemma, which itself checks."""
    proof = Derivation("citing", "citing", steps, **more)
    found = symbolic.check_all([lemma, proof])
    assert not found["lemma"].fault
    return found["citing"].fault


# What is not exact: 1 + 1e-17 is 1 to a float.


def test_a_claim_is_stated_exactly():
    grown = (1 + sy.eta * sy.mu) ** 2
    assert undecided(claim_of(sy.G_sq, {"all": sy.G_sq, "less": -TINY * sy.G_sq}), right=sy.G_sq)
    assert undecided(claim_of(grown, {"all": sp.Integer(1)}, eta=TINY / sy.mu))
    defined = {sy.gamma: sp.Float(0.1) * sy.L / sy.mu}
    assert undecided(claim_of(sy.L / sy.gamma, {"all": 10 * sy.mu}, definitions=defined))
    assert refused(step("end", grown, "<=", 1), eta=TINY / sy.mu)


def test_a_claim_is_stated_without_the_objects_of_a_proof():
    claim = claim_of(sy.L - sy.mu, {"all": q})
    line = step("end", claim.lhs, "<=", q)
    proof = Derivation("toy", "toy", (line,), claim="toy", conditions=(Condition(q, premise("curvatures")),))
    assert symbolic.judge(checked(proof, claim), claim, REPAIRED).status is Status.UNDECIDED


# Citations: what is discharged, and when it holds.


def test_what_holds_under_a_hypothesis_discharges_nothing():
    """t <= 5 at one t is no bound on every t: this proved G^2 <= 0 for every run of 7 steps."""
    early = Assumption("early", "t <= 5", sp.Le(sy.t, 5))
    long = Assumption("long", "T >= 7", sp.Ge(sy.T, 7))
    base, carry = step("base", 0, "<=", 6).by((6, ONE)), step("carry", sy.t + 1, "<=", 6).by(premise("early"))
    lemma = Derivation(
        "lemma", "", (base, carry, step("all", sy.T, "<=", 6).by(Induction("base", "carry"))), assumes=(early,)
    )
    steps = (
        step("base", 0, "<=", 5).by((5, ONE)),
        step("here", sy.t, "<=", 5).by(Hypothesis("all")),
        step("short", sy.T, "<=", 6).by(Cited("lemma", {"early": "here"})),
        step("carry", sy.t + 1, "<=", 5).by((sy.t, Earlier("short")), (sy.t, premise("long")), (4, ONE)),
        step("all", sy.T, "<=", 5).by(Induction("base", "carry")),
        step("end", sy.G_sq, "<=", 0).by((sy.G_sq / 2, Earlier("all")), (sy.G_sq / 2, premise("long"))),
    )
    assert "hypothesis only" in citing(lemma, *steps, assumes=(long,))


def test_an_induction_remembers_what_it_used():
    """Averaged by random weights a fact must hold in every round, in a lemma's induction too."""
    now = norm_sq(W - W_STAR)
    inside = gives("inside", sy.Delta_0 - now)
    link = gives("link", sy.Delta_0 - sy.Delta_next - Mean(ALPHA, SHARE * (sy.Delta_0 - now)))
    mean = Assumption("mean", "", sp.Le(sy.Delta, sy.Delta_0))
    steps = (
        step("base", sy.Delta_0, "<=", sy.Delta_0),
        step("carry", sy.Delta_next, "<=", sy.Delta_0).by(
            premise("link"), averaged(ALPHA, (SHARE, premise("inside")))
        ),
        step("all", sy.Delta_T, "<=", sy.Delta_0).by(Induction("base", "carry")),
    )
    lemma = Derivation("lemma", "", steps, assumes=(*PAPER, inside, link))
    shown = step("shown", sy.Delta, "<=", sy.Delta_0).by(premise("mean"))
    end = step("end", sy.Delta_T, "<=", sy.Delta_0).by(Cited("lemma", {"inside": "shown"}))
    assert "expectation only" in citing(lemma, shown, end, assumes=(*PAPER, mean, link))


def test_what_a_lemma_leaves_free_is_not_given_a_meaning():
    """Under 'q >= 5' this proved L >= mu + 5."""
    high = gives("high", q - 5)
    lemma = Derivation("lemma", "", (step("end", q, ">=", 5).by(premise("high")),), assumes=(high,))
    end = step("end", sy.L - sy.mu, ">=", 5).by(Cited("lemma"))
    conditions = (Condition(q, premise("curvatures")),)
    assert "another meaning" in citing(lemma, end, assumes=(*PAPER, high), conditions=conditions)


# Absent clients: alpha_i >= pi p_i is said of those present.


def test_the_weights_beyond_pi_need_every_client():
    assert undecided(claim_of(sy.pi_min, {"all": sp.Integer(1)}, assumptions=()), beyond((1, ONE)), right=1)
    rest = Centre(ALPHA, W_STAR) - sy.pi_min * Centre(P, W_STAR)
    line = step("end", norm_sq(rest), "<=", (1 - sy.pi_min) ** 2 * norm_sq(W_STAR)).by(CauchySchwarz(W_STAR))
    assert "full-participation" in fault(line) and not refused(line)


def test_equal_weights_are_those_of_every_client():
    line = step("end", sy.Gamma, "=", Mean(ALPHA, gap(W_STAR))).by((-1, premise("unbiased", gap(W_STAR))))
    assert "full-participation" in fault(line, assumes=(a.unbiased,))
    assert not fault(line, assumes=(a.unbiased, a.full_participation))


# Limits of what does not stay as it is.

LIMITS = {
    "of a sum that grows with T": (sy.eta_sum / (1 + sy.T), 0, Limit(sy.T, sp.oo)),
    "at an imaginary point": (sy.t**2, -1, Limit(sy.t, sp.I)),
    "at a negative time": (sy.t, -1, Limit(sy.t, sp.Integer(-1))),
    "of what is made of the symbol": (c / (c + sy.mu), 0, Limit(sy.mu, sp.oo)),
    "in a symbol with a meaning": (c / sy.L, 0, Limit(c, sp.Integer(0))),
    "that moves itself": (sy.t + 1, sy.t + 1, Limit(sy.t, sy.t)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_of_a_number_in_which_one_symbol_moves(name):
    left, right, rule = LIMITS[name]
    assert refused(step("end", left, "->", right).by(rule), conditions=(Condition(c, premise("curvatures")),))


# Verdicts on another statement, reading or algorithm.


def test_a_proof_is_of_one_algorithm():
    claim = claim_named("theorem-1")
    other = replace(claim, algorithm="another")
    assert symbolic.examine(claim, REPAIRED).status is Status.HOLDS
    assert symbolic.examine(other, REPAIRED).status is Status.UNDECIDED
    assert follows(claim, REPAIRED, claim, REPAIRED) and not follows(other, REPAIRED, claim, REPAIRED)


def test_a_reading_is_not_made_by_its_name():
    line = step("end", sy.rho_bar * Mean(P, gap(W)), "<=", Mean(ALPHA, gap(W))).by(premise("rho-bar"))
    mine = Reading("sync", "all-steps", "alpha", False, "sync by name")
    shelf = symbolic.shelf({"toy": Derivation("toy", "toy", (line,), assumes=PAPER)})
    assert "no such reading" in symbolic.check("toy", shelf, mine).fault


def test_a_coverage_is_no_wider_than_the_assumptions():
    def covers(*relations):
        return symbolic.covers([Assumption("k", "", relation) for relation in relations]).axes

    turn = sy.eta * sy.L
    assert covers(sp.Eq(turn, 1))["eta_L"] == Span(1, 1)
    assert covers(sp.Ge(turn, 1))["eta_L"] == Span(low=1)
    assert covers(sp.Le(turn, sp.Rational(1, 4)), sp.Le(turn, 1))["eta_L"] == Span(high=Fraction(1, 4))
    assert covers(sp.Eq(sy.C, 1))["participation"] == only(1)


# Objects that equal what they like.


class Text(str):
    """A string that equals every other."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = str.__hash__


class Name(sp.Symbol):
    """A positive symbol that equals those of its alias."""

    is_positive = is_nonnegative = True

    def __new__(cls, name, alias):
        made = sp.Symbol.__xnew__(cls, name, real=True)
        made.alias = alias
        return made

    def __eq__(self, other):
        return isinstance(other, sp.Symbol) and other.name in (self.name, self.alias.name)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.alias)


class Gives:
    """A function that equals every other."""

    def __init__(self, value):
        self.value = value

    def __call__(self, objects):
        return Part(sp.Integer(0), "<=", self.value)

    def __eq__(self, other):
        return True

    __hash__ = None


s_1, s_2 = sp.symbols("s_1 s_2", real=True)
TWO = {s_1: sp.Max(-sy.G_sq, -1), s_2: sp.Max(sy.G_sq, 1)}
LIARS = {
    "a label": lambda: refused(
        step("low", 0, "<=", 1).by(ONE), step("end", 1, "<=", 0).by(Earlier(Text("end"))), step("x", 0, "<=", 0)
    ),
    "a relation": lambda: refused(Step("low", sp.Integer(0), Text("<="), sy.G_sq, ((sy.G_sq, ONE),))),
    "a sign": lambda: refused(
        step("end", sy.G_sq, "<=", 0).by((-1, premise("k"))),
        assumes=(Assumption("k", "", gives=lambda o: Part(sp.Integer(0), Text("<="), sy.G_sq)),),
    ),
    "a premise's key": lambda: refused(step("end", sy.mu, "<=", sy.L).by(premise(Text("curvatures")))),
    "a symbol of the claims": lambda: refused(
        step("end", 0, "<", Name("Gamma", sy.Gamma)).by((Name("Gamma", sy.Gamma), ONE))
    ),
    "the name of a vector": lambda: refused(
        step("end", Inner(NOISE, Vec(Name("w_star", sp.Symbol("w_next")))), "=", 0)
    ),
    "the symbol of an extreme": lambda: refused(
        step("one", -sy.G_sq, "<=", 0).by((sy.G_sq, ONE)),
        step("two", -1, "<=", 0).by(ONE),
        step("end", s_2, "<=", 0).by(Every(Name("s_2", s_1), ("one", "two"))),
        abbreviations=TWO,
    ),
    "a shipped assumption": lambda: fault(
        step("end", 1, "<=", 0).by(premise("smooth")), assumes=(replace(a.smooth, gives=Gives(sp.Integer(-1))),)
    ),
    "a gradient of nobody": lambda: refused(step("end", Grad(W_NEXT), "=", 0)),
}


@pytest.mark.parametrize("name", LIARS)
def test_an_object_that_lies_is_refused(name):
    assert LIARS[name]()


def test_a_lemma_s_assumption_is_the_claim_s_own():
    honest, lie = gives("k", sy.G_sq), replace(gives("k", sy.G_sq), gives=Gives(-sy.G_sq))
    assert honest != lie and lie != honest
    lemma = Derivation("lemma", "", (step("end", sy.G_sq, "<=", 0).by(premise("k")),), assumes=(lie,))
    end = step("end", sy.G_sq, "<=", 0).by(Cited("lemma"))
    assert "means something else" in citing(lemma, end, assumes=(honest,))


def test_an_assumption_gives_the_same_each_time():
    """Under 'c >= 5', said the first time only, this proved L >= mu + 5."""
    asked = iter([c - 5] + [sp.Integer(1)] * 9)
    high = Assumption("high", "c >= 5", gives=lambda o: Part(sp.Integer(0), "<=", next(asked)))
    line = step("end", sy.L - sy.mu, ">=", 5).by(premise("high"))
    conditions = (Condition(c, premise("curvatures")),)
    assert "each time" in refused(line, assumes=(*PAPER, high), conditions=conditions)


# Counterexamples for Rocq: all that the claim assumes is asked of the instance.


def test_a_counterexample_meets_every_assumption_when_it_is_refuted():
    example = next(e for e in map(read, all_files()) if e.document.get("claim") == "theorem-1")
    from fedbounds.evidence.exact.instance_json import from_json

    instance, claim = from_json(example.document["instance"]), claim_named("theorem-1")

    def asked(*more):
        return list(_assumed(replace(claim, assumptions=more), READINGS["sync"], instance, instance.total))

    with pytest.raises(InputError, match="all that a refuted claim assumes"):
        asked(a.identical)
    assert len(asked(Assumption("k", "", sp.Le(sy.drift, 1)))) == instance.total
    assert asked(Assumption("k", "", sp.Le(sy.T, 3))) == [f"number {instance.total} <= 3"]
