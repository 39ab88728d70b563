"""Small federated problems with every number a fraction.

Losses and stochastic gradients are those of `Quadratics`; the noise xi_i is 1 or -1 with probability 1/2, or rare and
skewed. In each round a subset of ``present`` clients, drawn uniformly, takes part, or each client with probability q.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fedbounds.engine.reference import round_weights
from fedbounds.errors import InputError, reject
from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.evidence.exact.random_outcomes import Chance
from fedbounds.model.weighting import Weighting, require_fractions
from fedbounds.plugins import weighting_named, weightings
from fedbounds.weightings.fixed import FixedByRound
from fedbounds.weightings.multinomial import Multinomial

Vector = tuple[Fraction, ...]
Rows = tuple[Vector, ...]
# What losses have that are no diagonal quadratics.
BENT = ("upper", "kinks", "widths", "turns")


@dataclass(frozen=True)
class Instance:
    """One problem, start, schedule and weighting, all in fractions; InputError on anything else.

    ``curvatures``, ``minima`` (N, d), a curvature below 0 where that of F is not; ``p`` (N,) positive; ``w0`` (d,);
    ``eta`` (T,), T = tau * rounds. ``weighting`` is the text of a registered one, or ``fixed`` with
    ``weights`` (1 or rounds, N). ``noise`` s_i, ``growth`` r_i, ``floor`` F_i* (N,); ``present`` clients take part in
    a round, or each with probability ``q``, unless 0;
    it ends with the ``server_step`` eta_s. With ``rare`` u > 0, xi_i is u with probability 1/(1 + u^2), else -1/u.
    ``upper`` and ``kinks`` (N, d) make two-slope losses, with ``widths`` logistic ones,
    ``turns`` (N, 2) rotations. A step is a root within ``radius`` of ``eta``, unless 0.
    L and mu are the extreme curvatures unless wider ones are given.
    """

    curvatures: Rows
    minima: Rows
    p: Vector
    w0: Vector
    eta: Vector
    tau: int = 1
    weighting: str = "fedmax"
    weights: Rows = ()
    noise: Vector = ()
    floor: Vector = ()
    growth: Vector = ()
    rare: Fraction = Fraction(1)
    upper: Rows = ()
    kinks: Rows = ()
    widths: Rows = ()
    turns: Rows = ()
    present: int = 0
    q: Fraction = Fraction(0)
    server_step: Fraction = Fraction(1)
    radius: Fraction = Fraction(0)
    L: Fraction = field(default=Fraction(0))
    mu: Fraction = field(default=Fraction(0))

    def __post_init__(self) -> None:
        zeros = (Fraction(0),) * self.N
        spectrum = self.spectrum
        defaults = {
            "noise": self.noise or zeros,
            "floor": self.floor or zeros,
            "growth": self.growth or zeros,
            "present": self.present or self.N,
            "L": self.L or max(map(abs, spectrum)),
            "mu": self.mu or min(spectrum),
        }
        for name, value in defaults.items():
            object.__setattr__(self, name, value)
        for wrong, what, received, remedy in _faults(self):
            if wrong:
                raise reject(what, received, remedy)

    @property
    def N(self) -> int:
        return len(self.p)

    @property
    def d(self) -> int:
        return len(self.w0)

    @property
    def total(self) -> int:
        """T, the number of local steps."""
        return len(self.eta)

    @property
    def rounds(self) -> int:
        return self.total // self.tau

    def with_(self, **changes: Any) -> Instance:
        """The same instance with some fields changed; L and mu follow new curvatures unless given."""
        if {"curvatures", "upper"} & changes.keys():
            changes = {"L": Fraction(0), "mu": Fraction(0)} | changes
        return replace(self, **changes)

    @property
    def spectrum(self) -> list[Fraction]:
        """Every curvature."""
        return [c for row in (*self.curvatures, *self.upper) for c in row]

    @property
    def convex(self) -> bool:
        """Whether every loss is, and so has the minimum that it is written with."""
        return min(self.spectrum) > 0

    @property
    def functions(self) -> tuple[Rows, ...]:
        """The numbers of each client's loss, its floor apart."""
        parts = (rows for name in ("curvatures", "minima", *BENT) if (rows := getattr(self, name)))
        return tuple(zip(*parts, strict=True))

    @property
    def stochastic(self) -> bool:
        """Whether gradients are."""
        return any(self.noise) or any(self.growth)

    @property
    def plain(self) -> bool:
        """Whether the losses are diagonal quadratics with additive noise of two equally likely values, eta_s = 1."""
        bent = any(self.growth) or self.upper or self.turns or self.radius
        return not bent and self.rare == self.server_step == 1

    @cached_property
    def losses(self) -> Quadratics:
        """The losses in numpy arrays of fractions, without the noise."""
        given = {name: array(rows) for name in BENT if (rows := getattr(self, name))}
        return Quadratics(array(self.curvatures), array(self.minima), array(self.p), self.L, self.mu, **given)

    @cached_property
    def population(self) -> Quadratics:
        """The losses with their noise, as a population of one."""
        chance = {"noise": array(self.noise)} if self.stochastic else {}
        chance |= {"growth": array(self.growth)} if any(self.growth) else {}
        return replace(self.losses, L=array(self.L), mu=array(self.mu), **chance).rows(None)

    @cached_property
    def rule(self) -> Weighting:
        """The weighting."""
        if self.weighting == "fixed":
            return FixedByRound(array(self.weights))
        return weighting_named(self.weighting)

    def excess(self, w: Vector) -> Vector:
        """e_i(w) = F_i(w) - F_i* (N,)."""
        return tuple(self.losses.excess(array(w)))

    def grad(self, i: int, w: Vector) -> Vector:
        """grad F_i(w) (d,)."""
        return tuple(self.losses.grads(array(w))[i])

    def argmin(self, weights: Vector) -> Vector:
        """The minimiser of sum_i weights_i F_i."""
        return tuple(self.losses.argmin(array(weights)))

    @property
    def selection(self) -> dict[str, Fraction]:
        """C, 0 where nobody may take part, and q where each client takes part with one probability."""
        independent = self.present == self.N and not self.draws
        share = Fraction(0) if self.q else Fraction(self.present, self.N)
        return {"C": share} | ({"q": self.q or Fraction(1)} if independent else {})

    @property
    def draws(self) -> int:
        """How many clients are drawn with replacement in a round; 0 where none is."""
        key, _, m = self.weighting.partition(":")
        return int(m) if key == "multinomial" and m.isdigit() else 0

    @cached_property
    def chance(self) -> Chance:
        """What is random in the run; it is linear where every local model is its mean plus a sum of the shocks."""
        noisy = tuple(bool(s or r) for s, r in zip(self.noise, self.growth, strict=True))
        steepest = max(row[0] for row in self.curvatures)
        everyone = self.weighting == "fedavg" and self.present == self.N and not self.q
        linear = everyone and self.plain and (max(self.eta) + self.radius) * steepest <= 1
        return Chance(noisy, self.tau, self.rounds, self.present, self.draws, self.rare, linear, self.q)

    def round_weights(self, round: int, excess: Vector) -> tuple[Vector, Vector]:
        """(p, alpha) of a round of every client, whose global model has these gaps."""
        p, alpha = round_weights(self.rule, array(self.p), array(excess), round)
        return tuple(p), tuple(alpha)


def no_fractions(rule: str, sizes: Sequence[int] = (4, *range(2, 9), 32)) -> str:
    """Why a named weighting has no weights in fractions for any of these numbers of clients; "" where it has some."""
    faults = []
    for N in sizes:
        try:
            weighting = None if rule == "fixed" else weighting_named(rule)
            if weighting is not None and not isinstance(weighting, Multinomial):
                require_fractions(weighting, N)
            return ""
        except InputError as wrong:
            faults.append(str(wrong).rstrip("."))
    return faults[0]


def array(rows: object) -> Any:
    """Nested tuples of fractions as a numpy array of objects."""
    return np.array(rows, dtype=object)


def _faults(i: Instance) -> Iterator[tuple[object, str, object, str]]:
    """Whether something is wrong, with what must hold, what was received and the remedy, in the order to be tried."""
    N, d = i.N, i.d
    for name in ("curvatures", "minima", "upper", "kinks", "widths"):
        rows = getattr(i, name)
        wrong = len(rows) != N or any(len(row) != d for row in rows)
        yield wrong and (rows or name in ("curvatures", "minima")), *_rows(name, d, rows, N)
    client_wise = i.noise, i.floor, i.growth
    yield (
        any(len(v) != N for v in client_wise),
        "noise and floor need one number a client",
        client_wise[:2],
        f"give {N}",
    )
    apart = bool(i.upper) != bool(i.kinks) or (i.turns and (i.upper or d != 2))
    yield apart, "upper goes with kinks, and turns with d = 2 and neither", f"d = {d}", "give two or none"
    low = i.kinks and not i.widths and (i.losses.kinks < i.losses.minima).any()
    yield low, "a kink lies at the minimum or above it", i.kinks, "raise it"
    sharp = i.widths and (not i.kinks or min(s for row in i.widths for s in row) <= 0)
    yield sharp, "widths are positive and go with kinks", i.widths, "give kinks, or no widths"
    turned = i.turns and (len(i.turns) != N or any(c * c + s * s != 1 for c, s in i.turns))
    yield turned, "a turn is a cosine and a sine", i.turns, "use 3/5 and 4/5"
    bent = [sum(p * row[k] for p, row in zip(i.p, i.curvatures, strict=True)) for k in range(d)]
    straight = i.spectrum if i.upper or i.turns or i.weighting != "fedavg" or 0 in i.spectrum else bent
    positive = {"rare": [i.rare], "curvatures": straight, "p": i.p, "eta": i.eta, "server_step": [i.server_step]}
    for name, numbers in positive.items():
        yield min(numbers, default=1) <= 0, f"{name} must be positive", [*map(str, numbers)], "use fractions above 0"
    yield not 0 <= i.radius < min(i.eta, default=1), "a radius is smaller than a step", i.radius, "give a smaller one"
    yield sum(i.p) != 1, "p must sum to 1", sum(i.p), "divide p by its sum"
    uneven = i.tau < 1 or i.total % i.tau or not i.total
    yield uneven, "tau must divide the number of steps", f"tau = {i.tau}, T = {i.total}", "fix eta"
    yield not 0 <= i.q < 1 or (i.q and (i.draws or i.present < N)), "q is below 1, and of all", i.q, "leave it out"
    nobody = not 1 <= i.present <= N or (i.draws and i.present < N)
    yield nobody, "a round needs at least one client present, and at most all", i.present, f"use 1 to {N}"
    narrow = max(map(abs, i.spectrum)) > i.L or i.mu > min(i.spectrum)
    yield narrow, "L and mu must enclose every curvature", f"L = {i.L}, mu = {i.mu}", "widen them"
    unknown = _unknown(i)  # the list of weightings takes time
    remedy = f"use one of {', '.join(('fixed', *weightings()))} that chooses at most {N} clients" if unknown else ""
    yield unknown, "weighting must be known", i.weighting, remedy
    unmatched = (i.weighting == "fixed") != bool(i.weights)
    yield unmatched, "weights go with the weighting fixed", i.weighting, "give both or neither"
    count = len(i.weights) not in (0, 1, i.rounds)
    yield count, "weights need one row, or one a round", len(i.weights), f"give {i.rounds} rows"
    for row in i.weights:
        off = len(row) != N or min(row) < 0 or sum(row) != 1
        yield off, "a row of weights must lie on the simplex", [*map(str, row)], "normalise it"


def _rows(name: str, d: int, rows: Rows, N: int) -> tuple[str, object, str]:
    return f"{name} needs one row of {d} numbers a client", rows, f"give {N} rows"


def _unknown(instance: Instance) -> bool:
    """Whether there is no such weighting, or it chooses more clients than there are."""
    key, _, k = instance.weighting.partition(":")
    if instance.weighting in ("fixed", "fedavg", "fedmax"):
        return False
    if key == "fedmax" and k.isdigit():
        return int(k) > instance.N
    with contextlib.suppress(InputError):
        return not weighting_named(instance.weighting)
    return True
