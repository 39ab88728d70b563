"""A checked derivation, or all of them, for a reader: plain text, a JSON object with formulas in LaTeX, a table."""

import json
from collections.abc import Iterator, Sequence

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.proof_state import Checked, StepCheck
from fedbounds.theory import points, symbols
from fedbounds.theory.verdict import Verdict

TICK, CROSS = "✓", "✗"
# The proofs' own objects; the claims' symbols have theirs.
LATEX = {
    **points.LATEX,
    "lambda_i": r"\sum_i\lambda_i",
    "u_s": r"\frac1n\sum_s",
    "others": r"\frac1{N-1}\sum_{j\ne i}",
    "fedmax": r"\sum_{i\in J}\tfrac1{|J|}",
    "w_T": "w_T",
    "w_plus": "w_+",
    "Z_sq": "Z^2",
    "away_0": r"\Vert w_0-w_+\Vert^2",
    "w_0": "w_{t_0}",
    "y": "w",
    "noise": r"\xi_t^i",
    "noise_0": r"\xi_{t_0}^i",
    "g": "g_i(w_s^i)",
    "eta_s": r"\eta_s",
    "m_s": r"(s+\gamma)",
    "top_share": "p_i",
    "sigma_i_sq": r"\sigma_i^2",
    "rho": r"\rho(t,w)",
    "steps": r"\sum_{s<t}\eta_s",
    "gaps": r"\sum_{s<t}(\mathbb{E}F(w_s)-F^\star)",
    **{symbol.name: symbol.latex for symbol in definitions.SHIPPED_OWN},
    **{f"kappa_{at}": r"\kappa^i" for at in ("rho_bar", "rho_tilde", "rho", "pi_max")},
    **{f"e_{at}": "e_i" for at in ("rho_bar", "rho_tilde", "rho")},
}
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
    readings = ", ".join(derivation.readings)
    about = f"claim {derivation.claim} ({readings})" if derivation.claim else "a result of its own"
    lines = [f"{derivation.key}: {derivation.title}", f"  about {about}"]
    for title, items in _blocks(checked):
        lines += [f"  {title}:", *(f"    {item}" for item in items)]
    for number, step in enumerate(_examined(checked), 1):
        mark = TICK if checked.outcomes[step.label].ok else CROSS
        lines += ["", f"{mark} {number}. [{step.label}]  {step.lhs} {step.relation} {step.rhs}"]
        lines += [f"      {remark}" for remark in _remarks(step, checked)]
    findings = ["  findings:", *(f"    {item}" for item in derivation.findings)] if derivation.findings else []
    return "\n".join([*lines, "", *findings, f"  {verdict_line(checked, verdict)}"])


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


def names(checked: Checked) -> dict[str, str]:
    """LaTeX of every name in a derivation: the paper's notation, the derivation's own, slacks by what they are."""
    derivation = checked.derivation
    paper = {name: notation.latex for name, notation in symbols.QUANTITIES.items()}
    notation = paper | LATEX | dict(derivation.notation)
    for condition in checked.conditions:
        symbol = condition.symbol if condition.symbol.is_Symbol else condition.symbol.args[0]
        if symbol.name not in derivation.notation:
            notation[symbol.name] = rf"\left({_latex(condition.expression, notation)}\right)"
    return notation


def _latex(expression: sp.Expr, notation: dict[str, str]) -> str:
    names = {s: notation[s.name] for s in expression.atoms(sp.Symbol) if s.name in notation}
    return str(sp.latex(expression, symbol_names=names))


def to_json(checked: Checked, verdict: Verdict | None = None) -> dict[str, object]:
    """The derivation and its check as a JSON object."""
    derivation, notation = checked.derivation, names(checked)
    return {
        "derivation": derivation.key,
        "claim": derivation.claim or None,
        "title": derivation.title,
        "verdict": verdict.to_json() if verdict else None,
        "fault": checked.fault or None,
        "assumptions": sorted(checked.assumptions),
        "setting": dict(checked.setting),
        "findings": list(derivation.findings),
        "steps": [_step_json(step, checked.outcomes[step.label], notation) for step in _examined(checked)],
    }


def _step_json(step: d.Step, outcome: StepCheck, notation: dict[str, str]) -> dict[str, object]:
    paper = step.paper and {
        "rhs": _latex(step.paper.rhs, notation),
        "difference": _latex(step.paper.difference, notation),
        "correction": step.paper.correction,
    }
    return {
        "label": step.label,
        "checked": outcome.ok,
        "statement": f"{_latex(step.lhs, notation)} {RELATIONS[step.relation]} {_latex(step.rhs, notation)}",
        "because": reasons(step),
        "note": step.note,
        "paper": paper,
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
