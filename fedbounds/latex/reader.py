"""A theorem file as claims: what each display and its comment lines say."""

from __future__ import annotations

import contextlib
import difflib
import re
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import sympy as sp

from fedbounds.errors import InputError, reject
from fedbounds.latex import formulas
from fedbounds.latex.assumed import every_key, keys, missing, same, shipped_assumption
from fedbounds.latex.letters import CONSTANT_STEP, MEANS, Notation, shipped_names
from fedbounds.latex.meanings import UNNAMED, Setting, meant, on_both, phrases, scopes_of
from fedbounds.latex.notation import Words, constant_of, equation, is_number, parts_of, words_of
from fedbounds.latex.source import Line, Theorem, between_commas, theorems, theorems_in
from fedbounds.latex.sums import AVERAGE, ETA_AVERAGE, RUN_SUMS
from fedbounds.latex.tokens import Token, expanded, flat, normal, scanned, spelled, wrong
from fedbounds.latex.unread import unread
from fedbounds.plugins import algorithm_named
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import FEDAVG, Claim, Kind
from fedbounds.theory.expressions import offset
from fedbounds.theory.quantity import Quantity, Scope, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import R, T, eta, eta_0, t, tau
from fedbounds.theory.units import same_units
from fedbounds.theory.vectors import Vec

RELATIONS = {"<=": sp.Le, "<": sp.Lt, "=": sp.Eq, ">=": sp.Ge, ">": sp.Gt}
# Files that are read as LaTeX.
LATEX = (".tex", ".md")
ORDER = ("O", "(", "1", "/", "T", ")")


def read(path: str | Path, theorem: str | None = None) -> dict[str, Claim]:
    """Label -> claim of every marked theorem of a LaTeX file, or of one.

    >>> read("draft.tex")["thm:main"].scope
    'step'
    """
    result = {item.label: item for item in theorems(path)}
    if theorem is not None and theorem not in result:
        raise reject(f"the marked theorems of {path} are {', '.join(result)}", repr(theorem), "name one of them")
    return {label: claim_of(item) for label, item in result.items() if theorem in (None, label)}


def read_text(text: str) -> dict[str, Claim]:
    """Label -> claim of every marked theorem of a text."""
    return {item.label: claim_of(item) for item in theorems_in(text)}


def claim_of(theorem: Theorem) -> Claim:
    """The claim that a marked theorem states."""
    try:
        return _Reader(theorem, words_of(theorem)).claim()
    except RecursionError:
        raise wrong(
            Token(theorem.label, theorem.line, 1), "a theorem may not be so deep", "write it flatter"
        ) from None


@dataclass(frozen=True)
class _Reader:
    """One theorem on its way to a claim."""

    theorem: Theorem
    words: Words

    @property
    def notation(self) -> Notation:
        names = (
            shipped_names() | {(f"quantity {q.name}", ""): q for q in phrases().values()} | dict(self.words.numbers)
        )
        return Notation(names, start=int(self._choice("start", "0", ("0", "1"))))

    def claim(self) -> Claim:
        assumed = self._assumptions()
        setting = Setting(frozenset(item.key for item in assumed), bool(self.theorem.of("in")))
        tokens = self._display()
        place = tokens[0] if tokens else self._start
        kind = Kind.RATE
        if tuple(map(str, tokens[-6:])) == ORDER and len(tokens) > 7 and tokens[-7].text == "=":
            left, right = [formulas.value(tokens[:-7], self.notation)], [sp.Integer(0)]
        else:
            left, relation, right = formulas.sides(tokens, self.notation)
            if relation.text in "<>":
                raise wrong(relation, "a strict inequality cannot be judged", r"write \le")
            kind = Kind.IDENTITY if relation.text == "=" else Kind.INEQUALITY
            left, right = (right, left) if relation.text == ">=" else (left, right)
        scopes = set().union(*map(scopes_of, (*left, *right)))
        counted = self._counted((*left, *right))
        constant = any(x.has(CONSTANT_STEP) for x in (*left, *right))
        common = on_both((left, right), setting, place)
        lhs, terms = sp.Add(*meant(left, setting, place, common)), meant(right, setting, place, common)
        named = self._author_names(setting)
        lhs, terms = lhs.xreplace(named), [term.xreplace(named) for term in terms]
        definitions, step = self._definitions(setting), self._step(setting, constant)
        lhs, terms = lhs.xreplace(counted), [term.xreplace(counted) for term in terms]
        step = None if step is None else step.xreplace(counted)
        used = {
            symbol for x in (lhs, *terms, *definitions.values(), step or 0) for symbol in sp.sympify(x).free_symbols
        }
        defined = definitions | offset(step, definitions)
        if fault := missing(used, set(defined), setting.assumed, self._let(), self.words.numbers.values()):
            raise wrong(self._start, *fault)
        if not self.theorem.of("units"):
            _same_units((lhs, *terms), place)
        return Claim(
            key=self.theorem.label,
            title=self._text("title", self.theorem.label),
            source=self._text("source", "a theorem file"),
            scope=self._scope(scopes, (lhs, *terms)),
            lhs=lhs,
            terms=self._named(terms),
            kind=kind,
            units="as written" if self.theorem.of("units") else "checked",
            assumptions=assumed,
            definitions=defined,
            eta=step,
            readings=(self._choice("reading", "plain", READINGS),),
            algorithm=self._algorithm(),
            unread=unread(self.theorem, partial(self._covered, assumed)),
        )

    def _counted(self, parts: Sequence[sp.Expr]) -> dict[sp.Expr, sp.Expr]:
        """What t and T become where the author's steps count from 1: w_T is then reached after T - 1 steps."""
        if not self.notation.start:
            return {}
        sums = any(x.has(*RUN_SUMS, AVERAGE, ETA_AVERAGE) for x in parts)
        if sums and any("w_{T}" in str(vector) for x in parts for vector in x.atoms(Vec)):
            raise wrong(
                self._start, "start 1 cannot count both the terms of a sum and the steps to w_T", "count from 0"
            )
        return {t: t + 1} if sums else {t: t + 1, T: T + 1}

    def _covered(
        self, assumed: Sequence[Assumption], left: Sequence[Token], relation: Token, right: Sequence[Token]
    ) -> bool:
        """Whether the comment lines, or the signs of its symbols, give a relation of the text."""
        for name, body in self._equations() if relation.text == "=" else ():
            if spelled(name) == spelled(left):
                return spelled(body) == spelled(right) or self._equal(body, right)
        said = self._said([*left, relation, *right], relation)
        said = said.reversed if isinstance(said, sp.Ge | sp.Gt) else said
        true = said.func(*said.args) is sp.true
        return true or any(item.relation == said or (len(item.parts) == 1 and same(item, said)) for item in assumed)

    def _declared(self) -> Iterable[tuple[list[Token], list[Token]]]:
        for line in (*self.theorem.of("let"), *self.theorem.of("where")):
            yield from (equation(part, line) for part in parts_of(line, self.theorem) if not is_number(part))

    def _equations(self) -> Iterable[tuple[Sequence[Token], Sequence[Token]]]:
        """What the comment lines define: the names of let and where, and the step size."""
        yield from self._declared()
        for line in self.theorem.of("step"):
            for name in (r"\eta_t", r"\eta"):
                yield normal(scanned(name, 1)), normal(expanded(line.tokens(), self.theorem.macros))

    def _equal(self, one: Sequence[Token], other: Sequence[Token]) -> bool:
        values = (formulas.value(self.words.of(side), self.notation) for side in (one, other))
        return sp.cancel(sp.Add(next(values), -next(values))) == 0

    @property
    def _start(self) -> Token:
        return Token(self.theorem.label, self.theorem.line, 1)

    def _display(self) -> list[Token]:
        tokens = self.words.of(normal(expanded(self.theorem.display, self.theorem.macros)))
        while tokens and tokens[-1].text in (".", ",", ";"):
            tokens.pop()
        for mean, time in pairwise(flat(tokens)):
            if mean.text == r"\bar{w}" and str(time) in ("_{T}", "^{T}") and mean.text not in self._let():
                raise wrong(mean, r"is \bar{w}_T the mean over steps or over clients", MEANS.format(mean.text))
        return tokens

    def _value(self, tokens: Sequence[Token], setting: Setting, place: Token) -> sp.Expr:
        return meant([formulas.value(self.words.of(tokens), self.notation)], setting, place)[0]

    def _assumptions(self) -> tuple[Assumption, ...]:
        result: dict[str, Assumption] = {}
        for line in self.theorem.of("assume"):
            for text, column in between_commas(line.text):
                place = Token(text, line.line, line.column + column)
                one = shipped_assumption(text) or self._relation(
                    replace(line, text=text, column=line.column + column), place
                )
                result[one.key] = one
        return tuple(result.values())

    def _relation(self, line: Line, place: Token) -> Assumption:
        """An assumption that is a relation between symbols."""
        tokens = normal(expanded(line.tokens(), self.theorem.macros))
        if not any(token.text in RELATIONS for token in tokens):
            near = ", ".join(difflib.get_close_matches(line.text, every_key(), 3, 0.3)) or "smooth"
            raise wrong(place, "an assumption must be known", f"nearest: {near}; or write a relation")
        said = self._said(tokens, place)
        for key in keys().values():
            if key.relation == said or (len(key.parts) == 1 and same(key, said)):
                return key
        relation = next(token for token in tokens if token.text in RELATIONS)
        text = f"{said.lhs} {relation.text} {said.rhs}"
        try:
            return Assumption(text, text, said)
        except (TypeError, ValueError):
            raise wrong(place, "an assumption must restrict something", "leave it out") from None

    def _said(self, tokens: Sequence[Token], place: Token) -> Any:
        """A relation between symbols as one of sympy's."""
        left, relation, right = formulas.sides(self.words.of(tokens), self.notation)
        sides = [sp.Add(*meant(side, Setting(frozenset()), place)).subs(eta_0, eta) for side in (left, right)]
        _same_units(sides, place)
        return RELATIONS[relation.text](*sides, evaluate=False)

    def _author_names(self, setting: Setting) -> dict[Quantity, Quantity]:
        """Quantities that have no name in the table, by the author's: V_t becomes V, and V_{t+1} V_next."""
        named: dict[Quantity, Quantity] = {}
        inside = replace(setting, in_expectation=True)
        for name, *scripts in (left for left, _ in self._declared()):
            for at, suffix in (("t", ""), ("t+1", "_next"), ("T", "_T")) if scripts else (("", ""),):
                short = [name, *(replace(script, inside=tuple(scanned(at, 1))) for script in scripts)]
                text = re.sub(r"\W+", "_", name.text).strip("_") + suffix
                with contextlib.suppress(InputError):
                    value = self._value(short, inside, name)
                    if isinstance(value, Quantity) and value.name.startswith(UNNAMED):
                        named.setdefault(value, measured(text, value.expression, latex=spelled(short)))
        return named

    def _definitions(self, setting: Setting) -> dict[sp.Symbol, sp.Expr]:
        result = {}
        for line in self.theorem.of("where"):
            for part in parts_of(line, self.theorem):
                (name, *scripts), body = equation(part, line)
                if (constant := constant_of(name, scripts)) is not None:
                    result[constant] = self._value(body, setting, name)
        return result

    def _step(self, setting: Setting, constant: bool) -> sp.Expr | None:
        lines = self.theorem.of("step")
        if not lines:
            return eta_0 if constant else None
        if len(lines) > 1:
            raise wrong(lines[1].place, "a theorem has one step size", "keep one line")
        tokens = normal(expanded(lines[0].tokens(), self.theorem.macros))
        step = self._value(tokens, setting, lines[0].place)
        step = step.xreplace({R: T / tau})  # the steps of a horizon's last round, for a step size tuned to it
        if constant and t in step.free_symbols:
            raise wrong(lines[0].place, r"\eta without an index must be one step size for all steps", r"write \eta_t")
        if not self.theorem.of("units"):
            _same_units((eta, step), lines[0].place)
        return step

    def _let(self) -> set[str]:
        """The letters of the table that a let names."""
        parts = [part for line in self.theorem.of("let") for part in parts_of(line, self.theorem)]
        return {part[-1].text for part in parts}

    def _scope(self, scopes: set[str], parts: Sequence[sp.Expr]) -> Scope:
        lines = self.theorem.of("scope")
        known = [q for x in parts for q in x.free_symbols if isinstance(q, Quantity)]
        scopes = scopes | {q.scopes[0] for q in known if len(q.scopes) == 1}
        if lines:
            return typing.cast(Scope, self._choice("scope", "", typing.get_args(Scope)))
        if len(scopes) > 1:
            what = f"a theorem ranges over one of {', '.join(sorted(scopes))}"
            raise wrong(self._start, what, "write w_t or w_T, or add % fedbounds: scope ...")
        return typing.cast(Scope, next(iter(scopes), "step" if any(q.scopes for q in known) else "constant"))

    def _named(self, terms: Sequence[sp.Expr]) -> dict[str, sp.Expr]:
        names = [name.strip() for line in self.theorem.of("terms") for name in line.text.split(",")]
        if terms == [0] and not names:
            names = ["floor"]
        if not names:
            names = [f"term {k + 1}" for k in range(len(terms))]
        if len(names) != len(terms) or len(set(names)) < len(names):
            place = self.theorem.of("terms")[0].place
            raise wrong(
                place, f"the right side has {len(terms)} terms, each with a name of its own", "name each once"
            )
        return dict(zip(names, terms, strict=True))

    def _text(self, verb: str, default: str) -> str:
        return next((line.text for line in self.theorem.of(verb) if line.text), default)

    def _algorithm(self) -> str:
        text = self._text("algorithm", FEDAVG)
        try:
            algorithm_named(text)
        except InputError as fault:
            what, _, remedy = str(fault).partition(f", but received {text!r}: ")
            place = self.theorem.of("algorithm")[0].place
            raise wrong(place, what, remedy.rstrip(".") or "use a known one") from None
        return text

    def _choice(self, verb: str, default: str, known: Iterable[str]) -> str:
        lines = self.theorem.of(verb)
        if lines and lines[0].text not in known:
            raise wrong(lines[0].place, f"the {verb} must be known", f"use one of {', '.join(known)}")
        return lines[0].text if lines else default


def _same_units(parts: Iterable[sp.Expr], place: Token) -> None:
    try:
        same_units(parts)
    except InputError as fault:
        what = str(fault).partition(", but received")[0]
        raise wrong(place, what, "correct it, or add % fedbounds: units as written") from None
