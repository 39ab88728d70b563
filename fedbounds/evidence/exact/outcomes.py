"""Algorithm 1 on a small federated problem in exact rational arithmetic: no rounding, no sampling, no solver.

A long run may double the digits of its fractions with every step. It is then taken in ball arithmetic, as rigorously:
every number is enclosed, and a comparison that the enclosures do not decide is asked again in twice as many bits.

Every outcome of the noise and of who takes part is enumerated, so expectations are exact too. Where there are too
many, one round needs those of `few_paths`, and a run that is linear in the noise 2 N T + 1 paths: for independent
xi_j of mean 0 and variance 1 and a quadratic q,
    E q(m + sum_j xi_j v_j) = q(m) + sum_j (q(m + v_j)/2 + q(m - v_j)/2 - q(m)).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedbounds.engine.reference import Step, algorithm_1
from fedbounds.errors import InputError, reject
from fedbounds.evidence.ball_arithmetic import Ball, Undecided, enclosed, in_bits
from fedbounds.evidence.exact.few_paths import field_size, pairwise_shocks
from fedbounds.evidence.exact.instance import Instance, array
from fedbounds.evidence.exact.measure import Measured, stretches
from fedbounds.evidence.exact.quadratics import Numbers, Quadratics, single_shocks
from fedbounds.evidence.exact.record import ExactRun
from fedbounds.model.weighting import Weighting
from fedbounds.weightings.multinomial import Multinomial

# Outcomes enumerated at most: 2^(N T) grows fast, and a larger tree is a simulation's job.
MAX_OUTCOMES = 2**15
# Long runs may double the digits of their numbers with every step: beyond this many bits they are taken in balls.
MAX_BITS = 2**13
# Bits of the balls: twice as many each time, to the last, which is enough for a contraction by half over 2000 steps.
BITS = (2**9, 2**10, 2**11, 2**12, 2**13)


class TooLong(InputError):
    """The fractions of a run have too many digits."""


def runs(instance: Instance, most: int = MAX_OUTCOMES) -> Iterator[ExactRun]:
    """The run in fractions; where these grow too long, the runs in balls of each of BITS.

    Raises InputError if there are too many outcomes, or too many digits for balls too.
    """
    try:
        yield run(instance, most)
        return
    except TooLong as error:
        too_long = error
    result = False
    for bits in BITS:
        record = None
        with contextlib.suppress(Undecided, InputError):  # a weighting may have values in fractions alone
            record = run(instance, most, bits)
        if record is not None:
            result = True
            yield record
    if not result:
        raise too_long


def run(instance: Instance, most: int = MAX_OUTCOMES, bits: int = 0) -> ExactRun:
    """Run Algorithm 1 exactly: over every outcome, or beyond ``most`` of them over 2 N T + 1 paths of a linear run.

    In balls of so many ``bits``, unless 0. Raises InputError if there are too many outcomes, or too many digits, and
    Undecided where balls do not tell which client's loss is the largest.
    """
    if bits:
        with in_bits(bits):
            eta = array([[Ball(enclosed(size)) for size in instance.eta]])
            return replace(_run(instance, most, eta), bits=bits)
    return _run(instance, most, array([instance.eta]))


def _run(instance: Instance, most: int, eta: Numbers) -> ExactRun:
    if instance.outcomes <= most:
        steps, odds = enumerated(instance, eta)
        return _record(instance, steps, odds, enumerable=True)
    if linear(instance):
        return _record(instance, *along_paths(instance, eta), enumerable=False)
    if pairwise(instance):
        return _record(instance, *along_pairs(instance, eta), enumerable=False)
    raise reject(
        "an exact run enumerates every outcome of the noise and of who takes part",
        f"{instance.outcomes} outcomes: {instance.total} steps, {instance.selections} sets of clients a round",
        f"keep 2^(clients * steps) * sets^rounds at most {most}",
    )


def linear(instance: Instance) -> bool:
    """Whether every local model is its mean plus a sum of the shocks so far with factors that are not negative."""
    steepest = max(row[0] for row in instance.curvatures)
    return (
        instance.weighting == "fedavg"
        and instance.present == instance.N
        and instance.plain
        and max(instance.eta) * steepest <= 1
    )


def enumerated(instance: Instance, eta: Numbers) -> tuple[list[Step], list[Numbers]]:
    """The steps of a run that holds every outcome, and the outcomes' probabilities before each."""
    losses, shocks, chances = _population(instance), *_shocks(instance)
    if len(chances) > 1:
        losses = replace(losses, shocks=shocks)
    rule, groups, odds_of_group = _selected(instance)

    def participants(r: int, gaps: Numbers) -> Numbers:
        return groups.reshape(len(groups), *(1,) * (gaps.ndim - 1), instance.N)

    steps = _checked(instance, losses, eta, participants if len(groups) > 1 else None, rule)
    odds, before = [], array([Fraction(1)])
    for t in range(instance.total + 1):
        if t % instance.tau == 0 and t < instance.total:
            before = np.outer(odds_of_group, before).ravel()
        odds.append(before)
        before = np.outer(chances, before).ravel() if t < instance.total else before
    return steps, odds


def _selected(instance: Instance) -> tuple[Weighting, Numbers, Numbers]:
    """The weighting, and of a round's choices who takes part (K, N) and their probabilities (K,)."""
    if isinstance(instance.rule, Multinomial):
        rule, chances = instance.rule.enumerated(array(instance.p))
        return rule, np.ones((len(chances), instance.N), dtype=bool), chances
    groups = np.array([[i in group for i in range(instance.N)] for group in instance.groups])
    return instance.rule, groups, array([Fraction(1, len(groups))] * len(groups))


def _shocks(instance: Instance) -> tuple[Numbers, Numbers]:
    """The outcomes (M, N) of the noise xi of a step, 0 where a client has none, and their probabilities (M,)."""
    u = instance.rare
    values = ((u, 1 / (1 + u**2)), (-1 / u, u**2 / (1 + u**2)))
    noisy = [s != 0 or r != 0 for s, r in zip(instance.noise, instance.growth, strict=True)]
    drawn = list(itertools.product(*(values if item else ((Fraction(0), Fraction(1)),) for item in noisy)))
    chances = [Fraction(1)] * len(drawn)
    for k, row in enumerate(drawn):
        for _, chance in row:
            chances[k] *= chance
    return array([[xi for xi, _ in row] for row in drawn]), array(chances)


def along_paths(instance: Instance, eta: Numbers) -> tuple[list[Step], list[Numbers]]:
    """The steps of a linear run along 2 N T + 1 paths and two more, and the paths' weights before each."""
    noise = array([abs(s) for s in instance.noise])
    paths, weights = single_shocks(array([Fraction(bool(s)) for s in instance.noise]), instance.total)
    steps = _checked(
        instance, replace(_population(instance), noise=noise[None], paths=paths), eta, None, instance.rule
    )
    return steps, [array([Fraction(1)]), *[weights] * instance.total]


def pairwise(instance: Instance) -> bool:
    """Whether a run is one round of everyone, under noise of two equally likely values."""
    everyone = instance.present == instance.N and not instance.draws
    return everyone and instance.rounds == 1 and instance.rare == 1 and bool(field_size(instance.N, instance.tau))


def along_pairs(instance: Instance, eta: Numbers) -> tuple[list[Step], list[Numbers]]:
    """The steps of a round along outcomes that are independent for every two clients, and their probabilities."""
    noisy = [bool(s or r) for s, r in zip(instance.noise, instance.growth, strict=True)]
    paths, weights = pairwise_shocks(array([Fraction(item) for item in noisy]), instance.tau)
    steps = _checked(instance, replace(_population(instance), paths=paths), eta, None, instance.rule)
    return steps, [array([Fraction(1)]), *[weights] * instance.total]


def _checked(
    instance: Instance,
    losses: Quadratics,
    eta: Numbers,
    participants: Callable[[int, Numbers], Numbers] | None,
    rule: Weighting,
) -> list[Step]:
    """The steps of a run; TooLong where a global model in fractions has too many digits."""
    w0 = array([instance.w0])
    return list(_short(algorithm_1(losses, w0, eta, instance.tau, rule, participants)))


def _short(steps: Iterator[Step]) -> Iterator[Step]:
    for step in steps:
        models = step.x[..., 0, :].flat if step.synchronised else ()
        if any(isinstance(x, Fraction) and x.denominator.bit_length() > MAX_BITS for x in models):
            what = f"an exact run has numbers of at most {MAX_BITS} bits"
            raise TooLong(str(reject(what, f"more at t = {step.t}", "shorten it")))
        yield step


def _population(instance: Instance) -> Quadratics:
    """The instance as a population of one, with its noise."""
    losses = instance.losses
    names = ("curvatures", "minima", "p", "upper", "kinks", "turns")
    rows = {name: part[None] for name in names if (part := getattr(losses, name)) is not None}
    if instance.stochastic:
        rows["noise"] = array([instance.noise])
    if any(instance.growth):
        rows["growth"] = array([instance.growth])
    return replace(losses, L=array([losses.L]), mu=array([losses.mu]), **rows)


def _record(instance: Instance, steps: list[Step], odds: list[Numbers], enumerable: bool) -> ExactRun:
    """The exact run; where outcomes were not enumerated, what needs all of them is left out."""
    parts = tuple(stretches(steps, odds, leading=1))
    measured = Measured(_population(instance), parts, array([instance.eta]), instance.tau)
    return ExactRun(instance, measured, (steps, odds[-1]), enumerable)
