"""Whether a formula in the text of a theorem is plainly one of its hypotheses.

A remark, a negation or a contrast ("we do not assume T >= 1") must not narrow a theorem. So a sentence counts only if
it stands before the display, assumes something or is the one that the display ends, names its formula after a word
such as let or for all, and has no word of a remark. What is assumed from the text alone is named with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CUE = re.compile(r"\b(let|suppose|assume|assuming|given|if|where|with|for)\b", re.IGNORECASE)
# What assumes: a verb anywhere, or the first words, behind a title.
ASSUMES = re.compile(
    r"\b(let|suppose|assume|assuming)\b|^\W*(\[[^\]]*\]\W*)?"
    r"((also|moreover|furthermore|further|here|now|finally)\W+)?(for|if|given|with|where|when|under|consider|fix|take)\b",
    re.IGNORECASE,
)
DEFINES = re.compile(r"\b(let|where|here|with|define|denote|set|write)\b", re.IGNORECASE)
# A sentence ends there, and what follows "then" is a conclusion.
END, THEN = re.compile(r"(?<=[.;:!?])\s|\n[ \t]*\n|\\item\b"), re.compile(r"\bthen\b", re.IGNORECASE)
# What denies may go on behind a colon, but not behind these.
STOP = re.compile(r"(?<=[.;])\s")
DENIED = re.compile(r"\b(not|n't|unlike|instead|rather|never|nor|no)\b", re.IGNORECASE)
FORMULA = re.compile(
    r"(?<!\\)\$[^$]+\$|\\\(.*?\\\)|\\begin\{math\}.*?\\end\{math\}|\\\w+(\{[\w:.,-]*\})?|~", re.DOTALL
)
# Denials, alternatives, conclusions, and what a remark says of other results: beside them a formula is no hypothesis.
WORDS = """
    already although anyway but cannot classical compare compared contrary contrast could despite drop earlier easily
    either else equality eventually example except exclude excluded existing exists extend extends fail failed fails
    generalise generalises generalize generalizes hence however implies imply improve improves improved instance
    interesting known literature may might necessary need needed needs no nor not note obtain obtains observe omit
    once only or otherwise ours particular previous previously prior rather reach recall recover recovers reduces
    relax relaxed relaxes remark remove removed require required requires restrict restricted since some sometimes
    special suffice sufficient suffices there thus typical typically unless unlike usual usually violate violated
    violates weaker whenever whereas whether while without would yields
"""
OTHERWISE = frozenset(WORDS.split())


def is_hypothesis(text: str, start: int, end: int) -> bool:
    """Whether what stands from ``start`` to ``end`` of a text before a display is a hypothesis."""
    first, last = next((a, b) for a, b in sentences(text) if b >= end)
    return (
        start >= first and bool(CUE.search(THEN.split(_words(text[first:start]))[-1])) and _assumes(text, first, last)
    )


def hypotheses(text: str) -> str:
    """The sentences of a text before a display that are hypotheses, formulas and all."""
    return " ".join(text[a:b] for a, b in sentences(text) if CUE.search(_words(text[a:b])) and _assumes(text, a, b))


def defines(text: str, formula: str) -> bool:
    """Whether every sentence of a text that has a formula defines by it."""
    with_it = [text[a:b] for a, b in sentences(text) if formula in text[a:b]]
    return bool(with_it) and all(
        DEFINES.search(item.partition(formula)[0]) and OTHERWISE.isdisjoint(_several(item)) for item in with_it
    )


def _several(sentence: str) -> list[str]:
    """The words of a sentence beside its formulas."""
    return re.findall(r"[^\W\d_][\w'-]*", _words(sentence).lower())


def _assumes(text: str, first: int, last: int) -> bool:
    """Whether a sentence assumes something, or runs into the display, and has no word of a remark."""
    words = _words(text[first:last])
    ends_in_display = last == len(text) and not text.rstrip().endswith((".", "!", "?"))
    several = _several(text[first:last])
    remark = not OTHERWISE.isdisjoint(several) or "at least one" in " ".join(several)
    return not remark and "n't" not in words and (ends_in_display or ASSUMES.search(words) is not None)


def sentences(text: str, end: re.Pattern[str] = END) -> Iterator[tuple[int, int]]:
    """(first, last) of each; a full stop within a formula ends none."""
    masked = FORMULA.sub(lambda m: "x" * len(m[0]) if m[0].startswith(("$", r"\(")) else m[0], text)
    first = 0
    for mark in end.finditer(masked):
        yield first, mark.start()
        first = mark.end()
    yield first, len(text)


def _words(text: str) -> str:
    return FORMULA.sub(" ", text)
