"""Repairs of false theorems: is what was there before the slip, or more, among the first three statements shown?

    python -m validate.repair [--set slips hidden outside] [--count 20] [--seed 11] [--seconds 45] [--attack 20]
                              [--record] [--resume]

*slips* are shipped, proved claims with one change at random, which an exact instance violates (`specimens`);
*hidden* are the same, where the shipped claim itself neither proves a candidate nor is one; *outside* are the false
statements of `outside_theorems` whose correction is written down (`corrected`), evenly chosen. A theorem counts as
restored where one of the first three statements shown has a right side that is nowhere above the correct one's at
random values of the symbols, under no further assumptions. Every statement shown is attacked: with all runs of the
pool, in fractions, and where it is not proved by a trial with the large budget, ended after the seconds given. The
record keeps each set's last run, with every theorem tried so far; ``--resume`` goes on with one of the same options.

*constants* are all shipped one-step claims at two settings: the smallest constant of a term that is certified, and
whether the solver's worst case, replayed as a run, violates one a thousandth smaller.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import Undecided
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.exact.compare import Exact, examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.judge import judge
from fedbounds.evidence.sdp.one_step.coverage import conditions, one_client, setting_with_stated_steps
from fedbounds.evidence.sdp.one_step.parameters import Setting, applies, pointwise
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight
from fedbounds.evidence.sdp.one_step.verdict import examine as certified_or_not
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.io import write_json
from fedbounds.plugins import claims
from fedbounds.referee.implication import granted
from fedbounds.referee.repair import SECONDS, alternatives
from fedbounds.referee.stage_context import Stage, TimeSpent, at_most
from fedbounds.referee.trial import Alternative, Outcome, Trial, try_claim
from fedbounds.theory import assumptions as a
from fedbounds.theory.claim import Claim, Kind, OwnSteps
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status, Verdict
from validate.false_theorems.specimens import pool, specimen
from validate.outside_theorems.corrected import CORRECTED
from validate.outside_theorems.trials import CLAIMS
from validate.tight_constants import at

RECORD = Path(__file__).resolve().parent / "results" / "repair.json"
INSTANCES = RECORD.with_name("outside_instances.json")
SETS = ("slips", "hidden", "outside", "constants")
# Weights at which constants of one-step claims are looked for, of 2 clients at kappa = 10 and tau = 3.
WEIGHTS = ("fedavg", "skewed")
# How far below a certified constant a counterexample is looked for, relative to it or to what solvers resolve.
BELOW, LEAST = Fraction(1, 1000), Fraction(2, 1000)
# Values of the symbols at which two right sides are compared, and their relative rounding.
SAMPLES, ROUNDING = 4000, 1e-9
# Processor seconds for one comparison, for a search for a counterexample to an outside theorem, and for the trial of
# a statement that is shown without proof.
COMPARING, REFUTING, ATTACKING = 20.0, 60.0, 20.0


@dataclass(frozen=True)
class Theorem:
    """A false claim, the verdict ``against`` it, the ``true`` ones, of which any will do, and what may prove it."""

    name: str
    claim: Claim
    reading: Reading
    against: Verdict
    true: tuple[Claim, ...]
    shipped: Mapping[str, Claim]


def slips(seed: int, count: int, hidden: bool) -> Iterator[Theorem]:
    """Shipped, proved claims with one change that an exact instance violates."""
    k = 0
    while count:
        one = specimen(seed, k)
        k += 1
        proof = verified_proofs.examine(one.base, one.reading)
        if one.against is None or one.base.kind is not Kind.INEQUALITY or proof is None:
            continue
        if proof.status is Status.HOLDS:
            count -= 1
            shipped = {key: claim for key, claim in claims().items() if not hidden or key != one.base.key}
            name = f"{one.base.key} [{one.reading.name}], {one.change}"
            yield Theorem(name, one.claim, one.reading, one.against, (one.base,), shipped)


def evenly(count: int) -> list[str]:
    """So many of the outside statements whose correction is known, evenly chosen, or all."""
    keys = list(CORRECTED)
    return [keys[k * len(keys) // count] for k in range(count)] if count < len(keys) else keys


def outside(count: int) -> Iterator[Theorem]:
    """Outside statements whose correction is known, with what refutes them."""
    stored = json.loads(INSTANCES.read_text(encoding="utf-8")) if INSTANCES.exists() else {}
    for key in evenly(count):
        true = CORRECTED[key]
        claim, reading = CLAIMS[key], READINGS[CLAIMS[key].readings[-1]]
        if key not in stored:
            refutation = try_claim(claim, seed=0, jobs=1, seconds=REFUTING).refutation
            stored[key] = None if refutation is None else refutation.data["instance"]
            write_json(INSTANCES, stored)
        if stored[key] is not None:
            yield Theorem(key, claim, reading, examine(from_json(stored[key]), claim, reading), true, claims())


def values(claim: Claim, reading: Reading, names: set[str], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random values of symbols that meet what every problem has and the relations that a claim assumes."""
    drawn = {name: 10.0 ** rng.uniform(-2, 2, SAMPLES) for name in sorted(names)}
    drawn["tau"] = rng.integers(1, 9, SAMPLES).astype(float)
    drawn["m"] = rng.integers(1, 5, SAMPLES).astype(float)
    drawn["N"] = drawn["m"] + rng.integers(1, 5, SAMPLES)
    drawn["mu"], few = 10.0 ** rng.uniform(-1, 1, SAMPLES), rng.random(SAMPLES)
    drawn["L"] = drawn["mu"] * (1 + 10.0 ** rng.uniform(-2, 2, SAMPLES))
    drawn["k"], drawn["R"] = (rng.integers(1, 9, SAMPLES).astype(float) for _ in range(2))
    drawn["begun"] = drawn["tau"] * rng.integers(0, 5, SAMPLES)
    drawn["t"] = drawn["begun"] + np.floor(drawn["tau"] * rng.random(SAMPLES))
    drawn["eta_ratio"], drawn["eta_growth"] = 1 + 10.0 ** rng.uniform(-2, 1, (2, SAMPLES))
    drawn["T"] = 1.0 + rng.integers(0, 60, SAMPLES)
    even = np.ones(SAMPLES) if a.equal_p in claim.assumptions_in(reading) else rng.random(SAMPLES)
    drawn["p_min"] = even / drawn["N"]  # as where one client has 1 - even more than the others
    drawn["p_sq"] = (1 + (drawn["N"] - 1) * (1 - even) ** 2) / drawn["N"]
    drawn["pi_min"] = few
    # By pi-max, which is proved, no ratio is larger than 1/p_min - (N - 1) pi_min.
    drawn["pi_max"] = 1 + (1 / drawn["p_min"] - (drawn["N"] - 1) * few - 1) * rng.random(SAMPLES)
    share, further = rng.random((2, SAMPLES))
    drawn["sigma_p_sq"] = drawn.get("sigma_sq", 1.0) * drawn["p_sq"]
    drawn["eta_0"] = drawn["eta"] = 2.5 * rng.random(SAMPLES) / drawn["L"]
    every = [part for item in claim.assumptions_in(reading) for part in item.parts]
    for part in every:
        if part.sign == "=" and part.left.is_Symbol:
            drawn[part.left.name] = np.broadcast_to(evaluate(part.right, drawn), SAMPLES).astype(float)
    # The skews are means of ratios.
    drawn["rho_bar"] = drawn["pi_min"] + (drawn["pi_max"] - drawn["pi_min"]) * share
    drawn["rho_tilde"] = drawn["rho_bar"] + (drawn["pi_max"] - drawn["rho_bar"]) * further
    kept = np.ones(SAMPLES, dtype=bool)
    for part in every:
        if {s.name for s in part.left.free_symbols | part.right.free_symbols} <= drawn.keys() and part.sign != "=":
            kept &= evaluate(part.left, drawn) <= evaluate(part.right, drawn)
    return {name: column[kept] for name, column in drawn.items()}


def steps_of(claim: Claim) -> sp.Expr | None:
    return None if claim.steps is None else sp.sympify(claim.steps)


def implies(shown: Claim, true: Claim, reading: Reading) -> bool:
    """Whether a claim bounds the same by no more, wherever the true one speaks and at values drawn at random."""
    how = READINGS[shown.readings[-1]] if reading.name not in shown.readings else reading
    (left, right, _), (lhs, rhs, _) = shown.sides(how), true.sides(reading)
    rest = [item for item in shown.assumptions_in(how) if not isinstance(item, OwnSteps)]
    stated = true.assumptions_in(reading)
    lacking = [item for item in rest if not granted(item, true, stated)]
    names = {s.name for side in (left, right, lhs, rhs) for s in side.free_symbols}
    steps, wanted = steps_of(shown), steps_of(true)
    names |= {s.name for one in (steps, wanted) if one is not None for s in one.free_symbols}
    at = values(true, reading, names, np.random.default_rng(0))
    for item in lacking:  # such as a step limit in other words, which the true claim's own steps meet
        if not item.parts or any({s.name for s in p.left.free_symbols} - {"eta", "L", "mu"} for p in item.parts):
            return False
        if any(part.sign == "=" for part in item.parts):
            return False
    if wanted is not None and "eta_0" in names:
        at["eta"] = np.broadcast_to(evaluate(wanted, at), at["L"].shape)
    for part in (part for item in lacking for part in item.parts):
        if not np.all(evaluate(part.left, at) <= evaluate(part.right, at) * (1 + ROUNDING)):
            return False
    if wanted is not None:
        taken = evaluate(wanted, at)
        at["eta_ratio"] = np.broadcast_to(evaluate(wanted, {**at, "t": at["begun"]}) / taken, at["L"].shape)
        if steps is not None:  # those that the shown claim would take at the steps of the true one
            again = evaluate(steps, {**at, "eta_0": taken if wanted.has(sp.Min) else at["eta_0"]})
            if not np.allclose(again, taken, rtol=1e-9):
                return False
        if wanted.has(sp.Min):
            at["eta_0"] = taken
    with np.errstate(all="ignore"):
        lower, upper = evaluate(right, at), evaluate(rhs, at)
        seen = np.isfinite(lower) & np.isfinite(upper)
        below = lower <= upper + ROUNDING * np.maximum(np.abs(lower), np.abs(upper))
    return left == lhs and bool(np.any(seen)) and bool(np.all(below[seen]))


def restored(one: Theorem, shown: tuple[Alternative, ...]) -> bool:
    try:
        with at_most(COMPARING):
            return any(implies(item.claim, true, one.reading) for item in shown for true in one.true)
    except TimeSpent:
        return False


def repaired(one: Theorem, seconds: float) -> tuple[Alternative, ...]:
    """What is shown."""
    trial = Trial(one.claim, one.reading.name, "small", 0, (Stage("known", 0.0, (), (one.against,)),), True)
    return alternatives(trial, seconds=seconds, shipped=one.shipped)


def refuting(claim: Claim, reading: Reading, seed: int) -> tuple[int, bool]:
    """How many runs of the pool the claim speaks of, and whether one of them violates it, in fractions."""
    judged = 0
    for record in pool(seed, claim.steps).records:
        try:
            verdict = judge(claim, reading, Exact(record, reading))
        except (Undecided, ZeroDivisionError):
            continue
        judged += verdict.status in (Status.HOLDS, Status.REFUTED)
        if verdict.status is Status.REFUTED:
            return judged, True
    return judged, False


def attacked(one: Theorem, item: Alternative, seed: int, seconds: float) -> dict[str, Any]:
    """A statement that is shown, what it was attacked with, and whether that violates it."""
    runs, false = refuting(item.claim, one.reading, seed)
    row = {"change": item.change, "outcome": str(item.outcome), "runs": runs}
    if item.outcome is not Outcome.PROVED and not false:
        trial = try_claim(item.claim, one.reading.name, "large", seed=seed, jobs=1, seconds=seconds)
        by = trial.refutation or trial.violation_in_floats
        false = by is not None
        row |= {"attacked for": seconds, "trial": str(trial.outcome)} | ({} if by is None else {"by": by.detail})
    return row | {"false": false}


def measured(
    name: str, count: int, seed: int, seconds: float, attack: float, known: Mapping[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """What became of each theorem of a set, but for those of which it is known."""
    for one in outside(count) if name == "outside" else slips(seed, count, name == "hidden"):
        if one.name in known:
            yield known[one.name]
            continue
        shown = repaired(one, seconds)
        rows = [attacked(one, item, seed, attack) for item in shown]
        true = tuple(item for item, row in zip(shown, rows, strict=True) if not row["false"])
        false = len(shown) - len(true)
        yield {"theorem": one.name, "restored": restored(one, true), "false": false, "shown": rows}


def one_step() -> Iterator[tuple[Claim, Setting, str, str]]:
    """Each term of each shipped inequality about a step or a point that certificates carry, where it applies."""
    for claim in claims().values():
        reading = READINGS[claim.readings[-1]]
        for weights in WEIGHTS if applies(claim, reading) else ():
            setting = setting_with_stated_steps(claim, at(10, 3, weights, reading=reading.name))
            setting = one_client(setting) if pointwise(claim, reading) else setting
            if not conditions(claim, setting)[0]:
                yield from ((claim, setting, weights, term) for term in claim.terms if term != "contraction")


def constants() -> Iterator[dict[str, Any]]:
    """The certified constant of each term of the one-step claims, and what became of the claim just below it.

    A term that is 0 all over the class, or that is not needed beside the others, has no constant.
    """
    for claim, setting, weights, term in one_step():
        try:
            constant, stated = tight(claim, setting, term), split(claim, setting, term).stated
        except (InputError, ZeroDivisionError):
            continue
        if math.isnan(constant.solver) or not constant.needed:
            continue
        place = {"claim": claim.key, "reading": setting.reading, "term": term, "weights": weights}
        row: dict[str, Any] = place | {"stated": float(stated), "solver": constant.solver}
        if (certified := constant.certified) is not None:
            distance = BELOW * max(certified, LEAST)
            smaller = (certified - distance) / stated
            below = sp.Rational(smaller.numerator, smaller.denominator) * claim.terms[term]
            changed = replace(claim, key=f"{claim.key}-below", terms={**claim.terms, term: below})
            verdict = certified_or_not(changed, setting)
            row |= {"certified": float(certified), "below": str(verdict.status), "detail": verdict.detail}
            row["distance"] = float(distance)
        yield row


def in_line(item: Mapping[str, Any]) -> str:
    """A statement that was shown, as a line of output."""
    trial = f", {item['trial']} in a trial" if "trial" in item else ""
    return f"{item['change']}: {item['outcome']} ({item['runs']} runs{trial}){' FALSE' * item['false']}"


def stored() -> dict[str, Any]:
    """What the record holds."""
    return dict(json.loads(RECORD.read_text(encoding="utf-8"))) if RECORD.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m validate.repair", description=__doc__)
    parser.add_argument("--set", nargs="+", choices=SETS, default=SETS, help="which theorems")
    parser.add_argument("--count", type=int, default=20, help="theorems of each set")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="processor seconds a theorem")
    parser.add_argument("--attack", type=float, default=ATTACKING, help="processor seconds a statement without proof")
    parser.add_argument("--record", action="store_true", help=f"store the results in {RECORD.name}")
    parser.add_argument("--resume", action="store_true", help="keep what is stored of a run with the same options")
    chosen = parser.parse_args()
    if "constants" in chosen.set:
        rows: list[dict[str, Any]] = list(constants())
        for row in rows:
            number = f"{row['certified']:.6g}, below {row['below']}" if "certified" in row else "not certified"
            print(f"{row['claim']} [{row['reading']}]: {row['term']}, {row['weights']}: {number}")
        if chosen.record:
            write_json(RECORD, stored() | {"constants": rows})
    for name in (name for name in chosen.set if name != "constants"):
        rows, made = [], {"seed": chosen.seed, "seconds": chosen.seconds, "attack": chosen.attack}
        kept = stored().get(name, {}) if chosen.resume else {}
        known = {row["theorem"]: row for row in kept["theorems"]} if made.items() <= kept.items() else {}
        for row in measured(name, chosen.count, **made, known=known):
            rows.append(row)
            print(f"{row['theorem']}: {'restored' if row['restored'] else 'not restored'}", flush=True)
            print("".join(f"    {in_line(item)}\n" for item in row["shown"]), end="", flush=True)
            if chosen.record:
                later = [row for key, row in known.items() if key not in {done["theorem"] for done in rows}]
                write_json(RECORD, stored() | {name: made | {"theorems": [*rows, *later]}})
        back, false = sum(row["restored"] for row in rows), sum(row["false"] for row in rows)
        print(f"{name}: restored {back} of {len(rows)}; {false} of the statements shown are false", flush=True)


if __name__ == "__main__":
    main()
