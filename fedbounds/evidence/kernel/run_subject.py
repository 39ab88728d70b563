"""What a claim about a whole run, or about a round of one, speaks of in Rocq's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.prover.rounds import of_least
from fedbounds.evidence.symbolic.proof_objects import weights_of
from fedbounds.theory import assumptions as assumed
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim

STEPS = "(M : nat -> Step P)"
PATH = "(n : nat) (odds : nat -> R) (W : nat -> nat -> V P)"
SOME = "(0 < tau)%nat"
FOLLOW = "models_follow"
WORDS = {"Delta_0": "Delta (M 0%nat)", "gap_0": "gap_t (M 0%nat)", "t": "INR t", "eta": "eta (M t)"}
# At time T; at the end of round r, at its start, and after r rounds.
AT_END = {"gap": "gap_t (M T)", "Delta_T": "Delta (M T)", "T": "INR T", "average_gap": "gap_of_mean T n odds W"}
AT_END |= {"gap_sum": "sum T (fun s => gap_t (M s))", "eta_sum": "sum T (fun s => eta (M s))"}
OF_ROUND = {
    "Delta_round_next": "Delta (M ((r + 1) * tau)%nat)",
    "Delta_round": "Delta (M (r * tau)%nat)",
    "gap_round_next": "gap_t (M ((r + 1) * tau)%nat)",
    "gap_round": "gap_t (M (r * tau)%nat)",
    "R": "INR r",
}


@dataclass(frozen=True)
class Subject:
    """The steps ``M t`` up to ``last``: what binds them, what else is assumed of them, and the words for them."""

    binders: str
    last: str
    further: tuple[str, ...]
    words: Mapping[str, str]


def subject_of(claim: Claim) -> Subject | None:
    """The run that a claim speaks of; None where it is about one step."""
    subject = _subject_of(claim)
    if subject is None or not of_local_models(claim):
        return subject
    last = subject.last
    whole = f"rounds M {last} tau"
    goes_on = f"(forall t, (t < {last})%nat -> {FOLLOW} (M t) (M (Datatypes.S t)))"
    further = dict.fromkeys((*subject.further, SOME, whole, goes_on))
    return replace(subject, further=tuple(further))


def over_path(quantity: sp.Basic) -> bool:
    """Whether a quantity is of all iterates of a run together: of their mean, or the least over them."""
    return quantity == sy.average_gap or weights_of(quantity) is not None or of_least(quantity) is not None


def of_local_models(claim: Claim) -> bool:
    """Whether a proof follows the local models of a run: by the gradients at w*, where clients make several steps."""
    one = any(part == (sy.tau, "=", 1) for item in claim.assumptions for part in item.parts)
    at_rest = assumed.homogeneous in claim.assumptions or "zeta_star_sq" in claim.symbols
    return at_rest and not one and {assumed.unbiased, assumed.strongly_convex} <= set(claim.assumptions)


def _subject_of(claim: Claim) -> Subject | None:
    if claim.lhs in (sy.Delta_round_next, sy.gap_round_next):
        return Subject(
            f"{STEPS} (r : nat)", "((r + 1) * tau)", (SOME, "rounds M ((r + 1) * tau) tau"), WORDS | OF_ROUND
        )
    if claim.scope != "horizon":
        return None
    if claim.lhs in (sy.Delta_round, sy.gap_round):
        return Subject(f"{STEPS} (r : nat)", "(r * tau)", (SOME, "rounds M (r * tau) tau"), WORDS | OF_ROUND)
    words = WORDS | AT_END
    if over_path(claim.lhs):
        whole = (SOME, "(0 < T)%nat", "rounds M T tau", "path M T n odds W")
        return Subject(f"{STEPS} (T : nat) {PATH}", "T", whole, words)
    sides = (sp.sympify(side) for side in (claim.lhs, *claim.terms.values()))
    divides = any(
        one.base in (sy.T, sy.eta_sum) and one.exp.is_negative for side in sides for one in side.atoms(sp.Pow)
    )
    further = (SOME,) * (claim.lhs != sy.gap) + ("(0 < T)%nat",) * divides
    return Subject(f"{STEPS} (T : nat)", "T", further, words)
