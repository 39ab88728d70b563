"""The last line of a derivation as one sum of facts: earlier lines, and those of cited proofs, are written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.kernel.point_forms import no_script
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory import symbols as sy

# What the bound on the drift of gradients that are bounded has beside a number, and its lemma in Rocq.
DRIFTS = {
    sy.eta**2 * (sy.tau - 1) ** 2 * sy.G_sq: "drift_inside M ok",
    sy.eta**2 * sy.tau**2 * sy.G_sq: "drift_round M ok",
}


@dataclass(frozen=True)
class DriftBound:
    """A line that bounds the drift by ``number`` times what ``lemma`` has."""

    number: sp.Expr
    bound: sp.Expr
    lemma: str


Flat = tuple[sp.Expr, d.Fact | DriftBound]


@dataclass
class Sum:
    """Facts with multipliers, the letters in these, and the lines that facts of two points are about."""

    uses: tuple[Flat, ...]
    letters: Mapping[sp.Expr, sp.Expr]
    steps: Mapping[str, d.Step]


def flattened(checked: Checked) -> Sum:
    """What shows the last line; InputError where a letter stands for two numbers."""
    letters: dict[sp.Expr, sp.Expr] = {}
    steps: dict[str, d.Step] = {}
    uses = tuple(_of(checked, checked.derivation.steps[-1], letters, steps))
    return Sum(uses, letters, steps)


def _of(checked: Checked, line: d.Step, letters: dict[sp.Expr, sp.Expr], steps: dict[str, d.Step]) -> Iterator[Flat]:
    """The facts of a line, with their multipliers."""
    for shown in checked.conditions:
        if letters.setdefault(shown.symbol, shown.expression) != shown.expression:
            raise no_script(f"the letter {shown.symbol}, which is two numbers")
    if not isinstance(line.because, tuple):
        raise no_script(f"the line {line.label}")
    for multiplier, fact in line.because:
        for m, one in _written(checked, fact, letters, steps):
            yield multiplier * m, one


def _written(
    checked: Checked, fact: d.Fact, letters: dict[sp.Expr, sp.Expr], steps: dict[str, d.Step]
) -> Iterable[Flat]:
    """A fact as a sum of facts that refer to no other line, but of two points."""
    if isinstance(fact, d.Averaged):
        inside = [(m * n, one) for m, use in fact.uses for n, one in _written(checked, use, letters, steps)]
        return ((sp.Integer(1), d.Averaged(fact.weights, tuple(inside))),)  # type: ignore[arg-type]
    if not isinstance(fact, d.Earlier | d.Cited):
        return ((sp.Integer(1), fact),)
    if isinstance(fact, d.Cited):
        checked = verified_proofs.checked_named(fact.derivation, checked.reading)
        line = checked.derivation.steps[-1]
    else:
        line = next(one for one in checked.derivation.steps if one.label == fact.label)
    if (drift := _drift(line)) is not None:
        return ((sp.Integer(1), drift),)
    if isinstance(line.because, d.Cases):
        if steps.setdefault(line.label, line) != line:
            raise no_script(f"the line {line.label} of two proofs")
        return ((sp.Integer(1), d.Earlier(line.label)),)
    return tuple(_of(checked, line, letters, steps))


def _drift(line: d.Step) -> DriftBound | None:
    for bound, lemma in DRIFTS.items() if line.lhs == sy.drift and line.relation == "<=" else ():
        number = sp.cancel(line.rhs / bound)
        if number.is_Rational:
            return DriftBound(number, bound, lemma)
    return None
