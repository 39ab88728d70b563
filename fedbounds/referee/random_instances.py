"""Small random instances in fractions for a claim, and variations of one: the battery is fixed."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction as Q

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.referee.limit_cases import in_reach
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage

# An instance has at most so many outcomes of chance.
OUTCOMES = 2**10
# What a known instance is varied by: its steps times these, over so many times its rounds.
SHARES, LONGER = (Q(1), Q(1, 2), Q(1, 4), Q(1, 8)), (1, 2, 4)
# Steps in units of 1/L, and how much the last one of a round falls. Curvatures, noise, and raw weights.
MULTIPLES, FALLS = (Q(1), Q(1, 2), Q(1, 4), Q(1, 10), Q(3, 2), Q(2)), (Q(1), Q(1), Q(1, 2), Q(1, 20))
CURVATURES, NOISES, WEIGHTS = (Q(1), Q(1), Q(2), Q(10), Q(100)), (Q(0), Q(1), Q(4)), (Q(1), Q(1), Q(3), Q(1, 50))


def variations(claim: Claim, known: Iterable[Instance]) -> Iterator[Instance]:
    """Known instances with shorter steps, over more rounds."""
    for instance, longer, share in itertools.product(known, LONGER, SHARES):
        eta = tuple(share * step for step in instance.eta) * longer
        weights = instance.weights * longer if len(instance.weights) == instance.rounds else instance.weights
        with contextlib.suppress(InputError, KeyError):
            varied = with_steps(instance.with_(eta=eta, weights=weights), claim.steps)
            if not varied.chance.too_many(OUTCOMES):
                yield varied


def random_instances(claim: Claim, claimed: Coverage, rng: np.random.Generator) -> Iterator[Instance]:
    """Without end; those that a coverage leaves out by their sizes are not among them."""
    while True:
        with contextlib.suppress(InputError, KeyError):
            instance = with_steps(_any(claim, rng), claim.steps)
            if in_reach(claimed, instance) and not instance.chance.too_many(OUTCOMES):
                yield instance


def _any(claim: Claim, rng: np.random.Generator) -> Instance:
    """Clients that are alike or not, steps up to the edge, starts at w*, noise, absent clients."""

    def some(values: Sequence[Q]) -> Q:
        return values[int(rng.integers(len(values)))]

    def rows(alike: bool, make: list[Q]) -> tuple[tuple[Q, ...], ...]:
        return (tuple(make[:d]),) * N if alike else tuple(tuple(make[k * d : k * d + d]) for k in range(N))

    N, d = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    tau = int(rng.integers(1, 4)) if claim.scope != "horizon" or rng.random() < 0.5 else 1
    rounds = int(rng.choice([1, 2, 3, 4, 8])) if claim.scope == "horizon" else int(rng.choice([1, 1, 2]))
    alike, centred, equal, noisy, absent = rng.random(5) < (0.4, 0.4, 0.5, 0.5, 0.4)
    curvatures = rows(bool(alike), [some(CURVATURES) for _ in range(N * d)])
    minima = rows(bool(centred), [Q(int(x), 2) for x in rng.integers(-4, 5, N * d)])
    raw = [Q(1) if equal else some(WEIGHTS) for _ in range(N)]
    top, low = (pick(pick(row) for row in curvatures) for pick in (max, min))
    first = some([*(multiple / top for multiple in MULTIPLES), 2 / (top + low), 1 / (top + low)])
    fall = some(FALLS) if claim.steps is None else Q(1)
    made = Instance(
        curvatures=curvatures, minima=minima, p=tuple(x / sum(raw) for x in raw),
        w0=tuple(Q(int(x), 2) for x in rng.integers(-6, 7, d)),
        eta=tuple(first * (fall if k == tau - 1 > 0 else 1) for _ in range(rounds) for k in range(tau)), tau=tau,
        weighting="fedavg" if absent or rng.random() < 0.6 else str(rng.choice(["fedmax", f"fedmax:{N}"])),
        noise=tuple(some(NOISES) for _ in range(N)) if noisy else (),
        present=int(rng.integers(1, N + 1)) if absent else 0,
    )  # fmt: skip
    return made.with_(w0=made.argmin(made.p)) if rng.random() < 0.3 else made
