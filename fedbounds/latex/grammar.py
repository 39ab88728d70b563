"""The grammar of formulas: tokens into a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any, Literal

import lark

from fedbounds.latex.tokens import CLOSING, DEEPEST, OPENING, Token, spelled, wrong

BREAKS = {"&", r"\\", r"\quad", r"\qquad"}
# Stands between two statements of a display.
BETWEEN, AND = "a break", r"\mathrm{and}"
SIGNS = {"+", "-", "*", "/", ",", ":", "|", "<=", ">=", "=", "<", ">"}
# Relations that the grammar refuses by name.
REFUSED = {r"\in", r"\lesssim", r"\gtrsim", r"\ll", r"\gg", r"\approx", r"\equiv", r"\propto", r"\sim", r"\simeq"}
REFUSED |= {r"\asymp", r"\preceq", r"\succeq", r"\ne", r"\neq", r"\nleq", r"\ngeq", r"\not", r"\to", r"\pm"}
ENDS, BEGINS = SIGNS | REFUSED | OPENING, SIGNS | REFUSED | CLOSING | {"^", "_", ".", ";"}


def joined_rows(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without breaks; outside brackets, one behind which no formula goes on stands between statements."""
    result: list[Token] = []
    broken, at, depth = False, 0, 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if token.text in BREAKS or (token.text == AND and result and not depth and at < len(tokens)):
            broken, at = bool(result), _behind_height(tokens, at)
            continue
        listed = bool(result) and result[-1].text in (",", ";") and not depth
        if broken and (listed or result[-1].text not in ENDS) and token.text not in BEGINS:
            if token.text.startswith(r"\mathrm{"):
                raise wrong(token, "a display must have one statement", "put words outside of the display")
            if depth:
                raise wrong(token, "a display must have one statement", "begin rows with signs")
            result[-listed or len(result) :] = [replace(token, text=BETWEEN)]
        broken = False
        depth += (token.text in OPENING) - (token.text in CLOSING)
        result.append(token)
    return result


def statements(tokens: Sequence[Token]) -> list[list[Token]]:
    """The statements of a display, apart."""
    result: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == BETWEEN:
            result.append([])
        else:
            result[-1].append(token)
    return result


def _behind_height(tokens: Sequence[Token], at: int) -> int:
    """The place behind a break and the height of its row, as in \\\\[2pt]."""
    row, *rest = tokens[at - 1 : at + 8]
    beside = rest and rest[0].text == "[" and (row.line, row.column + 2) == (rest[0].line, rest[0].column)
    ends = [k for k, token in enumerate(rest) if token.text == "]"]
    return at + ends[0] + 1 if row.text == r"\\" and beside and ends else at


Tree, Leaf = lark.Tree, lark.Token
GRAMMAR = """
relation: sum REL sum
value: sum
sum: sign? product (sign product)*
!sign: PLUS | MINUS
!product: factor ((TIMES | SLASH)? factor)*
factor: atom SCRIPT*
?atom: NAME | NUMBER | EXPECT | BIG | NABLA
  | _LPAR _items _RPAR -> round | _LSQB _items _RSQB -> square | _LSET _items _RSET -> curly
  | _NORM sum _MRON -> norm | _LANGLE sum _COMMA sum _RANGLE -> inner
  | _FRAC group group -> frac | _SQRT group -> root | group
?group: _LBRACE sum _RBRACE -> braces | _LBRACE sum _OVER sum _RBRACE -> over
_items: sum (_COMMA sum)*
%declare REL PLUS MINUS TIMES SLASH NAME NUMBER EXPECT BIG NABLA
%declare _LANGLE _RANGLE _LPAR _RPAR _LSQB _RSQB _LSET _RSET _NORM _MRON _FRAC _SQRT
%declare _LBRACE _RBRACE _OVER _COMMA SCRIPT OTHER
"""
KINDS = {
    "+": "PLUS", "-": "MINUS", "*": "TIMES", "/": "SLASH", "<=": "REL", ">=": "REL", "=": "REL", "<": "REL",
    ">": "REL", "(": "_LPAR", ")": "_RPAR", "[": "_LSQB", "]": "_RSQB", r"\{": "_LSET", r"\}": "_RSET",
    "{": "_LBRACE", "}": "_RBRACE", ",": "_COMMA", "<norm": "_NORM", "norm>": "_MRON", r"\frac": "_FRAC",
    r"\langle": "_LANGLE", r"\rangle": "_RANGLE",
    r"\sqrt": "_SQRT", r"\over": "_OVER", r"\nabla": "NABLA", "^": "SCRIPT", "_": "SCRIPT",
    r"\mathbb{E}": "EXPECT", r"\mathrm{E}": "EXPECT", r"\mathbf{E}": "EXPECT",
}  # fmt: skip
KINDS |= dict.fromkeys((r"\sum", r"\max", r"\min", r"\prod", r"\sup", r"\inf", r"\exp", r"\log"), "BIG")
OPENS = {"(": ")", "[": "]", r"\{": r"\}", "{": "}", "<norm": "norm>", r"\langle": r"\rangle"}
CLOSES = set(OPENS.values())
RELATIONS = {"<=", "<", "=", ">=", ">", r"\in", r"\lesssim", r"\gtrsim", r"\ll", r"\gg", r"\approx"}
RELATIONS |= {r"\equiv", r"\preceq", r"\succeq", r"\propto", r"\sim"}
NEGATED = (r"\not", r"\nleq", r"\ngeq", r"\nless", r"\ngtr", r"\nleqslant", r"\ngeqslant", r"\ne", r"\neq", r"\notin")
RELATIONS |= {*NEGATED[1:]}
ORDER = "an order without constants is no inequality"
ROUGHLY = ("a relation that holds roughly cannot be judged", "write \\le or =")
PROBABILITY = "a statement with a probability cannot be judged, as runs measure expectations"
IN_FULL = "add % fedbounds: in expectation to read it in full expectation, which is weaker"
CONDITION = ("an expectation with a condition says more than one without", IN_FULL)
# Letters that count clients as an index of an expectation.
CLIENTS = ("i", "j", "k")
OVER_CLIENTS = ("an expectation over clients must name their weights", r"write \sum_i p_i, or assume equal-p")
SEVERAL = ("a display must have one statement", "begin rows with signs, or mark a theorem for each")
REASONS = {
    BETWEEN: SEVERAL,
    r"\lesssim": (ORDER, "write the constants and \\le"),
    "|": ("a norm has two bars, and one is a condition", rf"write \| for a norm; {IN_FULL}"),
}
ORDERS = ("O", r"\mathcal{O}", r"\tilde{O}", r"\tilde{\mathcal{O}}", r"\Omega", r"\Theta")
REASONS |= dict.fromkeys(ORDERS, (ORDER, "write the constants"))
REASONS |= dict.fromkeys((r"\Pr", r"\mathbb{P}", r"\mathrm{Pr}"), (PROBABILITY, "state it in expectation"))
REASONS |= dict.fromkeys(NEGATED, ("a relation that is denied is no statement", "write \\le, \\ge or ="))
REASONS |= dict.fromkeys((r"\approx", r"\asymp", r"\propto", r"\sim", r"\simeq"), ROUGHLY)


def kind_of(token: Token) -> str:
    text = token.text
    if text in KINDS:
        return KINDS[text]
    if text in REASONS:
        raise wrong(token, *REASONS[text])
    if text[0].isdigit():
        return "NUMBER"
    return "NAME" if text[0].isalpha() or (text[0] == "\\" and text[1:2].isalpha()) else "OTHER"


class _Tokens(lark.lexer.Lexer):
    """The lexer: our own tokens, each with its number in the formula as its position."""

    def __init__(self, settings: Any) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Any]:
        for number, token in enumerate(lexer_state):
            yield Leaf(kind_of(token), token.text, number, token.line, token.column)


@cache
def _parser() -> Any:
    return lark.Lark(GRAMMAR, parser="lalr", lexer=_Tokens, start=["relation", "value"])


def parsed(tokens: Sequence[Token], start: Literal["relation", "value"]) -> Any:
    """The tree of a formula; an InputError with the place where it is none."""
    tokens = with_norms(tokens)
    _balanced(tokens)
    try:
        return _parser().parse(tokens, start=start)
    except lark.exceptions.UnexpectedToken as fault:
        at = fault.token.start_pos if fault.token.type != "$END" else None
        token = tokens[at] if at is not None else (tokens[-1] if tokens else Token("nothing", 1, 1))
        if KINDS.get(token.text) == "REL":
            several = sum(KINDS.get(item.text) == "REL" for item in tokens) > 1
            what = f"a statement must have one relation{'' if several else ' with something on both sides'}"
            remedy = "state one inequality"
        elif token.text == ",":
            what, remedy = "a display must have one statement", "mark a theorem for each, and assume its conditions"
        elif at is None:
            what, remedy = (
                "the formula must go on",
                "complete it" + (", with one \\le" if start == "relation" else ""),
            )
        else:
            what, remedy = "a formula must be readable here", "write it with the symbols that fedbounds symbols lists"
        raise wrong(token, what, remedy) from None


def product(tree: Any) -> tuple[list[Any], list[str]]:
    """The factors of a product, and the operators before them."""
    factors: list[Any] = []
    operators: list[str] = []
    operator = ""
    for child in tree.children:
        if isinstance(child, Leaf):
            operator = str(child)
        else:
            factors, operators, operator = [*factors, child], [*operators, operator], ""
    return factors, operators


def depths(tokens: Sequence[Token]) -> Iterator[int]:
    """How many brackets are open behind each token."""
    return accumulate((token.text in OPENS) - (token.text in CLOSES) for token in tokens)


def neighbouring_sides(tokens: Sequence[Token]) -> list[tuple[Sequence[Token], Token, Sequence[Token]]]:
    """Each relation of a formula with its two sides: of a chain one for each two neighbours."""
    while tokens and tokens[-1].text in (".", ",", ";"):
        tokens = tokens[:-1]
    both = enumerate(zip(tokens, depths(tokens), strict=True))
    relation_indices = [k for k, (token, depth) in both if token.text in RELATIONS and not depth]
    ends = zip([-1, *relation_indices], relation_indices, [*relation_indices[1:], len(tokens)], strict=False)
    return [(tokens[before + 1 : place], tokens[place], tokens[place + 1 : after]) for before, place, after in ends]


def with_norms(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each two single bars of one bracket as a norm; one that is left over is a condition."""
    result = list(tokens)
    levels: list[list[int]] = [[]]
    for k, token in enumerate(tokens):
        if token.text in OPENS:
            levels.append([])
        elif token.text in CLOSES and len(levels) > 1:
            levels.pop()
        elif token.text == "|":
            levels[-1].append(k)
            if len(levels[-1]) == 2:
                for place, text in zip(levels[-1], ("<norm", "norm>"), strict=True):
                    result[place] = replace(tokens[place], text=text)
                levels[-1].clear()
    return result


def subscript_fault(script: Token) -> tuple[str, str]:
    """What an expectation with an index is, and what to write instead."""
    return OVER_CLIENTS if spelled(script.inside) in CLIENTS else CONDITION


def without_conditions(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without the conditions of expectations: their indices, and what stands behind a bar in them."""
    tokens, result, place = with_norms(tokens), list[Token](), 0
    while place < len(tokens):
        token, place = tokens[place], place + 1
        result.append(token)
        if KINDS.get(token.text) != "EXPECT":
            continue
        while place < len(tokens) and tokens[place].text in "^_":
            result += [tokens[place]] * (spelled(tokens[place].inside) in CLIENTS)
            place += 1
        end = place + next((k for k, depth in enumerate(depths(tokens[place:])) if depth <= 0), 0)
        inner = tokens[place:end]
        bars = [k for k, depth in enumerate(depths(inner)) if inner[k].text == "|" and depth == 1]
        result += without_conditions(inner[: bars[0]] if len(bars) == 1 else inner)
        place = end
    return result


def terms_or_pieces_of(tokens: Sequence[Token]) -> list[list[Token]]:
    """The terms of a statement; where its brackets do not match, what stands between any of its signs."""
    parts: list[list[Token]] = [[]]
    inside = list(depths(tokens))
    for token, depth in zip(tokens, inside, strict=True):
        if KINDS.get(token.text) in ("PLUS", "MINUS", "REL") and (inside[-1] or not depth):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _balanced(tokens: Sequence[Token]) -> None:
    """Refuse brackets that do not match, or too many inside each other."""
    open_: list[Token] = []
    for token in tokens:
        if token.text in OPENS:
            open_.append(token)
            if len(open_) > DEEPEST:
                raise wrong(token, f"at most {DEEPEST} brackets may stand inside each other", "write it flatter")
        elif token.text in CLOSES and (not open_ or OPENS[open_.pop().text] != token.text):
            raise wrong(token, "a bracket must have its partner", "open and close it with the same kind")
    if open_:
        raise wrong(open_[-1], "a bracket must be closed", "close it")
