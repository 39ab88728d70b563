"""A derivation about one client at a point of a run as a script of Rocq: its facts, times its multipliers, add up."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from fedbounds.evidence.kernel.claim_statement import module_name, rocq, safe_key
from fedbounds.evidence.kernel.point_forms import no_script, says_nothing
from fedbounds.evidence.kernel.point_script import AT_REST, Writer
from fedbounds.evidence.kernel.point_statement import PointClaim
from fedbounds.evidence.symbolic.definitions import OWN, Y
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy

HEAD = """(* Written from a derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra Lia.
Require Import Space Model Facts Points statement_{name}.
Open Scope R_scope.

Theorem proof : statement_{name}.statement.
Proof.
  intros P M; intros. assert (Hi : (i < N P)%nat) by assumption.
  match goal with ok : setting M |- _ => pose proof ok as (_ & _ & _ & _ & _ & _ & Hm & _) end.
  try (assert (Hs : smooth P L) by assumption).
  try (assert (Hc : strongly_convex P mu) by assumption).
"""
WORDS = {one.name: one.name for one in (sy.L, sy.mu)}


class OfAClient(PointClaim):
    """A claim about any point of one client, which is one of the model's after a history."""

    def vector(self, atom: sp.Expr) -> str:
        return {Y: "(x M c k i)", OWN: "(w_i_star P i)"}.get(atom) or super().vector(atom)


class OneClient(Writer):
    """The writer where no mean is spoken of."""

    def zeros(self) -> dict[str, str]:
        return {}


def script(checked: Checked) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim, (*earlier, last) = checked.claim, checked.derivation.steps
    if claim is None or earlier or not isinstance(last.because, tuple):
        raise no_script(f"the {len(earlier)} lines before the last of {checked.derivation.claim}")
    letters: Mapping[str, str] = {one.symbol.name: f"({rocq(one.expression, WORDS)})" for one in checked.conditions}
    keys = frozenset(one.key for one in claim.assumptions)
    writer = OneClient(OfAClient(claim, claim.lhs, last.rhs, (), keys, letters))
    text = HEAD.format(key=safe_key(claim.key), name=module_name(claim.key)) + AT_REST * ("smooth" in keys)
    for multiplier, fact in last.because:
        if not says_nothing(fact):
            value, why, share = writer.client_fact(fact)
            writer.of_client(value)
            text += f"  apply (less _ _ ({writer.number(multiplier * share)}) _ _ ltac:(not_negative) {why}).\n"
    return writer.finished(f"{text}  apply Req_le. open_fact. {writer.rewriting(True)} field; apart.\nQed.\n")
