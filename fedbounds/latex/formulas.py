"""The value of a formula's tree: an expression in quantities, points and the names of the table."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sympy as sp

from fedbounds.errors import Gathered, InputError
from fedbounds.latex import sums
from fedbounds.latex.grammar import Leaf, Tree, parsed, product, terms_or_pieces_of
from fedbounds.latex.letter_meanings import Notation, letter
from fedbounds.latex.tokens import Token, spelled, wrong
from fedbounds.theory import points as at
from fedbounds.theory.vector_normal_form import depends

Read = tuple[sp.Expr, int]  # a value, and the place behind it
UNREAD = sp.Dummy("unread", positive=True)  # stands for a letter whose error is kept


class Term(NamedTuple):
    """A term of a side, and where it, or a sum in it, begins."""

    value: sp.Expr
    place: Token


def value(tokens: Sequence[Token], notation: Notation) -> sp.Expr:
    """The value of a formula without relation; its errors are raised together."""
    notation = replace(notation, tokens=tuple(tokens), faults=Gathered())
    result = _sum(parsed(tokens, "value").children[0], notation)
    notation.faults.raise_all()
    return result


def sides(tokens: Sequence[Token], notation: Notation) -> tuple[list[Term], Token, list[Term]]:
    """The terms of both sides of a statement, and its relation; all errors are raised together."""
    notation = replace(notation, tokens=tuple(tokens), faults=Gathered())
    try:
        left, relation, right = parsed(tokens, "relation").children
    except InputError as fault:
        Gathered([fault, *_of_the_parts(tokens, notation)]).raise_all()
        raise
    result = _placed(left, notation), notation.tokens[relation.start_pos], _placed(right, notation)
    notation.faults.raise_all()
    return result


def _of_the_parts(tokens: Sequence[Token], notation: Notation) -> Gathered:
    """The errors of those terms of a statement that can be parsed, where the whole cannot."""
    faults = Gathered()
    for part in terms_or_pieces_of(tokens):
        with contextlib.suppress(InputError):
            parsed(part, "value")
            with faults.caught():
                value(part, notation)
    return faults


def _at(node: Any, notation: Notation) -> Token:
    leaf = node if isinstance(node, Leaf) else next(iter(node.scan_values(lambda _: True)))
    return notation.tokens[leaf.start_pos or 0]


def _sum(tree: Any, notation: Notation) -> sp.Expr:
    return sp.Add(*(term.value for term in _placed(tree, notation)))


def _placed(tree: Any, notation: Notation) -> list[Term]:
    """The terms of a sum; the first error of each is kept, as others of it may follow from that."""
    terms: list[Term] = []
    before, sign = len(notation.faults), 1
    for child in tree.children:
        if child.data == "sign":
            sign = -1 if child.children[0] == "-" else 1
            continue
        so_far = len(notation.faults)
        try:
            value = sign * _run(*product(child), notation)
            terms.append(Term(value, _at(next(child.scan_values(r"\sum".__eq__), child), notation)))
        except InputError as fault:
            if len(notation.faults) == so_far:
                notation.faults.append(fault)
        sign = 1
    if len({at.is_vector(term.value) for term in terms}) > 1 and len(notation.faults) == before:
        raise wrong(_at(tree, notation), "numbers and vectors cannot be added", "take a norm")
    return terms


def _run(factors: Sequence[Any], operators: Sequence[str], notation: Notation) -> sp.Expr:
    return sp.Mul(*_values(factors, operators, notation))


def _values(factors: Sequence[Any], operators: Sequence[str], notation: Notation) -> list[sp.Expr]:
    """The factors of a product, read from the left; sums and expectations take what follows them."""
    values: list[sp.Expr] = []
    place = 0
    while place < len(factors):
        if "/" in operators[:place]:
            raise wrong(_at(factors[place], notation), "a / b c is ambiguous", r"write \frac{a}{b} c or a/(b c)")
        divided = operators[place] == "/"
        result, place = _with_transpose(factors, operators, place, notation)
        values.append(sums.power(result, sp.Integer(-1), _at(factors[place - 1], notation)) if divided else result)
    if sum(map(at.is_vector, values)) > 1:
        raise wrong(_at(factors[0], notation), "two vectors cannot be multiplied", "take a norm")
    return values


def _with_transpose(factors: Sequence[Any], operators: Sequence[str], place: int, notation: Notation) -> Read:
    """What begins at a place; of a vector that is transposed, its inner product with the vector behind it."""
    last = place + 2 * (str(factors[place].children[0]) == r"\nabla")
    *rest, script = factors[last].children if last < len(factors) else factors[place].children[:1]
    token = notation.tokens[script.start_pos] if rest else None  # T above a letter, as in w^T, may be a time
    marks = sums.TRANSPOSE if rest and isinstance(rest[0], Leaf) else (*sums.TRANSPOSE, "T")
    if token is None or token.text != "^" or spelled(token.inside) not in marks:
        return _next(factors, operators, place, notation)
    without = [*factors[:last], Tree("factor", rest), *factors[last + 1 :]]
    first, end = _next(without, operators, place, notation)
    if not at.is_vector(first):
        return (first if first is UNREAD else _raised(first, [token], notation)), end
    continues = end < len(factors) and operators[end] != "/"
    other, end = _next(factors, operators, end, notation) if continues else (sp.S.One, end)
    if not at.is_vector(other):
        raise wrong(token, "a transposed vector must stand before another", r"write \langle a, b\rangle")
    return at.inner(first, other), end


def _next(factors: Sequence[Any], operators: Sequence[str], place: int, notation: Notation) -> Read:
    """The value of what begins at a place, and the place behind it."""
    head, *scripts = factors[place].children
    following: Any = factors[place + 1] if place + 1 < len(factors) and not operators[place + 1] else None
    kind = head.type if isinstance(head, Leaf) else ""
    if kind in ("EXPECT", "BIG", "NABLA") and following is None:
        raise wrong(_at(head, notation), "something must follow", "complete the formula")
    bracket = "" if following is None or isinstance(following.children[0], Leaf) else following.children[0].data
    if kind == "EXPECT":
        end = place + 2 if bracket in ("round", "square", "curly") and len(following.children) == 1 else len(factors)
        inside, of = notation.expectation(scripts, _at(head, notation))
        inner = _run(factors[place + 1 : end], ["", *operators[place + 2 : end]], inside)
        return of(inner, _at(head, notation)), end
    if kind == "BIG" and head == r"\sum":
        return _total(factors[place:], ["", *operators[place + 2 :]], notation), len(factors)
    behind = None if following is None else following.children[0]
    if kind == "BIG" and head == r"\min" and (getattr(behind, "type", "") == "EXPECT" or (scripts and behind == "F")):
        inner, end = _next(factors, operators, place + 1, notation)
        return _least(head, scripts, inner, notation), end
    if kind == "BIG" and head in (r"\inf", r"\min") and not scripts and following.children == ["F"]:
        return at.F_star, place + 2
    if kind == "BIG":
        _single_argument(head, following, bracket, operators[place + 2 : place + 3], notation)
        return _extreme(head, scripts, following, bracket, notation), place + 2
    if kind == "NABLA":
        if place + 2 >= len(factors) or str(following.children[0]) != "F":
            raise wrong(_at(head, notation), "a gradient must be of F or F_i at a point", r"write \nabla F_i(w)")
        return _function(following, factors[place + 2], True, notation), place + 3
    if kind == "NAME" and head == "F" and bracket == "round":
        return _function(factors[place], following, False, notation), place + 2
    if kind == "NAME" and bracket == "round":
        _no_function(head, following, notation)
    return _factor(factors[place], notation), place + 1


def _single_argument(head: Any, following: Any, bracket: str, after: Sequence[str], notation: Notation) -> None:
    """Refuse log and exp of what may end earlier or later."""
    if str(head) not in sums.FUNCTIONS:
        return
    bracketed = bracket in ("round", "square", "curly")
    if not bracketed and "" in after:
        raise wrong(_at(head, notation), f"{head} a b is ambiguous", rf"write {head}(a) b or {head}(a b)")
    if bracketed and len(following.children) > 1:
        raise wrong(_at(head, notation), f"{head}(a)^b is ambiguous", rf"write ({head}(a))^b or {head}(a^b)")


def _no_function(head: Any, following: Any, notation: Notation) -> None:
    """Refuse a letter alone in brackets behind a letter."""
    inside = following.children[0].children
    leaves = list(following.children[0].scan_values(lambda _: True))
    if len(inside) > 1 or [leave.type for leave in leaves if leave.type != "SCRIPT"] == ["NAME"]:
        remedy = rf"write a \cdot, or an index; where it is the objective, add % fedbounds: let {head} = F"
        raise wrong(_at(following, notation), f"is this {head} times what follows, or a function of it", remedy)


def _function(name: Any, point: Any, gradient: bool, notation: Notation) -> sp.Expr:
    """F, F_i or a gradient at a point."""
    index = [spelled(notation.tokens[child.start_pos].inside) for child in name.children[1:]]
    brackets = point.children[0]
    bracketed = getattr(brackets, "data", "") == "round" and len(point.children) == len(brackets.children) == 1
    where = _sum(brackets.children[0], notation) if bracketed else sp.S.One
    if not at.is_vector(where):
        raise wrong(_at(point, notation), "F needs a point", "write F(w_t)")
    if index not in ([], [notation.client]):
        raise wrong(_at(name, notation), "F has the index of a client or none", f"write F_{notation.client}")
    of_client = (at.grad if gradient else at.F_i)(where)
    if not index and depends(where, at.I):
        return of_client.func(of_client.args[0], sums.OF_ALL)
    return of_client if index else at.mean(of_client)


def _factor(tree: Any, notation: Notation) -> sp.Expr:
    """An atom with its powers and indices."""
    head, *scripts = tree.children
    leaves = [notation.tokens[item.start_pos] for item in scripts]
    if isinstance(head, Leaf) and head.type == "NAME":
        try:
            result, powers = letter(_at(head, notation), leaves, notation)
        except InputError as fault:
            notation.faults.append(fault)
            return UNREAD
        return _raised(result, powers, notation)
    if isinstance(head, Leaf) and head.type != "NUMBER":
        raise wrong(_at(head, notation), "something must follow", "complete the formula")
    result = _atom(head, notation)
    for script in leaves:
        if script.text == "_":
            if not (isinstance(head, Tree) and head.data == "norm" and spelled(script.inside) in sums.EUCLIDEAN):
                raise wrong(script, "only a letter may have an index", "take it away")
        elif isinstance(head, Leaf) and len(str(head)) > 1 and str(head).startswith("0"):
            raise wrong(script, "a number must be written plainly", "write 2^2")
        else:
            result = _raised(result, [script], notation)
    return result


def _raised(base: sp.Expr, powers: Sequence[Token], notation: Notation) -> sp.Expr:
    for script in powers:
        base = sums.power(base, value(script.inside, notation), script)
    return base


def _atom(head: Any, notation: Notation) -> sp.Expr:
    if isinstance(head, Leaf):
        if len(head) > 15:
            raise wrong(_at(head, notation), "a number may have 15 digits", "write it as a power")
        return sp.Rational(str(head))
    parts = [child for child in head.children if isinstance(child, Tree)]
    inner = [_sum(part, notation) if part.data == "sum" else _atom(part, notation) for part in parts]
    if head.data in ("round", "square", "curly", "braces"):
        if len(inner) > 1:
            raise wrong(_at(head, notation), "a list must follow max or min", "write one number")
        return inner[0]
    if head.data in ("norm", "inner"):
        if not all(map(at.is_vector, inner)):
            what = f"{'a norm' if head.data == 'norm' else 'an inner product'} must be of vectors"
            raise wrong(_at(head, notation), what, "write w, gradients and their sums")
        first = -inner[0] if head.data == "norm" and inner[0].could_extract_minus_sign() else inner[0]
        return sp.sqrt(at.norm_sq(first)) if head.data == "norm" else at.inner(*inner)
    if any(map(at.is_vector, inner[-1:])):
        raise wrong(_at(head, notation), "a vector cannot stand here", "take a norm")
    if head.data == "root":
        return sp.sqrt(inner[0])
    below = (sums.power(x, sp.Integer(-1), _at(head, notation)) for x in _parts(parts[1], notation))
    return sp.Mul(*_parts(parts[0], notation), *below)


def _parts(tree: Any, notation: Notation) -> list[sp.Expr]:
    """The factors of one side of a fraction, so that 1/(2 (a + b)) keeps its form."""
    tree = tree.children[0] if tree.data == "braces" else tree
    if tree.data == "sum" and len(tree.children) == 1:
        return _values(*product(tree.children[0]), notation)
    return [_sum(tree, notation) if tree.data == "sum" else _atom(tree, notation)]


def _total(factors: Sequence[Any], operators: Sequence[str], notation: Notation) -> sp.Expr:
    """A sum over steps, rounds or clients: the index and its range stand below, or the end of the range above."""
    (sign, *factors), place = factors, _at(factors[0], notation)
    scripts = sign.children[1:]
    leaves = {str(script): notation.tokens[script.start_pos].inside for script in scripts}
    below, above = (spelled(leaves.get(mark, ())) for mark in "_^")
    if not below:
        raise wrong(place, "a sum needs its index", r"write \sum_i")
    if (of_steps := notation.over_steps(scripts)) is not None:
        return sums.summed(_run(factors, operators, of_steps), sums.StepSum, place)
    name, first, last = sums.range_ends(below, above)
    if (first, last) == sums.STEPS[1] and notation.from_w_0:
        return sums.summed_later(_run(factors, operators, notation.at_steps(name)), place)
    if name == "r" and (first or "0", last) == sums.ROUNDS:
        return sums.summed(_run(factors, operators, notation), sums.RoundSum, place)
    name = name or leaves["_"][0].text
    selected = sums.over_selected(name, below, above, notation.start, place)
    inner = _run(factors, operators, replace(notation, client=name))
    kind, equal = (sums.SelectedSum, notation.shared) if selected else (sums.ClientSum, notation.equal)
    return sums.summed(inner, kind, place, equal)


def _extreme(head: Any, scripts: Sequence[Any], following: Any, bracket: str, notation: Notation) -> sp.Expr:
    """max and min of a list, the smallest p_i, the least over the steps, exp and log."""
    if str(head) in sums.FUNCTIONS and not scripts:
        return sums.FUNCTIONS[str(head)](_factor(following, notation))
    kind = {r"\max": sp.Max, r"\min": sp.Min}.get(str(head))
    if kind is not None and not scripts and bracket in ("round", "curly", "square"):
        result = kind(*(_sum(child, notation) for child in following.children[0].children))
        return _raised(result, [notation.tokens[script.start_pos] for script in following.children[1:]], notation)
    below = spelled(notation.tokens[scripts[0].start_pos].inside) if scripts else ""
    if kind is sp.Min and below:
        inside = _at_steps(head, scripts, notation) or replace(notation, client=below[0])
        return _least(head, scripts, _factor(following, inside), notation)
    raise wrong(_at(head, notation), *sums.NO_LIST)


def _least(head: Any, scripts: Sequence[Any], inner: sp.Expr, notation: Notation) -> sp.Expr:
    """The least over the steps, or the smallest p_i."""
    if scripts and _at_steps(head, scripts, notation) is not None:
        return sums.least(inner)
    if inner != at.p_i:
        raise wrong(_at(head, notation), *sums.NO_LIST)
    return sums.Least(inner)


def _at_steps(head: Any, scripts: Sequence[Any], notation: Notation) -> Notation | None:
    """The notation inside of a least value over all steps; None where it is not over steps."""
    result, below = notation.over_steps(scripts), spelled(notation.tokens[scripts[0].start_pos].inside)
    if result is None and (below == notation.step or sums.range_ends(below, "")[2] not in ("", "N")):
        steps = r"\min_{1\le t\le T}" if notation.start else r"\min_{t<T}"
        what = "a least value over steps must be over all of them"
        raise wrong(_at(head, notation), what, f"state it over {steps}, if that is meant")
    return result
