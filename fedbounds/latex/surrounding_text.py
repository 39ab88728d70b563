"""The text around a statement: which formulas before it are hypotheses, and what its display says behind it.

A remark, a negation or a contrast ("we do not assume T >= 1") must not narrow a theorem. So a formula counts only if
it stands before the display, in a clause that a word such as let or for all opens and that has no word beside a few,
of a sentence without a word of a remark, which begins so too or ends in the display. What is assumed from the text
alone is named with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
OTHERWISE_WORDS = """
    already although anyway but cannot classical compare compared contrary contrast could despite drop earlier easily
    either else equality eventually example except exclude excluded existing exists extend extends fail failed fails
    generalise generalises generalize generalizes hence however implies imply improve improves improved instance
    interesting known literature may might necessary need needed needs no nor not note observe omit once only or
    otherwise ours particular previous previously prior rather reach recall recover recovers reduces relax relaxed
    relaxes remark remove removed require required requires restrict restricted since some sometimes special suffice
    sufficient suffices there thus typical typically unless unlike usual usually violate violated violates weaker
    whenever whereas whether while without would
"""
OTHERWISE = frozenset(OTHERWISE_WORDS.split())


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

    >>> statement_and_remarks(r"\\Delta_t \\le B, \\quad \\text{where } B = 2 G^2").definitions
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
