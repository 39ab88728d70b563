"""Bad proofs that an author may write, honestly or not: the checker must refuse each of them.

Every attack is a derivation of something false, or of something true on grounds that are none.
"""

from dataclasses import dataclass, replace

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from proofs import PAPER, checked, fault, gives, toy_claim, verdict
from proofs import refused as of

from fedbounds.errors import InputError
from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    ETA_S,
    NOISE,
    SHARE,
    W_STAR,
    G,
    I,
    P,
    W,
    X,
    excess,
    grad,
    loss,
    n,
)
from fedbounds.evidence.symbolic.derivation import (
    ONE,
    Cases,
    Condition,
    Derivation,
    Earlier,
    Extreme,
    Hypothesis,
    Induction,
    Square,
    case,
    premise,
    step,
)
from fedbounds.plugins import claims
from fedbounds.theory import assumptions as a
from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.point_values import PointFormula
from fedbounds.theory.quantity import Quantity, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.vectors import Centre, Inner, Mean, Slack, Value, Vec, Weights, norm_sq
from fedbounds.theory.verdict import Status

KNOWN = claims()
r, c = sp.Symbol("r", real=True), sp.Symbol("c", positive=True)
s_1, s_2 = sp.Symbol("s_1", nonnegative=True), sp.Symbol("s_2", nonnegative=True)
strict = sp.Symbol("strict", positive=True)
y = Vec(sp.Symbol("y_1"))
LOW = step("low", 0, "<=", sy.G_sq).by((sy.G_sq, ONE))


@dataclass(frozen=True)
class LyingFact:
    """An object that says it is a fact."""

    expression: object = sp.Integer(-1)
    sign: str = "<"


class LyingPart(Part):
    """A relation of another class, which may say another thing each time it is asked."""


class Otherwise(PointFormula):
    """A formula that is computed otherwise than it is written."""

    def __call__(self, path):
        return -super().__call__(path)


FAR = norm_sq(W - W_STAR)


def of_quantity(scope, quantity):
    """The verdict on 0 <= quantity, by its sign."""
    claim = Claim("toy", "toy", "here", scope, ZERO, {"all": quantity}, assumptions=PAPER, readings=("repaired",))
    return verdict(claim, (quantity, ONE))


def of_models(assumptions):
    """||sum_i p_i w_i - w_t||^2 <= 0, which is so of p-weighted iterates where everybody takes part."""
    apart = measured("apart", norm_sq(points.mean(points.w_i) - W))
    return Claim("toy", "toy", "here", "step", apart, {"all": ZERO}, assumptions=assumptions, readings=("literal",))


ZERO = sp.Integer(0)
ALONE = Assumption("alone", "", sp.Le(sy.N, 1, evaluate=False))
QUIET = Assumption("k", "", sp.Le(sy.m * sy.sigma_sq, 0, evaluate=False))


def uses_of(definition, lhs, terms, *assumptions):
    """Why a proof about a claim may not use a definition, whatever the proof shows with it."""
    scope = "step" if lhs == sy.drift else "horizon"
    claim = Claim("toy", "toy", "here", scope, lhs, terms, assumptions=assumptions, readings=("repaired",))
    points = {"single-step": (W,), "common-optimum": (W,), "full-participation": ()}.get(definition, ())
    line = step("end", 0, "<=", 1).by(ONE, (0, premise(definition, *points)))
    return checked(Derivation("toy", "toy", (line,), claim="toy"), claim).fault


def toy(lhs, rhs, *uses, claim=None, **more):
    """The verdict on a claim lhs <= rhs (or the one given) of a derivation with that line."""
    return verdict(claim or toy_claim(lhs, rhs, scope="constant"), *uses, right=rhs, **more)


def condition(symbol, shown, *steps, **more):
    """The fault of a derivation with one condition."""
    return of(*steps, conditions=(Condition(symbol, shown),), **more)


DOWN = step("down", sy.Delta_next, "<=", 0).by(Hypothesis("all"))
NOTHING = step("base", sy.Delta_0, "<=", sy.Delta_0)
ALL = step("all", sy.Delta_T, "<=", 0).by(Induction("base", "down"))
TIED = gives("tied", sy.Delta - sy.Delta_next)
CARRY = step("down", sy.Delta_next, "<=", sy.Delta_0).by(premise("tied"), Hypothesis("all"))
STAY = step("all", sy.Delta_T, "<=", sy.Delta_0).by(Induction("base", "down"))


ATTACKS = {
    # Inductions that show what they please.
    "an induction whose step is its own hypothesis": lambda: of(NOTHING, DOWN, ALL),
    "sequences of its own in the proof of a claim": lambda: toy(
        sy.Delta_T, 0, claim=None, sequences={sy.Delta_T: (s_1, s_2, strict)}
    ),
    # Premises that are nobody's.
    "a premise of no assumption": lambda: of(step("end", 1, "<=", 0).by(premise("because-i-say-so"))),
    "a premise at points of no function": lambda: of(step("end", 1, "<=", 0).by(premise("smooth", sp.Integer(1)))),
    "a shipped name for another assumption": lambda: of(
        step("end", 1, "<=", 0).by(premise("smooth")), assumes=(gives("smooth", sp.Integer(-1)),)
    ),
    "a definition's name for another assumption": lambda: of(
        step("end", 1, "<=", 0).by(premise("optimum")), assumes=(gives("optimum", sp.Integer(-1)),)
    ),
    "two assumptions of one name": lambda: of(
        step("end", 0, "<=", r).by(premise("k")), assumes=(gives("k", r), gives("k", -r))
    ),
    "the assumption of a repair, in another reading": lambda: symbolic.judge(
        symbolic.check(
            "lemma-2", symbolic.shelf({"lemma-2": replace(symbolic.installed()["lemma-2"], readings=("literal",))})
        ),
        KNOWN["lemma-2"],
        READINGS["literal"],
    ),
    "rho_bar at every t, where it is taken at synchronisations": lambda: (
        checked(
            Derivation(
                "toy",
                "toy",
                (step("end", 0, "<=", Mean(ALPHA, loss(W))).by(premise("rho-bar")),),
                claim="toy",
                readings=("sync",),
            ),
            Claim(
                "toy",
                "toy",
                "here",
                "constant",
                sp.Integer(0),
                {"all": sy.G_sq},
                assumptions=PAPER,
                readings=("sync",),
            ),
            "sync",
        ).fault
    ),
    # Meanings taken anew.
    "a condition that redefines a claim's symbol": lambda: condition(
        sy.G_sq, Earlier("low"), LOW, step("end", 0, "<=", 1).by(ONE)
    ),
    "a condition that redefines an object of the setting": lambda: condition(
        excess(sy.rho_bar), Earlier("low"), LOW, step("end", 0, "<=", 1).by(ONE)
    ),
    "an abbreviation that redefines a claim's symbol": lambda: of(
        LOW, abbreviations={sy.rho_bar: sp.Min(1, sy.G_sq)}
    ),
    "an abbreviation made of itself": lambda: of(
        step("end", s_1, "<=", s_1 - 1).by(Extreme(s_1, s_1 - 1)),
        abbreviations={s_1: sp.Min(s_1 - 1, c, evaluate=False)},
    ),
    "a condition about itself": lambda: condition(
        s_1, Earlier("own"), step("own", 0, "<=", s_1 + 1).by((s_1 + 1, ONE)), step("end", 0, "<=", -1)
    ),
    "two conditions of one symbol": lambda: of(
        LOW,
        step("tau", 0, "<=", sy.tau).by((sy.tau, ONE)),
        conditions=(Condition(s_1, Earlier("low")), Condition(s_1, Earlier("tau"))),
    ),
    "a step size that is negative": lambda: of(LOW, eta=-1 / sy.mu),
    "a claim that defines Gamma away": lambda: toy(
        sy.Gamma,
        sp.Integer(0),
        claim=toy_claim(
            sy.Gamma, sp.Integer(0), scope="constant", assumptions=(), definitions={sy.Gamma: sp.Integer(0)}
        ),
    ),
    "a claim's symbol declared otherwise": lambda: of(
        step("end", 0, "<", sp.Symbol("Gamma", positive=True)).by((sp.Symbol("Gamma", positive=True), ONE))
    ),
    "a random variable taken for a number": lambda: condition(
        s_1, Earlier("sq"), step("sq", 0, "<=", norm_sq(W)).by(Square(W)), step("end", 0, "<=", s_1).by((s_1, ONE))
    ),
    # Signs that are not there.
    "an equality multiplied by 1/Gamma": lambda: of(
        step("end", 1, "=", 0).by((-1 / sy.Gamma, premise("homogeneous"))), assumes=(a.homogeneous,)
    ),
    "a divisor that may vanish": lambda: of(step("end", 0, "<=", 1 / (sy.L - sy.mu)).by((1 / (sy.L - sy.mu), ONE))),
    "positive from non-negative": lambda: condition(
        strict, premise("curvatures"), step("end", sy.mu, "<", sy.L).by((strict, ONE))
    ),
    "an abbreviation declared positive": lambda: of(
        step("end", 0, "<", strict).by((strict, ONE)), abbreviations={strict: sp.Min(sy.rho_bar, c)}
    ),
    "strict from a square that may be zero": lambda: of(
        step("end", 0, "<", (sy.L - sy.mu) ** 2).by(((sy.L - sy.mu) ** 2, ONE))
    ),
    "a case's symbol in the line": lambda: of(step("end", s_1, "=", r).by(Cases(r, case(s_1), case(s_2)))),
    "p_min positive without its assumption": lambda: of(step("end", 0, "<", sy.p_min).by((sy.p_min, ONE))),
    # What is no real number, or not exact.
    "the square of an imaginary number": lambda: of(step("end", 0, "<=", -1).by(Square(sp.I, vector=False))),
    "an undeclared symbol": lambda: of(
        step("end", 0, "<=", sp.Symbol("z") ** 2).by(Square(sp.Symbol("z"), vector=False))
    ),
    "an even root": lambda: of(step("end", 0, "<=", -1).by(Square(sp.sqrt(-r), vector=False))),
    # Functions and randomness.
    "another loss at the same point": lambda: of(
        step("end", 0, "<=", Value(sp.Symbol("F"), I) - loss(W)).by(premise("smooth", W, W))
    ),
    "noise orthogonal to weights that saw it": lambda: of(
        step("end", Inner(Centre(Weights(sp.Symbol("seen"), I), NOISE), W), "=", 0)
    ),
    "noises of different clients summed without independence": lambda: of(
        step("end", norm_sq(Centre(P, NOISE)), "=", Mean(P, SHARE * norm_sq(NOISE)))
    ),
    "a random multiplier of a random fact": lambda: of(
        step("end", norm_sq(X) * (sy.G_sq - norm_sq(G)), ">=", 0).by((norm_sq(X), premise("bounded-gradient", X)))
    ),
    "a product of expectations": lambda: of(step("end", sy.Delta * sy.drift, "=", norm_sq(W - W_STAR) * sy.drift)),
    "the next iterate where clients are absent": lambda: of(
        step("end", sy.Delta_next, "<=", norm_sq(W - W_STAR - sy.eta * Centre(ALPHA, G))), assumes=(a.smooth,)
    ),
    "two skews with the same gaps": lambda: of(
        step("end", sy.rho_bar * Mean(P, excess(sy.rho_bar)), "=", sy.rho_tilde * Mean(P, excess(sy.rho_bar))).by(
            premise("skew", sy.rho_tilde), (-1, premise("skew", sy.rho_bar))
        )
    ),
    "a ratio that is none": lambda: of(step("end", sy.pi_min, "<=", r).by(premise("least-ratio", r))),
    # Objects that lie.
    "a fact of another class": lambda: of(step("end", 1, "<=", 0).by(LyingFact())),
    "a relation of another class": lambda: of(
        step("end", 0, "<=", r).by(premise("k")),
        assumes=(Assumption("k", "k", gives=lambda o: LyingPart(sp.Integer(0), "<=", r)),),
    ),
    "an object named by a claim's symbol": lambda: of(step("end", 0, "<=", Slack(sy.T, I)).by((Slack(sy.T, I), ONE))),
    "a mean over a claim's symbol": lambda: of(step("end", Mean(Weights(sp.Symbol("p_i"), sy.L), sy.L), "=", sy.L)),
    # Citations.
    "a condition's symbol before it is shown": lambda: of(
        step("early", 0, "<=", s_1).by((s_1, ONE)), LOW, conditions=(Condition(s_1, Earlier("low")),)
    ),
    "a step of the future": lambda: of(
        step("end", 1, "<=", 0).by(Earlier("later")), step("later", 1, "<=", 0).by(Earlier("end"))
    ),
    # What a claim grants, and what it does not.
    "T > 0 for a right side from which 1/T cancels": lambda: uses_of(
        "some-time", sy.gap, {"one": sy.G_sq + 1 / sy.T, "other": -1 / sy.T}
    ),
    "an assumption's n for the steps of the round so far": lambda: uses_of(
        "round", sy.tau, {"all": 2 * sy.tau}, Assumption("five", "", sp.Ge(n, 5, evaluate=False))
    ),
    "1/m without its assumption": lambda: toy(
        sy.sigma_sq, 0, (1 / sy.m, premise("k")), claim=toy_claim(sy.sigma_sq, 0, assumptions=(QUIET,))
    ),
    "the first step of a claim for any step": lambda: uses_of(
        "first-step", sy.gap, {"all": sy.gap}, OwnSteps("step-size", "", sp.Eq(sy.eta, 1 / sy.L))
    ),
    # Quantities of an author's own.
    "the p-mean of the models where clients may be absent": lambda: verdict(of_models(PAPER[:-1]), reading="literal"),
    "a step's size in a quantity at a horizon": lambda: of_quantity("horizon", measured("q_eta", sy.eta * FAR)),
    "a quantity whose sign is declared only": lambda: of_quantity(
        "step", measured("q_real", points.F(W) - points.F_star, nonnegative=True)
    ),
    "a quantity that is computed otherwise than it is written": lambda: of_quantity(
        "step", Quantity("q_other", Otherwise(FAR), "measured", nonnegative=True, in_proof=True)
    ),
    # No line proves a rate, and none refutes anything.
    "a line about a rate": lambda: symbolic.judge(
        checked(Derivation("toy", "toy", (step("end", sy.gap, "<=", sy.gap),), "toy"), RATE),
        RATE,
        READINGS["repaired"],
    ),
    "a line that contradicts": lambda: symbolic.judge(
        checked(Derivation("toy", "toy", (step("end", 2 * sy.L, ">", sy.L).by((sy.L, ONE)),), "toy"), DOUBLE),
        DOUBLE,
        READINGS["repaired"],
    ),
}
MADE = {"readings": ("repaired",)}
RATE = Claim("toy", "toy", "here", "horizon", sy.gap, {"floor": sy.gap}, kind=Kind.RATE, **MADE)
DOUBLE = Claim("toy", "toy", "here", "constant", 2 * sy.L, {"all": sy.L}, **MADE)


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_is_refused(name):
    try:
        result = ATTACKS[name]()
    except InputError:
        return  # the claim itself is refused as it is made
    assert result.status is Status.UNDECIDED if hasattr(result, "status") else result


def test_the_attacks_fail_for_their_own_reasons():
    """The same proofs without the trick do check."""
    everybody = verdict(of_models(PAPER), reading="literal")
    assert everybody.status is Status.HOLDS and "full-participation" in everybody.detail
    assert of_quantity("horizon", measured("q_far", FAR)).status is Status.HOLDS
    assert not uses_of("some-time", sy.gap, {"one": sy.G_sq + 1 / sy.T})
    assert not uses_of("single-step", sy.drift, {"all": 0 * sy.L}, a.full_participation, ALONE)
    assert not uses_of("round", sy.tau, {"all": 2 * sy.tau})
    assert "LyingFact is no fact" in ATTACKS["a fact of another class"]()
    assert not of(NOTHING, CARRY, STAY, assumes=(TIED,))
    assert not of(LOW, step("end", 0, "<=", s_1).by((s_1, ONE)), conditions=(Condition(s_1, Earlier("low")),))
    assert not of(step("end", sy.mu, "<=", sy.L).by(premise("curvatures")))
    assert not of(step("end", Inner(NOISE, grad(X)), "=", 0))
    assert not of(step("end", 0, "<=", sy.G_sq - norm_sq(G)).by(premise("bounded-gradient", X)))
    assert not of(step("end", 0, "<=", r**2).by(Cases(r, case(s_1, (s_1**2, ONE)), case(s_2, (s_2**2, ONE)))))
    assert toy(sy.G_sq, 2 * sy.G_sq, (sy.G_sq, ONE)).status is Status.HOLDS


# What an assumption of one's own gives, against its relation


LESS_STEP = sy.eta * sy.L


@settings(max_examples=60, deadline=None)
@given(
    st.fractions(0, 4, max_denominator=8),
    st.fractions(-4, 4, max_denominator=8),
    st.fractions(-2, 4, max_denominator=8),
    st.booleans(),
)
def test_what_is_shown_by_an_assumption_follows_from_its_relation(limit, stated, factor, strict):
    """0 <= stated - factor eta L is true wherever eta L <= limit if 0 <= factor and factor limit <= stated."""
    limit, stated, factor = (sp.Rational(x.numerator, x.denominator) for x in (limit, stated, factor))
    line = stated - factor * LESS_STEP
    mine = Assumption(
        "mine",
        "",
        sp.Le(LESS_STEP, limit, evaluate=False),
        gives=lambda o: Part(sp.Integer(0), "<" if strict else "<=", line),
    )
    proof = step("end", 0, "<" if strict else "<=", line).by(premise("mine"))
    if not fault(proof, assumes=(mine,)):
        assert factor >= 0 and (factor * limit < stated if strict else factor * limit <= stated)


def test_a_limit_on_the_ratio_of_steps_is_one_on_each():
    def ratio(limit, shown):
        mine = Assumption("mine", "", sp.Le(sy.eta_ratio, limit), gives=lambda o: Part(sp.Integer(0), "<=", -o.eta_s))
        uses = (sy.eta, premise("mine")), premise("step-ratio")
        return fault(step("end", 0, "<=", shown * sy.eta - ETA_S).by(*uses), assumes=(mine,))

    assert not ratio(3, 3) and ratio(3, 2)


def test_a_proof_says_which_facts_it_took_on_their_word():
    mine = Assumption(
        "mine", "", on_run=lambda run: (True, ""), gives=lambda o: Part(sp.Integer(0), "<=", -sy.sigma_sq)
    )
    about = {"assumptions": (mine,), "readings": ("repaired",)}
    claim = Claim("toy", "toy", "here", "constant", sy.sigma_sq, {"no": sp.Integer(0)}, **about)
    proof = Derivation("toy", "toy", (step("end", sy.sigma_sq, "<=", 0).by(premise("mine")),), claim="toy")
    verdict = symbolic.judge(checked(proof, claim), claim, READINGS["repaired"])
    assert verdict.status is Status.HOLDS and "what mine gives to the proof was taken on its word" in verdict.detail
    stricter = replace(mine, relation=sp.Le(sy.sigma_sq, 1))
    assert fault(proof.steps[0], assumes=(stricter,))
