"""What is zero by definition, and turns what a combination of inequalities leaves into 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.forms import is_common_gradient
from fedbounds.evidence.prover.goal import COMMON, ONE_FUNCTION, SAME_GRADIENTS, SAME_STEP, Frame, Goal
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, OWN, W_STAR, P, W, X, grad, loss
from fedbounds.evidence.symbolic.permitted_assumptions import given
from fedbounds.theory import symbols as sy
from fedbounds.theory.points import weight_ratio
from fedbounds.theory.vector_normal_form import normal
from fedbounds.theory.vectors import Centre, Inner, Loss, Mean


def closing(goal: Goal, parameters: Frame, uses: list[d.Use], steps: list[d.Step]) -> list[d.Use] | None:
    """The identities that turn what is left into 0: alpha = p, X = W, the optimum, F_i* attained."""
    lines = {step.label: step.rhs - step.lhs for step in steps}
    meaning = {**goal.meanings, **definitions.OF_A_CLIENT}

    def read(fact: d.Premise) -> sp.Expr:
        part = given(goal.universe[fact.key], fact.points)
        return sp.sympify(part.right - part.left)

    def left_by(used: list[d.Use], numbers: Mapping[sp.Basic, sp.Expr]) -> _Combination:
        rest = _Combination(meaning, numbers)
        rest.add(sp.S.One, goal.right - goal.left)
        for multiplier, fact in used:
            rest.add(-multiplier, facts.value_of(fact, read, lines))
        return rest

    rest, result = left_by(uses, parameters.numbers), list[d.Use]()
    while (use := next(filter(None, (_identity(*term, goal) for term in rest.terms())), None)) is not None:
        if use[1] in [fact for _, fact in result]:
            return None
        result.append(use)
        rest.add(-use[0], facts.value_of(use[1], read, lines))
    if rest.total:
        return None
    if parameters.equal is not None:  # what L = mu is needed for
        fact, value = parameters.equal
        numbers = {key: number for key, number in parameters.numbers.items() if key != sy.L}
        beyond = left_by([*uses, *result], numbers).expression
        result += [(sp.cancel(beyond / value), fact)] if beyond != 0 else []
    return result


class _Combination:
    """A sum of means, inner products and losses, and products of these, each times a quotient of polynomials."""

    def __init__(self, meaning: Mapping[sp.Basic, sp.Expr], numbers: Mapping[sp.Basic, sp.Expr]) -> None:
        self.meaning, self.numbers = meaning, numbers
        self.field, self.total = sp.QQ.frac_field(sy.eta).field, dict[sp.Expr, Any]()

    def add(self, multiplier: sp.Expr, value: sp.Expr) -> None:
        """Add a multiple of a value."""
        if multiplier.has(sp.Function):  # a product of two means
            multiplier, value = sp.S.One, multiplier * value
        by = self._number(multiplier)
        for term in sp.Add.make_args(normal(value, self.meaning)):
            outside, inside = list[sp.Expr](), list[sp.Expr]()
            for factor in sp.Mul.make_args(term):
                (inside if factor.has(sp.Function) else outside).append(factor)
            atom, number = sp.Mul(*inside), self._number(sp.Mul(*outside))
            number = by.set_field(self.field) * number + self.total.pop(atom, 0)
            if number != 0:
                self.total[atom] = number

    def _number(self, number: sp.Expr) -> Any:
        """A number as an element of the field, which grows by what it is made of."""
        for _ in self.numbers:
            number = number.xreplace(dict(self.numbers))
        powers = {power for power in number.atoms(sp.Pow) if not power.exp.is_Integer}
        new = (powers | number.free_symbols) - set(self.field.symbols)
        if new:
            self.field = sp.QQ.frac_field(*self.field.symbols, *sorted(new, key=sp.default_sort_key)).field
            self.total = {atom: value.set_field(self.field) for atom, value in self.total.items()}
        return self.field.from_expr(number)

    def terms(self) -> Iterator[tuple[sp.Expr, sp.Expr]]:
        """(atom, what it is multiplied by)."""
        atoms = {factor for item in self.total for factor in sp.Mul.make_args(item) if factor.has(sp.Function)}
        for atom in sorted(atoms, key=sp.default_sort_key):
            shares = (c.as_expr() * item / atom for item, c in self.total.items() if atom in sp.Mul.make_args(item))
            yield atom, sp.factor(sp.Add(*shares))

    @property
    def expression(self) -> sp.Expr:
        return sp.Add(*(atom * number.as_expr() for atom, number in self.total.items()))


def _identity(atom: sp.Expr, c: sp.Expr, goal: Goal) -> d.Use | None:
    """The use of a definition that removes an atom from what is left."""
    if isinstance(atom, Loss):
        return (c, d.premise("attained")) if atom == loss(OWN) else None
    if isinstance(atom, Mean):
        weights, inside = atom.args
        fact = _of_mean(weights, inside, goal)
        return None if fact is None else (c, fact)
    sides = (atom.args, atom.args[::-1])
    facts_found = (rule(u, v, goal) for rule in (_of_inner, _unbiased, _optimal) for u, v in sides)
    return next(((c, fact) for fact in facts_found if fact is not None), None)


def _of_mean(weights: sp.Expr, inside: sp.Expr, goal: Goal) -> d.Fact | None:
    of_minimisers = inside.has(OWN) or (goal.shared and inside.has(grad(W_STAR)))
    own = _identity(inside, sp.Integer(1), goal) if of_minimisers else None
    if own is not None:
        return d.averaged(weights, own)
    for u, v in (inside.args, inside.args[::-1]) if goal.identical and isinstance(inside, Inner) else ():
        if is_common_gradient(u):
            return d.averaged(weights, d.premise(ONE_FUNCTION, u.args[0], v))
    if weights == P and inside.has(weight_ratio):
        return d.premise("weight-ratio-mean", inside / weight_ratio)
    if weights == ALPHA and goal.unbiased:
        return d.premise("unbiased", inside)
    for same, key in ((X, SAME_STEP), (grad(W), SAME_GRADIENTS)) if goal.together else ():
        if isinstance(inside, Inner) and same in inside.args:
            other = inside.args[1] if inside.args[0] == same else inside.args[0]
            return d.averaged(weights, d.premise(key, other))
    return None


def _of_inner(u: sp.Expr, v: sp.Expr, goal: Goal) -> d.Fact | None:
    """What says that <u, v> is 0, or is another inner product, where u is a mean or a minimiser's gradient."""
    if isinstance(u, Centre) and u.args[1] == NOISE and "no-noise" in goal.universe:
        return d.averaged(u.args[0], d.premise("no-noise", v))
    if isinstance(u, Centre) and u.args[1] == grad(OWN):
        return d.averaged(u.args[0], d.premise("own-optimum", v))
    if isinstance(u, Centre) and u.args[1] == grad(W_STAR) and goal.shared:
        return d.averaged(u.args[0], d.premise(COMMON, v))
    if isinstance(u, Centre) and u.has(weight_ratio):
        return d.premise("weight-ratio", u.args[1] / weight_ratio, v)
    if goal.together and not goal.unbiased and u == Centre(P, X):
        return d.averaged(P, d.premise(SAME_STEP, v))
    if goal.together and isinstance(u, Centre) and u.args[1] == grad(W):
        return d.averaged(u.args[0], d.premise(SAME_GRADIENTS, v))
    return None


def _unbiased(u: sp.Expr, v: sp.Expr, goal: Goal) -> d.Fact | None:
    """The same where alpha is p."""
    by_alpha = isinstance(u, Centre) and u.args[0] == ALPHA and goal.unbiased
    return d.premise("unbiased", Inner(u.args[1], v)) if by_alpha else None


def _optimal(u: sp.Expr, v: sp.Expr, goal: Goal) -> d.Fact | None:
    """The same where u is a mean's gradient at its minimiser."""
    zeros = {
        Centre(P, grad(W_STAR)): "optimum",
        Centre(ALPHA, grad(definitions.W_ALPHA)): "alpha-optimum",
        grad(OWN): "own-optimum",
        **({grad(W_STAR): COMMON} if goal.shared else {}),
    }
    return d.premise(zeros[u], v) if u in zeros else None
