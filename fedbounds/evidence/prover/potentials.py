"""The last iterate of gradient descent, by a potential of gap, distance and slope with polynomials in t as weights.

The potential is the start's quantity at t = 0, does not rise in a step, and at T is at least what the claim bounds,
over the bound. Its weights and the multipliers of both inequalities are found in one programme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from typing import Any

import sympy as sp

from fedbounds.evidence.prover import certificate_search, facts, forms, inequality
from fedbounds.evidence.prover.goal import SAME_STEP, Goal
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.prover.run_setting import ROOM, L, Proposal, Setting, T, eta, t
from fedbounds.evidence.prover.step_facts import SLACK, TIME, small
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import GAP_NEXT, W_NEXT, W_STAR, W_T, P, W
from fedbounds.theory import symbols as sy
from fedbounds.theory.path_quantities import mean_slope_sq
from fedbounds.theory.vectors import norm_sq


@dataclass(frozen=True)
class Term:
    """What a potential is made of: at T, t and t + 1, and its power of joule, with eta for a unit."""

    last: sp.Expr
    now: sp.Expr
    next: sp.Expr
    power: int


DISTANCE = Term(sy.Delta_T, sy.Delta, sy.Delta_next, 0)
GAP = Term(sy.gap, sy.gap_t, GAP_NEXT, 1)
_SLOPES = [norm_sq(facts.mean_slope(x)) for x in (W_T, W, W_NEXT)]
SLOPE = Term(_SLOPES[0], _SLOPES[1], _SLOPES[2], 2)
TERMS = (DISTANCE, GAP, SLOPE)
STARTS = {sy.Delta_0: DISTANCE, sy.gap_0: GAP}
ENDS = {sy.Delta_T: DISTANCE, sy.gap: GAP, mean_slope_sq: SLOPE}
# Powers of t that the weights and the multipliers have at most.
DEGREES = (1, 2)


def proposals(setting: Setting, right: sp.Expr) -> Iterator[Proposal]:
    """Proofs of lhs_T <= start/rate(T), for a polynomial rate."""
    needed = {SAME_STEP, "unbiased", "full-participation", "no-noise", "smooth"} <= setting.universe.keys()
    end = ENDS.get(setting.claim.lhs)
    convex = facts.curvature_of(set(setting.universe)) is not None
    if not (needed and convex) or end is None or setting.eta.has(t):
        return
    for symbol, start in STARTS.items():
        bound = sp.factor(right.coeff(symbol))
        if bound == 0 or sp.expand(right - bound * symbol) != 0:
            continue
        rate, whole = sp.cancel(1 / bound.xreplace({sy.eta_0: eta})), setting.letters.positive(bound)
        if whole is None or not rate.is_polynomial(T):
            continue
        for degree in DEGREES:
            search = _Search(setting, start, end, rate, degree)
            try:
                lines = search.lines(bound, symbol)
            except forms.NoForm:  # such as steps that are no quotient of polynomials
                return
            if lines is not None:
                yield lines
                return


@dataclass(frozen=True)
class _Fact:
    """A fact of the step or of the end, and what its multiplier is a sum of."""

    part: str
    fact: facts.Candidate
    letters: list[sp.Expr]


@dataclass(frozen=True)
class _Search:
    """rate(T) end_T <= start_0, by weights of that degree in t."""

    setting: Setting
    start: Term
    end: Term
    rate: sp.Expr
    degree: int

    def lines(self, bound: sp.Expr, symbol: sp.Expr) -> Proposal | None:
        """The steps of the proof, and what the last line uses."""
        fixed = self._of_weight(self.start, eta**self.start.power)
        ended = self._read("end", self.rate * eta**self.start.power * self.end.last)
        target = forms.difference(fixed, ended, self.space.field)
        mine = [(item, weight * eta**item.power) for item in TERMS for weight in self.weights]
        one, zero = [self.space.field.one], dict[forms.Key, Any]()
        parts = [
            certificate_search.Part(forms.difference(zero, self._of_weight(*pair), self.space.field), one, free=True)
            for pair in mine
        ]
        every = self.facts
        for item in every:
            multipliers = [self.space.number(letter) for letter in item.letters]
            parts.append(certificate_search.Part(self._read(item.part, item.fact.value), multipliers))
        blocks, scales = self._blocks([target, *(part.form for part in parts)])
        proof = certificate_search.prove(target, parts, blocks)
        if proof is None:
            return None
        potential = {item: sp.Integer(0) for item in TERMS} | {self.start: eta**self.start.power}
        uses: dict[str, list[d.Use]] = {"step": [], "end": []}
        for k, j, value in certificate_search.terms(proof):
            if k < len(mine):
                potential[mine[k][0]] += inequality.rational(value) * mine[k][1]
            else:
                item = every[k - len(mine)]
                times = inequality.rational(value) * item.letters[j]
                uses[item.part] += [(times * m, use) for m, use in item.fact.uses]
        for (k, j), squares in proof.squares.items():
            part = str(blocks[k].name[0])
            for weight, coefficients in squares:
                scaled = [inequality.rational(c) * s for c, s in zip(coefficients, scales[k], strict=True)]
                square = inequality.square_of(forms.MEANS[0], blocks[k].vectors, scaled, self.goal)
                uses[part].append((inequality.rational(weight) * self.of_squares[j], square))
        return self._written(potential, uses, bound, symbol)

    @property
    def goal(self) -> Goal:
        steps = None if self.room else self.setting.eta
        return Goal(sy.gap_t, sy.gap_t, "step", self.setting.universe, steps, self.setting.limits, self.setting.claim)

    @cached_property
    def space(self) -> forms.Space:
        """Everything in t, L, mu and the step size, or what that is."""
        setting, meanings = self.setting, self.goal.meanings
        states = {key: value for key, value in meanings.items() if key not in (W, sy.sigma_p_sq)}
        numbers: dict[sp.Basic, sp.Expr] = {T: t}
        if setting.cap is not None:
            numbers[ROOM] = setting.cap.room.xreplace({sy.eta_0: eta})
        elif setting.eta != eta:
            numbers[eta] = setting.eta
        field = sp.QQ.frac_field(*sorted({t, L, sy.mu, eta} - numbers.keys(), key=str)).field
        return forms.Space(field, numbers, states, together=True, unbiased=True)

    def _read(self, part: str, value: sp.Expr) -> forms.Form:
        """A value as a form of the step or of the end; there is no noise."""
        form = self.space.scalar(sp.expand(value.xreplace({T: t})))
        kept = {key: x for key, x in form.items() if key[0] != "gram" or key[1] in (forms.MEANS[0],)}
        return {
            (key[0], (part, key[1]), *key[2:]) if key[0] == "gram" else (part, *key): x for key, x in kept.items()
        }

    def _of_weight(self, item: Term, weight: sp.Expr) -> forms.Form:
        """What a weight adds to what a step takes from the potential, and to the potential at T."""
        return self._read("step", weight * item.now - weight.subs(t, t + 1) * item.next) | self._read(
            "end", weight * item.last
        )

    @property
    def weights(self) -> list[sp.Expr]:
        """What a weight of the potential is a sum of, beside that of the start: it is 0 at t = 0."""
        powers = [t**k for k in range(1, self.degree + 1)]
        return [x * y for x, y in product(powers, (sp.Integer(1), 1 / (eta * L)) if self.room else (sp.Integer(1),))]

    @property
    def room(self) -> bool:
        return self.setting.cap is not None

    @property
    def of_squares(self) -> list[sp.Expr]:
        """What multiplies the squares."""
        return [x * y for x, y in product((sp.Integer(1), t), (sp.Integer(1), *((ROOM / (eta * L),) * self.room)))]

    def _letters(self, degree: int) -> list[sp.Expr]:
        powers, size = [t**k for k in range(degree + 1)], eta * L
        more = (1 / size, sp.Integer(1), size, ROOM, ROOM / size) if self.room else (sp.Integer(1),)
        return [x * y for x, y in product(powers, more)]

    @cached_property
    def facts(self) -> list[_Fact]:
        """Co-coercivity of F between the points of a step, and at the end."""
        least, result = facts.curvature_of(set(self.setting.universe)), list[_Fact]()
        for part, points in (("step", (W, W_NEXT, W_STAR)), ("end", (W_T, W_STAR))):
            for x, y in permutations(points, 2):
                one = facts.averaged(facts.cocoercive(x, y, least, facts.mean_slope), P)
                result.append(_Fact(part, one, [eta**one.power * x for x in self._letters(self.degree)]))
        return result

    def _blocks(self, every: Sequence[forms.Form]) -> tuple[list[certificate_search.Block], list[list[sp.Expr]]]:
        """The vectors of the step and of the end, each times powers of t too."""
        blocks, scales = [], []
        multipliers = [self.space.number(x) for x in self.of_squares]
        for part in ("step", "end"):
            keys = {key for form in every for key in form if key[0] == "gram" and key[1][0] == part}
            vectors = sorted({v for key in keys for v in key[2:]}, key=sp.default_sort_key)
            powers = [*(t**k for k in range(self.degree)), *((1 / (eta * L),) * self.room)]
            scales.append([(eta if forms.middle(v) != v else 1) * x for v in vectors for x in powers])
            several = [v for v in vectors for _ in powers]
            numbers = [self.space.number(x) for x in scales[-1]]
            blocks.append(certificate_search.Block((part, forms.MEANS[0]), several, numbers, multipliers))
        return blocks, scales

    def _written(
        self, potential: dict[Term, sp.Expr], uses: dict[str, list[d.Use]], bound: sp.Expr, symbol: sp.Expr
    ) -> Proposal | None:
        """The steps that the potential does not rise, and what shows the claim by it."""
        size, setting = self.setting.eta, self.setting

        def at(time: sp.Expr, name: str) -> sp.Expr:
            return sp.Add(*(weight.subs(t, time) * getattr(item, name) for item, weight in potential.items()))

        now, then, at_end = at(t, "now"), at(t + 1, "next"), at(T, "last")
        limits = list(small(setting, (1 - eta / setting.cap.bound,))) if setting.cap is not None else []
        goal = replace(self.goal, left=then, right=now, limits=tuple((item, limit) for _, item, limit in limits))
        of_step = {ROOM: SLACK}
        step = [
            (m.xreplace(of_step), inequality.renamed(fact, of_step)) for m, fact in inequality.merged(uses["step"])
        ]
        mended = closing(goal, goal.frame, step, [])
        if mended is None:
            return None
        begun = (eta**self.start.power * symbol).subs(eta, size)
        steps = (
            *(line for line, *_ in limits),
            d.step("recursion", then, "<=", now).by(*step, *mended),
            d.step("base", begun, "<=", begun),
            d.step("carry", then.subs(eta, size), "<=", begun).by(
                d.Earlier("recursion"), *setting.bridge(now - then), d.Hypothesis("all")
            ),
            d.step("all", at_end.subs(eta, size), "<=", begun).by(d.Induction("base", "carry")),
        )
        share = bound.xreplace({sy.eta_0: eta}) / eta**self.start.power
        ended = {t: T}
        uses_at_end = [
            (share * m.xreplace(ended), inequality.renamed(fact, ended)) for m, fact in inequality.merged(uses["end"])
        ]
        goal = replace(self.goal, left=setting.claim.lhs, right=share * at_end)
        shown = closing(goal, goal.frame, uses_at_end, [])
        if shown is None:
            return None
        whole = [(share, d.Earlier("all")), *uses_at_end, *shown]
        times = (TIME,) if self.rate.subs(T, 0) == 0 else ()
        put = {eta: size}
        last = tuple((m.xreplace(put), inequality.renamed(fact, put)) for m, fact in whole)
        return (*steps, *times), last, tuple(item for _, item, _ in limits)
