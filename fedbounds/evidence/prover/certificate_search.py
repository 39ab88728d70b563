"""The search for a proof: non-negative multipliers of facts and positive semidefinite remainders, made exact.

What is to be shown is a linear form in Gram entries, losses and constants, with coefficients that are quotients of
polynomials in the parameters. A multiplier is sum_j c_j m_j with c_j >= 0 and products m_j of non-negative letters; a
remainder is sum_j m_j <R_j, Gram> with R_j positive semidefinite. The identity is linear in c and R, so that a
semidefinite programme finds them for all parameters at once; they are then rounded and repaired in exact arithmetic.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from flint import fmpq
from numpy.typing import NDArray

from fedbounds.evidence.prover import forms
from fedbounds.evidence.prover.forms import Form
from fedbounds.evidence.prover.rationals import rounded_value, span_of, squares, symmetric
from fedbounds.evidence.sdp.functions_on_interval import fraction
from fedbounds.evidence.sdp.rounding import repaired
from fedbounds.evidence.sdp.solver import conic, infeasible
from fedbounds.evidence.sdp.symmetry import corners
from fedbounds.evidence.sdp.verification import factored

# Below this a multiplier or an eigenvalue of a solver's proof is taken for zero; a wrong guess only fails.
ZEROS = (1e-6, 1e-4)
# Among proofs of the same size those with facts that are listed first are preferred.
SIMPLER = 1e-3
# Rounded numbers have denominators up to these, the simple first.
DENOMINATORS = (12, 240, 2**24)
# A margin below a solver's accuracy is none; what such a solution has below FLAT is 0 in all solutions.
MARGIN, FLAT = 1e-7, 1e-5
REDUCTIONS = 5
# A larger programme takes a solver half a minute and more; the largest of a proof that was found had 460 columns.
MOST_COLUMNS = 1500


@dataclass(frozen=True)
class Part:
    """What a proof may use: its form times each of ``multipliers`` (in the field), of either sign if ``free``."""

    form: Form
    multipliers: Sequence[Any]
    free: bool = False


@dataclass(frozen=True)
class Block:
    """Vectors (their Gram entries' keys, scales in the field) that a remainder is a form of, and its multipliers."""

    name: forms.Block
    vectors: Sequence[sp.Expr]
    scales: Sequence[Any]
    multipliers: Sequence[Any]


@dataclass(frozen=True)
class Proof:
    """c (part, j) -> multiplier, and (block, j) -> squares: (weight, coefficients of the scaled vectors)."""

    multipliers: dict[tuple[int, int], Fraction]
    squares: dict[tuple[int, int], list[tuple[Fraction, list[Fraction]]]]


@dataclass(frozen=True)
class _System:
    """Columns of A z = b over the rationals, by (key, monomial).

    ``names`` are (part, j) or None, ``bounded`` the columns that are non-negative. A cone is its (block, j), the
    vectors that span it and the places of its matrix's lower triangle.
    """

    columns: list[dict[Any, Any]]
    names: list[tuple[int, int] | None]
    bounded: list[int]
    cones: list[tuple[tuple[int, int], list[list[fmpq]], list[int]]]


def prove(target: Form, parts: Sequence[Part], blocks: Sequence[Block]) -> Proof | None:
    """A proof that the target is not negative; None where none is found."""
    system, wanted = _system(target, parts, blocks)
    if len(system.columns) > MOST_COLUMNS:
        return None
    for _ in range(REDUCTIONS):
        if not wanted.keys() <= {key for column in system.columns for key in column}:
            return None
        A, b = _matrix(system, wanted)
        sparse = _numeric(system, A, b, inside=False)
        if sparse is None:
            return None
        for zero in ZEROS:
            smaller, values = _reduced(system, sparse[:-1], zero)
            proof = _exact(smaller, wanted, values)
            if proof is not None:
                return proof
        inside = _numeric(system, A, b, inside=True)
        if inside is None:
            return None
        if inside[-1] > MARGIN:
            return _exact(system, wanted, list(inside[:-1]))
        smaller, _ = _reduced(system, inside[:-1], FLAT)
        if len(smaller.columns) == len(system.columns):
            return None
        system = smaller
    return None


def impossible(target: Form, parts: Sequence[tuple[Form, bool]], at: Mapping[sp.Symbol, sp.Rational]) -> bool:
    """Whether no numbers prove the target at one value of the parameters, where a part is (form, free).

    A value at which something is divided by 0 says nothing.
    """

    @cache
    def number(value: Any) -> float:
        there = value.as_expr().subs(at)
        return float(there) if there.is_finite else np.nan

    forms_there = [{key: number(v) for key, v in form.items()} for form in (target, *(form for form, _ in parts))]
    if not all(np.isfinite(list(form.values())).all() for form in forms_there):
        return False
    blocks = forms.basis((target, *(form for form, _ in parts)))
    bounded = [j for j, (_, free) in enumerate(parts) if not free]
    columns, cones = forms_there[1:], []
    for name, vectors in blocks.items():
        rows, cols, roots = corners((len(vectors),))
        cones.append((len(columns), roots))
        for r, c in zip(rows, cols, strict=True):
            pair = sorted((vectors[r], vectors[c]), key=sp.default_sort_key)
            columns.append({("gram", name, *pair): 1.0 if r == c else 2.0})
    keys = {key: k for k, key in enumerate(dict.fromkeys(key for item in (*columns, forms_there[0]) for key in item))}
    A, b = np.zeros((len(keys), len(columns))), np.zeros(len(keys))
    for j, column in enumerate(columns):
        for key, value in column.items():
            A[keys[key], j] = value
    for key, value in forms_there[0].items():
        b[keys[key]] = value
    lines = -np.eye(len(columns))[bounded]
    corner = [np.zeros((len(roots), len(columns))) for _, roots in cones]
    for part, (start, roots) in zip(corner, cones, strict=True):
        part[np.arange(len(roots)), start + np.arange(len(roots))] = -roots
    semidefinite = np.concatenate(corner) if corner else np.zeros((0, len(columns)))
    sizes = tuple(len(vectors) for vectors in blocks.values())
    return infeasible((A, b), (lines, np.zeros(len(lines))), (semidefinite, np.zeros(len(semidefinite))), sizes)


def _system(target: Form, parts: Sequence[Part], blocks: Sequence[Block]) -> tuple[_System, dict[Any, Any]]:
    raw: list[Form] = []
    names: list[tuple[int, int] | None] = []
    bounded, cones = [], []
    times = cache(operator.mul)  # few coefficients differ, and each product is a quotient to be cancelled
    for k, part in enumerate(parts):
        for j, multiplier in enumerate(part.multipliers):
            if not part.free:
                bounded.append(len(raw))
            raw.append({key: times(value, multiplier) for key, value in part.form.items()})
            names.append((k, j))
    for k, block in enumerate(blocks):
        size = len(block.vectors)
        identity = [[fmpq(int(i == j)) for j in range(size)] for i in range(size)]
        rows, columns, _ = corners((size,))
        for j, multiplier in enumerate(block.multipliers):
            cones.append(((k, j), identity, [len(raw) + place for place in range(len(rows))]))
            for r, c in zip(rows, columns, strict=True):
                pair = sorted((block.vectors[r], block.vectors[c]), key=sp.default_sort_key)
                value = times(times(multiplier, block.scales[r]), block.scales[c])
                raw.append({("gram", block.name, *pair): value if r == c else times(value, 2)})
                names.append(None)
    result, wanted = _rows(raw, target)
    return _System(result, names, bounded, cones), wanted


def _rows(raw: Sequence[Form], target: Form) -> tuple[list[dict[Any, Any]], dict[Any, Any]]:
    """(key, monomial) -> rational coefficient of each form, each key's equation over its common denominator."""
    multiple, denominators = cache(lambda one, other: one.lcm(other)), dict[Any, Any]()
    for form in (target, *raw):
        for key, value in form.items():
            denominators[key] = multiple(denominators.get(key, value.denom), value.denom)

    @cache
    def over(value: Any, denominator: Any) -> list[tuple[Any, fmpq]]:
        terms = (value.numer * denominator.quo(value.denom)).terms()
        return [(monomial, fmpq(int(number.numerator), int(number.denominator))) for monomial, number in terms]

    def rows(form: Form) -> dict[Any, Any]:
        read = ((key, over(value, denominators[key])) for key, value in form.items())
        return {(key, monomial): number for key, terms in read for monomial, number in terms}

    return [rows(form) for form in raw], rows(target)


def _matrix(system: _System, wanted: dict[Any, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    rows = {
        key: k for k, key in enumerate(dict.fromkeys(key for column in (*system.columns, wanted) for key in column))
    }
    A, b = np.zeros((len(rows), len(system.columns))), np.zeros(len(rows))
    for j, column in enumerate(system.columns):
        for key, value in column.items():
            A[rows[key], j] = float(fraction(value))
    for key, value in wanted.items():
        b[rows[key]] = float(fraction(value))
    scale = np.maximum(np.abs(A).max(axis=1, initial=0), 1e-300)
    return A / scale[:, None], b / scale


def _numeric(system: _System, A: NDArray[Any], b: NDArray[Any], inside: bool) -> NDArray[Any] | None:
    """A solution with the smallest multipliers and traces, or that furthest ``inside``; then its margin."""
    count = len(system.columns)
    cost, extra = np.zeros(count + 1), np.zeros((len(b), 1))
    lines, bound = np.zeros((len(system.bounded) + 2, len(cost))), np.zeros(len(system.bounded) + 2)
    for row, j in enumerate(system.bounded):
        lines[row, j], lines[row, -1] = -1, 1
        cost[j] = 1 + SIMPLER * row
    lines[-1, -1], lines[-2, -1], bound[-1] = 1, -1, float(inside)
    cones = []
    for _, span, places in system.cones:
        rows, columns, roots = corners((len(span),))
        part = np.zeros((len(places), len(cost)))
        part[np.arange(len(places)), places] = -roots
        part[:, -1] = rows == columns
        cost[np.array(places, dtype=int)[rows == columns]] = 1.0
        cones.append(part)
    if inside:
        cost = np.append(np.zeros(count), -1.0)
    semidefinite = np.concatenate(cones) if cones else np.zeros((0, len(cost)))
    sizes = tuple(len(span) for _, span, _ in system.cones)
    equal = np.concatenate([A, extra], axis=1), b
    return conic(cost, equal, (lines, bound), (semidefinite, np.zeros(len(semidefinite))), sizes)


def _reduced(system: _System, x: NDArray[Any], zero: float) -> tuple[_System, list[float]]:
    """The system on the face where a solution lies, and the solution there: what is at most ``zero`` is left out."""
    columns, values, bounded, cones = list[dict[Any, Any]](), list[float](), list[int](), []
    names: list[tuple[int, int] | None] = []
    kept = set(system.bounded)
    for j, (name, value) in enumerate(zip(system.names, x, strict=True)):
        if name is not None and (j not in kept or value > zero):
            if j in kept:
                bounded.append(len(columns))
            columns.append(system.columns[j])
            names.append(name)
            values.append(float(value))
    for key, before, places in system.cones:
        R = symmetric(x[places], len(before))
        span = span_of(R, zero)
        if not span:
            continue
        rows, cols, _ = corners((len(before),))
        inverse = np.linalg.pinv(np.array([[float(fraction(v)) for v in row] for row in span]))
        S = inverse.T @ R @ inverse
        where = []
        for r, c in zip(*corners((len(span),))[:2], strict=True):
            column: dict[Any, Any] = {}
            for place, i, j in zip(places, rows, cols, strict=True):
                entry = span[r][i] * span[c][j] + span[r][j] * span[c][i]
                entry = entry * fmpq(1 if r == c else 2, 2)
                if entry != 0:
                    for row, value in system.columns[place].items():
                        column[row] = column.get(row, fmpq(0)) + value * entry
            where.append(len(columns))
            columns.append(column)
            names.append(None)
            values.append(float(S[r, c]))
        basis = [
            [sum((w * v[x] for w, v in zip(row, before, strict=True)), fmpq(0)) for x in range(len(before[0]))]
            for row in span
        ]
        cones.append((key, basis, where))
    return _System(columns, names, bounded, cones), values


def _exact(system: _System, wanted: dict[Any, Any], values: list[float]) -> Proof | None:
    """A solution near the values made exact; None where that fails."""
    order = sorted(range(len(values)), key=lambda j: -abs(values[j]))
    columns = [system.columns[j] for j in order]
    for denominator in DENOMINATORS:
        exactly = repaired(columns, wanted, [rounded_value(values[j], denominator) for j in order])
        if exactly is None:
            return None
        named = dict(zip(order, exactly, strict=True))
        proof = _packed(system, [named[j] for j in range(len(values))])
        if proof is not None:
            return proof
    return None


def _packed(system: _System, values: list[fmpq]) -> Proof | None:
    """The values by name; None where one that must not be negative is, or a remainder is not semidefinite."""
    if any(values[j] < 0 for j in system.bounded):
        return None
    sums = {}
    for key, span, places in system.cones:
        rows, columns, _ = corners((len(span),))
        S = [[fmpq(0)] * len(span) for _ in span]
        for place, r, c in zip(places, rows, columns, strict=True):
            S[r][c] = S[c][r] = values[place]
        factors = factored(S)
        if factors is None:
            return None
        sums[key] = squares(factors, span)
    named = zip(system.names, values, strict=True)
    return Proof({name: fraction(value) for name, value in named if name is not None and value != 0}, sums)


def terms(proof: Proof) -> Iterator[tuple[int, int, Fraction]]:
    """(part, multiplier, c) of a proof."""
    for (k, j), value in proof.multipliers.items():
        yield k, j, value
