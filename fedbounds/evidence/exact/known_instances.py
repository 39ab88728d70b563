"""Instances known to the package: whether any meets all that a claim assumes, so that the claim is not empty."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.evidence.exact.compare import judge_assumptions
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

ONE, HALF = Fraction(1), Fraction(1, 2)
# Two clients on the line: curvatures and minima; p_1; weighting.
CURVATURES = ((ONE, ONE), (ONE, 2 * ONE))
MINIMA = ((ONE, -ONE), (ONE, ONE))
SHARES = (HALF, Fraction(1, 4))
WEIGHTINGS = ("fedavg", "fedmax", "fixed")
# Clients of equal weight in the plane: how many, and kappa.
CLIENTS, KAPPAS = (1, 2, 3), (1, 2, 16)
# Of all: eta L, (tau, rounds). Where a claim leaves the gamma of its steps open, it is so many times kappa tau.
STEPS = (Fraction(1, 100), HALF, Fraction(5, 2), ONE)
ROUNDS = ((1, 2), (2, 1), (4, 1))
LATE = 64
# Coins of a noisy instance: each doubles the outcomes of its run.
COINS = 6


def meeting(claim: Claim, reading: Reading) -> Instance | None:
    """The first instance known here that meets every assumption of the claim that fractions can express, if any."""
    for instance in _instances():
        try:
            record = _run(with_steps(instance, claim.steps, gamma=LATE * instance.L / instance.mu * instance.tau))
            if not judge_assumptions(claim, record, reading)[0]:
                return record.instance
        except (InputError, Undecided):  # the claim's step size is no positive number here, or a root
            continue
    return None


@lru_cache(maxsize=1024)
def _run(instance: Instance) -> ExactRun:
    return run(instance)


def _instances() -> Iterator[Instance]:
    for noisy, size, (tau, rounds) in itertools.product((False, True), STEPS, ROUNDS):
        eta, most = (size,) * (tau * rounds), COINS // (tau * rounds) if noisy else max(CLIENTS)
        shapes = itertools.product(CURVATURES, SHARES, MINIMA, WEIGHTINGS) if most >= 2 else ()
        for curvatures, share, minima, weighting in shapes:
            yield Instance(
                tuple((c,) for c in curvatures),
                tuple((m,) for m in minima),
                p=(share, 1 - share),
                w0=(2 * ONE,),
                eta=tuple(item / max(curvatures) for item in eta),
                tau=tau,
                weighting=weighting,
                weights=((Fraction(1, 3), Fraction(2, 3)),) if weighting == "fixed" else (),
                noise=(ONE, HALF) if noisy else (),
            )
        for clients, kappa in itertools.product((n for n in CLIENTS if n <= most), KAPPAS):
            yield Instance(
                ((ONE, ONE / kappa),) * clients,
                tuple((ONE * k, -ONE) for k in range(clients)),
                p=(ONE / clients,) * clients,
                w0=(2 * ONE, ONE),
                eta=eta,
                tau=tau,
                weighting="fedavg",
                noise=(ONE,) * clients if noisy else (),
            )
