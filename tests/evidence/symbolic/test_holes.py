"""Holes that proofs of false statements once got through: each is tried again and must be refused."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp
import unsound_proofs
from proofs import PAPER, citing, fault, gives, refused, toy_claim, verdict
from sympy.core.assumptions import StdFactKB

from fedbounds.errors import InputError
from fedbounds.evidence.symbolic import render
from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    LAMBDA,
    NOISE,
    NOISE_0,
    SHARE,
    W_NEXT,
    W_STAR,
    I,
    P,
    U,
    W,
    gap,
    n,
)
from fedbounds.evidence.symbolic.derivation import (
    ONE,
    Cases,
    CauchySchwarz,
    Cited,
    Condition,
    Derivation,
    Earlier,
    Every,
    Extreme,
    Hypothesis,
    Induction,
    Limit,
    averaged,
    beyond,
    case,
    premise,
    step,
)
from fedbounds.evidence.symbolic.permitted_assumptions import granted
from fedbounds.plugins import claim_named
from fedbounds.referee.implication import follows
from fedbounds.theory import assumptions as a
from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Span, coverage_of_relations
from fedbounds.theory.quantity import constant, measured
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.vectors import Centre, Grad, Inner, Mean, Slack, norm_sq
from fedbounds.theory.verdict import Status

REPAIRED = READINGS["repaired"]
QUARTER = sp.Rational(1, 4)
c, d, r, s = sp.symbols("c d r s", nonnegative=True)
p = sp.Symbol("z", positive=True)
q = Slack(sp.Symbol("z"))
CURVED = (Condition(c, premise("curvatures")),)
TINY = sp.Float("1e-17")

# Symbols of a derivation's own: their signs.

SIGNS = ({"negative": True}, {"zero": True}, {"nonpositive": True}, {"positive": True, "integer": True}, {})
z_0, z_t, z_next, z_T = sp.symbols("z_0 z_t z_next z_T", nonnegative=True)
ROLES = {
    "a condition": lambda odd: refused(
        step("end", sy.L, "<=", sy.mu).by((-odd, ONE)), conditions=(Condition(odd, premise("curvatures")),)
    ),
    "an abbreviation": lambda odd: refused(
        step("end", sy.Delta_next, "<=", 0).by(
            (sy.Delta_next, Extreme(odd, sp.Integer(1))), (-odd * sy.Delta_next, ONE)
        ),
        abbreviations={odd: sp.Max(1, p)},
    ),
    "a case": lambda odd: refused(
        step("end", sy.L, "<=", sy.mu).by(Cases(sy.L - sy.mu, case(odd, (-odd, ONE)), case(d, (d, ONE))))
    ),
    "a sequence": lambda odd: refused(step("end", 0, "<=", z_0).by((z_0, ONE)), sequences={z_T: (z_0, z_t, odd)}),
}


@pytest.mark.parametrize("signs", SIGNS, ids=lambda signs: "-".join(signs) or "none")
@pytest.mark.parametrize("role", ROLES)
def test_a_symbol_has_one_of_three_signs(role, signs):
    assert ROLES[role](sp.Symbol("c", **signs))


# Objects that equal what they like.


class Below(Slack):
    """A slack that is never positive."""

    def _eval_is_negative(self):
        return True


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


class Terms(dict):
    """Terms whose items are not what is printed of them."""

    def items(self):
        return {"all": sy.G_sq}.items()


class TwoFaced(Claim):
    """A claim that says another thing to the checker than to the reader."""

    def stated(self, repaired):
        return {"all": sy.G_sq}


def no_claim(lhs, rhs, **more):
    """Why no claim can be made of two sides."""
    with pytest.raises(InputError) as refusal:
        toy_claim(lhs, rhs, **more)
    return str(refusal.value)


def tampered(product):
    """A product that says of itself that it is not negative."""
    made = sp.Mul(*product.args, evaluate=False)
    made._assumptions = StdFactKB({"nonnegative": True})
    return made


def preset():
    """G^2 >= 0, of which the opposite was computed."""
    made = Assumption("preset", "", sp.Ge(sy.G_sq, 0, evaluate=False))
    made.__dict__["parts"] = (Part(sp.Integer(0), "<=", -sy.G_sq),)
    return made


BRACKET = sp.Symbol("(-1)", nonnegative=True)


def changing(*said, key="sly", statement=""):
    """An assumption that gives these in turn, then 0 <= 1."""
    values = iter([*said, *[sp.Integer(1)] * 9])
    return Assumption(key, statement, gives=lambda o: Part(sp.Integer(0), "<=", next(values)))


def discharging(assumption, use, *shown, **more):
    """Why none may cite a proof resting on ``use`` of an assumption, and discharge that by the last step shown."""
    lemma = Derivation("lemma", "lemma", (use,), assumes=(*PAPER, assumption))
    end = step("end", use.lhs, use.relation, use.rhs).by(Cited("lemma", {assumption.key: shown[-1].label}))
    return citing(lemma, *shown, end, **{"assumes": PAPER, **more})


def bounded(moving):
    """What would bound Delta_T by a number that moves in time."""
    base = step("base", sy.Delta_0, "<=", sy.Delta_0 + moving).by((moving, ONE))
    carry = step("carry", sy.Delta_next, "<=", sy.Delta_0 + moving).by(premise("steady"), Hypothesis("all"))
    line = step("all", sy.Delta_T, "<=", sy.Delta_0 + moving).by(Induction("base", "carry"))
    return refused(base, carry, line, assumes=(*PAPER, gives("steady", sy.Delta - sy.Delta_next)))


HIGH = Assumption("high", "c >= 5", sp.Ge(c, 5))
TRIVIAL = step("trivial", 0, "<=", 1).by(ONE)
NO_GRADIENT = step("use", sy.G_sq, "<=", 0)
SKEW = step("end", sy.rho_bar * Mean(P, gap(W)), "<=", Mean(ALPHA, gap(W))).by(premise("rho-bar"))
TIED = Assumption("tied", "", sp.Le(sy.Delta_next, sy.Delta))
EVERY_OR_NONE = step("end", 0, "<=", Mean(P, (r - QUARTER) * Mean(LAMBDA, r - QUARTER))).by(
    Cases(
        r - QUARTER,
        case(c, averaged(P, (c, averaged(LAMBDA, (c, ONE))))),
        case(d, averaged(P, (d, averaged(LAMBDA, (d, ONE))))),
    )
)
NEXT = {z_T: (z_0, z_t, z_next)}
SMALLER = (
    step("base", z_0, "<=", z_0),
    step("carry", z_next, "<=", z_0).by(Extreme(z_next, z_t), Hypothesis("all")),
    step("all", z_T, "<=", z_0).by(Induction("base", "carry")),
)
GROWN = (1 + sy.eta * sy.mu) ** 2

HALVED = Assumption("halved", "", gives=lambda o: Part(sp.Integer(0), "<=", o.eta_s - 2 * sy.eta))
FAR = measured("far", norm_sq(W - W_STAR))

HOLES = {
    "a negative slack of a client": lambda: refused(
        step("end", SHARE, "<=", sy.p_min).by((-Below(sp.Symbol("below"), I), ONE)),
        conditions=(Condition(Below(sp.Symbol("below"), I), premise("least-p")),),
    ),
    # A symbol stands for one number.
    "an abbreviation that hides a client": lambda: refused(EVERY_OR_NONE, abbreviations={r: sp.Min(SHARE, 1)}),
    "the gap of one client for the mean gap": lambda: refused(step("one", sy.excess, "=", Mean(P, sy.excess))),
    "a meaning for what an assumption leaves free": lambda: refused(
        step("end", sy.L - sy.mu, ">=", 5).by(premise("high")), conditions=CURVED, assumes=(*PAPER, HIGH)
    ),
    "a meaning for what a claim leaves free": lambda: verdict(
        toy_claim(sy.L, sy.L * c, assumptions=()), (sy.L, Extreme(c, sp.Integer(1))), abbreviations={c: sp.Max(1, p)}
    ),
    "a case's symbol used before": lambda: refused(
        step("shared", c, "<=", 0).by(premise("low")),
        step("end", sy.L, "<=", sy.mu).by(Cases(sy.L - sy.mu, case(c, Earlier("shared")), case(d, (d, ONE)))),
        assumes=(*PAPER, gives("low", -c)),
    ),
    # Definitions and readings are the claim's, not an author's.
    # Assumptions of a cited derivation, discharged.
    "a discharge at no point of what is used at one": lambda: discharging(
        Assumption("sly", "", gives=lambda o, *at: Part(sp.Integer(0), "<=", -sy.G_sq if at else sp.Integer(1))),
        NO_GRADIENT.by(premise("sly", W)),
        TRIVIAL,
    ),
    "a discharge of what an assumption says later": lambda: (
        symbolic.check_all(
            [
                Derivation(
                    "lemma", "", (NO_GRADIENT.by(premise("sly")),), assumes=(*PAPER, changing(-sy.G_sq, -sy.G_sq))
                ),
                Derivation(
                    "citing",
                    "",
                    (TRIVIAL, NO_GRADIENT.by(Cited("lemma", {"sly": "trivial"}))),
                    assumes=PAPER,
                ),
            ]
        )["citing"].fault
    ),
    "a discharge under random weights by a line in expectation": lambda: discharging(
        gives("pathwise", sy.Delta_0 - norm_sq(W - W_STAR)),
        step("use", Mean(ALPHA, SHARE * norm_sq(W - W_STAR)), "<=", Mean(ALPHA, SHARE * sy.Delta_0)).by(
            averaged(ALPHA, (SHARE, premise("pathwise")))
        ),
        step("base", sy.Delta_0, "<=", sy.Delta_0),
        step("carry", sy.Delta_next, "<=", sy.Delta_0).by(premise("tied"), Hypothesis("all")),
        step("all", sy.Delta_T, "<=", sy.Delta_0).by(Induction("base", "carry")),
        step("shown", sy.Delta, "<=", sy.Delta_0).by(Hypothesis("all")),
        assumes=(*PAPER, TIED),
    ),
    "a quantity of one's own under random weights": lambda: verdict(
        toy_claim(
            measured("far_by_alpha", points.mean_alpha(points.p_i * norm_sq(W - W_STAR))) + FAR / 1000,
            measured("share_by_alpha", points.mean_alpha(points.p_i)) * sy.Delta_0 + sy.Delta_0 / 1000,
            assumptions=(*PAPER, gives("pathwise", sy.Delta_0 - FAR)),
        ),
        averaged(ALPHA, (SHARE, premise("pathwise"))),
        (sp.Rational(1, 1000), premise("pathwise")),
    ),
    "a fact about each earlier step, where there is none": lambda: verdict(
        toy_claim(
            2 * sy.eta,
            sy.eta_ratio * sy.eta,
            assumptions=(*PAPER, HALVED),
        ),
        averaged(U, premise("halved"), premise("step-ratio")),
    ),
    # Inductions and sequences.
    "an induction with the steps so far": lambda: bounded(n),
    "a sequence's next term that is an abbreviation": lambda: refused(
        *SMALLER, sequences=NEXT, abbreviations={z_next: sp.Min(z_t, 1)}
    ),
    "the first step's noise orthogonal to this step's": lambda: refused(step("end", Inner(NOISE, NOISE_0), "=", 0)),
    "an extreme of which one argument is bounded": lambda: refused(
        step("one", 1, "<=", 1), step("end", 2, "<=", c).by(Every(c, ("one",))), abbreviations={c: sp.Min(p, 2)}
    ),
    # What is not exact: 1 + 1e-17 is 1 to a float.
    "a claim with a float": lambda: no_claim(sy.G_sq, sy.G_sq - TINY * sy.G_sq),
    "a proof's step with a float": lambda: refused(step("end", GROWN, "<=", 1), eta=TINY / sy.mu),
    # Absent clients, and readings by name.
    "the weights beyond pi where clients are absent": lambda: verdict(
        toy_claim(sy.pi_min, sp.Integer(1), assumptions=()), beyond((1, ONE)), right=1
    ),
    "a reading made by its name": lambda: (
        symbolic.check(
            "toy",
            symbolic.shelf({"toy": Derivation("toy", "toy", (SKEW,), assumes=PAPER)}),
            Reading("sync", "all-steps", "alpha", False, "sync by name"),
        ).fault
    ),
    # Objects that lie.
    "a label that equals every other": lambda: refused(
        step("low", 0, "<=", 1).by(ONE), step("end", 1, "<=", 0).by(Earlier(Text("end"))), step("x", 0, "<=", 0)
    ),
    "a sign that equals every other": lambda: refused(
        step("end", sy.G_sq, "<=", 0).by((-1, premise("k"))), assumes=(gives("k", sy.G_sq, Text("<=")),)
    ),
    "another symbol of the claims": lambda: refused(
        step("end", 0, "<", Name("Gamma", sy.Gamma)).by((Name("Gamma", sy.Gamma), ONE))
    ),
    "another shipped assumption": lambda: fault(
        step("end", 1, "<=", 0).by(premise("smooth")), assumes=(replace(a.smooth, gives=Gives(sp.Integer(-1))),)
    ),
    "a sign written into a product": lambda: refused(NO_GRADIENT.by((tampered(-1 * sy.G_sq), ONE))),
    "a relation computed beforehand": lambda: refused(NO_GRADIENT.by(premise("preset")), assumes=(preset(),)),
    "terms that are others when listed": lambda: verdict(
        replace(toy_claim(sy.G_sq, sp.Integer(0)), terms=Terms(all=sp.Integer(0))), right=sy.G_sq
    ),
    "a claim that states another": lambda: verdict(
        TwoFaced("toy", "", "", "constant", sy.G_sq, {"all": sp.Integer(0)}, readings=("repaired",)), right=sy.G_sq
    ),
    "a symbol named as a number": lambda: refused(step("end", -BRACKET, "<=", 0).by((BRACKET, ONE))),
    "a gradient of nobody": lambda: refused(step("end", Grad(W_NEXT), "=", 0)),
    # Limits of what does not stay as it is.
    **{
        f"a limit {name}": lambda left=left, right=right, rule=rule: refused(
            step("end", left, "->", right).by(rule), conditions=CURVED
        )
        for name, left, right, rule in (
            ("of a share that may be none", r * sy.t / (r * sy.t + 1), 1, Limit(sy.t, sp.oo)),
            ("of a difference that may vanish", (p - 1) * sy.t / ((p - 1) * sy.t + 1), 1, Limit(sy.t, sp.oo)),
            ("at a point where a divisor may vanish", p / (p + sy.Gamma), 0, Limit(p, sp.Integer(0))),
            ("from a side that a number has not", sp.exp(1 / p), 0, Limit(p, sp.Integer(0))),
            ("of a sum that grows with T", sy.eta_sum / (1 + sy.T), 0, Limit(sy.T, sp.oo)),
            ("at an imaginary point", sy.t**2, -1, Limit(sy.t, sp.I)),
            ("at a negative time", sy.t, -1, Limit(sy.t, sp.Integer(-1))),
            ("in a symbol with a meaning", c / sy.L, 0, Limit(c, sp.Integer(0))),
        )
    },
}


@pytest.mark.parametrize("name", HOLES)
def test_a_hole_stays_closed(name):
    try:
        result = HOLES[name]()
    except InputError:
        return  # the claim itself is refused as it is made
    assert result.status is Status.UNDECIDED if hasattr(result, "status") else result


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("an abbreviation that hides a client", "which is not one number"),
        ("a discharge at no point of what is used at one", "says something at each point"),
    ],
)
def test_the_gate_itself_closes_a_hole(name, reason):
    """Later rules refuse these too, for other reasons."""
    assert reason in HOLES[name]()


@pytest.mark.parametrize(
    "divisor",
    [1 - (1 - sy.mu / sy.L) ** sy.T, sy.T + sp.Max(sy.T, 1), 1 - sp.Integer(2) ** sy.T + sy.T, sp.exp(sy.T) + 1],
)
def test_a_divisor_that_is_no_polynomial_in_T_grants_nothing(divisor):
    """A claim with one once ended in a traceback."""
    terms = {"all": sy.Delta_0 / divisor, "more": sy.Delta_0 / (sy.T + 1)}
    claim = Claim("toy", "", "", "horizon", sy.Delta_T, terms, assumptions=PAPER)
    divisors = {key for key in granted(READINGS["plain"], claim) if key.startswith("divisor")}
    assert divisors <= {"divisor T + 1"}


# Those refused for a reason of their own, beside what is accepted.


def test_what_holds_under_a_hypothesis_discharges_nothing():
    """t <= 5 at one t is no bound on every t: this proved G^2 <= 0 for every run of 7 steps."""
    early = Assumption("early", "t <= 5", sp.Le(sy.t, 5))
    long = Assumption("long", "T >= 7", sp.Ge(sy.T, 7))
    base, carry = step("base", 0, "<=", 6).by((6, ONE)), step("carry", sy.t + 1, "<=", 6).by(premise("early"))
    whole = step("all", sy.T, "<=", 6).by(Induction("base", "carry"))
    steps = (
        step("base", 0, "<=", 5).by((5, ONE)),
        step("here", sy.t, "<=", 5).by(Hypothesis("all")),
        step("short", sy.T, "<=", 6).by(Cited("lemma", {"early": "here"})),
        step("carry", sy.t + 1, "<=", 5).by((sy.t, Earlier("short")), (sy.t, premise("long")), (4, ONE)),
        step("all", sy.T, "<=", 5).by(Induction("base", "carry")),
        step("end", sy.G_sq, "<=", 0).by((sy.G_sq / 2, Earlier("all")), (sy.G_sq / 2, premise("long"))),
    )
    lemma = Derivation("lemma", "", (base, carry, whole), assumes=(early,))
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


def test_a_meaning_given_where_a_lemma_is_cited_is_none_of_its_assumptions():
    """Under 'L - mu >= 5' and 'c <= 3' this proved G^2 <= 0."""
    low = Assumption("low", "c <= 3", sp.Le(c, 3))
    uses = ((sy.G_sq / 2, premise("high")), (sy.G_sq / 2, premise("low")))
    lemma = Derivation("lemma", "", (NO_GRADIENT.by(*uses),), assumes=(HIGH, low))
    big = Assumption("big", "", sp.Ge(sy.L - sy.mu, 5))
    shown = step("shown", sy.L - sy.mu, ">=", 5).by(premise("big"))
    about = {"assumes": (*PAPER, big, low), "conditions": CURVED}
    for cited in (Cited("lemma", {"high": "shown"}), Cited("lemma", {"low": "shown"})):
        assert "another meaning" in citing(lemma, shown, NO_GRADIENT.by(cited), **about)
    cases = Cases(sy.L - sy.mu, case(c, (1, Cited("lemma"))), case(d, (d, ONE)))
    assert "another meaning" in citing(lemma, NO_GRADIENT.by(cases), assumes=(*PAPER, HIGH, low))


def test_numbers_that_a_lemma_makes_a_sequence_are_free_elsewhere():
    """Under z_next <= z_t, z_0 <= 0 and z_T >= 1 this proved G^2 <= 0."""
    tied, first, last = (
        Assumption(key, "", relation)
        for key, relation in (("tied", sp.Le(z_next, z_t)), ("first", sp.Le(z_0, r)), ("last", sp.Ge(z_T, r + 1)))
    )
    steps = (
        step("base", z_0, "<=", z_0),
        step("carry", z_next, "<=", z_0).by(premise("tied"), Hypothesis("all")),
        step("all", z_T, "<=", z_0).by(Induction("base", "carry")),
        step("end", sy.G_sq, "<=", 0).by(
            *((sy.G_sq, x) for x in (Earlier("all"), premise("first"), premise("last")))
        ),
    )
    lemma = Derivation("lemma", "", steps, assumes=(tied, first, last), sequences=NEXT)
    assert "makes a sequence of" in citing(lemma, NO_GRADIENT.by(Cited("lemma")), assumes=(tied, first, last))


def test_a_lemma_s_assumption_is_the_claim_s_own():
    honest, lie = gives("k", sy.G_sq), replace(gives("k", sy.G_sq), gives=Gives(-sy.G_sq))
    assert honest != lie and lie != honest
    lemma = Derivation("lemma", "", (step("end", sy.G_sq, "<=", 0).by(premise("k")),), assumes=(lie,))
    end = step("end", sy.G_sq, "<=", 0).by(Cited("lemma"))
    assert "means something else" in citing(lemma, end, assumes=(honest,))


def test_an_assumption_gives_the_same_each_time():
    """Under 'c >= 5', said the first time only, this proved L >= mu + 5."""
    line = step("end", sy.L - sy.mu, ">=", 5).by(premise("high"))
    high = changing(c - 5, key="high", statement="c >= 5")
    assert "each time" in refused(line, assumes=(*PAPER, high), conditions=CURVED)


def test_weights_beyond_pi_and_equal_ones_are_those_of_every_client():
    rest = Centre(ALPHA, W_STAR) - sy.pi_min * Centre(P, W_STAR)
    line = step("end", norm_sq(rest), "<=", (1 - sy.pi_min) ** 2 * norm_sq(W_STAR)).by(CauchySchwarz(W_STAR))
    assert "full-participation" in fault(line) and not refused(line)
    equal = step("end", sy.Gamma, "=", Mean(ALPHA, gap(W_STAR))).by((-1, premise("unbiased", gap(W_STAR))))
    assert "full-participation" in fault(equal, assumes=(a.unbiased,))
    assert not fault(equal, assumes=(a.unbiased, a.full_participation))


def test_a_proof_is_of_one_algorithm():
    claim = claim_named("theorem-1")
    other = replace(claim, algorithm="another")
    assert symbolic.examine(claim, REPAIRED).status is Status.HOLDS
    assert symbolic.examine(other, REPAIRED).status is Status.UNDECIDED
    assert follows(claim, REPAIRED, claim, REPAIRED) and not follows(other, REPAIRED, claim, REPAIRED)


def test_a_defined_symbol_on_the_left_is_part_of_what_is_said():
    floor = claim_named("speed-floor")
    other = replace(floor, definitions={sy.gamma: 4000 * sy.L / sy.mu})
    literal = READINGS["literal"]
    assert follows(floor, literal, floor, literal) and not follows(other, literal, floor, literal)


def test_an_assumption_about_a_defined_symbol_is_another_under_another_definition():
    early = Assumption("early", "", sp.Le(sy.gamma, sy.tau, evaluate=False))
    known = toy_claim(sy.drift, sy.G_sq, assumptions=(early,), definitions={sy.gamma: 8 * sy.L / sy.mu})
    other = replace(known, definitions={sy.gamma: sy.L / sy.mu})
    assert follows(known, REPAIRED, known, REPAIRED) and not follows(other, REPAIRED, known, REPAIRED)


def test_a_coverage_is_no_wider_than_the_assumptions():
    def covers(*relations):
        return coverage_of_relations(tuple(part for r in relations for part in Assumption("k", "", r).parts)).axes

    turn = sy.eta * sy.L
    assert covers(sp.Eq(turn, 1))["eta_L"] == Span(1, 1)
    assert covers(sp.Ge(turn, 1))["eta_L"] == Span(low=1)
    assert covers(sp.Le(turn, QUARTER), sp.Le(turn, 1))["eta_L"] == Span(high=Fraction(1, 4))
    assert covers(sp.Lt(turn, QUARTER))["eta_L"] == Span(high=Fraction(1, 4), below=True)
    assert covers(sp.Eq(sy.C, 1))["participation"] == Span(1, 1)


def test_a_claim_speaks_of_no_less_than_its_relations_admit():
    """At rho_tilde = 1 some hold at eta L = 2; of a number of one's own the sign is its author's word."""

    def spoken(relation):
        return toy_claim(sy.L, sy.L, assumptions=(Assumption("k", "", relation),)).coverage(REPAIRED).axes

    turn, minus = sy.eta * sy.L, constant("minus_five", lambda losses: -5, nonnegative=True)
    for loose in (turn / (1 + sy.rho_tilde), turn * sp.exp(-sy.rho_tilde), turn + minus):
        assert "eta_L" not in spoken(sp.Le(loose, 1))
    assert spoken(sp.Le(turn + sy.rho_tilde, 1))["eta_L"] == Span(high=1)


def test_a_proof_under_contradictory_assumptions_says_so():
    large = Assumption("large", "eta_t >= 3/L", sp.Ge(sy.eta * sy.L, 3))
    claim = toy_claim(sy.Delta_next, sp.Integer(0), assumptions=(a.small_steps, large))
    half = sy.Delta_next / 2
    result = verdict(claim, (half, premise("small-steps")), (half, premise("large")))
    assert result.status is Status.HOLDS and "no instance is known to meet these" in result.detail
    assert "no instance" not in symbolic.examine(claim_named("theorem-1"), REPAIRED).detail


ALONE, LATE = sp.Eq(sy.N, 1), sp.Ge(sy.gamma, 2 * sy.L / sy.mu, evaluate=False)


@pytest.mark.parametrize(
    ("relations", "eta"),
    [
        ((ALONE,), None),
        ((ALONE, sp.Lt(sy.mu, sy.L), sp.Gt(sy.sigma_sq, 0)), None),
        ((sp.Ge(sy.N, 3), sp.Ge(sy.L, 10 * sy.mu), sp.Ge(sy.tau, 3)), None),
        ((LATE,), 2 / (sy.mu * (sy.t + sy.gamma))),
    ],
    ids=["one client", "one client with noise", "three clients", "gamma left open"],
)
def test_an_instance_is_known_of_every_kind(relations, eta):
    stated = tuple(Assumption(f"k-{k}", "", relation) for k, relation in enumerate(relations))
    claim = toy_claim(sy.G_sq, 2 * sy.G_sq, assumptions=(a.smooth, *stated), eta=eta)
    result = verdict(claim, (sy.G_sq, ONE))
    assert result.status is Status.HOLDS and "no instance" not in result.detail


@pytest.mark.parametrize(
    "proof",
    [
        Derivation("toy", "toy", (step("end", 0, "<=", 1).by(ONE),), conditions=[]),
        Derivation("toy", "toy", (replace(step("end", 0, "<=", 1).by(ONE), label=1),)),
        Derivation("toy", "toy", (step("end", 0, "<=", 1).by(ONE), step("end", 0, "<=", 2).by((2, ONE)))),
        Derivation("toy", "toy", ("end",)),
    ],
    ids=["conditions in a list", "a label that is no text", "a label twice", "a step that is none"],
)
def test_a_proof_that_is_refused_before_its_first_step_is_printed(proof):
    result = symbolic.check_all([proof])["toy"]
    assert result.fault and not result.outcomes
    assert "UNDECIDED: " in render.render_text(result)
    assert render.to_json(result)["fault"] == result.fault


def test_no_random_derivation_is_accepted_with_a_false_line():
    rng, taken = random.Random(3), 0
    for trial in unsound_proofs.trials(seed=3, count=150):
        if unsound_proofs.accepted(trial):
            taken += 1
            assert not unsound_proofs.is_hole(trial, rng), trial
    assert taken >= 10
