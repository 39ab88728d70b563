"""A derivation about one client at one point as a script of Rocq: its facts, times its multipliers, add up.

The facts are the two quadratic bounds and that of a minimum. A derivation that takes means, draws noise, refers to
earlier steps or distinguishes cases has no script here: in Rocq these are lemmas, not sums of facts.
"""

from __future__ import annotations

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.claim_statement import rocq
from fedbounds.evidence.symbolic.definitions import Y, grad
from fedbounds.evidence.symbolic.derivation import Derivation, Fact, Premise
from fedbounds.plugins import claim_named

POINT, SLOPE = "(x M c k i)", "(grad P i (x M c k i))"
# A premise as a hypothesis of the statement, that of a minimum as it stands in the setting.
BOUNDS = {
    "smooth": "smooth P _",
    "strongly-convex": "strongly_convex P _",
    "minimum": "forall i v, _ -> F P i (w_i_star P i) <= F P i v",
}
HEAD = """(* Written from the derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra.
Require Import Space Model statement_{name}.
Open Scope R_scope.

Lemma less l r m a b : 0 <= m -> a <= b -> l <= r - m * (b - a) -> l <= r.
Proof. intros M A. pose proof (Rmult_le_pos m (b - a) M ltac:(lra)). lra. Qed.

Theorem proof : statement_{name}.statement.
Proof.
  intros P M; intros. assert (inside : (i < N P)%nat) by assumption.
  match goal with ok : setting M |- _ => pose proof ok as (_ & _ & _ & _ & _ & _ & ? & _) end.
"""


def script(derivation: Derivation) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim, (*earlier, last) = claim_named(derivation.claim), derivation.steps
    if earlier or claim.scope != "point" or not isinstance(last.because, tuple):
        raise _no_script(derivation, f"{len(earlier)} steps before the last, and a claim of scope {claim.scope}")
    words = {name: name for name in claim.symbols}
    text = HEAD.format(key=claim.key, name=claim.key.replace("-", "_"))
    text += "".join(_fact(derivation, fact, words, f"U{j}") for j, (_, fact) in enumerate(last.because))
    text += f"  unfold excess. set (d := {SLOPE[1:-1]}) in *. set (y := {POINT[1:-1]}) in *.\n"
    for j, (multiplier, _) in enumerate(last.because):
        text += f"  apply (less _ _ ({rocq(multiplier, words)}) _ _ ltac:(nra) U{j}).\n"
    return f"{text}  apply Req_le. open_goal. rewrite ?(ip_sym _ d y). field; lra.\nQed.\n"


def _fact(derivation: Derivation, fact: Fact, words: dict[str, str], name: str) -> str:
    if not isinstance(fact, Premise) or fact.key not in BOUNDS:
        raise _no_script(derivation, f"the fact {fact}")
    at = " ".join(_vector(derivation, point, words) for point in fact.points)
    return f"  match goal with B : {BOUNDS[fact.key]} |- _ => pose proof (B i\n    {at} inside) as {name} end.\n"


def _vector(derivation: Derivation, point: sp.Expr, words: dict[str, str]) -> str:
    """A combination of the point and of the gradient there."""
    parts = {POINT: sp.expand(point).coeff(Y), SLOPE: sp.expand(point).coeff(grad(Y))}
    if sp.expand(point - parts[POINT] * Y - parts[SLOPE] * grad(Y)) != 0:
        raise _no_script(derivation, f"the point {point}")
    first, *rest = (v if c == 1 else f"(scale ({rocq(c, words)}) {v})" for v, c in parts.items() if c != 0)
    return f"(add {first} {rest[0]})" if rest else first


def _no_script(derivation: Derivation, what: str) -> Exception:
    needs = f"a script of {derivation.key} must be one sum of facts about a client at a point"
    return reject(needs, what, "prove it by hand in derivations/rocq")
