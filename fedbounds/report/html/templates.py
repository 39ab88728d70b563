"""The templates of pages and of notebooks (the only importer of jinja2)."""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from fedbounds.report.html.mathml import formula, prose
from fedbounds.report.table import LOOKS, Block
from fedbounds.theory.verdict import Evidence

PACKAGE = "fedbounds.report.html"


@cache
def _environment() -> Environment:
    loader = PackageLoader(PACKAGE, "")
    made = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"prose": prose, "formula": formula}
    # How a status is called where it stands for several kinds of evidence.
    statuses = {str(status): str(status).lower().replace("_", " ") for status in LOOKS}
    made.globals |= {"looks": LOOKS, "statuses": statuses, "kinds": {str(kind): kind.label for kind in Evidence}}
    return made


def template(name: str) -> Template:
    return _environment().get_template(name)


def notebook(blocks: Iterable[Block]) -> str:
    """The blocks in HTML: every text escaped, no script, no style."""
    return f"<div>{template('blocks.html.jinja').module.shown(blocks)}</div>"  # type: ignore[attr-defined]


def blocks_page(title: str, blocks: Iterable[Any]) -> str:
    """The blocks, and pictures among them, as a page that needs no other file."""
    return render("page_of_blocks.html.jinja", title=title, blocks=blocks)


def render(name: str, **parts: Any) -> str:
    """A template of this package with its parts, the style sheet and the script."""
    script = _asset("script.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return template(name).render(style=_asset("style.css"), script=script, allowed=allowed, **parts)


def _asset(name: str) -> Markup:
    """A file of this package, trusted as it is part of it."""
    return Markup(files(PACKAGE).joinpath(name).read_text(encoding="utf-8"))
