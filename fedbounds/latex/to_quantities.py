"""From formulas to quantities: every expectation, sum and value is one of the table, or made of points."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import sympy as sp

from fedbounds.errors import Gathered, InputError
from fedbounds.latex import formulas
from fedbounds.latex.assumption_keys import SELECTIONS
from fedbounds.latex.formulas import Term
from fedbounds.latex.letter_meanings import AFTER_A_ROUND, CONSTANT_STEP, ROUND_START, Notation, shipped_names
from fedbounds.latex.sums import (
    ALPHA_I,
    RUN_SUMS,
    SIGMA_I,
    SIGMA_STAR,
    W_T,
    ClientSum,
    DrawExpect,
    Expect,
    Least,
    LeastStep,
    RoundSum,
    SelectedSum,
    StepSum,
    expected,
    random,
)
from fedbounds.latex.tokens import Token, one_spelling, scanned, wrong
from fedbounds.theory import points as at
from fedbounds.theory.quantity import Quantity, measured
from fedbounds.theory.sums_over_steps import least_over_steps, sum_over_rounds, sum_over_steps
from fedbounds.theory.symbols import QUANTITIES, Gamma, N, T, drift, eta_0, gap_sum, gap_t, m, zeta_star_sq
from fedbounds.theory.vectors import Grad, Inner, Loss, Mean, Vec

# w_{r tau} and w_{R tau} are the model after the last finished round.
FINISHED = {Vec(sp.Symbol(r"w_{R\tau}")): ROUND_START, AFTER_A_ROUND: at.w_i_next}
AT_ROUND = {ROUND_START: at.w}
STARS = (at.F_star, at.F_i_star)
FORMAL = (
    Expect,
    DrawExpect,
    ClientSum,
    SelectedSum,
    StepSum,
    RoundSum,
    Least,
    LeastStep,
    Inner,
    Mean,
    Loss,
    Grad,
    Vec,
)
EXPECTED = sp.Dummy("expected")  # stands for what is in an expectation
# How the names of quantities begin that neither the table nor the author named.
UNNAMED = "expected_"
SQUARED = r"\mathbb{E}\|...\|^2, or its root \sqrt{\mathbb{E}\|...\|^2}"
# Where all that is read is certain, an expectation is the value itself.
CERTAIN = frozenset({"full-gradients", "full-participation"})
# What makes weights random; where nothing is assumed of them, a statement of every weights is of each.
DRAWN = {"unbiased", "equal-selection", "independent-selection", *SELECTIONS}


@dataclass(frozen=True)
class Setting:
    """What was assumed, as far as it decides what a formula means."""

    assumed: frozenset[str]
    in_expectation: bool = False

    @property
    def certain(self) -> bool:
        fixed = "one-client" in self.assumed or self.assumed.isdisjoint(DRAWN)
        return self.assumed >= CERTAIN or (fixed and "full-gradients" in self.assumed)


@cache
def unparsed_spellings() -> dict[tuple[str, ...], Quantity]:
    """The tokens of those quantities whose LaTeX no rule of the grammar reads -> the quantity."""
    odd = [q for q in QUANTITIES.values() if r"\prod" in q.latex or r"\max_" in q.latex]
    odd += [q for q in QUANTITIES.values() if q.name == "parting"]
    return {tuple(map(str, one_spelling(scanned(q.latex, 1)))): q for q in odd}


@cache
def meanings_of_latex() -> dict[sp.Expr, sp.Expr]:
    """What the LaTeX of every quantity means -> the quantity; F(w) is its gap and F*."""
    result = {at.mean(at.F_i_star): at.F_star - Gamma, at.mean(at.norm_sq(at.grad(at.w_star))): zeta_star_sq}
    letters = set(map(id, (q for v in shipped_names().values() for q in v.free_symbols)))
    for q in QUANTITIES.values():
        if id(q) in letters or q in unparsed_spellings().values():
            continue
        meaning = formulas.value(one_spelling(scanned(q.latex, 1)), Notation(shipped_names()))
        first, *rest = sorted(sp.Add.make_args(meaning), key=lambda term: term.could_extract_minus_sign())
        if not rest or rest[0] in (-at.F_star, -at.F_i_star, -T * at.F_star):
            result[first] = q - sp.Add(*rest)
    return result


def in_quantities(terms: Iterable[Term], setting: Setting, common: sp.Expr = sp.S.Zero) -> list[sp.Expr]:
    """The terms of a side in quantities alone, without ``common`` F*; the errors of all are raised together."""
    faults, result = Gathered(), list[Term]()
    for term in terms:
        with faults.caught():
            result.append(Term(_resolved(term.value, setting, term.place), term.place))
    faults.raise_all()
    with_star = [term for term in result if term.value.has(*STARS)]
    if with_star:
        total = sp.Add(*(term.value for term in with_star)) - common * at.F_star
        total = sp.expand(total) if total.has(*STARS) else total
        if total.has(*STARS):
            what = r"F^\star must be subtracted from a value of F"
            raise wrong(with_star[0].place, what, r"write F(w_T) - F^\star")
        others = [term for term in result if not term.value.has(*STARS)]
        result = [Term(total, with_star[0].place), *others]
    for term in result:
        with faults.caught():
            _require_quantities(term)
    faults.raise_all()
    return [term.value.xreplace({CONSTANT_STEP: eta_0}) for term in result]


def _require_quantities(term: Term) -> None:
    """Refuse what is left of points, sums and clients."""
    left = [x for x in sp.preorder_traversal(term.value) if isinstance(x, FORMAL)]
    left += [x for x in (ALPHA_I, SIGMA_I, SIGMA_STAR, at.p_i) if term.value.has(x)]
    if left:
        what = f"{at.words(left[0])} is no quantity of the table"
        raise wrong(term.place, what, "fedbounds symbols lists those there are")


def F_star_on_both_sides(sides: Iterable[Iterable[Term]], setting: Setting) -> sp.Expr:
    """How often F* stands on both sides, as in F(w_{t+1}) <= F(w_t) - ..., where it says nothing."""
    resolved = ([_resolved(term.value, setting, term.place) for term in side] for side in sides)
    values = (sp.Add(*(term for term in side if term.has(*STARS))) for side in resolved)
    left, right = (sp.expand(value).coeff(at.F_star) for value in values)
    return left if left == right else sp.S.Zero


def _resolved(expression: sp.Expr, setting: Setting, place: Token) -> sp.Expr:
    """A term in quantities and F*."""
    outside = expression.replace(lambda x: isinstance(x, Expect), lambda x: EXPECTED)
    parts = list(sp.preorder_traversal(outside))
    leasts = [x.args[0] for x in parts if isinstance(x, LeastStep)]
    if any(x.has(EXPECTED) for x in leasts) and not setting.certain:
        what = "a least expectation is not expressible: each path has its own"
        raise wrong(place, what, r"state the mean over steps, which is more, or \mathbb{E} \min_t, which is less")
    result = _sums(expression.xreplace(FINISHED), setting, place).xreplace(meanings_of_latex())
    result = result.replace(lambda x: isinstance(x, RoundSum), lambda x: RoundSum(x.args[0].xreplace(AT_ROUND)))
    result = result.replace(lambda x: isinstance(x, LeastStep), lambda x: _least(x.args[0], setting, place))
    result = result.replace(lambda x: isinstance(x, Expect), lambda x: _quantity(x.args[0], setting, place))
    result = result.replace(lambda x: isinstance(x, StepSum | RoundSum), lambda x: _run_sum(x, setting, place))
    bare = _bare(result)
    if (bare or any(map(random, leasts))) and not (setting.certain or setting.in_expectation):
        what = "what a run does stands outside an expectation"
        certain = ", ".join(sorted(CERTAIN - setting.assumed))
        raise wrong(place, what, rf"write \mathbb{{E}}, add % fedbounds: in expectation, or assume {certain}")
    if not setting.certain and any(x.is_Pow and random(x) and not _of_weights_alone(x) for x in parts):
        raise wrong(place, "a power of what is random has another expectation", "state it of squares")
    return result.xreplace({x: _quantity(x, setting, place) for x in bare})


def _of_weights_alone(power: sp.Expr) -> bool:
    """Whether a power is of alpha_i/p_i alone, as inside sum_i (alpha_i - p_i)^2/p_i."""
    return power.has(at.weight_ratio) and not power.atoms(Vec) and not power.has(at.ALPHA)


def _run_sum(total: sp.Expr, setting: Setting, place: Token) -> sp.Expr:
    """A sum over the steps or rounds of a run as a quantity, of what is fixed as often as there are terms."""
    (term,) = total.args
    term = _resolved(term, setting, place) if random(term) else term
    parts = sp.Add.make_args(sp.expand(term))
    fixed = sp.Add(*(part for part in parts if part.has(*STARS)))
    try:
        varying = (sum_over_rounds if isinstance(total, RoundSum) else sum_over_steps)(term - fixed)
        return varying.xreplace({sum_over_steps(gap_t): gap_sum}) + RUN_SUMS[type(total)] * fixed
    except InputError as fault:
        raise wrong(place, str(fault).partition(", but received")[0], "sum products of quantities") from None


def _least(of: sp.Expr, setting: Setting, place: Token) -> sp.Expr:
    """The least over the steps, of what is certain or inside an expectation."""
    value = _resolved(of if of.has(Expect) else expected(of, place), setting, place)
    fixed = sp.Add(*(part for part in sp.Add.make_args(sp.expand(value)) if not part.has(*QUANTITIES.values())))
    fixed = fixed if fixed.has(*STARS) else sp.Integer(0)  # the least of F(w_t) is F* and the least gap
    try:
        return least_over_steps(value - fixed) + fixed
    except InputError as fault:
        raise wrong(place, str(fault).partition(", but received")[0], "take one quantity") from None


def _bare(expression: sp.Expr) -> list[sp.Expr]:
    """The random values that stand in no expectation, each as a whole."""
    if isinstance(expression, Inner | Mean | Loss):
        return [expression] if random(expression) else []
    return [x for argument in expression.args for x in _bare(argument)]


def _sums(expression: sp.Expr, setting: Setting, place: Token) -> sp.Expr:
    """Sums over clients without weights, as means where the weights are equal; the table's own as they are."""
    table = meanings_of_latex()

    def without_weights(total: sp.Expr) -> sp.Expr:
        if total in table:
            return table[total]
        selected, inside = isinstance(total, SelectedSum), total.args[0]
        if inside.has(at.p_i):
            raise wrong(
                place, f"{at.words(total)} is no quantity of the table", "fedbounds symbols lists those there are"
            )
        needed = ("equal-selection", *SELECTIONS) if selected else ("equal-p",)
        if setting.assumed.isdisjoint(needed):
            raise wrong(place, f"a sum over clients without weights needs assume {needed[0]}", "add it, or write p_i")
        mean, count = (at.mean_alpha, m) if selected else (at.mean, N)
        if inside == SIGMA_I**2 and not selected:
            return N**2 * QUANTITIES["sigma_p_sq"]
        if isinstance(inside, Expect):
            return count * Expect(mean(inside.args[0]))
        return count * mean(inside)

    result = expression.replace(lambda x: isinstance(x, ClientSum | SelectedSum), without_weights)
    return result.replace(lambda x: isinstance(x, Expect) and not random(x), lambda x: x.args[0])


def _quantity(of: sp.Expr, setting: Setting, place: Token) -> sp.Expr:
    """The quantity that is the expectation of an expression of points."""
    if not random(of):
        return of.xreplace(meanings_of_latex())
    table = meanings_of_latex()
    if Expect(of) in table:
        return table[Expect(of)]
    at_T = table.get(Expect(of.xreplace({W_T: at.w})))
    if isinstance(at_T, Quantity) and "horizon" in at_T.scopes:
        return at_T
    if "unbiased" in setting.assumed and of == at.mean(at.norm_sq(at.w - at.w_i)):
        return drift
    here = of.xreplace({W_T: at.w})
    if here.is_Pow and isinstance(here.base, Inner):
        raise wrong(place, "the expectation of a norm without its square cannot be read", rf"write {SQUARED}")
    if any(x.is_Pow and not x.exp.is_Integer for x in sp.preorder_traversal(here)):
        raise wrong(place, "a power inside an expectation varies", "write it before the expectation")
    value = isinstance(of, Mean) and isinstance(of.args[1], Loss)
    whole = here - at.F_star if value else here
    try:
        fault = at.fault(whole)
    except InputError as wrong_vector:
        fault = str(wrong_vector).partition(", but received")[0]
    if fault:
        raise wrong(place, f"the expectation of {at.words(of)} is no quantity of the table: {fault}", "declare one")
    name = (
        "gap_next" if whole == at.F(at.w_next) - at.F_star else f"{UNNAMED}{zlib.crc32(str(whole).encode()) % 10**6}"
    )
    return measured(name, whole) + (at.F_star if value else 0)


def scopes_of(formula: sp.Expr) -> set[str]:
    """The scopes that the points of a formula speak of, those of sums over steps left out."""
    over_a_run = (*RUN_SUMS, LeastStep)
    summed = any(isinstance(x, over_a_run) for x in sp.preorder_traversal(formula))
    formula = formula.replace(lambda x: isinstance(x, over_a_run), lambda x: T)
    names = {str(vector.args[0]) for vector in formula.atoms(Vec)}
    scopes = {
        "step": bool(names & {"w", "w_next", "x", "x_after", r"w_{\tau}", r"w_{r\tau}", r"w_{(r+1)\tau}"}),
        "horizon": summed or any("T" in name or "R" in name for name in names),
        "point": "w_{}" in names,
    }
    return {name for name, present in scopes.items() if present}
