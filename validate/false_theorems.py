"""Theorems that nobody here wrote: true claims perturbed at random, most of them false, thrown at every evidence.

    python -m validate.false_theorems --count 1000 --seed 7 --out validate/results/false_theorems.json

A perturbed claim is *known to be false* where a quadratic in fractions violates it and satisfies its assumptions,
both exactly; those that nothing is known of are dropped. It is *known to be true* where a term that is never negative
was made larger. Asked are regimes (empirical), the SDP at a few settings, the derivations and
the kernel's stored proofs; of false claims that survive, then a search. What must never happen is counted first: a
HOLDS whose coverage contains an instance that refutes the claim, and a REFUTED true claim.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction as Q
from functools import cache
from pathlib import Path

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.empirical import comparison
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.exact import decide as exactly
from fedbounds.evidence.exact.instance import Instance, to_json
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.evidence.sdp import decide as sdp
from fedbounds.evidence.sdp import scope
from fedbounds.evidence.sdp.setting import Setting, round_setting
from fedbounds.evidence.symbolic import library as symbolic
from fedbounds.files import write_text
from fedbounds.plugins import claims
from fedbounds.referee.mutants import parts, scaled, shifted, swapped
from fedbounds.referee.regime import Suite
from fedbounds.referee.regimes import REGIMES
from fedbounds.referee.search.budget import BUDGETS
from fedbounds.referee.search.refute import refute
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.symbols import L, eta, mu, tau
from fedbounds.theory.verdict import Status, Verdict

# Thousands of verdicts share one table, so each run decides far from a false alarm.
ERROR_RATE = 1e-6
# A floating-point violation this small, relative to the sides, is not worth confirming in fractions.
VISIBLE = 1e-6
WEIGHTS = (((Q(1, 2), Q(1, 2)), (Q(1, 2), Q(1, 2))), ((Q(9, 10), Q(1, 10)), (Q(1, 2), Q(1, 2))))
SETTINGS = tuple((kappa, t, w) for kappa in (2, 10) for t in (1, 2) for w in WEIGHTS)
POOL = 240
# Random instances of a class tried for one that refutes.
TRIES = 40
POWERS = (eta * L, 1 / (eta * L), 1 / tau, 1 / tau**2, mu / L, eta, 1 / eta)


@dataclass(frozen=True)
class Specimen:
    """A perturbed claim, what was done, and whether it is known to be ``true`` or has an ``instance`` against it."""

    claim: Claim
    reading: Reading
    base: str
    change: str
    true: bool
    instance: Instance | None = None


@dataclass
class Fate:
    """What the evidences said of a specimen, by kind; ``unsound`` names a HOLDS that contains the counterexample."""

    specimen: Specimen
    said: dict[str, list[str]] = field(default_factory=dict)
    unsound: list[str] = field(default_factory=list)

    @property
    def refuted(self) -> bool:
        """Whether some evidence refutes it."""
        return any("REFUTED" in words for words in self.said.values())

    @property
    def held(self) -> bool:
        """Whether some evidence certifies or proves it."""
        return any("HOLDS" in self.said.get(kind, ()) for kind in ("sdp", "symbolic", "kernel"))


def bases() -> list[tuple[Claim, Reading]]:
    """The one-step claims that the SDP evidence can express, in the reading in which they are true."""
    found = []
    for claim in claims().values():
        reading = READINGS["repaired" if "repaired" in claim.readings else "all-steps"]
        if claim.scope == "step" and claim.kind is Kind.INEQUALITY and sdp.applies(claim):
            found.append((claim, reading))
    return found


def perturbed(claim: Claim, reading: Reading, rng: np.random.Generator) -> tuple[Claim, str, bool]:
    """One random change of a claim: the new claim, what was done in words, and whether it can only be truer."""
    kind = rng.choice(["constant", "sign", "deleted", "power", "assumption", "index", "looser"])
    pieces = parts(claim)
    part = pieces[int(rng.integers(len(pieces)))]
    if kind == "looser":
        safe = [piece for piece in pieces if not piece.path and sp.sympify(piece.expression).is_nonnegative]
        if safe:
            chosen, factor = safe[int(rng.integers(len(safe)))], sp.Rational(int(rng.integers(10, 60)), 10)
            return scaled(claim, chosen, factor).claim, f"{chosen.label} times {factor}", True
    if kind == "assumption":
        return _without_assumption(claim, reading, rng)
    if kind == "index":
        others = [*shifted(claim), *swapped(claim)]
        if others:
            mutant = others[int(rng.integers(len(others)))]
            return mutant.claim, f"{mutant.part}: {mutant.change}", False
    if kind == "power":
        factor = POWERS[int(rng.integers(len(POWERS)))]
        return scaled(claim, part, factor).claim, f"{part.label} times {factor}", False
    factor = {"sign": sp.Integer(-1), "deleted": sp.Integer(0)}.get(
        str(kind), sp.Rational(max(1, round(1000 * 10 ** rng.uniform(-3, 0))), 1000)
    )
    return scaled(claim, part, factor).claim, f"{part.label} times {factor}", False


def _without_assumption(claim: Claim, reading: Reading, rng: np.random.Generator) -> tuple[Claim, str, bool]:
    """One assumption fewer, or its relation with another constant."""
    everything = claim.assumptions_in(reading)
    gone = everything[int(rng.integers(len(everything)))]
    kept = tuple(a for a in everything if a is not gone)
    words = f"without {gone.key}"
    if gone.parts and rng.random() < 0.5:
        part, factor = gone.parts[0], int(rng.integers(2, 9))
        relation = {"<=": sp.Le, "<": sp.Lt, "=": sp.Eq}[part.sign](part.left, factor * part.right, evaluate=False)
        kept = (*kept, replace(gone, key=f"{gone.key} times {factor}", relation=relation, exactly=None, on_run=None))
        words = f"{gone.key} with {factor} times its right side"
    plain = replace(claim, assumptions=kept, repair=claim.repair and replace(claim.repair, assumptions=()))
    return plain, words, False


# ---- the oracle: small quadratics in fractions ------------------------------------------------------------------


def _some(rng: np.random.Generator, values: Sequence[Q]) -> Q:
    return values[int(rng.integers(len(values)))]


def anywhere(rng: np.random.Generator) -> Instance:
    """A small random instance: steps up to the edge, tiny p, starts at w*, noise, steps that fall inside a round."""
    N, d, length = (int(rng.integers(1, high)) for high in (4, 3, 4))
    curvatures = tuple(tuple(_some(rng, [Q(1), Q(1), Q(2), Q(10), Q(100)]) for _ in range(d)) for _ in range(N))
    minima = tuple(tuple(Q(int(rng.integers(-4, 5)), 2) for _ in range(d)) for _ in range(N))
    raw = [_some(rng, [Q(1), Q(1), Q(3), Q(1, 50)]) for _ in range(N)]
    p = tuple(x / sum(raw) for x in raw)
    top, low = max(max(row) for row in curvatures), min(min(row) for row in curvatures)
    step = _some(rng, [1 / (4 * top), 1 / (2 * top), 1 / top, 2 / (top + low), 2 / top, 8 / top, 1 / (50 * top)])
    fall = _some(rng, [Q(1), Q(1), Q(1, 2), Q(1, 4), Q(1, 20)])
    rounds = int(rng.integers(1, 3))
    shapes = {"fedavg": (), "fedmax": (), "fixed": _simplex(rng, N)}
    weighting = str(rng.choice(list(shapes)))
    noise = tuple(_some(rng, [Q(0), Q(1), Q(4)]) for _ in range(N)) if N * length * rounds <= 6 else ()
    made = Instance(
        curvatures=curvatures,
        minima=minima,
        p=p,
        w0=(Q(0),) * d,
        eta=tuple(step * fall**k for _ in range(rounds) for k in range(length)),
        tau=length,
        weighting=weighting,
        weights=(shapes[weighting],) if weighting == "fixed" else (),  # type: ignore[arg-type]
        noise=noise if rng.random() < 0.4 else (),
    )
    start = made.argmin(p) if rng.random() < 0.3 else tuple(Q(int(rng.integers(-6, 7)), 2) for _ in range(d))
    return made.with_(w0=start)


def _simplex(rng: np.random.Generator, N: int) -> tuple[Q, ...]:
    raw = [Q(int(rng.integers(0, 4))) for _ in range(N)]
    raw[int(rng.integers(N))] += 1
    return tuple(x / sum(raw) for x in raw)


def at(setting: Setting, rng: np.random.Generator) -> Instance:
    """A random instance of the class at a setting: the same kappa, weights, steps and number of clients."""
    d = int(rng.integers(1, 3))
    curvatures = tuple(
        tuple(_some(rng, [setting.L, setting.mu, (setting.L + setting.mu) / 2]) for _ in range(d))
        for _ in range(setting.N)
    )
    minima = tuple(tuple(Q(int(rng.integers(-4, 5)), 2) for _ in range(d)) for _ in range(setting.N))
    eta_all = (*setting.eta, *(setting.eta[-1],) * (setting.tau - len(setting.eta)))
    made = Instance(
        curvatures=curvatures, minima=minima, p=setting.p, w0=(Q(0),) * d, eta=eta_all, tau=setting.tau,
        weighting="fixed", weights=(setting.alpha,), L=setting.L, mu=setting.mu,
    )  # fmt: skip
    start = made.argmin(setting.p) if rng.random() < 0.4 else tuple(Q(int(rng.integers(-6, 7)), 2) for _ in range(d))
    return made.with_(w0=start)


@cache
def pool(seed: int) -> tuple[ExactRun, ...]:
    """The instances that decide which claims are false, run exactly once."""
    rng = np.random.default_rng([seed, 1])
    return tuple(run(anywhere(rng)) for _ in range(POOL))


def counterexample(claim: Claim, reading: Reading, records: Sequence[ExactRun]) -> Instance | None:
    """An instance that satisfies the assumptions and refutes the claim, in fractions; floats choose which to try."""
    for record in records:
        if _fails_in_floats(claim, reading, record):
            verdict = exactly.examine(record.instance, claim, reading)
            if verdict.status is Status.REFUTED:
                return record.instance
    return None


def _fails_in_floats(claim: Claim, reading: Reading, record: ExactRun) -> bool:
    seen, sides = record.observed(reading), claim.sides(reading)
    names = {s.name for s in sides.lhs.free_symbols | sides.rhs.free_symbols}
    places = seen.places(claim.scope)
    if not names <= {*seen.constants, *places}:
        return False
    values: dict[str, float | np.ndarray] = {n: float(seen.constants[n]) for n in names if n in seen.constants}
    count = len(seen.times(claim.scope))
    values |= {n: np.array([float(v) for v in places[n][:count]]) for n in names if n in places}
    left, right = evaluate(sides.lhs, values), evaluate(sides.rhs, values)
    with np.errstate(invalid="ignore"):
        return bool(np.any(left - right > VISIBLE * np.maximum(abs(left), abs(right))))


# ---- what the evidences say ------------------------------------------------------------------------------------


def specimens(seed: int, count: int) -> Iterator[Specimen]:
    """``count`` perturbed claims of which it is known whether they are true."""
    rng, known, given = np.random.default_rng([seed, 2]), bases(), 0
    while given < count:
        claim, reading = known[int(rng.integers(len(known)))]
        changed, words, true = perturbed(claim, reading, rng)
        changed = replace(changed, key=f"user-{claim.key}-{given}")
        instance = None if true else counterexample(changed, reading, pool(seed))
        if true or instance is not None:
            given += 1
            yield Specimen(changed, reading, claim.key, words, true, instance)


def tried(specimen: Specimen, suite: Suite, seed: int, search: bool = True) -> Fate:
    """Every evidence asked about one specimen; a false one that survives is searched for too."""
    fate = Fate(specimen)
    claim, reading = specimen.claim, specimen.reading
    for verdict in _on_regimes(claim, reading, suite):
        _note(fate, verdict)
    rng = np.random.default_rng([seed, 3])
    for kappa, length, (alpha, p) in SETTINGS:
        setting = round_setting(2, length, kappa=kappa, alpha=alpha, p=p, reading=reading.name)
        _certified(fate, setting, rng)
    # A proof or a stored check of the claim it was made from must not be taken for one of this claim.
    same_name = replace(claim, key=specimen.base)
    for verdict in (symbolic.examine(same_name, reading), kernel.examine(same_name, reading)):
        if verdict is not None:
            _note(fate, verdict)
            if verdict.status is Status.HOLDS and not specimen.true:
                fate.unsound.append(f"{verdict.evidence}: {verdict.detail}")
    if search and not specimen.true and not fate.refuted:
        found = refute(claim, reading, BUDGETS["small"], seed=seed)
        fate.said.setdefault("search", []).append(str(found.status))
    return fate


def _note(fate: Fate, verdict: Verdict) -> None:
    fate.said.setdefault(str(verdict.evidence), []).append(str(verdict.status))


def _on_regimes(claim: Claim, reading: Reading, suite: Suite) -> Iterator[Verdict]:
    for regime in suite.regimes:
        seen = suite.run(regime, reading, claim)
        if seen is not None:
            yield comparison.examine(claim, seen, ERROR_RATE)


def _certified(fate: Fate, setting: Setting, rng: np.random.Generator) -> None:
    """The SDP's word at the claim's own step; where a random instance of that very class refutes, at its rho_bar."""
    claim, reading = fate.specimen.claim, fate.specimen.reading
    try:
        own = scope.own_setting(claim, setting)
        found = None if fate.specimen.true else _violation(claim, reading, own, rng)
        if found is not None:
            own = replace(own, rho_bar=found.constants(reading.skew)["rho_bar"])
        verdict = sdp.examine(claim, own)
    except InputError:
        fate.said.setdefault("sdp", []).append("refused")
        return
    _note(fate, verdict)
    holds = verdict.status is Status.HOLDS and verdict.coverage is not None and found is not None
    if holds and verdict.coverage.contains(place_of(found, own)):
        fate.unsound.append(f"sdp at {scope.in_words(claim, own)}: {json.dumps(to_json(found.instance))}")


def _violation(claim: Claim, reading: Reading, setting: Setting, rng: np.random.Generator) -> ExactRun | None:
    """A run at the setting that satisfies the claim's assumptions and breaks it at the setting's step, exactly."""
    for _ in range(TRIES):
        record = run(at(setting, rng))
        if _fails_in_floats(claim, reading, record):
            verdict = exactly.examine(record.instance, claim, reading)
            if verdict.status is Status.REFUTED and verdict.data.get("t") == setting.step:
                return record
    return None


def place_of(record: ExactRun, setting: Setting) -> dict[str, object]:
    """The axes of an exact run at a setting, its own skews among them."""
    axes: dict[str, object] = {axis: next(iter(region)) for axis, region in scope.place(setting).items()}
    skews = {name: record.constants("all-steps")[name] for name in ("rho_bar", "rho_tilde")}
    return axes | {"gradients": "full", "L": setting.L} | skews


def counted(fates: Sequence[Fate]) -> Mapping[str, int]:
    """The numbers of the table."""
    false = [fate for fate in fates if not fate.specimen.true]
    true = [fate for fate in fates if fate.specimen.true]
    by = Counter(kind for fate in false for kind, words in fate.said.items() if "REFUTED" in words)
    return {
        "false": len(false),
        "false with a HOLDS that contains the counterexample": sum(bool(f.unsound) for f in false),
        "false refuted": sum(f.refuted for f in false),
        **{f"false refuted by {kind}": number for kind, number in sorted(by.items())},
        "true": len(true),
        "true refuted": sum(f.refuted for f in true),
        "true certified or proved somewhere": sum(f.held for f in true),
    }


def main() -> None:
    """Try ``--count`` specimens and write what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="drawn, and printed, unless given")
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args()
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if chosen.seed is None else chosen.seed
    print(f"seed {seed}")
    suite, fates = Suite(REGIMES), []
    for k, specimen in enumerate(specimens(seed, chosen.count)):
        fates.append(tried(specimen, suite, seed))
        print(f"\r{k + 1}/{chosen.count}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for words, number in counted(fates).items():
        print(f"{number:6d}  {words}")
    for fate in fates:
        missed = not fate.specimen.true and not fate.refuted
        if fate.unsound or missed or (fate.specimen.true and fate.refuted):
            print(f"  {fate.specimen.base}: {fate.specimen.change}: {fate.said} {fate.unsound}")
    if chosen.out is not None:
        rows = [
            {"base": f.specimen.base, "change": f.specimen.change, "true": f.specimen.true, "refuted": f.refuted,
             "held": f.held, "unsound": f.unsound, "said": {k: dict(Counter(v)) for k, v in f.said.items()}}
            for f in fates
        ]  # fmt: skip
        write_text(chosen.out, json.dumps({"seed": seed, "counts": counted(fates), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
