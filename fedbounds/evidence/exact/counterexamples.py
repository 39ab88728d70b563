"""Counterexample files: small JSON documents, each verified exactly with no search and no floating point.

A document names a ``claim`` and a ``reading``, an ``instance`` and the time ``t`` where the claim fails, or a
``check`` with its ``data``; and the two sides as fractions. ``substitution`` names the one symbol that a half of the
repair replaces, to show that this half alone does not suffice; ``also`` lists readings in which the claim fails too.
"""

import importlib
import importlib.util
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import sympy as sp

from fedbounds.errors import InputError, reject
from fedbounds.evidence.ball_arithmetic import BITS, Undecided
from fedbounds.evidence.exact.compare import Sides, compare, examine, judge_assumptions
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import MALFORMED, fraction, from_json
from fedbounds.evidence.exact.run import ExactRun, run
from fedbounds.evidence.exact.stated_steps import with_steps
from fedbounds.io import read_json
from fedbounds.plugins import claim_named, nearest, registered, shipped
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Status

# Readings that isolate one difference between the paper and its repair.
ISOLATED = {
    "p-virtual": Reading(
        "p-virtual", "all-steps", "p", True, "as repaired, but with the p-weighted iterate inside a round"
    ),
    "sync-skew": Reading("sync-skew", "sync", "alpha", True, "as repaired, but with rho_bar at t = 0 mod tau only"),
}


@dataclass(frozen=True)
class Counterexample:
    """A document that was read: its ``name``, what it refutes and the recorded sides."""

    name: str
    document: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """The claim or check it refutes."""
        return str(self.document.get("claim") or self.document.get("check"))

    @property
    def reading(self) -> str:
        """The reading, with any half repair."""
        half = self.document.get("substitution")
        return f"{self.document.get('reading', '-')}" + (f", with {half} repaired only" if half else "")

    @property
    def readings(self) -> tuple[str, ...]:
        """The names of the readings that it refutes; none where it is about a remark."""
        stated = self.document.get("reading")
        return () if stated is None else (stated, *self.document.get("also", ()))

    def verify(self) -> Sides:
        """Recompute both sides exactly; InputError unless the statement fails and the recorded sides agree."""
        try:
            return self._verified()
        except InputError:
            raise
        except MALFORMED as error:
            raise reject(f"{self.name} must have what its claim or check needs", repr(error), "mend it") from None

    def _verified(self) -> Sides:
        if "check" in self.document:
            result = {"": self._from_check()}
        else:
            names = dict.fromkeys(self.readings)
            if not names:
                raise reject(f"{self.name} must name the reading that it refutes", None, 'give it a "reading"')
            result = {f" in the reading {name}": self._in_reading(reading_named(name)) for name in names}
        for where, (kind, sides) in result.items():
            if not sides.violated(kind):
                shown = f"{sides.lhs} against {sides.rhs}"
                raise reject(f"{self.name} must refute {self.subject}{where}", shown, "mend the file")
        _, sides = next(iter(result.values()))
        recorded = fraction(self.document["lhs"]), fraction(self.document["rhs"])
        if recorded != (sides.lhs, sides.rhs):
            computed, stored = (f"{lhs} and {rhs}" for lhs, rhs in ((sides.lhs, sides.rhs), recorded))
            remedy = f"the claim has changed since, so write the exact ones into {self.name}.json"
            raise reject(f"the sides recorded in {self.name} must be the exact ones, {computed}", stored, remedy)
        return sides

    def _from_check(self) -> tuple[Kind, Sides]:
        name, available = self.document["check"], checks()
        if name not in available:
            raise reject(
                f"the check of {self.name} must be known", name, f"use one of {', '.join(sorted(available))}"
            )
        lhs, rhs, relation = available[name](self.document["data"])
        return Kind.IDENTITY if relation == "=" else Kind.INEQUALITY, Sides(lhs, rhs)

    def _in_reading(self, reading: Reading) -> tuple[Kind, Sides]:
        claim, instance = self.claim(), from_json(self.document["instance"])
        if claim.kind is Kind.RATE:
            verdict = examine(instance, claim, reading)
            if verdict.status is not Status.REFUTED:
                raise reject(f"{self.name} must refute {claim.key}", verdict.detail, "mend the file")
            return claim.kind, Sides(Fraction(str(verdict.data["lhs"])), Fraction(0))
        bits = self.document.get("bits", 0)
        if bits not in (0, *BITS):
            raise reject(f"{self.name} must be in fractions or in balls of known bits", bits, f"use one of {BITS}")
        record = run(instance, bits=bits)
        failed, unknown = judge_assumptions(claim, record, reading)
        if failed or unknown:
            unmet = [*map(str, failed), *unknown]
            raise reject(f"{self.name} must satisfy the assumptions of {claim.key}", unmet, "mend the file")
        where = self.document.get("t")
        sides = next((s for s in compare(claim, record, reading, where) if s.t == where), None)
        if sides is None:
            raise reject(f"{self.name} must name a time t of its run", where, f"use 0 to {instance.total}")
        return claim.kind, sides

    def claim(self) -> Claim:
        """The claim refuted, with the document's half repair substituted."""
        claim = claim_named(self.document["claim"])
        half = self.document.get("substitution")
        if half is None:
            return claim
        halves = claim.repair.substitutions if claim.repair else {}
        repair = {symbol.name: (symbol, value) for symbol, value in halves.items()}
        if half not in repair:
            raise reject(f"the substitution of {self.name} must be known", half, f"use one of {sorted(repair)}")
        symbol, value = repair.pop(half)
        # What the other half puts in place of a symbol is that symbol again.
        undone = value.subs({put: other for other, put in repair.values()})
        terms = {k: sp.sympify(v).subs({symbol: undone}, simultaneous=True) for k, v in claim.terms.items()}
        return replace(claim, terms=terms)


def reading_named(name: str) -> Reading:
    """A reading of the paper, or one that isolates a single difference from the repair."""
    available = READINGS | ISOLATED
    if name not in available:
        raise reject("a reading must be known", name, f"use one of {', '.join(available)}")
    return available[name]


def read(path: Path) -> Counterexample:
    """One counterexample file."""
    document = read_json(path)
    if not isinstance(document, dict) or not {"claim", "check"} & set(document):
        raise reject("a counterexample names a claim or a check", str(path), "add one of these keys")
    return Counterexample(path.stem, document)


def checks() -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    """Key -> the exact check of a remark, from the module ``checks`` of every installed package of derivations."""
    result: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for entry in registered("fedbounds.derivations"):
        if importlib.util.find_spec(f"{entry.value}.checks"):
            result |= importlib.import_module(f"{entry.value}.checks").CHECKS
    return result


def all_files() -> Iterator[Path]:
    """Every counterexample shipped with an installed package of derivations, in order of name."""
    return shipped("counterexamples/*.json")


def shipped_counterexamples(name: str | None = None, reading: str | None = None) -> list[Counterexample]:
    """The shipped counterexamples that have this name or refute this claim, in one reading; all if none is given."""
    every = [read(path) for path in all_files()]
    result = [example for example in every if name in (None, example.name, example.subject)]
    if not result:
        names = {text for example in every for text in (example.name, example.subject)}
        raise nearest("a counterexample or what it refutes", name, names)
    readings = {r for example in result for r in example.readings}
    if reading is not None and reading not in readings:
        raise nearest("the reading of a counterexample", reading, readings)
    return [example for example in result if reading is None or reading in example.readings]


ONE, HALF = Fraction(1), Fraction(1, 2)
# Two clients on the line: curvatures and minima; p_1; weighting.
CURVATURES = ((ONE, ONE), (ONE, 2 * ONE))
MINIMA = ((ONE, -ONE), (ONE, ONE))
SHARES = (HALF, Fraction(1, 4))
WEIGHTINGS = ("fedavg", "fedmax", "fixed")
# Clients of equal weight in the plane: how many, and kappa.
CLIENTS, KAPPAS = (1, 2, 3), (1, 2, 16)
# Of all: eta L, (tau, rounds). Where a claim leaves the gamma of its steps open, it is so many times kappa tau.
STEPS = (Fraction(1, 100), HALF, Fraction(5, 2), ONE)
ROUNDS = ((1, 2), (2, 1), (4, 1))
LATE = 64
# Coins of a noisy instance: each doubles the outcomes of its run.
COINS = 6


def instance_that_meets(claim: Claim, reading: Reading) -> Instance | None:
    """The first instance known here that meets every assumption of the claim that fractions can express, if any."""
    for instance in _instances():
        try:
            record = _run(with_steps(instance, claim.steps, gamma=LATE * instance.L / instance.mu * instance.tau))
            if not judge_assumptions(claim, record, reading)[0]:
                return record.instance
        except (InputError, Undecided):  # the claim's step size is no positive number here, or a root
            continue
    return None


@lru_cache(maxsize=1024)
def _run(instance: Instance) -> ExactRun:
    return run(instance)


def _instances() -> Iterator[Instance]:
    for noisy, size, (tau, rounds) in itertools.product((False, True), STEPS, ROUNDS):
        eta, most = (size,) * (tau * rounds), COINS // (tau * rounds) if noisy else max(CLIENTS)
        shapes = itertools.product(CURVATURES, SHARES, MINIMA, WEIGHTINGS) if most >= 2 else ()
        for curvatures, share, minima, weighting in shapes:
            yield Instance(
                tuple((c,) for c in curvatures),
                tuple((m,) for m in minima),
                p=(share, 1 - share),
                w0=(2 * ONE,),
                eta=tuple(item / max(curvatures) for item in eta),
                tau=tau,
                weighting=weighting,
                weights=((Fraction(1, 3), Fraction(2, 3)),) if weighting == "fixed" else (),
                noise=(ONE, HALF) if noisy else (),
            )
        for clients, kappa in itertools.product((n for n in CLIENTS if n <= most), KAPPAS):
            yield Instance(
                ((ONE, ONE / kappa),) * clients,
                tuple((ONE * k, -ONE) for k in range(clients)),
                p=(ONE / clients,) * clients,
                w0=(2 * ONE, ONE),
                eta=eta,
                tau=tau,
                weighting="fedavg",
                noise=(ONE,) * clients if noisy else (),
            )
