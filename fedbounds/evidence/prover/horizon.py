"""Whole runs by induction: a step's inequality that is proved first, then the claim's own bound as the hypothesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.prover import facts, statement
from fedbounds.evidence.prover.run_setting import (
    BEGUN,
    CAPPED,
    LATE,
    LATER,
    LENGTH,
    LIMITS,
    L,
    Setting,
    T,
    eta,
    gamma,
    mu,
    setting_of,
    t,
    tau,
    termwise,
)
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    ETA_S,
    G_S,
    GAPS,
    M_S,
    MOVED,
    START,
    W_STAR,
    W_T,
    X_S,
    P,
    U,
    W,
    X,
    n,
)
from fedbounds.evidence.symbolic.expressions import shown_positive
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Centre, Mean, norm_sq


def proposals(claim: Claim, reading: Reading, universe: dict[str, Assumption]) -> Iterator[d.Derivation]:
    """Proofs by induction that may show a claim about T."""
    setting = setting_of(claim, reading, universe)
    if setting is None:
        return
    right = sp.Add(*claim.stated(reading.repaired).values())
    short = right.xreplace({value: eta if name == CAPPED else name for name, value in setting.abbreviations.items()})
    divisors = _divisors(setting, short)
    if divisors is None:
        return
    of_average = claim.lhs in (sy.average_gap, T * sy.average_gap)
    for proposal in _averages(setting, short) if of_average else _distances(setting, short):
        label = d.step("conclude", claim.lhs, "<=", right)
        steps, last, conditions = proposal
        yield d.Derivation(
            f"found-{claim.key}",
            claim.title,
            (*setting.steps, *divisors, *steps, label.by(*last)),
            claim=claim.key,
            readings=(reading.name,),
            conditions=(*setting.conditions, *conditions),
            abbreviations=setting.abbreviations,
        )


def _divisors(setting: Setting, right: sp.Expr) -> list[d.Step] | None:
    """That each divisor such as T + gamma - 1 is positive, at T and at t; None where one is not seen to be."""
    lines: dict[sp.Expr, d.Step] = {}
    for time in (T, t, t + 1):
        for power in right.xreplace({T: time}).atoms(sp.Pow):
            if not (power.exp.is_negative and power.base.is_Add) or power.base.is_positive:
                continue
            shown = setting.letters.positive(power.base)
            if shown is None or not shown_positive(shown):
                return None
            lines[power.base] = d.step(f"divisor-{len(lines)}", power.base, ">", 0).by((shown, d.ONE))
    return list(lines.values())


@dataclass(frozen=True)
class Drift:
    """drift <= factor (tau - 1)^2 eta^2 G^2 by the fact ``bound``."""

    factor: int
    steps: tuple[d.Step, ...]
    bound: d.Fact
    conditions: tuple[d.Condition, ...]


@dataclass(frozen=True)
class OneStep:
    """Delta_next <= right, and with the drift's bound Delta_next <= kept Delta + added."""

    right: sp.Expr
    kept: sp.Expr
    added: sp.Expr
    drift: Drift | None = None


Proposal = tuple[tuple[d.Step, ...], tuple[d.Written, ...], tuple[d.Condition, ...]]


def _small(setting: Setting) -> Iterator[tuple[d.Step, d.Condition, sp.Expr]]:
    """eta L <= c shown for the claim's steps: the step, the condition, and the symbol's meaning."""
    for limit in LIMITS:
        shown = setting.letters.positive(limit.subs(eta, setting.eta))
        if shown is not None:
            slack = sp.Symbol("slack", nonnegative=True)
            line = d.step("small", 0, "<=", limit).by((shown, d.ONE), *setting.bridge(-limit))
            yield line, d.Condition(slack, d.Earlier("small")), limit
            return


def _recursion(setting: Setting, right: sp.Expr, name: str = "recursion") -> statement.Lines | None:
    """Delta_next <= right, for any step size that is as small as the claim's."""
    for line, condition, value in _small(setting):
        goal = statement.Goal(sy.Delta_next, right, "step", setting.universe, None, ((condition, value),))
        found = statement.prove(goal)
        if found is None:
            return None
        last = d.step(name, sy.Delta_next, "<=", right).by(*found.uses)
        known = {one.symbol for one in setting.conditions}
        return replace(
            found,
            steps=(line, *found.steps, last),
            conditions=tuple(one for one in found.conditions if one.symbol not in known),
        )
    return None


def _distances(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """E||w_T - w*||^2, or the gap by smoothness, within the claim's bound."""
    left = setting.claim.lhs
    before: tuple[d.Step, ...] = ()
    last: tuple[d.Written, ...] = (d.Earlier("all"),)
    if left == sy.Delta_T:
        bound = right
    elif left == sy.gap:
        bound = sp.expand(2 * right / L)
        before, last = (_smoothness(),), (d.Earlier("smooth"), (L / 2, d.Earlier("all")))
    else:
        return
    base = termwise(setting, bound.xreplace({T: sp.Integer(0)}) - sy.Delta_0)
    if base is None:
        return
    first = d.step("base", sy.Delta_0, "<=", bound.xreplace({T: sp.Integer(0)})).by(*base[0])
    for one_step in _steps(setting):
        kept, added = (part.subs({eta: setting.eta}) for part in (one_step.kept, one_step.added))
        now, then = bound.xreplace({T: t}), bound.xreplace({T: t + 1})
        rest = termwise(setting, then - kept * now - added)
        share = setting.letters.positive(kept)
        if rest is None or share is None:
            continue
        proof = _proved(setting, one_step)
        if proof is None:
            continue
        extra = (*base[1], *(one for one in rest[1] if one not in base[1]))
        carry = d.step("carry", sy.Delta_next, "<=", then).by(
            d.Earlier("recursion"),
            *setting.bridge(one_step.kept * sy.Delta + one_step.added),
            (share, d.Hypothesis("all")),
            *rest[0],
        )
        every = d.step("all", sy.Delta_T, "<=", bound).by(d.Induction("base", "carry"))
        shown = [line for line, _ in extra]
        conditions = (*proof.conditions, *(condition for _, condition in extra))
        yield (*shown, *proof.steps, first, carry, every, *before), last, conditions


def _smoothness() -> d.Step:
    upper = d.averaged(P, facts.smooth(W_STAR, W_T))
    return d.step("smooth", sy.gap, "<=", L / 2 * sy.Delta_T).by(upper, (-1, d.premise("optimum", W_T - W_STAR)))


def _steps(setting: Setting) -> Iterator[OneStep]:
    """Inequalities for one step that the claim may follow from, the sharpest first."""
    for noise in setting.noises:
        for kept in ((1 - eta * mu) ** 2, 1 - eta * mu):
            clean, added = kept * sy.Delta + eta**2 * noise, eta**2 * noise
            if statement.SAME_STEP in setting.universe:
                yield OneStep(clean, kept, added)
            elif "bounded-gradient" in setting.universe:
                for drift in _drifts(setting):
                    more = eta * L * drift.factor * (tau - 1) ** 2 * eta**2 * sy.G_sq
                    yield OneStep(clean + eta * L * sy.drift, kept, added + more, drift)


def _proved(setting: Setting, one: OneStep) -> statement.Lines | None:
    """Delta_next <= kept Delta + added, in the step ``recursion``."""
    if one.drift is None:
        return _recursion(setting, one.right)
    found = _recursion(setting, one.right, "one-step")
    if found is None:
        return None
    line = d.step("recursion", sy.Delta_next, "<=", one.kept * sy.Delta + one.added).by(
        d.Earlier("one-step"), (eta * L, one.drift.bound)
    )
    steps, conditions = (*found.steps, *one.drift.steps, line), (*found.conditions, *one.drift.conditions)
    return replace(found, steps=steps, conditions=conditions)


def _drifts(setting: Setting) -> Iterator[Drift]:
    """Bounds of the drift on the claim's steps."""
    if not setting.eta.has(t):
        move = Mean(U, ETA_S**2 * norm_sq(G_S))
        jensen = d.averaged(U, d.Square(ETA_S * G_S - Centre(U, ETA_S * G_S), "Jensen: a variance over the steps"))
        steps = (
            d.step("variance", sy.drift, "<=", Mean(ALPHA, norm_sq(X - START))).by(d.Square(W - START, "a variance")),
            d.step("jensen", norm_sq(X - START), "<=", n**2 * move).by(
                (-1, d.premise("local-steps", X - START - MOVED)), (n**2, jensen)
            ),
            d.step("moment", Mean(U, norm_sq(G_S)), "<=", sy.G_sq).by(
                d.averaged(U, d.premise("bounded-gradient", X_S))
            ),
            d.step("count", n**2, "<=", (tau - 1) ** 2).by((LENGTH * (LENGTH + 2 * n), d.ONE)),
            d.step("drift", sy.drift, "<=", (tau - 1) ** 2 * eta**2 * sy.G_sq).by(
                d.Earlier("variance"),
                d.averaged(ALPHA, d.Earlier("jensen"), (eta**2 * n**2, d.Earlier("moment"))),
                (eta**2 * sy.G_sq, d.Earlier("count")),
            ),
        )
        yield Drift(1, steps, d.Earlier("drift"), (d.Condition(LENGTH, d.premise("round")),))
    elif any(one.symbol == LATER for one in setting.conditions):
        scale = sp.cancel(setting.eta * (gamma + t) * mu)
        halve = d.step("halve", ETA_S, "<=", 2 * eta).by(
            (scale * (LATE + BEGUN + LATER + 1) / (mu * (t + gamma) * M_S), d.ONE)
        )
        conditions = (d.Condition(LATE, d.premise("round-times")), d.Condition(BEGUN, d.premise("past-steps")))
        yield Drift(4, (halve,), d.Cited("li-drift", {"halving": "halve"}), conditions)


def _averages(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """The gap of the mean iterate at a constant step: a step that keeps F(w_t) telescopes, and F is convex."""
    over_time = setting.claim.lhs == sy.average_gap
    start = sp.cancel(sp.expand(right * (T if over_time else 1)).coeff(sy.Delta_0, 1))
    if setting.eta.has(t) or start == 0 or start.has(T):
        return
    k, share = 1 / start, sp.cancel(1 / (start * setting.eta))
    if not share.is_Rational:
        return
    for noise in setting.noises:
        added = eta**2 * noise
        there = added.subs(eta, setting.eta)
        total = right if over_time else right / T
        rest = termwise(setting, sp.expand(total - start * (sy.Delta_0 / T + there)))
        weight = setting.letters.positive(start)
        if rest is None or weight is None or statement.SAME_STEP not in setting.universe:
            continue
        proof = _recursion(setting, sy.Delta - share * eta * sy.gap_t + added)
        if proof is None:
            continue
        line = k * sy.gap_sum + sy.Delta_T
        steps = (
            *(shown for shown, _ in rest[1]),
            *proof.steps,
            d.step("base", sy.Delta_0, "<=", sy.Delta_0),
            d.step("carry", k * (GAPS + sy.gap_t) + sy.Delta_next, "<=", sy.Delta_0 + (t + 1) * there).by(
                d.Earlier("recursion"), *setting.bridge(-share * eta * sy.gap_t + added), d.Hypothesis("all")
            ),
            d.step("all", line, "<=", sy.Delta_0 + T * there).by(d.Induction("base", "carry")),
            *((d.step("time", T, ">", 0).by(d.premise("some-time")),) if over_time else ()),
        )
        scale = 1 / T if over_time else sp.Integer(1)
        uses: list[d.Use] = [(m * (1 if over_time else T), fact) for m, fact in rest[0]]
        last: tuple[d.Written, ...] = (
            (scale, d.premise("average")),
            (scale * weight, d.Earlier("all")),
            (scale * weight * sy.Delta_T, d.ONE),
            *uses,
        )
        yield steps, last, (*proof.conditions, *(condition for _, condition in rest[1]))
