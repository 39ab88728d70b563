"""The rows and columns of a formula as one: where one ends, no product goes on."""

from __future__ import annotations

from collections.abc import Sequence

from fedbounds.latex.tokens import CLOSING, OPENING, Token, wrong

BREAKS = {"&", r"\\", r"\quad", r"\qquad"}
SIGNS = {"+", "-", "*", "/", ",", ":", "|", "<=", ">=", "=", "<", ">"}
# Relations that the grammar refuses by name.
REFUSED = {r"\in", r"\lesssim", r"\gtrsim", r"\ll", r"\gg", r"\approx", r"\equiv", r"\propto", r"\sim", r"\simeq"}
REFUSED |= {r"\asymp", r"\preceq", r"\succeq", r"\ne", r"\neq", r"\nleq", r"\ngeq", r"\not", r"\to", r"\pm"}
ENDS, BEGINS = SIGNS | REFUSED | OPENING, SIGNS | REFUSED | CLOSING | {"^", "_", ".", ";"}


def joined(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without breaks; an InputError where what stands on both sides of one is no single formula."""
    result: list[Token] = []
    broken, at = False, 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if token.text in BREAKS:
            broken, at = bool(result), _behind_height(tokens, at)
            continue
        if broken and result[-1].text not in ENDS and token.text not in BEGINS:
            words = token.text.startswith(r"\mathrm{")
            remedy = (
                "put words outside of the display" if words else "begin rows with signs, or mark a theorem for each"
            )
            raise wrong(token, "a display must have one statement", remedy)
        broken = False
        result.append(token)
    return result


def _behind_height(tokens: Sequence[Token], at: int) -> int:
    """The place behind a break and the height of its row, as in \\\\[2pt]."""
    row, *rest = tokens[at - 1 : at + 8]
    beside = rest and rest[0].text == "[" and (row.line, row.column + 2) == (rest[0].line, rest[0].column)
    ends = [k for k, token in enumerate(rest) if token.text == "]"]
    return at + ends[0] + 1 if row.text == r"\\" and beside and ends else at
