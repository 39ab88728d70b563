"""Instances known to the package: whether any meets all that a claim assumes, so that the claim is not empty."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from fedbounds.errors import InputError
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.exact.compare import judge_assumptions
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.outcomes import run
from fedbounds.evidence.exact.record import ExactRun
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading

ONE, HALF = Fraction(1), Fraction(1, 2)
# Curvatures and minima of two clients on the line, or of one in the plane; p_1; weighting; eta L; gradients' noise.
CURVATURES = ((ONE, ONE), (ONE, 2 * ONE))
MINIMA = ((ONE, -ONE), (ONE, ONE))
SHARES = (HALF, Fraction(1, 4))
WEIGHTINGS = ("fedavg", "fedmax", "fixed")
STEPS = (Fraction(1, 100), HALF, Fraction(5, 2))
ROUNDS = ((1, 2), (2, 1))


def meeting(claim: Claim, reading: Reading) -> Instance | None:
    """The first instance known here that meets every assumption of the claim that fractions can express, if any."""
    for instance in _instances():
        try:
            record = _run(_with_steps(instance, claim))
            if not judge_assumptions(claim, record, reading)[0]:
                return record.instance
        except InputError:  # the claim's step size is no positive fraction here
            continue
    return None


def _with_steps(instance: Instance, claim: Claim) -> Instance:
    if claim.steps is None:
        return instance
    values = {"L": instance.L, "mu": instance.mu, "tau": Fraction(instance.tau), "N": Fraction(instance.N)}
    values["eta_0"] = instance.eta[0]
    sizes = (rational(claim.steps, values | {"t": Fraction(t)}) or Fraction(0) for t in range(instance.total))
    return instance.with_(eta=tuple(sizes))


@lru_cache(maxsize=1024)
def _run(instance: Instance) -> ExactRun:
    return run(instance)


def _instances() -> Iterator[Instance]:
    shapes = itertools.product((False, True), STEPS, CURVATURES, ROUNDS)
    for noisy, size, curvatures, (tau, rounds) in shapes:
        eta = (size / max(curvatures),) * (tau * rounds)
        for share, minima, weighting in itertools.product(SHARES, MINIMA, WEIGHTINGS):
            yield Instance(
                tuple((c,) for c in curvatures),
                tuple((m,) for m in minima),
                p=(share, 1 - share),
                w0=(2 * ONE,),
                eta=eta,
                tau=tau,
                weighting=weighting,
                weights=((Fraction(1, 3), Fraction(2, 3)),) if weighting == "fixed" else (),
                noise=(ONE, HALF) if noisy else (),
            )
        noise = (ONE,) if noisy else ()
        yield Instance((curvatures,), (MINIMA[0],), (ONE,), (2 * ONE, ONE), eta, tau, "fedavg", noise=noise)
