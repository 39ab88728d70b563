"""A trial for people: the headline with what it covers, and the details."""

from collections.abc import Sequence

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.prover import automatic
from fedbounds.referee.certificate_settings import tightness
from fedbounds.referee.stages import PROVED
from fedbounds.referee.trial import Outcome, Trial
from fedbounds.report import claim_text, terminal
from fedbounds.report.counterexample_text import instance, script
from fedbounds.report.table import Block, Bullets, Code, Formula, Heading
from fedbounds.report.terminal_symbols import one_line, worded
from fedbounds.report.trial_coverage import certified_settings, not_covered, tried
from fedbounds.report.verdict_tables import decimal_sides
from fedbounds.theory import assumptions
from fedbounds.theory.claim import NOT_READ, Claim, in_words, statement
from fedbounds.theory.coverage import only
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import QUANTITIES
from fedbounds.theory.verdict import Evidence, Status, Verdict, word

MEANING = {
    Outcome.CONTRADICTION: "Trust neither: a bug in fedbounds, or in a check that the claim brings. Report it.",
    Outcome.FALSE: "The claim is false as stated.",
    Outcome.PROVED: "It holds for every problem, step size and run that meets these assumptions.",
    Outcome.OPEN: "Surviving these tests is not a proof.",
    Outcome.NOT_TESTED: "Nothing was tested: no experiment tried meets its assumptions, or they cannot be expressed.",
}

UNREAD = "It says nothing of the theorem until what was not read stands in its comment lines."

# What every test and proof here takes for granted of noise.
NOISE = "Assumed throughout: noises have mean 0 given the past and are independent between clients."
# How the assumption of equal weights of m clients is read beside `unbiased`.
DRAW = "Assumed throughout: the m clients of a round are drawn uniformly from the N, whatever happened before."


def verdict(trial: Trial) -> list[str]:
    """The headline, warnings, its grounds, and what it covers or first of all what it does not."""
    warnings = (
        line for name in ("read back", "sanity") for line in trial.lines_of(name) if line.startswith("warning")
    )
    head, *grounds = _headline(trial)
    return [head, *map(_sentence, warnings), *grounds]


def _sentence(line: str) -> str:
    return f"{line[0].upper()}{line[1:]}{'' if line.endswith('...') else '.'}"


def _headline(trial: Trial) -> list[str]:
    """The outcome with its grounds, then what it covers, or first of all what it does not."""
    unfinished = _unfinished(trial)
    head, outcome = f"{trial.claim.key} [{trial.reading}]", trial.outcome
    if trial.fault:
        word_ = Outcome.NOT_TESTED if outcome is Outcome.NOT_TESTED else f"{outcome}, its trial not finished"
        return [f"{head}: {word_}. {trial.fault}"]
    if outcome is Outcome.CONTRADICTION:
        return [f"{head}: {outcome}.{unfinished}", f"{trial.alarms[0]}.", MEANING[outcome]]
    if outcome is Outcome.FALSE and trial.refutation is not None:
        shown = trial.refutation
        where = f" at t = {shown.data['t']}" if shown.data.get("t") is not None else ""
        read = f", in the reading {trial.reading} ({READINGS[trial.reading].summary})"
        meant = "" if trial.reading == "plain" else read
        numbers = f"{head}: {outcome}{where}: {_in_decimals(shown)}.{unfinished}"
        lines = [numbers, f"By {_by(trial, shown)}.", MEANING[outcome][:-1] + meant + "."]
        return [*lines, *_notes(trial, shown), *(nearest_statements(trial) if trial.alternatives else ())]
    if outcome is Outcome.PROVED and trial.whole_proof is not None:
        proof = trial.whole_proof
        detail = proof.detail.removeprefix("proved ")
        colon = ":" * (detail == proof.detail)
        proved = f"{head}: {word(Status.HOLDS, proof.evidence)}{colon} {detail}.{unfinished}"
        near = tightness(trial.verdicts)
        lines = [
            MEANING[outcome],
            *_granted(trial),
            *([f"{near[0].upper()}{near[1:]}."] if near else []),
            *rocq_answer(proof),
            *_length(automatic.proof_of(proof)),
            *_neighbours(trial),
        ]
        return [proved, *lines]
    if outcome is Outcome.NOT_TESTED:
        unknown: dict[str, list[str]] = {}
        for line in (*trial.lines_of("read back"), *trial.lines_of("regimes")):
            evidence, says, what = line.partition(" cannot express ")
            unknown.setdefault(what, []).extend([evidence] if says else [])
        reasons = [_sentence(f"{', '.join(kinds)} cannot express {what}") for what, kinds in unknown.items() if what]
        return [f"{head}: {outcome}.", MEANING[outcome], *reasons]
    meaning = MEANING[outcome] if trial.refutation is None or trial.violation_in_floats is not None else UNREAD
    return [f"{head}: {outcome}.{unfinished}", *_open(trial), *_granted(trial), meaning]


def _length(proof: Sequence[str]) -> list[str]:
    """How long a proof of the prover's is, and where it stands."""
    steps = sum(line.startswith("✓") for line in proof)
    return (
        [f"The proof has {steps} {'step' if steps == 1 else 'steps'}, each checked; -v prints it."] if steps else []
    )


def rocq_answer(proof: Verdict | None) -> list[str]:
    """What Rocq says of a proof that was found, or why it was not asked; nothing where it can be."""
    if proof is None:
        return []
    if "rocq" in proof.data:
        return [f"Rocq accepts it (statement {str(proof.data['rocq'])[:12]})."]
    if "rocq refused" in proof.data:
        return [f"Rocq: {proof.data['rocq refused']}."]
    return [f"Rocq {proof.data['no script']}."] if "no script" in proof.data else []


def _neighbours(trial: Trial) -> list[str]:
    """What near the claim is proved."""
    near = (line for line in trial.lines_of("neighbours") if line.startswith(PROVED))
    return [f"{Outcome.PROVED} {worded(line.removeprefix(PROVED), _symbols(trial.claim))}." for line in near]


def _granted(trial: Trial) -> list[str]:
    """What is taken for granted of noise, where the claim allows any, and of who is drawn."""
    stated = trial.claim.assumptions_in(READINGS[trial.reading])
    drawn = assumptions.equal_selection in stated and assumptions.unbiased in stated
    gradients = trial.claim.coverage(READINGS[trial.reading]).axes.get("gradients")
    return [NOISE] * (gradients != only("full")) + [DRAW] * drawn


def nearest_statements(trial: Trial) -> list[str]:
    """The nearest statements that are proved or not refuted, two lines each."""
    named = {Outcome.OPEN: "NOT REFUTED (a guess, no proof)"}
    lines = []
    for k, item in enumerate(trial.alternatives, 1):
        change, whole = (worded(text, _symbols(item.claim)) for text in (item.change, in_words(item.claim)))
        lines += [f"  {k}. {named.get(item.outcome, item.outcome)}: {change} ({item.grounds})", f"     {whole}"]
    return ["Nearest statements:", *lines] if lines else ["Nearest statements: none tried was proved or left open."]


def _symbols(claim: Claim) -> set[sp.Symbol]:
    return set().union(*(sp.sympify(side).free_symbols for side in (claim.lhs, *claim.terms.values())))


def _letters(trial: Trial) -> dict[str, str]:
    """What the claim's quantities are that no table names."""
    return {item.name: one_line(item) for item in _symbols(trial.claim) if item.name not in QUANTITIES}


def _notes(trial: Trial, shown: Verdict) -> list[str]:
    """How long an exact counterexample must run, and which hypotheses exclude it."""
    if "instance" not in shown.data or "bits" in shown.data:
        return []
    about = (trial.claim, trial.reading, from_json(shown.data["instance"]))  # type: ignore[arg-type]
    return list(filter(None, (claim_text.length_note(*about), claim_text.unassumed_note(*about))))


def _unfinished(trial: Trial) -> str:
    """Which stage an interruption ended, or which ones the time limit did."""
    stages = ", ".join(trial.cut)
    if trial.finished or trial.fault:
        return f" (out of time in: {stages})" if stages else ""
    return f" (interrupted{' in ' * bool(stages)}{stages})"


def _open(trial: Trial) -> list[str]:
    """What an open trial says: a violation without rounding control, what was not covered, certified, and tried."""
    lines = []
    unconfirmed = trial.violation_in_floats
    if unconfirmed is not None:
        shown = str(unconfirmed.data.get("approach") or unconfirmed.detail)
        by = "" if unconfirmed is not trial.refutation else f", by {_by(trial, unconfirmed)}"
        lines.append(f"Violated in floating point, not confirmed by exact arithmetic{by}: {shown}.")
    elif trial.refutation is not None:
        violated = f"{_in_decimals(trial.refutation)}, by {_by(trial, trial.refutation)}"
        return [f"As far as it was read it is violated: {violated}."]
    lines.append(f"Not covered: {not_covered(trial)}.")
    lines += _neighbours(trial)
    lines += [f"No proof: {line.partition(': ')[2]}." for line in trial.lines_of("proof") if line.startswith("none")]
    if trial.proof is not None:
        covered = trial.proof.coverage.words() if trial.proof.coverage is not None else "what it assumes"
        lines.append(f"Proved only for {covered}: {trial.proof.detail}.")
    if trial.certified:
        lines.append(f"Certified only at {certified_settings(trial)}.")
    lines += [_sentence(result) for result in [tightness(trial.verdicts)] if result]
    compared = tried(trial)
    if compared and unconfirmed is None:
        lines.append(f"Tried without a violation: {compared}.")
    elif unconfirmed is None and trial.proof is None and not trial.certified:
        done = ", ".join(stage.name for stage in trial.stages if not stage.cut)
        lines.append(f"No violation in the stages that ended: {done or 'none'}.")
    return lines


def _in_decimals(shown: Verdict) -> str:
    """A refutation's sides as decimals, the exact numbers behind them if short; as they are where they are whole."""
    sides = decimal_sides(shown)
    if sides is None or sides[::2] == (shown.data["lhs"], shown.data["rhs"]):
        return shown.detail
    long = "a fraction of" in shown.detail
    words = f"{shown.detail.rpartition(', ')[2]}{', in fractions too long to show' * long}"
    numbers = words if long or "bits" in shown.data else shown.detail
    return f"{' '.join(sides)} ({numbers})"


def _by(trial: Trial, shown: Verdict) -> str:
    """Which stage found a refutation, and of what sort it is."""
    stage = next(stage.name for stage in trial.stages if shown in stage.verdicts)
    sort = {
        Evidence.EXACT: "an instance in fractions, to be checked by hand",
        Evidence.SDP: "explicit functions, run in the simulator; no instance in fractions was found",
        Evidence.EMPIRICAL: f"a run, {_surely(shown)}; no instance in fractions was found",
    }
    if "bits" in shown.data:
        sort[Evidence.EXACT] = "an instance in fractions, whose run is enclosed in balls"
    return f"{sort.get(shown.evidence, shown.evidence)} (stage: {stage})"


def _surely(shown: Verdict) -> str:
    """How sure a run's refutation is: nothing is estimated where its expectation is known exactly."""
    return (
        f"at an error rate of {shown.error_rate:g}" if shown.error_rate else "whose expectations were not estimated"
    )


def details(trial: Trial) -> list[Block]:
    """What every stage found."""
    blocks: list[Block] = []
    for stage in trial.stages:
        proof = stage.lines[1:] if stage.name == "proof" else ()
        blocks.append(Bullets(f"{stage.name} ({stage.seconds:.1f} s)", stage.lines[:1] if proof else stage.lines))
        blocks += [Code("\n".join(proof))] if proof else []
    return blocks


def refuting_instance(trial: Trial) -> list[str]:
    """The numbers of a refutation, a line each; nothing where there is none."""
    return [] if trial.refutation is None else list(instance(trial.refutation.data, _letters(trial)))


def to_text(trial: Trial, verbose: bool = False) -> str:
    """The verdict, warnings and a refutation's instance; if ``verbose`` every stage and the statement."""
    # A verdict on a statement that lacks a hypothesis begins with that.
    lines = sorted(verdict(trial), key=lambda line: not line.startswith(f"Warning: {NOT_READ}"))
    if violating := refuting_instance(trial):
        lines += ["", *violating]
    text = "\n".join(lines).rstrip() + "\n"
    if not verbose:
        return text
    return f"{text}\n{terminal.to_text(details(trial))}{claim_text.to_text(claim_text.explain(trial.claim))}"


def page(trials: Sequence[Trial]) -> str:
    """The trials in HTML; a counterexample in fractions has its script of plain Python where there is a short one."""
    from fedbounds.report.html_pages import blocks_page

    parts: list[Block] = []
    for trial in trials:
        parts += _page_blocks(trial)
    keys = dict.fromkeys(trial.claim.key for trial in trials)
    title = f"{', '.join(keys)}: {trials[0].outcome}" if len(trials) == 1 else f"{len(trials)} theorems on trial"
    return blocks_page(title, parts)


def _page_blocks(trial: Trial) -> list[Block]:
    assumed = tuple(item.statement for item in trial.claim.assumptions_in(READINGS[trial.reading]))
    result: list[Block] = [
        Heading(f"{trial.claim.title} [{trial.reading}]"),
        Formula(statement(trial.claim)),
        Bullets("Assumed", assumed),
        "\n".join(verdict(trial)),
    ]
    if lines := refuting_instance(trial):
        result += ["The instance, to be checked by hand:", Code("\n".join(lines))]
    result += details(trial)
    code = _short_script(trial)
    return [*result, "The same as a script of plain Python:", Code(code)] if code else result


def _short_script(trial: Trial) -> str:
    """The script of a refutation; nothing where it is none in fractions, or has no short script."""
    shown = trial.refutation
    if shown is None or shown.evidence is not Evidence.EXACT or "instance" not in shown.data:
        return ""
    try:
        return script(trial.claim, shown)
    except InputError:
        return ""
