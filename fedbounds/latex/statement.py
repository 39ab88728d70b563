"""A marked theorem as a claim: what its display and its comment lines say."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import sympy as sp

from fedbounds.errors import Gathered, InputError, InputErrors
from fedbounds.latex import formulas
from fedbounds.latex.assumption_keys import every_key, what_constants_lack
from fedbounds.latex.averaged_models import of_means
from fedbounds.latex.comment_lines import CommentLines, require_same_units
from fedbounds.latex.declared_notation import DECLARES, words_of
from fedbounds.latex.formulas import Term
from fedbounds.latex.grammar import without_conditions
from fedbounds.latex.hypotheses import hypotheses_of_text, limits_unspoken_times
from fedbounds.latex.letter_meanings import AFTER_A_ROUND, AVERAGE, CONSTANT_STEP, UNKNOWN, as_letters
from fedbounds.latex.marked_theorems import Theorem
from fedbounds.latex.points_as_iterates import at_iterates
from fedbounds.latex.sums import ETA_AVERAGE, RUN_SUMS, STEP_AVERAGE, TO_T
from fedbounds.latex.to_quantities import F_star_on_both_sides, Setting, in_quantities, scopes_of
from fedbounds.latex.tokens import MisreadError, Token, wrong
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.claim_validation import gamma_from_steps, require_met
from fedbounds.theory.quantity import Quantity, Scope
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, T, eta, eta_0, gap_0, t, tau
from fedbounds.theory.vectors import Vec

USUAL = "{0} is read as {1}, which no line declares: where it is another, add % fedbounds: let {0} = ..."
ORDER = ("O", "(", "1", "/", "T", ")")


def claim_of(theorem: Theorem) -> Claim:
    """The claim that a marked theorem states; all errors are raised together."""
    faults = Gathered(theorem.faults)
    try:
        return _Reader(theorem, CommentLines(theorem, words_of(theorem, faults))).claim(faults)
    except RecursionError:
        raise wrong(
            Token(theorem.label, theorem.line, 1), "a theorem may not be so deep", "write it flatter"
        ) from None


class _Statement(NamedTuple):
    """What a display says; ``constant`` where one step size is meant for all steps."""

    kind: Kind
    lhs: sp.Expr
    terms: list[sp.Expr]
    scopes: set[str]
    constant: bool
    counted: dict[sp.Expr, sp.Expr]
    limits: list[Assumption]


NOTHING = _Statement(Kind.RATE, sp.S.Zero, [], set(), False, {}, [])
# Of what is said of w_tau^i.
FIRST_ROUND = Assumption("first-round", "t is the last local step of the first round", sp.Eq(t, tau - 1))
# Of a sum of T + 1 terms, which is not empty.
A_TERM = Assumption("a-term", "T >= 1", sp.Ge(T, 1))


@dataclass(frozen=True)
class _Reader:
    """One theorem on its way to a claim."""

    theorem: Theorem
    lines: CommentLines

    def claim(self, faults: Gathered) -> Claim:
        """The claim; ``faults`` are those of its comment lines so far, raised with all others."""
        declared_by = [
            fault.token.text for fault in faults if isinstance(fault, MisreadError) and DECLARES in str(fault)
        ]
        assumed: tuple[Assumption, ...] | None = None
        with faults.caught():
            assumed = self.lines.assumptions()
        # What an unread line might have assumed is taken for granted until that line is mended.
        keys_assumed = every_key() if assumed is None else (item.key for item in assumed)
        setting = Setting(frozenset(keys_assumed), bool(self.theorem.of("in")))
        statement = NOTHING
        if self.theorem.display:
            with faults.caught():
                statement = self._statement(setting)
        definitions: dict[sp.Symbol, sp.Expr] = {}
        with faults.caught():
            definitions = self.lines.definitions(setting)
        step = None
        with faults.caught():
            step = self.lines.step(setting, statement.constant)
        for field in (
            self.lines.algorithm,
            self.lines.reading,
            self.lines.scope,
            partial(self._named, statement.terms),
        ):
            with faults.caught():
                field()
        _each_once(faults, declared_by).raise_all()
        return self._stated(statement, assumed or (), definitions, step)

    def _statement(self, setting: Setting) -> _Statement:
        """What the display says."""
        tokens, faults = self._display(), Gathered()
        with faults.caught():
            tokens = of_means(self.lines, tokens)
        if faults:
            with faults.caught():
                formulas.sides(tokens, self.lines.notation)
            faults.raise_all()
        kind = Kind.RATE
        if tuple(map(str, tokens[-6:])) == ORDER and len(tokens) > 7 and tokens[-7].text == "=":
            left = [Term(formulas.value(tokens[:-7], self.lines.notation), tokens[0])]
            right = [Term(sp.S.Zero, tokens[0])]
        else:
            left, relation, right = formulas.sides(tokens, self.lines.notation)
            if relation.text in "<>":
                raise wrong(relation, "a strict inequality cannot be judged", r"write \le")
            kind = Kind.IDENTITY if relation.text == "=" else Kind.INEQUALITY
            left, right = (right, left) if relation.text == ">=" else (left, right)
        left, right, setting, limits = at_iterates(left, right, setting)
        parts = [term.value for term in (*left, *right)]
        sides, common = list[list[sp.Expr]](), sp.S.Zero
        with faults.caught():
            common = F_star_on_both_sides((left, right), setting)
        for side in (left, right):
            with faults.caught():
                sides.append(in_quantities(side, setting, common))
        faults.raise_all()
        named = self.lines.author_names(setting)
        lhs, terms = sp.Add(*sides[0]).xreplace(named), [term.xreplace(named) for term in sides[1]]
        scopes = set().union(*map(scopes_of, parts))
        constant = any(x.has(CONSTANT_STEP) for x in parts)
        limits += [FIRST_ROUND] * any(x.has(AFTER_A_ROUND) for x in parts)
        limits += [A_TERM] * (self.lines.notation.steps == TO_T)
        # One step size for all is that of the step where nothing of the start is said: more evidence knows it.
        if constant and scopes == {"step"} and not any(x.has(t, Delta_0, gap_0) for x in (lhs, *terms)):
            lhs, *terms = (x.xreplace({eta_0: eta}) for x in (lhs, *terms))
        return _Statement(kind, lhs, terms, scopes, constant, self._counted(parts), limits)

    def _stated(
        self,
        content: _Statement,
        assumed: tuple[Assumption, ...],
        definitions: dict[sp.Symbol, sp.Expr],
        step: sp.Expr | None,
    ) -> Claim:
        """The claim of what the display and the comment lines say."""
        lhs, terms = content.lhs.xreplace(content.counted), [term.xreplace(content.counted) for term in content.terms]
        step = None if step is None else step.xreplace(content.counted)
        defined = definitions | gamma_from_steps(step, definitions)
        faults = self._lacking((lhs, *terms), (*definitions.values(), step or 0), set(defined), assumed)
        scope: Scope = "constant"
        with faults.caught():
            scope = self._scope(content.scopes, (lhs, *terms))
        faults.raise_all()
        further, unread = hypotheses_of_text(self.lines, assumed, scope)
        unread += [USUAL.format(letter, meant) for letter, meant in self.lines.words.usual.items()]
        for item in assumed:
            if limits_unspoken_times(item, scope):
                what = f"{item.statement} limits other times than this speaks of"
                raise wrong(self.lines.start, what, "write it by T of w_T, by t of w_t")
        every = (*assumed, *further, *content.limits)
        assumed = tuple(item.with_values(content.counted) if item.limits_times else item for item in every)
        try:
            claim = Claim(
                key=self.theorem.label,
                title=self.lines.text("title", self.theorem.label),
                source=self.lines.text("source", "a theorem file"),
                scope=scope,
                lhs=lhs,
                terms=self._named(terms),
                kind=content.kind,
                units="as written" if self.theorem.of("units") else "checked",
                assumptions=assumed,
                definitions=defined,
                eta=step,
                readings=(self.lines.reading(),),
                algorithm=self.lines.algorithm(),
                unread=tuple(unread),
                from_text=tuple(item.statement for item in further),
            )
            require_met(claim, READINGS[claim.readings[-1]])
            return claim
        except InputError as fault:
            raise MisreadError(f"line {self.theorem.line}, column 1: {fault}", self.lines.start) from None

    def _lacking(
        self,
        sides: Sequence[sp.Expr],
        others: Sequence[sp.Expr | int],
        defined: set[sp.Symbol],
        assumed: Sequence[Assumption],
    ) -> Gathered:
        """What constants lack, a value or a meaning; where they lack nothing, whether units differ."""
        used = {symbol for x in (*sides, *others) for symbol in sp.sympify(x).free_symbols}
        keys = frozenset(item.key for item in assumed)
        lacking = what_constants_lack(used, defined, keys, self.lines.let, self.lines.words.numbers.values())
        faults = Gathered(wrong(self.lines.start, *fault) for fault in lacking)
        if not faults and not self.theorem.of("units"):
            with faults.caught():
                require_same_units(sides, self.theorem.display[0])
        return faults

    def _counted(self, parts: Sequence[sp.Expr]) -> dict[sp.Expr, sp.Expr]:
        """What t and T become where the author's steps count from 1: w_T is then reached after T - 1 steps."""
        if not self.lines.notation.start:
            return {}
        sums = any(x.has(*RUN_SUMS, STEP_AVERAGE, ETA_AVERAGE) for x in parts)
        if sums and any("w_{T}" in str(vector) for x in parts for vector in x.atoms(Vec)):
            raise wrong(
                self.lines.start, "start 1 cannot count both the terms of a sum and the steps to w_T", "count from 0"
            )
        return {t: t + 1} if sums else {t: t + 1, T: T + 1}

    def _display(self) -> list[Token]:
        tokens = as_letters(self.lines.words.of(self.theorem.stated()))
        tokens = without_conditions(tokens) if self.theorem.of("in") else tokens
        while tokens and tokens[-1].text in (".", ",", ";"):
            tokens.pop()
        return tokens

    def _scope(self, scopes: set[str], parts: Sequence[sp.Expr]) -> Scope:
        quantities = [q for x in parts for q in x.free_symbols if isinstance(q, Quantity)]
        scopes = scopes | {q.scopes[0] for q in quantities if len(q.scopes) == 1}
        if declared := self.lines.scope():
            return typing.cast(Scope, declared)
        if len(scopes) > 1:
            what = f"a theorem ranges over one of {', '.join(sorted(scopes))}"
            raise wrong(self.lines.start, what, "write w_t or w_T, or add % fedbounds: scope ...")
        return typing.cast(Scope, next(iter(scopes), "step" if any(q.scopes for q in quantities) else "constant"))

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


def _each_once(faults: Gathered, declared_by: Iterable[str]) -> Gathered:
    """The errors, of a letter or a kind the first, and none of a letter in a line that itself declares nothing."""
    result, content = Gathered(), set[str]()
    for fault in InputErrors(faults).faults:
        what = str(fault)
        if isinstance(fault, MisreadError) and (UNKNOWN in what or AVERAGE in what):
            what = fault.token.text.partition("_{")[0]
            if any(what in line for line in declared_by):
                continue
        elif isinstance(fault, MisreadError):
            what = re.sub(r"line \d+, column \d+: |, but received [^:]*: ", "", what)
        if what not in content:
            result.append(fault)
        content.add(what)
    return result
