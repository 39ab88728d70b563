"""Lemma 1: the squared gradient norm of an L-smooth function is at most 2L times its gap."""

from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Role
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
CLAIMS = (LEMMA_1,)
