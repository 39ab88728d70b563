"""The page itself: every part put into one HTML template (the only importer of jinja2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from types import ModuleType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fedbounds import plugins
from fedbounds.show import ledger
from fedbounds.show.report import cells, exact, proofs
from fedbounds.show.report.claims import Section, section
from fedbounds.show.report.figures import claim_picture, run_pictures
from fedbounds.show.report.mathml import prose
from fedbounds.show.report.run import run_part
from fedbounds.study.survey import survey
from fedbounds.theory.claim import Claim
from fedbounds.theory.verdict import Status

Json = Mapping[str, Any]
Arrays = Mapping[str, Any]

PACKAGE = "fedbounds.show.report"


def page(result: Json, arrays: Arrays, command: str = "", extra: Iterable[ModuleType] = ()) -> str:
    """The report of a study as HTML: no file and no network beyond it is needed to read it.

    ``result`` and ``arrays`` are those of a saved study (`fedbounds.study.store`), ``command`` what repeats it, and
    ``extra`` modules with claims of the reader's own. Proofs, counterexamples and certificates are checked
    again while the page is made, with no solver and no search.
    """
    extra = list(extra)
    known = chosen(plugins.claims(extra), result)
    rows = cells.ledger_rows([line for line in survey(result, extra) if line.claim in known], result)
    checked, counterexamples = proofs.proofs(), exact.examples()
    parts = sections(known, result, arrays, checked, counterexamples)
    lines = ledger.heading(result)
    return render(
        "page.html.jinja",
        title=lines[0],
        heading=[prose(cells.readable(line)) for line in lines],
        names=[run["weighting"] for run in result["runs"]],
        rows=rows,
        tally=cells.tally(rows),
        order=[(str(status), cells.WORDS[status], cells.MARKS[status]) for status in cells.ORDER],
        kinds={str(kind): label for kind, label in cells.LABELS.items()},
        refuted=[prose(cells.readable(line)) for line in ledger.findings(result)],
        undecided=[prose(cells.readable(line)) for line in ledger.findings(result, Status.UNDECIDED)],
        error_rate=result["settings"]["error_rate"],
        sections=parts,
        other_proofs=[proof for proof in checked if not proof.claim],
        other_examples=[example for example in counterexamples if not example.subject],
        pictures=run_pictures(result, arrays),
        run=run_part(result, command),
    )


def chosen(known: Mapping[str, Claim], result: Json) -> dict[str, Claim]:
    """The claims that the study examined: those it was asked for, or every known one."""
    wanted = result["settings"].get("claims") or known
    return {key: claim for key, claim in known.items() if key in wanted}


def sections(
    known: Mapping[str, Claim],
    result: Json,
    arrays: Arrays,
    checked: list[proofs.Proof],
    counterexamples: list[exact.Example],
) -> list[Section]:
    """One section a claim, in the order of the ledger."""
    tight = exact.tight_constants()
    pictures = {claim.key: claim_picture(f"p{k}", claim, result, arrays) for k, claim in enumerate(known.values())}
    return [
        section(claim, result, checked, counterexamples, tight.get(key, ()), pictures[key])
        for key, claim in known.items()
    ]


def render(template: str, **parts: Any) -> str:
    """A template of this package with its parts, the style sheet and the script."""
    return (
        _environment().get_template(template).render(style=_asset("style.css"), script=_asset("script.js"), **parts)
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(PACKAGE, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> Markup:
    """A file of this package, trusted as it is part of it."""
    return Markup(files(PACKAGE).joinpath(name).read_text(encoding="utf-8"))
