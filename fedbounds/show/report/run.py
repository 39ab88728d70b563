"""The run behind a report: constants with provenance, settings, versions, clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fedbounds.show.ledger import MISSING, number
from fedbounds.show.report.cells import readable
from fedbounds.show.report.mathml import formula, prose
from fedbounds.theory.symbols import NOTATION

Json = Mapping[str, Any]

# Quantities of a run that are not constants of a claim: how they are written and what they are.
OTHERS = {
    "rho_bar_sync": (r"\overline{\rho}_{\mathrm{sync}}", "smallest weighting skew at synchronisation times only"),
    "speed": (r"\mathcal{V}", "speed term of the corollary"),
    "error": (r"\mathcal{E}", "error term of the corollary"),
}
# Clients listed one by one; a longer list says little.
LISTED = 40


@dataclass(frozen=True)
class ConstantRow:
    """One constant: its symbol, meaning, a number a weighting, and where it comes from."""

    symbol: Markup
    meaning: Markup
    values: list[str]
    provenance: str
    note: Markup


@dataclass(frozen=True)
class RunPart:
    """What the last part of the page shows."""

    constants: list[ConstantRow]
    settings: list[tuple[str, str]]
    versions: list[tuple[str, str]]
    engines: str
    clients: list[tuple[str, str, str, str]]
    minima: str
    command: str


def run_part(result: Json, command: str) -> RunPart:
    """The run of a result; ``command`` is what repeats it, empty where none can."""
    problem = result["problem"]
    lists = zip(problem["p"], problem["sizes"], problem["F_i_star"], strict=True)
    clients = [(str(i), shown(p), str(n or MISSING), shown(f)) for i, (p, n, f) in enumerate(lists, 1)]
    return RunPart(
        constants(result),
        [(name.replace("_", " "), setting(value)) for name, value in result["settings"].items()],
        list(result["versions"].items()),
        ", ".join(sorted({str(run.get("engine", "")) for run in result["runs"]} - {""})),
        clients if len(clients) <= LISTED else [],
        shown(problem.get("minima_excess_bound")),
        command,
    )


def constants(result: Json) -> list[ConstantRow]:
    """Every constant of the runs, then the other quantities, each with its provenance."""
    runs = result["runs"]
    found = list(dict.fromkeys(name for run in runs for name in run["constants"]))
    rows = []
    for name in sorted(found, key=lambda name: list(NOTATION).index(name) if name in NOTATION else len(NOTATION)):
        own = [run["constants"].get(name, {}) for run in runs]
        symbol = NOTATION[name].latex if name in NOTATION else rf"\mathrm{{{name}}}"
        meaning = NOTATION[name].meaning if name in NOTATION else ""
        provenance = "/".join(sorted({str(item["provenance"]) for item in own if item}))
        notes = list(dict.fromkeys(str(item["note"]) for item in own if item.get("note")))
        values = [shown(item.get("value")) for item in own]
        rows.append(ConstantRow(formula(symbol), prose(meaning), values, provenance, prose("; ".join(notes))))
    for name, (symbol, meaning) in OTHERS.items():
        values = [shown(run.get(name)) for run in runs]
        rows.append(ConstantRow(formula(symbol), Markup(meaning), values, "computed", Markup("")))
    return rows


def shown(value: Any) -> str:
    """A number to four digits, or a dash."""
    return readable(number(None if value is None else float(value)))


def setting(value: Any) -> str:
    """The value of a setting in words."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or MISSING
    return str(value)
