"""Whether a formula in the text of a theorem is plainly one of its hypotheses.

A remark, a negation or a contrast ("we do not assume T >= 1") must not narrow a theorem. So a formula counts only if
it stands before the display, in a clause that a word such as let or for all opens and that has no word beside a few,
of a sentence without a word of a remark, which begins so too or ends in the display. What is assumed from the text
alone is named with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

CUE = re.compile(r"\b(let|suppose|assume|assuming|given|if|where|with|for|under|when)\b", re.IGNORECASE)
# How a sentence with several clauses begins, behind a title.
OPENS = re.compile(r"\W*(let|suppose|assume|assuming|moreover|furthermore|further|also|finally)\b", re.IGNORECASE)
TITLE = re.compile(r"^\W*\[[^\]]*\]")
# What lifts a limit on steps that stands elsewhere.
LIFTED = re.compile(r"\b(any|all|arbitrary)( positive)? (step|stepsize)s?( sizes?)?\s*[.;]", re.IGNORECASE)
DEFINES = re.compile(r"\b(let|where|here|with|define|denote|set|write)\b", re.IGNORECASE)
# A sentence ends there, and what follows "then" is a conclusion.
END, THEN = re.compile(r"(?<=[.;:!?])\s|\n[ \t]*\n|\\item\b"), re.compile(r"\bthen\b", re.IGNORECASE)
# What denies may go on behind a colon, but not behind these.
STOP = re.compile(r"(?<=[.;])\s")
DENIED = re.compile(r"\b(not|n't|unlike|instead|rather|never|nor|no)\b", re.IGNORECASE)
FORMULA = re.compile(
    r"(?<!\\)\$[^$]+\$|\\\(.*?\\\)|\\begin\{math\}.*?\\end\{math\}|\\\w+(\{[\w:.,-]*\})?|~", re.DOTALL
)
NEUTRAL_WORDS = """
    a above after algorithm all along also an and any arbitrary are as assume assuming assumption assumptions at
    average batch be below bound bounded bounds by chosen client clients common condition consider constant constants
    continuously convex convexity decreasing denote denotes descent differentiable dissimilarity distributed drawn
    each equal every exact expectation fedavg fix fixed following for from full function functions further
    furthermore gd generated given global gradient gradients greater has have hold holds i identical identically if
    in independent inequality initial integer integers is it iterate iterates iteration iterations its least lemma
    less let local lojasiewicz loss losses mean mean-zero method minibatch minimiser minimisers minimizer minimizers
    minimum model models moreover most multiple multiples noise nonnegative number numbers objective objectives of
    ojasiewicz on one over parallel participation pl point polyak positive produced random rate rates round rounds
    run runs same sampled satisfied satisfies satisfy satisfying see selected sequence server sgd size sizes smooth
    smoothness start started starting step steps stepsize stepsizes stochastic strongly subset such sufficiently
    suppose take than that the their then theorem these this to total twice unbiased under uniformly value values
    variance we weight weights when where which with zero
"""
NEUTRAL = frozenset(NEUTRAL_WORDS.split())
# Denials, alternatives, conclusions, and what a remark says of other results: beside them a formula is no hypothesis.
WORDS = """
    already although anyway but cannot classical compare compared contrary contrast could despite drop earlier easily
    either else equality eventually example except exclude excluded existing exists extend extends fail failed fails
    generalise generalises generalize generalizes hence however implies imply improve improves improved instance
    interesting known literature may might necessary need needed needs no nor not note observe omit once only or
    otherwise ours particular previous previously prior rather reach recall recover recovers reduces relax relaxed
    relaxes remark remove removed require required requires restrict restricted since some sometimes special suffice
    sufficient suffices there thus typical typically unless unlike usual usually violate violated violates weaker
    whenever whereas whether while without would
"""
OTHERWISE = frozenset(WORDS.split())


def is_hypothesis(text: str, start: int, end: int) -> bool:
    """Whether what stands from ``start`` to ``end`` of a text before a display is a hypothesis."""
    first, last = next((a, b) for a, b in sentences(text) if b >= end)
    before = THEN.split(TITLE.sub("", _words(text[first:start])))[-1]
    cues = list(CUE.finditer(before))
    others = _words(f"{text[:first]} {text[last:]}")
    if start < first or not cues or LIFTED.search(others) or _is_remark(text[first:last]):
        return False
    opening, clause = before[: cues[-1].start()], before[cues[-1].end() :]
    begins = ends_in_display(text, last) or OPENS.match(opening) or _is_neutral(opening)
    return bool(begins) and _is_neutral(clause) and _is_neutral(CUE.split(_words(text[end:last]))[0])


def ends_in_display(text: str, last: int) -> bool:
    """Whether a sentence of the text before a display goes on in it."""
    return last == len(text) and not text.rstrip().endswith((".", "!", "?", ";"))


def hypotheses(text: str) -> str:
    """The sentences of a text before a display that are hypotheses, formulas and all."""
    several = [text[a:b] for a, b in sentences(text)]
    return " ".join(item for item in several if CUE.search(_words(item)) and _is_neutral(_words(item)))


def defines(text: str, formula: str) -> bool:
    """Whether every sentence of a text that has a formula defines by it."""
    with_it = [text[a:b] for a, b in sentences(text) if formula in text[a:b]]
    return bool(with_it) and all(
        DEFINES.search(item.partition(formula)[0]) and not _is_remark(item) for item in with_it
    )


def _several(text: str) -> list[str]:
    return [word.strip("-") for word in re.findall(r"[^\W\d_][\w'-]*", text.lower())]


def _is_neutral(text: str) -> bool:
    return NEUTRAL.issuperset(_several(text))


def _is_remark(sentence: str) -> bool:
    words = _several(_words(sentence))
    denied = any(word.endswith("n't") for word in words)
    return denied or not OTHERWISE.isdisjoint(words) or "at least one" in " ".join(words)


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
