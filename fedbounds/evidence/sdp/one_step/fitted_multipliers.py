"""Multipliers of a claim at a setting, or as rational functions over an interval, found with no proof by hand, and
those of a drift after steps that contract, which are tight at one point of an interval and are not found.

Constraints are dropped one by one while what is left has a proof at a few points. Mostly it has one proof there,
whose remainder S vanishes on a kernel that is rational. The kernel is interpolated by rational functions, the
multipliers solve a linear system over the field of functions, and those that it leaves free are fitted by functions
of low degree that keep a margin at many points. Nothing counts until it is verified.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from typing import Any

import numpy as np

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.functions_on_interval import Function, value_at
from fedbounds.evidence.sdp.one_step.parameters import Setting, at_point
from fedbounds.evidence.sdp.one_step.point_expressions import Expressions
from fedbounds.evidence.sdp.one_step.program import BOUNDS, Model, build
from fedbounds.evidence.sdp.one_step.sampled_program import Array, FreeMultipliers, Sample, through
from fedbounds.evidence.sdp.program import Arithmetic, Expression, Form, exact
from fedbounds.evidence.sdp.rounding import eliminated, solution
from fedbounds.evidence.sdp.symmetry import exchange
from fedbounds.evidence.sdp.verification import verify

# A remainder that lacks less than this (of programmes scaled to size 1) is semidefinite to a solver.
PROVED = 1e-6
# Errors with which constraints are dropped: a solver's own, and less.
ERRORS = (1e-7, 1e-9)
# A cost of multipliers that makes most of them 0.
SPARSE = 1e-3
# Points as shares of an interval, or of x/(1 + x) above its lower end where it has no upper one: those where a proof
# must be, and where what is fitted keeps a margin.
LOOK = tuple(map(Fraction, ("1/20", "1/2", "4/5", "20/21", "150/151", "1000/1001")))
CLOSE = tuple(map(Fraction, ("1/1000000", "1/10000", "1/1000", "1/100", "1/20", "1/6", "1/3", "1/2", "2/3", "3/4")))
CLOSE += tuple(map(Fraction, ("5/6", "9/10", "19/20", "99/100", "199/200", "999/1000", "9999/10000", "1")))
# Kinds of constraints of a programme that is searched (of more, seconds become minutes), and sets of them tried.
MOST, SUPPORTS = 70, 8
# Of so many points so many must have a kernel, and so many may lack one.
POINTS, ENOUGH, FAILURES = 40, 5, 12


def fitted(
    lhs: str, rhs: Mapping[str, Any], setting: Setting, written: Expressions | None = None
) -> dict[str, Any] | None:
    """Multipliers that prove lhs <= sum_k rhs_k form_k at a setting, functions where it has an interval, or None."""
    if lhs == "drift" and (by_hand := contracting(rhs, setting, written)) is not None:
        return by_hand
    search = _Search(lhs, rhs, setting, written)
    count = len(search.orbits)
    if count > MOST or not search.proves(range(count), search.points(LOOK), 10 * PROVED):
        return None
    for support in islice(search.supports(), SUPPORTS):
        if (result := search.solved(support)) is not None:
            return result
    return None


def contracting(
    rhs: Mapping[str, Any], setting: Setting, written: Expressions | None = None
) -> dict[str, Any] | None:
    """Multipliers that prove a bound on the drift where they do, all of its G^2 spent.

    ||w_t^i - w_t0|| <= D with D <- (1 - eta mu) D + eta, times a bound on the gradient at w_t0 (`drift-full`):
    co-coercivity between the step's start and w_t0 contracts, ||u + v||^2 <= (1 + b/a) ||u||^2 + (1 + a/b) ||v||^2.
    """
    reach, ways = None, dict[str, Any]()
    for k, eta in enumerate(setting.eta[:-1]):
        contraction = 1 - eta * setting.mu
        if reach is not None:
            share = contraction + eta / reach  # (1 + b/a) a for a = contraction * reach and b = eta, over reach
            pairs = dict.fromkeys((f"x{k}|x0", f"x0|x{k}"), 2 * eta * share)
            ways = {way: value * contraction * share for way, value in ways.items()} | pairs
        reach = eta if reach is None else contraction * reach + eta
    reach = Fraction(0) if reach is None else reach
    # What the variance costs: alpha_i each, or 2 a alpha_i where a client has a > 1/2, and 2 a (1 - a) for that one:
    # diag(cost - alpha) + alpha alpha^T then annihilates 1 - 2 e_h and has one negative entry on its diagonal.
    weights, most = list(enumerate(setting.alpha)), max(setting.alpha)
    if 2 * most > 1:
        weights = [(i, 2 * most * (a if a != most else 1 - a)) for i, a in weights]
    spare = rhs.get("G_sq", Fraction(0)) - reach**2 * sum(a for _, a in weights)
    paid = {f"gradient {i} x0": reach**2 * a + spare * setting.alpha[i] for i, a in weights}
    result = {f"interpolation {i} {way}": value * a for i, a in weights for way, value in ways.items()} | paid
    model = build(setting, exact, written=written)
    with contextlib.suppress(InputError, ZeroDivisionError, KeyError):  # a sign that changes, or no such constraints
        if verify(model, model.sum(rhs) - model["drift"], result)[0]:
            return {label: value for label, value in result.items() if value != 0}
    return None


def on_kernel(
    lhs: str, rhs: Mapping[str, Any], setting: Setting, active: Array, kernel: Array
) -> dict[str, Any] | None:
    """The same of constraints ``active`` (m,) in a known worst case, on whose ``kernel`` (r, n) S vanishes."""
    search = _Search(lhs, rhs, setting, None)
    return search.solved([k for k, orbit in enumerate(search.orbits) if active[list(orbit)].all()], kernel)


@dataclass(frozen=True)
class _Search:
    """What is to be proved, and where one looks; a point is None where the setting has no interval."""

    lhs: str
    rhs: Mapping[str, Any]
    setting: Setting
    written: Expressions | None
    samples: dict[Fraction | None, Sample] = field(default_factory=dict)

    def model(self, x: Fraction | None, number: Arithmetic) -> tuple[Model, Expression]:
        """The programme at a point, and right less left side."""
        setting, rhs = self.setting, self.rhs
        if x is not None:
            setting, rhs = setting.at(x), at_point(rhs, x)
        model = build(setting, number, [name for name in BOUNDS if self.rhs.get(name)], self.written)
        return model, model.sum(rhs) - model[self.lhs]

    @cached_property
    def whole(self) -> tuple[Model, Expression]:
        """The programme of functions."""
        return self.model(None, exact)

    @cached_property
    def orbits(self) -> tuple[tuple[int, ...], ...]:
        """The constraints that exchanges of clients make equal."""
        return exchange(*self.model(self.points(LOOK)[0], float)).orbits

    def points(self, shares: Sequence[Fraction]) -> list[Fraction | None]:
        """Points of the interval."""
        over = self.setting.over
        if over is None:
            return [None]
        if over.high is None:
            return [over.low + share / (1 - share) for share in shares if share < 1]
        return [over.low + (over.high - over.low) * share for share in shares]

    def sample(self, x: Fraction | None) -> Sample:
        """The programme at a point in floats."""
        if x not in self.samples:
            self.samples[x] = Sample.of(*self.model(x, float))
        return self.samples[x]

    def proves(self, support: Sequence[int], points: Sequence[Fraction | None], error: float) -> bool:
        """Whether these constraints prove it at the points, to a solver."""
        return all(self.sample(x).smallest(support)[0] <= error for x in points)

    def supports(self) -> Iterator[list[int]]:
        """Constraints of which none can be left out, by where one looks, the error, and the order of trying."""
        every, earlier = list(range(len(self.orbits))), list[list[int]]()
        for points, error in product((self.points(LOOK), self.simple(ENOUGH)), ERRORS):
            sizes = [self.sample(x).smallest(every, SPARSE)[1] for x in (points[0], points[-1])]
            for size in (*sizes, np.array(every), -np.array(every)):
                support = sorted(every, key=lambda j: size[j])
                large = [j for j in support if size[j] > PROVED]
                support = large if large and self.proves(large, points, error) else support
                for j in tuple(support):
                    less = [other for other in support if other != j]
                    support = less if less and self.proves(less, points, error) else support
                if sorted(support) not in earlier:
                    earlier.append(sorted(support))
                    yield earlier[-1]

    def simple(self, count: int) -> list[Fraction | None]:
        """Points of the interval that are simple fractions."""
        over = self.setting.over
        return [None] if over is None else list(islice(over.fractions(), count))

    def forms(self, support: Sequence[int]) -> list[Form]:
        """Those of the constraints, and of what they are to prove."""
        model, gap = self.whole
        several = ([model.constraints[j].expression for j in self.orbits[k]] for k in support)
        return [model.form(item) for item in (*(Expression.mean([1] * len(rows), rows) for rows in several), gap)]

    def solved(self, support: Sequence[int], given_kernel: Array | None = None) -> dict[str, Any] | None:
        """Verified multipliers of these constraints, or None."""
        forms = self.forms(support)
        kernel = self.kernel(support, forms) if given_kernel is None else given_kernel
        if kernel is None:
            return None
        model, gap = self.whole
        for values in self.choices(support, kernel, _equations(forms, kernel)):
            multipliers = {
                model.labels[j]: value if isinstance(value, Function) else value_at(value, None)
                for k, value in zip(support, values, strict=True)
                for j in self.orbits[k]
                if value != 0
            }
            # An error says that a sign changes over the interval, or that a multiplier has a pole there.
            with contextlib.suppress(InputError, ZeroDivisionError):
                if verify(model, gap, multipliers)[0]:
                    return multipliers
        return None

    def choices(self, support: Sequence[int], kernel: Array, rows: list[Sequence[Any]]) -> Iterator[list[Any]]:
        """Solutions of a system, as values of all multipliers; which of them are free, if any, is tried in turn."""
        tried = list[list[int]]()
        for x in self.points(LOOK):
            order = np.argsort(-self.sample(x).smallest(support)[1]).tolist()
            if (system := eliminated(rows, order, x)) is None:
                return
            free = [j for j in range(len(support)) if j not in system]
            if not free:
                yield [system[j][-1] for j in range(len(support))]
                return
            if free not in tried:
                tried.append(free)
                margins = FreeMultipliers(self.setting.over, len(support), free, system)
                for close in self.points(CLOSE):
                    margins.add(close, self.sample(close), support, kernel)
                yield from margins.choices(self.whole[1])

    def kernel(self, support: Sequence[int], forms: Sequence[Form]) -> Array | None:
        """Vectors (r, n) on which every remainder vanishes, as functions over the interval; None where not found."""
        over, kernels, failed = self.setting.over, dict[Any, Array](), 0
        for x in self.simple(POINTS):
            there = self._kernel_at(support, [_at(form, x) for form in forms], x)
            if over is None or there is None:
                failed += 1
                if over is None or failed > FAILURES:
                    return there
                continue
            kernels[x] = there
            count = Counter(map(len, kernels.values())).most_common(1)[0][0]
            alike = {x: rows for x, rows in kernels.items() if len(rows) == count}
            if len(alike) >= ENOUGH:
                columns = np.stack(list(alike.values())).reshape(len(alike), -1).T
                functions = [through(list(alike), column.tolist(), over) for column in columns]
                if None not in functions:
                    return np.array(functions, dtype=object).reshape(alike[next(iter(alike))].shape)
        return None

    def _kernel_at(self, support: Sequence[int], forms: Sequence[Form], x: Fraction | None) -> Array | None:
        """The kernel at a point in reduced form, the largest with which multipliers there are consistent."""
        y, values = self.sample(x).smallest(support)
        if y > PROVED:
            return None
        kernels = self.sample(x).kernels(support, forms, values)
        return next((kernel for kernel in kernels if _consistent(_equations(forms, kernel))), None)


def _equations(forms: Sequence[Form], kernel: Array) -> list[Sequence[Any]]:
    """Rows that say that values cancel and that S vanishes on the kernel, the right side last."""
    columns = [[*form.lin, *(kernel @ form.quad).ravel()] for form in forms]
    return list(zip(*columns, strict=True))


def _consistent(rows: list[Sequence[Any]]) -> bool:
    """Whether equations have a solution, and no negative one if there is only one."""
    values = solution(rows)
    only = values is not None and len(values) == len(rows[0]) - 1
    return values is not None and not (only and any(value < 0 for value in values.values()))


def _at(form: Form, x: Fraction | None) -> Form:
    """A form of functions at a point."""
    return form if x is None else Form(*(AT(part, x) for part in form))


AT = np.frompyfunc(lambda value, x: exact(value_at(value, x)), 2, 1)
