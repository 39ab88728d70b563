"""One derivation, or all of them, printed in a format: what ``fedbounds derive`` shows."""

from __future__ import annotations

import json

from fedbounds.errors import reject
from fedbounds.evidence.symbolic import library as symbolic
from fedbounds.evidence.symbolic.render import render_latex, render_text, to_json, verdict_line
from fedbounds.evidence.symbolic.scope import Checked
from fedbounds.plugins import claims
from fedbounds.theory.verdict import Verdict

INTRODUCTION = """# Derivations

Every proof below is checked by machine each time it is printed: an identity reduces to zero exactly, and an
inequality is an exact combination of named facts with multipliers that are non-negative on sight. Written by
`fedbounds derive --all --format markdown`; `fedbounds derive NAME` prints one proof step by step.
"""


def verdict_of(checked: Checked) -> Verdict | None:
    """The verdict on the derivation's claim in its first reading, or None for a result of its own."""
    derivation = checked.derivation
    if not derivation.claim:
        return None
    return symbolic.judge(checked, claims()[derivation.claim], checked.reading)


def one(name: str, form: str) -> str:
    """A derivation, by its key or its claim's, in a format."""
    checked = symbolic.checked_named(name)
    verdict = verdict_of(checked)
    if form == "latex":
        return render_latex(checked, verdict)
    if form == "json":
        return json.dumps(to_json(checked, verdict), indent=2)
    if form == "markdown":
        raise reject("markdown is the format of the table", repr(name), "use --all, or another format")
    return render_text(checked, verdict)


def table(form: str) -> str:
    """Every derivation in one table."""
    found = {key: (checked, verdict_of(checked)) for key, checked in sorted(symbolic.check_all().items())}
    if form == "json":
        return json.dumps([to_json(checked, verdict) for checked, verdict in found.values()], indent=2)
    if form == "latex":
        raise reject("LaTeX is a page a derivation", "--all", "name one derivation, or use another format")
    if form == "markdown":
        return markdown(found)
    lines = [f"{'derivation':24}{'claim':20}{'steps':>7}  verdict"]
    for key, (checked, verdict) in found.items():
        good = sum(outcome.ok for outcome in checked.outcomes.values())
        count = f"{good}/{len(checked.outcomes)}"
        claim = checked.derivation.claim or "-"
        lines.append(f"{key:24}{claim:20}{count:>7}  {verdict_line(checked, verdict)}")
    return "\n".join(lines)


def markdown(found: dict[str, tuple[Checked, Verdict | None]]) -> str:
    """The table, the corrections and the findings as a page of documentation."""
    rows = ["| derivation | claim | steps | verdict |", "|---|---|---|---|"]
    corrections, findings = [], []
    for key, (checked, verdict) in found.items():
        good = sum(outcome.ok for outcome in checked.outcomes.values())
        derivation = checked.derivation
        line = verdict_line(checked, verdict).replace("|", r"\|")
        rows.append(f"| `{key}` | {derivation.claim or '-'} | {good}/{len(checked.outcomes)} | {line} |")
        findings += [f"- `{key}`: {text}" for text in derivation.findings]
        corrections += [f"- `{key}`, step {s.label}: {s.paper.correction}." for s in derivation.steps if s.paper]
    parts = [INTRODUCTION, *rows, "", "## Lines of the paper that are wrong, and their corrections", "", *corrections]
    return "\n".join([*parts, "", "## Findings", "", *findings]) + "\n"
