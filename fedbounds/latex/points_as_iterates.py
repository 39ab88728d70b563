"""A statement about any point as one about w_t, and one about the ends of a round as one about its last step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from fedbounds.latex.client_statements import formula_of, of_any_models, of_clients_together, squared
from fedbounds.latex.formulas import Term
from fedbounds.latex.grammar import CONDITION
from fedbounds.latex.letter_meanings import AFTER_THE_ROUND, ANY_POINT, CONSTANT_STEP, ROUND_START
from fedbounds.latex.named_assumptions import SELECTIONS
from fedbounds.latex.sums import ClientSum, DrawExpect, Expect, SelectedSum, fixed_sign
from fedbounds.latex.to_quantities import Setting
from fedbounds.latex.tokens import wrong
from fedbounds.theory import points as at
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import one_local_step
from fedbounds.theory.symbols import eta, local_step, tau
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
