"""Algorithm 1 on a small federated problem in exact rational arithmetic: no rounding, no sampling, no solver.

Every outcome of the noise and of who takes part is enumerated, so expectations are exact too. Where there are too
many, a run that is linear in the noise needs 2 N T + 1 paths: for independent xi_j of mean 0 and variance 1 and a
quadratic q,
    E q(m + sum_j xi_j v_j) = q(m) + sum_j (q(m + v_j)/2 + q(m - v_j)/2 - q(m)).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedbounds.engine.reference import Step, algorithm_1
from fedbounds.errors import reject
from fedbounds.evidence.exact.instance import Instance, array
from fedbounds.evidence.exact.measure import measure, stretches
from fedbounds.evidence.exact.quadratics import Numbers, Quadratics, single_shocks
from fedbounds.evidence.exact.record import ExactRun

# Outcomes enumerated at most: 2^(N T) grows fast, and a larger tree is a simulation's job.
MAX_OUTCOMES = 2**15
# Long runs may double the digits of their numbers with every step: beyond this many bits nothing is decided.
MAX_BITS = 2**13


def run(instance: Instance, most: int = MAX_OUTCOMES) -> ExactRun:
    """Run Algorithm 1 exactly: over every outcome, or beyond ``most`` of them over 2 N T + 1 paths of a linear run.

    Raises InputError if there are too many outcomes, or too many digits.
    """
    noisy = sum(s != 0 or r != 0 for s, r in zip(instance.noise, instance.growth, strict=True))
    if 2 ** (noisy * instance.total) * len(instance.groups) ** instance.rounds <= most:
        steps, odds = enumerated(instance)
        return _record(instance, steps, odds, enumerable=True)
    if linear(instance):
        steps, odds = along_paths(instance)
        return _record(instance, steps, odds, enumerable=False)
    raise reject(
        "an exact run enumerates every outcome of the noise and of who takes part",
        f"{noisy} noisy clients over {instance.total} steps, {len(instance.groups)} sets of clients a round",
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


def enumerated(instance: Instance) -> tuple[list[Step], list[Numbers]]:
    """The steps of a run that holds every outcome, and the outcomes' probabilities before each."""
    losses, shocks, chances = _population(instance), *_shocks(instance)
    if len(chances) > 1:
        losses = replace(losses, shocks=shocks)
    groups = np.array([[i in group for i in range(instance.N)] for group in instance.groups])

    def participants(r: int, gaps: Numbers) -> Numbers:
        return groups.reshape(len(groups), *(1,) * (gaps.ndim - 1), instance.N)

    steps = _checked(instance, losses, participants if len(groups) > 1 else None)
    odds, before = [], array([Fraction(1)])
    for t in range(instance.total + 1):
        if t % instance.tau == 0 and t < instance.total:
            before = np.tile(before, len(groups)) / Fraction(len(groups))
        odds.append(before)
        before = np.outer(chances, before).ravel() if t < instance.total else before
    return steps, odds


def _shocks(instance: Instance) -> tuple[Numbers, Numbers]:
    """The outcomes (M, N) of the noise xi of a step, 0 where a client has none, and their probabilities (M,)."""
    u = instance.rare
    values = ((u, 1 / (1 + u**2)), (-1 / u, u**2 / (1 + u**2)))
    noisy = [s != 0 or r != 0 for s, r in zip(instance.noise, instance.growth, strict=True)]
    drawn = list(itertools.product(*(values if one else ((Fraction(0), Fraction(1)),) for one in noisy)))
    chances = [Fraction(1)] * len(drawn)
    for k, row in enumerate(drawn):
        for _, chance in row:
            chances[k] *= chance
    return array([[xi for xi, _ in row] for row in drawn]), array(chances)


def along_paths(instance: Instance) -> tuple[list[Step], list[Numbers]]:
    """The steps of a linear run along 2 N T + 1 paths and two more, and the paths' weights before each."""
    noise = array([abs(s) for s in instance.noise])
    paths, weights = single_shocks(array([Fraction(bool(s)) for s in instance.noise]), instance.total)
    steps = _checked(instance, replace(_population(instance), noise=noise[None], paths=paths), None)
    return steps, [array([Fraction(1)]), *[weights] * instance.total]


def _checked(
    instance: Instance, losses: Quadratics, participants: Callable[[int, Numbers], Numbers] | None
) -> list[Step]:
    """The steps of a run; InputError where a global model has too many digits."""
    w0, eta = array([instance.w0]), array([instance.eta])
    return list(_short(algorithm_1(losses, w0, eta, instance.tau, instance.rule, participants)))


def _short(steps: Iterator[Step]) -> Iterator[Step]:
    for step in steps:
        if step.synchronised and max(x.denominator.bit_length() for x in step.x[..., 0, :].flat) > MAX_BITS:
            what = f"an exact run has numbers of at most {MAX_BITS} bits"
            raise reject(what, f"more at t = {step.t}", "shorten it")
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
    """The exact run; what was visited is left out where the outcomes were not enumerated."""
    losses = _population(instance)
    result = measure(losses, stretches(steps, odds, leading=1), array([instance.eta]), instance.tau)
    points = zip(result.times.tolist(), result.clients.tolist(), result.grad_sq[0], result.excess[0], strict=True)
    return ExactRun(
        instance=instance,
        w_star=tuple(losses.w_star[0]),
        values={name: Fraction(value[0]) for name, value in result.constants.items()},
        rho_sync=Fraction(result.rho_sync[0]),
        rho_all=Fraction(result.rho_all[0]),
        paths={name: {field: tuple(row[0]) for field, row in part.items()} for name, part in result.paths.items()},
        points=tuple(points) if enumerable else (),
        alphas=frozenset(map(tuple, result.alphas[:, 0])),
        ratios=frozenset(Fraction(x) for x in result.ratios.flat if x >= 0),
        excesses=frozenset(map(tuple, result.excesses[:, 0])) if enumerable else frozenset(),
        history=(steps, odds[-1]) if enumerable else None,
    )
