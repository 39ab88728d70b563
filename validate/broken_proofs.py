"""Proofs broken at random: what the checker accepts must say the same as before.

A mutant changes one step of a shipped derivation: a multiplier, a sign, a constant, a fact, the points of a premise,
its name, the parts of an induction or of a case. One that is accepted must leave the step's line as it was, for the
line is then still shown by an identity that holds; an accepted mutant with another line is a hole.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.derivation import Cases, Induction, Premise, Step, Use
from fedbounds.theory import symbols as sy

Rewrite = Callable[[tuple[Use, ...], random.Random], tuple[Use, ...]]
FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "<"}
FACTORS = (sp.Integer(-1), sp.Rational(9, 10), sp.Integer(2), sp.Integer(0))


@dataclass(frozen=True)
class Mutant:
    """A changed step of a derivation, and what was changed."""

    derivation: str
    kind: str
    before: Step
    after: Step

    @property
    def says_the_same(self) -> bool:
        """Whether the line itself is as it was."""
        lines = ((item.lhs, item.relation, item.rhs) for item in (self.before, self.after))
        return len(set(lines)) == 1


def _one(change: Callable[[Use, random.Random], tuple[Use, ...]]) -> Rewrite:
    """One fact in use changed, or left out."""

    def rewrite(uses: tuple[Use, ...], rng: random.Random) -> tuple[Use, ...]:
        k = rng.randrange(len(uses))
        return (*uses[:k], *change(uses[k], rng), *uses[k + 1 :])

    return rewrite


def _times(factors: tuple[sp.Expr, ...]) -> Rewrite:
    return _one(lambda use, rng: ((use[0] * rng.choice(factors), use[1]),))


def _swap_facts(uses: tuple[Use, ...], rng: random.Random) -> tuple[Use, ...]:
    facts = [fact for _, fact in uses]
    rng.shuffle(facts)
    return tuple((multiplier, fact) for (multiplier, _), fact in zip(uses, facts, strict=True))


def _premises(change: Callable[[Premise, random.Random], Premise]) -> Rewrite:
    def rewrite(uses: tuple[Use, ...], rng: random.Random) -> tuple[Use, ...]:
        def one(fact: object) -> object:
            if isinstance(fact, Premise):
                return change(fact, rng)
            return replace(fact, uses=rewrite(fact.uses, rng)) if hasattr(fact, "uses") else fact

        return tuple((multiplier, one(fact)) for multiplier, fact in uses)  # type: ignore[misc]

    return rewrite


def _renamed(fact: Premise, rng: random.Random) -> Premise:
    twins = {"smooth": "strongly-convex", "strongly-convex": "smooth", "rho-bar": "rho-tilde", "rho-tilde": "rho-bar"}
    return replace(fact, key=twins.get(fact.key, rng.choice(("smooth", "small-steps", "minimum", "no-such-name"))))


REWRITES: dict[str, Rewrite] = {
    "a fact dropped": _one(lambda use, rng: ()),
    "a multiplier changed": _times(FACTORS),
    "an exponent changed": _times((sy.eta * sy.L, sy.mu / sy.L, 1 / sy.tau)),
    "facts swapped": _swap_facts,
    "points swapped": _premises(lambda fact, rng: replace(fact, points=fact.points[::-1])),
    "assumptions renamed": _premises(_renamed),
}
KINDS = (*REWRITES, "constant", "sign", "relation")


def mutated(step: Step, kind: str, rng: random.Random) -> Step | None:
    """The step with one thing changed, or None where it has no such thing."""
    if kind == "constant":
        return replace(step, rhs=step.rhs * sp.Rational(99, 100) - sp.Rational(1, 100), paper=None)
    if kind == "sign":
        return replace(step, lhs=-step.lhs + 1, paper=None)
    if kind == "relation":
        return replace(step, relation=FLIPPED[step.relation]) if step.relation in FLIPPED else None
    rule = step.because
    if isinstance(rule, Induction):
        return replace(step, because=rng.choice((Induction(rule.step, rule.base), Induction(rule.step, rule.step))))
    if isinstance(rule, Cases):
        first = replace(rule.first, uses=REWRITES[kind](rule.first.uses, rng))
        return replace(step, because=replace(rule, first=first))
    return replace(step, because=REWRITES[kind](rule, rng)) if isinstance(rule, tuple) and rule else None


def mutants(seed: int, count: int) -> Iterator[Mutant]:
    """So many changed steps of the shipped derivations, each different from the step it was made of."""
    rng = random.Random(seed)
    steps = [(key, step) for key, derivation in sorted(symbolic.installed().items()) for step in derivation.steps]
    made = 0
    while made < count:
        (key, step), kind = rng.choice(steps), rng.choice(KINDS)
        changed = mutated(step, kind, rng)
        if changed is not None and changed != step:
            made += 1
            yield Mutant(key, kind, step, changed)


def accepted(mutant: Mutant) -> bool:
    """Whether the checker takes the changed step."""
    return symbolic.recheck(symbolic.checked_named(mutant.derivation), mutant.after).ok
