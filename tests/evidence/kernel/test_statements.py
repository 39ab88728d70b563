"""Attacks on statements for Rocq: words of a claim in them, negations of what is true, files that slip in."""

from dataclasses import replace

import pytest
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.kernel import point_statement, proof_obligations
from fedbounds.evidence.kernel.counterexample_statements import _assumed
from fedbounds.plugins import claim_named
from fedbounds.theory import assumptions as a
from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

NOTATION = '*) Notation "a <= b" := True. (*'


@pytest.mark.parametrize("text", [NOTATION, "(* open"])
def test_no_words_of_a_claim_enter_rocq(text):
    claim = claim_named("lemma-1")
    plain, odd = (kernel.statement(item, READINGS["all-steps"]) for item in (claim, replace(claim, title=text)))
    assert plain == odd and claim.title not in plain
    assert kernel.statement(replace(claim, key=text), READINGS["all-steps"]) == plain


def test_what_a_claim_defines_is_put_into_both_sides():
    terms = {"all": 4 * (sy.tau - 1) ** 2 * sy.eta**2 * sy.G_sq}
    assumed, defined = (a.bounded_gradient, a.full_participation), {sy.pi_min: sp.Integer(1000)}
    one = Claim("mine", "", "", "step", sy.pi_min * sy.drift, terms, assumptions=assumed, definitions=defined)
    text = kernel.statement(one, READINGS["plain"])
    assert "1000 * (drift M) <=" in text and "pi_min" not in text


@pytest.mark.parametrize(
    ("bound", "more"),
    [
        (2 * sy.L * sy.excess * sy.C, ()),
        (sy.L * sy.excess, (Assumption("half", "", sp.Le(sy.C, sp.Rational(1, 2))),)),
        (2 * sy.L * sy.excess * sy.N * sy.C, ()),
    ],
)
def test_everybody_takes_part_in_the_model_so_a_claim_about_a_point_must_say_so(bound, more):
    """With C = 1 put in, C <= 1/2 would be a hypothesis that nothing meets."""
    one = Claim("mine", "", "", "point", sy.grad_sq, {"all": bound}, assumptions=(a.smooth, *more))
    with pytest.raises(InputError, match="add full-participation"):
        kernel.statement(one, READINGS["plain"])
    assert "excess P i" in kernel.statement(
        replace(one, terms={"all": 2 * sy.L * sy.excess}, assumptions=(a.smooth,)), READINGS["plain"]
    )


def test_a_product_of_what_weights_make_is_not_its_expectation():
    """Weights vary from round to round: E chi^4 is more than (E chi^2)^2, and both would be one number squared."""
    squares = points.mean(points.weight_ratio**2)
    whole, of_round = measured("of_round_sq", squares**2), measured("of_round", squares)
    mine = Claim("mine", "", "", "step", whole, {"all": of_round**2}, assumptions=(a.smooth, a.strongly_convex))
    for item in (mine, replace(mine, lhs=sy.Delta, terms={"all": sy.Delta / of_round})):
        with pytest.raises(InputError, match="the product"):
            point_statement.statement(item, READINGS["plain"])
    linear = replace(mine, terms={"all": whole + of_round})
    assert "alpha i" in point_statement.statement(linear, READINGS["plain"])


@pytest.mark.parametrize(("key", "reading"), [("theorem-1", "sync"), ("lemma-2", "literal")])
def test_a_negation_is_of_constants_as_they_are_attained(key, reading):
    """What is false for every rho_bar below the skews may be true for the smallest skew."""
    claim = claim_named(key)
    plain, attained = (kernel.statement(claim, READINGS[reading], attained=negated) for negated in (False, True))
    shipped = proof_obligations.proved(f"not_{key.replace('-', '_')}__{reading}")
    assert shipped.negated and shipped.statement == attained != plain
    ties = ("skew", "smooth", "convex", "bounded")
    bounds = [line for line in plain.splitlines() if any(tie in line for tie in ties)]
    assert bounds and not any(line in attained.splitlines() for line in bounds)
    assert attained.count("least (fun") + attained.count("greatest (fun") == len(bounds)
    assert "first_round M" in attained and "possible M" in attained


@pytest.mark.parametrize(("key", "reading"), [("corollary", "all-steps"), ("lemma-2", "repaired")])
def test_no_negation_is_offered_of_what_no_step_attains(key, reading):
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


@pytest.mark.parametrize("name", ["x. Axiom cheat : False", ""])
def test_a_file_for_rocq_has_a_plain_name(name):
    with pytest.raises(InputError, match="named as a module"):
        proof_obligations.Obligation(name, "", (), Status.HOLDS, "")


def test_a_counterexample_meets_every_assumption_when_it_is_refuted():
    example = next(e for e in map(read, all_files()) if e.document.get("claim") == "theorem-1")
    instance, claim = from_json(example.document["instance"]), claim_named("theorem-1")

    def assumed(*more):
        return list(_assumed(replace(claim, assumptions=more), READINGS["sync"], instance, instance.total))

    with pytest.raises(InputError, match="all that a refuted claim assumes"):
        assumed(a.identical)
    assert len(assumed(Assumption("k", "", sp.Le(sy.drift, 1)))) == instance.total
    assert assumed(Assumption("k", "", sp.Le(sy.T, 3))) == [f"number {instance.total} <= 3"]


def test_drawn_clients_are_not_said_to_be_everybody():
    """With alpha = p in every round, or C = 1, hypotheses about m < N clients would contradict each other."""
    assumed = (a.equal_selection, a.unbiased, a.equal_p, a.one_local_step, a.smooth, a.strongly_convex)
    drawn = Claim("drawn", "", "", "step", sy.Delta_next, {"all": sy.m * sy.Delta / sy.N}, assumptions=assumed)
    text = kernel.statement(drawn, READINGS["plain"])
    assert "drawn_apart M m" in text and "pi_m" not in text and "ratio_at" not in text
    with pytest.raises(InputError, match="write m and N"):
        kernel.statement(replace(drawn, terms={"all": sy.C * sy.Delta}), READINGS["plain"])
