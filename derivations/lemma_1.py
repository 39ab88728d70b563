"""Lemma 1: a gradient step of an L-smooth function cannot go below its minimum."""

from fedbounds.evidence.symbolic.algebra import norm_sq
from fedbounds.evidence.symbolic.derivation import Derivation, step
from fedbounds.theory.symbols import L, excess, grad_sq

from ._setting import E_W, GRAD_W, HERE, NOTATION, SKEWS, claim, client_gap

CLAIM = claim("lemma-1")
DESCENT, ABOVE = client_gap("F_w_below", HERE)

DERIVATIONS = (
    Derivation(
        key="lemma-1",
        title="Smoothness bounds the gradient",
        claim="lemma-1",
        readings=("literal",),
        steps=(
            step(
                "conclude",
                CLAIM.lhs,
                "<=",
                CLAIM.rhs,
                (2 * L, DESCENT),
                (2 * L, ABOVE),
                note="F_i* is at most F_i(w - grad F_i(w)/L), which is at most F_i(w) - ||grad F_i(w)||^2/(2L)",
            ),
        ),
        meaning={grad_sq: norm_sq(GRAD_W), excess: E_W},
        setting=SKEWS,
        notation=NOTATION | {"w": "w", "grad_w": r"\nabla F_i(w)", "F_w": "F_i(w)"},
        findings=(
            "The proof leaves the point w for w - grad F_i(w)/L: F_i must be smooth, and above F_i*, there too.",
        ),
    ),
)
