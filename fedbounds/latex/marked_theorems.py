"""The marked theorems of a LaTeX or Markdown file: their displays, and the comment lines that declare the rest."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fedbounds import io
from fedbounds.errors import Gathered, InputError, reject
from fedbounds.latex.grammar import ORDERS, PROBABILITY, joined_rows, neighbouring_sides, statements
from fedbounds.latex.surrounding_text import RELATION, hypotheses, is_hypothesis, statement_and_remarks
from fedbounds.latex.tokens import COMMENT, Macro, Token, expanded, macros, one_spelling, scanned, spelled, wrong

# A file of formulas is small; what is much larger is something else.
LARGEST = 4_000_000
MARK = re.compile(r"^[ \t]*%[ \t]*fedbounds:[ \t]*([a-z]+)[ \t]*(.*)$", re.MULTILINE)
BLOCK = r"\\begin\{(theorem|lemma|corollary|proposition|thm|lem|cor|prop)(\*?)\}(.*?)\\end\{\1\2\}"
# In Markdown, or outside of an environment: comment lines, and the display that follows.
LOOSE = re.compile(r"(?:^[ \t]*%[ \t]*fedbounds:[^\n]*\n\s*)+(?:\$\$.*?\$\$|\\\[.*?\\\])", re.DOTALL | re.MULTILINE)
HTML = re.compile(r"<!--( *fedbounds:.*?)-->")
DISPLAY = re.compile(
    r"\$\$(?P<a>.*?)\$\$|\\\[(?P<b>.*?)\\\]"
    r"|\\begin\{(?P<n>equation|align|gather|multline|eqnarray|displaymath)(?P<s>\*?)\}(?P<c>.*?)\\end\{(?P=n)(?P=s)\}",
    re.DOTALL,
)
INLINE = re.compile(
    r"(?<!\\)\$(?P<a>[^$]+?)(?<!\\)\$|\\\((?P<b>.*?)\\\)|\\begin\{math\}(?P<c>.*?)\\end\{math\}", re.DOTALL
)
CHANCE = re.compile(
    r"\bwith\s+(?:an?\s+)?(?:high\s+probability|probability\s+(?:of\s+)?(?:at\s+least|exceeding|\$1))|\bw\.h\.p",
    re.IGNORECASE,
)
LABEL = re.compile(r"\\label\{([^{}]{1,80})\}")
VERBS = (
    *("assume", "start", "step", "where", "let", "scope", "in", "units", "reading", "terms", "title", "source"),
    "algorithm",
)


@dataclass(frozen=True)
class Line:
    """A comment line: ``verb``, the text behind it, and its place."""

    verb: str
    text: str
    line: int
    column: int

    def tokens(self) -> list[Token]:
        return scanned(self.text, self.line, self.column)

    @property
    def place(self) -> Token:
        return Token(self.text.strip() or self.verb, self.line, self.column)


@dataclass(frozen=True)
class Theorem:
    """A marked theorem: its label, comment lines, display, the file's own commands, and the formulas in its text.

    ``words`` is its text without displays, ``before`` what stands between it and the theorem before, ``supposed``
    those of its sentences that are plainly hypotheses, ``remarks`` what its display says in words;
    ``statement`` is the number of one of several that its display has,
    ``part`` that of a relation of a chain.
    ``faults`` are the errors at which it could not be taken apart; then there may be no display.
    """

    label: str
    lines: tuple[Line, ...]
    display: tuple[Token, ...]
    macros: dict[str, Macro]
    line: int
    inline: tuple[Line, ...] = ()
    faults: tuple[InputError, ...] = ()
    words: str = ""
    supposed: str = ""
    remarks: tuple[str, ...] = ()
    statement: int | None = None
    part: int | None = None
    before: str = ""

    def spelled(self, tokens: Iterable[Token]) -> list[Token]:
        """Tokens in one spelling, with the file's own commands put in."""
        return joined_rows(one_spelling(expanded(tokens, self.macros)))

    def of(self, verb: str) -> list[Line]:
        return [line for line in self.lines if line.verb == verb]

    def stated(self) -> list[Token]:
        """The tokens of its display, or of that part of it which this one is about."""
        tokens = self.spelled(self.display)
        tokens = tokens if self.statement is None else statements(tokens)[self.statement]
        if self.part is None:
            return tokens
        left, sign, right = neighbouring_sides(tokens)[self.part]
        return [*left, sign, *right]


def text_of(path: str | Path) -> str:
    """The text of a theorem file."""
    try:
        return io.read_bytes(path, what="a theorem file").decode()
    except UnicodeDecodeError:
        raise reject(f"the theorem file {path} must be text", "other bytes", "save it as UTF-8") from None


def _plain(text: str) -> str:
    """A text with the comments of Markdown as those of LaTeX, each letter at its place."""
    if len(text) > LARGEST:
        raise reject(f"a theorem file must have at most {LARGEST} characters", len(text), "keep its theorems alone")
    return HTML.sub(lambda m: "%" + m[1] + " " * (len(m[0]) - len(m[1]) - 1), text.replace("\r\n", "\n"))


def theorems(path: str | Path) -> list[Theorem]:
    """The marked theorems of a file, in order; an InputError where there is none."""
    return theorems_in(text_of(path), str(path))


def theorems_in(text: str, name: str = "the file") -> list[Theorem]:
    """The marked theorems of a text."""
    text = _plain(text)
    marked, others = _spans(text)
    if not marked:
        remedy = "add % fedbounds: assume ... to a theorem; fedbounds claims theorem-1 --format latex shows one"
        raise reject(f"{name} needs a marked theorem", "none", remedy)
    commands = macros(text)
    result = [_theorem(text, span, number + 1, commands) for number, span in enumerate(marked)]
    ends = [(max((end for _, end in (*marked, *others) if end <= span[0]), default=0), span[0]) for span in marked]
    result = [replace(one, before=COMMENT.sub("", text[slice(*end)])) for one, end in zip(result, ends, strict=True)]
    labels = [theorem.label for theorem in result]
    for place, theorem in enumerate(result):
        if theorem.label in labels[:place]:
            start = Token(theorem.label, theorem.line, 1)
            fault = wrong(start, "every theorem needs a label of its own", "rename one")
            result[place] = replace(theorem, faults=(*theorem.faults, fault))
    return result


def unmarked_in(text: str) -> list[Theorem]:
    """The theorems of a text without comment lines, as far as they have one display with a relation."""
    text = _plain(text)
    commands = macros(text)
    every = [_theorem(text, span, number + 1, commands) for number, span in enumerate(_spans(text)[1])]
    return [theorem for theorem in every if not theorem.faults]


def of_each_relation(theorem: Theorem) -> list[Theorem]:
    """The theorem; of several statements, or a chain a <= b <= c, one for each relation, numbered from 1; a last
    = O(...) is none."""
    with contextlib.suppress(InputError):
        several = [] if theorem.statement is not None else statements(theorem.spelled(theorem.display))
        if len(several) > 1 and all(map(neighbouring_sides, several)):
            each = [replace(theorem, label=f"{theorem.label}-{k + 1}", statement=k) for k in range(len(several))]
            return [part for item in each for part in of_each_relation(item)]
        related = neighbouring_sides(theorem.stated())
        if (
            len(related) > 1
            and related[-1][1].text == "="
            and related[-1][2][:1]
            and related[-1][2][0].text in ORDERS
        ):
            _, sign, order = related.pop()
            remark = Line("mention", f"= {spelled(order)}", sign.line, sign.column)
            theorem = replace(theorem, inline=(*theorem.inline, remark), part=0)
        signs = [sign.text for _, sign, _ in related]
        if len(signs) > 1 and any(set(signs) <= {way, "="} for way in ("<=", ">=")):
            return [replace(theorem, label=f"{theorem.label}-{k + 1}", part=k) for k in range(len(signs))]
    return [theorem]


def _spans(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The places of the theorems with comment lines, and of those without."""
    blocks = [(m.start(3), m.end(3)) for m in re.finditer(BLOCK, text, re.DOTALL)]
    loose = [m.span() for m in LOOSE.finditer(text) if not any(a <= m.start() < b for a, b in blocks)]
    marked = [span for span in sorted((*blocks, *loose)) if MARK.search(text, *span)]
    return marked, [span for span in blocks if span not in marked]


def _theorem(text: str, span: tuple[int, int], number: int, commands: dict[str, Macro]) -> Theorem:
    first = text.count("\n", 0, span[0]) + 1
    faults = Gathered()
    lines = tuple(_lines(text, span, faults))
    plain = COMMENT.sub(lambda m: " " * len(m[0]), text)
    labels = LABEL.findall(DISPLAY.sub("", plain[slice(*span)])) or LABEL.findall(plain[slice(*span)])
    label = re.sub(r"[^\w:.-]+", "-", labels[0]) if labels else f"theorem-{number}"
    displays = [m for m in DISPLAY.finditer(plain, *span) if RELATION.search(m[0])]
    place = Token(label, first, 1)
    inline = tuple(_inline(plain, span))
    text_alone = " ".join(DISPLAY.sub(" ", plain[slice(*span)]).split())
    before = hypotheses(plain[span[0] : displays[0].start()] if displays else "")
    if chance := CHANCE.search(plain, *span):
        faults.append(wrong(Token(chance[0], *_place(plain, chance.start())), PROBABILITY, "state it in expectation"))
    if len(displays) != 1:
        count = "one display" if displays else "a display"
        remedy = "mark a theorem for each" if displays else "put the inequality into \\[ \\]"
        faults.append(wrong(place, f"a marked theorem must have {count} with a relation", remedy))
        return Theorem(label, lines, (), commands, first, inline, tuple(faults), text_alone, before)
    group = next(name for name in "abc" if displays[0][name] is not None)
    statement, definitions, formulas, remarks = statement_and_remarks(displays[0][group])
    start = displays[0].start(group)
    tokens = scanned(statement, *_place(plain, start))
    inline = (*inline, *(Line("mention", text.strip(" ,;."), *_place(plain, start + at)) for text, at in formulas))
    stated = {re.sub(r"[\s{}]", "", line.text.partition("=")[0]) for line in lines if line.verb in ("let", "where")}
    for name, definition, offset in definitions:
        at = _place(plain, start + offset)
        if re.sub(r"[\s{}]", "", name) in stated:
            inline = (*inline, Line("mention", definition, *at))
        else:
            lines = (*lines, Line("where", definition, *at))
    remark_texts = tuple(remarks)
    return Theorem(
        label, lines, tuple(tokens), commands, first, inline, tuple(faults), text_alone, before, remark_texts
    )


def _place(text: str, at: int) -> tuple[int, int]:
    """(line, column) of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _inline(plain: str, span: tuple[int, int]) -> Iterator[Line]:
    """The formulas in the text of a theorem, its displays blanked: hypotheses are assumed, others mentioned."""
    text = DISPLAY.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), plain[: span[1]])
    display = next((m.start() for m in DISPLAY.finditer(plain, *span) if RELATION.search(m[0])), span[0])
    for result in INLINE.finditer(text, span[0]):
        group = next(name for name in "abc" if result[name] is not None)
        start = result.start(group)
        stated = result.end() <= display and is_hypothesis(
            text[span[0] : display], *(at - span[0] for at in result.span())
        )
        yield Line("assume" if stated else "mention", result[group], *_place(text, start))


def _lines(text: str, span: tuple[int, int], faults: Gathered) -> Iterator[Line]:
    """The comment lines; one that says nothing known is among the faults."""
    for result in MARK.finditer(text, *span):
        line = Line(result[1], result[2].strip(), *_place(text, result.start(2)))
        if line.verb not in VERBS:
            verb = Token(line.verb, *_place(text, result.start(1)))
            faults.append(wrong(verb, f"a comment line says one of {', '.join(VERBS)}", "use one of them"))
        else:
            yield line


def between_commas(text: str) -> list[tuple[str, int]]:
    """The parts of a text between commas that no bracket holds, each with its place; weights go on after a comma."""
    parts, depth, start = [], 0, 0
    for place, mark in enumerate(f"{text},"):
        depth += (mark in "([{") - (mark in ")]}")
        weights = re.match(r"\s*weighting-", text[start:]) and re.match(r",[\d.]+(,|\s|$)", text[place:])
        if mark == "," and depth <= 0 and not weights:
            part = text[start:place]
            parts += [(part.strip(), start + len(part) - len(part.lstrip()))] if part.strip() else []
            start = place + 1
    return parts
