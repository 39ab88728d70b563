"""Statements about any point, about the ends of a round or about each client alone, as others that evidence knows.

They are about w_t, about the last step of the round, and about means over the clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import sympy as sp

from fedbounds.latex.assumption_keys import SELECTIONS
from fedbounds.latex.formulas import Term
from fedbounds.latex.grammar import CONDITION
from fedbounds.latex.letter_meanings import AFTER_THE_ROUND, ANY_POINT, CONSTANT_STEP, ROUND_START
from fedbounds.latex.sums import (
    ALPHA_I,
    OF_ALL,
    SIGMA_I,
    ClientSum,
    DrawExpect,
    Expect,
    SelectedSum,
    fixed_sign,
    summed,
)
from fedbounds.latex.to_quantities import Setting, meanings_of_latex
from fedbounds.latex.tokens import wrong
from fedbounds.theory import assumptions as a
from fedbounds.theory import points as at
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import one_local_step
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.symbols import G_sq, L, N, eta, local_step, mu, sigma_sq, tau
from fedbounds.theory.vector_normal_form import depends
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Vec

# Where a round starts, and what it ends with, before and after the models are averaged, as points of its last step.
END = Vec(sp.Symbol(r"w_{(r+1)\tau}"))
ROUND = {ROUND_START: at.w_round, END: at.w_next, AFTER_THE_ROUND: at.w_i_next}
LAST_STEP = Assumption("last-local-step", "t is the last local step of its round", sp.Eq(local_step, tau - 1))


def at_iterates(
    left: list[Term], right: list[Term], setting: Setting
) -> tuple[list[Term], list[Term], Setting, list[Assumption]]:
    """Both sides by the points of a step, in which setting, and what this limits."""
    (left, right), limits = of_clients_together((left, right), setting)
    drawn = _of_draws((*left, *right), setting)
    if _of_any_point(left, right) and not (drawn and any(term.value.has(tau) for term in (*left, *right))):
        _require_expectation(drawn)
        # A point that is fixed before the draw is that of a round's first step, as every step is where tau = 1.
        limits += [one_local_step] * bool(drawn)
        left, right = squared((left, right))
        return _at_a_step(left), _at_a_step(right), replace(setting, in_expectation=True), limits
    if not drawn and of_any_models((left, right)):
        return left, right, replace(setting, in_expectation=True), limits
    for term in drawn:
        if term.value.has(DrawExpect):
            raise wrong(term.place, *CONDITION)
    ends = _at_round_ends(left), _at_round_ends(right)
    return *ends, setting, [*limits, *[LAST_STEP] * (ends != (left, right))]


def _of_draws(terms: Iterable[Term], setting: Setting) -> list[Term]:
    """The terms that speak of who is drawn."""
    words = (
        (DrawExpect, SelectedSum) if setting.assumed.isdisjoint(SELECTIONS) else (DrawExpect, SelectedSum, at.ALPHA)
    )
    return [term for term in terms if term.value.has(*words)]


def _of_any_point(*sides: list[Term]) -> bool:
    """Whether F at any point w is spoken of, and nothing of a run, of its start or of one client."""
    formula = formula_of(*sides)
    chance = [x for x in sp.preorder_traversal(formula) if isinstance(x, Expect)]
    run = not all(x.has(at.ALPHA, SelectedSum) for x in chance)
    # A step size is that of a step from the point, or beside any other point; else of the run that ends at w.
    stepped = formula.has(*at.ANY) or any(x.has(eta, CONSTANT_STEP) for x in formula.atoms(Inner, Loss, Grad))
    run = run or (formula.has(CONSTANT_STEP) and not stepped)
    run = run or any(getattr(x, "scopes", ()) for x in formula.free_symbols - ({eta} if stepped else set()))
    fixed = {at.w_star, at.w_i_star, at.w_0}
    if run or not formula.atoms(Vec) <= {ANY_POINT, at.w_alpha, *fixed, *at.ANY} or formula.atoms(Vec) <= fixed:
        return False
    if formula.has(at.w_0) and not any(x.has(ANY_POINT) and x.has(at.w_0) for x in formula.atoms(Inner)):
        return False  # of the point that a run returns
    of_all = formula.replace(lambda x: isinstance(x, Mean | Centre | ClientSum | SelectedSum), lambda x: sp.S.Zero)
    return not any(x.has(ANY_POINT) for x in of_all.atoms(Loss, Grad))


def _is_chance(x: sp.Basic) -> bool:
    return isinstance(x, Expect | DrawExpect)


def _require_expectation(terms: Iterable[Term]) -> None:
    """Refuse what a draw decides where it stands in no expectation."""
    for term in terms:
        if term.value.replace(_is_chance, lambda x: sp.S.One).has(SelectedSum, at.ALPHA):
            raise wrong(term.place, "who is drawn decides this", r"write \mathbb{E}_S")


def _at_a_step(side: Iterable[Term]) -> list[Term]:
    """The terms about w_t, their expectations left out: a run may start anywhere."""
    terms = (Term(term.value.replace(_is_chance, lambda x: x.args[0]), term.place) for term in side)
    return [Term(fixed_sign(term.value.xreplace({ANY_POINT: at.w})), term.place) for term in terms]


def _at_round_ends(side: Iterable[Term]) -> list[Term]:
    """The terms with products of a round's ends, or of the local models there, by those of its last step."""

    def of_the_round(x: sp.Basic) -> bool:
        return isinstance(x, Inner) and (x.has(AFTER_THE_ROUND) or (x.has(ROUND_START) and x.has(END)))

    return [Term(term.value.replace(of_the_round, lambda x: x.xreplace(ROUND)), term.place) for term in side]


Sides = tuple[list[Term], list[Term]]
# The points of one client's step, and what else a statement about it may have.
OF_ONE_STEP = {ANY_POINT, at.w_i, at.w_i_next, at.w_star, at.w_i_star, *at.ANY}
CONSTANTS = {L, mu, eta, CONSTANT_STEP, sigma_sq, G_sq}
MIXED = (Mean, Centre, ClientSum, SelectedSum, DrawExpect, at.p_i, ALPHA_I, SIGMA_I, at.ALPHA)
# Assumptions that hold where all clients are one of them if they held before: those on F alone may not.
OF_EACH = frozenset(
    item.key
    for item in (
        *(a.smooth, a.convex, a.strongly_convex, a.sample_smooth, a.bounded_variance, a.bounded_gradient),
        *(a.bounded_gradient_everywhere, a.full_gradients, a.full_participation, a.unbiased, a.homogeneous),
        *(a.equal_p, a.one_client, a.identical, a.one_local_step, a.constant_steps, a.slow_decay, a.halving),
        *(a.equal_steps, a.small_steps, a.quarter_steps, a.steps_below_inverse_L, a.steps_up_to_2_over_L_plus_mu),
        a.steps_below_2_over_L_plus_mu,
    )
)
# A relation between these, as an assumption's key spells it, is of no client more than of another.
NUMBERS = re.compile(r"(eta(_t|_0)?|L|mu|t|T|R|tau|N|gamma|[\s\d()<>=*/+-]|\*\*)*")
# Where w* is each client's own minimiser.
SHARED = {item.key for item in (a.homogeneous, a.identical, a.one_client)}


def formula_of(*sides: Sequence[Term]) -> sp.Tuple:
    """The terms of both sides in one expression."""
    return sp.Tuple(*(term.value for side in sides for term in side))


def _with(sides: Sides, change: Callable[[sp.Expr], sp.Expr]) -> Sides:
    left, right = ([Term(change(term.value), term.place) for term in side] for side in sides)
    return left, right


def _named_freely(sides: Sides, point: sp.Expr) -> Sides | None:
    """The sides with an unused name of any point in place of a point; None where all are used."""
    unused = [name for name in at.ANY if not formula_of(*sides).has(name)]
    return _with(sides, lambda x: fixed_sign(x.xreplace({point: unused[0]}))) if unused else None


def of_clients_together(sides: Sides, setting: Setting) -> tuple[Sides, list[Assumption]]:
    """A statement about each client, or about F at their models, as one about means, and what this limits."""
    if formula_of(*sides).has(at.w_i) and formula_of(*sides).has(ANY_POINT):
        sides = _named_freely(sides, ANY_POINT) or sides  # w_t is a mean of the models
    sides, limits = _of_one_function(sides, setting)
    return _of_each_client(sides, setting) or (sides, limits)


def of_any_models(sides: Sides) -> bool:
    """Whether the models of one moment are spoken of, of whatever values: beside L, mu and N, no constant of a run.

    What holds of every such models on average holds of each: steps and noise, of which only means are bounded, do not
    occur.
    """
    points, constants = (formula_of(*sides).atoms(kind) for kind in (Vec, Quantity))
    return points <= {at.w, at.w_i, at.w_star, at.w_i_star, *at.ANY} and at.w_i in points and constants <= {L, mu, N}


def _of_one_function(sides: Sides, setting: Setting) -> tuple[Sides, list[Assumption]]:
    """F at the clients' models as F_i there, which it is where they are one function, and what this limits.

    A statement about F and any models, in which no F_i occurs, is about one function whatever the clients have.
    """
    changed = [term for side in sides for term in side if term.value.has(OF_ALL)]
    each = _with(sides, lambda x: x.xreplace({OF_ALL: at.I}))
    if not changed or "identical" in setting.assumed:
        return each, []
    formula = formula_of(*sides).replace(_is_of_F, lambda x: sp.S.Zero)
    of_clients = formula.has(at.w_i_star, at.F_i_star) or any(x.args[1] == at.I for x in formula.atoms(Loss, Grad))
    if of_clients or not of_any_models(each):
        what, remedy = "F at each client's model is no quantity of the table", "write F_i there, or assume identical"
        raise wrong(changed[0].place, what, remedy)
    return each, [a.identical]


def _is_of_F(x: sp.Basic) -> bool:
    """Whether it is F or its gradient at a point of all."""
    return (
        isinstance(x, Mean | Centre)
        and x.args[0] == at.P
        and isinstance(x.args[1], Loss | Grad)
        and not depends(x.args[1].args[0], at.I)
    )


def _of_each_client(sides: Sides, setting: Setting) -> tuple[Sides, list[Assumption]] | None:
    """A statement about one client's function and step as one about the clients' mean, and what this limits.

    The two say the same where all clients may be one: one alone is then a mean. Where clients differ, w* and w_t are
    any points, as the other clients, of which nothing is said, may put them anywhere. None where more is spoken of.
    """
    formula, assumed = formula_of(*sides), setting.assumed
    further = {x for x in formula.free_symbols if isinstance(x, Quantity)} - CONSTANTS
    if not all(key in OF_EACH or NUMBERS.fullmatch(key) for key in assumed):
        return None
    if further or formula.has(*MIXED) or not depends(formula.xreplace(meanings_of_latex()), at.I):
        return None
    moved = formula.has(at.w_i, at.w_i_next)
    apart = [at.w_star] * assumed.isdisjoint(SHARED)
    anywhere = moved and not formula.has(at.w_i_next, eta, CONSTANT_STEP, sigma_sq, G_sq)
    apart += [at.w] * (anywhere and a.one_local_step.key not in assumed)
    for point in apart:
        renamed = _named_freely(sides, point) if formula_of(*sides).has(point) else sides
        if renamed is None:
            return None
        sides = renamed
    if not formula_of(*sides).atoms(Vec) <= {*OF_ONE_STEP, *[at.w] * (not moved)}:
        return None
    left, right = (
        [
            Term(summed(sp.expand(at.p_i * term.value), ClientSum, term.place), term.place)
            if depends(term.value, at.I)
            else term
            for term in side
        ]
        for side in squared(sides)
    )
    steps = formula.has(at.w_i_next) and a.full_participation.key not in assumed
    return (left, right), [a.full_participation] * steps


def squared(sides: Sides) -> Sides:
    """A norm that is at most a multiple of another as their squares, which proofs know."""
    factors = {x for side in sides for term in side for x in sp.Mul.make_args(term.value)}
    roots = any(isinstance(x, sp.Pow) and x.exp == sp.S.Half for x in factors)
    single = all(len(side) == 1 and side[0].value.is_nonnegative for side in sides)
    return _with(sides, lambda x: x**2) if roots and single else sides
