"""Lemma 1 bounds a squared gradient by the gap, Lemma 2 how far the local models drift from the virtual iterate."""

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Repair, Role
from fedbounds.theory.symbols import *

LEMMA_1 = Claim(
    key="lemma-1",
    title="Smoothness bounds the gradient",
    source="Lemma 1",
    scope="point",
    lhs=grad_sq,
    terms={"gap": 2 * L * excess},
    assumptions=(a.smooth,),
    readings=("literal",),
    roles=(Role.HEADLINE,),
    remark="True on all of R^d; false where f is only known on a restricted domain.",
)
LEMMA_2 = Claim(
    key="lemma-2",
    title="Discrepancy of the local models",
    source="Lemma 2",
    scope="step",
    lhs=drift,
    terms={"drift": 16 * eta**2 * tau**2 * G_sq},
    assumptions=(a.bounded_gradient, a.full_participation),
    readings=("literal", "repaired"),
    repair=Repair("a step may be bounded by a later eta_t only if steps shrink slowly", (a.slow_decay,)),
    roles=(Role.YARDSTICK, Role.HEADLINE),
)
CLAIMS = (LEMMA_1, LEMMA_2)
