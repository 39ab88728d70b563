"""How small the constants of a claim's terms can be together, each line certified over the whole class.

At settings each term is lowered in turn; in kappa a function is fitted to the solver's constants and then proved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.coverage import round_settings
from fedbounds.evidence.sdp.one_step.parameters import Setting, applies
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight, tight_value
from fedbounds.evidence.sdp.one_step.verdict import examine
from fedbounds.referee.certificate_settings import EVEN, UNEVEN, Grid, settings
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status

# Where constants are looked for: weights of the server and of F, and one kappa and tau.
WEIGHTS = ((EVEN, EVEN), (UNEVEN, EVEN))
KAPPA, TAU = 10, 3
# What is smaller by less counts as tight.
NEAR = Fraction(1, 1000)
kappa = sp.Symbol("kappa", positive=True)
# Where functions of kappa are fitted, and for which they are proved.
PLACES, ALL = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 40, 100), "1..inf"
# Degrees of numerator and denominator in 1/kappa, the simplest first.
DEGREES = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2))
# How near a fit must come to the solver's values, relative to them; and denominators of its coefficients.
FITS, LARGEST = 1e-8, 64


@dataclass(frozen=True)
class Constants:
    """The smallest constants of terms, certified together: none can be smaller while the others stay."""

    where: str
    stated: Mapping[str, Fraction]
    certified: Mapping[str, Any]

    def __str__(self) -> str:
        """A line of a table."""
        return f"{self.where}: {', '.join(map(self._words, self.certified))}"

    def _words(self, term: str) -> str:
        value, stated = self.certified[term], self.stated[term]
        if value == stated:
            return f"{term} as stated"
        return f"{term} {value if isinstance(value, sp.Expr) else format(float(value), '.4g')} (of {stated})"

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object, its numbers as fractions."""
        numbers = {
            term: {"stated": str(self.stated[term]), "certified": str(x)} for term, x in self.certified.items()
        }
        return {"where": self.where, "constants": numbers}


def front(claim: Claim, reading: Reading) -> Iterator[Constants]:
    """Points of the Pareto front: one term is lowered as far as is certified, then each of the others in turn.

    Then the constants of one term that are a simple function of kappa while the others are as stated. Contractions
    stay as they are. Nothing of what is no statement of one step in the certificates' quantities.
    """
    if not applies(claim, reading):
        return
    for setting in settings(claim, reading, Grid((KAPPA,), (TAU,), WEIGHTS)):
        seen = list[Mapping[str, Fraction]]()
        with contextlib.suppress(InputError, ZeroDivisionError):
            every = {name: split(claim, setting, name).stated for name in _lowerable(claim)}
            stated = {name: number for name, number in every.items() if number > 0}
            names = [*stated]
            for k in range(len(names)):
                constants = lowered(claim, setting, stated, (*names[k:], *names[:k]))
                if constants and constants not in seen:
                    seen.append(constants)
                    yield Constants(f"kappa = {KAPPA}, {_words(setting)}", stated, constants)
    for weights in WEIGHTS:
        yield from in_kappa(claim, reading, weights)


def _lowerable(claim: Claim) -> list[str]:
    return [name for name in claim.terms if name != "contraction"]


def _words(setting: Setting) -> str:
    return f"tau = {TAU}, alpha = ({', '.join(map(str, setting.alpha))})"


def lowered(
    claim: Claim, setting: Setting, stated: Mapping[str, Fraction], order: tuple[str, ...]
) -> dict[str, Fraction]:
    """The constants of terms that are lowered one after the other; none where none is certified.

    A term that is 0 all over the class, or is certified hardly lower, stays as it is.
    """
    least: dict[str, Fraction] = {}
    best = replace(claim, key=f"{claim.key}-lowered")
    for name in order:
        constant = tight(best, setting, name)
        if constant.certified is None or constant.certified > stated[name] * (1 - NEAR):
            continue
        least[name] = max(constant.certified, Fraction(0))
        share = sp.Rational(*least[name].as_integer_ratio()) / sp.sympify(claim.terms[name]).as_coeff_Mul()[0]
        terms = {other: term for other, term in best.terms.items() if other != name or share}
        best = replace(best, terms={other: term * (share if other == name else 1) for other, term in terms.items()})
    return dict(stated) | least if least else {}


def in_kappa(claim: Claim, reading: Reading, weights: tuple[tuple[str, str], tuple[str, str]]) -> Iterator[Constants]:
    """The constants that are a simple function of kappa and are proved for every kappa > 1, as no larger than stated.

    At the last step of the first round, of two clients with these ``weights`` of the server and of F.
    """
    alpha, p = (tuple(map(Fraction, shares)) for shares in weights)
    for term in _lowerable(claim):
        with contextlib.suppress(InputError, ZeroDivisionError):
            places = [*settings(claim, reading, Grid(PLACES, (TAU,), (weights,)))]
            fit = fitted([tight_value(claim, place, term) for place in places])
            stated = split(claim, places[0], term).stated if places else Fraction(0)
            if fit is None or not all(0 < fit.subs(kappa, x) < stated for x in PLACES):
                continue
            share = fit.subs(kappa, s.L / s.mu) / sp.Rational(str(stated))
            whole = replace(
                claim, key=f"{claim.key}-in-kappa", terms={**claim.terms, term: share * claim.terms[term]}
            )
            (anywhere,) = round_settings(claim, TAU - 1, tau=TAU, kappa=ALL, alpha=alpha, p=p, reading=reading.name)
            if examine(whole, anywhere).status is Status.HOLDS:
                where = f"every kappa > 1, {_words(anywhere)}, other terms as stated"
                yield Constants(where, {term: stated}, {term: fit})


def fitted(values: Sequence[float]) -> sp.Expr | None:
    """The simplest rational function of kappa with small coefficients that has these values at `PLACES`.

    >>> fitted([float(2 / (1 + 1 / place)) for place in PLACES])
    2*kappa/(kappa + 1)
    """
    if len(values) < len(PLACES) or not np.isfinite(values).all() or not np.all(values):
        return None
    x, y = np.array([1 / place for place in PLACES]), np.array(values)
    for above, below in DEGREES:
        columns = [x**k for k in range(above + 1)] + [-y * x**k for k in range(1, below + 1)]
        solution = np.linalg.lstsq(np.stack(columns, axis=1), y, rcond=None)[0]
        numbers = [sp.Rational(str(Fraction(float(value)).limit_denominator(LARGEST))) for value in solution]
        both = numbers[: above + 1], [sp.Integer(1), *numbers[above + 1 :]]
        top, bottom = (sum(c / kappa**k for k, c in enumerate(part)) for part in both)
        upper, lower = (sum(float(c) * x**k for k, c in enumerate(part)) for part in both)
        if np.all(np.abs(upper - y * lower) <= FITS * np.abs(y * lower)):
            return sp.factor(top / bottom)
    return None
