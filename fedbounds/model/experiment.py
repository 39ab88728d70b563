"""The paper's Algorithm 1 as an experiment: everything that determines a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from fedbounds.errors import reject
from fedbounds.model import Engine
from fedbounds.model.problem import Array, Problem, client_weights
from fedbounds.model.schedule import StepSize
from fedbounds.model.weighting import Rule, Weighting, as_weighting

# Beyond this the step sizes alone do not fit in memory.
MAX_STEPS = 10**8


@dataclass(frozen=True)
class Experiment:
    """One federated run to be repeated: problem, weighting and the protocol's parameters.

    ``weighting`` is a `Weighting` or a plain callable. ``tau`` local steps a round, ``rounds`` rounds, T = rounds *
    tau steps in all. ``batch_size`` None means full gradients. ``participation`` is the paper's C. ``stride`` thins
    what is stored, never the extremes.
    """

    problem: Problem
    weighting: Weighting | Rule
    eta: StepSize
    tau: int = 5
    rounds: int = 200
    replicates: int = 64
    batch_size: int | None = 8
    replacement: bool = True
    participation: float = 1.0
    w0: Array | None = None
    seed: int = 0
    stride: int = 1
    engine: Engine = "auto"

    def __post_init__(self) -> None:
        as_weighting(self.weighting)
        for name in ("tau", "rounds", "replicates", "stride"):
            value = getattr(self, name)
            if int(value) != value or value < 1:
                raise reject(f"{name} must be a whole number of at least 1", value, f"set {name} to 1 or more")
        client_weights(self.problem.p, self.problem.N)
        if self.rounds * self.tau > MAX_STEPS:
            raise reject(f"a run takes at most {MAX_STEPS:g} local steps", self.rounds * self.tau, "use fewer rounds")
        if not 0 < self.participation <= 1:
            raise reject("participation C must lie in (0, 1]", self.participation, "use 1 for every client")
        if self.engine not in get_args(Engine):
            raise reject(f"engine must be one of {', '.join(get_args(Engine))}", self.engine, "use auto")
        if self.seed < 0:
            raise reject("seed must be non-negative", self.seed, "use 0 or a positive whole number")
        self._check_batch()
        if self.w0 is not None and np.shape(self.w0) != (self.problem.d,):
            raise reject(
                "w0 must be a point of the problem", f"shape {np.shape(self.w0)}", f"use ({self.problem.d},)"
            )

    def _check_batch(self) -> None:
        if self.batch_size is None:
            return
        if int(self.batch_size) != self.batch_size or self.batch_size < 1:
            raise reject("batch size must be a whole number of at least 1", self.batch_size, "use 1 or more, or full")
        sizes = self.problem.sizes
        if self.problem.sampling == "indices" and not self.replacement and self.batch_size > sizes.min():
            smallest = int(np.argmin(sizes))
            raise reject(
                f"a batch without replacement cannot be larger than a client (client {smallest} has "
                f"{sizes[smallest]} samples)",
                self.batch_size,
                "use a smaller batch, or sample with replacement",
            )

    @property
    def total_steps(self) -> int:
        return self.rounds * self.tau

    @property
    def start(self) -> Array:
        """w_0 (d,): the origin unless given."""
        return np.zeros(self.problem.d) if self.w0 is None else np.asarray(self.w0, dtype=float)

    @cached_property
    def stochastic(self) -> bool:
        """Whether anything in the run is random: gradients, participation, or the weighting itself."""
        noisy = self.batch_size is not None
        if noisy:
            variance = self.problem.client_variance(self.start[None, :], self.batch_size, self.replacement)
            star = self.problem.client_variance(self.problem.w_star[None, :], self.batch_size, self.replacement)
            noisy = bool(np.any(variance > 0) or np.any(star > 0))
        return noisy or not self.everyone_present or self.rule.random

    @property
    def everyone_present(self) -> bool:
        """Whether max(C N, 1), rounded, is every client."""
        return round(self.participation * self.problem.N) >= self.problem.N

    @cached_property
    def rule(self) -> Weighting:
        """The weighting, bound to the problem: what the engine runs."""
        return as_weighting(self.weighting).bind(self.problem)

    def with_(self, **changes: object) -> Experiment:
        changed = replace(self, **changes)  # type: ignore[arg-type]
        if changed.problem is self.problem and changed.weighting is self.weighting and "rule" in vars(self):
            vars(changed)["rule"] = self.rule  # which may be costly to bind
        return changed
