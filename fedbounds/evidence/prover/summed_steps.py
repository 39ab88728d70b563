"""Sums over a run weighted by the step sizes, and sums of slopes: what each step gains, by an induction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.drifts import Drift, drifts
from fedbounds.evidence.prover.gap_steps import SLOPE, falls
from fedbounds.evidence.prover.mean_steps import TIME
from fedbounds.evidence.prover.run_setting import L, Proposal, Setting, T, eta
from fedbounds.evidence.prover.telescoped_rounds import with_gap
from fedbounds.evidence.prover.termwise import termwise
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, GAP_NEXT, WEIGHTED, WEIGHTED_T, W, X
from fedbounds.evidence.symbolic.proof_objects import KEY, sums_of, weights_of
from fedbounds.theory import symbols as sy
from fedbounds.theory.normal_form import normal
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.vectors import norm_sq

DIVISOR = (
    d.step("steps-sign", 0, "<=", sy.eta_sum).by((sy.eta_sum, d.ONE)),
    d.step("steps", sy.eta_sum, ">", 0).by(d.Divisor("steps-sign")),
)
TOGETHER = Drift(
    sp.Integer(0),
    (d.step("drift", sy.drift, "<=", 0).by(d.averaged(ALPHA, (-1, d.premise(statement.SAME_STEP, X - W)))),),
    d.Earlier("drift"),
    (),
)


@dataclass(frozen=True)
class Gain:
    """A step takes from z, given at 0, t + 1 and T, but for its ``cost``, ``gained`` eta_t times what is summed."""

    gained: sp.Expr
    z: tuple[sp.Expr, sp.Expr, sp.Expr]
    cost: sp.Expr
    steps: tuple[d.Step, ...]
    uses: tuple[d.Written, ...]
    conditions: tuple[d.Condition, ...] = ()


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of a claim about one such sum, or about the mean with its weights."""
    for q, (now, last, term) in _summed(setting).items():
        share = sp.cancel(setting.claim.lhs / q)
        mean = weights_of(q) is not None
        share = share / sy.eta_sum if mean else share
        if share.has(q) or not share.free_symbols <= {T, sy.eta_sum}:
            continue
        constant = not term.has(eta)
        for gain in () if constant and setting.claim.eta != sy.eta_0 else _gains(setting, term):
            yield from _proof(setting, right, (now, last, term), share, gain, mean)


def _summed(setting: Setting) -> dict[Quantity, tuple[sp.Expr, sp.Expr, sp.Expr]]:
    """The sums that a claim is about: that over s < t, over s < T, and its term."""
    sums = sums_of(setting.claim)
    own = [q for q in setting.claim.computed if setting.claim.lhs.has(q)]
    found = {q: (sums[q][1], q, sums[q][2] - sums[q][1]) for q in own if q in sums}
    return found | {q: (WEIGHTED, WEIGHTED_T, eta * sy.gap_t) for q in own if weights_of(q) == eta}


def _gains(setting: Setting, term: sp.Expr) -> Iterator[Gain]:
    of = term / eta if term.has(eta) else term
    meaning = getattr(of, "expression", None)
    if of == sy.gap_t and {"smooth", "unbiased", "full-participation"} <= setting.universe.keys():
        least = facts.curvature_of(set(setting.universe))
        for noise in () if least is None else setting.noises:
            step = with_gap(setting, noise, least, sp.Integer(0))
            if step is None:
                continue
            for drift in (TOGETHER,) if statement.SAME_STEP in setting.universe else drifts(setting):
                uses = (d.Earlier("recursion"), (eta * L, drift.bound))
                lines = (*drift.steps, step)
                z = (sy.Delta_0, sy.Delta_next, sy.Delta_T)
                cost = eta**2 * noise + eta * L * drift.most
                yield Gain(sp.Integer(2), z, cost, lines, uses, drift.conditions)
    elif meaning is not None and normal(meaning - norm_sq(SLOPE)) == 0:
        for fall in falls(setting, dominated=False):
            proof = fall.proof()
            if proof is not None:
                z = (sy.gap_0, GAP_NEXT, sy.gap)
                cost = fall.added + eta / 2 * norm_sq(SLOPE)
                yield Gain(sp.Rational(1, 2), z, cost, proof.steps, (d.Earlier("recursion"),), proof.conditions)


def _total(setting: Setting, cost: sp.Expr) -> sp.Expr | None:
    """What the costs of a run are at most: in the claim's sums of eta^j, a higher power by the largest step."""
    sums = {term: q for q, (_, _, after) in sums_of(setting.claim).items() if (term := _power(q, after)) is not None}
    sums |= {1: sy.eta_sum} if setting.claim.lhs != sy.eta_average_gap else {}
    bound = sp.Integer(0) if setting.cap is None else setting.cap.bound
    total = sp.Integer(0)
    for (j,), c in sp.Poly(cost, eta).terms():
        i = max((power for power in sums if power <= j), default=None)
        if i is None or (i < j and bound == 0):
            return total if c == 0 else None
        total += c * bound ** (j - i) * sums[i]
    return total


def _power(q: Quantity, after: sp.Expr) -> int | None:
    term = next((part for part in sp.Add.make_args(after) if part.has(eta)), sp.Integer(0))
    return int(term.as_base_exp()[1]) if term.as_base_exp()[0] == eta else None


def _proof(
    setting: Setting,
    right: sp.Expr,
    summed: tuple[sp.Expr, sp.Expr, sp.Expr],
    share: sp.Expr,
    gain: Gain,
    mean: bool,
) -> Iterator[Proposal]:
    (now, last, term), (start, after, end), size = summed, gain.z, setting.eta
    unit = sp.Integer(1) if term.has(eta) else eta
    added = T * sp.expand(gain.cost / eta) if unit == eta else _total(setting, gain.cost)
    if added is None:
        return
    total, sums = start / unit + added, sums_of(setting.claim)
    then = {T: sy.t + 1, sy.eta_sum: sy.eta_sum} | {q: three[2] for q, three in sums.items()}
    each = added.xreplace(then) - added.xreplace({T: sy.t} | {q: three[1] for q, three in sums.items()})
    spare = termwise(setting, sp.expand((each - gain.cost / unit).subs(eta, size)))
    rest = termwise(setting, sp.expand((sp.cancel(right / share) - total / gain.gained).subs(eta, size)))
    if spare is None or rest is None:
        return
    before = rest.after(spare)
    steps = (
        *before.steps,
        *gain.steps,
        d.step("base", start / unit, "<=", start / unit),
        d.step("carry", gain.gained * (now + term) + after / unit, "<=", total.xreplace(then)).by(
            *((m / unit, fact) for m, fact in map(d.as_use, gain.uses)), d.Hypothesis("all"), *spare.uses
        ),
        d.step("all", gain.gained * last + end / unit, "<=", total).by(d.Induction("base", "carry")),
        *((TIME,) if share.has(T) else ()),
        *(DIVISOR if share.has(sy.eta_sum) else ()),
    )
    uses: list[d.Written] = [(1 / gain.gained, d.Earlier("all")), (end / unit / gain.gained, d.ONE), *rest.uses]
    uses += [d.premise(KEY)] if mean else []
    conditions = (*gain.conditions, *before.conditions)
    yield steps, tuple((share * m, fact) for m, fact in map(d.as_use, uses)), conditions
