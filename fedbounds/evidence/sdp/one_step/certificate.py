"""Certificates: proofs of a one-round inequality at given parameters, verified in exact arithmetic.

A certificate gives rational multipliers lambda_j >= 0 such that, as forms in a Gram matrix and function values,
rhs - lhs = sum_j lambda_j constraint_j + <S, gram> with S positive semidefinite. Constraints are >= 0 on the
class, so lhs <= rhs there. Checking is a linear identity and an LDL^T over the rationals: no solver, no rounding.
Over an interval of kappa or of eta L the same is done with rational functions of it (`functions.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedbounds.errors import InputError, readable
from fedbounds.evidence.sdp.expressions import exact
from fedbounds.evidence.sdp.one_step.intervals import setting_over
from fedbounds.evidence.sdp.one_step.parameters import coefficients
from fedbounds.evidence.sdp.one_step.program import build, entries
from fedbounds.evidence.sdp.rational_functions import Interval, Written, read
from fedbounds.evidence.sdp.verification import verify
from fedbounds.plugins import claims
from fedbounds.theory.claim import Claim

# Numbers of the largest model that is checked: some seconds' work, ten times what any shipped certificate needs.
LARGEST = 500_000


@dataclass(frozen=True)
class Certificate:
    """lhs <= sum_k rhs_k form_k at ``setting``; with ``claim``, rhs is the claim's with terms times ``scale``.

    Numbers are rationals as text; over an ``interval`` also rational functions of its parameter.
    ``name`` tells it from its family; ``note`` is for readers and proves nothing.
    """

    lhs: str
    rhs: Mapping[str, Written]
    setting: Mapping[str, object]
    multipliers: Mapping[str, Written]
    claim: str | None = None
    scale: Mapping[str, Written] = field(default_factory=dict)
    note: Mapping[str, object] = field(default_factory=dict)
    name: str = ""
    interval: Interval | None = None

    def numbers(self, given: Mapping[str, Written]) -> dict[str, Any]:
        """Their values, fractions or functions of the parameter."""
        return {name: read(value, self.interval) for name, value in given.items()}


def check(certificate: Certificate, known: Mapping[str, Claim] | None = None) -> tuple[bool, str]:
    """Whether a certificate proves its inequality, and the first reason why not; ``known`` are the claims by key."""
    try:
        setting = setting_over(certificate.setting, certificate.interval)
        rhs, multipliers = certificate.numbers(certificate.rhs), certificate.numbers(certificate.multipliers)
        if certificate.claim is not None:
            claim = (claims() if known is None else known)[certificate.claim]
            scale = certificate.numbers(certificate.scale)
            if str(claim.lhs) != certificate.lhs or coefficients(claim, setting, scale) != rhs:
                return False, f"this is not the inequality of {certificate.claim}"
        elif certificate.scale:
            return False, "a scale needs the claim that it scales"
        if entries(setting) > LARGEST:
            return False, f"too large: a model of {entries(setting)} numbers, and {LARGEST} are checked at most"
        model = build(setting, exact)
        return verify(model, model.sum(rhs) - model[certificate.lhs], multipliers)
    except (InputError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        return False, f"malformed: {readable(error)}"
