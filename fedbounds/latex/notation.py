"""An author's own notation, as comment lines declare it, put into the table's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fedbounds.latex.letters import shipped_names
from fedbounds.latex.meanings import phrases
from fedbounds.latex.source import Line, Theorem
from fedbounds.latex.tokens import MOST_TOKENS, Token, expanded, normal, renamed, spelled, wrong
from fedbounds.theory.quantity import Quantity

# Typography that changes no meaning.
BOLD = {rf"{font}{{w}}": "w" for font in (r"\mathbf", r"\bm", r"\vec")}
BOLD |= {rf"\bar{{{font}{{w}}}}": r"\bar{w}" for font in (r"\mathbf", r"\bm")}
# Names that mean something besides what is declared of them with an index, as F_* beside F(w).
OTHERWISE = {"F", "w", r"\sigma", r"\eta"}
STARRED = {r"^{\star}", r"_{\star}"}
# Constants that have no value until a statement gives one, and those that an assumption must bring.
NEEDS_VALUE = {"gamma", "turn", "reach", "push", "skew", "kept"}


@dataclass(frozen=True)
class Words:
    """An author's notation: names put into the table's, and abbreviations (name, scripts) -> tokens."""

    names: Mapping[str, Sequence[Token]]
    short: Mapping[str, tuple[tuple[Token, ...], tuple[Token, ...]]]

    def of(self, tokens: Iterable[Token]) -> list[Token]:
        """The tokens in the table's notation."""
        return self._short(_phrased(renamed(list(tokens), self.names)), 0)

    def _short(self, tokens: Sequence[Token], depth: int) -> list[Token]:
        result: list[Token] = []
        place = 0
        while place < len(tokens):
            token, place = tokens[place], place + 1
            if len(result) > MOST_TOKENS or depth > 8:
                raise wrong(
                    token, "an abbreviation may not stand for itself", "define it by the symbols of the table"
                )
            if token.text not in self.short:
                result.append(
                    replace(token, inside=tuple(self._short(token.inside, depth + 1)) if token.inside else ())
                )
                continue
            scripts, body = self.short[token.text]
            used = tuple(tokens[place : place + len(scripts)])
            other = [one.text for one in used] != [one.text for one in scripts] or spelled(used) in STARRED
            if token.text in OTHERWISE and (other or r"\tau" in spelled(used)):
                result.append(token)
                continue
            place += len(scripts)
            inner = self._short(_shifted(token, scripts, used, body), depth + 1)
            result += [replace(token, text="{"), *inner, replace(token, text="}")]
        return result


def _shifted(token: Token, scripts: Sequence[Token], used: Sequence[Token], body: Sequence[Token]) -> list[Token]:
    """The body of an abbreviation where its index t is used as t + 1 or T."""
    mine, theirs = (spelled(part) for part in (scripts, used))
    at_here = [replace(one, line=token.line, column=token.column) for one in body]
    if mine == theirs:
        return at_here
    other = [one.inside for one in used]
    if len(scripts) == len(used) == 1 and (letter := spelled(scripts[0].inside)) in ("t", "r"):
        bracket = [replace(token, text=mark) for mark in "()"] if letter == "r" and len(other[0]) > 1 else []
        return renamed(at_here, {letter: [*bracket[:1], *other[0], *bracket[1:]]})
    raise wrong(token, f"{token.text} was declared as {token.text}{mine}, not {token.text}{theirs}", "declare it so")


def _phrased(tokens: list[Token]) -> list[Token]:
    """The tokens with those quantities as one that no rule of the grammar reads."""
    texts, result, place = list(map(str, tokens)), [], 0
    while place < len(tokens):
        for phrase, quantity in phrases().items():
            if tuple(texts[place : place + len(phrase)]) == phrase:
                result.append(replace(tokens[place], text=f"quantity {quantity.name}", inside=()))
                place += len(phrase)
                break
        else:
            result.append(tokens[place])
            place += 1
    return result


def parts_of(line: Line, theorem: Theorem) -> list[list[Token]]:
    """The parts of a comment line between commas that no bracket holds."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in normal(expanded(line.tokens(), theorem.macros)):
        depth += {"(": 1, "[": 1, "{": 1, r"\{": 1, ")": -1, "]": -1, "}": -1, r"\}": -1}.get(token.text, 0)
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def equation(part: list[Token], line: Line) -> tuple[list[Token], list[Token]]:
    places = [k for k, token in enumerate(part) if token.text == "="]
    if not places or not 0 < places[0] < len(part) - 1:
        raise wrong(line.place, f"{line.verb} declares NAME = ...", "write one = with something on both sides")
    return part[: places[0]], part[places[0] + 1 :]


def words_of(theorem: Theorem) -> Words:
    names: dict[str, Sequence[Token]] = {bold: normal([Token(w, 1, 1)]) for bold, w in BOLD.items()}
    short: dict[str, tuple[tuple[Token, ...], tuple[Token, ...]]] = {}
    for line in (*theorem.of("let"), *theorem.of("where")):
        for part in parts_of(line, theorem):
            (name, *scripts), body = equation(part, line)
            if any(one.text not in "^_" for one in scripts) or not name.text[-1:].strip("0123456789()[]"):
                raise wrong(name, f"{line.verb} declares one name", "write NAME = ...")
            if spelled(body) == spelled([name, *scripts]) or (line.verb == "where" and constant_of(name, scripts)):
                continue
            if line.verb == "let" and not scripts and len(body) == 1:
                names[name.text] = body
            elif spelled(short.setdefault(name.text, (tuple(scripts), tuple(body)))[1]) != spelled(body):
                raise wrong(name, "a name must be declared once", "rename one")
    moved = {}
    for text, (before, after) in short.items():
        (key,) = names.get(text, [Token(text, 1, 1)])
        moved[key.text] = tuple(renamed(before, names)), tuple(_phrased(renamed(after, names)))
    return Words(names, moved)


def constant_of(name: Token, scripts: Sequence[Token]) -> Quantity | None:
    """The constant of the table that a statement may define, if it is one."""
    below = "".join(spelled(one.inside) for one in scripts)
    found = shipped_names().get((name.text, below))
    return found if isinstance(found, Quantity) and found.name in NEEDS_VALUE else None
