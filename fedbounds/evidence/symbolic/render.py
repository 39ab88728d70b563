"""A checked derivation, or all of them, for a reader: plain text, a LaTeX page, a JSON object, a table."""

from __future__ import annotations

import json
import re
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
    about = (
        f"claim {derivation.claim} ({', '.join(derivation.readings)})" if derivation.claim else "a result of its own"
    )
    meanings = {**checked.schedule, **derivation.abbreviations}
    lines = [f"{derivation.key}: {derivation.title}", f"  about {about}"]
    lines += _block("setting", [f"{key}: {text}" for key, text in checked.setting.items()])
    lines += _block("conditions", [f"{c.symbol} = {c.expression} {_sign(c)} ({c.why})" for c in checked.conditions])
    lines += _block("where", [f"{name} = {value}" for name, value in meanings.items()])
    for number, step in enumerate(derivation.steps, 1):
        outcome, paper = checked.outcomes[step.label], step.paper
        statement = f"{step.lhs} {step.relation} {step.rhs}"
        lines += ["", f"{TICK if outcome.ok else CROSS} {number}. [{step.label}]  {statement}"]
        remarks = [f"because {reason}" for reason in reasons(step)]
        remarks += [f"note: {step.note}"] if step.note else []
        if paper is not None:
            remarks.append(f"the paper has: {step.lhs} {step.relation} {paper.rhs}")
            remarks += [f"ours minus the paper's: {paper.difference}", f"correction: {paper.correction}"]
        remarks += [] if outcome.ok else [f"UNDECIDED: {outcome.message}"]
        lines += [f"      {remark}" for remark in remarks]
    return "\n".join([*lines, "", *_block("findings", derivation.findings), f"  {verdict_line(checked, verdict)}"])


def _block(title: str, items: Sequence[str]) -> list[str]:
    return [f"  {title}:", *(f"    {item}" for item in items)] if items else []


def _sign(condition: Shown) -> str:
    return "> 0" if condition.strict else ">= 0"


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
    conditions = [
        rf"${_latex(c.expression, known)} {RELATIONS[_sign(c)[:-2]]} 0$: {escape(c.why)}" for c in checked.conditions
    ]
    body = [PREAMBLE, rf"\section*{{{escape(derivation.title)}}}"]
    body += _items("Setting", [escape(text) for text in checked.setting.values()])
    body += _items("Conditions", conditions)
    for step in derivation.steps:
        outcome, paper = checked.outcomes[step.label], step.paper
        mark = r"$\checkmark$" if outcome.ok else r"$\times$ (undecided)"
        # What stands between marks is mathematics already.
        shown = (enumerate(reason.split("\0")) for reason in reasons(step, lambda m: f"\0{_latex(m, known)}\0"))
        because = ["".join(f"${part}$" if index % 2 else escape(part) for index, part in one) for one in shown]
        body += [rf"\paragraph{{{mark} Step {escape(step.label)}.}} {escape(step.note)}"]
        body += [_display(_latex(step.lhs, known), step.relation, _broken(step.rhs, known)), *_listed(because)]
        if paper is not None:
            wrong = _display(_latex(step.lhs, known), step.relation, _broken(paper.rhs, known))
            body += [r"The paper has", wrong, "which differs from the line above by"]
            body += [_aligned(_broken(paper.difference, known)), f"{escape(paper.correction)}."]
        body += [] if outcome.ok else [escape(outcome.message[:400])]
    body += _items("Findings", [escape(text) for text in derivation.findings])
    ending = rf"\paragraph{{Verdict.}} {escape(verdict_line(checked, verdict))}"
    return "\n".join([*body, ending, r"\end{document}", ""])


def _items(title: str, items: list[str]) -> list[str]:
    return [rf"\paragraph{{{title}.}}", *_listed(items)] if items else []


def _listed(items: list[str]) -> list[str]:
    return [r"\begin{itemize}", *(rf"\item {item}" for item in items), r"\end{itemize}"]


def _display(left: str, relation: str, right: str) -> str:
    return _aligned(rf"{left} {chr(92) * 2 if len(left) > LINE else ''}&{RELATIONS[relation]} {right}")


def _aligned(formula: str) -> str:
    return "\n".join([r"\begin{align*}", formula, r"\end{align*}"])


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
    return {
        "derivation": derivation.key,
        "claim": derivation.claim or None,
        "title": derivation.title,
        "verdict": verdict.to_json() if verdict else None,
        "fault": checked.fault or None,
        "assumptions": sorted(checked.assumptions),
        "setting": dict(checked.setting),
        "findings": list(derivation.findings),
        "steps": [_step_json(step, checked.outcomes[step.label], known) for step in derivation.steps],
    }


def _step_json(step: d.Step, outcome: StepCheck, known: dict[str, str]) -> dict[str, object]:
    paper = step.paper and {
        "rhs": _latex(step.paper.rhs, known),
        "difference": _latex(step.paper.difference, known),
        "correction": step.paper.correction,
    }
    return {
        "label": step.label,
        "checked": outcome.ok,
        "statement": f"{_latex(step.lhs, known)} {RELATIONS[step.relation]} {_latex(step.rhs, known)}",
        "because": reasons(step),
        "note": step.note,
        "paper": paper,
        "message": outcome.message,
    }


INTRODUCTION = """# Derivations

After this page you know which proofs there are, what each rests on, and which lines of the paper they correct.
`fedbounds derive NAME` prints one proof step by step.

Every proof is checked each time it is printed. An identity reduces to zero exactly. An inequality is an exact
combination of named facts, with multipliers that are visibly non-negative. An author may assume no definition:
definitions come with the reading of the claim. Each further symbol is real, non-negative or positive, and stands for
one number.

"Proved" means that every step checks; the assumptions are those used. Without a claim, a derivation is a result of
its own.
"""


Result = tuple[Checked, Verdict | None]


def one(result: Result, form: str) -> str:
    """A checked derivation in a format."""
    if form == "markdown":
        raise reject("markdown is the format of the table", result[0].derivation.key, "use --all, or another format")
    if form == "json":
        return json.dumps(to_json(*result), indent=2)
    return render_latex(*result) if form == "latex" else render_text(*result)


def table(results: Sequence[Result], form: str) -> str:
    """Checked derivations in one table."""
    if form == "latex":
        raise reject("LaTeX is a page a derivation", "--all", "name one derivation, or use another format")
    if form == "json":
        return json.dumps([to_json(*pair) for pair in results], indent=2)
    rows = [(c.derivation.key, c.derivation.claim or "-", verdict_line(c, v)) for c, v in results]
    if form != "markdown":
        shown = [("derivation", "claim", "verdict"), *rows]
        return "\n".join(f"{key:24}{claim:20}{line}" for key, claim, line in shown)
    lines = [INTRODUCTION, "| derivation | claim | verdict |", "|---|---|---|"]
    for key, claim, line in rows:
        said = re.sub("HOLDS: proved under these assumptions:|every step checks; rests on", "proved:", line)
        lines.append(f"| `{key}` | {'the same' if claim == key else claim} | {said.replace('|', chr(92) + '|')} |")
    lines += ["", "## Lines of the paper that are wrong, and their corrections", ""]
    lines += [
        f"- `{c.derivation.key}`, step {step.label}: {step.paper.correction}."
        for c, _ in results
        for step in c.derivation.steps
        if step.paper
    ]
    return "\n".join(lines) + "\n"
