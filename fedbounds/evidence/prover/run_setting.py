"""A claim about a run at its own step sizes: what its numbers are made of, and which are not negative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.prover.frame import ELL, limits
from fedbounds.evidence.prover.positive import Letters
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import (
    S,
)
from fedbounds.evidence.symbolic.formal_vectors import Slack
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

L, mu, eta, t, T, gamma, tau = sy.L, sy.mu, sy.eta, sy.t, sy.T, sy.gamma, sy.tau
A, B, ROOM = sp.symbols("along beyond room", nonnegative=True)
KEPT = sp.Symbol("kept_share", nonnegative=True)
LATER, WIDE, MORE = (sp.Symbol(name, nonnegative=True) for name in ("later", "wide", "more"))
LENGTH = sp.Symbol("left_steps", nonnegative=True)
LATE, BEGUN = Slack(sp.Symbol("late"), S), Slack(sp.Symbol("begun"), S)
ATOMS = (sy.Delta_0, sy.sigma_sq, sy.sigma_p_sq, sy.G_sq, sy.Gamma, sy.zeta_star_sq)
# Bounds on eta L that a step's inequality may need, the strictest first.
LIMITS = (sp.Rational(1, 4), sp.Rational(1, 2), sp.Integer(1))


@dataclass(frozen=True)
class Setting:
    """A claim at its own steps: the letters of its numbers, and the steps and conditions that these stand on."""

    claim: Claim
    reading: Reading
    universe: dict[str, Assumption]
    letters: Letters
    steps: tuple[d.Step, ...]
    conditions: tuple[d.Condition, ...]
    eta: sp.Expr
    abbreviations: dict[sp.Expr, sp.Expr]

    @property
    def noises(self) -> Iterator[sp.Expr]:
        """What the variance of the mean gradient is at most, of that which the claim speaks of."""
        names = self.claim.symbols
        if "no-noise" in self.universe:
            yield sp.Integer(0)
            return
        if "sigma_p_sq" in names:
            yield sy.sigma_p_sq
        if "sigma_sq" in names or not {"sigma_p_sq", "sigma_sq"} & names:
            if "equal-p" in self.universe:
                yield sy.sigma_sq / sy.N
            yield sy.sigma_sq
        if "G_sq" in names and not {"sigma_p_sq", "sigma_sq"} & names:
            yield sy.G_sq


def setting_of(claim: Claim, reading: Reading, universe: dict[str, Assumption]) -> Setting | None:
    if claim.eta is None or not {"smooth", "strongly-convex", "full-participation", "unbiased"} <= universe.keys():
        return None
    size = sp.sympify(claim.eta)
    values: dict[sp.Basic, sp.Expr] = {L: mu + ELL, tau: MORE + 1, eta: size}
    steps: list[d.Step] = []
    conditions = [d.Condition(ELL, d.premise("curvatures")), d.Condition(MORE, d.premise("whole-steps"))]
    bound = claim.definitions.get(gamma)
    if isinstance(bound, sp.Max):
        wide = next((one for one in bound.args if one.has(L)), bound.args[0])
        for name, one, slack in (("wide", wide, WIDE), *(("later", one, LATER) for one in bound.args if one == tau)):
            steps.append(d.step(f"gamma-{name}", one, "<=", gamma).by(d.Extreme(gamma, one)))
            conditions.append(d.Condition(slack, d.Earlier(f"gamma-{name}")))
        values[gamma] = wide + WIDE
    elif bound is not None:
        values[gamma] = sp.sympify(bound)
    letters = Letters(values)
    free = size.free_symbols - {L, mu, t, gamma, tau}
    if free == {sy.eta_0} and size == sy.eta_0:
        limit = next((one for one in limits(universe.values()) if one[2].subs(eta, size).has(sy.eta_0)), None)
        if limit is None:
            return None
        key, index, value, _ = limit
        value = sp.expand(value.subs(eta, size))
        top = value.subs(sy.eta_0, 0)
        slope = -value.coeff(sy.eta_0)
        scale = sp.cancel(slope / L)
        if not (top.is_Rational and scale.is_Rational and scale > 0):
            return None
        conditions.append(d.Condition(ROOM, d.premise(key, *index)))
        values = {**values, mu: A / sy.eta_0, ELL: B / sy.eta_0, L: (A + B) / sy.eta_0}
        named = {A: sy.eta_0 * mu, B: sy.eta_0 * ELL}
        letters = Letters(values, (A, B, ROOM), (scale * (A + B) + ROOM) / top, named)
    elif free:
        return None
    abbreviations: dict[sp.Expr, sp.Expr] = {}
    return Setting(claim, reading, universe, letters, tuple(steps), tuple(conditions), size, abbreviations)


def termwise(setting: Setting, number: sp.Expr) -> tuple[list[d.Use], list[tuple[d.Step, d.Condition]]] | None:
    """A sum over constants and powers in time that is not negative, each coefficient on sight; None if one is not."""
    expanded = sp.expand(number)
    powers = {one: sp.Dummy(nonnegative=True) for one in expanded.atoms(sp.Pow) if one.exp.has(t, T)}
    names: dict[sp.Expr, sp.Expr] = {}
    shown: list[tuple[d.Step, d.Condition]] = []
    for power, dummy in powers.items():
        base = setting.letters.positive(power.base)
        if base is None or (shown and shown[0][0].rhs != power.base):
            return None
        if not shown:
            shown.append(
                (d.step("kept", 0, "<=", power.base).by((base, d.ONE)), d.Condition(KEPT, d.Earlier("kept")))
            )
        names[dummy] = KEPT**power.exp
    if expanded.has(sp.Max, sp.Min):
        return None  # no polynomial
    poly = sp.Poly(sp.expand(expanded.xreplace(powers)), *ATOMS, *powers.values())
    uses: list[d.Use] = []
    for monomial, coefficient in poly.terms():
        form = setting.letters.positive(coefficient)
        if form is None:
            return None
        atom = sp.Mul(*(x**e for x, e in zip(poly.gens, monomial, strict=True)))
        if form != 0:
            uses.append((form * atom.xreplace(names), d.ONE))
    return uses, shown
