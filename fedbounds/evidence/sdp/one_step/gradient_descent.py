"""Which claims are about gradient descent, whose T steps are the round of a single client."""

from __future__ import annotations

from fedbounds.theory import assumptions as shipped
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import eta_0

OF_A_RUN = {"Delta_0", "T", "eta_0", "L", "mu"}


def descends(claim: Claim, reading: Reading) -> bool:
    """Whether a claim bounds F(w_T) - F* of gradient descent: one exact local step by all, alpha = p."""
    parts = [part for assumption in claim.assumptions for part in assumption.parts]
    one_step = any(part.sign == "=" and {str(part.left), str(part.right)} == {"tau", "1"} for part in parts)
    needed = {shipped.full_participation, shipped.unbiased, shipped.full_gradients} <= set(claim.assumptions)
    symbols = {s.name for term in claim.sides(reading).terms.values() for s in term.free_symbols}
    about = claim.on_fedavg and claim.kind is Kind.INEQUALITY and (str(claim.lhs), claim.eta) == ("gap", eta_0)
    return about and one_step and needed and symbols <= OF_A_RUN
