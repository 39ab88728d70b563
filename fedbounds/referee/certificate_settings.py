"""Where a claim is certified: the settings of a round, and whole runs; and how small constants can be there.

At settings each term is lowered in turn; in kappa a function is fitted to the solver's constants and then proved.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round.claim_at_run import MEASURES, applies, strongly_convex
from fedbounds.evidence.sdp.multi_round.program import Present, Run, Start
from fedbounds.evidence.sdp.multi_round.verdict import examine, meets
from fedbounds.evidence.sdp.one_step.coverage import conditions, round_settings, setting_with_stated_steps
from fedbounds.evidence.sdp.one_step.parameters import Setting, pointwise, round_setting, sizes_at
from fedbounds.evidence.sdp.one_step.parameters import applies as about_step
from fedbounds.evidence.sdp.one_step.tight_constants import split, tight, tight_value
from fedbounds.evidence.sdp.one_step.verdict import examine as examine_step
from fedbounds.referee.stage_context import Case, StageResult
from fedbounds.theory.assumptions import full_participation
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import L, gap_0, mu
from fedbounds.theory.verdict import Status, Verdict


@dataclass(frozen=True)
class Grid:
    """Where claims about one round, or about whole runs of so many ``rounds``, are put to the SDP."""

    kappas: tuple[int, ...]
    taus: tuple[int, ...]
    weights: tuple[tuple[tuple[str, str], tuple[str, str]], ...]
    rounds: tuple[int, ...] = (1, 2, 4)


EVEN, UNEVEN, BIASED = ("1/2", "1/2"), ("9/10", "1/10"), ("3/4", "1/4")
GRIDS = {
    "small": Grid((2, 10, 100), (1, 2, 4), ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN))),
    "large": Grid(
        (2, 3, 10, 30, 100, 1000),
        (1, 2, 3, 4, 6),
        ((EVEN, EVEN), (UNEVEN, UNEVEN), (BIASED, EVEN), (EVEN, UNEVEN)),
        (1, 2, 4, 8),
    ),
}
# First step sizes in units of 1/L, where a claim about a whole run leaves them open, the largest first.
FIRST_STEPS = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 32))
# kappa at which functions are nearly flat, the worst of the class for a bound without mu.
FLAT = 10**4
# Clients a round, of N, where a claim does not want everyone; and each of N with a probability.
PRESENT: tuple[Present, ...] = ((1, 2), (2, 10))
BY_COINS: tuple[Present, ...] = ((Fraction(1, 2), 2), (Fraction(1, 5), 10))
# Of those that a claim allows so many are taken, and so many values of tau.
FEW = 2


def settings(claim: Claim, reading: Reading, grid: Grid) -> Iterator[Setting]:
    """Weights x tau x kappa at the claim's own step size, in the last step of the first round."""
    for (alpha, p), local, kappa in itertools.product(grid.weights, grid.taus, grid.kappas):
        try:
            setting = round_setting(
                tau=local,
                kappa=kappa,
                alpha=tuple(map(Fraction, alpha)),
                p=tuple(map(Fraction, p)),
                reading=reading.name,
            )
            setting = setting_with_stated_steps(claim, setting)
            if claim.steps is None and conditions(claim, setting)[0]:
                setting = replace(setting, eta=(Fraction(1),) * len(setting.eta))  # the claim may want equal steps
        except InputError:
            continue  # an irrational step size, or weights that this reading says too little about
        yield setting
        if pointwise(claim, reading) and (local, alpha) != (grid.taus[0], grid.weights[0][0]):
            return


def runs(claim: Claim, reading: Reading, grid: Grid) -> Iterator[tuple[Run, Fraction]]:
    """Rounds x tau x kappa x first step of a claim about whole runs, at its own steps, and the first step size."""
    measure, right = MEASURES[sp.sympify(claim.lhs)], sp.Add(*map(sp.sympify, claim.sides(reading).terms.values()))
    start: Start = "gap" if right.has(gap_0) else "distance"
    mild = right.has(mu)
    kappas: tuple[int | None, ...] = grid.kappas if mild else (*grid.kappas, FLAT)
    kappas = kappas if strongly_convex(claim, reading) else (None,)
    everyone = full_participation in claim.assumptions_in(reading)
    presents = (None,) if everyone else BY_COINS if claim.by_coins else PRESENT
    for present, kappa, local, rounds in itertools.product(presents, kappas, grid.taus[:FEW], grid.rounds):
        fitting = []
        for first in FIRST_STEPS:
            least = Fraction(1, kappa) if kappa else Fraction(0)
            values = {"L": Fraction(1), "mu": least, "tau": Fraction(local), "eta_0": first}
            try:
                total = rounds * local
                sizes = (first,) * total if claim.steps is None else sizes_at(claim, values, 0, total)
                run = Run(rounds, local, least, Fraction(1), sizes, measure=measure, present=present, start=start)
            except InputError:
                continue  # steps that are not rational or too long, or a mean of one iterate
            if (run, first) not in fitting and meets(claim, reading, run, first):
                fitting.append((run, sizes[0]))
        yield from dict.fromkeys(fitting[:FEW])


# A bound this near to an instance, relatively, is called attained (instances are told in floats), or tight.
ATTAINED, TIGHT = 1e-9, 0.01


def examined(case: Case, grid: Grid) -> StageResult:
    """What is found over a grid of runs, in sentences and verdicts; it stops where the claim is false."""
    claim, reading = case.claim, case.reading
    if not applies(claim, reading):
        return StageResult(
            ("it is no statement of one round, or of a whole run, in the quantities of the certificates",)
        )
    result: list[Verdict] = []
    for run, first in runs(claim, reading, grid):
        result.append(examine(claim, reading, run, first))
        if result[-1].status is Status.REFUTED:
            return StageResult((result[-1].detail,), tuple(result[-1:]))
        case.so_far(lambda: _in_sentences(result))
    return _in_sentences(result)


def _in_sentences(verdicts: list[Verdict]) -> StageResult:
    held = [verdict for verdict in verdicts if verdict.status is Status.HOLDS]
    open_ = Counter(v.detail for v in verdicts if v.status is Status.UNDECIDED)
    lines = [f"certified for {len(held)} of {len(verdicts)} whole runs that meet its assumptions"] if verdicts else []
    near = tightness(verdicts)
    lines += [near] if near else []
    lines += [f"undecided for {count}: {why}" for why, count in open_.items()]
    return StageResult(tuple(lines) or ("no run that was tried meets its assumptions",), tuple(verdicts))


def tightness(verdicts: Iterable[Verdict]) -> str:
    """How near an instance comes to a bound on whole runs, in words; empty where nothing is known."""
    compared = (Status.HOLDS, Status.UNDECIDED)
    near = [v for v in verdicts if v.status in compared and "run" in v.data and v.tightness is not None]
    if not near:
        return ""
    # Of those that come equally near, up to rounding, or near enough, the longest.
    least = min(round(verdict.tightness or 0.0, 9) for verdict in near)
    equal = [v for v in near if round(v.tightness or 0.0, 9) <= max(least, (1 + TIGHT) * (least > 1 + ATTAINED))]
    best = min(equal, key=lambda verdict: (-_steps(verdict), verdict.tightness or 0.0))
    excess = (best.tightness or 1.0) - 1
    where = best.data["where"]
    if excess <= ATTAINED:
        return f"the bound is tight: an instance attains it at {where}"
    tight = "the bound is tight: " * (excess <= TIGHT)
    return f"{tight}an instance comes within {float(f'{100 * excess:.2g}'):g}% of it at {where}"


def _steps(verdict: Verdict) -> int:
    at: Any = verdict.data["run"]
    return int(at["tau"] * at["rounds"])


# Where constants are looked for: weights of the server and of F, and one kappa and tau.
WEIGHTS = ((EVEN, EVEN), (UNEVEN, EVEN))
KAPPA, TAU = 10, 3
# What is smaller by less counts as tight.
NEAR = Fraction(1, 1000)
kappa = sp.Symbol("kappa", positive=True)
# Where functions of kappa are fitted, and for which they are proved.
PLACES, ALL = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 40, 100), "1..inf"
# Degrees of numerator and denominator in 1/kappa, the simplest first.
DEGREES = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2))
# How near a fit must come to the solver's values, relative to them; and denominators of its coefficients.
FITS, LARGEST = 1e-8, 64


@dataclass(frozen=True)
class Constants:
    """The smallest constants of terms, certified together: none can be smaller while the others stay."""

    where: str
    stated: Mapping[str, Fraction]
    certified: Mapping[str, Any]

    def __str__(self) -> str:
        """A line of a table."""
        return f"{self.where}: {', '.join(map(self._words, self.certified))}"

    def _words(self, term: str) -> str:
        value, stated = self.certified[term], self.stated[term]
        if value == stated:
            return f"{term} as stated"
        return f"{term} {value if isinstance(value, sp.Expr) else format(float(value), '.4g')} (of {stated})"

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object, its numbers as fractions."""
        numbers = {
            term: {"stated": str(self.stated[term]), "certified": str(x)} for term, x in self.certified.items()
        }
        return {"where": self.where, "constants": numbers}


def front(claim: Claim, reading: Reading) -> Iterator[Constants]:
    """Points of the Pareto front: one term is lowered as far as is certified, then each of the others in turn.

    Then the constants of one term that are a simple function of kappa while the others are as stated. Contractions
    stay as they are. Nothing of what is no statement of one step in the certificates' quantities.
    """
    if not about_step(claim, reading):
        return
    for setting in settings(claim, reading, Grid((KAPPA,), (TAU,), WEIGHTS)):
        seen = list[Mapping[str, Fraction]]()
        with contextlib.suppress(InputError, ZeroDivisionError):
            every = {name: split(claim, setting, name).stated for name in _lowerable(claim)}
            stated = {name: number for name, number in every.items() if number > 0}
            names = [*stated]
            for k in range(len(names)):
                constants = lowered(claim, setting, stated, (*names[k:], *names[:k]))
                if constants and constants not in seen:
                    seen.append(constants)
                    yield Constants(f"kappa = {KAPPA}, {_words(setting)}", stated, constants)
    for weights in WEIGHTS:
        yield from in_kappa(claim, reading, weights)


def _lowerable(claim: Claim) -> list[str]:
    return [name for name in claim.terms if name != "contraction"]


def _words(setting: Setting) -> str:
    return f"tau = {TAU}, alpha = ({', '.join(map(str, setting.alpha))})"


def lowered(
    claim: Claim, setting: Setting, stated: Mapping[str, Fraction], order: tuple[str, ...]
) -> dict[str, Fraction]:
    """The constants of terms that are lowered one after the other; none where none is certified.

    A term that is 0 all over the class, or is certified hardly lower, stays as it is.
    """
    least: dict[str, Fraction] = {}
    best = replace(claim, key=f"{claim.key}-lowered")
    for name in order:
        constant = tight(best, setting, name)
        if constant.certified is None or constant.certified > stated[name] * (1 - NEAR):
            continue
        least[name] = max(constant.certified, Fraction(0))
        share = sp.Rational(*least[name].as_integer_ratio()) / sp.sympify(claim.terms[name]).as_coeff_Mul()[0]
        terms = {other: term for other, term in best.terms.items() if other != name or share}
        best = replace(best, terms={other: term * (share if other == name else 1) for other, term in terms.items()})
    return dict(stated) | least if least else {}


def in_kappa(claim: Claim, reading: Reading, weights: tuple[tuple[str, str], tuple[str, str]]) -> Iterator[Constants]:
    """The constants that are a simple function of kappa and are proved for every kappa > 1, as no larger than stated.

    At the last step of the first round, of two clients with these ``weights`` of the server and of F.
    """
    alpha, p = (tuple(map(Fraction, shares)) for shares in weights)
    for term in _lowerable(claim):
        with contextlib.suppress(InputError, ZeroDivisionError):
            places = [*settings(claim, reading, Grid(PLACES, (TAU,), (weights,)))]
            fit = fitted([tight_value(claim, place, term) for place in places])
            stated = split(claim, places[0], term).stated if places else Fraction(0)
            if fit is None or not all(0 < fit.subs(kappa, x) < stated for x in PLACES):
                continue
            share = fit.subs(kappa, L / mu) / sp.Rational(str(stated))
            whole = replace(
                claim, key=f"{claim.key}-in-kappa", terms={**claim.terms, term: share * claim.terms[term]}
            )
            (anywhere,) = round_settings(claim, TAU - 1, tau=TAU, kappa=ALL, alpha=alpha, p=p, reading=reading.name)
            if examine_step(whole, anywhere).status is Status.HOLDS:
                where = f"every kappa > 1, {_words(anywhere)}, other terms as stated"
                yield Constants(where, {term: stated}, {term: fit})


def fitted(values: Sequence[float]) -> sp.Expr | None:
    """The simplest rational function of kappa with small coefficients that has these values at `PLACES`.

    >>> fitted([float(2 / (1 + 1 / place)) for place in PLACES])
    2*kappa/(kappa + 1)
    """
    if len(values) < len(PLACES) or not np.isfinite(values).all() or not np.all(values):
        return None
    x, y = np.array([1 / place for place in PLACES]), np.array(values)
    for above, below in DEGREES:
        columns = [x**k for k in range(above + 1)] + [-y * x**k for k in range(1, below + 1)]
        solution = np.linalg.lstsq(np.stack(columns, axis=1), y, rcond=None)[0]
        numbers = [sp.Rational(str(Fraction(float(value)).limit_denominator(LARGEST))) for value in solution]
        both = numbers[: above + 1], [sp.Integer(1), *numbers[above + 1 :]]
        top, bottom = (sum(c / kappa**k for k, c in enumerate(part)) for part in both)
        upper, lower = (sum(float(c) * x**k for k, c in enumerate(part)) for part in both)
        if np.all(np.abs(upper - y * lower) <= FITS * np.abs(y * lower)):
            return sp.factor(top / bottom)
    return None
