"""Algorithm 1 on a small federated quadratic in exact rational arithmetic: no rounding, no sampling, no solver.

Every outcome of the two-point noise and of who takes part is enumerated, so expectations are exact too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fedbounds.errors import reject
from fedbounds.evidence.exact.covariance import by_moments, linear
from fedbounds.evidence.exact.instance import Instance, Rows, Vector
from fedbounds.evidence.exact.record import VIRTUALS, ExactRun

# Outcomes enumerated at most: 2^(N T) grows fast, and a larger tree is a simulation's job.
MAX_OUTCOMES = 2**15
# Long runs may double the digits of their numbers with every step: beyond this many bits nothing is decided.
MAX_BITS = 2**13


@dataclass(frozen=True)
class State:
    """One outcome so far: both virtual iterates, local models and the round's p and weights."""

    w: Mapping[str, Vector]
    X: Rows
    p: Vector
    alpha: Vector


class _Recorder:
    """Sums and extremes over the outcomes, filled as the run proceeds."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.w_star = instance.argmin(instance.p)
        self.star = instance.excess(self.w_star)
        self.sums = {
            v: {f: [Fraction(0)] * (instance.total + 1) for f in ("distance_sq", "gap", "drift")} for v in VIRTUALS
        }
        self.rho: dict[bool, list[Fraction]] = {True: [], False: []}
        self.points: list[tuple[int, int, Fraction, Fraction]] = []
        self.alphas: set[Vector] = set()
        self.ratios: set[Fraction] = set()
        self.excesses: set[Vector] = set()

    def weighted(self, weights: Vector, numbers: Vector) -> Fraction:
        return sum((a * x for a, x in zip(weights, numbers, strict=True)), Fraction(0))

    def see(self, t: int, probability: Fraction, state: State, synchronised: bool) -> None:
        """Record one outcome at time t."""
        instance, p = self.instance, self.instance.p
        base = self.weighted(p, self.star)
        for virtual, w in state.w.items():
            sums = self.sums[virtual]
            sums["distance_sq"][t] += probability * distance_sq(w, self.w_star)
            sums["gap"][t] += probability * (self.weighted(p, instance.excess(w)) - base)
            away = tuple(distance_sq(w, x) for x in state.X)
            sums["drift"][t] += probability * self.weighted(state.alpha, away)
        excess = instance.excess(state.w["alpha"])
        self.excesses.add(excess)
        if t == instance.total:
            return
        self.alphas.add(state.alpha)
        self.ratios.update(a / q for a, q in zip(state.alpha, state.p, strict=True) if q)
        below = self.weighted(state.p, excess)
        self.rho[synchronised].append(self.weighted(state.alpha, excess) / below if below else Fraction(1))
        for i, x in enumerate(state.X):
            slope = instance.grad(i, x)
            self.points.append((t, i, self.weighted(slope, slope), instance.client_excess(i, x)))


def distance_sq(a: Vector, b: Vector) -> Fraction:
    """||a - b||^2."""
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))


def run(instance: Instance, most: int = MAX_OUTCOMES) -> ExactRun:
    """Run Algorithm 1 exactly: over every outcome, or beyond ``most`` of them by moments where these are linear.

    Raises InputError if there are too many outcomes, or too many digits.
    """
    noisy = sum(s != 0 for s in instance.noise)
    if 2 ** (noisy * instance.total) * len(instance.groups) ** instance.rounds > most:
        if linear(instance):
            return by_moments(run(instance.with_(noise=())), instance)
        raise reject(
            "an exact run enumerates every outcome of the noise and of who takes part",
            f"{noisy} noisy clients over {instance.total} steps, {len(instance.groups)} sets of clients a round",
            f"keep 2^(clients * steps) * sets^rounds at most {most}",
        )
    recorder = _Recorder(instance)
    branches: dict[Vector, Fraction] = {instance.w0: Fraction(1)}
    for r in range(instance.rounds):
        branches = _round(recorder, r, branches)
    for w, probability in branches.items():
        state = State(dict.fromkeys(VIRTUALS, w), (w,) * instance.N, instance.p, instance.p)
        recorder.see(instance.total, probability, state, synchronised=True)
    return _finish(recorder)


def _round(recorder: _Recorder, r: int, branches: Mapping[Vector, Fraction]) -> dict[Vector, Fraction]:
    """One round from every outcome w_t: the distribution of the next global model."""
    instance = recorder.instance
    following: dict[Vector, Fraction] = {}
    for (start, weight), group in itertools.product(branches.items(), instance.groups):
        p, alpha = instance.round_weights(r, instance.excess(start), group)
        first = State(dict.fromkeys(VIRTUALS, start), (start,) * instance.N, p, alpha)
        states = [(weight / len(instance.groups), first)]
        for t in range(r * instance.tau, (r + 1) * instance.tau):
            for probability, state in states:
                recorder.see(t, probability, state, synchronised=t == r * instance.tau)
            states = [(chance * q, after) for chance, state in states for q, after in step(instance, state, t)]
        for probability, state in states:
            w = state.w["alpha"]
            if max(x.denominator.bit_length() for x in w) > MAX_BITS:
                raise reject(
                    f"an exact run has numbers of at most {MAX_BITS} bits", f"more in round {r}", "shorten it"
                )
            following[w] = following.get(w, Fraction(0)) + probability
    return following


def step(instance: Instance, state: State, t: int) -> Iterator[tuple[Fraction, State]]:
    """One local step of every client: (probability, state) of each outcome of the noise."""
    eta = instance.eta[t]
    choices = [(-s, s) if s else (s,) for s in instance.noise]
    outcomes = list(itertools.product(*choices))
    for draw in outcomes:
        X = tuple(_descend(instance, i, x, draw[i], eta) for i, x in enumerate(state.X))
        w = {"alpha": combine(state.alpha, X), "p": combine(state.p, X)}
        yield Fraction(1, len(outcomes)), State(w, X, state.p, state.alpha)


def _descend(instance: Instance, i: int, x: Vector, shock: Fraction, eta: Fraction) -> Vector:
    slope = instance.grad(i, x)
    noisy = (slope[0] + shock, *slope[1:])
    return tuple(a - eta * g for a, g in zip(x, noisy, strict=True))


def combine(weights: Vector, X: Rows) -> Vector:
    """sum_i weights_i x_i."""
    return tuple(sum((a * x[k] for a, x in zip(weights, X, strict=True)), Fraction(0)) for k in range(len(X[0])))


def _finish(recorder: _Recorder) -> ExactRun:
    instance, star = recorder.instance, recorder.star
    rounds = [instance.eta[start : start + instance.tau] for start in range(0, instance.total, instance.tau)]
    ratios = recorder.ratios
    Gamma = recorder.weighted(instance.p, star)
    star_max = max(recorder.weighted(row, star) for row in recorder.alphas)
    variances = tuple(s**2 for s in instance.noise)
    values = {
        "L": instance.L,
        "mu": instance.mu,
        "Gamma": Gamma,
        "tau": Fraction(instance.tau),
        "N": Fraction(instance.N),
        "Delta_0": distance_sq(instance.w0, recorder.w_star),
        "sigma_sq": max(variances),
        "sigma_p_sq": recorder.weighted(tuple(q**2 for q in instance.p), variances),
        "G_sq": max(grad_sq + variances[i] for _, i, grad_sq, _ in recorder.points),
        # Where alpha = p on the clients present, rho is 1 by definition.
        "rho_tilde": star_max / Gamma if Gamma and ratios != {1} else Fraction(1),
        "rho_pairs": _smallest_pair(recorder),
        "pi_min": min(ratios),
        "pi_max": max(ratios),
        "p_min": min(instance.p),
        "m": Fraction(_selected(recorder.alphas)),
        "C": Fraction(instance.present, instance.N),
        "eta_0": instance.eta[0],
        "eta_ratio": max(s / size for within in rounds for t, size in enumerate(within) for s in within[: t + 1]),
    }
    sync, inside = recorder.rho[True], recorder.rho[False]
    return ExactRun(
        instance=instance,
        w_star=recorder.w_star,
        values=values,
        rho_sync=min(sync),
        rho_all=min(sync + inside),
        paths={v: {f: tuple(row) for f, row in fields.items()} for v, fields in recorder.sums.items()},
        points=tuple(recorder.points),
        alphas=frozenset(recorder.alphas),
        ratios=frozenset(recorder.ratios),
        excesses=frozenset(recorder.excesses),
    )


def _smallest_pair(recorder: _Recorder) -> Fraction:
    """min over visited weights, and over visited points and w*, of the skew."""
    p = recorder.instance.p
    pairs = [
        recorder.weighted(row, e) / recorder.weighted(p, e)
        for e in (*recorder.excesses, recorder.star)
        for row in recorder.alphas
        if recorder.weighted(p, e)
    ]
    return min(pairs, default=Fraction(1))


def _selected(alphas: Iterable[Vector]) -> int:
    """m if every row gives 1/m to exactly m clients, else 0."""
    counts = {sum(a > 0 for a in row) for row in alphas}
    m = counts.pop()
    equal = not counts and all(a in (0, Fraction(1, m)) for row in alphas for a in row)
    return m if equal else 0
