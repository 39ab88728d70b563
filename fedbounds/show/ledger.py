"""What a study found, as a ledger: claims x weightings and claims x evidence, as text, HTML or Markdown.

Everything here works on the JSON object of a result, so a saved study prints as a fresh one does.
Kinds of evidence are never merged: the main table shows one kind, and another has a column for each.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedbounds.theory.verdict import Evidence, Status, Verdict

Json = Mapping[str, Any]
Row = dict[str, Any]

MISSING = "–"
# Distinct without colour: one shouts, one is short, one is long, one is abbreviated.
WORDS = {
    Status.HOLDS: "holds",
    Status.REFUTED: "REFUTED",
    Status.UNDECIDED: "undecided",
    Status.NOT_APPLICABLE: "n/a",
}
# The longest word, a space and three characters of a number.
CELL = 13
# Bound and measured value closer than this, relatively, differ by rounding: they are shown as equal.
EQUAL = 1e-9
LEGEND = (
    "The number beside a status is bound / measured, the smallest over what was tested\n"
    "(below 1: violated; <0: the bound is negative). Every status is about this problem and run,\n"
    "at family-wise error rate {rate:g} a claim; nothing here is a proof."
)
# Constants of a weighting shown above the verdicts: label, path in the run's JSON.
CONSTANTS = (
    ("rho_bar", "all steps", ("rho_bar",)),
    ("rho_bar", "sync", ("rho_bar_sync",)),
    ("rho_tilde", "", ("rho_tilde",)),
    ("speed", "", ("speed",)),
    ("error", "", ("error",)),
    ("sigma_sq", "", ("constants", "sigma_sq", "value")),
    ("G_sq", "", ("constants", "G_sq", "value")),
)


def rows(result: Json, evidence: str = Evidence.EMPIRICAL) -> list[Row]:
    """One row a (claim, reading): ``claim``, ``reading`` and ``cells``, a verdict or None for each run in order."""
    table: dict[tuple[str, str], list[Json | None]] = {}
    runs = result["runs"]
    for j, run in enumerate(runs):
        for verdict in run["verdicts"]:
            if verdict["evidence"] == evidence:
                cells = table.setdefault((verdict["claim"], verdict["reading"]), [None] * len(runs))
                cells[j] = verdict
    return [{"claim": claim, "reading": reading, "cells": cells} for (claim, reading), cells in table.items()]


def evidence_table(verdicts: Iterable[Verdict | Json]) -> list[Row]:
    """One row a (claim, reading), one column a kind of evidence; a missing kind is a dash, never a guess.

    Several verdicts of one kind (one a weighting, say) are counted by status: "REFUTED 2, HOLDS 3".
    """
    counts: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    for item in verdicts:
        verdict: Json = item.to_json() if isinstance(item, Verdict) else item
        kinds = counts.setdefault((verdict["claim"], verdict["reading"]), {})
        statuses = kinds.setdefault(verdict["evidence"], {})
        statuses[verdict["status"]] = statuses.get(verdict["status"], 0) + 1
    return [
        {"claim": claim, "reading": reading, **{str(kind): _counted(kinds.get(kind, {})) for kind in Evidence}}
        for (claim, reading), kinds in counts.items()
    ]


def _counted(statuses: Mapping[str, int]) -> str:
    if sum(statuses.values()) <= 1:
        return next(iter(statuses), MISSING)
    order = (Status.REFUTED, Status.UNDECIDED, Status.HOLDS, Status.NOT_APPLICABLE)
    return ", ".join(f"{status} {statuses[status]}" for status in order if status in statuses)


def compact(value: float | None, width: int = 7) -> str:
    """``value`` in at most ``width`` characters where three allow it; never rounded across 1."""
    if value is None or not math.isfinite(value):
        return ""
    if value < 0:
        return "<0"
    value = 1.0 if abs(value - 1) <= EQUAL else value
    for digits in (3, 2, 1):
        text = _short(value, digits)
        if len(text) <= width and (value == 1 or float(text) != 1):
            return text
    return "<1" if value < 1 else ">1" if _short(value, 1) == "1" else _short(value, 1)


def number(value: float | None, digits: int = 4) -> str:
    """``value`` to ``digits`` significant digits with a short exponent; a dash for None."""
    return MISSING if value is None else _short(value, digits)


def _short(value: float, digits: int) -> str:
    """2.1e4 rather than 2.1e+04."""
    text = f"{value:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}e{int(exponent)}"
    return text


def cell(verdict: Json | None, width: int = CELL) -> str:
    """A verdict in one table cell: its status in a word, and bound / measured."""
    if verdict is None:
        return MISSING
    word = WORDS[Status(verdict["status"])]
    return f"{word} {compact(verdict['tightness'], width - len(word) - 1)}".rstrip()


def heading(result: Json) -> list[str]:
    """The lines above the table: the problem, its constants with provenance, and the protocol."""
    problem, settings = result["problem"], result["settings"]
    names = ("L", "mu", "Gamma")
    known = [f"{n} = {number(problem[n]['value'])} ({problem[n]['provenance']})" for n in names if n in problem]
    batch = "full gradients" if settings["batch"] is None else f"batch {settings['batch']}"
    if settings["batch"] is not None and not settings["replacement"]:
        batch += " without replacement"
    data = f" on {settings['data']}" if settings.get("data") else ""
    lines = [
        f"{problem['kind']}{data}: N = {problem['N']} clients, d = {problem['d']}",
        f"{', '.join(known)}, F* = {number(problem['F_star'])}",
        f"tau = {settings['tau']}, {settings['rounds']} rounds (T = {settings['tau'] * settings['rounds']}), "
        f"{settings['replicates']} replicates, {batch}, C = {settings['participation']:g}, "
        f"step {settings['step']}, seed {settings['seed']}",
    ]
    return lines


def constant_rows(result: Json) -> list[tuple[str, str, list[str]]]:
    """(name, note, one number a run) of the constants that the bounds are made of."""
    table = []
    for name, note, path in CONSTANTS:
        found = []
        for run in result["runs"]:
            value: Any = run
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            found.append(number(value))
        table.append((name, note or _provenance(result["runs"], name), found))
    return table


def _provenance(runs: Sequence[Json], name: str) -> str:
    kinds = {run.get("constants", {}).get(name, {}).get("provenance", "") for run in runs}
    return "/".join(sorted(kind for kind in kinds if kind))


def findings(result: Json, status: Status = Status.REFUTED) -> list[str]:
    """One line a verdict of ``status``, shared by runs that say the same: claim, reading, weightings, t, sides."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for run in result["runs"]:
        for verdict in run["verdicts"]:
            if verdict["status"] == status:
                said = verdict["detail"].partition("; no sampling error")[0].partition(" means x")[0]
                said = said.rpartition(";")[0] if " means x" in verdict["detail"] else said
                where = "" if verdict["worst_t"] is None else f" at t = {verdict['worst_t']}"
                kind = "" if verdict["evidence"] == Evidence.EMPIRICAL else f" by {verdict['evidence']} evidence"
                key = (f"{verdict['claim']} [{verdict['reading']}]", where + kind, said)
                groups.setdefault(key, []).append(run["weighting"])
    every, first = len(result["runs"]), list(dict.fromkeys(claim for claim, _, _ in groups))
    return [
        f"{claim} under {'every weighting' if len(names) == every > 1 else ', '.join(names)}{where}: {said}"
        for (claim, where, said), names in sorted(groups.items(), key=lambda item: first.index(item[0][0]))
    ]


def inapplicable(result: Json) -> list[str]:
    """One line a claim that was not applicable somewhere: the claim, for how many runs, and the first reason."""
    found: dict[tuple[str, str], set[str]] = {}
    for run in result["runs"]:
        for verdict in run["verdicts"]:
            if verdict["status"] == Status.NOT_APPLICABLE:
                reason = verdict["detail"].partition("assumption fails: ")[2] or verdict["detail"]
                wanted = reason.partition(": ")[0]
                found.setdefault((wanted, verdict["claim"]), set()).add(run["weighting"])
    lines: dict[tuple[str, str], list[str]] = {}
    for (wanted, claim), names in found.items():
        scope = "" if len(names) == len(result["runs"]) else ", ".join(sorted(names))
        lines.setdefault((wanted, scope), []).append(claim)
    return [
        f"{', '.join(claims)}{f' under {scope}' if scope else ''}: needs {wanted}"
        for (wanted, scope), claims in lines.items()
    ]


def shown_rows(result: Json) -> list[Row]:
    """The rows of the main table: those in which some verdict applies."""
    return [
        row
        for row in rows(result)
        if any(verdict and verdict["status"] != Status.NOT_APPLICABLE for verdict in row["cells"])
    ]


def other_evidence(result: Json) -> list[Row]:
    """The table claims x evidence, where the result holds more than the empirical kind."""
    verdicts = [verdict for run in result["runs"] for verdict in run["verdicts"]]
    mixed = {verdict["evidence"] for verdict in verdicts} - {Evidence.EMPIRICAL}
    return evidence_table(verdicts) if mixed else []


def to_text(result: Json, width: int = 100, colour: bool = False) -> str:
    """The ledger as text of at most ``width`` columns; with ``colour``, ANSI codes that add no information."""
    from fedbounds.show.terminal import render_ledger

    return render_ledger(result, width, colour)


def to_markdown(result: Json) -> str:
    """The main table and the refutations in Markdown."""
    names = [run["weighting"] for run in result["runs"]]
    lines = [*heading(result), ""]
    lines += [_pipes(["claim", "reading", *names]), "|" + "---|" * (len(names) + 2)]
    for row in shown_rows(result):
        cells = [cell(verdict) for verdict in row["cells"]]
        marked = [f"**{text}**" if text.startswith("REFUTED") else text for text in cells]
        lines.append(_pipes([f"`{row['claim']}`", row["reading"], *marked]))
    lines += ["", LEGEND.format(rate=result["settings"]["error_rate"]).replace("\n", " ").replace("<", r"\<")]
    refuted = findings(result)
    if refuted:
        lines += ["", "Refuted:", "", *(f"- {_escape_markdown(line)}" for line in refuted)]
    return "\n".join(lines) + "\n"


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", r"\|").replace("\n", " ").replace("<", r"\<") for text in cells) + " |"


def _escape_markdown(text: str) -> str:
    return "".join("\\" + c if c in r"\<>*_`[]" else c for c in text)


STYLES = {
    Status.HOLDS: "color:#00614d",
    Status.REFUTED: "color:#a83a00;font-weight:bold",
    Status.UNDECIDED: "color:#6b5d00;font-style:italic",
    Status.NOT_APPLICABLE: "color:#777",
}


def to_html(result: Json) -> str:
    """The ledger as an HTML fragment, for notebooks: every text escaped, no script, inline styles only."""
    text = html.escape
    head = "".join(f"<th>{text(run['weighting'])}</th>" for run in result["runs"])
    body = "".join(
        f"<tr><td>{text(name)}</td><td>{text(note)}</td>{''.join(f'<td>{text(v)}</td>' for v in values)}</tr>"
        for name, note, values in constant_rows(result)
    )
    for row in shown_rows(result):
        cells = "".join(_html_cell(verdict) for verdict in row["cells"])
        body += f"<tr><td><code>{text(row['claim'])}</code></td><td>{text(row['reading'])}</td>{cells}</tr>"
    legend = text(LEGEND.format(rate=result["settings"]["error_rate"]))
    refuted = "".join(f"<li>{text(line)}</li>" for line in findings(result))
    return (
        f"<div><p>{'<br>'.join(text(line) for line in heading(result))}</p>"
        f"<table><thead><tr><th>claim</th><th>reading</th>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p><small>{legend}</small></p>" + (f"<p>Refuted:</p><ul>{refuted}</ul>" if refuted else "") + "</div>"
    )


def _html_cell(verdict: Json | None) -> str:
    if verdict is None:
        return f"<td>{MISSING}</td>"
    style = STYLES[Status(verdict["status"])]
    return f'<td style="{style}" title="{html.escape(str(verdict["detail"]))}">{html.escape(cell(verdict))}</td>'
