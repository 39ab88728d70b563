"""A derivation about a whole run, or a round of one, as a script of Rocq: from a lemma about one step, by induction.

Each line is of one of these kinds: one step, which `step_script` writes; the drift of gradients that are bounded, and
the gap at the last iterate, which `Runs.v` has; and lines about numbers alone, among them the base of an induction,
its step, and what follows. Rocq's own induction over t carries the line from each step to the next.
"""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.kernel import claim_statement, step_statement
from fedbounds.evidence.kernel.combination import no_script
from fedbounds.evidence.kernel.number_lines import number
from fedbounds.evidence.kernel.rocq_terms import binder_names, module_name, of_local_models, over_path, rocq, safe_key
from fedbounds.evidence.kernel.run_lines import RunLines
from fedbounds.evidence.prover.special_cases import AT_ROUND, AT_STEP, of_least
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Horizon Rounds Facts Together Points Independent Drift Inside Drawn Runs Combine.
Require Import {models}statement_{name}.
{weak}Open Scope R_scope.
"""
START = """
Theorem run_of_steps : {goal}.
Proof.
  intros P M T {names}; intros.
  match goal with h : {run} M T tau |- _ => pose proof ({regular} M T tau h) as reg; pose proof (proj1 h) as Ok end.
  pose proof (Ok 0%nat (Nat.le_0_l T)) as ok0. destruct ({signs} M T Ok) as (Near & Gaps & Drifts).
  pose proof (proj1 ok0) as Hp0.
  try some_drawn M.
  try assert (Whole : 1 <= INR tau) by (apply (le_INR 1); lia).
  assert (Shares : 0 <= mean (N P) (p P) (p P)) by (apply mean_nonneg; [apply ok0 | apply ok0]).
"""
SPREAD = "  pose proof (Gamma_nonneg (M 0%nat) ok0) as Spread.\n"
WHOLE = """
Theorem proof : statement_{name}.statement.
Proof. exact run_of_steps. Qed.
"""
OF_ROUND = """
Theorem proof : statement_{name}.statement.
Proof.
  intros P M r {names}; intros.
  match goal with w : rounds _ _ _ |- _ => pose proof w as whole end.
  rewrite round_end.
  eapply Rle_trans; [apply (run_of_steps P (fun t => M (r * tau + t)%nat) tau {names}); of_round M r tau whole|].
  right. cbv beta. rewrite ?Nat.add_0_r. first [ring | field; apart_from_zero].
Qed.
"""

AFTER_ROUNDS = """
Theorem proof : statement_{name}.statement.
Proof.
  intros P M r {names}; intros.
  eapply Rle_trans; [apply (run_of_steps P M (r * tau)%nat {names}); assumption|].
  right. rewrite ?mult_INR, <- ?pow_mult, ?(Nat.mul_comm tau r). first [ring | field; apart_from_zero].
Qed.
"""
OF_LEAST = """
Theorem proof : statement_{name}.statement.
Proof.
  intros P M T n odds W {names}; intros.
  eapply Rle_trans; [apply (least_mean M T n odds W); assumption|].
  eapply Rle_trans; [|apply (run_of_steps P M T {names}); assumption].
  right. unfold gap_t. cbv beta. ring.
Qed.
"""


def script(checked: Checked, claim: Claim, reading: Reading) -> str:
    """The file that proves a claim's statement from a derivation of ``checked.claim``, whose case the claim is."""
    about = checked.claim
    if about is None or about.scope != "horizon":
        raise no_script(f"one of {claim.key}")
    made = RunLines(checked, about, reading)
    last = checked.derivation.steps[-1]
    made.write(last.label)
    name = module_name(claim.key)
    text = claim_statement.statement(about, reading, beside=step_statement.words(about))
    goal = text[text.index("Definition statement") :]
    if claim.lhs in AT_ROUND:
        goal = goal.replace("run M T tau ->", "run M T tau ->\n  (0 < tau)%nat ->\n  rounds M T tau ->", 1)
    names = binder_names(goal.replace("(T : nat)", "", 1))
    weak, models = "Import Weak.\n" * made.convex, "Models " * of_local_models(about)
    head = HEAD.format(key=safe_key(claim.key), name=name, weak=weak, models=models)
    stated = goal.replace("statement", "stated_run", 1)
    run, regular, signs = (
        ("convex_run", "convex_regular", "none_negative_weak")
        if made.convex
        else ("run", "run_regular", "none_negative")
    )
    path = " n odds W" if over_path(about.lhs) else ""
    names = names.replace("n ", "", 1) if path else names
    body = START.format(goal="stated_run", names=f"{path} {names}", run=run, regular=regular, signs=signs)
    body += "" if made.convex else SPREAD
    for text in made.shorthands.values():
        body += f"  assert (0 < {text}) by (at_start M; sign).\n"
    body += "".join(made.body) + f"  {finish(about, made)}Qed.\n"
    end = OF_ROUND if claim.lhs in AT_ROUND else AFTER_ROUNDS if claim.lhs in AT_STEP else WHOLE
    end = OF_LEAST if of_least(claim.lhs) is not None else end
    return head + "".join(made.lemmas) + "\n" + stated + body + end.format(name=name, names=names)


def finish(claim: Claim, made: RunLines) -> str:
    """From the last line to the claim's own text."""
    sides = (sp.sympify(claim.lhs), *claim.sides(made.reading).terms.values())
    words, text = made.words("t"), ""
    for base, exponent in {(one.base, one.exp): 0 for side in sides for one in side.atoms(sp.Pow)}:
        if not exponent.is_number:
            old, new = rocq(base**exponent, words), number(base**exponent, words)
            text += f"  replace ({old}) with ({new}) by (rewrite <- ?pow_mult, <- ?pow_add; f_equal; lia).\n"
    name = made.names[made.checked.derivation.steps[-1].label]
    return text + f"  eapply Rle_trans; [exact {name} | right; first [ring | field; apart_from_zero]].\n"
