"""A claim about whole rounds as the claim about every step T whose case T = R tau it is."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim

R, T, tau = sy.R, sy.T, sy.tau
# What is measured after R rounds, and the same at step T.
AT_STEP = {sy.Delta_round: sy.Delta_T, sy.gap_round: sy.gap}


def at_every_step(claim: Claim) -> Claim | None:
    """The claim with T for R tau, which implies it; None where it speaks of more that varies in time than R."""
    if claim.scope != "horizon" or claim.lhs not in AT_STEP or claim.repair is not None:
        return None
    terms = {name: _joined(sp.sympify(term)).xreplace({R: T / tau}) for name, term in claim.terms.items()}
    varying = {s for term in claim.terms.values() for s in sp.sympify(term).free_symbols if _varies(s)}
    back = all(
        sp.expand(_joined(term.xreplace({T: R * tau}) - _joined(sp.sympify(claim.terms[name])))) == 0
        for name, term in terms.items()
    )
    return replace(claim, lhs=AT_STEP[claim.lhs], terms=terms) if varying <= {R} and back else None


def _varies(symbol: sp.Basic) -> bool:
    """Whether a symbol may differ between the steps of a run."""
    return symbol in (sy.t, T, sy.eta) or getattr(symbol, "statistic", "") in ("measured", "scheduled")


def _joined(expression: sp.Expr) -> sp.Expr:
    """(x^a)^b as x^(a b), which it is for whole numbers a and b: products of whole numbers, R and tau."""

    def of_powers(power: sp.Basic) -> bool:
        return (
            isinstance(power, sp.Pow)
            and isinstance(power.base, sp.Pow)
            and whole(power.exp)
            and whole(power.base.exp)
        )

    def whole(exponent: sp.Expr) -> bool:
        factors = sp.Mul.make_args(exponent)
        return all(factor in (R, tau) or (factor.is_Integer and factor > 0) for factor in factors)

    return expression.replace(of_powers, lambda power: power.base.base ** (power.base.exp * power.exp))
