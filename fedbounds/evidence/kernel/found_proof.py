"""What the prover finds, as a script of Rocq, and what Rocq says of it.

A proof about a run, or a round of one, is by induction from a lemma about one step. Each of its lines is of one of
these kinds: one step, which `step_script` writes; the drift of gradients that are bounded, and the gap at the last
iterate, which `Runs.v` has; and lines about numbers alone, among them the base of an induction, its step, and what
follows. Rocq's own induction over t carries the line from each step to the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType

import sympy as sp

from fedbounds.errors import InputError, reject
from fedbounds.evidence.kernel import claim_statement, point_statement, step_script, step_statement
from fedbounds.evidence.kernel.coqc import available
from fedbounds.evidence.kernel.number_lines import number
from fedbounds.evidence.kernel.proof_obligations import Obligation
from fedbounds.evidence.kernel.rocq_runs import Audited, check_script, check_within
from fedbounds.evidence.kernel.rocq_terms import (
    binder_names,
    module_name,
    of_local_models,
    over_path,
    rocq,
    safe_key,
)
from fedbounds.evidence.kernel.run_lines import RunLines
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.special_cases import AT_ROUND, AT_STEP, of_least, restated
from fedbounds.evidence.symbolic.derivation import Derivation
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status, Verdict

# A claim as a proposition: of a step of the algorithm, else of any points, else of a step in its vectors.
FORMS = (claim_statement, point_statement, step_statement)
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


def statement(claim: Claim, reading: Reading) -> str:
    """The claim as a proposition, in the first of these forms that can say it."""
    return _stated(claim, reading)[1]


def _stated(claim: Claim, reading: Reading) -> tuple[ModuleType, str]:
    """The form of the claim's proposition, and the proposition."""
    whys: list[InputError] = []
    for form in FORMS:
        try:
            return form, form.statement(claim, reading)
        except InputError as wrong:
            whys.append(wrong)
    raise whys[0]


def script(claim: Claim, reading: Reading, proposals: Iterable[Derivation] | None = None) -> str:
    """The file that proves a claim's statement, from a proof that the prover finds; InputError where it has none."""
    statement(claim, reading)
    why = "no proof that the prover finds"
    for stated in (claim, *(one for one, _ in restated(claim))):
        for proposed in automatic.proposals(stated, reading) if proposals is None else proposals:
            checked = automatic.check(proposed, stated, reading)
            if checked.fault:
                continue
            try:
                return _written(checked, claim, reading)
            except InputError as wrong:
                why = str(wrong)
    raise reject(f"a script for {claim.key} needs a proof that can be one", why, "prove it in derivations/rocq")


def _written(checked: Checked, claim: Claim, reading: Reading) -> str:
    if checked.claim is not None and checked.claim.scope == "horizon":
        return _of_run(checked, checked.claim, claim, reading)
    return step_script.script(checked, reading, _stated(claim, reading)[0] is point_statement)


def _of_run(checked: Checked, about: Claim, claim: Claim, reading: Reading) -> str:
    """The same from a derivation of a claim ``about`` a run, whose case the claim is."""
    made = RunLines(checked, about, reading)
    made.write(checked.derivation.steps[-1].label)
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
    body += "".join(made.body) + f"  {_finish(about, made)}Qed.\n"
    end = OF_ROUND if claim.lhs in AT_ROUND else AFTER_ROUNDS if claim.lhs in AT_STEP else WHOLE
    end = OF_LEAST if of_least(claim.lhs) is not None else end
    return head + "".join(made.lemmas) + "\n" + stated + body + end.format(name=name, names=names)


def _finish(claim: Claim, made: RunLines) -> str:
    """From the last line to the claim's own text."""
    sides = (sp.sympify(claim.lhs), *claim.sides(made.reading).terms.values())
    words, text = made.words("t"), ""
    for base, exponent in {(one.base, one.exp): 0 for side in sides for one in side.atoms(sp.Pow)}:
        if not exponent.is_number:
            old, new = rocq(base**exponent, words), number(base**exponent, words)
            text += f"  replace ({old}) with ({new}) by (rewrite <- ?pow_mult, <- ?pow_add; f_equal; lia).\n"
    name = made.names[made.checked.derivation.steps[-1].label]
    return text + f"  eapply Rle_trans; [exact {name} | right; first [ring | field; apart_from_zero]].\n"


def check(claim: Claim, reading: Reading) -> Audited:
    """What Rocq says of that script, compiled with all that it requires."""
    return check_script(_obligation(claim, reading), script(claim, reading))


def _obligation(claim: Claim, reading: Reading) -> Obligation:
    module = f"proof_{module_name(claim.key)}"
    return Obligation(module, claim.key, (reading.name,), Status.HOLDS, statement(claim, reading))


def with_script(verdict: Verdict, proof: Derivation, claim: Claim, reading: Reading) -> Verdict:
    """The verdict on a proof that was found with its script for Rocq, or why it has none."""
    try:
        written = {"script": script(claim, reading, (proof,))}
    except (InputError, KeyError) as wrong:  # a quantity without a word: the proof stands without a script
        inmost = str(wrong).rpartition("but received ")[2].partition(": ")[0]
        written = {"no script": f"was not asked, as no script can be written of {inmost}"}
    return replace(verdict, data={**verdict.data, **written})


def may_ask(verdict: Verdict | None) -> bool:
    """Whether a verdict has a script, and Rocq is installed."""
    return verdict is not None and "script" in verdict.data and available() is not None


def asked(verdict: Verdict, claim: Claim, reading: Reading, seconds: float) -> Verdict:
    """The verdict with Rocq's answer to its script, in at most so many seconds."""
    answer = check_within(seconds, _obligation(claim, reading), str(verdict.data["script"]))
    if answer is None:
        said = {"rocq refused": f"not checked within {seconds:.0f} s (--rocq gives it longer)"}
    elif answer.fault:
        said = {"rocq refused": f"not checked, its script fails: {answer.fault}"}
    else:
        said = {"rocq": answer.statement}
    return replace(verdict, data={**verdict.data, **said})
