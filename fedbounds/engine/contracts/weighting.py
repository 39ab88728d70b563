"""What a weighting states about itself, tried: the simplex, its randomness, its dependence on w, absent clients."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from fedbounds.engine.contracts.finding import Finding, refuse, try_in_order
from fedbounds.errors import InputError
from fedbounds.model.problem import Array, Problem
from fedbounds.model.weighting import ABSENT_EXCESS, Rule, Weighting, as_weighting, check_simplex
from fedbounds.problems.quadratic import quadratic

# Gaps are tried at these sizes: below rounding of a loss, around 1, and as far out as a run may get.
SIZES = (1e-12, 1e-3, 1.0, 1e3, 1e6)
ROUNDS = (0, 1, 7, 100)
REPLICATES = 5
# A rule that forgets the order of clients adds its terms in another order; this is far above that rounding.
EQUIVARIANT = 1e-9


@dataclass
class _Stream:
    """A round's stream that counts its calls; one generator a replicate, so that rows have their own numbers."""

    seed: int
    replicates: int
    calls: int = field(default=0)

    def uniform(self, count: int) -> Array:
        """Independent U[0, 1) numbers, (replicates, count)."""
        self.calls += 1
        rngs = (np.random.default_rng([self.seed, r, self.calls]) for r in range(self.replicates))
        return np.stack([rng.random(count) for rng in rngs])


def weighting_findings(weighting: Weighting | Rule, problem: Problem) -> tuple[Finding, ...]:
    """Every fact that was tried of a weighting bound to ``problem``, as the engine would bind it.

    >>> all(finding.holds for finding in weighting_findings(experiment.weighting, problem))
    True
    """
    rule = as_weighting(weighting).bind(problem)
    tests: dict[str, Callable[[Weighting, Array], Iterator[Finding]]] = {
        "weights on the simplex, one row a replicate": _simplex,
        "the same weights for the same stream, and no other randomness": _determined,
        "depends_on_w, random and returns_p": _statements,
        "absent clients": _absent,
    }
    return try_in_order({fact: partial(test, rule, problem.p) for fact, test in tests.items()})


def check_weighting(weighting: Weighting | Rule, problem: Problem | None = None) -> tuple[Finding, ...]:
    """The findings on a weighting that keeps its contract on ``problem`` (quadratics unless given), or InputError.

    >>> check_weighting(experiment.weighting)[0].fact
    'weights on the simplex, one row a replicate'
    """
    rule = as_weighting(weighting)
    p = np.array([0.1, 0.2, 0.3, 0.4])
    problem = problem or quadratic(np.ones(1), np.arange(4.0)[:, None], p)
    return refuse(f"weighting {rule.name}", weighting_findings(rule, problem))


def _gaps(N: int) -> list[Array]:
    """Gaps (REPLICATES, N): none, equal ones, one client alone, and random ones of every size."""
    rng = np.random.default_rng(N)
    alone = np.zeros((REPLICATES, N))
    alone[np.arange(REPLICATES), np.arange(REPLICATES) % N] = 1.0
    return [np.zeros((REPLICATES, N)), np.ones((REPLICATES, N)), alone] + [
        size * rng.exponential(size=(REPLICATES, N)) for size in SIZES
    ]


def _row(alpha: Array) -> str:
    return np.array2string(alpha, threshold=6, precision=6)


def _fault(fact: str, text: str, remedy: str, gaps: Array) -> Finding:
    return Finding(fact, False, text, remedy, "", tuple(gaps.tolist()))


def _simplex(rule: Weighting, p: Array) -> Iterator[Finding]:
    """Rows on the simplex at every gap and for any number of replicates, arguments left as they were."""
    fact, N = "weights on the simplex, one row a replicate", len(p)
    for e in _gaps(N):
        for rows, weights in ((REPLICATES, np.tile(p, (REPLICATES, 1))), (1, p[None].copy())):
            given, shown = e[:rows].copy(), weights.copy()
            alpha = rule(weights, given, 0, _Stream(0, rows))
            if not (np.array_equal(given, e[:rows]) and np.array_equal(weights, shown)):
                yield _fault(fact, "arguments that it changes", "copy before writing", e[0])
            try:
                check_simplex(alpha, (rows, N), rule.name)
            except InputError as wrong:
                yield _fault(fact, f"gaps with which {wrong}".rstrip("."), "mend it", e[0])
    yield Finding(fact, True, "", resolution=f"{len(_gaps(N))} kinds of gaps")


def _determined(rule: Weighting, p: Array) -> Iterator[Finding]:
    """Two calls with one stream agree, rows stand for themselves, and no global generator moves."""
    fact = "the same weights for the same stream, and no other randomness"
    remedy = "draw from stream.uniform(count) only, and keep no state"
    P = np.tile(p, (REPLICATES, 1))
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    for e in _gaps(len(p)):
        for r in ROUNDS:
            first, again = (rule(P, e.copy(), r, _Stream(r, REPLICATES)) for _ in range(2))
            fewer = rule(P[:2], e[:2].copy(), r, _Stream(r, 2))
            if not np.array_equal(first, again):
                yield _fault(fact, f"{_row(first[0])}, then {_row(again[0])},", remedy, e[0])
            if not np.array_equal(first[:2], fewer):
                text = "weights of a replicate that change with the others"
                yield _fault(fact, text, "compute each row by itself", e[0])
    after = random.getstate(), np.random.get_state()  # noqa: NPY002
    same = before[0] == after[0] and all(np.array_equal(a, b) for a, b in zip(before[1], after[1], strict=True))
    text = "" if same else "a global generator that it moves"
    yield Finding(fact, same, text, remedy, f"{len(ROUNDS) * len(_gaps(len(p)))} calls")


def _statements(rule: Weighting, p: Array) -> Iterator[Finding]:
    """random = False draws nothing, depends_on_w = False returns one alpha a round, returns_p = True returns p."""
    P, seen = np.tile(p, (REPLICATES, 1)), []
    for e in _gaps(len(p)):
        for r in ROUNDS:
            stream = _Stream(r, REPLICATES)
            alpha = rule(P, e.copy(), r, stream)
            if stream.calls > 0 and not rule.random:
                text = "draws from the stream under random = False"
                yield _fault("random", text, "say random = True", e[0])
            if rule.returns_p and not np.array_equal(alpha, P):
                yield _fault("returns_p", f"{_row(alpha[0])} under returns_p = True", "say returns_p = False", e[0])
            seen.append((r, e, alpha))
    if rule.depends_on_w:
        return
    for r, e, alpha in seen:
        at_first = next(other for round, _, other in seen if round == r)
        if not np.array_equal(alpha, at_first):
            row = int(np.argmax((alpha != at_first).any(-1)))
            text = f"{_row(alpha[row])} beside {_row(at_first[0])} for no gaps under depends_on_w = False"
            yield _fault("depends_on_w", text, "say depends_on_w = True", e[row])


def _absent(rule: Weighting, p: Array) -> Iterator[Finding]:
    """With p_i = 0 for one client and the engine's mark as its gap, the rest are still weighted.

    What an absent client is given the engine takes away, so only the simplex is asked for. That clients may be
    renamed where p is equal is measured and not asked for: fixed weights are a rule too.
    """
    N = len(p)
    for away in range(N if N > 1 else 0):
        present = np.where(np.arange(N) == away, 0.0, p)
        if present.sum() == 0:
            continue
        P = np.tile(present / present.sum(), (REPLICATES, 1))
        for e in _gaps(N):
            e[:, away] = ABSENT_EXCESS
            alpha = rule(P, e.copy(), 0, _Stream(0, REPLICATES))
            try:
                check_simplex(alpha, e.shape, rule.name)
            except InputError as wrong:
                text = f"gaps with which, client {away} absent, {wrong}".rstrip(".")
                yield _fault("absent clients", text, "ignore clients with p_i = 0", e[0])
            if rule.returns_p and not np.array_equal(alpha, P):
                text = f"other weights where client {away} is absent under returns_p = True"
                yield _fault("returns_p", text, "say returns_p = False", e[0])
    e, equal = _gaps(N)[-1], np.full((REPLICATES, N), 1 / N)
    if not rule.random:
        turned = np.roll(rule(equal, np.roll(e, 1, axis=-1), 0, _Stream(0, REPLICATES)), -1, axis=-1)
        apart = float(np.abs(turned - rule(equal, e.copy(), 0, _Stream(0, REPLICATES))).max())
        text = "kept" if apart <= EQUIVARIANT else f"weights differ by up to {apart:.3g}"
        yield Finding("clients may be renamed (measured)", True, text)
