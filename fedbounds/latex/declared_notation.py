"""An author's own notation, as comment lines declare it, put into the table's."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import sympy as sp

from fedbounds.errors import Gathered, InputError
from fedbounds.latex.any_points import STARRED, any_points, bar
from fedbounds.latex.letter_meanings import WHOLE, shipped_names
from fedbounds.latex.marked_theorems import Line, Theorem, between_commas
from fedbounds.latex.to_quantities import unparsed_spellings
from fedbounds.latex.tokens import MOST_TOKENS, Token, flat, one_spelling, renamed, scanned, spelled, wrong
from fedbounds.theory.claim_validation import NEEDS_VALUE
from fedbounds.theory.quantity import Quantity

# Typography that changes no meaning.
BOLD = {rf"{font}{{w}}": "w" for font in (r"\mathbf", r"\bm", r"\vec")}
BOLD |= {rf"\bar{{{font}{{w}}}}": r"\bar{w}" for font in (r"\mathbf", r"\bm")}
# Names that mean something besides what is declared of them with an index, as F_* beside F(w).
OTHERWISE = {"F", "w", r"\sigma", r"\eta"}
OPERATORS = {"+", "-", "*", "/", "<", ">", "<=", ">=", r"\frac"}
# What the error of a line that declares nothing says.
DECLARES = "declares"
# Letters that count steps where w has them as its index, unless clients' functions have.
COUNTERS = {"k", "n"}
OF_CLIENTS = {"p", "F", r"\sigma", r"\sum"}
# A letter in bold.
UPRIGHT = re.compile(r"^\\(?:mathbf|bm|vec)\{(.*)\}$")
# Indices of points that a run visits: a letter with one may be w.
POINTS = {"t", "t+1", "T", "0", "k", "k+1", "n", r"\star"}
# The weight of a client by its number of samples, which no other line may stand for.
SHARE = re.compile(r"(\\frac\{n_\{(\w)\}\}\{n\}|n_\{(\w)\}/n)=p_\{(\2|\3)\}")


@dataclass(frozen=True)
class Words:
    """An author's notation: names put into the table's, and abbreviations (name, scripts) -> tokens.

    ``indices`` are those of the points in the display, ``usual`` letters that no line declares, with their meaning.
    """

    names: Mapping[str, Sequence[Token]]
    short: Mapping[str, tuple[tuple[Token, ...], tuple[Token, ...]]]
    phrases: Mapping[tuple[str, ...], Sequence[Token]]
    numbers: Mapping[tuple[str, str], sp.Symbol]
    indices: frozenset[str] = frozenset()
    usual: Mapping[str, str] = field(default_factory=dict)

    def of(self, tokens: Iterable[Token]) -> list[Token]:
        """The tokens in the table's notation."""
        written = _phrased(list(tokens), self.phrases)
        return self._short(_phrased(renamed(written, self.names), _shipped_phrases()), 0)

    def _short(self, tokens: Sequence[Token], depth: int, inside: frozenset[str] = frozenset()) -> list[Token]:
        result: list[Token] = []
        place = 0
        while place < len(tokens):
            token, place = tokens[place], place + 1
            if len(result) > MOST_TOKENS or depth > 8:
                raise wrong(
                    token, "an abbreviation may not stand for itself", "define it by the symbols of the table"
                )
            indexed = next((k for k, item in enumerate(tokens[place : place + 2]) if item.text not in "^_"), 2)
            keys = (key_of(token.text, tokens[place : place + several]) for several in range(indexed, -1, -1))
            key = next((key for key in keys if key in self.short), token.text)
            if key not in self.short or key in inside:
                within = tuple(self._short(token.inside, depth + 1, inside)) if token.inside else ()
                result.append(replace(token, inside=within))
                continue
            scripts, body = self.short[key]
            used = tuple(tokens[place : place + min(len(scripts), indexed)])
            other = [item.text for item in used] != [script.text for script in scripts] or spelled(used) in STARRED
            if key in OTHERWISE and (other or r"\tau" in spelled(used)):
                result.append(token)
                continue
            place += len(scripts)
            itself = inside | {key} if any(item.text == token.text for item in body) else inside
            inner = self._short(_shifted(token, scripts, used, body), depth + 1, itself)
            result += [replace(token, text="{"), *inner, replace(token, text="}")]
        return result


def key_of(name: str, scripts: Sequence[Token]) -> str:
    """What an abbreviation is known by: its name alone where its first index counts steps or rounds."""
    moves = spelled(scripts[:1]).strip("^_{}") in ("", "t", "r")
    return name if moves or any(script.text not in ("^", "_") for script in scripts) else name + spelled(scripts)


def _shifted(token: Token, scripts: Sequence[Token], used: Sequence[Token], body: Sequence[Token]) -> list[Token]:
    """The body of an abbreviation where its index t is used as t + 1 or T."""
    mine, theirs = (spelled(part) for part in (scripts, used))
    at_here = [replace(item, line=token.line, column=token.column) for item in body]
    if mine == theirs:
        return at_here
    moved = [pair for pair in zip(scripts, used, strict=False) if str(pair[0]) != str(pair[1])]
    if len(scripts) == len(used) and len(moved) == 1 and (letter := spelled(moved[0][0].inside)) in ("t", "r"):
        other = moved[0][1].inside
        bracket = [replace(token, text=mark) for mark in "()"] if letter == "r" and len(other) > 1 else []
        return renamed(at_here, {letter: [*bracket[:1], *other, *bracket[1:]]})
    raise wrong(token, f"{token.text} was declared as {token.text}{mine}, not {token.text}{theirs}", "declare it so")


def _shipped_phrases() -> Mapping[tuple[str, ...], Sequence[Token]]:
    """Those quantities as one token that no rule of the grammar reads."""
    return {phrase: (Token(f"quantity {quantity.name}", 1, 1),) for phrase, quantity in unparsed_spellings().items()}


def _phrased(tokens: Sequence[Token], phrases: Mapping[tuple[str, ...], Sequence[Token]]) -> list[Token]:
    """The tokens with others in place of whole phrases."""
    texts: list[str] = list(map(str, tokens))
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        for phrase, body in phrases.items():
            if tuple(texts[place : place + len(phrase)]) == phrase:
                here = tokens[place]
                marks = [Token(mark, 1, 1) for mark in "{}"] if len(body) > 1 else []
                whole = [*marks[:1], *body, *marks[1:]]
                result += [replace(item, line=here.line, column=here.column) for item in whole]
                place += len(phrase)
                break
        else:
            result.append(tokens[place])
            place += 1
    return result


def parts_of(line: Line, theorem: Theorem) -> list[list[Token]]:
    """The parts of a comment line between commas that no bracket holds."""
    texts = between_commas(line.text)
    parts = (scanned(text, line.line, line.column + column) for text, column in texts)
    return [theorem.spelled(part) for part in parts]


def equation(part: list[Token], line: Line) -> tuple[list[Token], list[Token]]:
    signs = [k for k, token in enumerate(part) if token.text == "="]
    if not signs or not 0 < signs[0] < len(part) - 1:
        raise wrong(line.place, f"{line.verb} {DECLARES} NAME = ...", "write one = with something on both sides")
    return part[: signs[0]], part[signs[0] + 1 :]


def numbers_of(theorem: Theorem) -> dict[tuple[str, str], sp.Symbol]:
    """The author's own positive numbers, as in let b > 0, which must cancel."""
    parts = [part for line in theorem.of("let") for part in parts_of(line, theorem) if is_number(part)]
    keys = [
        (name.text, "".join(spelled(script.inside) for script in scripts))
        for name, *scripts in (p[:-2] for p in parts)
    ]
    return {key: sp.Symbol("_".join(key).strip("_"), positive=True) for key in keys}


def is_number(part: Sequence[Token]) -> bool:
    return [item.text for item in part[-2:]] == [">", "0"] and len(part) in (3, 4)


def words_of(theorem: Theorem, faults: Gathered) -> Words:
    """The notation that the lines let and where declare; the errors of each part are kept."""
    names: dict[str, Sequence[Token]] = {bold: one_spelling([Token(w, 1, 1)]) for bold, w in BOLD.items()}
    words = _Declared(names, {}, {})
    for line in (*theorem.of("let"), *theorem.of("where")):
        with faults.caught():
            for part in parts_of(line, theorem):
                with faults.caught():
                    words.declare(part, line)
    usual = _usual(theorem, {**names, **words.short})
    words.short.update(bar(theorem))
    points = any_points(theorem, {**names, **words.short, **usual}, {name for name, _ in numbers_of(theorem)})
    words.whole.update(points)
    names |= {letter: [Token(meant, 1, 1)] for letter, meant in usual.items()}
    # A bar over an author's letter for w is one over w, in bold too.
    average = names.get(r"\bar{w}", one_spelling(scanned(r"\bar{w}", 1)))
    for text in [text for text, body in names.items() if spelled(body) == "w" and text not in usual]:
        names.setdefault(rf"\bar{{{text}}}", average)
    names |= {text: average for text, body in names.items() if spelled(body) == r"\bar{w}"}
    display = [token.text for token in theorem.display if token.text != r"\left"]
    if "E" not in {*names, *words.short} and any(pair == ("E", "[") for pair in pairwise(display)):
        names["E"] = [Token(r"\mathbb{E}", 1, 1)]
    indexed = list(_indexed(theorem, names))
    indices = {index for name, index in indexed if name in ("w", r"\bar{w}")}
    for letter in COUNTERS - names.keys() if "t" not in indices else ():
        if letter in indices and not any(index == letter and name in OF_CLIENTS for name, index in indexed):
            names[letter] = [Token("t", 1, 1)]
    spoken = {str(token) for line in theorem.inline for token in one_spelling(line.tokens())}
    usual |= {"".join(name): "any point" for name in points if name[0] not in spoken}
    moved = {}
    for text, (before, after) in words.short.items():
        name = text.removesuffix(spelled(before)) if key_of("", before) else text
        (key,) = names.get(name, [Token(name, 1, 1)])
        body = renamed(_phrased(after, words.whole), names)
        scripts = tuple(renamed(before, names))
        moved[key_of(key.text, scripts)] = scripts, tuple(_phrased(body, _shipped_phrases()))
    return Words(names, moved, words.whole, numbers_of(theorem), frozenset(indices), usual)


def _usual(theorem: Theorem, declared: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """The function and the point of a display that has no F or no w, where one undeclared letter stands for each."""
    result = {}
    with contextlib.suppress(InputError):
        tokens = [token.text for token in flat(theorem.spelled(theorem.display))]
        named = {UPRIGHT.sub(r"\1", re.sub(r"\\bar\{(.*)\}$", r"\1", token)) for token in tokens}
        for name in declared.keys() - BOLD.keys():
            named |= {token.text for token in declared[name] if isinstance(token, Token)}
        indexed = set(_indexed(theorem, {}))
        valued = {first for first, second in pairwise(tokens) if second == "("}
        points = {letter for letter, index in indexed if index in POINTS}
        stars = {letter for letter, index in indexed if index == r"\star"}
        for meant, written_symbols in (("F", valued | stars), ("w", points)):
            alike = {token for token in tokens if WHOLE.get(UPRIGHT.sub(r"\1", token)) == meant}
            if meant not in named and len(alike) == 1 and alike <= written_symbols - declared.keys():
                result[alike.pop()] = meant
    return result


def _indexed(theorem: Theorem, names: Mapping[str, Sequence[Token]]) -> Iterator[tuple[str, str]]:
    """The letters of a display, as the table has them, each with each of its indices."""
    with contextlib.suppress(InputError):
        letter = ""
        for token in theorem.spelled(theorem.display):
            if token.text in "^_":
                yield from ((letter, index) for index in spelled(token.inside).split(","))
            else:
                letter = names.get(token.text, [token])[0].text


@dataclass(frozen=True)
class _Declared:
    """What has been declared so far: names, abbreviations and phrases."""

    names: dict[str, Sequence[Token]]
    short: dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]]
    whole: dict[tuple[str, ...], Sequence[Token]]

    def declare(self, part: list[Token], line: Line) -> None:
        if is_number(part):
            return
        (name, *scripts), body = equation(part, line)
        if SHARE.fullmatch(spelled(part)):
            self.whole[tuple(map(str, [name, *scripts]))] = tuple(body)
            return
        if any(script.text not in ("^", "_") for script in scripts):
            self.whole[_phrase([name, *scripts], line)] = tuple(body)
            return
        if not name.text[-1:].strip("0123456789()[]"):
            raise wrong(name, f"{line.verb} {DECLARES} one name", "write NAME = ...")
        if spelled(body) == spelled([name, *scripts]) or (line.verb == "where" and constant_of(name, scripts)):
            return
        if line.verb == "let" and not scripts and len(body) == 1:
            self.names[name.text] = body
            return
        declared = self.short.setdefault(key_of(name.text, scripts), (tuple(scripts), tuple(body)))
        if spelled(declared[1]) != spelled(body):
            raise wrong(name, "a name must be declared once", "rename one")


def _phrase(tokens: Sequence[Token], line: Line) -> tuple[str, ...]:
    """The texts of a declared phrase, which begins with a name and has no operator outside brackets."""
    depth = 0
    for token in tokens:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.text, 0)
        if token.text in OPERATORS and depth <= 0:
            raise wrong(token, f"{line.verb} {DECLARES} one name or one function", "write NAME = ...")
    if not re.match(r"\\?[A-Za-z]|\|", tokens[0].text):
        raise wrong(tokens[0], f"{line.verb} {DECLARES} one name or one function", "write NAME = ...")
    return tuple(map(str, tokens))


def constant_of(name: Token, scripts: Sequence[Token]) -> Quantity | None:
    """The constant of the table that a statement may define, if it is one."""
    below = "".join(spelled(script.inside) for script in scripts)
    result = shipped_names().get((name.text, below))
    return result if isinstance(result, Quantity) and result.name in NEEDS_VALUE else None
