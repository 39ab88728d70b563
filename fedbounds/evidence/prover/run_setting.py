"""A claim about a run at its own step sizes: what its numbers are made of, and which are not negative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.prover import draws
from fedbounds.evidence.prover.goal import ELL, limits, unit_condition_number
from fedbounds.evidence.prover.rationals import Letters
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import S
from fedbounds.evidence.symbolic.proof_objects import averaging_weights, summand_of
from fedbounds.evidence.symbolic.untrusted_expressions import shown_non_negative
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Slack

L, mu, eta, t, T, gamma, tau = sy.L, sy.mu, sy.eta, sy.t, sy.T, sy.gamma, sy.tau
A, B, ROOM = sp.symbols("along beyond room", nonnegative=True)
CAPPED, PEAK = sp.Symbol("capped", positive=True), sp.Symbol("peak", real=True)
LATER, WIDE, MORE = (sp.Symbol(name, nonnegative=True) for name in ("later", "wide", "more"))
LENGTH, CLIENTS = (sp.Symbol(name, nonnegative=True) for name in ("left_steps", "more_clients"))
LATE, BEGUN = Slack(sp.Symbol("late"), S), Slack(sp.Symbol("begun"), S)
# What is not negative for small steps, as a step's inequality may need it, the strictest first.
LIMITS = (
    *(c - eta * L for c in (sp.Rational(1, 4), sp.Rational(1, 2), sp.Integer(1))),
    2 - eta * (L + mu),
    2 - eta * L,
)


# The steps of a proof, what its last line uses, and the conditions of both.
Proposal = tuple[tuple[d.Step, ...], tuple[d.Written, ...], tuple[d.Condition, ...]]
FIRST: d.Use = (sp.Integer(1), d.premise("first-step"))
CONSTANT: d.Use = (sp.Integer(-1), d.premise("constant-steps"))


@dataclass(frozen=True)
class Cap:
    """A constant step of at most ``bound`` by the fact ``shown``, in lines that name it ``size``: eta, or eta_0.

    ``steps`` is its formula: eta_0, or Min(eta_0, bound); 0 where the claim says by ``constant`` only that it is
    ``size`` at every step.
    """

    steps: sp.Expr
    bound: sp.Expr
    size: sp.Expr
    shown: d.Use
    constant: d.Use = FIRST

    @property
    def abbreviations(self) -> dict[sp.Expr, sp.Expr]:
        """The symbol of the minimum."""
        return {CAPPED: self.steps} if isinstance(self.steps, sp.Min) else {}

    @property
    def room(self) -> sp.Expr:
        """What the bound leaves."""
        room = 1 - self.size / self.bound
        return room if room.has(sy.m) else sp.expand(1 - sp.expand(self.size / self.bound))

    @property
    def line(self) -> d.Step:
        """size <= bound."""
        stated = self.bridge(1 - eta / self.bound) if self.steps != 0 else ()
        return d.step("cap", 0, "<=", self.room).by(self.shown, *stated)

    def bridge(self, expression: sp.Expr) -> tuple[d.Use, ...]:
        """The use that makes an expression in eta one in ``size``."""
        return () if self.size in (eta, self.steps) else _at_size(expression, self.size, self.constant)

    def letters(self, values: dict[sp.Basic, sp.Expr], smooth: bool, curved: bool) -> Letters | None:
        """Numbers in size mu, size (L - mu) and the room, of which 1 is a sum; size L where not ``curved``."""
        put = {L: (A + B if curved else B) / self.size} if smooth else {}
        put |= {mu: A / self.size} if curved else {}
        simplex = (A,) * curved + (B,) * smooth
        used = sp.cancel((self.size / self.bound).xreplace({**put, **values}))
        coefficients = sp.Poly(used, *simplex).coeffs() if used.is_polynomial(*simplex) else [sp.nan]
        if not all(c.is_nonnegative for c in sp.Add.make_args(sp.expand(sp.Add(*coefficients)))):
            return None
        values = {**values, **put, ELL: B / self.size}
        names = {A: self.size * mu, B: self.size * (ELL if curved else L)}
        return Letters(values, (*simplex, ROOM), used + ROOM, names)


def _at_size(expression: sp.Expr, size: sp.Expr, equal: d.Use) -> tuple[d.Use, ...]:
    """The use of the fact that eta is ``size`` which makes an expression in eta one in ``size``."""
    difference = expression.subs(eta, size) - expression
    return ((equal[0] * sp.cancel(difference / (eta - size)), equal[1]),)


def cap_of(steps: sp.Expr | None, *sides: sp.Expr) -> Cap | None:
    """Any constant step up to a bound; the sides tell whether they speak of eta_0 itself."""
    if not isinstance(steps, sp.Min) or len(steps.args) != 2 or sy.eta_0 not in steps.args:
        return None
    (bound,) = set(steps.args) - {sy.eta_0}
    speaks = any(sp.sympify(side).xreplace({steps: eta}).has(sy.eta_0) for side in sides)
    shown = (1 / bound, d.Extreme(CAPPED, bound))
    return Cap(steps, bound, sy.eta_0 if speaks else eta, shown) if bound.free_symbols <= {L, mu} else None


def _assumed_cap(universe: dict[str, Assumption], stated: bool, size: sp.Expr) -> Cap | None:
    """The step eta_0, or eta at the step, under the first assumption that bounds it; the claim's is ``stated``."""
    for key, index, value, _ in limits(universe.values()):
        left = value.subs(eta, size)
        top = left.subs(size, 0)
        bound = size * top / (top - left) if left.has(size) and top.is_Rational else sp.S.Zero
        bound = bound if value.has(sy.m) else sp.cancel(bound)
        fine = bound.is_positive and bound.free_symbols <= {L, mu, tau, sy.growth}
        if top.is_Rational and top > 0 and (fine or bound.has(sy.m)):
            at = (sy.eta_0,) if size == sy.eta_0 and not stated else ()
            steps, equal = (sy.eta_0, FIRST) if stated else (sp.Integer(0), CONSTANT)
            return Cap(steps, bound, size, (1 / top, d.premise(key, *index, *at)), equal)
    return None


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
    cap: Cap | None = None

    def bridge(self, expression: sp.Expr) -> tuple[d.Use, ...]:
        """The uses that make an expression in eta one in the step size of the lines."""
        if self.cap is not None:
            return self.cap.bridge(expression)
        return _at_size(expression, self.eta, CONSTANT) if self.claim.eta is None and self.eta != eta else ()

    @property
    def limits(self) -> tuple[tuple[d.Condition, sp.Expr], ...]:
        """The conditions of its letters, and what their symbols stand for, the step size of a run being eta."""
        room = () if self.cap is None else ((ROOM, self.cap.room.xreplace({sy.eta_0: eta})),)
        shown = {item.symbol: item for item in self.conditions}
        return tuple((shown[symbol], value) for symbol, value in (*room, (MORE, tau - 1)) if symbol in shown)

    @property
    def equal(self) -> bool:
        """Whether L = mu is assumed."""
        return unit_condition_number(self.universe.values()) is not None

    @property
    def noises(self) -> Iterator[sp.Expr]:
        """What the variance of the mean gradient is at most, of that which the claim speaks of."""
        names = self.claim.symbols
        if draws.drawn(self.universe):
            yield from draws.noises(self.universe)
            return
        if "no-noise" in self.universe:
            yield sp.Integer(0)
            return
        if "sigma_p_sq" in names:
            yield sy.sigma_p_sq
        if "sigma_sq" in names or not {"sigma_p_sq", "sigma_sq"} & names:
            if "equal-p" in self.universe:
                yield sy.sigma_sq / sy.N
            if "p_sq" in names:
                yield sy.sigma_sq * sy.p_sq
            yield sy.sigma_sq
        if "G_sq" in names and not {"sigma_p_sq", "sigma_sq"} & names:
            yield sy.G_sq


def _present(universe: dict[str, Assumption]) -> bool:
    """Whether it is known who takes part: all clients, or those that are drawn."""
    first = {"drawn-at-end", "first-round"} <= universe.keys()
    return first or bool({"full-participation", draws.DRAWN, "next-drawn-models"} & universe.keys())


def weighted_by_steps(quantity: sp.Basic) -> bool:
    """Whether a quantity is a sum over steps of what is weighted by eta_t, or of the mean with these weights."""
    term = summand_of(quantity)
    return averaging_weights(quantity) == eta or (term is not None and term.has(eta) and term != eta)


def setting_of(claim: Claim, reading: Reading, universe: dict[str, Assumption]) -> Setting | None:
    stated = claim.eta is not None
    smooth, curved = "smooth" in universe, bool({"strongly-convex", "gradient-dominance"} & universe.keys())
    known = smooth or curved or "convex" in universe
    if not (known or claim.lhs == sy.drift) or not _present(universe):
        return None
    constant = "constant-steps" in universe
    varying = claim.lhs in (sy.Delta_T, sy.gap) or any(weighted_by_steps(q) for q in claim.computed)
    if claim.scope == "horizon" and not stated and not constant and not varying:
        return None
    size = sp.sympify(claim.eta) if stated else sy.eta_0 if constant else eta
    cap = cap_of(size, *claim.stated(reading.repaired).values())
    if size in (sy.eta_0, eta):
        cap = _assumed_cap(universe, stated, size)
    equal = unit_condition_number(universe.values()) is not None
    values: dict[sp.Basic, sp.Expr] = {tau: MORE + 1, eta: size}
    values |= {L: mu if equal else mu + ELL} if smooth and curved else {}
    drawn = draws.Draws.of(universe)
    several = sy.N not in drawn.numbers and "N" in claim.symbols
    numbers = {sy.N: 1 + CLIENTS, **drawn.numbers} if several else drawn.numbers
    values |= numbers
    steps: list[d.Step] = list(drawn.steps)
    conditions = [d.Condition(ELL, d.premise("curvatures"))] if smooth and curved and not equal else []
    conditions.append(d.Condition(MORE, d.premise("whole-steps")))
    conditions += drawn.conditions
    conditions += [d.Condition(CLIENTS, d.premise("some-client"))] * several
    for line, condition in _defined(claim, values):
        steps.append(line)
        conditions.append(condition)
    letters: Letters | None = Letters(values)
    free = size.subs(dict(claim.definitions)).free_symbols - {L, mu, t, tau}
    if cap is not None and not (smooth or curved):
        return None
    if cap is not None:
        steps.append(cap.line)
        conditions.append(d.Condition(ROOM, d.Earlier("cap")))
        size, letters = cap.size, cap.letters({tau: values[tau], eta: cap.size, **numbers}, smooth, curved)
    elif size.has(t) and free in ({sy.eta_0}, {gamma}):
        offset = _offset(claim, universe, *free)
        if offset is None:
            return None
        values |= offset[1]
        steps.append(offset[0])
        conditions.append(d.Condition(WIDE, d.Earlier("gamma-wide")))
        letters = Letters(values)
    elif free and free != {size}:
        return None
    if letters is None:
        return None
    abbreviations: dict[sp.Expr, sp.Expr] = {} if cap is None else cap.abbreviations
    peaks = {part for term in claim.stated(reading.repaired).values() for part in sp.sympify(term).atoms(sp.Max)}
    if len(peaks) == 1:
        abbreviations[PEAK] = peaks.pop()
    return Setting(claim, reading, universe, letters, tuple(steps), tuple(conditions), size, abbreviations, cap)


def _defined(claim: Claim, values: dict[sp.Basic, sp.Expr]) -> Iterator[tuple[d.Step, d.Condition]]:
    """What the definition of gamma says of it; its value joins the values."""
    bound = claim.definitions.get(gamma)
    if isinstance(bound, sp.Max):
        wide = next((arg for arg in bound.args if arg.has(L)), bound.args[0])
        for name, item, slack in (("wide", wide, WIDE), *(("later", arg, LATER) for arg in bound.args if arg == tau)):
            line = d.step(f"gamma-{name}", item, "<=", gamma).by(d.Extreme(gamma, item))
            yield line, d.Condition(slack, d.Earlier(f"gamma-{name}"))
        values[gamma] = wide + WIDE
    elif bound is not None:
        values[gamma] = sp.sympify(bound)
        if shown_non_negative(sp.expand(values[gamma] - tau)):
            line = d.step("gamma-later", tau, "<=", gamma).by((sp.expand(values[gamma] - tau), d.ONE))
            yield line, d.Condition(LATER, d.Earlier("gamma-later"))


def _offset(
    claim: Claim, universe: dict[str, Assumption], free: sp.Expr
) -> tuple[d.Step, dict[sp.Basic, sp.Expr]] | None:
    """The step least <= g for the offset g = gamma or 1/(mu eta_0) that an assumption bounds, and its values."""
    g = sp.Dummy(positive=True)
    offset = gamma if free == gamma else 1 / (mu * sy.eta_0)
    put = {free: g if free == gamma else 1 / (mu * g)}
    for item in universe.values():
        for k, fact in enumerate(item.facts() if item.gives is None else ()):
            start = (sy.eta_0,) if fact.right.has(eta) else ()
            value = fact.right.subs(dict(claim.definitions)).subs(eta, sy.eta_0)
            if fact.sign == "=" or not value.has(free) or not value.free_symbols <= {L, mu, free}:
                continue
            top, bottom = sp.fraction(sp.cancel(value.xreplace(put)))
            slope = sp.Poly(top, g).coeff_monomial(g)
            if sp.degree(top, g) != 1:
                continue
            least, share = sp.cancel(-top.subs(g, 0) / slope), sp.cancel(bottom / slope).xreplace({g: offset})
            if least.is_positive and share.is_positive:
                index = (*((sp.Integer(k),) if len(item.parts) > 1 else ()), *start)
                line = d.step("gamma-wide", least, "<=", offset).by((share, d.premise(item.key, *index)))
                return line, {free: put[free].xreplace({g: least + WIDE})}
    return None
