"""A theorem on trial: every kind of evidence asked in turn, the cheap ones first, until one refutes it.

The function is called `try_claim`, at the top level too: `fedbounds.referee` is this package already.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from fedbounds import io
from fedbounds.engine.parallel import beside
from fedbounds.errors import explained, nearest, of_kind, reject, whole
from fedbounds.plugins import Plugins, claim_named, modules_from
from fedbounds.referee.certificate_settings import GRIDS
from fedbounds.referee.regimes import REGIMES, Suite
from fedbounds.referee.stage_context import INTERRUPTED, Case, Stage, StageResult, Watch, processor_seconds
from fedbounds.referee.stages import STAGES, Step, certificates, neighbours, proof, sanity
from fedbounds.study.ledger import ANYWHERE, Alarm, Line, alarms
from fedbounds.study.parallel import in_order
from fedbounds.study.result_table import Tabled
from fedbounds.theory.claim import Claim, in_words
from fedbounds.theory.claim_validation import require_met, require_steps
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status, Verdict

Progress = Callable[[int, Step, "Stage | None"], None]
# Who may prove a claim, the strictest first.
PROVERS = (Evidence.KERNEL, Evidence.SYMBOLIC)
# The prover, which reports nothing on its way, may use this share of the processor seconds that are left.
LONGEST = 2 / 3
# What another process computes from the beginning of an earlier stage on, where time is not limited.
BESIDE: Mapping[Any, Any] = {sanity: proof, certificates: neighbours}


class Outcome(enum.StrEnum):
    """The headline of a trial: FALSE and PROVED are certain, OPEN is everything else that was tested.

    FALSE: an exact instance violates the claim. PROVED: the whole statement. CONTRADICTION: both.
    """

    CONTRADICTION = "CONTRADICTION"
    FALSE = "FALSE"
    PROVED = "PROVED"
    OPEN = "OPEN"
    NOT_TESTED = "NOT TESTED"


@dataclass(frozen=True)
class Alternative:
    """A statement that stands: the ``change`` that makes it of the refuted one, and its outcome with the grounds."""

    change: str
    claim: Claim
    outcome: Outcome
    grounds: str

    def to_json(self) -> dict[str, str]:
        """The alternative as a JSON object."""
        words = {"statement": in_words(self.claim), "outcome": str(self.outcome), "grounds": self.grounds}
        return {"change": self.change, **words}


@dataclass(frozen=True, repr=False)
class Trial(Tabled):
    """A claim in one reading, what each stage found, and whether all stages have run.

    ``fault`` is the input error, or the fault in a plug-in's code, at which the trial ended; ``alternatives`` are the
    nearest statements that stand, where they were looked for. ``trial["sanity"]`` is a stage. As a table: one row.
    """

    claim: Claim
    reading: str
    budget: str
    seed: int
    stages: tuple[Stage, ...] = ()
    finished: bool = False
    fault: str = ""
    alternatives: tuple[Alternative, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        row = {"claim": self.claim.key, "reading": self.reading, "outcome": str(self.outcome)}
        refuted_by = self.refutation.detail if self.refutation is not None else ""
        seconds = round(sum(stage.seconds for stage in self.stages), 2)
        return [row | {"refuted by": refuted_by, "finished": self.finished, "seconds": seconds}]

    def __getitem__(self, name: str) -> Stage:
        result = {stage.name: stage for stage in self.stages}
        if name not in result:
            raise nearest("a stage that has run", name, result)
        return result[name]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of all stages; a hold of another reading's or claim's is never among them."""
        return tuple(verdict for stage in self.stages for verdict in stage.verdicts)

    @property
    def refutation(self) -> Verdict | None:
        """The refutation that is easiest to check: one in fractions, else the first."""
        result = [verdict for verdict in self.verdicts if verdict.status is Status.REFUTED]
        return min(result, key=lambda verdict: verdict.evidence is not Evidence.EXACT, default=None)

    @property
    def proof(self) -> Verdict | None:
        """The proof by the kernel, else by our own checker."""
        return min(self._proofs, key=lambda verdict: PROVERS.index(verdict.evidence), default=None)

    @property
    def _proofs(self) -> list[Verdict]:
        return [v for v in self.verdicts if v.status is Status.HOLDS and v.evidence in PROVERS]

    @property
    def certified(self) -> tuple[Verdict, ...]:
        """The settings at which the claim holds for every problem of the class."""
        return tuple(v for v in self.verdicts if v.evidence is Evidence.SDP and v.status is Status.HOLDS)

    @property
    def alarms(self) -> list[Alarm]:
        """Where a proof or certificate of the claim covers the instance of a refutation: one of the two is wrong.

        A proof that does not say what it covers covers what the claim speaks of.
        """
        if self.refutation is None:
            return []
        claimed = self.claim.coverage(READINGS[self.reading])
        covered = (
            replace(v, coverage=claimed) if v.evidence in PROVERS and v.coverage is None else v for v in self.verdicts
        )
        return alarms([Line(self.claim, self.reading, tuple((ANYWHERE, verdict) for verdict in covered))])

    @property
    def violation_in_floats(self) -> Verdict | None:
        """A violation that was found in floating point and that no instance in exact arithmetic confirms."""
        if self.refutation is not None:
            return None if self.refutation.evidence is Evidence.EXACT else self.refutation
        unconfirmed = (v for v in self.verdicts if "unconfirmed" in v.data)
        return next(unconfirmed, None)

    @property
    def whole_proof(self) -> Verdict | None:
        """The proof that covers all that the claim speaks of, by the kernel if there is one."""
        claimed = self.claim.coverage(READINGS[self.reading])
        whole = (v for v in self._proofs if v.coverage is None or v.coverage.includes(claimed))
        return min(whole, key=lambda verdict: PROVERS.index(verdict.evidence), default=None)

    @property
    def outcome(self) -> Outcome:
        """The headline; a violation outweighs what holds elsewhere, but not what holds at its very instance."""
        if self.alarms:
            return Outcome.CONTRADICTION
        if self.violation_in_floats is not None:
            return Outcome.OPEN
        if self.refutation is not None:
            # What was not read of the text may exclude the instance.
            return Outcome.OPEN if self.claim.lacks_hypotheses else Outcome.FALSE
        if self.whole_proof is not None:
            return Outcome.PROVED
        tested = any(v.status is Status.HOLDS for v in self.verdicts) or any(
            v.evidence is Evidence.EXACT and v.margin is not None for v in self.verdicts
        )
        unfinished = (self.cut or not self.finished) and not self.fault
        return Outcome.OPEN if tested or unfinished else Outcome.NOT_TESTED

    @property
    def cut(self) -> tuple[str, ...]:
        """The stages that an interruption or the time limit ended before they were done."""
        return tuple(stage.name for stage in self.stages if stage.cut)

    def lines_of(self, name: str) -> tuple[str, ...]:
        """What the stage of that name found, nothing where it has not run."""
        return next((stage.lines for stage in self.stages if stage.name == name), ())

    def to_json(self) -> dict[str, Any]:
        """The trial as a JSON object."""
        return {
            "claim": self.claim.key,
            "reading": self.reading,
            "budget": self.budget,
            "seed": self.seed,
            "version": metadata.version("fedbounds"),
            "outcome": str(self.outcome),
            "alarms": list(map(str, self.alarms)),
            "finished": self.finished,
            "fault": self.fault,
            "stages": [stage.to_json() for stage in self.stages],
            **({"alternatives": [item.to_json() for item in self.alternatives]} if self.alternatives else {}),
        }


def try_claim(
    claim: Claim | str,
    reading: str | None = None,
    budget: str = "small",
    *,
    seed: int = 0,
    state: Path | None = None,
    progress: Progress | None = None,
    suite: Suite | None = None,
    jobs: int | None = None,
    seconds: float | None = None,
    stages: Sequence[Step] = (),
    plugins: Plugins = (),
) -> Trial:
    """The claim, or the shipped one of that key, put on trial in a reading (its last one unless given).

    ``state`` is a JSON file written after each stage; beside it is, until the end, one from which the same call's
    search goes on. ``progress(k, step, None)`` is called before a stage, and after it with what it found. ``suite``
    shares the regimes' runs among claims. ``jobs`` processes (-1: one a core, as by default for the large budget)
    compute the parts of long stages, with the same results.
    ``seconds`` of the processor are shared among the stages, of which more goes to those that may refute the claim: a
    stage that used its share ends with what it found, and is among those that were ``cut``. ``stages`` are all
    unless given. Weightings and families of instances of the ``plugins`` are searched too.
    A KeyboardInterrupt, or a fault of the claim's in a stage, ends the trial early: what was found is returned, and
    ``finished`` is False.
    Raises InputError on an unknown key, reading or budget.

    >>> try_claim("lemma-2", "literal").outcome
    <Outcome.FALSE: 'FALSE'>
    """
    claim, reading = checked(claim, reading, budget, seed, seconds)
    extra = tuple(modules_from(plugins))
    stages = stages or STAGES
    jobs = (-1 if budget == "large" else 1) if jobs is None else whole("jobs", jobs, -1)
    trial = Trial(claim, reading, budget, seed)
    each = partial(in_order, jobs=jobs)
    end = None if seconds is None else processor_seconds() + seconds
    suite = suite or Suite(REGIMES)
    case = Case(claim, READINGS[reading], budget, seed, suite, trial.verdicts, each, end=end, extra=extra)
    case = replace(case, state=None if state is None else state.with_suffix(".search"))
    running = ExitStack()
    computed: dict[Any, Callable[[], StageResult]] = {}
    try:
        for k, step in enumerate(stages, 1):
            if progress is not None:
                progress(k, step, None)
            later = BESIDE.get(step.examine)
            if end is None and later in [item.examine for item in stages]:
                computed[later] = running.enter_context(beside(partial(later, case)))
            result = computed.get(step.examine)
            examined = replace(step, examine=partial(_waited_for, result)) if result else step
            stage = _carried_out(examined, case, None if end is None else end - processor_seconds(), trial, stages)
            trial = replace(trial, stages=(*trial.stages, stage))
            if stage.cut == INTERRUPTED:
                return trial
            case = replace(case, verdicts=trial.verdicts)
            if state is not None:
                io.write_json(state, replace(trial, stages=tuple(s for s in trial.stages if not s.cut)).to_json())
            if progress is not None:
                progress(k, step, stage)
            if _settled(trial, step, stages):
                break
    except KeyboardInterrupt:
        return trial
    except Exception as wrong:
        if not (fault := explained(wrong)):
            raise
        return replace(trial, fault=fault)
    finally:
        running.close()
    if case.state is not None:
        case.state.unlink(missing_ok=True)
    return replace(trial, finished=True)


def checked(
    claim: Claim | str, reading: str | None, budget: str, seed: int, seconds: float | None
) -> tuple[Claim, str]:
    """The claim and its reading, if a trial can be made of them."""
    of_kind("a claim", claim, (Claim, str), "a Claim or the key of one")
    claim = claim_named(claim) if isinstance(claim, str) else claim
    whole("seed", seed)
    if seconds is not None and not of_kind("seconds", seconds, (int, float), "a number") > 0:
        raise reject("seconds must be positive", seconds, "give the processor seconds that a trial may take")
    claim.require_fedavg()
    require_steps(claim)
    reading = claim.readings[-1] if reading is None else reading
    for kind, name, choices in (("reading", reading, READINGS), ("budget", budget, GRIDS)):
        if name not in choices:
            raise nearest(kind, name, choices)
    require_met(claim, READINGS[reading])
    return claim, reading


def _waited_for(result: Callable[[], StageResult], _: Case) -> StageResult:
    return result()


def _carried_out(step: Step, case: Case, left: float | None, trial: Trial, stages: Sequence[Step]) -> Stage:
    """What a stage finds within its share of the processor seconds that are left, if there is a limit."""
    started = time.monotonic()
    longest = left * LONGEST if left is not None and step.name == "proof" else None
    watch = Watch(None if left is None else left * _share(step, trial, stages), longest)
    result, cut = watch.carry_out(step.examine, replace(case, so_far=watch))
    return Stage(step.name, round(time.monotonic() - started, 2), result.lines, result.verdicts, cut)


def _share(step: Step, trial: Trial, stages: Sequence[Step]) -> float:
    """The share of what is left of the time that a stage may use, beside those that come after it."""
    done = {stage.name for stage in trial.stages}
    parts = {item.name: item.seconds * (1 + 2 * item.breaks) for item in stages if item.name not in done}
    return parts[step.name] / (sum(parts.values()) or 1)


def _settled(trial: Trial, step: Step, stages: Sequence[Step]) -> bool:
    """Whether nothing more is due: refuted in fractions, or refuted otherwise and no stage is left that would try."""
    shown = trial.refutation
    last = step == [stage for stage in stages if stage.breaks][-1]
    return shown is not None and (shown.evidence is Evidence.EXACT or last)
