"""A line of a derivation that is about numbers alone as a lemma of Rocq about real numbers.

Measured quantities, powers with the time in the exponent and sums over the steps are variables. The lemma's
hypotheses are the signs of variables, what defines some of them, that the letters are not negative, and the
facts; Rocq checks each multiplier's sign and that the facts, times these, add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sympy as sp

from fedbounds.evidence.kernel.rocq_terms import rocq
from fedbounds.evidence.symbolic import definitions as of
from fedbounds.theory import symbols as sy
from fedbounds.theory.quantity import measured
from fedbounds.theory.vectors import Centre, Mean, Slack, norm_sq

# A quantity without a symbol: E F(w_{t+1}) - F*.
LOSSES = Mean(of.P, of.loss(of.W_NEXT)) - Mean(of.P, of.loss(of.W_STAR))
GAP_NEXT = measured("gap_next", LOSSES, nonnegative=True)
# ||grad F||^2 at t, t + 1 and T.
AT_T = norm_sq(Centre(of.P, of.grad(of.W_T)))
NOW_AND_NEXT = [AT_T.xreplace({of.W_T: at}) for at in (of.W, of.W_NEXT)]
SLOPE, SLOPE_NEXT = (measured(name, at) for name, at in zip(("slope", "slope_next"), NOW_AND_NEXT, strict=True))
SLOPE_T = sp.Symbol("slope_T", nonnegative=True)
# An earlier step s of the round: its size, and s + gamma.
ETA_S, M_S = (sp.Symbol(name, positive=True) for name in ("eta_s", "m_s"))
# The distances of local models at T, t and t + 1.
MODELS_T, MODELS, MODELS_NEXT = (sp.Symbol(f"models_{name}", nonnegative=True) for name in ("T", "now", "next"))
NAMED = {of.MODELS_T: MODELS_T, of.MODELS: MODELS, of.MODELS_NEXT: MODELS_NEXT}
NAMED |= {**dict(zip(NOW_AND_NEXT, (SLOPE, SLOPE_NEXT), strict=True)), AT_T: SLOPE_T}
NAMED |= {of.GAP_NEXT: GAP_NEXT, of.ETA_S: ETA_S, of.M_S: M_S}
ZERO = sp.Integer(0)
Sides = tuple[sp.Expr, str, sp.Expr]


@dataclass(frozen=True)
class Fact:
    """``low sign high``, how often it is used, and why it holds where the line is used; a bare 1 has no why."""

    multiplier: sp.Expr
    sides: Sides
    why: str


@dataclass
class NumberLine:
    """A line ``sides``: its facts, its letters with what each stands for and why that is not negative, and the
    variables that others define, with what shows that. Those that are ``positive`` are so where they divide.
    """

    name: str
    sides: Sides
    facts: Sequence[Fact]
    letters: Mapping[sp.Symbol, tuple[sp.Expr, str]]
    defined: dict[sp.Symbol, tuple[sp.Expr, str]]
    positive: Sequence[sp.Symbol] = ()
    powers: dict[tuple[sp.Expr, sp.Expr], sp.Symbol] = field(default_factory=dict)

    def plain(self, expression: sp.Expr) -> sp.Expr:
        """An expression with a variable for each power of a time."""

        def variable(power: sp.Expr) -> sp.Expr:
            base, result = power.base, sp.Integer(1)
            for term in sp.Add.make_args(sp.expand(power.exp)):
                number, symbol = term.as_coeff_Mul()
                if symbol == 1:
                    result *= base**number
                else:
                    known = self.powers.setdefault((base, symbol), sp.Symbol(f"power_{len(self.powers)}", real=True))
                    result *= known**number
            return result

        return sp.sympify(expression).replace(lambda one: isinstance(one, sp.Pow) and not one.exp.is_number, variable)

    @property
    def variables(self) -> list[sp.Symbol]:
        found: set[sp.Basic] = set()
        for one in self.facts:
            found |= one.multiplier.free_symbols
            found |= self.plain(one.sides[0]).free_symbols | self.plain(one.sides[2]).free_symbols
        found |= self.plain(self.sides[0]).free_symbols | self.plain(self.sides[2]).free_symbols
        for value, _ in self.letters.values():
            found |= self.plain(value).free_symbols
        for _ in range(3):
            for symbol in set(self.defined) & found:
                found |= self.plain(self.defined[symbol][0]).free_symbols
        return sorted(found - set(self.letters), key=str)

    def signed(self) -> list[sp.Symbol]:
        """The variables whose signs the multipliers and divisors need."""
        defined = {one: self.plain(value) for one, (value, _) in self.defined.items()}
        forms = [self.plain(one.multiplier).xreplace(defined) for one in self.facts]
        forms += [
            self.plain(side) for sides in (self.sides, *(one.sides for one in self.facts)) for side in sides[::2]
        ]
        needed = set().union(*(form.free_symbols for form in forms[: len(self.facts)])) if self.facts else set()
        present = [value for one, value in defined.items() if one in self.variables]
        for form in (*forms, *present):
            for power in form.atoms(sp.Pow):
                needed |= power.free_symbols if power.exp.is_negative else set()
        return [one for one in self.variables if one.is_nonnegative and one in needed]

    def text(self) -> str:
        """The lemma with its proof."""
        self.facts = [replace(one, multiplier=_factored(one.multiplier)) for one in self.facts]
        words = {one.name: one.name for one in (*self.variables, *self.letters)}

        def number(expression: sp.Expr) -> str:
            return rocq(self.plain(expression), words)

        variables = self.variables
        defined = {one: self.defined[one][0] for one in self.defined if one in variables}
        bottoms = set().union(*(one.free_symbols for fact in self.facts for one in bottoms_of(fact.multiplier)))
        every = [*self.sides[::2], *(x for one in self.facts for x in (one.multiplier, *one.sides[::2]))]
        several = any(one.has(sy.N) and one.subs(sy.N, 1) == 0 for side in every for one in bottoms_of(side))
        least = {sy.N: "1 <"} if several else {}  # a claim says nothing where N - 1 is 0
        least |= {
            one: "0 <" for one in self.signed() if one.is_positive or (one in self.positive and one in bottoms)
        } | least
        hypotheses = [f"{least.get(one, '0 <=')} {one}" for one in self.signed()]
        names = [f"S_{one}" for one in self.signed()]
        hypotheses += [f"{one} = {number(value)}" for one, value in defined.items()]
        names += [f"E_{one}" for one in defined]
        hypotheses += [f"0 <= {number(value)}" for value, why in self.letters.values() if why]
        names += [f"K_{one}" for one, (_, why) in self.letters.items() if why]
        facts = [(k, one) for k, one in enumerate(self.facts) if one.why]
        hypotheses += [f"{number(one.sides[0])} {one.sides[1]} {number(one.sides[2])}" for _, one in facts]
        names += [f"V{k}" for k, _ in facts]
        text = f"\nLemma {self.name} : forall ({' '.join(map(str, variables))} : R),\n"
        text += "".join(f"  {one} ->\n" for one in hypotheses)
        text += f"  {number(self.sides[0])} {self.sides[1]} {number(self.sides[2])}.\nProof.\n"
        text += f"  intros {' '.join(map(str, variables))} {' '.join(names)}.\n"
        if self.sides[1] == "<":
            return text + "  first [assumption | lra | nra].\nQed.\n"
        text += "".join(f"  subst {one}.\n" for one in reversed(list(defined)))
        put = {one: self.plain(value) for one, value in defined.items()}
        for _ in range(3):
            put = {one: value.xreplace(put) for one, value in put.items()}
        rest, solved = list[sp.Symbol](), dict[sp.Basic, sp.Expr]()
        for letter, (value, why) in self.letters.items():
            here = sp.expand(self.plain(value).xreplace(put).xreplace(solved))
            text += f"  destruct (letter ({number(here)})) as [{letter} D_{letter}].\n"
            if why:
                equal = f"eapply Rle_trans; [exact K_{letter} | right; field; apart_from_zero]"
                text += f"  assert (P_{letter} : 0 <= {letter}) by (rewrite D_{letter}; first [lra | {equal}]).\n"
            kept = set().union(*(one.multiplier.xreplace(put).xreplace(solved).free_symbols for one in self.facts))
            base = _solvable(letter, here, [one for one in variables if one not in put], kept)
            if base is None:
                rest.append(letter)
            else:
                instead = sp.expand((letter - here.coeff(base, 0)) / here.coeff(base))
                text += f"  assert (B_{base} : {base} = {number(instead)}) by lra. clear D_{letter}. subst {base}.\n"
                solved = {key: old.xreplace({base: instead}) for key, old in solved.items()} | {base: instead}
        text += "".join(self._divisors(put, solved, number))
        for k, one in enumerate(self.facts):
            multiplier = number(self.plain(one.multiplier).xreplace(put).xreplace(solved))
            if one.sides[1] == "=":
                text += f"  apply (equal_less _ _ ({multiplier}) _ _ V{k}).\n"
            else:
                fact = f"V{k}" if one.why else "(Rlt_le _ _ Rlt_0_1)"
                fact = f"(Rlt_le _ _ {fact})" if one.sides[1] == "<" and one.why else fact
                text += f"  apply (less _ _ ({multiplier}) _ _ ltac:(nonneg) {fact}).\n"
        text += "  apply Req_le.\n" + "".join(f"  subst {one}.\n" for one in reversed(rest))
        return text + "  first [ring | field; apart_from_zero].\nQed.\n"

    def _divisors(
        self, put: Mapping[sp.Basic, sp.Expr], solved: Mapping[sp.Basic, sp.Expr], number: Callable[[sp.Expr], str]
    ) -> Iterator[str]:
        """That the divisors are positive, in the letters."""
        found: dict[sp.Expr, None] = {}
        for side in (*(x for one in self.facts for x in (one.multiplier, *one.sides[::2])), *self.sides[::2]):
            found |= dict.fromkeys(bottoms_of(self.plain(side).xreplace(dict(put)).xreplace(dict(solved))))
        for k, one in enumerate(found):
            opened = number(sp.expand(one))
            yield f"  try assert (N{k} : 0 < {number(one)}) by first [divisor\n"
            yield f"    | replace ({number(one)}) with ({opened}) by (field; apart_from_zero); divisor].\n"

    def instance(self, words: Mapping[str, str], sign: str) -> str:
        """The tactic that shows the line where its variables are the words."""
        powers = {one.name: key for key, one in self.powers.items()}

        def word(symbol: sp.Symbol) -> str:
            if symbol.name in powers:
                base, exponent = powers[symbol.name]
                return rocq(base**exponent, words)
            return words[symbol.name]

        variables = self.variables
        why = [sign] * len(self.signed())
        why += [self.defined[one][1] for one in self.defined if one in variables]
        why += [text for _, text in self.letters.values() if text] + [one.why for one in self.facts if one.why]
        tactics = " | ".join(why)
        return f"apply ({self.name} {' '.join(f'({word(one)})' for one in variables)})" + f"; [{tactics}]" * bool(why)


def _solvable(letter: sp.Symbol, value: sp.Expr, among: Sequence[sp.Symbol], kept: set[sp.Basic]) -> sp.Symbol | None:
    """A variable in which a letter's value is linear; one that is kept must have a positive value."""
    for one in among:
        factor, rest = value.coeff(one), value.coeff(one, 0)
        if not factor.is_Rational or factor == 0 or sp.expand(value - factor * one - rest) != 0 or rest.has(one):
            continue
        terms = sp.Add.make_args(sp.expand((letter - rest) / factor))
        if one not in kept or all(term.is_nonnegative for term in terms):
            return one
    return None


def _factored(multiplier: sp.Expr) -> sp.Expr:
    """A multiplier with its divisor in factors."""
    top, bottom = sp.fraction(multiplier)
    return top / sp.factor(bottom) if bottom.is_Add else multiplier


def bottoms_of(expression: sp.Expr) -> Iterator[sp.Expr]:
    """The divisors of an expression."""
    for power in sorted(expression.atoms(sp.Pow), key=sp.default_sort_key):
        if power.exp.is_negative:
            yield power.base


def named(expression: sp.Expr) -> sp.Expr:
    """An expression with symbols for the quantities that have none."""
    expression = sp.sympify(expression)
    letters = {one: sp.Symbol(str(one.args[0]), nonnegative=True) for one in expression.atoms(Slack)}
    return expression.xreplace({**NAMED, **letters})


def number(expression: sp.Expr, words: Mapping[str, str]) -> str:
    """An expression of quantities, powers of a time being powers of that power."""
    line = NumberLine("", (ZERO, "<=", ZERO), (), {}, {})
    plain = line.plain(named(expression))
    return rocq(plain, {**words, **{one.name: f"({rocq(b**e, words)})" for (b, e), one in line.powers.items()}})


def powers_of(sides: tuple[sp.Expr, ...]) -> list[tuple[sp.Expr, sp.Expr]]:
    """Bases, and times in their exponents."""
    found: dict[tuple[sp.Expr, sp.Expr], None] = {}
    for side in sides:
        for power in side.atoms(sp.Pow):
            if not power.exp.is_number:
                found |= dict.fromkeys((power.base, one) for one in power.exp.free_symbols)
    return list(found)


def signed(multiplier: sp.Expr, letter: sp.Symbol) -> bool:
    top, bottom = sp.fraction(sp.together(multiplier))
    return bottom.has(letter) or any(power % 2 for (power,), _ in sp.Poly(sp.expand(top), letter).terms())
