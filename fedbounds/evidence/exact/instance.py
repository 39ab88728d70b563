"""Small federated problems with every number a fraction.

Losses and stochastic gradients are those of `Quadratics`; the noise xi_i is 1 or -1 with probability 1/2, or rare and
skewed. In each round a subset of ``present`` clients, drawn uniformly, takes part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fedbounds.engine.reference import round_weights
from fedbounds.errors import InputError, reject
from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.model.weighting import Weighting
from fedbounds.plugins import weighting_named, weightings
from fedbounds.weightings.fedmax import top_k
from fedbounds.weightings.fixed import FixedByRound

Vector = tuple[Fraction, ...]
Rows = tuple[Vector, ...]


@dataclass(frozen=True)
class Instance:
    """One problem, start, schedule and weighting, all in fractions.

    ``curvatures`` and ``minima`` (N, d); ``p`` (N,) positive; ``w0`` (d,); ``eta`` (T,), T = tau * rounds.
    ``weighting`` is the text of a registered weighting, or ``fixed`` with ``weights`` (1, N) or (rounds, N).
    ``noise`` (N,) are the s_i, ``growth`` the r_i, and ``floor`` (N,) the F_i*; ``present`` clients take part in a
    round, all by default. With ``rare`` u > 0, xi_i is u with probability 1/(1 + u^2), else -1/u. ``upper`` and
    ``kinks`` (N, d) make two-slope losses, ``turns`` (N, 2) rotations of the plane. L and mu are the extreme
    curvatures unless wider ones are given. Raises InputError on anything else.
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
    turns: Rows = ()
    present: int = 0
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
            "L": self.L or max(spectrum),
            "mu": self.mu or min(spectrum),
        }
        for name, value in defaults.items():
            object.__setattr__(self, name, value)
        _check(self)

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
    def functions(self) -> tuple[Rows, ...]:
        """The numbers of each client's loss, its floor apart."""
        parts = (rows for rows in (self.curvatures, self.minima, self.upper, self.kinks, self.turns) if rows)
        return tuple(zip(*parts, strict=True))

    @property
    def stochastic(self) -> bool:
        """Whether gradients are."""
        return any(self.noise) or any(self.growth)

    @property
    def plain(self) -> bool:
        """Whether the losses are diagonal quadratics with additive noise of two equally likely values."""
        return not (any(self.growth) or self.upper or self.turns) and self.rare == 1

    @cached_property
    def losses(self) -> Quadratics:
        """The losses in numpy arrays of fractions, without the noise."""
        given = {name: array(rows) for name in ("upper", "kinks", "turns") if (rows := getattr(self, name))}
        return Quadratics(array(self.curvatures), array(self.minima), array(self.p), self.L, self.mu, **given)

    @cached_property
    def rule(self) -> Weighting:
        """The weighting."""
        if self.weighting == "fixed":
            return FixedByRound(array(self.weights))
        return weighting_named(self.weighting)

    def excess(self, w: Vector) -> Vector:
        """e_i(w) = F_i(w) - F_i* (N,)."""
        return tuple(self.losses.excess(array(w)))

    def client_excess(self, i: int, w: Vector) -> Fraction:
        """e_i(w) for one client."""
        return self.excess(w)[i]

    def grad(self, i: int, w: Vector) -> Vector:
        """grad F_i(w) (d,)."""
        return tuple(self.losses.grads(array(w))[i])

    def argmin(self, weights: Vector) -> Vector:
        """The minimiser of sum_i weights_i F_i."""
        return tuple(self.losses.argmin(array(weights)))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The sets of clients that may take part in a round, equally likely."""
        return tuple(itertools.combinations(range(self.N), self.present))

    def round_weights(self, round: int, excess: Vector) -> tuple[Vector, Vector]:
        """(p, alpha) of a round of every client, whose global model has these gaps."""
        p, alpha = round_weights(self.rule, array(self.p), array(excess), round)
        return tuple(p), tuple(alpha)


def array(rows: object) -> Any:
    """Nested tuples of fractions as a numpy array of objects."""
    return np.array(rows, dtype=object)


def largest(scores: Vector, k: int) -> Vector:
    """1/k on the k largest scores; those tied at the k-th place share what is left equally."""
    return tuple(top_k(array(scores), k) / Fraction(k))


def _check(instance: Instance) -> None:
    """Reject an instance that is not one: shapes, signs, sums and names."""
    N, d = instance.N, instance.d
    shapes = {"curvatures": instance.curvatures, "minima": instance.minima}
    shapes |= {name: rows for name in ("upper", "kinks") if (rows := getattr(instance, name))}
    for name, rows in shapes.items():
        if len(rows) != N or any(len(row) != d for row in rows):
            raise reject(f"{name} needs one row of {d} numbers a client", rows, f"give {N} rows")
    if any(len(v) != N for v in (instance.noise, instance.floor, instance.growth)):
        raise reject("noise and floor need one number a client", (instance.noise, instance.floor), f"give {N}")
    _check_shapes(instance)
    _check_positive("curvatures", instance.spectrum)
    _check_positive("p", instance.p)
    _check_positive("eta", instance.eta)
    if sum(instance.p) != 1:
        raise reject("p must sum to 1", sum(instance.p), "divide p by its sum")
    if instance.tau < 1 or instance.total % instance.tau or not instance.total:
        raise reject("tau must divide the number of steps", f"tau = {instance.tau}, T = {instance.total}", "fix eta")
    if not 1 <= instance.present <= N:
        raise reject("a round needs at least one client present, and at most all", instance.present, f"use 1 to {N}")
    spectrum = instance.spectrum
    if max(spectrum) > instance.L or instance.mu > min(spectrum):
        raise reject("L and mu must enclose every curvature", f"L = {instance.L}, mu = {instance.mu}", "widen them")
    _check_weighting(instance)


def _check_positive(name: str, numbers: Iterable[Fraction]) -> None:
    if any(x <= 0 for x in numbers):
        raise reject(f"{name} must be positive", [str(x) for x in numbers], "use fractions above 0")


def _check_shapes(instance: Instance) -> None:
    """Reject kinks below a minimum, rotations that are none, and noise of no variance 1."""
    if bool(instance.upper) != bool(instance.kinks) or (instance.turns and (instance.upper or instance.d != 2)):
        given = f"d = {instance.d}"
        raise reject("upper goes with kinks, and turns with d = 2 and neither", given, "give two or none")
    if instance.kinks and (instance.losses.kinks < instance.losses.minima).any():
        raise reject("a kink lies at the minimum or above it", instance.kinks, "raise it")
    if instance.turns and (len(instance.turns) != instance.N or any(c * c + s * s != 1 for c, s in instance.turns)):
        raise reject("a turn is a cosine and a sine", instance.turns, "use 3/5 and 4/5")
    _check_positive("rare", [instance.rare])


def _check_weighting(instance: Instance) -> None:
    key, _, k = instance.weighting.partition(":")
    if instance.weighting != "fixed":
        try:
            weighting_named(instance.weighting)
        except InputError:
            known = ", ".join(("fixed", *weightings()))
            raise reject("weighting must be known", instance.weighting, f"use one of {known}") from None
    if key == "fedmax" and k.isdigit() and int(k) > instance.N:
        raise reject("weighting must be known", instance.weighting, f"choose at most {instance.N} clients")
    if (instance.weighting == "fixed") != bool(instance.weights):
        raise reject("weights go with the weighting fixed", instance.weighting, "give both or neither")
    if instance.weights and len(instance.weights) not in (1, instance.rounds):
        raise reject("weights need one row, or one a round", len(instance.weights), f"give {instance.rounds} rows")
    for row in instance.weights:
        if len(row) != instance.N or min(row) < 0 or sum(row) != 1:
            raise reject("a row of weights must lie on the simplex", [str(a) for a in row], "normalise it")
