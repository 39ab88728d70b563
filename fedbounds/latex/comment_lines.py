"""What the comment lines of a theorem declare: its notation, assumptions, definitions and step size."""

from __future__ import annotations

import contextlib
import difflib
import re
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import sympy as sp

from fedbounds.errors import Gathered, InputError
from fedbounds.latex import formulas
from fedbounds.latex.assumption_keys import SELECTIONS, every_key, keys, shipped_assumption, states_relation
from fedbounds.latex.declared_notation import Words, constant_of, equation, is_number, parts_of
from fedbounds.latex.formulas import Term
from fedbounds.latex.grammar import neighbouring_sides
from fedbounds.latex.letter_meanings import CONSTANT_STEP, Notation, shipped_names
from fedbounds.latex.marked_theorems import Line, Theorem, between_commas
from fedbounds.latex.sums import STEPS, TO_T, range_ends
from fedbounds.latex.to_quantities import UNNAMED, Setting, in_quantities, unparsed_spellings
from fedbounds.latex.tokens import Token, flat, one_spelling, scanned, spelled, wrong
from fedbounds.plugins import algorithm_named
from fedbounds.theory import points as at
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import FEDAVG
from fedbounds.theory.point_values import same_units
from fedbounds.theory.quantity import Quantity, Scope, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import QUANTITIES, R, T, eta, eta_0, t, tau

RELATIONS = {"<=": sp.Le, "<": sp.Lt, "=": sp.Eq, ">=": sp.Ge, ">": sp.Gt}
# A step line may name the step size that it gives.
ETA = (r"\eta", r"\eta_{t}")


@dataclass(frozen=True)
class CommentLines:
    """The comment lines of a theorem, and the notation that they declare."""

    theorem: Theorem
    words: Words

    @cached_property
    def notation(self) -> Notation:
        names = (
            shipped_names()
            | {(f"quantity {q.name}", ""): q for q in unparsed_spellings().values()}
            | dict(self.words.numbers)
        )
        words = [text for line in self.theorem.of("assume") for text, _ in between_commas(line.text)]
        first = "1" if "1" in self.words.indices and "0" not in self.words.indices else "0"
        start, of_steps = int(self.choice("start", first, ("0", "1"))), r"\bar{w}" in self.let
        steps = TO_T if not start and self._to_the_end() else STEPS[start]
        names |= {("T", ""): T - 1} if steps == TO_T else {}
        names |= {("r", ""): R} if r"r\tau" in self._written or r"(r+1)\tau" in self._written else {}
        averages = "unbiased" in words and not of_steps
        equal = "equal-p" in words
        points = {*pairwise(map(str, flat(self._display)))}
        from_w_0 = steps == STEPS[0] and not points.isdisjoint({("w", "_{0}"), ("w", "^{0}")})
        return Notation(
            names,
            start=start,
            averages=averages,
            of_steps=of_steps,
            equal=equal,
            shared=not {"equal-selection", *SELECTIONS}.isdisjoint(words),
            from_w_0=from_w_0,
            together="one-local-step" in words,
            steps=steps,
        )

    @cached_property
    def _display(self) -> list[Token]:
        """The display in the notation of the table; nothing where it cannot be read."""
        with contextlib.suppress(InputError):
            return self.words.of(self.theorem.spelled(self.theorem.display))
        return []

    @property
    def _written(self) -> set[str]:
        return {spelled(token.inside) for token in self._display}

    def _to_the_end(self) -> bool:
        """Whether a sum or a least value of the display runs from 0 to T itself, and so over T + 1 steps."""
        for k, token in enumerate(self._display):
            scripts = {script.text: spelled(script.inside) for script in self._display[k + 1 : k + 3]}
            if (
                token.text in (r"\sum", r"\min")
                and range_ends(scripts.get("_", ""), scripts.get("^", ""))[1:] == TO_T
            ):
                return True
        return False

    def declared(self, *verbs: str) -> Iterable[tuple[Token, list[Token], list[Token]]]:
        """The name, its scripts and its body in every such line that can be read."""
        for line in (line for verb in verbs for line in self.theorem.of(verb)):
            with contextlib.suppress(InputError):
                for part in parts_of(line, self.theorem):
                    if not is_number(part):
                        (name, *scripts), body = equation(part, line)
                        yield name, scripts, body

    def value(self, tokens: Sequence[Token], setting: Setting, place: Token) -> sp.Expr:
        return in_quantities([Term(formulas.value(self.words.of(tokens), self.notation), place)], setting)[0]

    def assumptions(self) -> tuple[Assumption, ...]:
        result: dict[str, Assumption] = {}
        faults = Gathered()
        for line in self.theorem.of("assume"):
            for text, column in between_commas(line.text):
                with faults.caught():
                    part = replace(line, text=text, column=line.column + column)
                    result |= {item.key: item for item in self.assumed(part)}
        faults.raise_all()
        return tuple(result.values())

    def assumed(self, line: Line) -> list[Assumption]:
        """What a part of a line assumes: by a key, or as a relation between symbols; of a chain each of them."""
        if (shipped := shipped_assumption(line.text)) is not None:
            return [shipped]
        related = list(neighbouring_sides(self.theorem.spelled(line.tokens())))
        if not related:
            near = ", ".join(difflib.get_close_matches(line.text, every_key(), 3, 0.3)) or "smooth"
            raise wrong(line.place, "an assumption must be known", f"nearest: {near}; or write a relation")
        result = [item for pair in related if (item := self.relation(*pair)) is not None]
        if not result:
            raise wrong(line.place, "an assumption must restrict something", "leave it out")
        return result

    def relation(self, left: Sequence[Token], sign: Token, right: Sequence[Token]) -> Assumption | None:
        """An assumption that is a relation between symbols; None where it holds by their signs."""
        inequality = self._sympy_relation(left, sign, right)
        decided = inequality.func(*inequality.args)
        if decided is sp.true:
            return None
        if decided is sp.false:
            raise wrong(sign, "an assumption must be met somewhere", "correct it")
        for key in keys().values():
            if key.relation == inequality or (len(key.parts) == 1 and states_relation(key, inequality)):
                return key
        text = f"{inequality.lhs} {sign.text} {inequality.rhs}"
        return Assumption(text, text, _without_divisors(inequality))

    def _sympy_relation(self, left: Sequence[Token], sign: Token, right: Sequence[Token]) -> Any:
        """A relation between symbols as one of sympy's; of two points, that they are one."""
        if sign.text not in RELATIONS:
            raise wrong(sign, "an assumption is made of =, <, >, \\le and \\ge", "write one of them")
        ours, _, theirs = formulas.sides(self.words.of([*left, sign, *right]), self.notation)
        values = [sp.Add(*(term.value for term in side)) for side in (ours, theirs)]
        if sign.text == "=" and all(map(at.is_vector, values)):
            between = values[1] - values[0]
            between = -between if between.could_extract_minus_sign() else between
            ours, theirs = [Term(at.norm_sq(between), sign)], [Term(sp.S.Zero, sign)]
        # \eta alone is any step, \eta_0 the first unless all are one.
        plain = {CONSTANT_STEP: eta} | ({eta_0: eta} if self.constant_steps else {})
        several = [[Term(x.value.xreplace(plain), x.place) for x in side] for side in (ours, theirs)]
        sides = [sp.Add(*in_quantities(side, Setting(frozenset()))) for side in several]
        require_same_units(sides, sign)
        return RELATIONS[sign.text](*sides, evaluate=False)

    @property
    def constant_steps(self) -> bool:
        """Whether the comment lines say that all steps are one."""
        return any("constant-steps" in line.text for line in self.theorem.of("assume")) or any(
            all(token.text not in ("t", "T", "R") for token in line.tokens()) for line in self.theorem.of("step")
        )

    def definitions(self, setting: Setting) -> dict[sp.Symbol, sp.Expr]:
        result = {}
        faults = Gathered()
        for name, scripts, body in self.declared("where"):
            if (constant := constant_of(name, scripts)) is not None:
                with faults.caught():
                    result[constant] = self.value(body, setting, name)
        faults.raise_all()
        return result

    def step(self, setting: Setting, constant: bool) -> sp.Expr | None:
        lines = self.theorem.of("step")
        if not lines:
            return eta_0 if constant else None
        if len(lines) > 1:
            raise wrong(lines[1].place, "a theorem has one step size", "keep one line")
        tokens = self.theorem.spelled(lines[0].tokens())
        for left, sign, right in neighbouring_sides(tokens):
            if "".join(map(str, left)) not in ETA or sign.text != "=":
                remedy = f"assume {lines[0].text}" if sign.text != "=" else "step, and the step size alone"
                raise wrong(sign, "a step line holds one step size", f"write % fedbounds: {remedy}")
            tokens = list(right)
        step = self.value(tokens, setting, lines[0].place)
        step = step.xreplace({R: T / tau})  # the steps of a horizon's last round, for a step size tuned to it
        if constant and t in step.free_symbols:
            raise wrong(lines[0].place, r"\eta without an index must be one step size for all steps", r"write \eta_t")
        if not self.theorem.of("units"):
            require_same_units((eta, step), lines[0].place)
        return step

    @cached_property
    def let(self) -> set[str]:
        """The letters of the table that a let names."""
        parts = [part for line in self.theorem.of("let") for part in parts_of(line, self.theorem)]
        return {part[-1].text for part in parts if part}

    def text(self, verb: str, default: str) -> str:
        return next((line.text for line in self.theorem.of(verb) if line.text), default)

    def algorithm(self) -> str:
        text = self.text("algorithm", FEDAVG)
        try:
            algorithm_named(text)
        except InputError as fault:
            what, _, remedy = str(fault).partition(f", but received {text!r}: ")
            place = self.theorem.of("algorithm")[0].place
            raise wrong(place, what, remedy.rstrip(".") or "use a known one") from None
        return text

    def reading(self) -> str:
        return self.choice("reading", "plain", READINGS)

    def scope(self) -> str:
        """The scope that a line names, "" where none does."""
        return self.choice("scope", "", typing.get_args(Scope))

    def choice(self, verb: str, default: str, choices: Iterable[str]) -> str:
        lines = self.theorem.of(verb)
        if lines and lines[0].text not in choices:
            raise wrong(lines[0].place, f"the {verb} must be known", f"use one of {', '.join(choices)}")
        return lines[0].text if lines else default

    @property
    def start(self) -> Token:
        return Token(self.theorem.label, self.theorem.line, 1)

    def _equations(self) -> Iterable[tuple[Sequence[Token], Sequence[Token]]]:
        """What the comment lines define: the names of let and where, and the step size."""
        for name, scripts, body in self.declared("let", "where"):
            yield [name, *scripts], body
        for line in self.theorem.of("step"):
            for step in (r"\eta_t", r"\eta"):
                yield one_spelling(scanned(step, 1)), self.theorem.spelled(line.tokens())

    def define(self, left: Sequence[Token], sign: Token, right: Sequence[Token]) -> bool:
        """Whether a comment line defines the left side of an equation, and as the right one."""
        for name, body in self._equations() if sign.text == "=" else ():
            if spelled(name) == spelled(left):
                return spelled(body) == spelled(right) or self._equal(body, right)
        return False

    def _equal(self, first: Sequence[Token], other: Sequence[Token]) -> bool:
        values = (formulas.value(self.words.of(side), self.notation) for side in (first, other))
        return sp.cancel(sp.Add(next(values), -next(values))) == 0

    def author_names(self, setting: Setting) -> dict[Quantity, Quantity]:
        """Quantities that have no name in the table, by the author's: V_t becomes V, and V_{t+1} V_next."""
        named: dict[Quantity, Quantity] = {}
        inside = replace(setting, in_expectation=True)
        for name, scripts, _ in self.declared("let", "where"):
            for time, suffix in (("t", ""), ("t+1", "_next"), ("T", "_T")) if scripts else (("", ""),):
                short = [name, *(replace(script, inside=tuple(scanned(time, 1))) for script in scripts)]
                text = re.sub(r"\W+", "_", name.text).strip("_") + suffix
                with contextlib.suppress(InputError):
                    value = self.value(short, inside, name)
                    if isinstance(value, Quantity) and value.name.startswith(UNNAMED):
                        named.setdefault(value, measured(text, value.expression, latex=spelled(short)))
        return named


def _without_divisors(relation: Any) -> Any:
    """eta <= 1/(4 L) as L eta <= 1/4, where the divisors are positive: the form that proofs use."""
    divisor = sp.Mul(*(sp.fraction(sp.together(side))[1].as_coeff_Mul()[1] for side in relation.args))
    if divisor == 1 or not divisor.is_positive:
        return relation
    return relation.func(*(sp.cancel(side * divisor) for side in relation.args), evaluate=False)


def require_same_units(parts: Sequence[sp.Expr], place: Token) -> None:
    try:
        same_units(parts)
    except InputError as fault:
        symbols = [q for part in parts for q in sp.sympify(part).free_symbols]
        letters = {q.name: q.latex for q in (*symbols, *QUANTITIES.values()) if isinstance(q, Quantity)}
        named = re.sub(r"[A-Za-z]\w*", lambda m: letters.get(m[0], m[0]), str(fault))
        what, _, units = named.rpartition(": ")[0].partition(", but received ")
        remedy = "correct it, or add % fedbounds: units as written"
        raise wrong(replace(place, text=units), what, remedy) from None
