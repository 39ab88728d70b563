"""The templates of pages and of notebooks, and formulas in them as MathML (the only importer of jinja2 and
latex2mathml).
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from html import unescape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from latex2mathml.converter import convert
from markupsafe import Markup, escape
from sympy.printing.pretty.pretty_symbology import greek_unicode

from fedbounds.report.number_format import readable
from fedbounds.report.table import LOOKS, Block
from fedbounds.theory.verdict import Evidence

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
    script = _asset("script.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {"style": _asset("style.css"), "script": script, "allowed": allowed}
    return template("page_of_blocks.html.jinja").render(title=title, blocks=blocks, **parts)


def _asset(name: str) -> Markup:
    """A file of this package, trusted as it is part of it."""
    return Markup(files(PACKAGE).joinpath(name).read_text(encoding="utf-8"))
