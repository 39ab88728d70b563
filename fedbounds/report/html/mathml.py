"""Formulas as MathML, from the LaTeX of the terms that are evaluated (the only importer of latex2mathml)."""

import re
from collections.abc import Mapping
from fractions import Fraction
from html import unescape

import sympy as sp
from latex2mathml.converter import convert
from markupsafe import Markup, escape
from sympy.printing.pretty.pretty_symbology import greek_unicode

from fedbounds.report.number_format import number, readable
from fedbounds.theory.symbols import QUANTITIES

PAPER: Mapping[str, str] = {name: notation.latex for name, notation in QUANTITIES.items()}
# Digits of the numerator and denominator together beyond which a fraction is set on the line, where it can break.
STACKED = 24
# Orders of a sum: constants first, as in 1 - x, or last, as in x - 1; and a sum that begins with a minus sign.
ORDERS = ("rev-lex", "lex")
LEADING = re.compile(r"(?:^|[({,])\s*-")
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


def latex(expression: sp.Expr, notation: Mapping[str, str] = PAPER) -> str:
    """LaTeX of an expression, symbols by name in ``notation``, its sums in the order with fewer minuses."""
    expression = sp.sympify(expression)
    named = {symbol: notation.get(symbol.name) or _upright(symbol) for symbol in expression.atoms(sp.Symbol)}
    return min(
        (str(sp.latex(expression, symbol_names=named, order=order)) for order in ORDERS),
        key=lambda text: len(LEADING.findall(text)),
    )


def _upright(symbol: sp.Symbol) -> str:
    """A symbol without notation: a word is set upright, so that it does not read as a product of letters."""
    text = str(sp.latex(symbol))
    return rf"\mathrm{{{text}}}" if text.isalpha() and len(text) > 1 else text


def formula(text: str) -> Markup:
    """LaTeX as one inline <math> element, with the LaTeX as its alternative text."""
    # Inside \text{} a bracket would begin a tag.
    made = FENCE.sub("<mo>", convert(text.replace("<", r"\lt ").replace(">", r"\gt ")))
    made = CODE.sub(lambda result: unescape(result[0]), made.replace(DASH, OVERLINE))
    made = FOREIGN.sub("", made)
    made = re.sub(r"<mi>(?=[Α-Ω]<)", '<mi mathvariant="normal">', made)
    return Markup(re.sub(r"<math[^>]*>", lambda _: f'<math alttext="{escape(text)}">', made, count=1))


def math(expression: sp.Expr, notation: Mapping[str, str] = PAPER) -> Markup:
    """An expression as one <math> element."""
    return formula(latex(expression, notation))


def terms_of(expression: sp.Expr, notation: Mapping[str, str] = PAPER) -> list[Markup]:
    """The terms of a sum, one <math> element each with its sign, so that a line may break between them."""
    expression = sp.sympify(expression)
    if not expression.is_Add:
        return [math(expression, notation)]
    orders = [[latex(term, notation) for term in expression.as_ordered_terms(order=order)] for order in ORDERS]
    texts = min(orders, key=lambda result: bool(LEADING.match(result[0])))
    return [addend(text, first=k == 0) for k, text in enumerate(texts)]


def addend(text: str, first: bool) -> Markup:
    """A term in LaTeX as a <math> element: with a sign and the space around it, unless it is the first."""
    if first:
        return formula(text)
    made = formula(text if text.lstrip().startswith("-") else f"+ {text}")
    return Markup(str(made).replace("<mo>", '<mo form="infix">', 1))


def fraction(value: object) -> Markup:
    """A rational number, exactly: stacked where it is short, on the line where it is long."""
    exact = Fraction(str(value))
    if exact.denominator == 1:
        return formula(str(exact))
    if len(f"{exact.numerator}{exact.denominator}") <= STACKED:
        sign = "-" if exact < 0 else ""
        return formula(rf"{sign}\frac{{{abs(exact.numerator)}}}{{{exact.denominator}}}")
    return Markup('<code class="long">{}/{}</code>').format(exact.numerator, exact.denominator)


def decimal(value: Fraction) -> str:
    """A rational number to four digits."""
    return readable(number(float(value)))


def mixed(text: str) -> Markup:
    """Words with LaTeX between NUL marks."""
    parts = text.split("\0")
    return Markup("").join(formula(part) if k % 2 else prose(part) for k, part in enumerate(parts))


def prose(text: str) -> Markup:
    """Words in which names of code (rho_bar, eta_t, ||w||^2) read as the paper's symbols."""
    made = str(escape(readable(text)))
    for pattern, put in WORDS:
        made = re.sub(pattern, put, made)
    return Markup(made)
