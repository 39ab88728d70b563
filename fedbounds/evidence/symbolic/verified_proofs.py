"""The symbolic evidence: derivations found, every step verified exactly, the last line compared with the claim.

An inequality is verified as an identity: right minus left equals the declared combination of facts, each
with a multiplier that is non-negative on sight. Whatever does not verify is UNDECIDED, and says why.
"""

import importlib
import pkgutil
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from types import ModuleType

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.exact.counterexamples import instance_that_meets
from fedbounds.evidence.symbolic import checker
from fedbounds.evidence.symbolic.derivation import Derivation, Step
from fedbounds.evidence.symbolic.permitted_assumptions import granted
from fedbounds.evidence.symbolic.proof_state import Checked, Context, Grounds, Shelf, StepCheck, Unproved
from fedbounds.evidence.symbolic.untrusted_expressions import rebuilt
from fedbounds.plugins import claims, nearest, registered
from fedbounds.theory.assumptions import SHIPPED
from fedbounds.theory.claim import OWN_STEPS, Claim, Kind
from fedbounds.theory.coverage import Coverage, coverage_of_relations
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

GROUP = "fedbounds.derivations"
# Said of a proof whose assumptions may contradict each other.
UNMET = "; no instance is known to meet these"


@lru_cache(maxsize=1)
def installed() -> Mapping[str, Derivation]:
    """Key -> derivation, from the modules of every package registered under the entry point group."""
    result: dict[str, Derivation] = {}
    for entry in sorted(registered(GROUP), key=lambda item: item.value):
        package = entry.load()
        names = sorted(info.name for info in pkgutil.iter_modules(getattr(package, "__path__", ())))
        modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names if name[0] != "_"]
        result |= collected((package, *modules), result)
    return result


def collected(modules: Iterable[object], taken: Mapping[str, Derivation]) -> dict[str, Derivation]:
    """The derivations of modules, none of which may take the key of another or of one known."""
    result: dict[str, Derivation] = {}
    for module in modules:
        for derivation in getattr(module, "DERIVATIONS", ()):
            if derivation.key in {**taken, **result}:
                raise reject("a derivation must have a key of its own", repr(derivation.key), "give it another key")
            result[derivation.key] = derivation
    return result


@lru_cache(maxsize=1)
def _shared() -> Shelf:
    return shelf(installed())


def shelf(derivations: Mapping[str, Derivation], stated: Mapping[str, Claim] | None = None) -> Shelf:
    """Derivations that may cite each other, none checked yet, about claims known (by default all)."""
    about = claims() if stated is None else stated
    return Shelf(derivations, lambda key, shelf, reading: checker.check(key, shelf, reading, about))


def check(key: str, on: Shelf, reading: Reading | None = None) -> Checked:
    """The check of a derivation, by default in its first reading."""
    if reading is None:
        name = on.derivations[key].readings[0]
        if name not in READINGS:
            raise nearest("reading", name, READINGS)
        reading = READINGS[name]
    return on.checker(key, on, reading)


def recheck(checked: Checked, step: Step) -> StepCheck:
    """The outcome of a changed step of an installed derivation, the other steps being as they were found."""
    return checker.recheck(checked, step, _shared(), claims())


def check_all(derivations: Iterable[Derivation] | None = None) -> dict[str, Checked]:
    """Every derivation, checked in its first reading; those given, or those installed."""
    on = _shared() if derivations is None else shelf({d.key: d for d in derivations})
    return {key: check(key, on) for key in on.derivations}


def proofs(name: str | None = None, extra: Iterable[ModuleType] = ()) -> list[tuple[Checked, Verdict | None]]:
    """The check of the derivation of that key, or of the first of the claim of that key, or of all in order of key.

    Beside each the verdict on its claim in its first reading, None for a result of its own. ``extra`` modules may
    define DERIVATIONS and the CLAIMS that they are about.
    """
    extra = tuple(extra)
    derivations = {**installed(), **collected(extra, installed())} if extra else installed()
    stated = claims(extra)
    on = shelf(derivations, stated) if extra else _shared()
    keys = sorted(derivations) if name is None else [derivation_named(name, derivations, stated).key]
    checks = [check(key, on) for key in keys]
    about = [stated[c.derivation.claim] if c.derivation.claim else None for c in checks]
    return [(c, judge(c, claim, c.reading) if claim else None) for c, claim in zip(checks, about, strict=True)]


def derivation_named(
    key: str, derivations: Mapping[str, Derivation] | None = None, stated: Container[str] = ()
) -> Derivation:
    """The derivation of that key, else the first of the claim of that key, else an input error.

    A claim that is ``stated`` and has none is told apart from an unknown name.
    """
    derivations = installed() if derivations is None else derivations
    if key in derivations:
        return derivations[key]
    for derivation in derivations.values():
        if derivation.claim == key:
            return derivation
    if key in stated:
        raise reject(
            "a claim must have a derivation to be checked",
            f"{key}, which has none",
            "fedbounds derive --all lists all",
        )
    raise nearest("derivation", key, derivations)


def checked_named(key: str, reading: Reading | None = None) -> Checked:
    """The check of an installed derivation, by its key or its claim's."""
    return check(derivation_named(key).key, _shared(), reading)


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """What the installed derivations say of a claim in a reading, or None where none is about it."""
    verdicts = [
        judge(checked_named(derivation.key, reading), claim, reading)
        for derivation in installed().values()
        if derivation.claim == claim.key and reading.name in derivation.readings
    ]
    return next((verdict for verdict in verdicts if verdict.status is Status.HOLDS), next(iter(verdicts), None))


def judge(checked: Checked, claim: Claim, reading: Reading, case: Claim | None = None) -> Verdict:
    """The verdict of one checked derivation on its claim, or on the ``case`` of it that another claim is."""
    derivation, fault = checked.derivation, checked.fault
    stated = {item.key for item in claim.assumptions_in(reading)}
    added = stated - {item.key for item in (case or claim).assumptions_in(reading)}
    assumed = sorted(checked.assumptions - added)
    try:
        claim = rebuilt(claim)
        fault = fault or _mismatch(checked, claim, reading) or _beyond(checked, claim, reading)
    except Unproved as unproved:
        fault = str(unproved)
    if fault:
        status, detail = Status.UNDECIDED, fault
    else:
        names = ", ".join(assumed) or "none"
        status, detail = Status.HOLDS, f"proved under these assumptions: {names}" + _on_their_word(checked)
        if instance_that_meets(claim, reading) is None:
            detail += UNMET
    data = {
        "derivation": derivation.key,
        "steps": len(derivation.steps),
        "checked": sum(outcome.ok for outcome in checked.outcomes.values()),
        "assumptions": assumed,
        "definitions": sorted(checked.setting),
        "findings": list(derivation.findings),
    }
    covered = _covered(case or claim, reading) if status is Status.HOLDS else None
    return Verdict(claim.key, reading.name, Evidence.SYMBOLIC, status, detail=detail, data=data, coverage=covered)


def _on_their_word(checked: Checked) -> str:
    """The assumptions whose facts nothing was compared with: somebody's own, which are no relations."""
    used = [checked.universe[key] for key in sorted(checked.assumptions) if key in checked.universe]
    unchecked = [
        item.key for item in used if item.gives is not None and not item.parts and SHIPPED.get(item.key) is not item
    ]
    return f"; what {', '.join(unchecked)} gives to the proof was taken on its word" if unchecked else ""


def _covered(claim: Claim, reading: Reading) -> Coverage:
    """The experiments that the assumptions describe; of steps what limits eta L alone, as runs have no eta L."""
    assumed = [item for item in claim.assumptions_in(reading) if item.key != OWN_STEPS and not item.bounds_steps]
    return coverage_of_relations(tuple(part for item in assumed for part in item.parts))


def _mismatch(checked: Checked, claim: Claim, reading: Reading) -> str:
    """Why the last line is not the claim's own in this reading, or an empty string."""
    derivation, last = checked.derivation, checked.derivation.steps[-1]
    if checked.reading != reading or reading.name not in claim.readings:
        return f"it is no proof of {claim.key} in reading {reading.name}"
    if claim.kind is Kind.RATE:
        return "a rate is no line that a proof could end with"
    wanted = "=" if claim.kind is Kind.IDENTITY else "<="
    if last.relation != wanted:
        return f"the last line has the relation {last.relation}, not {wanted}"
    slacks = {condition.symbol: (condition.expression, Grounds()) for condition in checked.conditions}
    scope = Context(derivation, reading, shelf({}, {}), {}, checked.schedule, {}, checked.abbreviations, {}, slacks)
    right = sp.Add(*claim.stated(reading.repaired).values())
    for side, ours, theirs in (("left", last.lhs, claim.lhs), ("right", last.rhs, right)):
        rest = scope.rest(ours - theirs)
        if rest != 0:
            return f"the last line's {side} side differs from the claim's by {rest}"
    return ""


def _beyond(checked: Checked, claim: Claim, reading: Reading) -> str:
    """Which assumptions the derivation needs beyond the claim's, or an empty string."""
    derivation, stated = checked.derivation, claim.assumptions_in(reading)
    claim_checked = checked.claim
    about = (claim.definitions, claim.eta, claim.algorithm)
    if claim_checked is None or (claim_checked.definitions, claim_checked.eta, claim_checked.algorithm) != about:
        return f"it was checked for another statement of {claim.key}"
    if derivation.eta is not None and claim.eta is None:
        return f"proved only for eta = {derivation.eta}"
    # Equal names are not enough: the claim's assumption itself must be what was used.
    extra = [key for key in checked.assumptions if checked.universe.get(key) not in stated]
    extra = sorted({*extra, *(checked.setting.keys() - granted(reading, claim).keys())})
    return f"proved only under further assumptions: {', '.join(extra)}" if extra else ""
