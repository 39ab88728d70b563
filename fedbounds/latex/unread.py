"""The mathematics of a theorem outside its display that no comment line repeats: hypotheses that nothing read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fedbounds.errors import InputError
from fedbounds.latex.source import Line, Theorem
from fedbounds.latex.tokens import Token, expanded, normal

RELATIONS = {"<=", "<", "=", ">=", ">", r"\in", r"\lesssim", r"\gtrsim", r"\ll", r"\gg", r"\ne", r"\neq", r"\approx"}
RELATIONS |= {r"\equiv", r"\preceq", r"\succeq", r"\propto", r"\sim"}
# Whether a relation between two sides, (left, relation, right), says what the comment lines say.
Covered = Callable[[Sequence[Token], Token, Sequence[Token]], bool]
# What every problem here is: F = sum_i p_i F_i with weights that sum to 1, written without blanks.
SUM = r"\\sum(?:_i|_\{[^{}]*\})(?:\^N|\^\{N\})?"
MODEL = re.compile(rf"(?:F(?:\(w\))?={SUM}p_iF_i(?:\(w\))?|{SUM}p_i=1)[.,]?$")
ASSUME = "write it as % fedbounds: assume "


class Words(NamedTuple):
    """A hypothesis in words: how texts say it, its key, what in comment lines says it too, and the remedy."""

    pattern: str
    key: str
    given: str
    line: str


WORDS = (
    Words(r"strongly[ ~-]+convex", "strongly-convex", "strongly-convex", f"{ASSUME}strongly-convex"),
    Words(
        r"(?:common|same|shared) minimi[sz]er",
        "homogeneous",
        r"homogeneous|identical|\\Gamma",
        f"{ASSUME}homogeneous",
    ),
    Words(r"averag\w+ after every step|one local step", r"\tau = 1", r"\\tau|one-local", f"{ASSUME}one-local-step"),
    Words(r"multiples? of \$?\\tau", "", r"(?!)", r"write w_{R\tau} in the display"),
)


def unread(theorem: Theorem, covered: Covered) -> tuple[str, ...]:
    """A warning for each formula with a relation, and each hypothesis in words, that no comment line covers."""
    formulas = tuple(_warning(line) for line in theorem.inline if not _read(line, theorem, covered))
    given = ", ".join(line.text for line in theorem.of("assume"))
    words = [(phrase, item.line) for phrase, item in in_words(theorem) if not re.search(item.given, given)]
    return formulas + tuple(f'not read: "{phrase}": {line}' for phrase, line in words)


def in_words(theorem: Theorem) -> Iterator[tuple[str, Words]]:
    """The hypotheses that the text of a theorem names in words, as it says them."""
    for item in WORDS:
        if result := re.search(item.pattern, theorem.words):
            yield result[0], item


def _read(line: Line, theorem: Theorem, covered: Covered) -> bool:
    if MODEL.match("".join(line.text.split())):
        return True
    try:
        tokens = normal(expanded(line.tokens(), theorem.macros))
        return all(covered(*pair) for pair in _pairs(tokens))
    except InputError:
        return False


def _pairs(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], Token, Sequence[Token]]]:
    """The relations of a formula; a chain is one for each two neighbours."""
    relations = [k for k, token in enumerate(tokens) if token.text in RELATIONS]
    for before, place, after in zip([-1, *relations], relations, [*relations[1:], len(tokens)], strict=False):
        yield tokens[before + 1 : place], tokens[place], _without_stop(tokens[place + 1 : after])


def _without_stop(tokens: Sequence[Token]) -> Sequence[Token]:
    while tokens and tokens[-1].text in (".", ",", ";"):
        tokens = tokens[:-1]
    return tokens


def _warning(line: Line) -> str:
    text = " ".join(line.text.split())
    equation = "=" in text and not any(mark in text for mark in ("<", ">", r"\le", r"\ge"))
    verb = ("step" if text.startswith(r"\eta") else "let") if equation else "assume"
    return f"not read: ${text}$ (line {line.line}): write it as % fedbounds: {verb} ..."
