"""The templates of pages and of notebooks (the only importer of jinja2)."""

from collections.abc import Iterable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from fedbounds.report.html.mathml import decimal, fraction, prose
from fedbounds.report.table import LOOKS, ORDER, Block

PACKAGE = "fedbounds.report.html"


@cache
def _environment() -> Environment:
    loader = PackageLoader(PACKAGE, "")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"prose": prose, "fraction": fraction, "decimal": decimal}
    made.globals |= {"looks": LOOKS, "order": ORDER}
    return made


def template(name: str) -> Template:
    return _environment().get_template(name)


def notebook(blocks: Iterable[Block]) -> str:
    """The blocks in HTML: every text escaped, no script, inline styles only."""
    return str(template("table.html.jinja").module.notebook(blocks))  # type: ignore[attr-defined]
