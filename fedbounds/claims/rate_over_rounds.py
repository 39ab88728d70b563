"""Rounds of FedAvg at a constant step of at most 1/L, by contraction and by the exact push of a round.

The proof stands in `derivations/proofs/push.md`.
"""

from dataclasses import replace

from fedbounds.claims.rounds_at_constant_step import CONDITIONS, CONTRACTION, KEPT
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import *

PUSHED: Claim = replace(
    CONTRACTION,
    key="fedavg-push",
    title="Rounds of FedAvg at a step of at most 1/L, by the exact push of a round",
    source="This package (proof in derivations/proofs/push.md)",
    assumptions=(*CONDITIONS, a.full_gradients, a.small_steps),
    definitions={push: ((1 - KEPT**tau) / mu - (1 - (1 - eta_0 * L) ** tau) / L) / 2},
    remark="One round from w* attains it where no weight exceeds 1/2. It is never above fedavg-contraction: the same "
    "at tau = 2 and, with many local steps and L much larger than mu, a quarter of its drift. The proof is text; its "
    "multipliers and its recursions are tested.",
)
CLAIMS = (PUSHED,)
