"""What is zero by definition, and turns what a combination of inequalities leaves into 0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sympy as sp

from fedbounds.evidence.prover import facts
from fedbounds.evidence.prover.forms import is_common_gradient
from fedbounds.evidence.prover.goal import COMMON, ONE_FUNCTION, SAME_GRADIENTS, SAME_STEP, Frame, Goal
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, NOISE, OWN, W_STAR, P, W, X, grad, loss
from fedbounds.evidence.symbolic.permitted_assumptions import given
from fedbounds.theory import symbols as sy
from fedbounds.theory.normal_form import normal_fraction, spread
from fedbounds.theory.points import weight_ratio
from fedbounds.theory.vectors import Centre, Inner, Loss, Mean


def closing(goal: Goal, parameters: Frame, uses: list[d.Use], steps: list[d.Step]) -> list[d.Use] | None:
    """The identities that turn what is left into 0: alpha = p, X = W, the optimum, F_i* attained."""
    lines = {step.label: step.rhs - step.lhs for step in steps}

    def read(fact: d.Premise) -> sp.Expr:
        part = given(goal.universe[fact.key], fact.points)
        return sp.sympify(part.right - part.left)

    meaning = {**goal.meanings, **definitions.OF_A_CLIENT, **parameters.numbers}
    total = sp.Add(*(m * facts.value_of(fact, read, lines) for m, fact in uses))
    result: list[d.Use] = []
    rest = _flat(goal.right - goal.left - total, meaning)
    for _ in range(60):
        use = next((use for atom, c in _terms(rest) if (use := _identity(atom, c, goal)) is not None), None)
        if use is None:
            return _of_curvatures(goal, parameters, [*uses, *result], read, lines, result) if rest == 0 else None
        if use[1] in [fact for _, fact in result]:
            return None
        result.append(use)
        rest = _flat(rest - use[0] * facts.value_of(use[1], read, lines), meaning)
    return None


def _of_curvatures(
    goal: Goal,
    parameters: Frame,
    uses: list[d.Use],
    read: Callable[[d.Premise], sp.Expr],
    lines: Mapping[str, sp.Expr],
    found: list[d.Use],
) -> list[d.Use]:
    """The same with what L = mu is needed for, where that is assumed."""
    if parameters.equal is None:
        return found
    fact, value = parameters.equal
    numbers = {key: number for key, number in parameters.numbers.items() if key != sy.L}
    total = sp.Add(*(m * facts.value_of(item, read, lines) for m, item in uses))
    rest = _flat(goal.right - goal.left - total, {**goal.meanings, **definitions.OF_A_CLIENT, **numbers})
    return [*found, (sp.cancel(rest / value), fact)] if rest != 0 else found


def _flat(expression: sp.Expr, meaning: Mapping[sp.Basic, sp.Expr]) -> sp.Expr:
    numbers = {k: v for k, v in meaning.items() if k.is_Symbol and v.is_number is not None and k != sy.Delta}
    for _ in range(4):
        here = expression.free_symbols & numbers.keys()
        if not here:
            break
        expression = expression.xreplace({k: numbers[k] for k in here})
    return spread(normal_fraction(expression, meaning))


def _terms(expression: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """(atom, coefficient) of a form."""
    atoms = [atom for atom in expression.atoms(Inner, Mean, Loss) if not _inside(atom, expression)]
    for atom in sorted(atoms, key=sp.default_sort_key):
        coefficient = sp.factor(expression.coeff(atom))
        if coefficient != 0:
            yield atom, coefficient


def _inside(atom: sp.Expr, expression: sp.Expr) -> bool:
    return any(other != atom and other.has(atom) for other in expression.atoms(Inner, Mean, Loss))


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
