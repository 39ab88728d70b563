"""Tight constants: the smallest that make a one-round claim true over the whole class, term by term."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.evidence.sdp.one_step.parameters import FORMS, FREE_BIAS, Setting, written_by
from fedbounds.evidence.sdp.one_step.right_hand_side import coefficients, term_form
from fedbounds.evidence.sdp.one_step.verdict import VIOLATION, certify, certify_form, round_model
from fedbounds.evidence.sdp.solver import Solved, worst_case
from fedbounds.theory.claim import Claim

# How far above the solver's tight constant a rational proof is sought, relative to max(1, |constant|).
HEADROOM = (Fraction(1, 10**6), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1, 10**3), Fraction(1, 100))
# Digits of a certified constant.
DIGITS = 7
# Along what constants are found, and where.
CURVES: dict[str, tuple[int, ...]] = {
    "kappa": (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000),
    "tau": (1, 2, 3, 4, 5, 6),
    "start": (0, 10, 100, 1000, 10000),
    "clients": (2, 3, 4, 5, 6),
}


@dataclass(frozen=True)
class TightConstant:
    """The smallest constant of one term at a setting, the others as stated; of a contraction the largest.

    ``stated`` is the claim's own, ``solver`` the floating-point optimum (inf where none is enough, negative or 0
    where the term is not needed), ``certified`` one just beside it that is proved by ``certificate``.
    """

    claim: str
    term: str
    stated: float
    solver: float
    certified: Fraction | None = None
    certificate: Certificate | None = None

    @property
    def needed(self) -> bool:
        """Whether the claim fails without the term."""
        return self.solver > VIOLATION

    @property
    def ratio(self) -> float | None:
        """By which factor the stated constant could be better; None where the term is not needed."""
        if not self.certified or not self.stated:
            return None
        better = float(self.certified) / self.stated
        return None if better <= 0 else better if self.term == "contraction" else 1 / better


def tight_value(claim: Claim, setting: Setting, term: str) -> float:
    """The tight constant of a term in floating point: sup (lhs - the other terms) / what it multiplies.

    inf where no constant is enough, nan where the solver was not accurate or the term is 0 on the whole class.
    """
    parts = split(claim, setting, term)
    if not any(parts.direction.values()):
        return math.nan
    model = round_model(claim, setting)
    objective = model[str(claim.lhs)] - model.sum(parts.rest)
    solution = worst_case(model, objective, [model.sum(parts.direction)])
    value = {Solved.OPTIMAL: solution.value, Solved.UNBOUNDED: math.inf}.get(solution.outcome, math.nan)
    return parts.sign * value


def tight(claim: Claim, setting: Setting, term: str) -> TightConstant:
    """The tight constant of a term at a setting, with a rational certificate just beside it.

    ``term`` contraction is read as 1 - eta mu (1 + b rho_bar): the largest b, whatever the claim's own form.
    """
    parts, solver = split(claim, setting, term), tight_value(claim, setting, term)
    result = TightConstant(claim.key, term, float(parts.stated), solver)
    if not math.isfinite(solver):
        return result
    lhs, scaled, factor = str(claim.lhs), parts.sign > 0, parts.sign * solver
    candidates = [Fraction(0)] * (scaled and factor <= VIOLATION) + [_ceiling(factor, margin) for margin in HEADROOM]
    for candidate in candidates:
        key, scale = (claim.key, {term: candidate / parts.stated}) if scaled else (None, None)
        constant = parts.sign * candidate
        note = {"claim": claim.key, "term": term, "solver": solver, "certified": str(constant)}
        certificate = certify_form(
            lhs, parts.rhs(constant), setting, key, scale, note, written=written_by(claim, setting.how)
        )
        if certificate is not None:
            return replace(result, certified=constant, certificate=certificate)
    if not scaled:
        return result
    # Where the claim itself is tight, its proofs have no room beside it, but it may be proved as stated; else other
    # kinds of proof may find what these do not.
    beside = _ceiling(factor, HEADROOM[1])
    for constant in (parts.stated, beside) if factor <= parts.stated <= _ceiling(factor, HEADROOM[-1]) else (beside,):
        if (certificate := certify(claim, setting, {term: constant / parts.stated})) is not None:
            return replace(result, certified=constant, certificate=certificate)
    return result


def _ceiling(value: float, headroom: Fraction) -> Fraction:
    """A short decimal a little above ``value``."""
    raised = value + float(headroom) * max(1.0, abs(value))
    digits = DIGITS - (math.floor(math.log10(abs(raised))) if raised else 0)
    return Fraction(math.ceil(raised * 10.0**digits), 1) / Fraction(10) ** digits


@dataclass(frozen=True)
class Split:
    """rhs = rest + sign * constant * direction, ``stated`` being the claim's own constant."""

    stated: Fraction
    sign: int
    direction: dict[str, Fraction]
    rest: dict[str, Fraction]

    def rhs(self, constant: Fraction) -> dict[str, Fraction]:
        """The right-hand side with this constant: form -> its coefficient, where that is not 0."""
        none, scale = Fraction(0), self.sign * constant
        names = (*FORMS, FREE_BIAS, *self.rest, *self.direction)
        every = {k: self.rest.get(k, none) + scale * self.direction.get(k, none) for k in dict.fromkeys(names)}
        return {k: v for k, v in every.items() if v}


def _require_contraction(claim: Claim, setting: Setting) -> None:
    """Raise unless the term contraction is the one with Delta, and has nothing else."""
    forms = {term: term_form(claim, setting, term).keys() for term in claim.terms}
    if forms["contraction"] != {"Delta"} or sum("Delta" in form for form in forms.values()) > 1:
        what = f"the term contraction of {claim.key} must be a multiple of Delta, and no other have Delta"
        raise reject(what, claim.terms["contraction"], "give the term another name")


def split(claim: Claim, setting: Setting, term: str) -> Split:
    """A claim's right-hand side taken apart at one term: its leading number, what it multiplies, and the rest."""
    whole = coefficients(claim, setting)
    if term == "contraction":
        _require_contraction(claim, setting)
        flat, unit = 1 - setting.eta[-1] * setting.mu, setting.eta[-1] * setting.mu * setting.rho_bar
        stated = (flat - whole["Delta"]) / unit if unit else Fraction(0)
        return Split(stated, -1, {"Delta": unit}, {**whole, "Delta": flat})
    form, number = term_form(claim, setting, term), sp.sympify(claim.terms[term]).as_coeff_Mul()[0]
    stated = Fraction(int(number.p), int(number.q))
    rest = {k: v - form.get(k, Fraction(0)) for k, v in whole.items()}
    return Split(stated, 1, {k: v / stated for k, v in form.items()}, rest)
