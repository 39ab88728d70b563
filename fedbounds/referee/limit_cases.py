"""Both sides of a claim in fractions, at the limits where a theorem must be right, and what it leaves unsaid.

The battery is small: one to four clients on quadratics, with and without noise, at the claim's own step size or up to
the largest that it allows. Each instance is exact, so that one violation settles the matter.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Any

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.evidence.exact.compare import Sides, compare, excluded, judge_assumptions, of_minima
from fedbounds.evidence.exact.instance import Instance, no_fractions
from fedbounds.evidence.exact.instance_json import from_json, rows
from fedbounds.evidence.exact.run import MAX_OUTCOMES, run
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.plugins import loaded
from fedbounds.referee.search.shrink import numbers
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim
from fedbounds.theory.coverage import Coverage
from fedbounds.theory.protocol_assumptions import assumed_weightings
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import eta_0, t

# Symbol -> its letter, what it bounds, and the assumption that says so.
MOMENTS = {
    "sigma_sq": ("sigma^2", "the variance", a.bounded_variance),
    "sigma_p_sq": ("sigma_i^2", "the variances", a.bounded_variance),
    "G_sq": ("G^2", "the gradients", a.bounded_gradient),
}
# A noisy instance has 2^(clients x steps) outcomes, each of which is run; beyond this many steps, their moments are.
NOISY_STEPS = 6
# Several clients under noise are followed over so many client steps at most: each adds two paths to the run.
MOST_NOISY_STEPS = 40
# Units of w and F to test a claim in whose dimensions are wrong.
SCALES = tuple((Fraction(w), Fraction(f)) for w, f in ((1000, 1), ("1/1000", 1), (1, 1000), (1, "1/1000")))


def omissions(claim: Claim, reading: Reading) -> tuple[str, ...]:
    """Warnings of a moment in the bound that no assumption bounds, and of assumptions that nothing can check."""
    assumed = claim.assumptions_in(reading)
    keys = {item.key for item in assumed}
    related = {str(s) for item in assumed for part in item.parts for side in part[::2] for s in side.free_symbols}
    used = {str(s) for side in claim.sides(reading)[:2] for s in sp.sympify(side).free_symbols}
    latex = claim.unread is not None
    result = list(claim.unread or ())
    result += [
        f"{letter} is in the bound, yet nothing bounds {what}: add "
        + (f"% fedbounds: assume {needed.key}" if latex else f"a.{needed.key.replace('-', '_')}")
        for name, (letter, what, needed) in MOMENTS.items()
        if name in used - related and needed.key not in keys
    ]
    if {a.bounded_gradient_everywhere.key, a.strongly_convex.key} <= keys:
        why = "no strongly convex F_i has gradients that are bounded on all of R^d"
        result.append(f"vacuous: {why}; assume {a.bounded_gradient.key}, of the points visited")
    facets = ("relation", "on_run", "exactly", "in_class", "gives")
    for item in assumed:
        if all(getattr(item, facet) is None for facet in facets):
            why = "it has no relation, on_run or exactly, so nothing can refute a claim that assumes it"
            result.append(f"{item.key} cannot be checked: {why}; leave it out if every test meets it")
    if claim.from_text:
        result.append(f"assumed from the text alone: {'; '.join(claim.from_text)}")
    return tuple(f"warning: {item}" for item in result)


HALVES, RARE, QUARTERS = ["1/2", "1/2"], ["9/10", "1/10"], ["1/4"] * 4
# (curvatures, minima, p, start, noise), as `from_json` reads them.
SHAPES: tuple[tuple[Any, ...], ...] = (
    ([1], [0], [1], [3], [0]),
    ([1], [0], [1], [0], [1]),
    ([[1, 10]], [[0, 0]], [1], [1, 0], [0]),
    ([[1, 10]], [[0, 0]], [1], [0, 1], [0]),
    ([[1, 100]], [[0, 0]], [1], [1, 1], [0]),
    ([1, 1], [0, 0], HALVES, [0], [1, 1]),
    ([1, 1], [0, 0], RARE, [0], [1, 1]),
    ([1, 1], [0, 0], RARE, [1], [1, 0]),
    ([1, 4], [0, 0], HALVES, [1], [0, 0]),
    ([1, 1], [1, -1], HALVES, [0], [0, 0]),
    ([1, 1], [1, -1], RARE, ["4/5"], [0, 0]),
    ([1, 1], [0, 1], ["999/1000", "1/1000"], [0], [0, 0]),
    ([1, 4], [-1, 1], HALVES, ["3/5"], [0, 0]),
    ([1, 4], [-1, 1], HALVES, [100], [0, 0]),
    ([1, 10], [10, -10], HALVES, [0], [0, 0]),
    ([[1, 4], [4, 1]], [[0, 0], [0, 0]], HALVES, [1, 1], [0, 0]),
    ([[1, 10], [1, 10]], [[0, 0], [0, 0]], HALVES, [0, 0], [1, 1]),
    ([1, 1, 1, 1], [0, 0, 0, 0], QUARTERS, [0], [1, 1, 1, 1]),
    ([1, 1, 2, 2], [3, -3, 1, -1], QUARTERS, [0], [0] * 4),
)
# Losses of which one has no minimum, while F has: for claims that assume no convexity of the F_i.
NOT_CONVEX: tuple[tuple[Any, ...], ...] = (
    ([2, -1], [0, 0], HALVES, [1], [0, 0]),
    ([2, -1], [1, -1], HALVES, [0], [0, 0]),
    ([3, -2], [0, 0], ["3/4", "1/4"], [1], [1, 1]),
)
WEIGHTINGS: tuple[dict[str, Any], ...] = (
    {"weighting": "fedavg"},
    {"weighting": "fedmax"},
    {"weighting": "fixed", "weights": [["9/10", "1/10"]]},
    {"weighting": "fedavg", "present": 1},
)
# What makes every F_i convex.
CONVEX = {a.strongly_convex.key, a.convex.key, a.sample_smooth.key}
# One or two of several clients, for claims that are about such a choice: of two alike clients all are much the same.
SOME_PRESENT: tuple[dict[str, Any], ...] = tuple({"weighting": "fedavg", "present": m} for m in (1, 2))
SAMPLED = {a.equal_selection.key, a.unbiased.key}
COINS: tuple[dict[str, Any], ...] = tuple({"weighting": "fedavg", "q": q} for q in ("1/2", "1/5"))
DRAWN: tuple[dict[str, Any], ...] = ({"weighting": "multinomial:1"}, {"weighting": "multinomial:2"})
# Step sizes as multiples of 1/L, and the last step of a round as a share of the others.
MULTIPLES, FALLS = (Fraction(1), Fraction(1, 4), Fraction(3, 2)), (Fraction(1), Fraction(1, 25))
# Over many local steps only small ones tell tau^2 from tau.
MANY, TINY = 10, Fraction(1, 1000)
# (tau, rounds): a round of one step first. A client alone is followed over the longest.
LENGTHS = {"horizon": ((1, 1), (1, 4), (2, 3), (1, 30), (1, 200)), "constant": ((1, 1), (2, 2))}
LONGEST = 100
STEPS = ((1, 1), (2, 1), (5, 1), (2, 2), (50, 1))
# A claim that assumes little admits over a thousand instances; so many, evenly spaced, are some seconds.
MOST = 400


def battery(claim: Claim, claimed: Coverage) -> Iterator[Instance]:
    """Exact instances that the claim may speak of, simplest first, with its step size or those above."""
    shapes = (
        SHAPES
        if of_minima(claim) or not CONVEX.isdisjoint(assumption.key for assumption in claim.assumptions)
        else (*SHAPES, *NOT_CONVEX)
    )
    files = tuple(loaded())
    for (tau, rounds), (c, m, p, w0, noise) in itertools.product(LENGTHS.get(claim.scope, STEPS), shapes):
        if rounds > LONGEST and (len(p) > 1 or claim.steps is None):
            continue
        if any(noise) and len(p) > 1 and len(p) * tau * rounds > MOST_NOISY_STEPS:
            continue
        if any(noise) and rounds > LONGEST and claim.steps is not None and claim.steps.has(t):
            continue  # its numbers grow long, and noise shows sooner where steps decay
        spectrum = [x for row in rows(c) for x in row]
        L, mu = max(map(abs, spectrum)), min(spectrum)
        many = len(p) * tau * rounds > NOISY_STEPS
        weightings = _weightings(claim, len(p), any(noise), mu, rounds, many)
        for weighting, sizes in itertools.product(weightings, _sizes(claim, tau, rounds, [L, mu])):
            fields = {"curvatures": c, "minima": m, "p": p, "w0": w0, "noise": noise, "tau": tau, "eta": sizes}
            try:
                instance = with_steps(_instance(json.dumps(fields | weighting, default=str), files), claim.steps)
            except (InputError, KeyError):
                continue  # a step size that is no positive fraction here
            if instance.chance.selections > 1 and instance.chance.count > 2**NOISY_STEPS:
                continue
            if any(noise) and many and max(instance.eta) * L > 1:
                continue  # its moments are not linear in the noise
            ratio = 1 if instance.weighting == "fedavg" else (0, 1 / min(instance.p))
            if in_reach(claimed, instance, eta_L=[step * L for step in instance.eta], weight_ratio=ratio):
                yield instance


def in_reach(claimed: Coverage, instance: Instance, **further: object) -> bool:
    """Whether an instance's sizes, and what else is known of it by axis, lie in a coverage."""
    seen = {"tau": instance.tau, "N": instance.N, "participation": instance.selection["C"], **further}
    return Coverage({axis: claimed.axes[axis] for axis in claimed.axes.keys() & seen.keys()}).contains(seen)


@lru_cache(maxsize=4096)
def _instance(text: str, files: tuple[ModuleType, ...]) -> Instance:
    """An instance from its JSON: the batteries of the claims of one trial share most of theirs.

    ``files`` are those that may bring its weighting: one that is mended brings another.
    """
    return from_json(json.loads(text))


def _weightings(
    claim: Claim, N: int, noise: bool, mu: Fraction, rounds: int, many: bool
) -> tuple[dict[str, Any], ...]:
    """The weightings that are tried with a shape: under noise FedAvg's, and few where outcomes are many."""
    keys = {assumption.key for assumption in claim.assumptions}
    if a.with_replacement.key in keys:
        return DRAWN if rounds < NOISY_STEPS and N > 1 else ()
    if a.without_replacement.key in keys and not noise and N > 1:  # of unequal p, FedAvg does not share equally
        return tuple({"weighting": "uniform"} | some for some in ({}, {"present": 1}, {"present": 2})[:N])
    few = SOME_PRESENT if keys >= SAMPLED and N > 2 and not noise else ()
    if rules := [rule for rule in assumed_weightings(claim.assumptions) if rule not in ("fedavg", "fedmax", "fixed")]:
        return () if noise or no_fractions(rules[0], (N,)) else ({"weighting": rules[0]},)
    few = COINS if claim.by_coins and not noise else few
    kinds = WEIGHTINGS if N == 2 and mu > 0 and few != COINS else (*WEIGHTINGS[:1], *few)
    absent = rounds <= NOISY_STEPS and not (noise and many)
    plain = (kind for kind in kinds if kind["weighting"] == "fedavg" or not noise)
    return tuple(item for item in plain if absent or not item.keys() & {"present", "q"})


def _sizes(claim: Claim, tau: int, rounds: int, spectrum: list[Fraction]) -> Iterator[list[Fraction]]:
    """Steps of a run: of a claim that states its own only eta_0 counts."""
    steps = claim.steps
    multiples = MULTIPLES if tau < MANY else (TINY,)
    starts = [*(multiple / spectrum[0] for multiple in multiples), 2 / sum(spectrum, Fraction(0))]
    for first in starts if steps is None or steps.has(eta_0) else starts[:1]:
        for fall in FALLS if steps is None and tau > 1 else FALLS[:1]:
            yield [*[first] * (tau - 1), first * fall] * rounds


def rescaled(instance: Instance, w: Fraction, f: Fraction, steps: sp.Expr | None) -> Instance:
    """The instance with w in units of 1/``w`` and F in units of 1/``f``; a stated step size is computed again."""
    changed = instance.with_(
        curvatures=tuple(tuple(c * f / w**2 for c in row) for row in instance.curvatures),
        minima=tuple(tuple(x * w for x in row) for row in instance.minima),
        w0=tuple(x * w for x in instance.w0),
        noise=tuple(s * f / w for s in instance.noise),
        eta=tuple(step * w**2 / f for step in instance.eta),
    )
    return with_steps(changed, steps)


# Where a bound must come down to what is known, and which instances of the battery lie there.
LIMITS: Mapping[str, Callable[[Instance], bool]] = {
    "tau = 1": lambda i: i.tau == 1,
    "N = 1": lambda i: i.N == 1,
    "kappa = 1": lambda i: i.mu == i.L,
    "Gamma = 0": lambda i: len(set(i.minima)) == 1,
    "sigma = 0": lambda i: not any(i.noise),
    "noise": lambda i: any(i.noise),
    "alpha = p": lambda i: i.weighting == "fedavg",
    "alpha not p": lambda i: i.weighting != "fedavg",
    "unequal p": lambda i: len(set(i.p)) > 1,
    "absent clients": lambda i: i.present < i.N or bool(i.q),
}


def _as_float(number: Fraction) -> float:
    """A fraction as the nearest float, the largest where none is so large."""
    largest = Fraction(sys.float_info.max)
    return float(max(min(number, largest), -largest))


@dataclass
class Seen:
    """How many instances met the assumptions with sides not both 0, how near they came, how many lie at a limit."""

    count: int = 0
    margin: float = math.inf
    at: Counter[str] = field(default_factory=Counter)

    def add(self, instance: Instance, sides: Iterable[Sides]) -> None:
        self.count += 1
        self.margin = min([self.margin, *(_as_float(s.margin) for s in sides)])
        self.at.update(name for name, lies_there in LIMITS.items() if lies_there(instance))


# How the battery is smaller with noise than without: the moments of a long run are known in this case only.
NOISY = (
    f"noise under FedAvg only, of several clients over at most {MOST_NOISY_STEPS} client steps; beyond {NOISY_STEPS} "
    "with everyone present and eta L <= 1 only"
)


def sweep(
    claim: Claim, reading: Reading, suspicious: bool = False, seen: Seen | None = None
) -> Iterator[tuple[Instance, bool]]:
    """The battery, cheap instances first, each with whether it refutes the claim; what did not is ``seen``.

    In other units too where the dimensions are wrong.
    """
    seen = seen or Seen()
    plain = sorted(evenly_spaced(list(battery(claim, claim.coverage(reading)))), key=cost)
    others = (
        rescaled(item, w, f, claim.steps) for (w, f), item in itertools.product(SCALES, plain if suspicious else ())
    )
    for instance in itertools.chain(plain, others):
        sides = sides_at(instance, claim, reading)
        if any(s.violated(claim.kind) for s in sides):
            yield instance, True
        # The start is near the bound of every convergence theorem, and says nothing of its looseness.
        if later := [s for s in sides if (s.lhs or s.rhs) and (s.t != 0 or claim.scope != "horizon")]:
            seen.add(instance, later)
        yield instance, False


def evenly_spaced(instances: list[Instance]) -> list[Instance]:
    """At most MOST of the instances, evenly spaced from the first."""
    return [instances[k * len(instances) // MOST] for k in range(MOST)] if len(instances) > MOST else instances


def cost(instance: Instance) -> int:
    """About what an exact run costs, in powers of eight: instances of about one cost keep their order."""
    return numbers(instance).bit_length() // 3


def sides_at(instance: Instance, claim: Claim, reading: Reading) -> list[Sides]:
    """Both sides of a claim wherever it speaks of an instance; none where an assumption fails or is not expressed."""
    most = MAX_OUTCOMES if claim.scope == "point" else 2**NOISY_STEPS
    if excluded(instance, claim, reading) or instance.chance.too_many(most):
        return []  # at a step size that is enclosed only, outcomes are never few
    try:
        record = run(instance, most)
        return [] if any(judge_assumptions(claim, record, reading)) else list(compare(claim, record, reading))
    except Undecided:
        return []  # a root, or the minimiser of logistic losses, in too few digits
