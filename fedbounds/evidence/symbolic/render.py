"""A checked derivation, or all of them, for a reader: plain text, a LaTeX page, a JSON object, a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_state import Checked, Shown, StepCheck
from fedbounds.theory import symbols
from fedbounds.theory.verdict import Verdict

TICK, CROSS = "✓", "✗"
# Characters of LaTeX after which a long right-hand side continues on the next line.
LINE = 110
PREAMBLE = r"""\documentclass{article}
\usepackage{amsmath,amssymb}
\usepackage[margin=2cm]{geometry}
\allowdisplaybreaks
\begin{document}"""
RELATIONS = {"<=": r"\le", ">=": r"\ge", "=": "=", "<": "<", ">": ">", "->": r"\longrightarrow"}


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
    about = f"claim {derivation.claim} ({', '.join(derivation.readings)})"
    blocks = {
        "setting": [f"{key}: {text}" for key, text in checked.setting.items()],
        "conditions": [f"{c.symbol} = {c.expression} {_sign(c)} ({c.why})" for c in checked.conditions],
        "where": [f"{name} = {value}" for name, value in {**checked.schedule, **derivation.abbreviations}.items()],
    }
    lines = [f"{derivation.key}: {derivation.title}"]
    lines.append(f"  about {about if derivation.claim else 'a result of its own'}")
    for title, items in blocks.items():
        lines += [f"  {title}:", *(f"    {item}" for item in items)] if items else []
    for number, step in enumerate(derivation.steps, 1):
        lines += ["", *_step_text(number, step, checked.outcomes[step.label])]
    findings = [f"    {text}" for text in derivation.findings]
    return "\n".join(
        [*lines, "", *(["  findings:", *findings] if findings else []), f"  {verdict_line(checked, verdict)}"]
    )


def _sign(condition: Shown) -> str:
    return "> 0" if condition.strict else ">= 0"


def _step_text(number: int, step: d.Step, outcome: StepCheck) -> list[str]:
    lines = [f"because {reason}" for reason in reasons(step)]
    lines += [f"note: {step.note}"] if step.note else []
    if step.paper is not None:
        lines.append(f"the paper has: {step.lhs} {step.relation} {step.paper.rhs}")
        lines.append(f"ours minus the paper's: {step.paper.difference}")
        lines.append(f"correction: {step.paper.correction}")
    lines += [] if outcome.ok else [f"UNDECIDED: {outcome.message}"]
    head = f"{TICK if outcome.ok else CROSS} {number}. [{step.label}]  {step.lhs} {step.relation} {step.rhs}"
    return [head, *(f"      {line}" for line in lines)]


def reasons(step: d.Step, show: Callable[[sp.Expr], str] = str) -> list[str]:
    """Why a step holds, one line a fact, with its multiplier shown by ``show``."""
    because = step.because
    if isinstance(because, d.Cases):
        signs = ("> 0", "= 0") if because.zero else (">= 0", "<= 0")
        cases = zip((because.first, because.second), signs, strict=True)
        return [f"case {because.of} {sign}: {_use(use, show)}" for one, sign in cases for use in one.uses]
    if isinstance(because, d.Induction):
        return [f"induction over t: base by step {because.base}, from t to t + 1 by step {because.step}"]
    if isinstance(because, d.Limit):
        return [f"the limit as {because.symbol} tends to {because.point}"]
    if not isinstance(because, tuple):
        labels = getattr(because, "labels", None)
        return [f"steps {', '.join(labels)}, one an argument"] if labels else [type(because).__name__]
    return [_use(use, show) for use in because] or ["both sides have the same normal form"]


def _use(use: d.Use, show: Callable[[sp.Expr], str]) -> str:
    multiplier, fact = use
    if isinstance(fact, d.Earlier):
        what = f"step {fact.label}"
    elif isinstance(fact, d.Cited):
        without = [f"{name} by {by}" for name, by in fact.discharged.items()]
        what = f"derivation {fact.derivation}" + (f" ({'; '.join(without)})" if without else "")
    elif isinstance(fact, d.Averaged | d.Beyond):
        over = fact.weights.args[0] if isinstance(fact, d.Averaged) else "alpha - pi p"
        what = f"average over {over} of [{'; '.join(_use(inner, show) for inner in fact.uses)}]"
    elif isinstance(fact, d.Premise):
        what = f"{fact.why} [{fact.key}]" if fact.why else fact.key
    else:
        what = fact.why
    return what if multiplier == 1 else f"{show(multiplier)} x {what}"


def names(checked: Checked) -> dict[str, str]:
    """LaTeX of every name in a derivation: the paper's notation, the derivation's own, slacks by what they are."""
    derivation = checked.derivation
    paper = {name: notation.latex for name, notation in symbols.QUANTITIES.items()}
    known = paper | definitions.LATEX | dict(derivation.notation)
    for condition in checked.conditions:
        symbol = condition.symbol if condition.symbol.is_Symbol else condition.symbol.args[0]
        if symbol.name not in derivation.notation:
            known[symbol.name] = rf"\left({_latex(condition.expression, known)}\right)"
    return known


def _latex(expression: sp.Expr, known: dict[str, str]) -> str:
    names = {s: known[s.name] for s in expression.atoms(sp.Symbol) if s.name in known}
    return str(sp.latex(expression, symbol_names=names))


def render_latex(checked: Checked, verdict: Verdict | None = None) -> str:
    """A complete LaTeX page of the proof."""
    derivation, known = checked.derivation, names(checked)
    body = [PREAMBLE, rf"\section*{{{escape(derivation.title)}}}"]
    body += _items("Setting", [escape(text) for text in checked.setting.values()])
    conditions = [
        rf"${_latex(c.expression, known)} {RELATIONS[_sign(c)[:-2]]} 0$: {escape(c.why)}" for c in checked.conditions
    ]
    body += _items("Conditions", conditions)
    for step in derivation.steps:
        body += _step_latex(step, checked.outcomes[step.label], known)
    body += _items("Findings", [escape(text) for text in derivation.findings])
    verdict_text = escape(verdict_line(checked, verdict))
    return "\n".join([*body, rf"\paragraph{{Verdict.}} {verdict_text}", r"\end{document}", ""])


def _items(title: str, items: list[str]) -> list[str]:
    return [rf"\paragraph{{{title}.}}", *_listed(items)] if items else []


def _listed(items: list[str]) -> list[str]:
    return [r"\begin{itemize}", *(rf"\item {item}" for item in items), r"\end{itemize}"]


def _step_latex(step: d.Step, outcome: StepCheck, known: dict[str, str]) -> list[str]:
    mark = r"$\checkmark$" if outcome.ok else r"$\times$ (undecided)"
    shown = reasons(step, lambda multiplier: f"\0{_latex(multiplier, known)}\0")
    # What stands between marks is mathematics already.
    parts = [enumerate(reason.split("\0")) for reason in shown]
    told = ["".join(f"${part}$" if index % 2 else escape(part) for index, part in reason) for reason in parts]
    lines = [rf"\paragraph{{{mark} Step {escape(step.label)}.}} {escape(step.note)}"]
    lines += [*_display(step, step.rhs, known), *_listed(told)]
    if step.paper is not None:
        lines += [r"The paper has", *_display(step, step.paper.rhs, known), "which differs from the line above by"]
        lines += [r"\begin{align*}", _broken(step.paper.difference, known), r"\end{align*}"]
        lines.append(escape(step.paper.correction) + ".")
    return lines if outcome.ok else [*lines, escape(outcome.message[:400])]


def _display(step: d.Step, rhs: sp.Expr, known: dict[str, str]) -> list[str]:
    left, right = _latex(step.lhs, known), _broken(rhs, known)
    separator = r"\\" if len(left) > LINE else ""
    return [r"\begin{align*}", rf"{left} {separator}&{RELATIONS[step.relation]} {right}", r"\end{align*}"]


def _broken(expression: sp.Expr, known: dict[str, str]) -> str:
    """An expression over as many lines as its terms need."""
    lines, length = [""], 0
    for index, term in enumerate(expression.as_ordered_terms()):
        text = _latex(term, known)
        text = text if index == 0 or text.lstrip().startswith("-") else f"+ {text}"
        if length and length + len(text) > LINE:
            lines.append("")
            length = 0
        lines[-1] += f" {text}"
        length += len(text)
    return (r"\\ &\quad ").join(lines)


def escape(text: str) -> str:
    """Plain words as LaTeX."""
    table = {
        "\\": r"\textbackslash{}",
        "^": r"\^{}",
        "~": r"\~{}",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "*": "$*$",
        TICK: r"$\checkmark$",
        **{c: "\\" + c for c in "_&%#${}"},
    }
    text = text.replace("->", "\1").replace("<=", "\2").replace(">=", "\3")
    escaped = "".join(table.get(character, character) for character in text)
    return escaped.replace("\1", r"$\to$").replace("\2", r"$\le$").replace("\3", r"$\ge$")


def to_json(checked: Checked, verdict: Verdict | None = None) -> dict[str, object]:
    """The derivation and its check as a JSON object."""
    derivation, known = checked.derivation, names(checked)
    steps = []
    for step in derivation.steps:
        outcome, paper = checked.outcomes[step.label], step.paper
        left, right = _latex(step.lhs, known), _latex(step.rhs, known)
        wrong = None
        if paper is not None:
            rhs, difference = _latex(paper.rhs, known), _latex(paper.difference, known)
            wrong = {"rhs": rhs, "difference": difference, "correction": paper.correction}
        steps.append(
            {
                "label": step.label,
                "checked": outcome.ok,
                "statement": f"{left} {RELATIONS[step.relation]} {right}",
                "because": reasons(step),
                "note": step.note,
                "paper": wrong,
                "message": outcome.message,
            }
        )
    return {
        "derivation": derivation.key,
        "claim": derivation.claim or None,
        "title": derivation.title,
        "verdict": verdict.to_json() if verdict else None,
        "fault": checked.fault or None,
        "assumptions": sorted(checked.assumptions),
        "setting": dict(checked.setting),
        "findings": list(derivation.findings),
        "steps": steps,
    }


INTRODUCTION = """# Derivations

Every proof below is checked by machine each time it is printed: an identity reduces to zero exactly, and an
inequality is an exact combination of named facts with multipliers that are non-negative on sight. Written by
`fedbounds derive --all --format markdown`; `fedbounds derive NAME` prints one proof step by step.
"""


Found = tuple[Checked, Verdict | None]


def one(found: Found, form: str) -> str:
    """A checked derivation in a format."""
    if form == "markdown":
        raise reject("markdown is the format of the table", found[0].derivation.key, "use --all, or another format")
    if form == "json":
        return json.dumps(to_json(*found), indent=2)
    return render_latex(*found) if form == "latex" else render_text(*found)


def table(found: Sequence[Found], form: str) -> str:
    """Checked derivations in one table."""
    if form == "latex":
        raise reject("LaTeX is a page a derivation", "--all", "name one derivation, or use another format")
    if form == "json":
        return json.dumps([to_json(*pair) for pair in found], indent=2)
    rows, corrections, findings = [], [], []
    for checked, verdict in found:
        derivation = checked.derivation
        key = derivation.key
        count = f"{sum(outcome.ok for outcome in checked.outcomes.values())}/{len(checked.outcomes)}"
        rows.append((key, derivation.claim or "-", count, verdict_line(checked, verdict)))
        findings += [f"- `{key}`: {text}" for text in derivation.findings]
        corrections += [f"- `{key}`, step {s.label}: {s.paper.correction}." for s in derivation.steps if s.paper]
    if form != "markdown":
        head = ("derivation", "claim", "steps", "verdict")
        return "\n".join(f"{key:24}{claim:20}{count:>7}  {line}" for key, claim, count, line in (head, *rows))
    lines = [INTRODUCTION, "| derivation | claim | steps | verdict |", "|---|---|---|---|"]
    for key, claim, count, line in rows:
        lines.append(f"| `{key}` | {claim} | {count} | {line.replace('|', chr(92) + '|')} |")
    lines += ["", "## Lines of the paper that are wrong, and their corrections", "", *corrections]
    return "\n".join([*lines, "", "## Findings", "", *findings]) + "\n"
