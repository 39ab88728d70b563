"""The outcomes of chance of a run, in floats or fractions: all of them, or few that give expectations without error.

`Stretch` and `WholePaths` hold the steps of a run with its axes of chance as one: stretches of time, and whole paths.
A population of instances has one axis in front of the clients'.

For independent xi_j of mean 0 and variance 1 and a quadratic q,
    E q(m + sum_j xi_j v_j) = q(m) + sum_j (q(m + v_j)/2 + q(m - v_j)/2 - q(m)),
so a linear run needs 2 N T + 1 paths for a quadratic quantity. In one round the clients meet only in the mean at its
end: a quantity that is quadratic in the local models needs the noise of every two clients jointly, not of all. So
paths of s bits that are independent for every two clients do: u + a_i v in the field of 2^s elements, for all u and
v and a different a_i for each client, are 4^s outcomes for up to 2^s clients.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from flint import fq_default_ctx, nmod_poly

from fedbounds.engine.reference import Step, algorithm_1, unit
from fedbounds.evidence.exact.quadratics import Numbers, Quadratics
from fedbounds.model.weighting import Weighting
from fedbounds.theory.quantity import Path
from fedbounds.weightings.multinomial import Multinomial

# Of 2^s elements at most, which makes 4^s outcomes.
LARGEST_FIELD = 6
# Every outcome, the 2 N T + 1 paths of a linear run, or outcomes that are independent for every two clients.
Taken = Literal["all", "linear", "pairwise"]


@dataclass(frozen=True)
class Chance:
    """What is random in a run of ``rounds`` of ``tau`` steps, in each of which K ``present`` of N clients take part.

    xi_i of the ``noisy`` clients (N,) is u = ``rare`` with probability 1/(1 + u^2), else -1/u. ``draws`` clients are
    drawn with replacement instead, unless 0; or each takes part with probability ``q``, unless 0.
    ``linear``: local models are linear in the xi, and all their factors are not negative.
    """

    noisy: tuple[bool, ...]
    tau: int
    rounds: int
    present: int
    draws: int
    rare: Any
    linear: bool
    q: Any = 0

    @property
    def selections(self) -> int:
        """How many outcomes the choice of a round's clients has."""
        N = len(self.noisy)
        if self.q:
            return int(2**N)
        return Multinomial(self.draws).outcomes(N) if self.draws else math.comb(N, self.present)

    @property
    def count(self) -> int:
        """How many outcomes a run has."""
        return int(2 ** (sum(self.noisy) * self.tau * self.rounds) * self.selections**self.rounds)

    @property
    def pairwise(self) -> bool:
        """Whether a run is one round of everyone, under noise of two equally likely values."""
        everyone = self.present == len(self.noisy) and not (self.draws or self.q)
        return everyone and self.rounds == 1 and self.rare == 1 and field_size(len(self.noisy), self.tau) > 0

    def taken(self, most: int) -> Taken:
        """Which outcomes a run takes: few of them where all are more than ``most``."""
        if self.count <= most or not (self.linear or self.pairwise):
            return "all"
        return "linear" if self.linear else "pairwise"

    def too_many(self, most: int) -> bool:
        """Whether a run takes more than ``most`` outcomes: there are more, and no few of them are enough."""
        return self.count > most and self.taken(most) == "all"

    def paths(self, most: int) -> int:
        """How many outcomes these are."""
        few = {"linear": 2 * sum(self.noisy) * self.tau * self.rounds + 3, "all": self.count}
        return few[how] if (how := self.taken(most)) in few else 4 ** field_size(len(self.noisy), self.tau)

    def steps(
        self,
        losses: Quadratics,
        w0: Numbers,
        eta: Numbers,
        rule: Weighting,
        how: Taken,
        look: Callable[[Step], None] = lambda step: None,
        server_step: Numbers | None = None,
    ) -> tuple[list[Step], list[Numbers]]:
        """The steps of Algorithm 1 on a population, and the weights of the outcomes before each step and at the end.

        They are probabilities, or of a linear run signed weights. Draws with replacement have others in each member.
        ``look`` is called with every step as it is taken.
        """
        number = unit(losses.p)
        noisy = np.array([number * item for item in self.noisy], dtype=losses.p.dtype)
        odds, groups = [np.array([number])], None
        if how == "all":
            shocks, chances = self._shocks(number)
            losses = replace(losses, shocks=shocks) if any(self.noisy) else losses
            rule, groups, chosen = self._selected(rule, losses.p)
            odds = self._odds(chances, chosen, number)
        elif how == "linear":
            paths, weights = single_shocks(noisy, self.tau * self.rounds)
            losses = replace(losses, noise=abs(losses.noise), paths=paths)
            odds += [weights] * self.tau * self.rounds
        else:
            paths, weights = pairwise_shocks(noisy, self.tau)
            losses = replace(losses, paths=paths)
            odds += [weights] * self.tau

        def participants(r: int, gaps: Numbers) -> Numbers:
            assert groups is not None
            return groups.reshape(len(groups), *(1,) * (gaps.ndim - 1), groups.shape[1])

        steps = []
        who = None if groups is None else participants
        for step in algorithm_1(losses, w0, eta, self.tau, rule, who, server_step=server_step):
            look(step)
            steps.append(step)
        return steps, odds

    def _shocks(self, number: Any) -> tuple[Numbers, Numbers]:
        """The outcomes (M, N) of the noise xi of a step, 0 where a client has none, and their probabilities (M,)."""
        u = self.rare
        values = ((u * number, number / (1 + u**2)), (-number / u, number * u**2 / (1 + u**2)))
        several = itertools.product(*(values if item else ((0 * number, number),) for item in self.noisy))
        drawn = np.array(list(several), dtype=float if isinstance(number, float) else object)
        return drawn[..., 0], drawn[..., 1].prod(-1)

    def _selected(self, rule: Weighting, p: Numbers) -> tuple[Weighting, Numbers, Numbers]:
        """The weighting, who takes part in each of a round's choices (K, N), and their probabilities or None.

        Nobody is chosen where everybody takes part; choices without probabilities are equally likely.
        """
        N = len(self.noisy)
        if self.draws:
            rule, chances = Multinomial(self.draws).enumerated(p)
            return rule, np.ones((len(chances), N), dtype=bool), chances
        if self.q:
            groups, q = np.concatenate([_groups(N, count) for count in range(N, -1, -1)]), unit(p) * self.q
            chances = np.where(groups, q, 1 - q).prod(-1)
            return rule, groups, np.repeat(chances[:, None], len(p), axis=1)
        return rule, _groups(N, self.present) if self.present < N else None, None

    def _odds(self, chances: Numbers, chosen: Numbers, number: Any) -> list[Numbers]:
        """The probabilities (..., or (..., P) of a population's members) before each step and at the end."""
        before = np.array([number])
        if chosen is not None:
            before = np.broadcast_to(before[:, None], (1, chosen.shape[1]))
        odds, last = [], self.tau * self.rounds
        for t in range(last + 1):
            if t % self.tau == 0 and t < last:
                equal = np.ones(self.selections, dtype=before.dtype)
                before = _each(equal, before) / self.selections if chosen is None else _each(chosen, before)
            odds.append(before)
            before = _each(chances, before) if t < last else before
        return odds


def _each(chances: Numbers, before: Numbers) -> Numbers:
    """The probabilities (K ...,) of what was ``before`` followed by each outcome of ``chances``."""
    chances = chances.reshape(len(chances), 1, *(chances.shape[1:] or (1,) * (before.ndim - 1)))
    return (chances * before).reshape(-1, *before.shape[1:])


@lru_cache(maxsize=64)
def _groups(N: int, present: int) -> Numbers:
    """Which clients take part, in each of the equally likely cases."""
    return np.array([[i in group for i in range(N)] for group in itertools.combinations(range(N), present)])


def single_shocks(noisy: Numbers, T: int) -> tuple[Numbers, Numbers]:
    """xi along the 2 N T + 1 paths of a linear run and two more, (T, M, N), and the paths' weights (M,).

    ``noisy`` (N,) holds 1 for clients with noise, else 0, in floats or fractions. The paths are the run without
    noise, one with each single shock and its negative, and two of weight 0 in which every shock has the same sign:
    the largest gradients of all outcomes lie there.
    """
    number = unit(noisy)
    where = [(t, i) for t in range(T) for i in range(len(noisy)) if noisy[i]]
    paths = np.zeros((T, 2 * len(where) + 3, len(noisy)), dtype=noisy.dtype)
    for k, (t, i) in enumerate(where):
        paths[t, 2 * k + 1, i], paths[t, 2 * k + 2, i] = number, -number
    paths[:, -2], paths[:, -1] = number, -number
    weights = [number * (1 - len(where)), *[number / 2] * (2 * len(where)), 0 * number, 0 * number]
    return paths, np.array(weights, dtype=noisy.dtype)


def field_size(clients: int, tau: int) -> int:
    """The smallest s with 2^s of at least so many clients and paths of tau values; 0 where that is too large."""
    return next((s for s in range(max(tau, 1), LARGEST_FIELD + 1) if 2**s >= clients), 0)


def pairwise_shocks(noisy: Numbers, tau: int) -> tuple[Numbers, Numbers]:
    """xi = 1 or -1 over a round (tau, M, N), independent for every two clients, and the probabilities (M,).

    ``noisy`` (N,) holds 1 for clients with noise, else 0, in floats or fractions.
    """
    number, signs = unit(noisy), _signs(len(noisy), tau)
    return signs * number * noisy, np.full(signs.shape[1], number / signs.shape[1], dtype=noisy.dtype)


@lru_cache(maxsize=16)
def _signs(clients: int, tau: int) -> Numbers:
    s = field_size(clients, tau)
    field = fq_default_ctx(2, s)
    elements = [field(nmod_poly([k >> bit & 1 for bit in range(s)], 2)) for k in range(2**s)]
    bits = [[(u + a * v).to_list() for a in elements[:clients]] for u in elements for v in elements]
    return 1 - 2 * np.moveaxis(np.array(bits, dtype=int)[..., :tau], -1, 0)


@dataclass(frozen=True)
class Stretch:
    """Consecutive times (n,) with K outcomes of probabilities ``odds`` (K,), which may be signed weights of paths.

    They are (K, P) where the members of a population differ in them.

    ``x`` (n, K, ..., N, d); ``p`` and ``alpha`` (n, K, ..., N); the virtual iterates ``w`` (n, K, ..., d) by name.
    """

    times: range
    synchronised: tuple[bool, ...]
    odds: Numbers
    x: Numbers
    p: Numbers
    alpha: Numbers
    w: dict[str, Numbers]

    def expected(self, values: Numbers) -> Numbers:
        """The expectation of values (n, K, ...) at each time (..., n)."""
        if len(self.odds) == 1:
            return np.moveaxis(values[:, 0], 0, -1)
        odds = self.odds.reshape(*self.odds.shape, *(1,) * (values.ndim - 1 - self.odds.ndim))
        return np.moveaxis((odds * values).sum(1), 0, -1)


def grouped_by_outcomes(steps: Sequence[Step], odds: Sequence[Numbers]) -> Iterator[Stretch]:
    """The steps of a run, those with equally many outcomes together; one axis is of the population."""
    rows: list[Any] = [(step, weights, *outcomes(step)) for step, weights in zip(steps, odds, strict=True)]
    for _, group in itertools.groupby(rows, key=lambda row: len(row[1])):
        several = list(group)
        begin = several[0][0].t
        x, p, alpha = (np.stack([row[k] for row in several]) for k in (2, 3, 4))
        together = tuple(row[0].synchronised for row in several)
        w = {name: (weights[..., None] * x).sum(-2) for name, weights in (("alpha", alpha), ("p", p))}
        for name in w:
            w[name][np.array(together)] = x[np.array(together)][..., 0, :]  # one model there, not a rounded mean
        yield Stretch(range(begin, begin + len(several)), together, several[0][1], x, p, alpha, w)


def outcomes(step: Step) -> tuple[Numbers, Numbers, Numbers]:
    """x (K, ..., N, d), p and alpha (K, ..., N) of a step, with its axes of chance as one."""
    shape, d = np.broadcast_shapes(step.x.shape[:-1], step.alpha.shape), step.x.shape[-1]
    rest = shape[-2:]
    p, alpha = (np.broadcast_to(weights, shape).reshape(-1, *rest) for weights in (step.p, step.alpha))
    return np.broadcast_to(step.x, (*shape, d)).reshape(-1, *rest, d), p, alpha


@dataclass(frozen=True)
class WholePaths:
    """Every outcome of a population's runs: ``w`` (K, P, T + 1, d), ``x`` (K, P, T, N, d), ``alpha`` (K, P, T, N).

    ``ends`` are the models after each step, before they are averaged; ``odds`` (K,) the probabilities of outcomes.
    """

    w: Numbers
    x: Numbers
    alpha: Numbers
    ends: Numbers
    odds: Numbers

    def of(self, k: int, tau: int, eta: Numbers, losses: Any) -> Iterator[tuple[Any, Path]]:
        """(probability, path) of every outcome of member k."""
        odds = self.odds if self.odds.ndim == 1 else self.odds[:, k]
        rows = (part[:, k] for part in (self.w, self.x, self.alpha, self.ends))
        for chance, w, x, alpha, ends in zip(odds, *rows, strict=True):
            yield chance, Path(tau, eta, losses, w, x, alpha, X_next=ends)


def whole_paths(steps: Sequence[Step], odds: Numbers, virtual: str) -> WholePaths:
    """The paths of a run of a population that its steps hold."""
    *chance, members = steps[-1].x.shape[:-2]
    front, (N, d) = (*chance, members), steps[-1].x.shape[-2:]
    rows = (
        ([s.virtual(s.alpha if virtual == "alpha" else s.p) for s in steps], (d,)),
        ([s.x for s in steps[:-1]], (N, d)),
        ([s.alpha for s in steps[:-1]], (N,)),
        ([s.ends for s in steps[1:]], (N, d)),
    )
    stacked: list[Numbers] = []
    for values, shape in rows:
        whole = np.stack([np.broadcast_to(value, (*front, *shape)) for value in values], axis=len(front))
        stacked.append(whole.reshape(-1, members, *whole.shape[len(front) :]))
    w, x, alpha, ends = stacked
    return WholePaths(w, x, alpha, ends, odds)
