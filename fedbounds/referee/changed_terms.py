"""A claim with one part of its right side changed.

Its parts are found in the sympy terms themselves: every named term, and every addend of every inner sum (and argument
of every Max and Min), so that a coefficient hidden inside a term is varied like one in front of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.theory.claim import Claim
from fedbounds.theory.symbols import L, N, T, eta, mu, tau


@dataclass(frozen=True)
class Part:
    """A piece of a claim's right-hand side: a term's name, and the path of an addend inside it (() for all).

    ``whole`` is the sum (or Max, Min) that an addend belongs to.
    """

    term: str
    path: tuple[int, ...]
    expression: sp.Expr
    whole: sp.Expr

    @property
    def label(self) -> str:
        """The term's name, and the addend's formula if it is not the whole term."""
        return f"{self.term}: {self.expression} of {self.whole}" if self.path else self.term


def parts(claim: Claim) -> list[Part]:
    """Every named term, then every addend of every inner sum, Max and Min of it, from the outside in.

    Sums with the time T in them (T + gamma) are left out.
    """
    result = []
    for name, stated in claim.terms.items():
        term = sp.sympify(stated)
        result.append(Part(name, (), term, term))
        result += [Part(name, path, piece, whole) for path, piece, whole in _addends(term, ())]
    return result


def _addends(expression: sp.Expr, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], sp.Expr, sp.Expr]]:
    for k, piece in enumerate(expression.args):
        here = (*path, k)
        if isinstance(expression, sp.Add | sp.Max | sp.Min) and not expression.has(T):
            yield here, piece, expression
        yield from _addends(piece, here)


def replaced_at(expression: sp.Expr, path: tuple[int, ...], piece: sp.Expr) -> sp.Expr:
    if not path:
        return piece
    arguments = list(expression.args)
    arguments[path[0]] = replaced_at(arguments[path[0]], path[1:], piece)
    return expression.func(*arguments)


def scaled(claim: Claim, part: Part, factor: sp.Expr, change: str = "scaled") -> Claim:
    """The claim with one part multiplied by ``factor`` (0 deletes it, -1 flips its sign), exactly."""
    terms = {**claim.terms, part.term: scaled_term(claim, part, factor)}
    return replace(claim, key=f"{claim.key} ({part.label}, {change})", terms=terms)


def scaled_term(claim: Claim, part: Part, factor: sp.Expr) -> sp.Expr:
    """The term that a part belongs to, with that part multiplied by ``factor``."""
    return replaced_at(sp.sympify(claim.terms[part.term]), part.path, factor * part.expression)


# What an exponent may be off by one of; eta L and kappa are pure numbers, so that no dimension gives the slip away.
BASES = (T, tau, N, L / mu, eta * L)


def slipped(term: sp.Expr) -> Iterator[sp.Expr]:
    """The term with a slip as drafts have: a logarithm dropped, a mean for a maximum, an exponent off by one."""
    if term.has(sp.log):
        yield term.replace(sp.log, lambda *argument: sp.Integer(1))
    if term.has(sp.Max):
        yield term.replace(sp.Max, lambda *of: sp.Add(*of) / len(of))
    for base in BASES:
        if base.free_symbols <= term.free_symbols and base != N:
            yield from (term * base, term / base)
    yield term / N
    if N in term.free_symbols:
        yield term * N
