"""What a weighting states about itself, tried: the simplex, its randomness, its dependence on w, absent clients."""

import random
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fedbounds.engine.contracts.battery import Broken, examine, require
from fedbounds.errors import InputError
from fedbounds.model.problem import Array, Problem
from fedbounds.model.weighting import ABSENT_EXCESS, Rule, Weighting, as_weighting, check_simplex
from fedbounds.problems.quadratic import quadratic

# Gaps are tried at these sizes: below rounding of a loss, around 1, and as far out as a run may get.
SIZES = (1e-12, 1e-3, 1.0, 1e3, 1e6)
ROUNDS = (0, 1, 7, 100)
REPLICATES = 5
SIMPLEX, ABSENT = "weights on the simplex, one row a replicate", "absent clients"
DETERMINED = "the same weights for the same stream, and no other randomness"


@dataclass
class _Stream:
    """A round's stream that counts its calls; one generator a replicate, so that rows have their own numbers."""

    seed: int
    replicates: int
    calls: int = 0

    def uniform(self, count: int) -> Array:
        self.calls += 1
        rngs = (np.random.default_rng([self.seed, r, self.calls]) for r in range(self.replicates))
        return np.stack([rng.random(count) for rng in rngs])


class _Tried(NamedTuple):
    """A weighting and the weights p of its clients."""

    rule: Weighting
    p: Array

    @property
    def gaps(self) -> list[Array]:
        """Gaps (REPLICATES, N): none, equal ones, one client alone, and random ones of every size."""
        N, rng = len(self.p), np.random.default_rng(len(self.p))
        alone = np.eye(N)[np.arange(REPLICATES) % N]
        drawn = [size * rng.exponential(size=(REPLICATES, N)) for size in SIZES]
        return [np.zeros((REPLICATES, N)), np.ones((REPLICATES, N)), alone, *drawn]

    def __call__(self, gaps: Array, r: int, stream: _Stream | None = None, p: Array | None = None) -> Array:
        stream = _Stream(r, len(gaps)) if stream is None else stream
        return self.rule(np.tile(self.p if p is None else p, (len(gaps), 1)), gaps.copy(), r, stream)

    def off_the_simplex(self, alpha: Array, shape: tuple[int, ...]) -> str:
        try:
            check_simplex(alpha, shape, self.rule.name)
        except InputError as error:
            return str(error).rstrip(".")
        return ""


def check_weighting(weighting: Weighting | Rule, problem: Problem | None = None) -> tuple[str, ...]:
    """The facts that a weighting keeps on ``problem`` (quadratics unless given), which are all, or InputError.

    >>> check_weighting(experiment.weighting)[0]
    'weights on the simplex, one row a replicate'
    """
    rule = as_weighting(weighting)
    problem = problem or quadratic(np.ones(1), np.arange(4.0)[:, None], np.array([0.1, 0.2, 0.3, 0.4]))
    return examine(f"weighting {rule.name}", TESTS, _Tried(rule.bind(problem), problem.p))


def _simplex(tried: _Tried) -> None:
    """Rows on the simplex at every gap and for any number of replicates, arguments left as they were."""
    for e in tried.gaps:
        for rows in (REPLICATES, 1):
            given, weights = e[:rows].copy(), np.tile(tried.p, (rows, 1))
            alpha = tried.rule(weights, given, 0, _Stream(0, rows))
            if not (np.array_equal(given, e[:rows]) and (weights == tried.p).all()):
                raise Broken(SIMPLEX, "arguments that it changes", "copy before writing", e[0])
            if off := tried.off_the_simplex(alpha, given.shape):
                raise Broken(SIMPLEX, f"gaps with which {off}", "mend it", e[0])


def _determined(tried: _Tried) -> None:
    """Two calls with one stream agree, a row is computed by itself, and no global generator moves."""
    before, remedy = _global_state(), "draw from stream.uniform(count) only, and keep no state"
    for e in tried.gaps:
        for r in ROUNDS:
            first, repeated = tried(e, r), tried(e, r)
            if not np.array_equal(first, repeated):
                raise Broken(DETERMINED, f"{first[0]}, then {repeated[0]},", remedy, e[0])
            if not np.array_equal(first[:2], tried(e[:2], r)):
                text = "weights of a replicate that change with the others"
                raise Broken(DETERMINED, text, "compute each row by itself", e[0])
    require(before == _global_state(), DETERMINED, "a global generator that it moves", remedy)


def _global_state() -> Any:
    name, words, *rest = np.random.get_state()  # noqa: NPY002
    return random.getstate(), name, np.asarray(words).tobytes(), rest


def _stated(tried: _Tried) -> None:
    """random = False draws nothing, depends_on_w = False returns one alpha a round, returns_p = True returns p."""
    rule = tried.rule
    for r in ROUNDS:
        first = tried(tried.gaps[0], r)
        for e in tried.gaps:
            stream = _Stream(r, REPLICATES)
            alpha = tried(e, r, stream)
            if stream.calls > 0 and not rule.random:
                raise Broken("random", "draws from the stream under random = False", "say random = True", e[0])
            if rule.returns_p and not (alpha == tried.p).all():
                raise Broken("returns_p", f"{alpha[0]} under returns_p = True", "say returns_p = False", e[0])
            if not rule.depends_on_w and not np.array_equal(alpha, first):
                text = f"{alpha[0]} beside {first[0]} for no gaps under depends_on_w = False"
                raise Broken("depends_on_w", text, "say depends_on_w = True", e[0])


def _absent(tried: _Tried) -> None:
    """With p_i = 0 for one client and the engine's mark as its gap, the rest are still weighted.

    What an absent client is given the engine takes away, so only the simplex is asked for.
    """
    for away in range(len(tried.p) if len(tried.p) > 1 else 0):
        present = np.where(np.arange(len(tried.p)) == away, 0.0, tried.p)
        for e in tried.gaps:
            e[:, away] = ABSENT_EXCESS
            alpha = tried(e, 0, p=present / present.sum())
            if off := tried.off_the_simplex(alpha, e.shape):
                text = f"gaps with which, client {away} absent, {off}"
                raise Broken(ABSENT, text, "ignore clients with p_i = 0", e[0])
            if tried.rule.returns_p and not (alpha == present / present.sum()).all():
                text = f"other weights where client {away} is absent under returns_p = True"
                raise Broken("returns_p", text, "say returns_p = False", e[0])


TESTS = {SIMPLEX: _simplex, DETERMINED: _determined, "what it states": _stated, ABSENT: _absent}
