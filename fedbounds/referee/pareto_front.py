"""How small the constants of a claim's terms can be together, at one setting, each point certified over the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.one_step.coverage import own_setting
from fedbounds.evidence.sdp.one_step.parameters import Setting, applies, round_setting
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight
from fedbounds.referee.constants_in_kappa import Curve, curves
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

HALF = Fraction(1, 2)
# Where fronts are looked for: weights of the server and of F.
WEIGHTS = ((HALF, HALF), (Fraction(9, 10), Fraction(1, 10)))
KAPPA, TAU = 10, 3
# What is smaller by less counts as tight.
NEAR = Fraction(1, 1000)


@dataclass(frozen=True)
class Point:
    """The constant of each term at a setting, certified together: none can be smaller while the others stay."""

    where: str
    stated: Mapping[str, Fraction]
    constants: Mapping[str, Fraction]

    def __str__(self) -> str:
        """A line of a table."""
        stated = self.stated
        words = {name: f" {float(value):.4g} (of {stated[name]})" for name, value in self.constants.items()}
        words |= {name: " as stated" for name, value in self.constants.items() if value == stated[name]}
        numbers = (name + text for name, text in words.items())
        return f"{self.where}: {', '.join(numbers)}"

    def to_json(self) -> dict[str, Any]:
        """The point as a JSON object, its numbers as fractions."""
        numbers = {
            name: {"stated": str(self.stated[name]), "certified": str(x)} for name, x in self.constants.items()
        }
        return {"where": self.where, "constants": numbers}


Line = Point | Curve


def front(claim: Claim, reading: Reading) -> Iterator[Line]:
    """Points of the Pareto front: one term is lowered as far as is certified, then each of the others in turn.

    Then the constants of one term that are a simple function of kappa. Contractions stay as they are. Nothing of what
    is no statement of one step in the certificates' quantities.
    """
    if not applies(claim, reading):
        return
    for alpha in WEIGHTS:
        try:
            setting = own_setting(
                claim, round_setting(tau=TAU, kappa=KAPPA, alpha=alpha, p=WEIGHTS[0], reading=reading.name)
            )
            every = {name: split(claim, setting, name).stated for name in claim.terms if name != "contraction"}
        except (InputError, ZeroDivisionError):
            continue
        where = f"kappa = {KAPPA}, tau = {TAU}, alpha = ({', '.join(map(str, alpha))})"
        stated = {name: number for name, number in every.items() if number > 0}
        names, seen = [*stated], list[Mapping[str, Fraction]]()
        for k in range(len(names)):
            constants = lowered(claim, setting, stated, (*names[k:], *names[:k]))
            if constants and constants not in seen:
                seen.append(constants)
                yield Point(where, stated, constants)
    yield from curves(claim, reading, TAU, WEIGHTS)


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
