"""A checked derivation, or all of them, for a reader: plain text, a JSON object, a table."""

import json
from collections.abc import Iterator, Sequence

from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory.verdict import Verdict

TICK, CROSS = "✓", "✗"


def verdict_line(checked: Checked, verdict: Verdict | None) -> str:
    """What the derivation establishes, in one line."""
    if checked.fault:
        return f"UNDECIDED: {checked.fault}"
    if verdict is not None:
        return f"{verdict.status}: {verdict.detail}"
    return f"every step checks; rests on {', '.join(sorted(checked.assumptions)) or 'no assumption'}"


def render_text(checked: Checked, verdict: Verdict | None = None) -> str:
    """The proof step by step, with ticks, conditions, notes and corrections of the paper's lines."""
    derivation = checked.derivation
    readings = ", ".join(derivation.readings)
    about = f"claim {derivation.claim} ({readings})" if derivation.claim else "a result of its own"
    lines = [f"{derivation.key}: {derivation.title}", f"  about {about}"]
    for title, items in _blocks(checked):
        lines += [f"  {title}:", *(f"    {item}" for item in items)]
    for number, step in enumerate(_examined(checked), 1):
        mark = TICK if checked.outcomes[step.label].ok else CROSS
        lines += ["", f"{mark} {number}. [{step.label}]  {_statement(step)}"]
        lines += [f"      {remark}" for remark in _remarks(step, checked)]
    findings = ["  findings:", *(f"    {item}" for item in derivation.findings)] if derivation.findings else []
    return "\n".join([*lines, "", *findings, f"  {verdict_line(checked, verdict)}"])


def _statement(step: d.Step) -> str:
    return f"{step.lhs} {step.relation} {step.rhs}"


def _examined(checked: Checked) -> tuple[d.Step, ...]:
    """The steps of a derivation, none where it was refused before its first."""
    return checked.derivation.steps if checked.outcomes else ()


def _blocks(checked: Checked) -> Iterator[tuple[str, list[str]]]:
    """(title, lines) of what stands before the steps."""
    meanings = {**checked.schedule, **checked.derivation.abbreviations}
    blocks = {
        "setting": [f"{key}: {text}" for key, text in checked.setting.items()],
        "conditions": [
            f"{c.symbol} = {c.expression} {'>' if c.strict else '>='} 0 ({c.why})" for c in checked.conditions
        ],
        "where": [f"{name} = {value}" for name, value in meanings.items()],
    }
    yield from ((title, lines) for title, lines in blocks.items() if lines)


def _remarks(step: d.Step, checked: Checked) -> list[str]:
    """Why a step holds, what the paper has in its place, and why it does not check."""
    outcome, paper = checked.outcomes[step.label], step.paper
    lines = [f"because {reason}" for reason in reasons(step)]
    lines += [f"note: {step.note}"] if step.note else []
    if paper is not None:
        lines.append(f"the paper has: {step.lhs} {step.relation} {paper.rhs}")
        lines += [f"ours minus the paper's: {paper.difference}", f"correction: {paper.correction}"]
    return lines if outcome.ok else [*lines, f"UNDECIDED: {outcome.message}"]


def reasons(step: d.Step) -> list[str]:
    """Why a step holds, one line a fact with its multiplier."""
    because = step.because
    if isinstance(because, d.Cases):
        signs = ("> 0", "= 0") if because.zero else (">= 0", "<= 0")
        cases = zip((because.first, because.second), signs, strict=True)
        return [f"case {because.of} {sign}: {_use(use)}" for item, sign in cases for use in item.uses]
    if isinstance(because, d.Induction):
        over, k = ("the steps of a round", "k") if because.local else ("t", "t")
        return [f"induction over {over}: base by step {because.base}, from {k} to {k} + 1 by step {because.step}"]
    if isinstance(because, d.Limit):
        return [f"the limit as {because.symbol} tends to {because.point}"]
    if isinstance(because, d.Divisor):
        return [f"step {because.label}, and the statement divides by it"]
    if not isinstance(because, tuple):
        labels = getattr(because, "labels", None)
        return [f"steps {', '.join(labels)}, one an argument"] if labels else [type(because).__name__]
    return [_use(use) for use in because] or ["both sides have the same normal form"]


def _use(use: d.Use) -> str:
    multiplier, fact = use
    if isinstance(fact, d.Earlier):
        what = f"step {fact.label}"
    elif isinstance(fact, d.Cited):
        without = [f"{name} by {by}" for name, by in fact.discharged.items()]
        what = f"derivation {fact.derivation}" + (f" ({'; '.join(without)})" if without else "")
    elif isinstance(fact, d.Averaged | d.Beyond):
        over = fact.weights.args[0] if isinstance(fact, d.Averaged) else "alpha - pi p"
        what = f"average over {over} of [{'; '.join(_use(inner) for inner in fact.uses)}]"
    elif isinstance(fact, d.Premise):
        what = f"{fact.why} [{fact.key}]" if fact.why else fact.key
    else:
        what = fact.why
    return what if multiplier == 1 else f"{multiplier} x {what}"


def to_json(checked: Checked, verdict: Verdict | None = None) -> dict[str, object]:
    """The derivation and its check as a JSON object, formulas as they are printed."""
    derivation = checked.derivation
    return {
        "derivation": derivation.key,
        "claim": derivation.claim or None,
        "title": derivation.title,
        "verdict": verdict.to_json() if verdict else None,
        "fault": checked.fault or None,
        "assumptions": sorted(checked.assumptions),
        "setting": dict(checked.setting),
        "findings": list(derivation.findings),
        "steps": [_step_json(step, checked) for step in _examined(checked)],
    }


def _step_json(step: d.Step, checked: Checked) -> dict[str, object]:
    outcome, paper = checked.outcomes[step.label], step.paper
    return {
        "label": step.label,
        "checked": outcome.ok,
        "statement": _statement(step),
        "because": reasons(step),
        "note": step.note,
        "paper": paper and {name: str(value) for name, value in vars(paper).items()},
        "message": outcome.message,
    }


Result = tuple[Checked, Verdict | None]


def rendered(result: Result, form: str) -> str:
    """A checked derivation in a format."""
    return json.dumps(to_json(*result), indent=2) if form == "json" else render_text(*result)


def table(results: Sequence[Result], form: str) -> str:
    """Checked derivations in one table."""
    if form == "json":
        return json.dumps([to_json(*pair) for pair in results], indent=2)
    rows = [(c.derivation.key, c.derivation.claim or "-", verdict_line(c, v)) for c, v in results]
    shown = [("derivation", "claim", "verdict"), *rows]
    return "\n".join(f"{key:24}{claim:20}{line}" for key, claim, line in shown)
