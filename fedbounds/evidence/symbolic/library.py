"""The symbolic evidence: derivations found, every step verified exactly, the last line compared with the claim.

An inequality is verified as an identity: right minus left equals the declared combination of facts, each
with a multiplier that is non-negative on sight. Whatever does not verify is UNDECIDED, and says why.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Mapping
from functools import lru_cache

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.symbolic.algebra import normal_fraction
from fedbounds.evidence.symbolic.check import check, library
from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.evidence.symbolic.sums import Checked, Library, fixed
from fedbounds.plugins import claims, nearest
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

GROUP = "fedbounds.derivations"


@lru_cache(maxsize=1)
def installed() -> Mapping[str, Derivation]:
    """Key -> derivation, from the modules of every package registered under the entry point group."""
    found: dict[str, Derivation] = {}
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda item: item.value):
        package = entry.load()
        names = sorted(info.name for info in pkgutil.iter_modules(getattr(package, "__path__", ())))
        modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names if name[0] != "_"]
        for module in (package, *modules):
            found |= {derivation.key: derivation for derivation in getattr(module, "DERIVATIONS", ())}
    return found


@lru_cache(maxsize=1)
def _shared() -> Library:
    return library(installed())


def check_all(derivations: Iterable[Derivation] | None = None) -> dict[str, Checked]:
    """Every derivation, checked; those given, or those installed."""
    shelf = _shared() if derivations is None else library({d.key: d for d in derivations})
    return {key: check(key, shelf) for key in shelf.derivations}


def derivation_named(key: str) -> Derivation:
    """The installed derivation of that key, else the first of the claim of that key, else an input error."""
    known = installed()
    if key in known:
        return known[key]
    for derivation in known.values():
        if derivation.claim == key:
            return derivation
    raise nearest("derivation", key, known)


def checked_named(key: str) -> Checked:
    """The check of an installed derivation, by its key or its claim's."""
    return check(derivation_named(key).key, _shared())


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """What the installed derivations say of a claim in a reading, or None where none is about it."""
    verdicts = [
        judge(checked_named(derivation.key), claim, reading)
        for derivation in installed().values()
        if derivation.claim == claim.key and reading.name in derivation.readings
    ]
    decided = [verdict for verdict in verdicts if verdict.status is not Status.UNDECIDED]
    return next(iter(decided or verdicts), None)


def judge(checked: Checked, claim: Claim, reading: Reading) -> Verdict:
    """The verdict of one checked derivation on its claim."""
    derivation = checked.derivation
    fault = checked.fault or _last_line(derivation, claim, reading) or _beyond(checked, claim, reading)
    if fault:
        status, detail = Status.UNDECIDED, fault
    elif derivation.refutes:
        status, detail = Status.REFUTED, f"refuted by derivation: {derivation.steps[-1].note or derivation.title}"
    else:
        names = sorted(checked.assumptions)
        status, detail = Status.HOLDS, f"proved under these assumptions: {', '.join(names) or 'none'}"
    data = {
        "derivation": derivation.key,
        "steps": len(derivation.steps),
        "checked": sum(outcome.ok for outcome in checked.outcomes.values()),
        "assumptions": sorted(checked.assumptions),
        "findings": list(derivation.findings),
    }
    return Verdict(claim.key, reading.name, Evidence.SYMBOLIC, status, detail=detail, data=data)


def _last_line(derivation: Derivation, claim: Claim, reading: Reading) -> str:
    """Why the last line is not the claim's own, or an empty string."""
    last = derivation.steps[-1]
    terms = list(claim.terms.values())
    if reading.repaired and claim.repair:
        put = dict(claim.repair.substitutions)
        terms = [sp.sympify(term).subs(put, simultaneous=True) for term in terms]
    if claim.kind is Kind.RATE:
        return _floor(last, claim) if derivation.refutes else "a rate can only be refuted by a floor"
    wanted = {
        (Kind.INEQUALITY, False): ("<=",),
        (Kind.INEQUALITY, True): (">",),
        (Kind.IDENTITY, False): ("=",),
        (Kind.IDENTITY, True): ("!=",),
    }[claim.kind, derivation.refutes]
    if last.relation not in wanted:
        return f"the last line has the relation {last.relation}, not {wanted[0]}"
    meaning = {**derivation.meaning, **derivation.abbreviations}
    for side, ours, theirs in (("left", last.lhs, claim.lhs), ("right", last.rhs, sp.Add(*terms))):
        gap = normal_fraction(ours - theirs, meaning)
        if gap != 0:
            return f"the last line's {side} side differs from the claim's by {gap}"
    return ""


def _floor(last: Step, claim: Claim) -> str:
    """Why a line ``gap >= floor`` does not refute a rate, or an empty string."""
    if last.lhs != claim.lhs or last.relation not in (">", ">=", "="):
        return "the last line is not a lower bound of the claim's left side"
    if not last.rhs.is_positive or sy.T in last.rhs.free_symbols:
        return "the lower bound is not a positive constant"
    return ""


def _beyond(checked: Checked, claim: Claim, reading: Reading) -> str:
    """Which assumptions the derivation needs beyond the claim's, or an empty string."""
    stated = {assumption.key for assumption in claim.assumptions_in(reading)}
    # A proof may add premises of its setting, but may not slip in an assumption that other claims state.
    known = {a.key for other in claims().values() for a in other.assumptions_in(READINGS["repaired"])}
    granted = stated | (set(checked.setting) - known)
    for symbol, value in fixed(checked.derivation).items():
        given = {**claim.definitions, **({sy.eta: claim.eta} if claim.eta is not None else {})}
        defined = set(given).union(*(sp.sympify(v).free_symbols for v in given.values()))
        meaning = {**checked.derivation.meaning, **checked.derivation.abbreviations}
        agreed = all(normal_fraction(name - v, meaning) == 0 for name, v in given.items())
        if symbol not in defined or not agreed:
            return f"proved only for {symbol} = {value}"
    extra = sorted(checked.assumptions - granted)
    return f"proved only under further assumptions: {', '.join(extra)}" if extra else ""


def reading_of(name: str) -> Reading:
    """A named reading, or an input error."""
    if name not in READINGS:
        raise reject("a reading must be a known name", repr(name), f"known: {', '.join(READINGS)}")
    return READINGS[name]
