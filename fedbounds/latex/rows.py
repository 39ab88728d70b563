"""The rows and columns of a formula as one, or as several statements: where one ends, no product goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fedbounds.latex.tokens import CLOSING, OPENING, Token, wrong

BREAKS = {"&", r"\\", r"\quad", r"\qquad"}
# Stands between two statements of a display.
BETWEEN, AND = "a break", r"\mathrm{and}"
SIGNS = {"+", "-", "*", "/", ",", ":", "|", "<=", ">=", "=", "<", ">"}
# Relations that the grammar refuses by name.
REFUSED = {r"\in", r"\lesssim", r"\gtrsim", r"\ll", r"\gg", r"\approx", r"\equiv", r"\propto", r"\sim", r"\simeq"}
REFUSED |= {r"\asymp", r"\preceq", r"\succeq", r"\ne", r"\neq", r"\nleq", r"\ngeq", r"\not", r"\to", r"\pm"}
ENDS, BEGINS = SIGNS | REFUSED | OPENING, SIGNS | REFUSED | CLOSING | {"^", "_", ".", ";"}


def joined(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without breaks; outside brackets, one behind which no formula goes on stands between statements."""
    result: list[Token] = []
    broken, at, depth = False, 0, 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if token.text in BREAKS or (token.text == AND and result and not depth and at < len(tokens)):
            broken, at = bool(result), _behind_height(tokens, at)
            continue
        listed = bool(result) and result[-1].text in (",", ";") and not depth
        if broken and (listed or result[-1].text not in ENDS) and token.text not in BEGINS:
            if token.text.startswith(r"\mathrm{"):
                raise wrong(token, "a display must have one statement", "put words outside of the display")
            if depth:
                raise wrong(token, "a display must have one statement", "begin rows with signs")
            result[-listed or len(result) :] = [replace(token, text=BETWEEN)]
        broken = False
        depth += (token.text in OPENING) - (token.text in CLOSING)
        result.append(token)
    return result


def statements(tokens: Sequence[Token]) -> list[list[Token]]:
    """The statements of a display, apart."""
    result: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == BETWEEN:
            result.append([])
        else:
            result[-1].append(token)
    return result


def _behind_height(tokens: Sequence[Token], at: int) -> int:
    """The place behind a break and the height of its row, as in \\\\[2pt]."""
    row, *rest = tokens[at - 1 : at + 8]
    beside = rest and rest[0].text == "[" and (row.line, row.column + 2) == (rest[0].line, rest[0].column)
    ends = [k for k, token in enumerate(rest) if token.text == "]"]
    return at + ends[0] + 1 if row.text == r"\\" and beside and ends else at
