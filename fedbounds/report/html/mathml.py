"""Formulas and words with symbols as MathML (the only importer of latex2mathml)."""

import re
from html import unescape

from latex2mathml.converter import convert
from markupsafe import Markup, escape
from sympy.printing.pretty.pretty_symbology import greek_unicode

from fedbounds.report.number_format import readable

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
