"""Theorems that nobody here wrote: shipped claims perturbed at random, of which it is known whether they are true.

A perturbed claim is *false* where a quadratic in fractions meets its assumptions and violates it, both exactly. It is
*true* where the claim that it was made of is proved and it says less: a term that is never negative made larger, or a
bound on the step size made smaller. Those that nothing is known of are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction as Q
from functools import cache

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.evaluate import evaluate, rational
from fedbounds.evidence.exact import compare as exactly
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.evidence.sdp.one_step.parameters import applies as has_model
from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.plugins import claims
from fedbounds.referee.changed_terms import parts, scaled
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.symbols import L, Scope, eta, eta_0, mu, tau
from fedbounds.theory.verdict import Status, Verdict
from validate.false_theorems.index_slips import shifted, swapped

# A floating-point violation this small, relative to the sides, is not worth confirming in fractions.
VISIBLE = 1e-6
POOL = 200
# Changes of one claim that are tried for one that is known to be false, before another claim is drawn.
CHANGES = 12
SHARE_TRUE, SHARE_CERTIFIED = 0.25, 0.3
POWERS = (eta * L, 1 / (eta * L), 1 / tau, 1 / tau**2, mu / L, eta, 1 / eta)
WAYS = ("constant", "sign", "deleted", "power", "assumption", "index")
SIGNS = {"<=": sp.Le, "<": sp.Lt, "=": sp.Eq}


@dataclass(frozen=True)
class Specimen:
    """A perturbed claim, what was done, and the exact verdict ``against`` it; without one it is true."""

    claim: Claim
    reading: Reading
    base: Claim
    way: str
    change: str
    against: Verdict | None = None

    @property
    def true(self) -> bool:
        """Whether it follows from its proved base."""
        return self.against is None


@dataclass(frozen=True)
class Pool:
    """Exact runs, with what was computed of them so far: who meets an assumption, and their columns in floats."""

    records: Sequence[ExactRun]
    meeting: dict[tuple[Assumption, str], frozenset[int]] = field(default_factory=dict)
    columns: dict[tuple[int, str, str], dict[str, np.ndarray]] = field(default_factory=dict)

    def against(self, claim: Claim, reading: Reading, rng: np.random.Generator) -> Iterator[Verdict]:
        """The exact refutations that these runs give; floats choose which runs to try."""
        left, right, _ = claim.sides(reading)
        names = {s.name for s in left.free_symbols | right.free_symbols}
        allowed = set(range(len(self.records)))
        for assumption in claim.assumptions_in(reading):
            allowed &= self._meeting(assumption, reading)
        for k in rng.permutation(sorted(allowed)):
            values = self._floats(int(k), reading, claim.scope)
            if names <= values.keys() and _fails(evaluate(left, values), evaluate(right, values), claim.kind):
                verdict = exactly.examine(self.records[k].instance, claim, reading)
                if verdict.status is Status.REFUTED:
                    yield verdict

    def _meeting(self, assumption: Assumption, reading: Reading) -> frozenset[int]:
        key = assumption, reading.skew
        if key not in self.meeting:
            bare = replace(next(iter(claims().values())), assumptions=(assumption,), eta=None, repair=None)
            judged = (exactly.judge_assumptions(bare, record, reading) for record in self.records)
            self.meeting[key] = frozenset(k for k, result in enumerate(judged) if result == ((), ()))
        return self.meeting[key]

    def _floats(self, k: int, reading: Reading, scope: Scope) -> dict[str, np.ndarray]:
        key = k, reading.name, scope
        if key not in self.columns:
            seen = self.records[k].measurement(next(iter(claims().values())), reading)
            count = len(seen.times(scope))
            self.columns[key] = {name: np.asarray(float(value)) for name, value in seen.constants.items()} | {
                name: np.array([float(v) for v in column[:count]]) for name, column in seen.varying(scope).items()
            }
        return self.columns[key]


def _fails(left: np.ndarray, right: np.ndarray, kind: Kind) -> bool:
    with np.errstate(invalid="ignore"):
        away = np.abs(left - right) if kind is Kind.IDENTITY else left - right
        return bool(np.any(away > VISIBLE * np.maximum(np.abs(left), np.abs(right))))


# ---- small quadratics in fractions -------------------------------------------------------------------------------


def some(rng: np.random.Generator, values: Sequence[Q]) -> Q:
    """One of the values."""
    return values[int(rng.integers(len(values)))]


def simplex(rng: np.random.Generator, N: int) -> tuple[Q, ...]:
    """Weights that may vanish."""
    raw = [Q(int(rng.integers(0, 4))) for _ in range(N)]
    raw[int(rng.integers(N))] += 1
    return tuple(x / sum(raw) for x in raw)


def halves(rng: np.random.Generator, d: int, far: int = 4) -> tuple[Q, ...]:
    """A point on the grid of halves."""
    return tuple(Q(int(rng.integers(-far, far + 1)), 2) for _ in range(d))


def anywhere(rng: np.random.Generator, steps: sp.Expr | None = None) -> Instance | None:
    """A small random instance, with the step size of a claim or any; None where that step has no rational value.

    Steps up to the edge, tiny p, starts at w*, noise, steps that fall inside a round, clients that are alike.
    """
    N, d, length = (int(rng.integers(1, high)) for high in (4, 3, 4))
    alike = rng.random()
    row, point = [tuple(some(rng, [Q(1), Q(1), Q(2), Q(10), Q(100)]) for _ in range(d))], halves(rng, d)
    curvatures = tuple(
        row[0] if alike < 0.1 else tuple(some(rng, [Q(1), Q(1), Q(2), Q(10), Q(100)]) for _ in range(d))
        for _ in range(N)
    )
    minima = tuple(point if alike < 0.25 else halves(rng, d) for _ in range(N))
    raw = [Q(1)] * N if rng.random() < 0.3 else [some(rng, [Q(1), Q(1), Q(3), Q(1, 50)]) for _ in range(N)]
    p = tuple(x / sum(raw) for x in raw)
    noisy = rng.random() < 0.4 and N * length <= 5
    rounds = 1 if noisy else int(rng.choice([1, 2, 5]))
    sizes = _sizes(rng, curvatures, length, rounds, steps, N)
    if sizes is None:
        return None
    weighting = str(rng.choice(["fedavg", "fedmax", "fixed", f"fedmax:{int(rng.integers(1, N + 1))}"]))
    made = Instance(
        curvatures=curvatures, minima=minima, p=p, w0=(Q(0),) * d, eta=sizes, tau=length, weighting=weighting,
        weights=(simplex(rng, N),) if weighting == "fixed" else (),
        noise=tuple(some(rng, [Q(0), Q(1), Q(4)]) for _ in range(N)) if noisy else (),
    )  # fmt: skip
    return made.with_(w0=made.argmin(p) if rng.random() < 0.3 else halves(rng, d, 6))


def _sizes(
    rng: np.random.Generator, curvatures: tuple[tuple[Q, ...], ...], length: int, rounds: int,
    steps: sp.Expr | None, N: int,
) -> tuple[Q, ...] | None:  # fmt: skip
    top, low = max(map(max, curvatures)), min(map(min, curvatures))
    size = some(rng, [1 / (4 * top), 1 / (2 * top), 1 / top, 2 / (top + low), 2 / top, 8 / top, 1 / (50 * top)])
    if steps is None:
        fall = some(rng, [Q(1), Q(1), Q(1, 2), Q(1, 4), Q(1, 20)])
        return tuple(size * fall**k for _ in range(rounds) for k in range(length))
    known = {"L": top, "mu": low, "tau": Q(length), "N": Q(N), "eta_0": size}
    if not {s.name for s in steps.free_symbols} <= {"t", *known}:
        return None
    result = [rational(steps, known | {"t": Q(t)}) for t in range(length * rounds)]
    return None if None in result else tuple(result)


@cache
def pool(seed: int, steps: sp.Expr | None) -> Pool:
    """The instances that decide which claims with a step size (None: any) are false, run exactly once."""
    rng = np.random.default_rng([seed, 1])
    drawn = (anywhere(rng, steps) for _ in range(POOL))
    return Pool(tuple(run(instance) for instance in drawn if instance is not None))


# ---- perturbations -----------------------------------------------------------------------------------------------


@cache
def subjects() -> tuple[tuple[Claim, Reading, bool], ...]:
    """Every shipped claim but rates, in each of its readings, and whether our checker proves it there."""
    result = []
    for claim in claims().values():
        for name in claim.readings if claim.kind is not Kind.RATE else ():
            verdict = symbolic.examine(claim, READINGS[name])
            result.append((claim, READINGS[name], verdict is not None and verdict.status is Status.HOLDS))
    return tuple(result)


def specimen(seed: int, k: int) -> Specimen:
    """The k-th perturbed claim of a seed, whatever came before it."""
    rng = np.random.default_rng([seed, 2, k])
    while True:
        true = rng.random() < SHARE_TRUE
        claim, reading, proved = _subject(rng)
        key = f"user-{claim.key}-{k}"
        if true:
            weaker = weakened(claim, reading, rng) if proved and claim.kind is Kind.INEQUALITY else None
            if weaker is not None:
                return Specimen(replace(weaker[0], key=key), reading, claim, "looser", weaker[1])
            continue
        for _ in range(CHANGES):
            way = str(rng.choice(WAYS))
            try:
                changed, words = perturbed(claim, reading, way, rng)
                changed = replace(changed, key=key)
                against = next(pool(seed, changed.steps).against(changed, reading, rng), None)
            except InputError:
                continue  # it divides by 0, or has steps of eta_0 that are not eta_0 at t = 0
            if against is not None:
                return Specimen(changed, reading, claim, way, words, against)


def _subject(rng: np.random.Generator) -> tuple[Claim, Reading, bool]:
    """One of the subjects; every other time one that has certificates."""
    drawn = (
        [subject for subject in subjects() if has_model(subject[0])] if rng.random() < SHARE_CERTIFIED else subjects()
    )
    return drawn[int(rng.integers(len(drawn)))]


def weakened(claim: Claim, reading: Reading, rng: np.random.Generator) -> tuple[Claim, str] | None:
    """A claim that says less, and what was done; None where it has nothing of which that is certain."""
    safe = [piece for piece in parts(claim) if not piece.path and _never_negative(claim, reading, piece.term)]
    bounds = [a for a in claim.assumptions_in(reading) if {"eta"} <= a.symbols() and a.parts[0].sign in ("<=", "<")]
    factor = sp.Rational(int(rng.integers(11, 60)), 10)
    if bounds and (not safe or rng.random() < 0.4):
        gone = bounds[int(rng.integers(len(bounds)))]
        return replaced(claim, reading, gone, 1 / factor), f"{gone.key} with 1/{factor} of its right side"
    if not safe:
        return None
    chosen = safe[int(rng.integers(len(safe)))]
    return scaled(claim, chosen, factor), f"{chosen.label} times {factor}"


def _never_negative(claim: Claim, reading: Reading, term: str) -> bool:
    return bool(sp.sympify(claim.sides(reading).terms[term]).is_nonnegative)


def perturbed(claim: Claim, reading: Reading, way: str, rng: np.random.Generator) -> tuple[Claim, str]:
    """One random change of a claim, and what was done in words."""
    pieces = parts(claim)
    part = pieces[int(rng.integers(len(pieces)))]
    if way == "assumption":
        everything = claim.assumptions_in(reading)
        gone = everything[int(rng.integers(len(everything)))]
        if gone.parts and rng.random() < 0.5:
            factor = int(rng.integers(2, 9))
            return replaced(
                claim, reading, gone, sp.Integer(factor)
            ), f"{gone.key} with {factor} times its right side"
        return replaced(claim, reading, gone, None), f"without {gone.key}"
    if way == "index":
        others = [*shifted(claim), *swapped(claim)]
        if others:
            words, other = others[int(rng.integers(len(others)))]
            return other, words
    factor = {
        "sign": sp.Integer(-1),
        "deleted": sp.Integer(0),
        "power": POWERS[int(rng.integers(len(POWERS)))],
    }.get(way, sp.Rational(max(1, round(1000 * 10 ** rng.uniform(-3, 0.5))), 1000))
    if claim.scope != "step":  # elsewhere no step size is that of the step
        factor = factor.xreplace({eta: 1 / L if claim.scope in ("point", "constant") else eta_0})
    return scaled(claim, part, factor), f"{part.label} times {factor}"


def replaced(claim: Claim, reading: Reading, gone: Assumption, factor: sp.Expr | None) -> Claim:
    """The claim without an assumption, or with the right side of its relation times a factor."""
    if gone.key == "step-size":
        return replace(claim, eta=None if factor is None else factor * claim.eta)
    kept = [a for a in claim.assumptions_in(reading) if a is not gone and a.key != "step-size"]
    if factor is not None:
        relation = tuple(SIGNS[sign](left, factor * right, evaluate=False) for left, sign, right in gone.parts)
        kept.append(
            replace(gone, key=f"{gone.key}-changed", relation=relation, exactly=None, on_run=None, gives=None)
        )
    return replace(claim, assumptions=tuple(kept), repair=claim.repair and replace(claim.repair, assumptions=()))
