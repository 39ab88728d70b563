"""The dimensions of a claim's terms, read off numbers: w is measured in metres, F in joules."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp

from fedbounds.evidence.evaluate import evaluate
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Quantity, computed_quantities
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import eta

Unit = tuple[float, float]
# Whole numbers stay whole, as powers of T and tau need, and no two agree, for N - m is no 0; shares lie below 1 and
# mu below L, so that roots of 1 - C, 1 - eta mu and L - mu exist. The rest has values with no accidents.
PLAIN = {"tau": 3.0, "N": 11.0, "T": 7.0, "t": 2.0, "m": 5.0, "C": 5 / 11, "p_min": 1 / 13}
PLAIN |= {"L": 1.83, "mu": 1.17, "L_sample": 2.31, "eta": 0.11, "eta_0": 0.19}
# A power read off a ratio of floats lies this near a multiple of one half, or the expression has no dimension.
READ_OFF = 1e-6


def unit_of(expression: sp.Expr) -> Unit | None:
    """The powers (metre, joule) of an expression, or None where it adds unlike things."""
    names = sorted(symbol.name for symbol in expression.free_symbols)
    drawn = np.random.default_rng(0).uniform(1.1, 1.9, len(names))
    plain = {name: PLAIN.get(name, float(value)) for name, value in zip(names, drawn, strict=True)}
    base, powers = float(evaluate(expression, plain)), []
    units = {s.name: s.units or (0, 0) for s in expression.free_symbols if isinstance(s, Quantity)}
    for axis in (0, 1):
        scaled = {name: value * 2.0 ** units.get(name, (0, 0))[axis] for name, value in plain.items()}
        ratio = float(evaluate(expression, scaled)) / base if base else math.nan
        power = math.log2(ratio) if 0 < ratio < math.inf else math.nan
        if not abs(power - round(2 * power if power == power else 0) / 2) < READ_OFF:
            return None
        powers.append(round(2 * power) / 2)
    return powers[0], powers[1]


def _known_unit(expression: sp.Expr) -> bool:
    """Whether the user gave the unit of each symbol of theirs."""
    return all(symbol.units is not None for symbol in computed_quantities(expression))


def in_words(unit: Unit | None) -> str:
    """A unit as m^2 J^-1; no number where unlike things are added."""
    if unit is None:
        return "a sum of unlike things"
    said = [
        name if power == 1 else f"{name}^{power:g}" for name, power in zip(("m", "J"), unit, strict=True) if power
    ]
    return " ".join(said) or "a pure number"


def misprints(claim: Claim, reading: Reading) -> tuple[str, ...]:
    """Each term, and the step size, whose dimension is not what the statement needs, w in metres and F in joules."""
    left, _, terms = claim.sides(reading)
    terms = {name: term for name, term in terms.items() if _known_unit(sp.sympify(term))} if _known_unit(left) else {}
    wanted = {f"the term {name!r}": (term, unit_of(left)) for name, term in terms.items() if sp.sympify(term) != 0}
    if claim.steps is not None:
        wanted["the step size"] = (claim.steps, unit_of(eta))
    result = ((what, unit_of(sp.sympify(side)), unit) for what, (side, unit) in wanted.items())
    return tuple(
        f"{what} has the dimension of {in_words(own)}, not {in_words(unit)}"
        for what, own, unit in result
        if own != unit and left != 0
    )
