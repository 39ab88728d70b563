"""Symbols and formulas in a terminal: a quantity's LaTeX in the letters of Unicode."""

from __future__ import annotations

import re
from collections.abc import Iterable

import sympy as sp
from sympy.printing.pretty.pretty_symbology import greek_unicode

from fedbounds.theory.quantity import Quantity

SMALL = {
    "_": dict(zip("0123456789+-aeijrst", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼᵣₛₜ", strict=True)),
    "^": dict(zip("0123456789+-ij", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁱʲ", strict=True)),
}
# Commands of LaTeX by what a terminal shows; Greek letters have their own.
COMMANDS = {
    **{"Vert": "‖", "langle": "⟨", "rangle": "⟩", "star": "*", "sum": "Σ", "prod": "Π", "nabla": "∇"},
    **{"leq": "≤", "times": "×", "cdot": "·"},
}
PATTERNS = (
    (r"\\math(?:bb|rm)\{([^{}]*)\}", r"\1"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2"),
    (r"\\(?:overline|bar)(?:\{([^{}]*)\}| (\w))", "\\1\\2\N{COMBINING OVERLINE}"),
    (r"\\tilde\{([^{}]*)\}", "\\1\N{COMBINING TILDE}"),
)


def letters(latex: str) -> str:
    r"""The LaTeX of a symbol on one line.

    >>> letters(r"\mathbb{E}\Vert w_{t+1}-w^\star\Vert^2"), letters(r"\overline{\rho}")
    ('E‖wₜ₊₁-w*‖²', 'ρ̅')
    >>> letters(r"\left\langle u,\, v\right\rangle")
    '⟨u,v⟩'
    """
    text = re.sub(r"\\([A-Za-z]+)", lambda m: COMMANDS.get(m[1], greek_unicode.get(m[1], m[0])), latex)
    for pattern, put in PATTERNS:
        text = re.sub(pattern, put, text)
    text = re.sub(r"\\(left|right)(?![a-z])|\\[,;:!]| ", "", text)
    text = re.sub(r"([_^])(?:\{([^{}]*)\}|(\S))", lambda m: _script(m[1], m[2] or m[3]), text)
    text = re.sub(r"\\(?=[a-z])|[{}]", "", text)
    return f"({text})" if re.match(r"E\[.*\]-", text) else text


def _script(kind: str, text: str) -> str:
    """Below or above the line where Unicode has every letter for that."""
    text, small = letters(text), SMALL[kind]
    if set(text) <= small.keys():
        return "".join(map(small.__getitem__, text))
    return text if text == "*" else f"[{text}]" if set(text) & set("<≤") else kind + text


def pretty(expression: sp.Expr) -> str:
    """An expression as two-dimensional Unicode text, in the paper's notation."""
    expression = sp.sympify(expression)
    # Plain symbols: sympy's printers choose by a class's name, and theirs of a Quantity is a physical one.
    named = expression.xreplace({s: sp.Symbol(one_line(s)) for s in expression.free_symbols})
    # sympy typesets functions that it does not know, but not its own Max and Min.
    for kind, name in ((sp.Max, "max"), (sp.Min, "min")):
        named = named.replace(kind, sp.Function(name))
    return str(sp.pretty(named, use_unicode=True, wrap_line=False))


def one_line(symbol: sp.Symbol) -> str:
    """A symbol on one line, a quantity by the letters of the paper."""
    return letters(symbol.latex) if isinstance(symbol, Quantity) else str(symbol.name)


def worded(text: str, symbols: Iterable[sp.Symbol]) -> str:
    """A line with formulas as sympy prints them, in the letters of the paper; a word before a colon stays.

    >>> from fedbounds.theory.symbols import G_sq, drift, eta
    >>> worded("drift: 16*G_sq*eta**2 in place of drift", (G_sq, eta, drift))
    'drift: 16·G²·ηₜ² in place of EΣᵢαₜⁱ‖wₜ-wₜⁱ‖²'
    """
    text = re.sub(r"\*\*(\d)(?![\d.])", lambda power: SMALL["^"][power[1]], text).replace("**", "^").replace("*", "·")
    named = {str(symbol): one_line(symbol) for symbol in symbols}
    return re.sub(r"(?<!\w-)\b[A-Za-z]\w*?(?![A-Za-z_0-9:-])", lambda word: named.get(word[0], word[0]), text)
