"""What a claim and a setting speak of: the claim's own step size, its assumptions there, and the coverage."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp

from fedbounds.errors import InputError, demand, reject
from fedbounds.evidence.assumption_checks import in_fractions, unmet_assumptions
from fedbounds.evidence.evaluate import rational
from fedbounds.evidence.sdp.functions_on_interval import Function, constant, ranged
from fedbounds.evidence.sdp.one_step.parameters import (
    PLAIN,
    Setting,
    is_gradient_descent,
    numbers,
    pointwise,
    round_setting,
    sizes_at,
)
from fedbounds.evidence.sdp.one_step.program import entries
from fedbounds.io import as_fraction
from fedbounds.theory.assumption import Answer, Assumption
from fedbounds.theory.claim import Claim, OwnSteps
from fedbounds.theory.coverage import Along, Coverage, Region, Span, only, weights_in_words
from fedbounds.theory.point_values import units_of
from fedbounds.theory.reading import Reading
from fedbounds.theory.symbols import eta_0
from fedbounds.theory.verdict import Failure

# Squares and cubes of such numbers are floats, in which the solver computes.
LARGEST = Fraction(10**100)
# Numbers of a model that is still built (0.8 GB).
MOST_ENTRIES = 10**8


def setting_with_stated_steps(claim: Claim, setting: Setting, start: int = 0) -> Setting:
    """The setting with the claim's own eta, the round starting at t0 = ``start``.

    As stated; or, where only its assumptions bound it, the largest constant that they allow; or as it is where the
    claim leaves that open. Raises InputError where it is not rational.
    """
    if claim.eta is not None:
        values = numbers(setting)
        if isinstance(claim.eta, sp.Min) and eta_0 in claim.eta.args:  # any constant step up to a limit: the limit
            limit = rational(sp.Min(*set(claim.eta.args) - {eta_0}), values)
            values |= {} if limit is None else {"eta_0": limit}
        return replace(setting, eta=sizes_at(claim, values, start, len(setting.eta)))
    largest = largest_step(claim, setting)
    return setting if largest is None else replace(setting, eta=(largest,) * len(setting.eta))


def fraction(value: object) -> Fraction:
    """A number as written (3/8, 0.375 or 2), without rounding; InputError where it is none or a solver overflows."""
    result = as_fraction(str(value).strip())
    if abs(result) > LARGEST or 0 < abs(result) < 1 / LARGEST:
        raise reject("a number of a setting must lie within 1e-100 and 1e100, or be 0", value, "choose another")
    return result


def fractions(values: str | Sequence[object]) -> tuple[Fraction, ...]:
    """The same of several, or of a text with commas."""
    return tuple(map(fraction, values.split(",") if isinstance(values, str) else values))


def round_settings(
    claim: Claim, time: int | None = None, start: int = 0, tau: int = 4, eta: object = None, **rest: Any
) -> Iterator[Setting]:
    """The settings of the step ``time``, or of every step of the round of ``tau`` that begins at ``start``.

    ``eta``: a constant in units of 1/L, or "diminishing", 1/(mu (t + 4 kappa)); by default the claim's own, that is
    what it states, or the largest that its assumptions allow, or where it has neither the diminishing one. kappa, or
    ``eta``, may be an interval "low..high" or "low..inf", without its lower end. ``rest`` goes to `round_setting`.
    Raises InputError where a number is no rational one or out of its range.
    """
    proper = tau >= 1 and start >= 0 and (time is None or time >= 0)
    demand(proper, "tau must be at least 1 and times non-negative", f"tau = {tau}, t = {time}", "mend them")
    given = {name: value for name, value in rest.items() if value is not None}
    whole, size = ranged(given.get("kappa"), "kappa"), ranged(eta, "eta_L")
    if size is not None and whole is not None:
        raise reject("one parameter has an interval", f"kappa {whole.over}, eta L {size.over}", "give one a number")
    given |= {name: fraction(given[name]) for name in ("rho_bar", "rho_tilde") if name in given}
    given |= {"kappa": fraction(given["kappa"]) if whole is None else whole} if "kappa" in given else {}
    given |= {name: fractions(given[name]) for name in ("alpha", "p") if name in given}
    step_size: Any = size or (None if eta in (None, "diminishing") else fraction(eta))
    if time is not None:
        start = time - time % tau
    steps = range(tau) if time is None else (time % tau,)
    _fitting(steps[-1], lambda: round_setting(tau=tau, step=steps[-1], start=start, eta=Fraction(1), **given), given)
    for step in steps:
        setting = round_setting(tau=tau, step=step, start=start, eta=step_size, **given)
        yield setting_with_stated_steps(claim, setting, start) if eta is None else setting


def _fitting(last: int, setting: Callable[[], Setting], given: Mapping[str, Any]) -> None:
    """Raise InputError where the model at the last step is too large, before any step is decided."""
    clients, times = len(given.get("alpha", ())) or given.get("clients", 1), last + 1
    least = clients**3 if given.get("local") == "any" else clients**3 * times**4  # so many are not even counted
    if (count := least if least > MOST_ENTRIES else entries(setting())) > MOST_ENTRIES:
        what = f"a round's model has at most {MOST_ENTRIES:.0e} numbers"
        raise reject(what, f"{count:.2g}", "take fewer clients or local steps")


def largest_step(claim: Claim, setting: Setting) -> Fraction | None:
    """The largest constant step size that the claim's assumptions allow, where they bound it and attain the bound."""
    if setting.over is not None:
        return None  # for each kappa another one
    values = {name: value for name, value in numbers(setting).items() if name != "eta"}
    values |= dict.fromkeys(("eta_ratio", "eta_growth"), Fraction(1))
    eta, allowed = sp.Symbol("eta", positive=True), sp.Interval.open(0, sp.oo)
    for assumption in claim.assumptions_in(setting.how):
        if "eta" not in assumption.symbols() or not assumption.symbols() <= {"eta", *values}:
            continue
        for part in assumption.parts:
            slack = part.right - part.left
            slack = slack.subs({s: sp.Rational(values[s.name]) for s in slack.free_symbols if s.name in values})
            slack = slack.xreplace(dict.fromkeys(slack.free_symbols, eta))
            relation = {"<": sp.Gt, "<=": sp.Ge, "=": sp.Eq}[part.sign](slack, 0)
            try:
                allowed = allowed.intersect(_solutions(relation, eta))
            except NotImplementedError:
                return None
    top = allowed.sup if allowed is not sp.S.EmptySet else sp.oo
    attained = top.is_Rational and allowed.contains(top) is sp.true
    return Fraction(int(top.p), int(top.q)) if attained else None


# The steps of a round, and many claims, ask for the same.
@lru_cache(maxsize=256)
def _solutions(relation: sp.Expr, eta: sp.Symbol) -> sp.Set:
    return sp.solveset(relation, eta, sp.Interval.open(0, sp.oo))


def own_step(claim: Claim, setting: Setting) -> bool:
    """Whether the setting's step sizes are those that the claim is stated for, at some t0."""
    formula, over = claim.steps, setting.over
    if formula is None:
        return True
    there = setting if over is None else setting.at(next(over.inside()))
    values = numbers(there) | {"eta_0": there.eta[0]}
    put = formula.xreplace({s: sp.Rational(values[s.name]) for s in formula.free_symbols if s.name != "t"})
    try:
        starts = sp.solve(put - sp.Rational(there.eta[0]), *put.free_symbols) if put.free_symbols else [sp.Integer(0)]
    except NotImplementedError:  # as for Min(1/2, 2/(t + 1)), constant at first
        starts = [sp.Integer(t) for t in range(setting.tau)]
    times = [int(t) for t in starts if t.is_Integer and t >= 0]
    values = numbers(setting) | {"eta_0": setting.eta[0]}
    return any(sizes_at(claim, values, start, len(setting.eta)) == setting.eta for start in times)


def at_setting(assumption: Assumption, setting: Setting) -> Answer | None:
    """Whether an assumption holds all over the class at a setting; None where neither it nor we can say."""
    if assumption.in_class is not None:
        return Answer(*assumption.in_class(setting))
    if "t" in assumption.symbols():
        return None  # a setting has the step of the round, not the time
    base = numbers(setting)
    ratios = [earlier / now for k, now in enumerate(setting.eta) for earlier in setting.eta[: k + 1]]
    base |= {"eta_ratio": max(ratios), "eta_growth": 1 / min(ratios)}
    return in_fractions(assumption, [base | {"eta": eta, "t": Fraction(k)} for k, eta in enumerate(setting.eta)])


def conditions(claim: Claim, setting: Setting) -> tuple[tuple[Failure, ...], tuple[str, ...]]:
    """(assumptions that fail at the setting, keys of those that cannot be expressed); the step size is apart."""
    assumptions = (item for item in claim.assumptions_in(setting.how) if not isinstance(item, OwnSteps))
    return unmet_assumptions(assumptions, lambda assumption: at_setting(assumption, setting))


def one_client(setting: Setting) -> Setting:
    """The class of one function and one point of it."""
    whole = (Fraction(1),)
    return replace(setting, alpha=whole, p=whole, eta=setting.eta[:1], rho_bar=Fraction(1), rho_tilde=None, tau=1)


def coverage(claim: Claim, setting: Setting) -> Coverage:
    """The experiments that a certificate of the claim at a setting speaks of."""
    axes = place(setting)
    if pointwise(claim, setting.how):
        axes = {"kappa": axes["kappa"]}
    if is_gradient_descent(
        claim, setting.how
    ):  # its clients, of any number and weights, take the steps of the one client
        axes = {name: axes[name] for name in ("kappa", "eta_L", "gradients", "participation")}
        axes |= {"tau": only(1), "T": only(setting.step)}
    return Coverage(axes if homogeneous(claim, setting.how) else {**axes, "L": only(setting.L)})


def place(setting: Setting) -> dict[str, Region]:
    """A setting as axes of experiments; rho_bar is not named where it can only be 1, rho_tilde where it is free."""
    sizes, over = tuple(eta * setting.L for eta in setting.eta), setting.over
    axes: dict[str, Region] = {
        "kappa": only(setting.L / setting.mu if setting.mu != 0 else math.inf),
        "tau": only(setting.tau),
        "local_step": only(setting.step),
        "eta_L": only(sizes[0] if len(set(sizes)) == 1 else sizes),
        "gradients": only(*("full", "stochastic") if setting.gradients == "stochastic" else ("full",)),
        "participation": only(1),
        "N": only(setting.N),
        "weights": only(weights_in_words(setting.alpha, setting.p)),
    }
    if setting.alpha != setting.p or setting.rho_bar != 1:
        axes["rho_bar"] = only(setting.rho_bar)
    if setting.rho_tilde is not None:
        axes["rho_tilde"] = only(setting.rho_tilde)
    if over is not None:
        high = math.inf if over.high is None else over.high
        constant_steps = over.parameter == "eta_L" and len(sizes) > 1
        axes[over.parameter] = Span(over.low, high, above=True, constant=constant_steps)
    if over is not None and over.parameter == "kappa":
        functions = (size if isinstance(size, Function) else Function(*constant(size), over) for size in sizes)
        axes["eta_L"] = Along("kappa", tuple(function.coefficients for function in functions))
    return axes


def in_words(claim: Claim, setting: Setting) -> str:
    """The coverage in words, and what the claim speaks of beyond it."""
    covered = coverage(claim, setting)
    beyond = ["stochastic gradients"] * (covered.axes.get("gradients") == only("full"))
    beyond += ["partial participation"] * ("participation" in covered.axes and not _demands_everyone(claim, setting))
    words = covered.words() + (f"; the claim also speaks of {' and '.join(beyond)}" if beyond else "")
    return words if own_step(claim, setting) else f"{words}; not the claim's own step size, {claim.eta}"


def _demands_everyone(claim: Claim, setting: Setting) -> bool:
    """Whether an assumption excludes partial participation."""
    absent = numbers(setting) | {"C": Fraction(1, 2)}
    answers = (in_fractions(a, [absent]) for a in claim.assumptions_in(setting.how) if a.symbols() == {"C"})
    return any(answer is not None and not answer.holds for answer in answers)


def homogeneous(claim: Claim, reading: Reading = PLAIN) -> bool:
    """Whether the claim says the same in every unit of F: true at L = 1 is true at every L."""
    left, right, _ = claim.sides(reading)
    with contextlib.suppress(InputError):  # terms of different units, or a unit in a power or a logarithm
        powers = [units[1] for side in (left, right) if (units := units_of(side)) is not None]
        return len(set(powers)) <= 1
    return False
