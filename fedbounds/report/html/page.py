"""The page itself: every part put into one HTML template."""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from fedbounds.report.check_text import DECAY_NOTE, decay_words, known_sentences, problem_sentence, summary_line
from fedbounds.report.describe import evidence_cell
from fedbounds.report.html.claim_section import section
from fedbounds.report.html.exact_instances import OTHERS as OTHER_EVIDENCE
from fedbounds.report.html.exact_instances import evidence
from fedbounds.report.html.mathml import formula, prose
from fedbounds.report.html.pictures import Drawn, all_pictures
from fedbounds.report.html.templates import PACKAGE, template
from fedbounds.report.number_format import MISSING, number, readable
from fedbounds.report.table import ORDER, Cell, Phrase, Table
from fedbounds.study.contradictions import alarms
from fedbounds.study.ledger import Line
from fedbounds.study.result import Result
from fedbounds.theory.symbols import QUANTITIES
from fedbounds.theory.verdict import Evidence

# How a status is called where it stands for several kinds of evidence.
STATUSES = {status: str(status).lower().replace("_", " ") for status in ORDER}
# Quantities of a run that are not constants of a claim: how they are written and what they are.
OTHERS = {
    "rho_bar_sync": (r"\overline{\rho}_{\mathrm{sync}}", "smallest weighting skew at synchronisation times only"),
    "speed": (r"\mathcal{V}", "speed term of the corollary"),
    "error": (r"\mathcal{E}", "error term of the corollary"),
}
LEDGER = (
    "Claims by kind of evidence. The numbers beside a status: how many of the {} weightings; the smallest margin "
    "(right side − left side) / the larger of the two, band included; and bound / measured, below 1 if violated. "
    "Run evidence is at family-wise error rate {} a claim. A dash: this kind says nothing."
)
# Clients listed one by one; a longer list says little.
LISTED = 40


def page(result: Result, lines: Sequence[Line], drawn: Drawn, command: str = "") -> str:
    """The report of a study as HTML: no file and no network beyond it is needed to read it.

    ``lines`` are its ledger, ``drawn`` its arrays (`fedbounds.study.store`), ``command`` what repeats
    it. Proofs, counterexamples and certificates stand on it as they were checked on this machine.
    """
    shipped = evidence()
    known = {line.claim.key: line.claim for line in lines}
    facts = result.facts
    listed = [(str(i), *row) for i, row in enumerate(zip(facts.p, facts.sizes, facts.F_i_star, strict=True), 1)]
    of_runs, of_claims = all_pictures(known.values(), result, drawn)
    clients = [[i, value(p), str(size or MISSING), value(least)] for i, p, size, least in listed]
    return render(
        "page.html.jinja",
        title=answer(result),
        heading=[prose(readable(line)) for line in (problem_sentence(result), *heading(result))],
        alarms=[str(alarm) for alarm in alarms(lines)],
        findings=[prose(readable(line)) for line in (*known_sentences(lines), summary_line(result, lines))],
        rates=rate_table(result),
        ledger=ledger_table(lines, len(result.runs), result.settings.error_rate),
        tally=tally(lines),
        sections=[
            section(claim, lines, result, picture, shipped.get(key, Markup("")))
            for (key, claim), picture in zip(known.items(), of_claims, strict=True)
        ],
        others=shipped[OTHER_EVIDENCE],
        pictures=of_runs,
        command=command,
        constants=constants(result),
        clients=Table.of(
            ("Client", "Share", "Samples", "Minimum"),
            clients if len(clients) <= LISTED else [],
            f"Shares, sample sizes and minima (within {value(facts.minima_excess_bound)})",
        ),
        settings={
            **{name.replace("_", " "): setting(values) for name, values in result.settings.to_json().items()},
            "engine used": ", ".join(sorted({run.engine for run in result.runs} - {""})) or MISSING,
            **result.versions,
        },
    )


def answer(result: Result) -> str:
    """The title of the page: which weightings stop at a floor, and which show none."""
    floors = [run.weighting for run in result.runs if run.decay and run.decay.answer == "no"]
    fast = [run.weighting for run in result.runs if run.decay and run.decay.answer == "yes"]
    parts = [f"{', '.join(fast)} {'falls' if len(fast) == 1 else 'fall'} as fast as 1/T" if fast else ""]
    parts += [f"{', '.join(floors)} {'stops' if len(floors) == 1 else 'stop'} at a floor" if floors else ""]
    words = "; ".join(filter(None, parts)) or "Neither a floor nor 1/T is seen"
    data = f" on {result.settings.data}" if result.settings.data else ""
    return f"{words}: {result.facts.kind}{data}, {result.facts.N} clients"


def heading(result: Result) -> list[str]:
    """The constants with their provenance, and the protocol."""
    facts, settings = result.facts, result.settings
    constants = {"L": facts.L, "mu": facts.mu, "Gamma": facts.Gamma}
    known = [f"{name} = {number(item.value)} ({item.provenance})" for name, item in constants.items()]
    sampled = "" if settings.batch is None or settings.replacement else ", without replacement"
    protocol = f"{settings.rounds} rounds, C = {settings.participation:g}, step {settings.step}{sampled}"
    return [f"{', '.join(known)}, F* = {number(facts.F_star)}", f"{protocol}, seed {settings.seed}"]


def rate_table(result: Result) -> Table:
    """How the gap of each weighting decays at the end of its run."""
    body = [[run.weighting, decay_words(run.decay) or None] for run in result.runs]
    return Table.of(("Weighting", "O(1/T)?"), body, DECAY_NOTE)


def ledger_table(lines: Iterable[Line], runs: int, rate: float) -> Table:
    """Claims in their readings by kinds of evidence, each claim with a link to its section."""
    body = []
    for line in lines:
        name = Markup('<a href="#claim-{0}">{0}</a> <span class="quiet">{1}</span>')
        first = Cell((Phrase(name.format(line.claim.key, prose(line.claim.title))),), sort_key=line.claim.key)
        cells = (evidence_cell(line, kind) for kind in Evidence)
        body.append([first, Cell((Phrase(line.reading),), sort_key=line.reading), *cells])
    return Table.of(("Claim", "Reading", *(kind.label for kind in Evidence)), body, LEDGER.format(runs, rate))


def tally(lines: Sequence[Line]) -> Table:
    body = []
    for kind in Evidence:
        seen = [{verdict.status for verdict in line.verdicts(kind)} for line in lines]
        name = Markup('{} <span class="quiet">{}</span>').format(kind.label, kind.about)
        body.append([name, *(sum(status in result for result in seen) or None for status in ORDER)])
    head = ["Evidence", *(Phrase(STATUSES[status], status) for status in ORDER)]
    return Table.of(head, body, "In how many rows of the ledger each kind of evidence says so").without_empty()


def constants(result: Result) -> Table:
    """Every constant of the runs, then the other quantities, each with its provenance."""
    runs = result.runs
    items = dict.fromkeys(name for run in runs for name in run.constants)
    body: list[list[object]] = []
    for name in sorted(
        items, key=lambda name: list(QUANTITIES).index(name) if name in QUANTITIES else len(QUANTITIES)
    ):
        own = [run.constants.get(name) for run in runs]
        symbol = (
            QUANTITIES[name].latex if name in QUANTITIES else rf"\mathrm{{{re.sub(r'[^A-Za-z0-9 ]', ' ', name)}}}"
        )
        meaning = QUANTITIES[name].meaning if name in QUANTITIES else ""
        provenance = "/".join(sorted({str(item.provenance) for item in own if item}))
        notes = prose("; ".join(dict.fromkeys(item.note for item in own if item and item.note)))
        values = (None if item is None else value(item.value) for item in own)
        body.append([_named(symbol, prose(meaning)), *values, Phrase(provenance, None, notes)])
    for name, (symbol, meaning) in OTHERS.items():
        body.append([_named(symbol, meaning), *(value(getattr(run, name)) for run in runs), "computed"])
    caption = "What the bounds are made of, with where each number comes from"
    return Table.of(("Constant", *(run.weighting for run in runs), "Provenance"), body, caption)


def _named(symbol: str, meaning: str) -> Markup:
    return Markup('{} <span class="quiet">{}</span>').format(formula(symbol), meaning)


def value(found: float | None) -> str:
    return readable(number(found))


def setting(found: Any) -> str:
    if found is None:
        return MISSING
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, list | tuple):
        return ", ".join(map(str, found)) or MISSING
    return str(found)


def render(name: str, **parts: Any) -> str:
    """A template of this package with its parts, the style sheet and the script."""
    script = _asset("script.js")
    shared = {
        "style": _asset("style.css"),
        "script": script,
        "allowed": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "kinds": {str(kind): kind.label for kind in Evidence},
        "statuses": {str(status): STATUSES[status] for status in ORDER},
    }
    return template(name).render(**shared, **parts)


def _asset(name: str) -> Markup:
    """A file of this package, trusted as it is part of it."""
    return Markup(files(PACKAGE).joinpath(name).read_text(encoding="utf-8"))
