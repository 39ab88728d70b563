"""The stages of a trial, each a function of a `Case`: what it found in sentences, and the verdicts that carry it."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import unexpressed
from fedbounds.evidence.judge import cannot_express, without_facets
from fedbounds.evidence.kernel import found_proof
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.sdp.multi_round.claim_at_run import applies as of_runs
from fedbounds.evidence.sdp.one_step.parameters import Setting, applies, not_expressed
from fedbounds.evidence.sdp.one_step.verdict import examination
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.proof_state import Unproved
from fedbounds.evidence.symbolic.untrusted_expressions import rebuilt
from fedbounds.referee import certificate_settings, limit_cases
from fedbounds.referee.certificate_settings import GRIDS, settings
from fedbounds.referee.dimensions_and_limits import sanity
from fedbounds.referee.implication import PROVERS, USUAL, inherited
from fedbounds.referee.regimes import after_the_start, verdicts_in
from fedbounds.referee.search.populations import Budget
from fedbounds.referee.search.refute import refute
from fedbounds.referee.search.resume import resumed
from fedbounds.referee.sharpen import Sharpening
from fedbounds.referee.stage_context import PROOFS, Case, StageResult, TimeSpent, at_most, processor_seconds
from fedbounds.study import ledger
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.path_quantities import is_free
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict, word

# Processor seconds after which no further proof with more assumptions is begun, and for first stronger statements, or
# for a multiple of the right side.
NEAR_SECONDS, FIRST = 20.0, 3.0
# What a line of proved neighbours begins with.
PROVED = "proved "
# Of a regime the bound over what is measured, its name and the status of the claim.
Regimes = list[tuple[float, str, Status]]


def read_back(case: Case) -> StageResult:
    """What the claim speaks of, and which evidence cannot express it."""
    claim, reading = case.claim, case.reading
    limits = (item.statement for item in claim.assumptions_in(reading) if item.bounds_steps)
    inner = "".join(f", and there only {limit}" for limit in limits)
    speaks = f"speaks of {claim.coverage(reading).words()}{inner}; {reading.name}: {reading.summary}"
    unknown = unexpressed(claim, reading)
    lacking = [f"exact and the search {cannot_express(unknown)}"] if unknown else []
    if not (applies(claim, reading) or of_runs(claim, reading)):
        names = ", ".join((*(f"steps tuned to {name}" for name in claim.tuned), *not_expressed(claim, reading)))
        why = f"they lack {names}" if names else f"it is an {claim.kind} over every {claim.scope}"
        what = "it is no statement of one round, or of a whole run, in their quantities"
        lacking.append(f"certificates: {what}: {why}")
    free = [f"{q.name} is {q.meaning}: tried at one value a problem" for q in claim.computed if is_free(q)]
    facets = [line for line in without_facets(claim) if not (line.startswith("Rocq") and _in_rocq(claim, reading))]
    return StageResult((speaks, *free, *lacking, *facets, *limit_cases.omissions(claim, reading)))


def _in_rocq(claim: Claim, reading: Reading) -> bool:
    """Whether Rocq can state it of points where it has no word for a quantity."""
    try:
        found_proof.statement(claim, reading)
    except InputError:
        return False
    return True


def earlier_evidence(case: Case) -> StageResult:
    """What shipped proofs, certificates and counterexamples say of the claim, or of one that it follows from."""
    claim, reading = case.claim, case.reading
    if plugins.claims().get(claim.key) is claim:
        result = tuple(v for v in ledger.known_verdicts({claim.key: claim}) if v.reading == reading.name)
    else:
        try:
            claim = rebuilt(claim)
        except Unproved as wrong:
            return StageResult((f"no proof is looked up: {wrong}",))
        verdicts = [examiner(claim, reading) for examiner in PROVERS]
        verdicts += [verdict for other in plugins.claims().values() for verdict in inherited(claim, reading, other)]
        result = tuple(v for v in verdicts if v is not None and v.status is not Status.NOT_APPLICABLE)
    shipped = [v for v in result if v.evidence is Evidence.SDP]
    lines = dict.fromkeys(f"{word(v.status, v.evidence)}: {v.detail}" for v in result if v not in shipped)
    if shipped:
        checked = sum("kernel" in v.data for v in shipped)
        detail = f"certified at {len(shipped)} settings by shipped certificates, {checked} of them checked by Rocq"
        lines[detail] = None
    return StageResult(
        tuple(lines) or ("no shipped proof is about it or about a claim that implies it on sight",), result
    )


def regimes(case: Case) -> StageResult:
    """The claim in every extreme regime, until one refutes it."""
    seen: Regimes = []
    lacking, failed = "", Counter[str]()
    for regime, verdict in verdicts_in(case.claim, case.reading, case.suite):
        if verdict.status is Status.REFUTED:
            return StageResult((f"refuted in the regime {regime.name!r}",), (verdict,))
        if verdict.status in (Status.HOLDS, Status.UNDECIDED):
            seen.append((verdict.tightness or math.inf, regime.name, verdict.status))
            lacking = lacking or verdict.detail * verdict.detail.startswith(cannot_express(()))
        failed.update(failure.key for failure in verdict.failed)
        case.so_far(partial(_in_regimes, case, seen, lacking, failed))
    return _in_regimes(case, seen, lacking, failed, ended=True)


def _in_regimes(case: Case, seen: Regimes, lacking: str, failed: Counter[str], ended: bool = False) -> StageResult:
    """In which regimes a claim was compared, and once all were, how near its bound came."""
    held = [item for item in seen if item[2] is Status.HOLDS]
    unsure = [name for _, name, status in seen if status is Status.UNDECIDED]
    total = len(case.suite.regimes)
    detail = f"not refuted in {len(held)} of {total} regimes" + (f", undecided in {len(unsure)}" if unsure else "")
    lines = [f"runs {lacking}"] * bool(lacking) + [f"undecided: {', '.join(unsure)}"] * bool(unsure)
    unmet = f" ({', '.join(f'{key} in {count}' for key, count in failed.most_common())})" * bool(failed)
    rest = f"the other {total - len(seen)} do not meet its assumptions{unmet}, or have 0 on both sides, or diverge"
    lines += [rest] if len(seen) < total else []
    if not held:
        return StageResult((detail, *lines), (case.verdict(Evidence.EMPIRICAL, Status.VACUOUS, detail),))
    if case.claim.scope == "horizon" and ended:
        later = after_the_start(case.claim, case.reading, case.suite, {name for _, name, _ in held})
        held = [(ratio, name, Status.HOLDS) for name, ratio in later.items()]
    closest, where, _ = min(held, default=(math.inf, "", Status.HOLDS))
    after = " after the start" * (case.claim.scope == "horizon")
    near = [f"bound over measured comes down to {closest:.4g}{after} ({where})"] * (ended and math.isfinite(closest))
    return StageResult((detail, *near, *lines), (case.verdict(Evidence.EMPIRICAL, Status.HOLDS, detail),))


def proof(case: Case) -> StageResult:
    """A proof that the machine finds itself, as its text."""
    if any(v.status is Status.HOLDS and v.evidence in (Evidence.KERNEL, Evidence.SYMBOLIC) for v in case.verdicts):
        return StageResult(("it is proved already",))
    result = automatic.proved(case.claim, case.reading)
    if result is None:
        return StageResult((f"none was found: {automatic.why_none(case.claim, case.reading)}",))
    verdict = found_proof.with_script(*result, case.claim, case.reading)
    return StageResult(("found by the prover:", *automatic.proof_of(verdict)), (verdict,))


def certificates(case: Case) -> StageResult:
    """The claim over every problem of the class, at the settings of the budget's grid; stops where it is false."""
    if not applies(case.claim, case.reading):
        return certificate_settings.examined(case, GRIDS[case.budget])
    result: list[Verdict] = []
    places = list(settings(case.claim, case.reading, GRIDS[case.budget]))
    for verdict in case.each(partial(_certificate, case.claim), places):
        if verdict.status is Status.REFUTED:
            return StageResult((f"false at {verdict.coverage.words()}",), (verdict,))
        result.append(verdict)
        case.so_far(lambda: _at_settings(result))
    return _at_settings(result)


def _at_settings(verdicts: list[Verdict]) -> StageResult:
    """How many settings are certified."""
    verdicts = [v for v in verdicts if v.status is not Status.NOT_APPLICABLE]
    held = [v for v in verdicts if v.status is Status.HOLDS]
    open_ = Counter(v.detail for v in verdicts if v.status is Status.UNDECIDED)
    lines = [f"certified at {len(held)} of the {len(verdicts)} settings that meet its assumptions"]
    lines += [f"undecided at {count}: {why}" for why, count in open_.items()]
    return StageResult(tuple(lines), tuple(verdicts))


def _certificate(claim: Claim, place: Setting) -> Verdict:
    """The verdict on the class at one setting."""
    verdict, _ = examination(claim, place)
    verdict = replace(verdict, data={"setting": place.to_json(), **verdict.data})
    if verdict.tightness == math.inf and verdict.status is not Status.REFUTED:
        nothing = "its left side is 0 all over the class, so nothing was tested"
        verdict = replace(verdict, status=Status.VACUOUS, detail=nothing, tightness=None)
    return verdict


def search(case: Case, budget: Budget | None = None) -> StageResult:
    """The adversarial search over small quadratics."""

    def so_far(verdict: Callable[[], Verdict]) -> None:
        case.so_far(lambda: _searched(verdict()))

    budget, each = budget or case.search_budget, case.each
    if case.state is not None:
        each = resumed(case.state, each, case.claim, case.reading.name, budget.name, case.seed, case.extra)
    verdict = refute(case.claim, case.reading, budget, case.seed, each=each, so_far=so_far, extra=case.extra)
    return _searched(verdict)


def _searched(verdict: Verdict) -> StageResult:
    """What a search found, in sentences."""
    if "searched" not in verdict.data:
        return StageResult((verdict.detail,), (verdict,))
    approach = verdict.data["approach"]
    return StageResult(tuple(verdict.detail.replace(f": {approach}", f"; {approach}").split("; ")), (verdict,))


def neighbours(case: Case) -> StageResult:
    """With which further assumptions, or which multiple of its bound, an open claim is proved; what a proved one does
    not need."""
    lines: list[str] = []
    if case.claim.kind is Kind.INEQUALITY:
        if not case.proved:
            reporting = replace(case, so_far=lambda _: case.so_far(lambda: StageResult(tuple(lines))))
            lines.extend(_if_also(reporting))
        best = Sharpening.within(FIRST, case.claim, case.reading)
        with contextlib.suppress(TimeSpent), at_most(FIRST):
            best.soon(next(v for v in case.verdicts if v.evidence in PROOFS)) if case.proved else best.begin()
        lines += [f"{PROVED}{'too:' if case.proved else 'with'} {'; '.join(best.changes)}"] * bool(best.changes)
    none = "nothing stronger is soon proved" if case.proved else "no usual assumption more was found to do"
    return StageResult(tuple(lines) or (none,))


def _if_also(case: Case) -> Iterator[str]:
    """Further assumptions with which a claim is proved: one client, and few of the usual ones."""
    end = processor_seconds() + NEAR_SECONDS
    stated = {part for item in case.claim.assumptions_in(case.reading) for part in item.parts}
    usual = tuple(item for item in USUAL if not stated.issuperset(item.parts))

    def proved(*several: Assumption) -> bool:
        case.so_far(lambda: StageResult(()))
        return processor_seconds() < end and _is_proved(case, several)

    if not stated.issuperset(a.one_client.parts) and proved(a.one_client):
        yield f"{PROVED}if also {a.one_client.statement}"
    enough: tuple[Assumption, ...] = next(((item,) for item in usual if proved(item)), ())
    if not enough and len(usual) > 1 and proved(*usual):
        enough = usual
        for item in reversed(usual):
            fewer = tuple(other for other in enough if other is not item)
            enough = fewer if proved(*fewer) else enough
    if enough:
        yield f"{PROVED}if also {' and '.join(item.statement for item in enough)}"


def _is_proved(case: Case, several: tuple[Assumption, ...]) -> bool:
    """Whether the prover proves a claim with further assumptions, which some known instance meets."""
    claim, words = case.claim, " and ".join(item.statement for item in several)
    with contextlib.suppress(InputError):  # assumptions that the claim has in other words
        changed = replace(claim, key=f"{claim.key} (if also {words})", assumptions=(*claim.assumptions, *several))
        proof = automatic.examine(changed, case.reading)
        return proof is not None and verified_proofs.UNMET not in proof.detail
    return False


@dataclass(frozen=True)
class Step:
    """A stage by name, whether it tries to break the claim, and the most seconds that the small budget mostly takes.

    Measured on a busy machine of two cores, over the true theorems of the documentation.
    """

    name: str
    examine: Callable[[Case], StageResult]
    breaks: bool
    seconds: int


STAGES = (
    Step("read back", read_back, True, 0),
    Step("known", earlier_evidence, True, 1),
    Step("sanity", sanity, True, 20),
    Step("regimes", regimes, True, 10),
    Step("proof", proof, False, 20),
    Step("certificates", certificates, True, 25),
    Step("search", search, True, 30),
    Step("neighbours", neighbours, False, 30),
)
