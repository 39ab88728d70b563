"""A derivation about one client at one point as a script of Rocq: its facts, times its multipliers, add up.

The facts are the two quadratic bounds, that of a minimum, and squares. A derivation that refers to earlier steps or
distinguishes cases has no script here: in Rocq these are lemmas, not sums of facts.
"""

from __future__ import annotations

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.claim_statement import module_name, rocq, safe_key
from fedbounds.evidence.symbolic.definitions import OWN, Y, grad
from fedbounds.evidence.symbolic.derivation import Derivation, Fact, Premise, Square
from fedbounds.plugins import claim_named
from fedbounds.theory.claim import Claim

POINT, SLOPE = "(x M c k i)", "(grad P i (x M c k i))"
OWN_POINT = "(w_i_star P i)"
STILL = "(grad P i (w_i_star P i))"
ATOMS = {POINT: Y, SLOPE: grad(Y), OWN_POINT: OWN, STILL: grad(OWN)}
# A premise as a hypothesis of the statement, that of a minimum as it stands in the setting.
BOUNDS = {
    "smooth": "smooth P _",
    "strongly-convex": "strongly_convex P _",
    "minimum": "forall i v, _ -> F P i (w_i_star P i) <= F P i v",
}
HEAD = """(* Written from the derivation of {key}; do not edit. *)
From Coq Require Import Reals Lra.
Require Import Space Model statement_{name}{modules}.
Open Scope R_scope.

Lemma less l r m a b : 0 <= m -> a <= b -> l <= r - m * (b - a) -> l <= r.
Proof. intros M A. pose proof (Rmult_le_pos m (b - a) M ltac:(lra)). lra. Qed.

{tactic}Theorem proof : statement_{name}.statement.
Proof.
  intros P M; intros. assert (inside : (i < N P)%nat) by assumption.
  match goal with ok : setting M |- _ => pose proof ok as (_ & _ & _ & _ & _ & _ & ? & _) end.
"""


# For multipliers that are quotients, and facts about the client's own minimiser.
TACTIC = """Ltac not_negative := first [lra | nra | apply Rplus_le_le_0_compat; not_negative
  | apply Rmult_le_pos; not_negative | apply pow_le; not_negative | apply Rlt_le, Rinv_0_lt_compat; nra].

"""
# Where a client is at its own minimum: what is said of it in Rocq stands in these words already.
AT_REST = ("attained", "own-optimum")
RESTING = """  assert (own : forall u, ip (grad P i (w_i_star P i)) u = 0)
    by (intros u; apply (at_rest M L); [assumption | assumption | lra | assumption]).
"""
SWAPS = "?(ip_sym _ d y), ?(ip_sym _ d o), ?(ip_sym _ y o), ?(ip_sym _ d h), ?(ip_sym _ y h), ?(ip_sym _ o h)"


def script(derivation: Derivation, claim: Claim | None = None) -> str:
    """The file that proves the statement of the derivation's claim; InputError where it is not of this kind."""
    claim, (*earlier, last) = claim or claim_named(derivation.claim), derivation.steps
    if earlier or claim.scope != "point" or not isinstance(last.because, tuple):
        raise _no_script(derivation, f"{len(earlier)} steps before the last, and a claim of scope {claim.scope}")
    words = {name: name for name in (*claim.symbols, "L", "mu")} | {"ell": "(L - mu)"}
    uses = [(m, fact) for m, fact in last.because if not (isinstance(fact, Premise) and fact.key in AT_REST)]
    rest = len(uses) < len(last.because) and "L" in claim.symbols
    plain = len(uses) == len(last.because) and all(isinstance(fact, Premise) for _, fact in uses)
    name, modules = module_name(claim.key), " Facts Together" * rest
    text = HEAD.format(key=safe_key(claim.key), name=name, modules=modules, tactic="" if plain else TACTIC)
    text += RESTING if rest else ""
    for j, (_, fact) in enumerate(uses):
        text += _fact(derivation, fact, words, f"U{j}")
    text += f"  unfold excess. set (d := {SLOPE[1:-1]}) in *. set (y := {POINT[1:-1]}) in *.\n"
    text += "" if plain else f"  set (h := {STILL[1:-1]}) in *. set (o := {OWN_POINT[1:-1]}) in *.\n"
    sign = "nra" if plain else "not_negative"
    for j, (multiplier, _) in enumerate(uses):
        text += f"  apply (less _ _ ({rocq(multiplier, words)}) _ _ ltac:({sign}) U{j}).\n"
    swaps = SWAPS.partition(", ")[0] if plain else SWAPS + ", ?own" * rest
    return f"{text}  apply Req_le. open_goal. rewrite {swaps}. field; lra.\nQed.\n"


def _fact(derivation: Derivation, fact: Fact, words: dict[str, str], name: str) -> str:
    if isinstance(fact, Square) and fact.vector:
        return f"  pose proof (ip_pos _ {_vector(derivation, fact.of, words)}) as {name}.\n"
    if not isinstance(fact, Premise) or fact.key not in BOUNDS:
        raise _no_script(derivation, f"the fact {fact}")
    at = " ".join(_vector(derivation, point, words) for point in fact.points)
    return f"  match goal with B : {BOUNDS[fact.key]} |- _ => pose proof (B i\n    {at} inside) as {name} end.\n"


def _vector(derivation: Derivation, point: sp.Expr, words: dict[str, str]) -> str:
    """A combination of the point, the gradient there, and the client's own minimiser."""
    parts = {name: sp.expand(point).coeff(atom) for name, atom in ATOMS.items()}
    if sp.expand(point - sum(c * ATOMS[name] for name, c in parts.items())) != 0:
        raise _no_script(derivation, f"the point {point}")
    text, *rest = (v if c == 1 else f"(scale ({rocq(c, words)}) {v})" for v, c in parts.items() if c != 0)
    for one in rest:
        text = f"(add {text} {one})"
    return text


def _no_script(derivation: Derivation, what: str) -> Exception:
    needs = f"a script of {derivation.key} must be one sum of facts about a client at a point"
    return reject(needs, what, "prove it by hand in derivations/rocq")
