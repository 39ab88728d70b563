"""The tokens of a formula, each with its place: macros put in, spacing dropped, spellings made one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fedbounds.errors import InputError, reject

# Larger formulas, or macros that grow beyond it, are refused.
MOST_TOKENS = 4000
DEEPEST = 40
TOKEN = re.compile(r"(?<![A-Za-z\\])(?:exp|log)(?=\s*[(\[{])|\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\S")
COMMENT = re.compile(r"(?<!\\)%[^\n]*")
SPACING = {r"\,", r"\;", r"\:", r"\!", "~", r"\notag", r"\nonumber", r"\thinspace"}
SPACING |= {r"\displaystyle", r"\textstyle", r"\limits", r"\nolimits", r"\mathstrut"}
SIZES = {rf"\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r", "m")}
DROPPED = SPACING | SIZES | {"\\ ", r"\middle"}
# Commands whose argument is no part of the formula.
ASIDE = {r"\label", r"\tag", r"\vspace", r"\hspace", r"\begin", r"\end"}
# Environments inside a display that only lay it out.
LAYOUT = re.compile(r"(aligned|alignedat|align|gathered|gather|split|array|multlined)\*?$")
SAME = {
    r"\le": "<=", r"\leq": "<=", r"\leqslant": "<=", r"\lt": "<", r"\ge": ">=", r"\geq": ">=",
    r"\geqslant": ">=", r"\gt": ">", r"\cdot": "*", r"\times": "*", r"\tfrac": r"\frac", r"\dfrac": r"\frac",
    r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]", r"\vert": "|", r"\mid": "|",
    r"\lvert": "|", r"\rvert": "|", r"\ast": r"\star", r"\*": r"\star", r"\colon": ":", r"\ln": r"\log",
    r"\coloneqq": "=", r"\triangleq": "=",
    "exp": r"\exp", "log": r"\log", r"\ldots": r"\dots", r"\cdots": r"\dots", r"\dotsc": r"\dots",
}  # fmt: skip
DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator|def)\*?\s*\{?(\\[A-Za-z]+)\}?\s*(?:\[(\d)\])?\s*(?=\{)"
)
FONTS = {r"\mathbf": r"\mathbf", r"\bm": r"\bm", r"\boldsymbol": r"\bm", r"\vec": r"\vec"}
PLAIN = {r"\mathrm", r"\mathit", r"\text", r"\textnormal", r"\mathsf", r"\operatorname", r"\textrm", r"\rm"}
ACCENTS = {r"\bar": r"\bar", r"\overline": r"\bar", r"\tilde": r"\tilde", r"\widetilde": r"\tilde"}
ACCENTS |= {r"\Bar": r"\bar", r"\Tilde": r"\tilde", r"\Hat": r"\hat"}
ACCENTS |= {r"\hat": r"\hat", r"\widehat": r"\hat", r"\mathcal": r"\mathcal", r"\mathscr": r"\mathcal"}
DRESSES = FONTS | ACCENTS | dict.fromkeys(PLAIN, r"\mathrm") | {r"\mathbb": r"\mathbb", r"\mathds": r"\mathbb"}
# Commands around what they mark.
AROUND = {r"\boxed", r"\underbrace", r"\overbrace"}
NORMS = {r"\Vert", r"\|", r"\lVert", r"\rVert"}
OPENING = {"(", "[", r"\{", "{", "<norm", r"\langle"}
CLOSING = {")", "]", r"\}", "}", "norm>", r"\rangle"}


@dataclass(frozen=True)
class Token:
    """A piece of a formula; a script carries the tokens inside it."""

    text: str
    line: int
    column: int
    inside: tuple[Token, ...] = ()

    def __str__(self) -> str:
        return self.text + ("{" + spelled(self.inside) + "}" if self.text in ("^", "_") else "")


@dataclass(frozen=True)
class Macro:
    arguments: int
    body: tuple[Token, ...]


def spelled(tokens: Iterable[Token]) -> str:
    """The tokens as text.

    >>> spelled(scanned(r"\\mu  (t+1)", 1))
    '\\\\mu(t+1)'
    """
    text = ""
    for token in map(str, tokens):
        text += f" {token}" if re.search(r"\\[A-Za-z]+$", text) and token[:1].isalpha() else token
    return text


def without_blanks(tokens: Sequence[Token]) -> str:
    """The tokens without blanks and groups, subscripts before superscripts: the form of the patterns."""
    result, open_, closed = list[Token](), list[bool](), False
    for k, token in enumerate(tokens):
        if token.text == "{":
            before = tokens[k - 1].text if k else ""
            open_.append(before in (r"\frac", r"\sqrt") or (before == "}" and closed))
        keep = token.text not in "{}" or not open_ or open_[-1]
        closed = token.text == "}" and keep
        open_ = open_[:-1] if token.text == "}" else open_
        result += [token] * keep
    for k in range(1, len(result)):
        if result[k].text == "_" and result[k - 1].text == "^":
            result[k - 1 : k + 1] = result[k], result[k - 1]
    return "".join(map(str, result)).replace(r"\nablaF", r"\nabla F")


class MisreadError(InputError):
    """An error at a token, which has its place in the file."""

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.token, self.place = token, (token.line, token.column)


def wrong(token: Token, what: str, remedy: str) -> MisreadError:
    """One sentence with the place of a token, in the author's symbols."""
    received = re.sub("quantity (\\w+)", r"\1", str(token))
    received = {"<=": r"\le", ">=": r"\ge"}.get(received, received)
    texts = (re.sub("<norm|norm>", r"\\|", text) for text in (what, received, remedy))
    what, received, remedy = texts
    return MisreadError(str(reject(f"line {token.line}, column {token.column}: {what}", received, remedy)), token)


def scanned(text: str, line: int, column: int = 1) -> list[Token]:
    """The tokens of a text that begins at a place, comments left out."""
    text, result, start = COMMENT.sub(lambda m: " " * len(m[0]), text), [], 0
    for match in TOKEN.finditer(text):
        breaks = text.count("\n", start, match.start())
        if breaks:
            line, column = line + breaks, 1 - (text.rfind("\n", start, match.start()) + 1 - start)
        result.append(Token(match[0], line, column + match.start() - start))
        column, start = column + match.start() - start, match.start()
    return result


def argument(tokens: Sequence[Token], at: int) -> tuple[tuple[Token, ...], int]:
    """The argument that begins at a place, and the place behind it."""
    if at >= len(tokens):
        last = tokens[-1] if tokens else Token("nothing", 1, 1)
        raise wrong(last, "an argument must follow", "complete the formula")
    if tokens[at].text in DRESSES and at + 1 < len(tokens):
        return (tokens[at], *tokens[at + 1 : (end := argument(tokens, at + 1)[1])]), end
    if tokens[at].text != "{":
        return (tokens[at],), at + 1
    depth = 0
    for end in range(at, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[end].text, 0)
        if depth == 0:
            return tuple(tokens[at + 1 : end]), end + 1
    raise wrong(tokens[at], "a brace must be closed", "close it")


def macros(text: str) -> dict[str, Macro]:
    """The author's own commands in a file: \\newcommand, \\def without arguments, \\DeclareMathOperator."""
    result: dict[str, Macro] = {}
    for match in DEFINED.finditer(COMMENT.sub(lambda m: " " * len(m[0]), text)):
        tokens = scanned(text[match.end() : match.end() + 2000], text.count("\n", 0, match.end()) + 1)
        try:
            result[match[1]] = Macro(int(match[2] or 0), argument(tokens, 0)[0])
        except InputError:
            continue  # an unused command of a file may be anything
    return result


def expanded(tokens: Iterable[Token], commands: Mapping[str, Macro]) -> list[Token]:
    """The tokens with macros put in, each at the place of its call."""
    rest = [(token, 0) for token in reversed(list(tokens))]
    result: list[Token] = []
    while rest:
        token, depth = rest.pop()
        if len(result) + len(rest) > MOST_TOKENS or depth > DEEPEST:
            raise wrong(token, "a formula may not grow so long", "write fewer symbols, or a macro that ends")
        if token.text not in commands:
            result.append(token)
            continue
        macro, values = commands[token.text], []
        for _ in range(macro.arguments):
            following = [item for item, _ in reversed(rest)]
            if not following:
                raise wrong(token, "an argument must follow", "complete the formula")
            value, end = argument(following, 0)
            values.append(value)
            rest = rest[: len(rest) - end]
        body: list[Token] = []
        parts = iter(macro.body)
        for piece in parts:
            if piece.text == "#":
                number = next(parts, piece).text
                body += values[int(number) - 1] if number.isdigit() and 0 < int(number) <= len(values) else []
            else:
                body.append(replace(piece, line=token.line, column=token.column))
        rest += [(piece, depth + 1) for piece in reversed(body)]
    return result


def one_spelling(tokens: Sequence[Token]) -> list[Token]:
    """One spelling: no spacing, fonts and accents as part of the name, scripts as one token each."""
    result: list[Token] = []
    opened: list[str] = []
    tokens = _with_norms(tokens)
    at, side = 0, ""
    while at < len(tokens):
        token, at = tokens[at], at + 1
        text = SAME.get(token.text, token.text)
        if text in (r"\left", r"\right"):
            side = text
            at += at < len(tokens) and tokens[at].text == "."
            continue
        pair = text + "".join(item.text for item in tokens[at : at + 1])
        if text in ASIDE:
            at = _aside(tokens, at)
        elif text in DROPPED or pair in ("{}", ":="):
            at += pair == "{}"  # as in \\le{}
            continue
        elif text in AROUND:
            marked, at = _marked(tokens, at, text)
            result += marked
        elif text in DRESSES:
            first = at
            while at < len(tokens) and tokens[at].text in DRESSES:
                at += 1
            at = argument(tokens, at)[1]
            inner = tuple(tokens[first:at]) if tokens[first].text != "{" else tuple(tokens[first + 1 : at - 1])
            result.append(replace(token, text=_dressed(DRESSES[text], one_spelling(inner), token)))
        elif text in ("^", "_"):
            inner, at = argument(tokens, at)
            result.append(replace(token, inside=tuple(_script(one_spelling(inner)))))
        elif text == r"\frac" or (text == r"\sqrt" and at < len(tokens) and tokens[at].text != "["):
            result.append(replace(token, text=text))
            for _ in range(2 if text == r"\frac" else 1):
                tokens, at = _bare_arguments(tokens, at)
                inner, at = argument(tokens, at)
                result += [replace(token, text="{"), *one_spelling(inner), replace(token, text="}")]
        elif token.text in NORMS:
            opens = side == r"\left" or text == r"\lVert" or (not side and text != r"\rVert" and opened[-1:] != ["|"])
            opened = [*opened, "|"] if opens else opened[:-1]
            result.append(replace(token, text="<norm" if opens else "norm>"))
        else:
            opened = [*opened, text] if text in OPENING else opened[:-1] if text in CLOSING else opened
            result.append(replace(token, text=text))
        side = ""
    return result


def _aside(tokens: Sequence[Token], at: int) -> int:
    """The place behind what is no part of the formula, as the name of an environment and what it says of columns."""
    name, end = argument(tokens, at)
    command, text = tokens[at - 1].text, spelled(name)
    if command not in (r"\begin", r"\end"):
        return end
    if not LAYOUT.match(text):
        raise wrong(tokens[at - 1], f"a statement may not have {text} in it", "state one case")
    if command == r"\begin" and text in ("array", "alignedat"):
        end = argument(tokens, end)[1]
    option = [token.text for token in tokens[end : end + 3]]
    return end + 3 if option in (["[", place, "]"] for place in "tbc") else end


def _marked(tokens: Sequence[Token], at: int, command: str) -> tuple[list[Token], int]:
    """What a box or a brace marks, without the words under the brace."""
    inner, end = argument(tokens, at)
    if command == r"\boxed":
        return one_spelling(inner), end
    if end < len(tokens) and tokens[end].text in ("^", "_"):
        end = argument(tokens, end + 1)[1]
    return [replace(tokens[at], text="{"), *one_spelling(inner), replace(tokens[at], text="}")], end


def _with_norms(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with two bars side by side, as in ||w||, made one."""
    result: list[Token] = []
    for token in tokens:
        before = result[-1] if result else token
        beside = (before.line, before.column + 1) == (token.line, token.column)
        if before.text == token.text == "|" and beside:
            result[-1] = replace(before, text=r"\|")
        else:
            result.append(token)
    return result


def _bare_arguments(tokens: Sequence[Token], at: int) -> tuple[Sequence[Token], int]:
    """\\frac12 is \\frac{1}{2}: TeX takes one digit."""
    if at < len(tokens) and tokens[at].text.isdigit() and len(tokens[at].text) > 1:
        token = tokens[at]
        parts = [replace(token, text=token.text[0]), replace(token, text=token.text[1:], column=token.column + 1)]
        return [*tokens[:at], *parts, *tokens[at + 1 :]], at
    return tokens, at


def _dressed(dress: str, inner: Sequence[Token], token: Token) -> str:
    if len(inner) > 1 and dress in (r"\bar", r"\tilde", r"\hat") and all(item.text in "^_" for item in inner[1:]):
        raise wrong(token, "an accent must cover a letter alone", r"write \bar{w}_t")
    text = "".join(str(item) for item in inner if item.text not in "{}")
    if dress == r"\mathrm" and text in ("exp", "log", "ln", "max", "min"):
        return SAME.get(rf"\{text}", rf"\{text}")
    return text if dress == r"\mathrm" and len(text) == 1 and text != "E" else f"{dress}{{{text}}}"


def _script(inner: list[Token]) -> list[Token]:
    """Brackets around a whole script, as in w^{(t+1)}, say nothing; a star is a star."""
    inner = [replace(token, text=r"\star") if token.text == "*" else token for token in inner]
    texts = [token.text for token in inner]
    whole = len(texts) > 2 and texts[0] == "(" and texts[-1] == ")" and ")" not in texts[1:-1]
    return inner[1:-1] if whole else inner


def renamed(tokens: Sequence[Token], names: Mapping[str, Sequence[Token]]) -> list[Token]:
    """The tokens with an author's names put into those of the table, once, scripts too."""
    result: list[Token] = []
    for token in tokens:
        result += [replace(item, line=token.line, column=token.column) for item in names.get(token.text, ())] or [
            replace(token, inside=tuple(renamed(token.inside, names)))
        ]
    return result


def flat(tokens: Iterable[Token]) -> Iterator[Token]:
    """Every token, those inside scripts too."""
    for token in tokens:
        yield token
        yield from flat(token.inside)
