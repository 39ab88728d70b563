"""Lemma 1: a gradient step of an L-smooth function cannot go below its minimum."""

from ._setting import *

CLAIM = claim("lemma-1")

DERIVATIONS = (
    proof(
        CLAIM,
        "Smoothness bounds the gradient",
        steps=(
            conclude(CLAIM).by(
                *((2 * L, fact) for fact in client_gap(Y)),
                note="F_i* is at most F_i(w - grad F_i(w)/L), which is at most F_i(w) - ||grad F_i(w)||^2/(2L)",
            ),
        ),
        findings=(
            "The proof leaves the point w for w - grad F_i(w)/L: F_i must be smooth, and above F_i*, there too.",
        ),
    ),
)
