"""Holes that proofs of false statements once got through: each is tried again and must be refused."""

import random
from dataclasses import replace

import pytest
import sympy as sp
from proofs import checked, fault, gives

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.kernel import proof_obligations
from fedbounds.evidence.symbolic import library as symbolic
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    DEFINITIONS,
    LAMBDA,
    NOISE,
    NOISE_0,
    SHARE,
    I,
    P,
    W,
    Y,
    gap,
    n,
)
from fedbounds.evidence.symbolic.derivation import (
    ONE,
    Cases,
    Cited,
    Condition,
    Derivation,
    Earlier,
    Every,
    Extreme,
    Hypothesis,
    Induction,
    averaged,
    case,
    premise,
    step,
)
from fedbounds.evidence.symbolic.formal_vectors import Inner, Mean, Slack
from fedbounds.plugins import claim_named
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status
from validate import unsound_proofs

PAPER = (a.smooth, a.strongly_convex, a.bounded_gradient, a.bounded_variance, a.full_participation)
QUARTER = sp.Rational(1, 4)
c = sp.Symbol("c", nonnegative=True)
d = sp.Symbol("d", nonnegative=True)
q = sp.Symbol("q", positive=True)
SIGNS = ({"negative": True}, {"zero": True}, {"nonpositive": True}, {"positive": True, "integer": True}, {})
ODD = [sp.Symbol("c", **signs) for signs in SIGNS]
sign = pytest.mark.parametrize("odd", ODD, ids=lambda s: "-".join(sorted(s._assumptions_orig)) or "none")


def refused(*steps, **more):
    """The complaint about a derivation under the paper's assumptions."""
    return fault(*steps, **{"assumes": PAPER, **more})


def verdict(line, reading="repaired", claim=None, **more):
    """The verdict on a claim of a derivation with this last line."""
    steps = line if isinstance(line, tuple) else (line,)
    last = steps[-1]
    about = claim or Claim(
        "toy", "toy", "here", "constant", last.lhs, {"all": last.rhs}, assumptions=PAPER, readings=(reading,)
    )
    proof = Derivation("toy", "toy", steps, claim="toy", readings=(reading,), **more)
    return symbolic.judge(checked(proof, about, reading), about, READINGS[reading])


# Symbols of a derivation's own: their signs.


@sign
def test_a_condition_has_one_of_three_signs(odd):
    line = step("end", sy.L, "<=", sy.mu).by((-odd, ONE))
    assert refused(line, conditions=(Condition(odd, premise("curvatures")),))


@sign
def test_an_abbreviation_has_one_of_three_signs(odd):
    line = step("end", sy.Delta_next, "<=", 0).by(
        (sy.Delta_next, Extreme(odd, sp.Integer(1))), (-odd * sy.Delta_next, ONE)
    )
    assert refused(line, abbreviations={odd: sp.Max(1, q)})


@sign
def test_a_case_has_one_of_three_signs(odd):
    line = step("end", sy.L, "<=", sy.mu).by(Cases(sy.L - sy.mu, case(odd, (-odd, ONE)), case(d, (d, ONE))))
    assert refused(line)


@sign
def test_a_sequence_has_one_of_three_signs(odd):
    z_0, z_t, z_T = sp.symbols("z_0 z_t z_T", nonnegative=True)
    assert refused(step("end", 0, "<=", z_0).by((z_0, ONE)), sequences={z_T: (z_0, z_t, odd)})


def test_a_negative_slack_of_a_client_does_not_exist():
    class Below(Slack):
        def _eval_is_negative(self):
            return True

    below = Below(sp.Symbol("below"), I)
    line = step("end", SHARE, "<=", sy.p_min).by((-below, ONE))
    assert refused(line, conditions=(Condition(below, premise("least-p")),))


# A symbol stands for one number.

SMALLEST = sp.Symbol("r", nonnegative=True)
EVERY_OR_NONE = step("end", 0, "<=", Mean(P, (SMALLEST - QUARTER) * Mean(LAMBDA, SMALLEST - QUARTER))).by(
    Cases(
        SMALLEST - QUARTER,
        case(c, averaged(P, (c, averaged(LAMBDA, (c, ONE))))),
        case(d, averaged(P, (d, averaged(LAMBDA, (d, ONE))))),
    )
)


def test_an_abbreviation_hides_no_client():
    """Every share would be at least 1/4, or every one at most."""
    assert refused(EVERY_OR_NONE, abbreviations={SMALLEST: sp.Min(SHARE, 1)})


def test_a_condition_hides_no_client_behind_an_abbreviation():
    s = sp.Symbol("s", nonnegative=True)
    low = step("low", s, "<=", 1).by(Extreme(s, sp.Integer(1)))
    line = step("end", Mean(P, c), "=", c)
    assert refused(low, line, abbreviations={s: sp.Min(SHARE, 1)}, conditions=(Condition(c, Earlier("low")),))


def test_the_gap_of_one_client_is_not_the_mean_gap():
    one = step("one", sy.excess, "=", Mean(P, sy.excess))
    line = step("end", sy.excess, "<=", Mean(P, gap(Y))).by(Earlier("one"))
    assert refused(one, line) and refused(one)
    assert refused(step("end", sy.grad_sq, "=", Mean(P, sy.grad_sq)))


def test_what_a_claim_leaves_free_is_not_given_a_meaning():
    """Under 'c >= 5' a proof that lets c stand for L - mu would show L >= mu + 5."""
    high = Assumption("high", "c >= 5", sp.Ge(c, 5))
    proof = {"conditions": (Condition(c, premise("curvatures")),), "assumes": (*PAPER, high)}
    assert refused(step("end", sy.L - sy.mu, ">=", 5).by(premise("high")), **proof)
    claim = Claim("toy", "toy", "here", "constant", sp.Integer(1), {"all": c}, readings=("repaired",))
    line = step("end", 1, "<=", c).by(Extreme(c, sp.Integer(1)))
    assert verdict(line, claim=claim, abbreviations={c: sp.Max(1, q)}).status is Status.UNDECIDED


def test_a_case_has_its_symbol_to_itself():
    shared = step("shared", c, "<=", 0).by(premise("low"))
    line = step("end", sy.L, "<=", sy.mu).by(Cases(sy.L - sy.mu, case(c, Earlier("shared")), case(d, (d, ONE))))
    assert refused(shared, line, assumes=(*PAPER, gives("low", -c)))


# Definitions and readings are the claim's, not an author's.


def test_a_definition_is_not_assumed():
    line = step("end", sy.rho_bar * Mean(P, gap(W)), "<=", Mean(ALPHA, gap(W))).by(premise("rho-bar"))
    assert verdict(line, reading="sync", assumes=(DEFINITIONS["rho-bar"],)).status is Status.UNDECIDED
    claim = Claim(
        "toy",
        "toy",
        "here",
        "step",
        line.lhs,
        {"all": line.rhs},
        assumptions=(*PAPER, DEFINITIONS["rho-bar"]),
        readings=("sync",),
    )
    assert verdict(line, reading="sync", claim=claim).status is Status.UNDECIDED


# Assumptions of a cited derivation, discharged.


def discharging(assumption, use, *shown, **more):
    """The check of a derivation that cites one resting on ``use`` of an assumption, and discharges that."""
    lemma = Derivation("lemma", "lemma", (use,), assumes=(*PAPER, assumption), **more)
    end = step("end", use.lhs, use.relation, use.rhs).by(Cited("lemma", {assumption.key: shown[-1].label}))
    citing = Derivation("citing", "citing", (*shown, end), assumes=PAPER)
    return symbolic.check_all([lemma, citing])["citing"]


def test_an_assumption_used_at_points_is_not_discharged_without_them():
    sly = Assumption("sly", "", gives=lambda o, *at: Part(sp.Integer(0), "<=", -sy.G_sq if at else sp.Integer(1)))
    use = step("use", sy.G_sq, "<=", 0).by(premise("sly", W))
    assert discharging(sly, use, step("trivial", 0, "<=", 1).by(ONE)).fault


def test_an_assumption_that_changes_its_mind_is_compared_with_what_was_used():
    said = iter([-sy.G_sq] + [sp.Integer(1)] * 9)
    sly = Assumption("sly", "", gives=lambda o: Part(sp.Integer(0), "<=", next(said)))
    use = step("use", sy.G_sq, "<=", 0).by(premise("sly"))
    assert discharging(sly, use, step("trivial", 0, "<=", 1).by(ONE)).fault


def test_what_holds_in_expectation_discharges_nothing_that_random_weights_average():
    """A line by induction is about the whole run; under weights that know the round it says nothing."""
    tied = Assumption("tied", "", sp.Le(sy.Delta_next, sy.Delta))
    pathwise = gives("pathwise", sy.Delta_0 - sy.Delta)
    use = step("use", Mean(ALPHA, SHARE * sy.Delta), "<=", Mean(ALPHA, SHARE * sy.Delta_0)).by(
        averaged(ALPHA, (SHARE, premise("pathwise")))
    )
    base = step("base", sy.Delta_0, "<=", sy.Delta_0)
    carry = step("carry", sy.Delta_next, "<=", sy.Delta_0).by(premise("tied"), Hypothesis("all"))
    line = step("all", sy.Delta_T, "<=", sy.Delta_0).by(Induction("base", "carry"))
    shown = step("shown", sy.Delta, "<=", sy.Delta_0).by(Hypothesis("all"))
    lemma = Derivation("lemma", "lemma", (use,), assumes=(*PAPER, pathwise))
    end = step("end", use.lhs, "<=", use.rhs).by(Cited("lemma", {"pathwise": "shown"}))
    citing = Derivation("citing", "citing", (base, carry, line, shown, end), assumes=(*PAPER, tied))
    assert symbolic.check_all([lemma, citing])["citing"].fault


def test_a_relation_of_ones_own_is_about_the_whole_run():
    tied = Assumption(
        "tied",
        "",
        sp.Le(sy.Delta_next, sy.Delta),
        gives=lambda o: Part(sp.Integer(0), "<=", sy.Delta - sy.Delta_next),
    )
    line = step("end", 0, "<=", Mean(ALPHA, SHARE * (sy.Delta - sy.Delta_next))).by(
        averaged(ALPHA, (SHARE, premise("tied")))
    )
    assert refused(line, assumes=(*PAPER, tied))


# Inductions and sequences.


@pytest.mark.parametrize("moving", [n, sp.Symbol("average_gap")], ids=str)
def test_an_induction_has_no_constant_of_a_round(moving):
    """What moves with t is no constant of an induction over t: the steps so far, or the mean of the run."""
    from fedbounds.evidence.symbolic.definitions import average_gap

    moving = n if moving is n else average_gap
    steady = gives("steady", sy.Delta - sy.Delta_next)
    base = step("base", sy.Delta_0, "<=", sy.Delta_0 + moving).by((moving, ONE))
    carry = step("carry", sy.Delta_next, "<=", sy.Delta_0 + moving).by(premise("steady"), Hypothesis("all"))
    line = step("all", sy.Delta_T, "<=", sy.Delta_0 + moving).by(Induction("base", "carry"))
    assert refused(base, carry, line, assumes=(*PAPER, steady))


def test_the_next_term_of_a_sequence_is_no_abbreviation():
    z_0, z_t, z_next, z_T = sp.symbols("z_0 z_t z_next z_T", nonnegative=True)
    three = {z_T: (z_0, z_t, z_next)}
    base = step("base", z_0, "<=", z_0)
    carry = step("carry", z_next, "<=", z_0).by(Extreme(z_next, z_t), Hypothesis("all"))
    line = step("all", z_T, "<=", z_0).by(Induction("base", "carry"))
    assert refused(base, carry, line, sequences=three, abbreviations={z_next: sp.Min(z_t, 1)})
    shown = step("carry", z_next, "<=", z_0).by((z_0, ONE))
    assert refused(base, shown, line, sequences=three, conditions=(Condition(z_next, premise("curvatures")),))


def test_the_noise_of_the_round_s_first_step_may_be_this_step_s():
    assert refused(step("end", Inner(NOISE, NOISE_0), "=", 0))


def test_every_argument_of_an_extreme_is_bounded():
    line = step("end", 2, "<=", c).by(Every(c, ("one",)))
    assert refused(step("one", 1, "<=", 1), line, abbreviations={c: sp.Min(q, 2)})


# Statements for Rocq.

NOTATION = '*) Notation "a <= b" := True. (*'


@pytest.mark.parametrize("text", [NOTATION, 'said " twice', "(* open", "ended *)"])
def test_no_words_of_a_claim_enter_rocq(text):
    claim = claim_named("lemma-1")
    plain, odd = (kernel.statement(one, READINGS["all-steps"]) for one in (claim, replace(claim, title=text)))
    assert plain == odd and claim.title not in plain
    assert kernel.statement(replace(claim, key=text), READINGS["all-steps"]) == plain


@pytest.mark.parametrize(("key", "reading"), [("theorem-1", "sync"), ("lemma-2", "literal")])
def test_a_negation_is_of_constants_as_they_are_attained(key, reading):
    """What is false for every rho_bar below the skews may be true for the smallest skew."""
    claim = claim_named(key)
    plain, attained = (kernel.statement(claim, READINGS[reading], attained=negated) for negated in (False, True))
    shipped = proof_obligations.proved(f"not_{key.replace('-', '_')}__{reading}")
    assert shipped.negated and shipped.statement == attained != plain
    bounds = [
        line for line in plain.splitlines() if any(tie in line for tie in ("skew", "smooth", "convex", "bounded"))
    ]
    assert bounds and not any(line in attained.splitlines() for line in bounds)
    assert attained.count("least (fun") + attained.count("greatest (fun") == len(bounds)
    assert "first_round M" in attained and "possible M" in attained


def test_no_negation_is_offered_of_what_no_step_attains():
    for key, reading in (("corollary", "all-steps"), ("lemma-2", "repaired")):
        with pytest.raises(InputError, match="negations are of one step"):
            kernel.statement(claim_named(key), READINGS[reading], attained=True)


HIDDEN = {
    "at a line's start": "Require Import Evil.",
    "in a line": "Open Scope R_scope. Require Import Evil.",
    "indented, over lines": "  Require\n    Export\n Space Evil.",
    "in a module": "Module A. Require Evil. End A.",
    "with a filter": "Require Import -(notations) Evil.",
    "after a comment's string": '(* "*)" *) Require Import Evil.',
    "around a comment": "Require (* a. *) Import Evil.",
    "from a folder": "From Mine Require Import Evil.",
    "by its path": "Require Import Mine.Evil.",
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=list(HIDDEN))
def test_a_file_required_anywhere_belongs_to_the_proof(text):
    assert "Evil" in proof_obligations.needs(f"From Coq Require Import Reals.\n{text}\n")


@pytest.mark.parametrize(
    "command", ['Load "evil".', 'Add LoadPath "/tmp".', 'Declare ML Module "evil".', 'Cd "/tmp".']
)
def test_a_file_is_read_in_no_other_way(command):
    with pytest.raises(InputError, match="by Require alone"):
        proof_obligations.needs(f"From Coq Require Import Reals. {command}")


@pytest.mark.parametrize("name", ["x. Axiom cheat : False", "a b", "1", ""])
def test_a_file_for_rocq_has_a_plain_name(name):
    with pytest.raises(InputError, match="named as a module"):
        proof_obligations.Obligation(name, "", (), Status.HOLDS, "")


# Random derivations around the holes.


def test_no_random_derivation_is_accepted_with_a_false_line():
    rng, taken = random.Random(3), 0
    for trial in unsound_proofs.trials(seed=3, count=400):
        if unsound_proofs.accepted(trial):
            taken += 1
            assert not unsound_proofs.is_hole(trial, rng), trial
    assert taken >= 20


# Assumptions that contradict each other.


def test_a_proof_under_contradictory_assumptions_says_so():
    large = Assumption("large", "eta_t >= 3/L", sp.Ge(sy.eta * sy.L, 3))
    both = (a.small_steps, large)
    about = {"assumptions": both, "readings": ("repaired",)}
    claim = Claim("toy", "toy", "here", "step", sy.Delta_next, {"none": sp.Integer(0)}, **about)
    proof = step("end", sy.Delta_next, "<=", 0).by(
        (sy.Delta_next / 2, premise("small-steps")), (sy.Delta_next / 2, premise("large"))
    )
    result = verdict(proof, claim=claim)
    assert result.status is Status.HOLDS and "no instance is known to meet these" in result.detail
    for key in ("theorem-1", "corollary"):
        assert "no instance" not in symbolic.examine(claim_named(key), READINGS["repaired"]).detail
