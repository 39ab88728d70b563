"""Pages that open offline, for a screen of any width and for paper: of a study, and of trials.

The only importer of jinja2 and latex2mathml, which makes formulas MathML.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from latex2mathml.converter import convert
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from sympy.printing.pretty.pretty_symbology import greek_unicode

from fedbounds.engine.parallel import in_processes
from fedbounds.io import write_text
from fedbounds.report import study_figures
from fedbounds.report.check_text import (
    answer_table,
    data_name,
    evidence_sentences,
    footnotes,
    setting_sentences,
    summary_line,
)
from fedbounds.report.claim_text import claim_answer, explain
from fedbounds.report.figure_styles import READING_STYLES, svg
from fedbounds.report.number_format import MISSING, number, readable
from fedbounds.report.table import Block, Bullets, Code, Formula, Heading, Table
from fedbounds.report.verdict_tables import SCOPES, alarm_blocks, constants_table, describe, grounds_of, ledger_table
from fedbounds.study.ledger import Line
from fedbounds.study.result import Result
from fedbounds.study.run_series import RunSeries
from fedbounds.theory.claim import Claim, statement
from fedbounds.theory.verdict import Evidence

PACKAGE = "fedbounds.report"
# latex2mathml draws an overline with a dash that does not stretch; this one does.
DASH, OVERLINE = "&#x02015;", "&#x000AF;"
# Brackets stretch and know their side without being told.
FENCE = re.compile(r'<mo stretchy="true" fence="true" form="(?:prefix|postfix)">(?=(?:&#x0002[89];|[()\[\]{}])<)')
# Attributes that LaTeX of a stranger's symbol could bring, as in \href{javascript:...}: all but those of notation.
FOREIGN = re.compile(
    r'\s(?!(?:mathvariant|stretchy|fence|form|accent|linethickness|columnalign|width)=)[\w:-]+="[^"]*"(?=[^<]*>)'
)
# Characters written as numbers, which only make a page longer.
CODE = re.compile(r"&#x[0-9A-F]{5};(?<!&#x0003C;)(?<!&#x0003E;)(?<!&#x00026;)")
GREEK = "alpha|beta|gamma|delta|eta|kappa|lambda|mu|xi|pi|rho|sigma|tau|psi|Gamma|Delta|Pi"
# Names of code inside words, as the paper writes them; each pattern meets escaped text.
WORDS = (
    (r"rho_bar", "ρ\N{COMBINING MACRON}"),
    (r"rho_tilde", "ρ\N{COMBINING TILDE}"),
    (r"sigma_sq", "σ^2"),
    (r"\bG_sq", "G^2"),
    (r"\bpi_min\b", "π"),
    (r"\bpi_max\b", "Π"),
    (r"&lt;=", "≤"),
    (r"&gt;=", "≥"),
    (r"-&gt;", "→"),
    (r"\|\|", "‖"),
    (r"\bE(?=[‖\[])", "𝔼"),
    (r"\bgrad (?=[A-Z])", "∇"),
    (r"\bsum_(?=\w)", "∑_"),
    (rf"(?<![-\w])(?!(?:pi|rho)-)({GREEK})(?![a-zA-Z])", lambda match: greek_unicode[match[1]]),
    (r"\*\*", "^"),
    (r"\b([wF](?:_\w+)?)\*", r"\1<sup>⋆</sup>"),
    (r"(?<=[\w)‖\]])\^(\w+)", r"<sup>\1</sup>"),
    (r"(?<![A-Za-z]{6})(?<=[\wα-ωΑ-Ω∑])_(\w{1,5})\b", r"<sub>\1</sub>"),  # a long word is a name
    (r"(?<=[\w)]) ?\*(?=[\w(])", "·"),
)


def formula(text: str) -> Markup:
    """LaTeX as one inline <math> element, with the LaTeX as its alternative text."""
    # Inside \text{} a bracket would begin a tag.
    made = FENCE.sub("<mo>", convert(text.replace("<", r"\lt ").replace(">", r"\gt ")))
    made = CODE.sub(lambda result: unescape(result[0]), made.replace(DASH, OVERLINE))
    made = FOREIGN.sub("", made)
    made = re.sub(r"<mi>(?=[Α-Ω]<)", '<mi mathvariant="normal">', made)
    return Markup(re.sub(r"<math[^>]*>", lambda _: f'<math alttext="{escape(text)}">', made, count=1))


def prose(text: str) -> Markup:
    """Words in which names of code (rho_bar, eta_t, ||w||^2) read as the paper's symbols."""
    made = str(escape(readable(text)))
    for pattern, put in WORDS:
        made = re.sub(pattern, put, made)
    return Markup(made)


@cache
def _environment() -> Environment:
    loader = PackageLoader(PACKAGE, "")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"prose": prose, "formula": formula}
    return made


def template(name: str) -> Template:
    return _environment().get_template(name)


def notebook(blocks: Iterable[Block]) -> str:
    """The blocks in HTML: every text escaped, no script, no style."""
    return f"<div>{template('blocks.html.jinja').module.shown(blocks)}</div>"  # type: ignore[attr-defined]


def blocks_page(title: str, blocks: Iterable[Any]) -> str:
    """The blocks, and pictures among them, as a page that needs no other file."""
    script = _asset("page_script.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {"style": _asset("page_style.css"), "script": script, "allowed": allowed}
    return template("page_of_blocks.html.jinja").render(title=title, blocks=blocks, **parts)


def _asset(name: str) -> Markup:
    """A file of this package, trusted as it is part of it."""
    return Markup(files(PACKAGE).joinpath(name).read_text(encoding="utf-8"))


Drawn = Sequence[RunSeries]
# Characters of a picture that stand as they are in an address of data, and in an attribute.
UNQUOTED = " !$()*+,-./:;=?@_~"
# The scopes over which both sides of a claim are drawn: how, and what the picture shows.
OF_CLAIM = {
    "horizon": (
        study_figures.bounds_figure,
        "what was measured (black, with its simultaneous band) and the right side of the claim. The distance between "
        "them is how loose it is on this run.",
    ),
    "step": (
        study_figures.ratio_figure,
        "left side over right side at each step, with the band of the left side. Above 1 the claim is violated; far "
        "below 1 it is loose.",
    ),
}
OF_RUN = ((study_figures.skew_figure, "The weighting skew along the run, between the extremes that the bounds use."),)


LEDGER = (
    "Claims by kind of evidence. The numbers beside a status: how many of the {} weightings; the smallest margin "
    "(right side − left side) / the larger of the two, band included; and bound / measured, below 1 if violated. "
    "Run evidence is at family-wise error rate {} a claim. Grey: this run did not refute, which proves nothing. "
    "Holds here: on this problem, without sampling error. A dash: this kind says nothing."
)


@dataclass(frozen=True)
class Picture:
    """A picture that a page carries in itself, and the words below it."""

    image: Markup
    caption: str


PageBlock = Block | Picture


def write_page(result: Result, lines: Sequence[Line], drawn: Drawn, out: Path) -> Path:
    """Write the page of a study."""
    return write_text(out, page(result, lines, drawn))


def page(result: Result, lines: Sequence[Line], drawn: Drawn) -> str:
    """The report of a study as HTML: no file and no network beyond it is needed to read it.

    ``lines`` are its ledger, ``drawn`` its arrays (`fedbounds.study.run_series`).
    """
    claims = {line.claim.key: line.claim for line in lines}
    of_runs, of_claims = all_pictures(claims.values(), result, drawn)
    caption = LEDGER.format(len(result.runs), result.settings.error_rate)
    blocks: list[PageBlock] = [
        *_head(result),
        Heading("The ledger", 2, "ledger"),
        *alarm_blocks(lines),
        Bullets("Known", (*evidence_sentences(lines), summary_line(result, lines))),
        replace(answer_table(result, lines), caption="Each weighting on this run"),
        "\n".join(footnotes(result, lines)),
        replace(ledger_table(lines), caption=caption),
        Heading("The claims", 2, "claims"),
    ]
    for claim, picture in zip(claims.values(), of_claims, strict=True):
        claim_lines = [line for line in lines if line.claim.key == claim.key]
        blocks += claim_blocks(claim, claim_lines, result, picture)
    blocks += [Heading("The run", 2, "run"), *_recipe(result), constants_table(result), *of_runs]
    chosen = {name.replace("_", " "): setting(values) for name, values in result.settings.to_json().items()}
    engines = ", ".join(sorted({run.engine for run in result.runs} - {""})) or MISSING
    settings = {**chosen, "engine used": engines, **result.versions}
    blocks.append(Bullets("Settings and versions", tuple(f"{name}: {value}" for name, value in settings.items())))
    return blocks_page(answer(result, lines), blocks)


def answer(result: Result, lines: Sequence[Line]) -> str:
    """The title of the page: which weightings stop at a floor or fall as 1/T; if none is seen, what is known."""
    floors = [run.weighting for run in result.runs if run.decay and run.decay.answer == "no"]
    fast = [run.weighting for run in result.runs if run.decay and run.decay.answer == "yes"]
    parts = [f"{', '.join(fast)} {'falls' if len(fast) == 1 else 'fall'} as fast as 1/T" if fast else ""]
    parts += [f"{', '.join(floors)} {'stops' if len(floors) == 1 else 'stop'} at a floor" if floors else ""]
    sentences = evidence_sentences(lines)
    if not any(parts) and sentences:
        return sentences[0].rstrip(".")
    words = "; ".join(filter(None, parts)) or "Neither a floor nor 1/T is seen"
    data = f" on {data_name(result.settings.data)}" if result.settings.data else ""
    return f"{words}: {result.facts.kind}{data}, {result.facts.N} clients"


def _head(result: Result) -> list[PageBlock]:
    """The problem, its constants with their provenance, and the protocol."""
    facts, settings = result.facts, result.settings
    constants = {"L": facts.L, "mu": facts.mu, "Gamma": facts.Gamma}
    described = [f"{name} = {number(item.value)} ({item.provenance})" for name, item in constants.items()]
    sampled = "" if settings.batch is None or settings.replacement else ", without replacement"
    protocol = f"{settings.rounds} rounds, C = {settings.participation:g}, step {settings.step}{sampled}"
    constants_line = f"{', '.join(described)}, F* = {number(facts.F_star)}"
    return [f"{setting_sentences(result)}\n{constants_line}\n{protocol}, seed {settings.seed}"]


def _recipe(result: Result) -> list[PageBlock]:
    """The file that repeats a study."""
    if result.objects:
        return ["This study was made in Python from an object that no command line names, so no command repeats it."]
    return ["Do it again: fedbounds check --config study.toml, where study.toml is", Code(result.settings.to_toml())]


def claim_blocks(claim: Claim, lines: Sequence[Line], result: Result, picture: Picture | None) -> list[PageBlock]:
    """What a claim states and assumes, and what the runs say of it."""
    words = explain(claim)
    repair = words["repair"] or {"why": "", "assumptions": {}, "substitutions": {}}
    assumed = [*words["assumptions"].values()]
    assumed += [f"{text} (repaired reading only)" for text in repair["assumptions"].values()]
    changed = "".join(f"; {name} becomes {value}" for name, value in repair["substitutions"].items())
    runs = run_table(lines, result)
    blocks: list[PageBlock | str] = [
        Heading(f"{claim.title}: {claim.key}", 3, f"claim-{claim.key}"),
        f"{claim.source}; for {SCOPES[claim.scope]}.\n{claim_answer(lines)}",
        Formula(statement(claim)),
        claim.remark,
        f"Repair: {repair['why']}{changed}." if claim.repair else "",
        *_listed("Symbols", [f"{name}: {meaning}" for name, meaning in words["symbols"].items()]),
        *_listed("Readings", [f"{name}: {text}" for name, text in words["readings"].items()]),
        *_listed("Assumptions", assumed),
        *([runs] if runs.rows else []),
        *grounds_of(lines, len(result.runs)),
        *([picture] if picture else []),
    ]
    return [block for block in blocks if block != ""]


def _listed(title: str, items: Sequence[str]) -> list[Bullets]:
    return [Bullets(title, tuple(items))] if items else []


def run_table(lines: Iterable[Line], result: Result) -> Table:
    """What the runs say of a claim: a row a reading and kind of evidence, a status and its looseness a weighting."""
    names = [run.weighting for run in result.runs]
    body: list[list[object]] = []
    for kind in (Evidence.EMPIRICAL, Evidence.EXPECTATION):
        for line in lines:
            values = [next(iter(line.verdicts(kind, name)), None) for name in names]
            if any(values):
                head = f"{line.reading}, {kind.label.lower()}"
                body.append([head, *(None if verdict is None else describe(verdict) for verdict in values)])
    caption = "Status, bound / measured (how loose) and the step where the two come nearest, for each weighting"
    return Table.of(["Reading", *names], body, caption)


def picture(caption: str, build: Callable[[], Figure]) -> Picture:
    """The figure that ``build`` makes, as an image in a page."""
    data = quote(svg(build), safe=UNQUOTED)
    return Picture(Markup('<img alt="{}" src="data:image/svg+xml,{}">').format(caption, data), caption)


def all_pictures(claims: Iterable[Claim], result: Result, drawn: Drawn) -> tuple[list[Picture], list[Picture | None]]:
    """The pictures of the run, and that of each claim, side by side."""
    tasks: list[Callable[[], Picture | None]] = [partial(claim_picture, claim, result, drawn) for claim in claims]
    of_run = in_processes([partial(picture, caption, partial(build, result, drawn)) for build, caption in OF_RUN])
    return of_run, in_processes(tasks)


def claim_picture(claim: Claim, result: Result, drawn: Drawn) -> Picture | None:
    """Both sides of a claim over time, one panel a weighting; None where no run has them."""
    drawn_readings = {reading for run in drawn for key, reading in run.sides if key == claim.key}
    if not drawn_readings or claim.scope not in OF_CLAIM:
        return None
    build, words = OF_CLAIM[claim.scope]
    looks = {
        name: READING_STYLES.get(name, READING_STYLES["sync"]) for name in claim.readings if name in drawn_readings
    }
    lines = {(claim.key, name): (name, style) for name, style in looks.items()}
    return picture(f"{claim.title}: {words}", partial(build, result, drawn, lines))


def setting(value: Any) -> str:
    """The value of a setting in words."""
    if value is None or value in ([], ()):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
