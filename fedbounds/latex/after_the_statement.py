"""What stands behind the statement in its display: definitions, remarks in words, and the number of the formula."""

from __future__ import annotations

import re
from typing import NamedTuple

RELATION = re.compile(r"\\(?:[lg]eq?|[lg]eqslant|lesssim|approx|asymp|propto|simeq)(?![a-zA-Z])|[=<>]")
TEXT = r"\\(?:text|mbox|textrm|textnormal)\s*\{"
# Where a display goes on to define what it names: behind a comma and a wide space, or a word.
BEHIND = re.compile(
    rf"[,;]?\s*\\q?quad(?![a-zA-Z])\s*(?:{TEXT}\s*(?:where|with|and)?\s*\}}\s*)?(?:\\q?quad(?![a-zA-Z])\s*)?"
    rf"|[,;]\s*{TEXT}\s*(?:where|with)\s*\}}\s*"
)
DEFINED = re.compile(
    r"(?P<letter>\\?[A-Za-z]+)(?P<scripts>(?:[_^](?:\{[^{}]*\}|\\?\w|\\[a-z]+|\*))*)\s*:?=(?P<body>.+)", re.DOTALL
)
SCRIPT = re.compile(r"[_^]\{[^{}]*\}")
# A value of one of these is a hypothesis, a step size or a constant of the class, which needs a line.
NO_NAMES = frozenset((*"tTrRNnmKkiwpFLGqdC", r"\eta", r"\tau", r"\alpha", r"\mu", r"\sigma"))
# Where a row of a display ends, what it says in words there, and the number that its author gives it.
ROW_ENDS = re.compile(r"\\\\|\\end(?![a-zA-Z])|$")
REMARK = re.compile(rf"(?<![_^])(?:[,;.]?\s*\\q?quad(?![a-zA-Z]))*\s*{TEXT}.*", re.DOTALL)
NUMBER = re.compile(r"[,;.]?\s*\\q?quad\s*\(\s*(?:[A-Z]?\d+(?:\.\d+)*'*|(?:\\star|\\ast|\\dagger|\*)+)\s*\)\s*$")
WIDE = re.compile(r"\\q?quad(?![a-zA-Z])|(?:(?!\\q?quad(?![a-zA-Z])).)+", re.DOTALL)
WORDS = re.compile(TEXT + r"([^{}]*)\}")
# How words begin that are no part of the statement, and what makes another statement of it.
ASIDE = re.compile(r"(?:for|if|when|whenever|where|with|since|by|using|under|after|provided)\b")
CHANGES = re.compile(
    r"\b(?:and|or|plus|minus|times|prob\w*|almost|asymptotic\w*|large|small|enough|sufficiently|infinity)\b|a\.s|w\.p|\\to\b|\\infty"
)


# Words of a remark that limit nothing.
PLAIN = re.compile(r"\b(?:for|all|every|any|each|if|when|whenever|where|with)\b|\W")


class Apart(NamedTuple):
    """The statement of a display; what it defines behind it, as (name, definition, place); and what it says there:
    the formulas, with their places, and the words."""

    statement: str
    definitions: list[tuple[str, str, int]]
    formulas: list[tuple[str, int]]
    words: list[str]


def statement_and_remarks(display: str) -> Apart:
    """A display taken apart.

    >>> apart(r"\\Delta_t \\le B, \\quad \\text{where } B = 2 G^2").definitions
    [('B', 'B = 2 G^2', 36)]
    """
    marks = [m for m in BEHIND.finditer(display) if _level(display[: m.start()]) == 0]
    definitions = _definitions(display, [m.span() for m in marks])
    if definitions:
        return Apart(display[: marks[0].start()], definitions, [], [])
    formulas, words, start = list[tuple[str, int]](), list[str](), 0
    for end in [m.start() for m in ROW_ENDS.finditer(display)]:
        if number := NUMBER.search(display[start:end]):
            display = _without(display, start + number.start(), end)
        remark = REMARK.search(display[start:end])
        if remark and _is_aside(display[: start + remark.start()], remark[0]):
            display = _without(display, start + remark.start(), end)
            formula = WORDS.sub(lambda m: r"\quad".ljust(len(m[0])), remark[0])
            at = start + remark.start()
            formulas += [(x[0], at + x.start()) for x in WIDE.finditer(formula) if RELATION.search(x[0])]
            remark_words = " ".join(" ".join(WORDS.findall(remark[0])).split())
            words += [remark_words] if PLAIN.sub("", remark_words) else []
        start = end
    return Apart(display, [], formulas, words)


def _definitions(display: str, marks: list[tuple[int, int]]) -> list[tuple[str, str, int]]:
    """What a display defines behind each of its marks; nothing where one of them does something else."""
    if not marks or not RELATION.search(display[: marks[0][0]]):
        return []
    result = []
    for (_, start), end in zip(marks, (*(first for first, _ in marks[1:]), len(display)), strict=True):
        text = display[start:end].rstrip().rstrip(".,;").rstrip()
        defined = DEFINED.fullmatch(text)
        if not defined or defined["letter"] in NO_NAMES or RELATION.search(SCRIPT.sub("", defined["body"])):
            return []
        result.append((defined["letter"] + defined["scripts"], text, start))
    return result


def _is_aside(before: str, remark: str) -> bool:
    """Whether what ends a row says nothing that changes its statement."""
    words = " ".join(WORDS.findall(remark))
    plain = re.sub(r"\\q?quad", "", WORDS.sub(lambda m: m[1], remark)).strip(" ,;.&\n\t")
    has_relation = RELATION.search(before) and _level(before) == 0 and _level(remark) == 0
    aside = ASIDE.match(plain) or (plain[:1] == "(" and plain[-1:] == ")")
    return bool(has_relation and aside and not CHANGES.search(f"{words} {remark}"))


def _without(display: str, start: int, end: int) -> str:
    return display[:start] + re.sub(r"[^\n]", " ", display[start:end]) + display[end:]


def _level(text: str) -> int:
    """How many brackets of LaTeX a text leaves open."""
    plain = re.sub(r"\\[{}\\]", "", text)
    return (
        plain.count("{") - plain.count("}") + len(re.findall(r"\\left\b", text)) - len(re.findall(r"\\right\b", text))
    )
