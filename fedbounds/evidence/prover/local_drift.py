"""One step after any number of local steps, and how far local models are apart, where gradients are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import sympy as sp

from fedbounds.evidence.prover.drifts import drifts
from fedbounds.evidence.prover.gap_steps import descents, gap_steps
from fedbounds.evidence.prover.recursions import one_steps
from fedbounds.evidence.prover.run_setting import Proposal, Setting, eta
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.theory import symbols as sy
from fedbounds.theory.normal_form import normal


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about one step, or about the drift, by an inequality that is shown for the claim's steps."""
    moving = (q for q in setting.claim.computed if q.statistic != "constant")
    meant = {q: q.expression for q in moving if q.expression is not None}
    left, right = setting.claim.lhs.xreplace(meant), right.xreplace(meant)
    for drift in drifts(setting) if left == sy.drift else ():
        rest = _beyond(setting, right, drift.most)
        if rest is not None:
            yield drift.steps, (drift.bound, *rest), drift.conditions
    for step in chain(one_steps(setting), descents(setting), gap_steps(setting)):
        same = normal(step.of.next - left) == 0
        rest = _beyond(setting, right, step.kept * step.of.now + step.added) if same else None
        proof = None if rest is None else step.proof()
        if rest is not None and proof is not None:
            yield proof.steps, (d.Earlier("recursion"), *rest), proof.conditions


def _beyond(setting: Setting, right: sp.Expr, shown: sp.Expr) -> list[d.Use] | None:
    """What the claim's bound leaves above the one that is shown, term by term at the claim's steps."""
    more = sp.expand(right - shown)
    rest = termwise(setting, more.subs(eta, setting.eta))
    return None if rest is None or rest.steps else [*rest.uses, *setting.bridge(-more)]
