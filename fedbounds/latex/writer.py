"""A claim as a theorem file, which reads back as the same claim."""

from __future__ import annotations

import sympy as sp

from fedbounds.latex.assumption_keys import DECLARED
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import QUANTITIES, average_gap

ENVIRONMENT = """\\begin{{theorem}}\\label{{{key}}}
{lines}
\\[
{display}
\\]
\\end{{theorem}}
"""
# LaTeX of a quantity that begins with one of these, or is a sum, needs brackets in a product.
WIDE = (r"\mathbb{E}", r"\sum", r"\min", r"\Vert")


def latex(expression: sp.Expr) -> str:
    """LaTeX in which every quantity stands for itself."""
    names = {}
    for symbol in sp.sympify(expression).free_symbols:
        quantity = symbol if isinstance(symbol, Quantity) else QUANTITIES.get(symbol.name)
        if quantity is not None:
            wide = quantity.latex.startswith(WIDE) and expression != quantity
            names[symbol] = rf"\left({quantity.latex}\right)" if wide else quantity.latex
    return str(sp.latex(expression, symbol_names=names))


def write(claim: Claim, reading: str) -> str:
    """The claim in one reading as a theorem of a LaTeX file.

    >>> write(claim_named("lemma-1"), "literal").splitlines()[0]
    '\\\\begin{theorem}\\\\label{lemma-1}'
    """
    chosen = READINGS[reading]
    terms = claim.stated(chosen.repaired)
    repair = claim.repair.assumptions if chosen.repaired and claim.repair else ()
    lines = [f"title {claim.title}", f"source {claim.source}", f"reading {reading}", f"scope {claim.scope}"]
    lines += [f"algorithm {claim.algorithm}"] if not claim.on_fedavg else []
    lines += [f"assume {item.key}" for item in (*claim.assumptions, *repair)]
    lines += [] if claim.eta is None else [f"step {latex(sp.sympify(claim.eta))}"]
    lines += [f"where {latex(name)} = {latex(sp.sympify(value))}" for name, value in claim.definitions.items()]
    lines += [f"terms {', '.join(terms)}", "units as written"] if claim.kind is not Kind.RATE else []
    used = {symbol for x in (claim.lhs, *terms.values()) for symbol in sp.sympify(x).free_symbols}
    lines += [
        f"let {QUANTITIES[name].latex} = {QUANTITIES[name].latex}" for name in DECLARED if QUANTITIES[name] in used
    ]
    lines += [r"let \bar{w} = \bar{w}"] if average_gap in used else []
    relation = "=" if claim.kind is Kind.IDENTITY else r"\le"
    right = " + ".join(_term(sp.sympify(term)) for term in terms.values()) or "0"
    tail = "= O(1/T)" if claim.kind is Kind.RATE else f"{relation} {right}"
    display = f"{latex(sp.sympify(claim.lhs))} {tail}"
    return ENVIRONMENT.format(
        key=claim.key, lines="\n".join(f"% fedbounds: {line}" for line in lines), display=display
    )


def _term(term: sp.Expr) -> str:
    text = latex(term)
    return rf"\left({text}\right)" if term.is_Add or text.startswith("-") else text
