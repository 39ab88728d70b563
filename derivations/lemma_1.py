"""Lemma 1: a gradient step of an L-smooth function cannot go below its minimum."""

from fedbounds.evidence.symbolic.derivation import Derivation, step
from fedbounds.evidence.symbolic.setting import Y
from fedbounds.theory.symbols import L

from ._setting import claim, client_gap

CLAIM = claim("lemma-1")

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
                *((2 * L, fact) for fact in client_gap(Y)),
                note="F_i* is at most F_i(w - grad F_i(w)/L), which is at most F_i(w) - ||grad F_i(w)||^2/(2L)",
            ),
        ),
        findings=(
            "The proof leaves the point w for w - grad F_i(w)/L: F_i must be smooth, and above F_i*, there too.",
        ),
    ),
)
