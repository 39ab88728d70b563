"""One step after any number of local steps, and how far local models are apart, where gradients are bounded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.drifts import drifts
from fedbounds.evidence.prover.gap_steps import descents, gap_steps
from fedbounds.evidence.prover.recursions import one_steps
from fedbounds.evidence.prover.run_setting import Proposal, Setting, eta
from fedbounds.evidence.prover.telescoped_rounds import with_gap
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
    if left == sy.Delta_next and right.coeff(sy.gap_t) != 0:
        yield from _with_gap(setting, right)
    for step in chain(one_steps(setting), descents(setting), gap_steps(setting)):
        same = normal(step.of.next - left) == 0
        rest = _beyond(setting, right, step.kept * step.of.now + step.added) if same else None
        proof = None if rest is None else step.proof()
        if rest is not None and proof is not None:
            yield proof.steps, (d.Earlier("recursion"), *rest), proof.conditions


def _with_gap(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """The step of the distance that keeps the gap, the drift as it is or bounded."""
    least = facts.curvature_of(set(setting.universe))
    if least is None or not {"smooth", "unbiased", "full-participation"} <= setting.universe.keys():
        return
    for curved, noise in product({least, sp.Integer(0)}, setting.noises):
        step = with_gap(setting, noise, least, curved)
        if step is None:
            continue
        for drift in (None, *drifts(setting)):
            share = step.rhs.coeff(sy.drift) if drift is not None else sp.Integer(0)
            most, bound = (sy.drift, ()) if drift is None else (drift.most, ((share, drift.bound),))
            rest = _beyond(setting, right, step.rhs.subs(sy.drift, most))
            if rest is not None:
                lines, conditions = ((), ()) if drift is None else (drift.steps, drift.conditions)
                yield (*lines, step), (d.Earlier("recursion"), *bound, *rest), conditions


def _beyond(setting: Setting, right: sp.Expr, shown: sp.Expr) -> list[d.Use] | None:
    """What the claim's bound leaves above the one that is shown, term by term at the claim's steps."""
    more = sp.expand(right - shown)
    rest = termwise(setting, more.subs(eta, setting.eta))
    return None if rest is None or rest.steps else [*rest.uses, *setting.bridge(-more)]
