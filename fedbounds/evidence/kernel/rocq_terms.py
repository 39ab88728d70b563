"""Expressions as terms of Rocq, and labels as the names of its modules."""

from __future__ import annotations

import re
from collections.abc import Mapping

import sympy as sp

from fedbounds.errors import reject


def rocq(expression: sp.Expr, words: Mapping[str, str], letter: str = "R") -> str:
    """A sympy expression of rationals, sums, products, whole powers, Max and Min as a term of Rocq.

    ``words`` are its symbols; ``letter`` is R over the real numbers and Q over fractions.
    """
    expression = sp.sympify(expression)
    if isinstance(expression, sp.Symbol):
        if expression.name not in words:
            raise reject(
                f"the kernel must have a word for {expression.name}", f"those for {', '.join(words)}", "leave it"
            )
        return words[expression.name]
    if isinstance(expression, sp.Rational):
        size = str(abs(expression.p)) if expression.q == 1 else f"({abs(expression.p)} / {expression.q})"
        return size if expression >= 0 else f"(- {size})"
    if isinstance(expression, sp.Pow) and isinstance(expression.exp, sp.Integer):
        power = f"{_factor(expression.base, words, letter)} ^ {abs(int(expression.exp))}".removesuffix(" ^ 1")
        return power if expression.exp > 0 else f"/ ({power})"
    if isinstance(expression, sp.Pow) and (times := _natural(expression.exp, words)):
        return f"{_factor(expression.base, words, letter)} ^ {times}"
    if isinstance(expression, sp.Add):
        return " + ".join(rocq(part, words, letter) for part in expression.as_ordered_terms())
    if isinstance(expression, sp.Mul):
        return " * ".join(_factor(part, words, letter) for part in expression.as_ordered_factors())
    if isinstance(expression, sp.Max | sp.Min):
        kind = letter + type(expression).__name__.lower()
        text, *others = (rocq(part, words, letter) for part in sorted(expression.args, key=str))
        for other in others:
            text = f"{kind} ({text}) ({other})"
        return text
    raise reject("a formula must be made of sums, products, whole powers, Max and Min", str(expression), "rewrite it")


def _natural(exponent: sp.Expr, words: Mapping[str, str]) -> str:
    """A sum of products of whole numbers as a natural number of Rocq; empty where it is none."""
    terms = []
    for term in sp.Add.make_args(sp.expand(exponent)):
        number, symbols = term.as_coeff_Mul()
        factors = [words.get(str(one), "") for one in sp.Mul.make_args(symbols)] if symbols != 1 else []
        if not (number.is_Integer and number > 0 and all(one.startswith("INR ") for one in factors)):
            return ""
        terms.append(" * ".join([str(number)] * (number != 1 or not factors) + [one[4:] for one in factors]))
    return f"({' + '.join(terms)})%nat"


def _factor(expression: sp.Expr, words: Mapping[str, str], letter: str) -> str:
    """A factor or base: in brackets unless it has them, is one word, or is a power."""
    text = rocq(expression, words, letter)
    bare = (
        " " not in text
        or isinstance(expression, sp.Rational)
        or (expression.is_Pow and not expression.exp.is_negative)
    )
    return text if bare else f"({text})"


def binder_names(stated: str) -> str:
    """What a proposition binds after its problem and its step."""
    first = stated[: stated.index(",\n")]
    groups = re.findall(r"\(([^:()]+) : (?:R|nat)\)", first)
    return " ".join(groups)


def safe_key(key: str) -> str:
    """A claim's key, which may be any label, as what a comment of Rocq may have.

    >>> safe_key("thm:main-1")
    'thm_main-1'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", key)


def module_name(key: str) -> str:
    """The same as a part of a module's name.

    >>> module_name("thm:main-1")
    'thm_main_1'
    """
    return safe_key(key).replace("-", "_")
