"""The mathematics of a theorem outside its display that no comment line repeats: hypotheses that nothing read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fedbounds.errors import InputError
from fedbounds.latex.source import Line, Theorem
from fedbounds.latex.tokens import Token, expanded, normal

RELATIONS = {"<=", "<", "=", ">=", ">", r"\in", r"\lesssim", r"\gtrsim", r"\ll", r"\gg", r"\ne", r"\neq", r"\approx"}
RELATIONS |= {r"\equiv", r"\preceq", r"\succeq", r"\propto", r"\sim"}
# Whether a relation between two sides, (left, relation, right), says what the comment lines say.
Covered = Callable[[Sequence[Token], Token, Sequence[Token]], bool]


def unread(theorem: Theorem, covered: Covered) -> tuple[str, ...]:
    """A warning for each formula in the text of a theorem with a relation that no comment line covers."""
    return tuple(_warning(line) for line in theorem.inline if not _read(line, theorem, covered))


def _read(line: Line, theorem: Theorem, covered: Covered) -> bool:
    try:
        tokens = normal(expanded(line.tokens(), theorem.macros))
        return all(covered(*pair) for pair in _pairs(tokens))
    except InputError:
        return False


def _pairs(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], Token, Sequence[Token]]]:
    """The relations of a formula; a chain is one for each two neighbours."""
    places = [k for k, token in enumerate(tokens) if token.text in RELATIONS]
    for before, place, after in zip([-1, *places], places, [*places[1:], len(tokens)], strict=False):
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
