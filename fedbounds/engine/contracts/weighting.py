"""What a weighting states about itself, tried: the simplex, its randomness, its dependence on w, absent clients."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fedbounds.engine.contracts.finding import Finding, examine, refuse
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
    calls: int = field(default=0)

    def uniform(self, count: int) -> Array:
        self.calls += 1
        rngs = (np.random.default_rng([self.seed, r, self.calls]) for r in range(self.replicates))
        return np.stack([rng.random(count) for rng in rngs])


def weighting_findings(weighting: Weighting | Rule, problem: Problem) -> tuple[Finding, ...]:
    """The facts that were checked of a weighting bound to ``problem``, up to the first that fails.

    >>> all(finding.holds for finding in weighting_findings(experiment.weighting, problem))
    True
    """
    rule, findings = as_weighting(weighting).bind(problem), list[Finding]()
    for fact, test in (
        (SIMPLEX, _simplex),
        (DETERMINED, _determined),
        ("what it states", _stated),
        (ABSENT, _absent),
    ):
        findings += examine(fact, lambda test=test: test(rule, problem.p))  # type: ignore[misc]
        if not all(finding.holds for finding in findings):
            break
        findings.append(Finding(fact, True))
    return tuple(findings)


def check_weighting(weighting: Weighting | Rule, problem: Problem | None = None) -> tuple[Finding, ...]:
    """The findings on a weighting that keeps its contract on ``problem`` (quadratics unless given), or InputError.

    >>> check_weighting(experiment.weighting)[0].fact
    'weights on the simplex, one row a replicate'
    """
    rule = as_weighting(weighting)
    problem = problem or quadratic(np.ones(1), np.arange(4.0)[:, None], np.array([0.1, 0.2, 0.3, 0.4]))
    return refuse(f"weighting {rule.name}", weighting_findings(rule, problem))


def _gaps(N: int) -> list[Array]:
    """Gaps (REPLICATES, N): none, equal ones, one client alone, and random ones of every size."""
    rng = np.random.default_rng(N)
    alone = np.eye(N)[np.arange(REPLICATES) % N]
    random_gaps = [size * rng.exponential(size=(REPLICATES, N)) for size in SIZES]
    return [np.zeros((REPLICATES, N)), np.ones((REPLICATES, N)), alone, *random_gaps]


def _fault(fact: str, text: str, remedy: str, gaps: Array) -> Finding:
    return Finding(fact, False, text, remedy, tuple(gaps[0].tolist()))


def _simplex(rule: Weighting, p: Array) -> Iterator[Finding]:
    """Rows on the simplex at every gap and for any number of replicates, arguments left as they were."""
    for e in _gaps(len(p)):
        for rows in (REPLICATES, 1):
            given, weights = e[:rows].copy(), np.tile(p, (rows, 1))
            alpha = rule(weights, given, 0, _Stream(0, rows))
            if not (np.array_equal(given, e[:rows]) and (weights == p).all()):
                yield _fault(SIMPLEX, "arguments that it changes", "copy before writing", e)
            try:
                check_simplex(alpha, (rows, len(p)), rule.name)
            except InputError as error:
                yield _fault(SIMPLEX, f"gaps with which {error}".rstrip("."), "mend it", e)


def _determined(rule: Weighting, p: Array) -> Iterator[Finding]:
    """Two calls with one stream agree, a row is computed by itself, and no global generator moves."""
    P, remedy = np.tile(p, (REPLICATES, 1)), "draw from stream.uniform(count) only, and keep no state"
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    for e in _gaps(len(p)):
        for r in ROUNDS:
            first, again = (rule(P, e.copy(), r, _Stream(r, REPLICATES)) for _ in range(2))
            if not np.array_equal(first, again):
                yield _fault(DETERMINED, f"{first[0]}, then {again[0]},", remedy, e)
            if not np.array_equal(first[:2], rule(P[:2], e[:2].copy(), r, _Stream(r, 2))):
                text = "weights of a replicate that change with the others"
                yield _fault(DETERMINED, text, "compute each row by itself", e)
    after = random.getstate(), np.random.get_state()  # noqa: NPY002
    same = before[0] == after[0] and all(np.array_equal(a, b) for a, b in zip(before[1], after[1], strict=True))
    yield Finding(DETERMINED, same, "a global generator that it moves", remedy)


def _stated(rule: Weighting, p: Array) -> Iterator[Finding]:
    """random = False draws nothing, depends_on_w = False returns one alpha a round, returns_p = True returns p."""
    P = np.tile(p, (REPLICATES, 1))
    first: dict[int, Array] = {}
    for e in _gaps(len(p)):
        for r in ROUNDS:
            stream = _Stream(r, REPLICATES)
            alpha = rule(P, e.copy(), r, stream)
            if stream.calls > 0 and not rule.random:
                yield _fault("random", "draws from the stream under random = False", "say random = True", e)
            if rule.returns_p and not np.array_equal(alpha, P):
                yield _fault("returns_p", f"{alpha[0]} under returns_p = True", "say returns_p = False", e)
            at_first = first.setdefault(r, alpha)
            if not rule.depends_on_w and not np.array_equal(alpha, at_first):
                text = f"{alpha[0]} beside {at_first[0]} for no gaps under depends_on_w = False"
                yield _fault("depends_on_w", text, "say depends_on_w = True", e)


def _absent(rule: Weighting, p: Array) -> Iterator[Finding]:
    """With p_i = 0 for one client and the engine's mark as its gap, the rest are still weighted.

    What an absent client is given the engine takes away, so only the simplex is asked for.
    """
    for away in range(len(p) if len(p) > 1 else 0):
        present = np.where(np.arange(len(p)) == away, 0.0, p)
        P = np.tile(present / present.sum(), (REPLICATES, 1))
        for e in _gaps(len(p)):
            e[:, away] = ABSENT_EXCESS
            alpha = rule(P, e.copy(), 0, _Stream(0, REPLICATES))
            try:
                check_simplex(alpha, e.shape, rule.name)
            except InputError as error:
                text = f"gaps with which, client {away} absent, {error}".rstrip(".")
                yield _fault(ABSENT, text, "ignore clients with p_i = 0", e)
            if rule.returns_p and not np.array_equal(alpha, P):
                text = f"other weights where client {away} is absent under returns_p = True"
                yield _fault("returns_p", text, "say returns_p = False", e)
