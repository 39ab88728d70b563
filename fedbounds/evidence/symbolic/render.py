"""A checked derivation for a reader: plain text, a complete LaTeX page, a JSON object, and a row of the table."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic import setting
from fedbounds.evidence.symbolic.derivation import (
    Averaged,
    Beyond,
    Case,
    Cases,
    Cited,
    Earlier,
    Exhibited,
    Induction,
    Limit,
    Premise,
    Step,
    Use,
)
from fedbounds.evidence.symbolic.scope import Checked, Outcome, Shown
from fedbounds.theory import symbols
from fedbounds.theory.verdict import Verdict

TICK, CROSS = "✓", "✗"
# Characters of LaTeX after which a long right-hand side continues on the next line.
LINE = 110
RELATIONS = {"<=": r"\le", ">=": r"\ge", "=": "=", "<": "<", ">": ">", "->": r"\longrightarrow", "!=": r"\ne"}


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
    subject = (
        f"claim {derivation.claim} ({', '.join(derivation.readings)})" if derivation.claim else "a result of its own"
    )
    lines = [f"{derivation.key}: {derivation.title}", f"  about {subject}"]
    lines += _block("setting", [f"{key}: {text}" for key, text in checked.setting.items()])
    conditions = [f"{c.symbol} = {c.expression} {_sign(c)} ({c.why})" for c in checked.conditions]
    lines += _block("conditions", conditions)
    where = {**checked.schedule, **derivation.abbreviations}
    lines += _block("where", [f"{name} = {value}" for name, value in where.items()])
    for number, step in enumerate(derivation.steps, 1):
        lines += ["", *_step_text(number, step, checked.outcomes[step.label])]
    lines += ["", *_block("findings", list(derivation.findings)), f"  {verdict_line(checked, verdict)}"]
    return "\n".join(lines)


def _sign(condition: Shown) -> str:
    return "> 0" if condition.strict else ">= 0"


def _block(title: str, items: list[str]) -> list[str]:
    return [f"  {title}:", *(f"    {item}" for item in items)] if items else []


def _step_text(number: int, step: Step, outcome: Outcome) -> list[str]:
    lines = [f"{TICK if outcome.ok else CROSS} {number}. [{step.label}]  {step.lhs} {step.relation} {step.rhs}"]
    lines += [f"      because {reason}" for reason in reasons(step, str)]
    if step.note:
        lines.append(f"      note: {step.note}")
    if step.paper is not None:
        lines.append(f"      the paper has: {step.lhs} {step.relation} {step.paper.rhs}")
        lines.append(f"      ours minus the paper's: {step.paper.difference}")
        lines.append(f"      correction: {step.paper.correction}")
    if not outcome.ok:
        lines.append(f"      UNDECIDED: {outcome.message}")
    return lines


def reasons(step: Step, show: object = str) -> list[str]:
    """Why a step holds, one line a fact, with its multiplier shown by ``show``."""
    because = step.because
    if isinstance(because, Cases):
        signs = ("> 0", "= 0") if because.zero else (">= 0", "<= 0")
        cases = zip((because.first, because.second), signs, strict=True)
        return [line for one, sign in cases for line in _case(one, f"{because.of} {sign}", show)]
    if isinstance(because, Induction):
        return [f"induction over t: base by step {because.base}, from t to t + 1 by step {because.step}"]
    if isinstance(because, Exhibited):
        return ["exact values of both sides on the exhibit"]
    if isinstance(because, Limit):
        return [f"the limit as {because.symbol} tends to {because.point}"]
    if not isinstance(because, tuple):
        labels = getattr(because, "labels", None)
        return [f"steps {', '.join(labels)}, one an argument"] if labels else [type(because).__name__]
    return [_use(use, show) for use in because] or ["both sides have the same normal form"]


def _case(one: Case, condition: str, show: object) -> list[str]:
    return [f"case {condition}: {_use(use, show)}" for use in one.uses]


def _use(use: Use, show: object) -> str:
    multiplier, fact = use
    if isinstance(fact, Earlier):
        what = f"step {fact.label}"
    elif isinstance(fact, Cited):
        without = [f"{name} by {by}" for name, by in fact.discharged.items()]
        what = f"derivation {fact.derivation}" + (f" ({'; '.join(without)})" if without else "")
    elif isinstance(fact, Averaged):
        inside = "; ".join(_use(inner, show) for inner in fact.uses)
        what = f"average over {fact.weights.args[0]} of [{inside}]"
    elif isinstance(fact, Beyond):
        what = f"average over alpha - pi p of [{'; '.join(_use(inner, show) for inner in fact.uses)}]"
    elif isinstance(fact, Premise):
        what = f"{fact.why} [{fact.key}]" if fact.why else fact.key
    else:
        what = fact.why
    return what if multiplier == 1 else f"{show(multiplier)} x {what}"  # type: ignore[operator]


def names(checked: Checked) -> dict[str, str]:
    """LaTeX of every name in a derivation: the paper's notation, the derivation's own, slacks by what they are."""
    derivation = checked.derivation
    paper = {name: notation.latex for name, notation in symbols.NOTATION.items()}
    known = paper | setting.LATEX | dict(derivation.notation)
    for condition in checked.conditions:
        symbol = condition.symbol if condition.symbol.is_Symbol else condition.symbol.args[0]
        if symbol.name not in derivation.notation:
            known[symbol.name] = rf"\left({_latex(condition.expression, known)}\right)"
    return known


def _latex(expression: sp.Expr, known: dict[str, str]) -> str:
    return sp.latex(
        expression, symbol_names={s: known[s.name] for s in expression.atoms(sp.Symbol) if s.name in known}
    )


def render_latex(checked: Checked, verdict: Verdict | None = None) -> str:
    """A complete LaTeX page of the proof."""
    derivation, known = checked.derivation, names(checked)
    body = [rf"\section*{{{escape(derivation.title)}}}"]
    body += _items("Setting", [escape(text) for text in checked.setting.values()])
    conditions = [
        rf"${_latex(c.expression, known)} {RELATIONS[_sign(c)[:-2]]} 0$: {escape(c.why)}" for c in checked.conditions
    ]
    body += _items("Conditions", conditions)
    for step in derivation.steps:
        body += _step_latex(step, checked.outcomes[step.label], known)
    body += _items("Findings", [escape(text) for text in derivation.findings])
    body.append(rf"\paragraph{{Verdict.}} {escape(verdict_line(checked, verdict))}")
    preamble = [
        r"\documentclass{article}",
        r"\usepackage{amsmath,amssymb}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\allowdisplaybreaks",
        r"\begin{document}",
    ]
    return "\n".join([*preamble, *body, r"\end{document}", ""])


def _items(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    listed = [rf"\item {item}" for item in items]
    return [rf"\paragraph{{{title}.}}", r"\begin{itemize}", *listed, r"\end{itemize}"]


def _step_latex(step: Step, outcome: Outcome, known: dict[str, str]) -> list[str]:
    mark = r"$\checkmark$" if outcome.ok else r"$\times$ (undecided)"
    lines = [
        rf"\paragraph{{{mark} Step {escape(step.label)}.}} {escape(step.note)}",
        *_display(step, step.rhs, known),
    ]
    lines += [r"\begin{itemize}"]
    shown = reasons(step, lambda multiplier: f"\0{_latex(multiplier, known)}\0")
    lines += [rf"\item {_mixed(reason)}" for reason in shown]
    lines += [r"\end{itemize}"]
    if step.paper is not None:
        lines += [r"The paper has", *_display(step, step.paper.rhs, known), "which differs from the line above by"]
        lines += [r"\begin{align*}", _broken(step.paper.difference, known), r"\end{align*}"]
        lines.append(escape(step.paper.correction) + ".")
    if not outcome.ok:
        lines.append(escape(outcome.message[:400]))
    return lines


def _mixed(reason: str) -> str:
    """Words with mathematics between marks, as LaTeX."""
    parts = reason.split("\0")
    return "".join(f"${part}$" if index % 2 else escape(part) for index, part in enumerate(parts))


def _display(step: Step, rhs: sp.Expr, known: dict[str, str]) -> list[str]:
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
    derivation = checked.derivation
    known = names(checked)
    return {
        "derivation": derivation.key,
        "claim": derivation.claim or None,
        "title": derivation.title,
        "verdict": verdict.to_json() if verdict else None,
        "fault": checked.fault or None,
        "assumptions": sorted(checked.assumptions),
        "setting": dict(checked.setting),
        "findings": list(derivation.findings),
        "steps": [
            {
                "label": step.label,
                "checked": checked.outcomes[step.label].ok,
                "statement": f"{_latex(step.lhs, known)} {RELATIONS[step.relation]} {_latex(step.rhs, known)}",
                "because": reasons(step),
                "note": step.note,
                "paper": _paper_json(step, known),
                "message": checked.outcomes[step.label].message,
            }
            for step in derivation.steps
        ],
    }


def _paper_json(step: Step, known: dict[str, str]) -> dict[str, str] | None:
    if step.paper is None:
        return None
    return {
        "rhs": _latex(step.paper.rhs, known),
        "difference": _latex(step.paper.difference, known),
        "correction": step.paper.correction,
    }
