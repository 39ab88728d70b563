"""The smallest constant of a term as a function of kappa: fitted to the solver's at some kappa, proved for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.coverage import round_settings
from fedbounds.evidence.sdp.one_step.parameters import Setting
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight_value
from fedbounds.evidence.sdp.one_step.verdict import examine
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status

kappa = sp.Symbol("kappa", positive=True)
# Where constants are looked up, and for which they are proved.
PLACES, ALL = tuple(map(Fraction, ("2", "5/2", "3", "4", "5", "6", "8", "10", "15", "20", "40", "100"))), "1..inf"
# Degrees of numerator and denominator in 1/kappa, the simplest first.
DEGREES = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2))
# How near a fit must come to the solver's values, relative to them; and denominators of its coefficients.
FITS, LARGEST = 1e-8, 64


@dataclass(frozen=True)
class Curve:
    """The smallest ``constant`` of a term, in kappa, while the others are as ``stated``."""

    where: str
    term: str
    stated: Fraction
    constant: sp.Expr

    def __str__(self) -> str:
        """A line of a table."""
        return f"{self.where}: {self.term} {self.constant} (of {self.stated}), the others as stated"

    def to_json(self) -> dict[str, object]:
        """The function as a JSON object."""
        of = {"stated": str(self.stated), "certified": str(self.constant)}
        return {"where": self.where, "constants": {self.term: of}}


def curves(claim: Claim, reading: Reading, tau: int, weights: Sequence[tuple[Fraction, ...]]) -> Iterator[Curve]:
    """The constants that are a simple function of kappa and are proved for every kappa > 1, as no larger than stated.

    At the last step of the first round of ``tau``, of two clients of equal p with these ``weights`` of the server.
    """
    for alpha in weights:
        for term in (name for name in claim.terms if name != "contraction"):
            try:
                settings = [_setting(claim, reading, tau, alpha, place) for place in PLACES]
                stated = split(claim, settings[0], term).stated
                fit = fitted([tight_value(claim, place, term) for place in settings])
                if fit is None or stated <= 0 or not _smaller(fit, stated):
                    continue
                changed = fit.subs(kappa, s.L / s.mu) / sp.Rational(stated.numerator, stated.denominator)
                terms = {**claim.terms, term: changed * claim.terms[term]}
                lowered = replace(claim, key=f"{claim.key}-in-kappa", terms=terms)
                whole = _setting(claim, reading, tau, alpha, ALL)
                if examine(lowered, whole).status is Status.HOLDS:
                    where = f"every kappa > 1, tau = {tau}, alpha = ({', '.join(map(str, alpha))})"
                    yield Curve(where, term, stated, fit)
            except (InputError, ZeroDivisionError):
                continue


def _setting(claim: Claim, reading: Reading, tau: int, alpha: tuple[Fraction, ...], place: object) -> Setting:
    p = (Fraction(1, 2),) * 2
    return next(round_settings(claim, tau - 1, tau=tau, kappa=place, alpha=alpha, p=p, reading=reading.name))


def _smaller(fit: sp.Expr, stated: Fraction) -> bool:
    """Whether a function is below a constant at every place, and not 0."""
    return all(0 < fit.subs(kappa, sp.Rational(*place.as_integer_ratio())) < stated for place in PLACES)


def fitted(values: Sequence[float]) -> sp.Expr | None:
    """The simplest rational function of kappa with small coefficients that has these values at `PLACES`.

    >>> fitted([float(2 / (1 + 1 / place)) for place in PLACES])
    2*kappa/(kappa + 1)
    """
    if not np.isfinite(values).all() or not np.all(values):
        return None
    x, y = np.array([float(1 / place) for place in PLACES]), np.array(values)
    for above, below in DEGREES:
        columns = [x**k for k in range(above + 1)] + [-y * x**k for k in range(1, below + 1)]
        solution = np.linalg.lstsq(np.stack(columns, axis=1), y, rcond=None)[0]
        numbers = [Fraction(float(value)).limit_denominator(LARGEST) for value in solution]
        top, bottom = numbers[: above + 1], [Fraction(1), *numbers[above + 1 :]]
        upper, lower = (sum(float(c) * x**k for k, c in enumerate(part)) for part in (top, bottom))
        if np.all(np.abs(upper - y * lower) <= FITS * np.abs(y * lower)):
            parts = (
                sum(sp.Rational(c.numerator, c.denominator) / kappa**k for k, c in enumerate(part))
                for part in (top, bottom)
            )
            return sp.factor(next(parts) / next(parts))
    return None
