"""A client's stochastic gradient at its model as one letter, whether it is g_i(w_t^i) or grad F_i(w_t^i; xi)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from fedbounds.latex.tokens import Token, spelled

# The letters of stochastic gradients, and of what is drawn for one.
GRADIENT = ("g", r"\tilde{g}", r"\hat{g}")
SAMPLE = re.compile(r"[,;](\\xi|\\zeta|\\mathcal\{B\}|B|b|s|z)(?![A-Za-z])")
SAMPLES = re.compile(SAMPLE.pattern + r"('|[_^]\{[^{}]*\})*")
AT = re.compile(r"w(?P<time>_\{t\})(?:\^\{\(?(?P<client>\w)\)?\})?$|w\^\{(?P<other>\w)\}_\{t\}$")
# What an index says of a gradient that was drawn at w_t and not at the client's model.
AT_W_T = "w_t"


def as_letters(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with g_t^i for the stochastic gradient of client i at its model, or at w_t.

    Unchanged where two samples or two letters are spoken of: they may be two draws.
    """
    texts = {token.text for token in tokens}
    samples = {match[0] for match in SAMPLES.finditer(spelled(tokens))}
    if len(samples) > 1 or len(texts.intersection(GRADIENT)) > 1:
        return list(tokens)
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        end, letter = _gradient(tokens, place)
        result += letter or tokens[place:end]
        place = end
    return result


def _gradient(tokens: Sequence[Token], place: int) -> tuple[int, list[Token]]:
    """The place behind a stochastic gradient and the letter for it; the next place where there is none."""
    exact = [token.text for token in tokens[place : place + 2]] == [r"\nabla", "F"]
    behind = place + 1 + exact
    while behind < len(tokens) and tokens[behind].text in ("_", "^"):
        behind += 1
    scripts = tokens[place + 1 + exact : behind]
    indices = {index for script in scripts for index in spelled(script.inside).split(",")}
    named = exact or tokens[place].text in GRADIENT
    if not named or behind >= len(tokens) or tokens[behind].text != "(":
        return place + 1, []
    closing = next((k for k in range(behind, len(tokens)) if tokens[k].text == ")"), behind)
    inside = spelled(tokens[behind + 1 : closing])
    sample = SAMPLE.search(inside)
    point = AT.match(inside[: sample.start()] if sample else inside)
    if point is None or (exact and sample is None):
        return place + 1, []
    client = point["client"] or point["other"]
    (of,) = indices - {"t"} if len(indices - {"t"}) == 1 else {""}
    if not of or client not in (None, of):
        return place + 1, []
    above = [Token(of, tokens[place].line, tokens[place].column)]
    above += [replace(above[0], text=text) for text in (",", AT_W_T)] if client is None else []
    here = [replace(tokens[place], text=text, inside=()) for text in ("g", "_", "^")]
    here[1], here[2] = replace(here[1], inside=(replace(above[0], text="t"),)), replace(here[2], inside=tuple(above))
    return closing + 1, here
