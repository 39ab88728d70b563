"""A family of instances: points of the unit cube as populations of small federated problems, in floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.evidence.evaluate import steps_asked
from fedbounds.evidence.exact.population_measurement import at_start
from fedbounds.evidence.exact.quadratics import Quadratics
from fedbounds.evidence.exact.random_outcomes import Chance, Taken
from fedbounds.model.problem import Array
from fedbounds.plugins import plugged
from fedbounds.study.bounds import main_bound
from fedbounds.theory.claim import Claim

# Ranges. Scales are fixed by mu = 1 and the first minimiser at 0, without loss of generality.
MAX_CONDITION = 1e6
MAX_IMBALANCE = 1e4
MAX_START = 3.0
# A noise of this many L moves a model, in a step of 1/L, ten times as far as the farthest start lies: it prevails.
MAX_NOISE = 30.0
# Noise proportional to the gradient: at 1 a client's gradient is 0 or doubled.
MAX_GROWTH = 3.0
# Server steps lie between its inverse and this.
MAX_SERVER_STEP = 8.0
# Probabilities of taking part that are tried where a claim speaks of one.
COINS = ("1/2", "1/5", "9/10")
# The smallest step size times L, and the largest of runs whose step size is constant.
MIN_STEP, MAX_STEP = 1e-3, 2.0
# Longer runs with fixed weights keep the same weights throughout.
MAX_ROWS = 3
# Weights that are all 0 have no direction to normalise; this share keeps them on the simplex.
LEAST_WEIGHT = 1e-12
# Outcomes of chance that are enumerated: each is run, so that expectations are exact up to rounding.
MAX_COUNT = 64
# Runs of more steps take one step size for all, or a formula, and mostly have a closed form.
MANY_STEPS = 60
# So many clients at most have noise of different sizes, or weights: of a crowd the first two have their own, and all
# others the same.
FEW_CLIENTS, OF_CROWD = 4, 3
# Kinds of noise, with the number of coordinates that one client's noise needs. A rare shock is 3 standard deviations
# up with probability 1/10, and a third of one down otherwise.
NOISES = {"": 0, "additive": 1, "proportional": 1, "samples": 2, "rare": 1}
RARE = 3.0

Length = tuple[int, int]
Size = tuple[int, int]


@dataclass(frozen=True)
class Shape:
    """The discrete part of an instance: what stays fixed while its numbers are searched.

    ``losses``: ``any``; ``one Hessian``, ``same minimisers`` or ``one loss`` for all clients. ``equal`` clients have
    p_i = 1/N; ``absent`` clients, drawn uniformly, miss a round. ``schedule``: ``free`` step sizes, one ``constant``
    one, the ``claim``'s formula (from a searched eta_0: ``start``), or that of the theory under study (``paper``).
    With ``server`` the server's step size is searched too, else it is 1. Each client takes part with probability
    ``q``, a fraction, unless 0.
    """

    family: str
    N: int
    d: int
    tau: int
    rounds: int
    weighting: str
    schedule: str
    losses: str = "any"
    equal: bool = False
    noise: str = ""
    absent: int = 0
    linear: bool = True
    server: bool = False
    q: str = "0"

    @property
    def present(self) -> int:
        """Clients that take part in a round."""
        return self.N - self.absent

    @property
    def random(self) -> bool:
        """Whether anything in it is random."""
        return bool(self.noise) or self.absent > 0 or self.draws > 0 or self.coins

    @property
    def coins(self) -> bool:
        """Whether each client takes part with a probability of its own."""
        return self.q != "0"

    @property
    def draws(self) -> int:
        """How many clients are drawn with replacement in a round; 0 where none is."""
        key, _, m = self.weighting.partition(":")
        return int(m) if key == "multinomial" else 0

    @property
    def total(self) -> int:
        """T, the number of local steps."""
        return self.tau * self.rounds

    @cached_property
    def chance(self) -> Chance:
        """What is random in its runs: a rare shock too has no two equally likely values."""
        additive = self.linear and self.noise == "additive"
        linear = additive and self.weighting == "fedavg" and not (self.absent or self.server or self.coins)
        noisy, rare = (bool(self.noise),) * self.N, RARE if self.noise == "rare" else 1.0
        return Chance(noisy, self.tau, self.rounds, self.present, self.draws, rare, linear, float(Fraction(self.q)))

    @property
    def taken(self) -> Taken:
        """Which outcomes of chance its runs take."""
        return self.chance.taken(MAX_COUNT) if self.noise else "all"

    @property
    def paths(self) -> int:
        """How many these are."""
        return self.chance.paths(MAX_COUNT) if self.noise else self.chance.count

    @property
    def straight(self) -> bool:
        """Whether every step goes by the same weights and nothing is random."""
        constant = self.weighting == "fedavg" or (self.weighting == "fixed" and self.rows == 1)
        return self.tau == 1 and not (self.random or self.server) and constant

    @property
    def rows(self) -> int:
        """Rows of fixed weights: one a round in short runs, one in all in long ones, where they would be too many."""
        return self.rounds if self.rounds <= MAX_ROWS else 1

    @property
    def label(self) -> str:
        """A short name for progress and state files."""
        parts = [f"N={self.N},d={self.d},tau={self.tau},rounds={self.rounds},{self.weighting},{self.schedule}"]
        parts += [self.losses] * (self.losses != "any") + ["equal p"] * self.equal
        parts += [f"{self.noise} noise"] * bool(self.noise) + [f"{self.present} present"] * (self.absent > 0)
        parts += [f"q = {self.q}"] * self.coins
        parts += ["server step"] * self.server
        return f"{self.family}: {','.join(parts)}"


@dataclass(frozen=True)
class InstanceFamily:
    """Instances of one form. ``what`` it is in words.

    ``sizes`` are the (N, d) to try, or a function of the dimensions and clients that a budget allows; ``lengths``
    maps a claim's scope to the (tau, rounds) tried; ``noises`` the kinds of noise, ``absent`` whether clients may
    miss rounds, ``losses`` the forms that a `Shape` may ask for, ``loops`` the steps of a run that has no closed
    form, ``outcomes`` of chance that are enumerated at most, ``linear`` whether gradients are, ``quiet`` the power of
    a coordinate that noise goes by. ``coordinates(shape)`` names the numbers of its own, with how many coordinates of
    the unit cube each takes; ``build(shape, parts, p, weights)`` gives the losses and the starts
    w_0 (P, d) from these coordinates ``parts[name]`` (P, count), client weights p (P, N) and fixed alpha
    (P, rows, N).
    """

    key: str
    what: str
    sizes: tuple[Size, ...] | Callable[[tuple[int, ...], tuple[int, ...]], Iterable[Size]]
    lengths: Mapping[str, tuple[Length, ...]]
    coordinates: Callable[[Shape], dict[str, int]]
    build: Callable[[Shape, Mapping[str, Array], Array, Array], tuple[Quadratics, Array]]
    schedules: tuple[str, ...] = ("constant",)
    noises: tuple[str, ...] = ("",)
    absent: bool = False
    losses: tuple[str, ...] = ("any",)
    equal: tuple[bool, ...] = (False, True)
    loops: int = MANY_STEPS
    outcomes: int = MAX_COUNT
    linear: bool = True
    quiet: int = 1

    def allowed(self, dimensions: tuple[int, ...], clients: tuple[int, ...]) -> Iterable[Size]:
        """The (N, d) to try."""
        return self.sizes(dimensions, clients) if callable(self.sizes) else self.sizes


def families(extra: Iterable[ModuleType] = ()) -> dict[str, InstanceFamily]:
    """Key -> family: this package's, those of installed plug-ins, and those of ``extra`` modules."""
    every = plugged("fedbounds.referee.search.instances", "FAMILY", InstanceFamily, extra)
    return dict(sorted(every.items()))  # a search of a seed tries them in this order


@dataclass(frozen=True)
class Population:
    """P instances of one shape: losses with a leading axis P, starts w0 (P, d), steps eta (P, T), fixed alpha
    (P, rows, N), server steps (P,) or None for 1."""

    shape: Shape
    losses: Quadratics
    w0: Array
    eta: Array
    weights: Array
    server_step: Array | None = None

    def member(self, k: int, **changes: Any) -> Population:
        """Member k alone, with fields changed."""
        alone = slice(k, k + 1)
        rows: dict[str, Any] = {name: getattr(self, name)[alone] for name in ("w0", "eta", "weights")}
        rows |= {} if self.server_step is None else {"server_step": self.server_step[alone]}
        return replace(self, losses=self.losses.rows(alone), **(rows | changes))


def dimension(shape: Shape, family: InstanceFamily) -> int:
    """The number of coordinates searched."""
    return sum(_blocks(shape, family).values())


def _blocks(shape: Shape, family: InstanceFamily) -> dict[str, int]:
    return {
        **family.coordinates(shape),
        "p": 0 if shape.equal or shape.N == 1 else numbers(shape),
        "eta": {"free": shape.total, "start": 1, "constant": 1}.get(shape.schedule, 0),
        "weights": numbers(shape) * shape.rows if shape.weighting == "fixed" else 0,
        "noise": NOISES[shape.noise] * numbers(shape),
        "server": int(shape.server),
    }


def numbers(shape: Shape) -> int:
    """How many clients have numbers of their own."""
    return shape.N if shape.N <= FEW_CLIENTS else OF_CROWD


def for_all(part: Array, N: int) -> Array:
    """Numbers (..., at most N) of each of N clients: the last is of all others too."""
    return np.concatenate([part, np.repeat(part[..., -1:], N - part.shape[-1], axis=-1)], axis=-1)


def decode(shape: Shape, family: InstanceFamily, cube: Array, claim: Claim) -> Population:
    """Points of the unit cube (P, dimension) as instances of a shape."""
    parts, start = {}, 0
    for name, size in _blocks(shape, family).items():
        parts[name] = cube[:, start : start + size]
        start += size
    P, N = len(cube), shape.N
    share = MAX_IMBALANCE ** -parts["p"] if parts["p"].size else np.ones((P, N))
    share = for_all(share, N)
    p = share / share.sum(-1, keepdims=True)
    fixed = shape.weighting == "fixed"
    weights = np.empty((P, 0, N))
    if fixed:
        weights = for_all(parts["weights"].reshape(P, -1, numbers(shape)), N) + LEAST_WEIGHT
    weights = weights / weights.sum(-1, keepdims=True)
    losses, w0 = family.build(shape, parts, p, weights)
    if shape.noise:
        sizes = for_all(parts["noise"].reshape(P, NOISES[shape.noise], -1), N)
        losses = replace(losses, **_noise(shape, sizes**family.quiet, losses.L[:, None]))
    server_step = MAX_SERVER_STEP ** (2 * parts["server"][:, 0] - 1) if shape.server else None
    eta = _steps(shape, parts["eta"], losses, claim, server_step, w0)
    return Population(shape, losses, w0, eta, weights, server_step)


def _noise(shape: Shape, parts: Array, L: Array) -> dict[str, Array]:
    """Sizes s and r of the noise."""
    nothing = np.zeros(parts[:, 0].shape)
    if shape.noise == "proportional":
        return {"noise": nothing, "growth": MAX_GROWTH * parts[:, 0]}
    growth = {"growth": MAX_GROWTH * parts[:, 1]} if shape.noise == "samples" else {}
    return {"noise": MAX_NOISE * L * parts[:, 0], **growth}


def _steps(
    shape: Shape, part: Array, losses: Quadratics, claim: Claim, server_step: Array | None, w0: Array
) -> Array:
    L, T = losses.L[:, None], shape.total
    if shape.schedule == "free":
        return MIN_STEP**part / L
    if shape.schedule == "constant":
        return np.broadcast_to(MAX_STEP * (MIN_STEP / MAX_STEP) ** part / L, (len(L), T))
    constants = {"L": L, "mu": losses.mu[:, None], "tau": float(shape.tau), "N": float(shape.N)}
    constants |= {} if server_step is None else {"eta_s": server_step[:, None]}
    start, formula = at_start(losses, w0), schedule(claim, shape)
    names = {symbol.name for symbol in formula.free_symbols} if formula is not None else set()
    constants |= {"T_run": float(T)} | {name: start[name][:, None] for name in names & set(start)}
    if shape.schedule == "start":
        constants["eta_0"] = MAX_STEP * (MIN_STEP / MAX_STEP) ** part / L
    sizes = np.broadcast_to(steps_asked(formula, constants, T), (len(L), T))
    # A formula that is no positive number has no run: another step, which does not meet the claim, stands for it.
    return np.where(np.isfinite(sizes) & (sizes > 0), sizes, MIN_STEP / L)


def schedule(claim: Claim, shape: Shape) -> sp.Expr | None:
    """The step size in t that a shape uses; None where it is searched."""
    if shape.schedule in ("free", "constant"):
        return None
    return main_bound().steps if shape.schedule == "paper" else claim.steps


def quadratics(curvatures: Array, minima: Array, p: Array, **more: Any) -> Quadratics:
    """Losses whose L and mu are their extreme curvatures: (P, N, d), (P, N, d) and (P, N)."""
    spectrum = np.concatenate([curvatures, more["upper"]], axis=-1) if "upper" in more else curvatures
    return Quadratics(curvatures, minima, p, spectrum.max(axis=(1, 2)), spectrum.min(axis=(1, 2)), **more)


def from_first(part: Array, P: int, N: int, d: int) -> Array:
    """Minimisers (P, N, d) from coordinates (P, (N - 1) d): the first client's is 0, the others' lie within 1.

    All are 0 where there are no coordinates.
    """
    minima = np.zeros((P, N, d))
    if part.size:
        minima[:, 1:] = 2 * part.reshape(P, N - 1, d) - 1
    return minima


def starts(part: Array) -> Array:
    """w_0 (P, d) within MAX_START of 0."""
    return MAX_START * (2 * part - 1)
