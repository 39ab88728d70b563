"""Whether a formula in the text of a theorem is plainly one of its hypotheses.

A remark, a negation or a contrast ("we do not assume T >= 1") must not narrow a theorem, so a sentence counts only if
it stands before the display, names its formula after a word such as let or for all, and has no word beside a few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CUE = re.compile(r"\b(let|suppose|assume|assuming|given|if|where|with|for)\b", re.IGNORECASE)
# A sentence ends there, and what follows "then" is a conclusion.
END, THEN = re.compile(r"(?<=[.;:!?])\s|\n[ \t]*\n|\\item\b"), re.compile(r"\bthen\b", re.IGNORECASE)
# What denies may go on behind a colon, but not behind these.
STOP = re.compile(r"(?<=[.;])\s")
DENIED = re.compile(r"\b(not|n't|unlike|instead|rather|never|nor|no)\b", re.IGNORECASE)
FORMULA = re.compile(
    r"(?<!\\)\$[^$]+\$|\\\(.*?\\\)|\\begin\{math\}.*?\\end\{math\}|\\\w+(\{[\w:.,-]*\})?|~", re.DOTALL
)
WORDS = """
    a after algorithm all along also an and any arbitrary are as assume assuming assumption assumptions at average
    batch be bound bounded bounds by client clients common condition constant constants continuously convex
    convexity decreasing denote denotes descent differentiable dissimilarity distributed drawn each every exact
    expectation fedavg fixed following for from full function functions further furthermore gd generated given
    global gradient gradients has have hold holds i identical identically if in independent inequality initial
    integer integers is it iterate iterates iteration iterations its least lemma let local lojasiewicz loss losses
    mean mean-zero method minibatch minimiser minimisers minimizer minimizers minimum model models moreover most
    multiple multiples noise nonnegative number numbers objective objectives of ojasiewicz on one over parallel
    participation pl point polyak positive produced random rate rates round rounds run runs same sampled satisfied
    satisfies satisfy satisfying selected sequence server sgd size sizes smooth smoothness start started starting
    step steps stepsize stepsizes stochastic strongly subset such suppose that the their then theorem these this
    to total twice unbiased under uniformly value values variance we weight weights where which with zero
"""
NEUTRAL = frozenset(WORDS.split())


def is_hypothesis(text: str, start: int, end: int) -> bool:
    """Whether what stands from ``start`` to ``end`` of a text before a display is a hypothesis."""
    first, last = next((a, b) for a, b in sentences(text) if b >= end)
    if start < first:
        return False
    before = _words(text[first:start])
    return bool(CUE.search(THEN.split(before)[-1])) and _is_neutral(f"{before} {_words(text[end:last])}")


def hypotheses(text: str) -> str:
    """The sentences of a text before a display that are hypotheses, formulas and all."""
    several = [text[a:b] for a, b in sentences(text)]
    return " ".join(item for item in several if CUE.search(_words(item)) and _is_neutral(_words(item)))


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


def _is_neutral(text: str) -> bool:
    return all(word.lower().strip("-") in NEUTRAL for word in re.findall(r"[^\W\d_][\w'-]*", text))
