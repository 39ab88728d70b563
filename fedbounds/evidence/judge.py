"""A judgement: the assumptions of a claim, both its sides, the decision, and what the verdict covers.

Kinds of evidence differ in how they measure and in how they decide a difference, not in how a claim is taken apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import sympy as sp

from fedbounds.evidence.assumption_checks import Unmet, judged_on
from fedbounds.evidence.evaluate import Measurement, difference, first_of
from fedbounds.evidence.measured_run import MeasuredRun
from fedbounds.model.weighting import as_weighting
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.coverage import Coverage, only
from fedbounds.theory.quantity import without_facet
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

NOTHING_TESTED = "nothing was tested: no time or point was recorded"


class Substitution(NamedTuple):
    """Both sides of a claim in a reading, its ``terms``, and the ``values`` of symbols wherever its scope ranges."""

    lhs: sp.Expr
    rhs: sp.Expr
    terms: Mapping[str, sp.Expr]
    values: Mapping[str, Any]

    @property
    def difference(self) -> sp.Expr:
        """lhs - rhs."""
        return difference(self.lhs, self.rhs)

    @property
    def unmeasured(self) -> list[str]:
        """The symbols of both sides that have no value."""
        used = {symbol.name for symbol in self.lhs.free_symbols | self.rhs.free_symbols}
        return sorted(used - self.values.keys())


def substitution(claim: Claim, reading: Reading, measurement: Measurement[Any]) -> Substitution:
    """The sides of a claim with the values of a measurement, in floats or fractions, of one run or of many."""
    return Substitution(*claim.sides(reading), first_of(measurement.varying(claim.scope), measurement.constants))


class Judged:
    """What was measured of one experiment in one reading, and how this kind of evidence decides on it."""

    evidence: ClassVar[Evidence]

    def of(self, claim: Claim) -> Self:
        """The same with the claim's computed quantities."""
        return self

    def unmet(self, claim: Claim) -> Unmet:
        """The assumptions that fail, and those that cannot be expressed."""
        raise NotImplementedError

    def lacking(self, claim: Claim) -> tuple[str, ...]:
        """Names without a value, with the reason."""
        return ()

    def refusal(self, claim: Claim) -> Verdict | None:
        """The verdict on a claim that this kind of evidence cannot examine."""
        return None

    def rate(self, claim: Claim) -> Verdict:
        """The verdict on lhs = O(1/T)."""
        raise NotImplementedError

    def sides(self, claim: Claim) -> Any:
        """Both sides of the claim; None where nothing was measured."""
        raise NotImplementedError

    def decide(self, claim: Claim, sides: Any) -> Verdict:
        """The verdict on both sides."""
        raise NotImplementedError

    def coverage(self) -> Coverage | None:
        """The set of experiments that the verdict covers; None where it holds the instance itself."""
        return None


@dataclass(frozen=True)
class OnRun(Judged):
    """A simulated run, sampled or in expectation."""

    run: MeasuredRun

    def unmet(self, claim: Claim) -> Unmet:
        """The assumptions that the run does not meet, or cannot express."""
        return judged_on(claim, self.run)

    def lacking(self, claim: Claim) -> tuple[str, ...]:
        """The computed quantities that have no value on the run."""
        return self.run.quantities.why(self.run.quantities.lacking)

    def coverage(self) -> Coverage:
        """This problem and protocol."""
        return coverage_of(self.run)


def judge(claim: Claim, reading: Reading, measurement: Judged) -> Verdict:
    """The verdict of one kind of evidence on a claim in a reading.

    NOT_APPLICABLE where an assumption fails; UNDECIDED where an assumption or a symbol cannot be expressed; VACUOUS
    where nothing was measured; else what ``measurement`` decides, with the set of experiments that it covers.
    """
    measurement = measurement.of(claim)
    result = inapplicable(claim, reading, measurement) or measurement.refusal(claim)
    if result is None and claim.kind is Kind.RATE:
        result = measurement.rate(claim)
    if result is None:
        sides = measurement.sides(claim)
        if sides is None:
            result = verdict(claim, reading, Status.VACUOUS, detail=NOTHING_TESTED)
        else:
            result = replace(measurement.decide(claim, sides), coverage=measurement.coverage())
    return replace(result, evidence=measurement.evidence)


def inapplicable(claim: Claim, reading: Reading, measurement: Judged) -> Verdict | None:
    """NOT_APPLICABLE where an assumption fails, UNDECIDED where it, or a symbol, cannot be expressed; else None."""
    unmet = measurement.unmet(claim)
    if unmet.failed:
        detail = "assumption fails: " + "; ".join(map(str, unmet.failed))
        return verdict(claim, reading, Status.NOT_APPLICABLE, detail=detail, failed=unmet.failed)
    lacking = (*unmet.unknown, *measurement.lacking(claim))
    return verdict(claim, reading, Status.UNDECIDED, detail=cannot_express(lacking)) if lacking else None


def verdict(claim: Claim, reading: Reading, status: Status, **fields: Any) -> Verdict:
    """A verdict on a claim in a reading; `judge` says by which evidence."""
    return Verdict(claim.key, reading.name, Evidence.EMPIRICAL, status, **fields)


def cannot_express(names: Iterable[str]) -> str:
    """The grounds for UNDECIDED."""
    return f"cannot express {', '.join(names)}"


def without_facets(claim: Claim) -> list[str]:
    """Which of certificates, proofs and Rocq lack a facet of a computed quantity, in words."""
    facets = {"in_class": "certificates", "in_proof": "proofs", "in_rocq": "Rocq"}
    limits = {name for item in claim.assumptions if item.limits_times for name in item.symbols()} - claim.symbols
    computed = [q for q in claim.computed if q.name not in limits]
    lacking = {kind: without_facet(computed, facet) for facet, kind in facets.items()}
    return [f"{kind} {cannot_express(names)}" for kind, names in lacking.items() if names]


def conclude(
    claim: Claim, run: MeasuredRun, refuted: np.ndarray, holds: np.ndarray, untested: np.ndarray
) -> tuple[Status, str]:
    """The status that follows from the decision at each tested time or point, and what to add to its detail."""
    if refuted.any():
        return Status.REFUTED, ""
    if untested.all():
        return Status.VACUOUS, "; both sides are 0 or below rounding wherever they were compared: nothing was tested"
    if not (holds | untested).all():
        return Status.UNDECIDED, ""
    # Constants are extremes over every step, recorded or not.
    if claim.scope != "constant" and len(run.trajectory.times) <= len(run.trajectory.eta):
        return Status.UNDECIDED, (
            f"; one step in {run.trajectory.experiment.stride} was recorded: a thinned run can refute, not hold"
        )
    words = f"; {untested.sum()} of {untested.size} compare nothing above rounding"
    return Status.HOLDS, words if untested.any() else ""


def coverage_of(run: MeasuredRun) -> Coverage:
    """The set of experiments that evidence on a run speaks of: this problem and protocol."""
    experiment = run.trajectory.experiment
    problem = experiment.problem
    return Coverage(
        {
            "problem": only(f"{problem.kind} of this study"),
            "kappa": only(problem.L / problem.mu),
            "tau": only(experiment.tau),
            "gradients": only("full" if experiment.batch_size is None else "stochastic"),
            "participation": only(1.0 if experiment.everyone_present else experiment.participation),
            "N": only(problem.N),
            "weights": only(as_weighting(experiment.weighting).name),
            "T": only(experiment.total_steps),
        }
    )
