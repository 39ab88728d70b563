"""A claim that follows from a shipped one under its own assumptions, term by term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy as sp

from fedbounds.evidence.prover.frame import ELL, limits
from fedbounds.evidence.prover.positive import Letters
from fedbounds.evidence.prover.run_setting import MORE, ROOM, A, B
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import library
from fedbounds.evidence.symbolic.definitions import ALPHA, START, W, X
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.vectors import Mean, norm_sq


def proposals(claim: Claim, reading: Reading, universe: Mapping[str, Assumption]) -> Iterator[d.Derivation]:
    """Proofs that cite a derivation whose last line has the same left side, or bounds it."""
    right = sp.Add(*claim.stated(reading.repaired).values())
    about: dict[sp.Expr, tuple[d.Written, ...]] = {claim.lhs: ()}
    if claim.lhs == sy.drift:
        about[Mean(ALPHA, norm_sq(X - START))] = (d.Square(W - START, "a variance is below any second moment"),)
    for cited in library.installed().values():
        line = cited.steps[-1]
        if line.lhs not in about or line.relation != "<=" or (cited.claim and reading.name not in cited.readings):
            continue
        checked = library.checked_named(cited.key, reading)
        if (
            checked.fault
            or checked.schedule
            or any(checked.universe.get(key) != universe.get(key) for key in checked.assumptions)
        ):
            continue
        rest = sp.expand(right - line.rhs)
        equal, conditions, letters = _letters(universe, rest, claim.eta)
        uses = _termwise(letters, rest.subs(equal[0]) if equal else rest)
        if uses is None:
            continue
        if equal:
            (symbol, value), premise = next(iter(equal[0].items())), equal[1]
            quotient = sp.cancel((rest - rest.subs(symbol, value)) / (value - symbol))
            uses.append((quotient, premise))
        used = {symbol for multiplier, _ in uses for symbol in multiplier.free_symbols}
        last = d.step("conclude", claim.lhs, "<=", right).by(d.Cited(cited.key), *about[line.lhs], *uses)
        yield d.Derivation(
            f"found-{claim.key}",
            claim.title,
            (last,),
            claim=claim.key,
            readings=(reading.name,),
            conditions=tuple(condition for condition in conditions if condition.symbol in used),
        )


Equal = tuple[dict[sp.Basic, sp.Expr], d.Premise]


def _letters(
    universe: Mapping[str, Assumption], rest: sp.Expr, steps: sp.Expr | None
) -> tuple[Equal | None, list[d.Condition], Letters]:
    """A symbol that an assumption makes a number, and the letters of what is left."""
    equal: Equal | None = None
    for item in universe.values():
        for k, part in enumerate(item.parts if item.gives is None else ()):
            if part.sign == "=" and part.left in rest.free_symbols and part.right.is_Rational:
                index = (sp.Integer(k),) if len(item.parts) > 1 else ()
                equal = ({part.left: part.right}, d.premise(item.key, *index))
    values: dict[sp.Basic, sp.Expr] = {sy.tau: MORE + 1}
    conditions = [d.Condition(MORE, d.premise("whole-steps"))]
    if {"smooth", "strongly-convex"} <= universe.keys():
        values[sy.L] = sy.mu + ELL
        conditions.append(d.Condition(ELL, d.premise("curvatures")))
    if steps is not None:
        return equal, conditions, Letters({**values, sy.eta: sp.sympify(steps)})
    for key, index, value, _ in limits(universe.values()):
        top, slope = value.subs(sy.eta, 0), sp.cancel(-value.coeff(sy.eta) / sy.L)
        if top.is_Rational and slope.is_Rational and slope > 0 and sy.L in values:
            conditions.append(d.Condition(ROOM, d.premise(key, *index)))
            put = {sy.mu: A / sy.eta, ELL: B / sy.eta, sy.L: (A + B) / sy.eta}
            named = {A: sy.eta * sy.mu, B: sy.eta * ELL}
            return equal, conditions, Letters({**values, **put}, (A, B, ROOM), (slope * (A + B) + ROOM) / top, named)
    return equal, conditions, Letters(values)


def _termwise(letters: Letters, number: sp.Expr) -> list[d.Use] | None:
    """The terms of a number, each of whose coefficients is not negative on sight."""
    parameters = {sy.L, sy.mu, sy.eta, sy.tau, sy.N, sy.eta_ratio}
    atoms = sorted(number.free_symbols - parameters, key=str)
    uses: list[d.Use] = []
    try:
        poly = sp.Poly(sp.expand(number), *atoms) if atoms else None
    except sp.PolynomialError:
        return None
    terms = [((), sp.sympify(number))] if poly is None else poly.terms()
    for monomial, coefficient in terms:
        form = letters.positive(coefficient)
        if form is None or not all(atom.is_nonnegative for atom in atoms):
            return None
        if form != 0:
            uses.append((form * sp.Mul(*(x**k for x, k in zip(atoms, monomial, strict=True))), d.ONE))
    return uses
