"""Repairs of theorems made false on purpose: is what was there before the slip, or more, among the first three?

    python -m validate.repair --count 30 --seed 11 [--seconds 45] [--hidden]     so much processor time a theorem

A theorem is a shipped, proved claim with one change at random, which an exact instance violates (`specimens`). It
counts as repaired where the shipped claim follows from one of the first three statements shown. Those shown are
attacked with the instances of the same pool: none may be violated. With --hidden the shipped claim itself neither
proves a candidate nor is one.
"""

from __future__ import annotations

import argparse

import numpy as np

from fedbounds.evidence.symbolic import library
from fedbounds.plugins import claims
from fedbounds.referee.case import Stage
from fedbounds.referee.implication import follows
from fedbounds.referee.repair import SECONDS, alternatives
from fedbounds.referee.trial import Trial
from fedbounds.theory.claim import Kind
from fedbounds.theory.verdict import Status
from validate.false_theorems.specimens import Specimen, pool, specimen


def repaired(
    one: Specimen, seconds: float, rng: np.random.Generator, seed: int, hidden: bool = False
) -> tuple[bool, int, list[str]]:
    """Whether the base follows from a statement shown, how many an instance violates, and what is shown."""
    assert one.against is not None
    trial = Trial(one.claim, one.reading.name, "small", 0, (Stage("known", 0.0, (), (one.against,)),), True)
    shipped = {key: claim for key, claim in claims().items() if not hidden or key != one.base.key}
    shown = alternatives(trial, seconds=seconds, shipped=shipped)
    back = any(follows(one.base, one.reading, item.claim, one.reading) for item in shown)
    against = (next(pool(seed, item.claim.steps).against(item.claim, one.reading, rng), None) for item in shown)
    false = sum(verdict is not None for verdict in against)
    return back, false, [f"{item.change}: {item.outcome}" for item in shown]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m validate.repair", description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="theorems")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="processor seconds a theorem")
    parser.add_argument("--hidden", action="store_true", help="without the claim that was slipped")
    chosen = parser.parse_args()
    rng, back, violated, tried, k = np.random.default_rng(chosen.seed), 0, 0, 0, 0
    while tried < chosen.count:
        one = specimen(chosen.seed, k)
        k += 1
        proof = library.examine(one.base, one.reading)
        if one.true or one.base.kind is not Kind.INEQUALITY or proof is None or proof.status is not Status.HOLDS:
            continue
        restored, false, shown = repaired(one, chosen.seconds, rng, chosen.seed, chosen.hidden)
        tried, back, violated = tried + 1, back + restored, violated + false
        print(
            f"{one.base.key} [{one.reading.name}], {one.change}: {'restored' if restored else 'not restored'}",
            flush=True,
        )
        for line in shown:
            print(f"    {line}", flush=True)
    print(f"restored {back} of {tried}; {violated} of the statements shown are violated by an instance of the pool")


if __name__ == "__main__":
    main()
