"""Exact evidence: a claim evaluated on a small instance in rational arithmetic, both sides as fractions.

REFUTED is said only if lhs > rhs exactly and every assumption of the claim, in that reading, holds
exactly; of a run in balls, where the enclosures decide both. The right-hand side is the claim's own
sympy terms with fractions substituted: one formula.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fedbounds.evidence.assumption_checks import NO_TIME, Unmet, in_fractions, steps_of, unmet_assumptions
from fedbounds.evidence.ball_arithmetic import Undecided, compared
from fedbounds.evidence.evaluate import first_of, names_in
from fedbounds.evidence.exact.instance import Instance, no_fractions
from fedbounds.evidence.exact.instance_json import text, to_json
from fedbounds.evidence.exact.run import MAX_OUTCOMES, ExactRun, run, runs
from fedbounds.evidence.exact.stated_steps import before_a_run, holds_at_roots
from fedbounds.evidence.judge import Judged, judge, substitution, verdict
from fedbounds.theory import points as at
from fedbounds.theory.assumption import Answer, Assumption
from fedbounds.theory.claim import OWN_STEPS, Claim, Kind
from fedbounds.theory.path_quantities import is_free, mu_F
from fedbounds.theory.protocol_assumptions import assumed_weightings
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Failure, Status, Verdict

# Constants that need a minimum of each F_i, or its convexity.
OF_MINIMA = frozenset({"mu", "Gamma", "rho_bar", "rho_tilde", "rho_pairs", "excess"})


@dataclass(frozen=True)
class Sides:
    """Both sides of a claim at one place: time ``t`` (None for constants) and client ``i`` (point claims)."""

    lhs: Fraction
    rhs: Fraction
    t: int | None = None
    client: int | None = None

    def violated(self, kind: Kind) -> bool:
        """Whether the stated relation fails here."""
        return self.lhs != self.rhs if kind is Kind.IDENTITY else self.lhs > self.rhs

    @property
    def margin(self) -> Fraction:
        """(rhs - lhs)/max(|rhs|, |lhs|), negative where an inequality fails; 0 at 0 <= 0."""
        scale = max(abs(self.lhs), abs(self.rhs))
        return (self.rhs - self.lhs) / scale if scale else Fraction(0)


# An instance without coincidences shows which symbols an exact run has, and so which assumptions it can express.
ONE, TWO, HALF = Fraction(1), Fraction(2), Fraction(1, 2)
PROBE = Instance(((ONE,), (TWO,)), ((ONE,), (-ONE,)), p=(HALF, HALF), w0=(TWO,), eta=(HALF, HALF), tau=2)


def unexpressed(claim: Claim, reading: Reading) -> tuple[str, ...]:
    """The assumptions and symbols of a claim that no instance in fractions can express.

    Its step size is not among them: a root that is irrational on one instance is a fraction on another.
    """
    probe = run(PROBE)
    assumed = (key for key in judge_assumptions(claim, probe, reading)[1] if key != OWN_STEPS)
    rules = assumed_weightings(claim.assumptions_in(reading))
    without = (f"weighting {rule} ({why})" for rule in rules if (why := no_fractions(rule)))
    return (*assumed, *without, *unmeasured(claim, probe, reading))


def unmeasured(claim: Claim, record: ExactRun, reading: Reading) -> tuple[str, ...]:
    """The symbols of a claim that an exact run gives no value, with the reason where there is one."""
    unmeasured = substitution(claim, reading, record.measurement(claim, reading)).unmeasured
    missing = dict.fromkeys((*unmeasured, *record.beyond(claim, reading)))
    return record.computed(claim, reading).why(missing) if missing else ()


def compare(
    claim: Claim, record: ExactRun, reading: Reading, only: int | None = None, latest: bool = False
) -> Iterator[Sides]:
    """Both sides, exactly, at every place (or ``only`` at one time) where both are defined; ``latest`` first.

    Sides with roots that are no fractions are replaced by two fractions between them, in the same order.

    There is none where a symbol of the claim's own has no value.
    """
    measurement = record.measurement(claim, reading)
    formula = substitution(claim, reading, measurement)
    if formula.unmeasured or record.beyond(claim, reading):
        return
    times, fields = measurement.times(claim.scope), measurement.varying(claim.scope)
    order = [k for k in spoken_of(claim, record, reading) if only in (None, times[k])]
    used = {name: name in fields for name in names_in(formula.lhs) + names_in(formula.rhs)}
    for k in reversed(order) if latest else order:
        values = {name: fields[name][k] if varies else measurement.constants[name] for name, varies in used.items()}
        both = compared(formula.lhs, formula.rhs, values)
        if both is not None:
            t, client = times[k], record.points[k][1] if claim.scope == "point" else None
            yield Sides(*both, None if claim.scope == "constant" else t, client)


@dataclass(frozen=True)
class Exact(Judged):
    """An exact run in one reading as `judge` sees it: decided by comparing fractions at every place."""

    record: ExactRun
    reading: Reading
    evidence = Evidence.EXACT

    def unmet(self, claim: Claim) -> Unmet:
        """The assumptions that fail exactly, and those that cannot be expressed in fractions."""
        if not (has_its_server_step(claim, instance := self.record.instance)):
            observed = f"eta_s = {instance.server_step}"
            return Unmet((Failure("server-step", "the server's step size is 1", observed),))
        return judge_assumptions(claim, self.record, self.reading)

    def lacking(self, claim: Claim) -> tuple[str, ...]:
        """The symbols without a value in fractions."""
        return () if claim.kind is Kind.RATE else unmeasured(claim, self.record, self.reading)

    def rate(self, claim: Claim) -> Verdict:
        """REFUTED at a fixed point with a positive gap."""
        return _examine_rate(claim, self.record, self.reading)

    def sides(self, claim: Claim) -> list[Sides]:
        """Both sides at every place where both are defined."""
        return list(compare(claim, self.record, self.reading))

    def decide(self, claim: Claim, sides: list[Sides]) -> Verdict:
        """REFUTED where a side is on the wrong side of the other, exactly; else HOLDS, on this instance."""
        if not sides:
            undefined = "the right-hand side is undefined on this instance"
            return verdict(claim, self.reading, Status.NOT_APPLICABLE, detail=undefined)
        violated = [s for s in sides if s.violated(claim.kind)]
        worst = min(violated or sides, key=lambda s: s.margin)
        relation = ">" if worst.lhs > worst.rhs else "=" if worst.lhs == worst.rhs else "<"
        bits = self.record.bits
        how = f"in ball arithmetic at {bits} bits" if bits else "exactly"
        written = (lambda x: f"{float(x):.6g}") if bits else short
        detail = f"lhs {written(worst.lhs)} {relation} rhs {written(worst.rhs)}, {how}"
        if bits and not violated and len(sides) < (total := len(spoken_of(claim, self.record, self.reading))):
            detail = f"no violation at the {len(sides)} of {total} places that are decided {how}"
            return verdict(claim, self.reading, Status.UNDECIDED, detail=detail)
        detail += "" if violated else "; holds on this instance, which proves nothing beyond it"
        status = Status.REFUTED if violated else Status.HOLDS
        seen = _seen(worst, self.record.instance)
        seen["data"] |= {"bits": bits} if bits else {}
        return verdict(claim, self.reading, status, detail=detail, **seen)


def examine(instance: Instance, claim: Claim, reading: Reading) -> Verdict:
    """Judge a claim on one instance exactly: REFUTED, HOLDS (here only), NOT_APPLICABLE or UNDECIDED.

    A run whose fractions grow too long is judged in balls of more and more bits, until one is decided.
    """
    for record in runs(instance):
        try:
            result = judge(claim, reading, Exact(record, reading))
        except Undecided as error:
            open_ = verdict(claim, reading, Status.UNDECIDED, detail=f"{error} at {record.bits} bits")
            result = replace(open_, evidence=Evidence.EXACT)
        if result.status is not Status.UNDECIDED:
            break
    return result


def violation(
    instance: Instance, claim: Claim, reading: Reading, most: int = MAX_OUTCOMES
) -> tuple[ExactRun, Sides] | None:
    """The run and the latest place where a claim fails; None if there is none, or an assumption fails.

    Raises InputError if there are too many outcomes, or digits.
    """
    if excluded(instance, claim, reading):
        return None
    for record in runs(instance, most):
        with contextlib.suppress(Undecided):
            unmet = judge_assumptions(claim, record, reading)
            if unmet.failed or (unmet.unknown and not record.bits):
                return None
            if unmet.unknown:
                continue
            decided = 0
            for sides in compare(claim, record, reading, latest=True):
                if sides.violated(claim.kind):
                    return record, sides
                decided += 1
            if decided == len(spoken_of(claim, record, reading)):
                return None
    return None


def spoken_of(claim: Claim, record: ExactRun, reading: Reading) -> Sequence[int]:
    """The places of a run at which the assumptions hold that limit the times of a claim, as T >= 1 does."""
    measurement = record.measurement(claim, reading)
    varying, every = measurement.varying(claim.scope), range(len(measurement.times(claim.scope)))
    limits = [item for item in claim.assumptions_in(reading) if item.limits_times]
    names = {name for item in limits for name in item.symbols()}
    constants = {name: measurement.constants[name] for name in names - varying.keys()}
    fields = {name: varying[name] for name in names & varying.keys()}

    def holds(k: int) -> bool:
        there = constants | {name: values[k] for name, values in fields.items()}
        return all(answer.holds for item in limits if (answer := in_fractions(item, [there])) is not None)

    return [k for k in every if holds(k)] if limits else every


def _examine_rate(claim: Claim, record: ExactRun, reading: Reading) -> Verdict:
    """lhs = O(1/T) fails if w_0 is a fixed point of the algorithm, for every step size, with a positive gap."""
    instance = record.instance
    gap = record.paths["alpha"]["gap"][0]
    if instance.tau != 1 or instance.stochastic or instance.chance.selections > 1 or len(instance.weights) > 1:
        detail = "decided only for tau = 1, without noise, C = 1, with weights that do not change by themselves"
        return verdict(claim, reading, Status.UNDECIDED, detail=detail)
    _, alpha = instance.round_weights(0, instance.excess(instance.w0))
    slopes = [instance.grad(i, instance.w0) for i in range(instance.N)]
    direction = [sum((a * g[k] for a, g in zip(alpha, slopes, strict=True)), Fraction(0)) for k in range(instance.d)]
    if any(direction) or not gap:
        return verdict(claim, reading, Status.UNDECIDED, detail="w_0 is not a fixed point with a positive gap")
    detail = f"w_0 is a fixed point for every step size: the gap is {short(gap)} at every T"
    seen = _seen(Sides(gap, Fraction(0), 0), instance)
    return verdict(claim, reading, Status.REFUTED, detail=detail, **seen)


def _seen(sides: Sides, instance: Instance) -> dict[str, Any]:
    """The fields of a verdict that say where both sides of a claim were compared, and on which instance."""
    data: dict[str, object] = {"t": sides.t, "lhs": text(sides.lhs), "rhs": text(sides.rhs)}
    data |= {"instance": to_json(instance)} | ({} if sides.client is None else {"client": sides.client})
    tightness = float(sides.rhs / sides.lhs) if sides.lhs else None
    return {"margin": float(sides.margin), "tightness": tightness, "worst_t": sides.t, "data": data}


# Longer fractions are shown by their rounded value; the files keep every digit.
SHOWN_DIGITS = 24


def short(x: Fraction) -> str:
    """A fraction as text, by an approximation where it is long."""
    written = text(x)
    return written if len(written) <= SHOWN_DIGITS else f"{float(x):.6g} (a fraction of {len(written)} characters)"


def of_minima(claim: Claim) -> bool:
    """Whether a claim speaks of minima of the F_i, or may, so that it says nothing where one has none."""
    unwritten = {q for q in claim.computed if q.expression is None and not is_free(q) and q != mu_F}
    written = [q.expression for q in claim.computed if q.expression is not None]
    words = any(item.has(at.F_i_star, at.w_i_star, at.w_alpha) for item in written)
    return bool(unwritten or words or claim.symbols & OF_MINIMA)


def judge_assumptions(claim: Claim, record: ExactRun, reading: Reading) -> Unmet:
    """The assumptions of a claim that fail on a run, and those that cannot be expressed in fractions."""
    if not record.instance.convex and of_minima(claim):
        return Unmet((Failure("minima", "every F_i has a minimum", "an F_i is concave"),))
    values: Any = first_of(record.computed(claim, reading).constants, record.constants(reading.skew))
    fields = record.measurement(claim, reading).varying(claim.scope)

    def answer(item: Assumption) -> Answer | None:
        if not item.limits_times:
            return _answer(item, record.instance, values)
        has_values = item.symbols() <= first_of(fields, values).keys()
        return Answer(bool(spoken_of(claim, record, reading)), NO_TIME) if has_values else None

    return unmet_assumptions(claim.assumptions_in(reading), answer)


def excluded(instance: Instance, claim: Claim, reading: Reading) -> bool:
    """Whether an assumption fails that needs no run to be judged."""
    if (not instance.convex and of_minima(claim)) or not has_its_server_step(claim, instance):
        return True
    values = before_a_run(instance, claim)
    for assumption in claim.assumptions_in(reading):
        with contextlib.suppress(KeyError, Undecided):  # a constant of the run
            answer = _answer(assumption, instance, values)
            if answer is not None and not answer.holds:
                return True
    return False


def has_its_server_step(claim: Claim, instance: Instance) -> bool:
    """Whether the server's step size is 1, unless the claim speaks of it."""
    return claim.has_server_step or instance.server_step == 1


def _answer(assumption: Assumption, instance: Instance, values: Mapping[str, Fraction]) -> Answer | None:
    if assumption.exactly is not None:
        return Answer(*assumption.exactly(instance, values))
    if assumption.symbols() <= values.keys():
        return in_fractions(assumption, (values,))
    if not instance.radius:
        return in_fractions(assumption, steps_of(values, instance.eta))
    return holds_at_roots(assumption, instance, values)
