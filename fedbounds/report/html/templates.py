"""The templates of pages and of notebooks (the only importer of jinja2)."""

from collections.abc import Iterable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from fedbounds.report.html.exact_instances import decimal
from fedbounds.report.html.mathml import fraction, prose
from fedbounds.report.table import MARKS, ORDER, Block
from fedbounds.theory.verdict import Status

PACKAGE = "fedbounds.report.html"
# Where no style sheet reaches, as in a notebook.
INLINE = {
    Status.HOLDS: "color:#00614d",
    Status.REFUTED: "color:#a83a00;font-weight:bold",
    Status.UNDECIDED: "color:#6b5d00;font-style:italic",
    Status.NOT_APPLICABLE: "color:#777",
    Status.VACUOUS: "color:#777",
}


@cache
def _environment() -> Environment:
    loader = PackageLoader(PACKAGE, "")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"prose": prose, "fraction": fraction, "decimal": decimal}
    made.globals |= {"marks": MARKS, "order": ORDER, "styles": INLINE}
    return made


def template(name: str) -> Template:
    return _environment().get_template(name)


def notebook(blocks: Iterable[Block]) -> str:
    """The blocks in HTML: every text escaped, no script, inline styles only."""
    return str(template("table.html.jinja").module.notebook(blocks))  # type: ignore[attr-defined]
