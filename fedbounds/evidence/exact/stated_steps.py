"""What is known of an instance before its run: its constants, and the step sizes that a claim states on it.

A step size is a fraction, or a fraction that a root lies near.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb

from fedbounds.evidence.assumption_checks import in_fractions, steps_of
from fedbounds.evidence.ball_arithmetic import BITS, Ball, enclosed, endpoints, in_bits, in_intervals
from fedbounds.evidence.evaluate import rational, without_infinite
from fedbounds.evidence.exact.instance import Instance, array
from fedbounds.evidence.exact.population_measurement import Measured, at_start
from fedbounds.theory.assumption import Answer, Assumption
from fedbounds.theory.claim import Claim, OwnSteps
from fedbounds.theory.symbols import eta, eta_0

# A root that is no fraction is known to lie within one of this many parts of 1 of a step that is written.
NEAR, ROOT_BITS = Fraction(1, 10**24), 256
# The constants that hang on no step of a run.
OF_THE_SETUP = (
    *("L", "mu", "Gamma", "tau", "N", "T_run", "p_min", "eta_0", "eta_s", "eta_ratio", "eta_growth"),
    *("sigma_0_sq", "growth"),
)


def with_steps(instance: Instance, formula: sp.Expr | None, **more: Fraction) -> Instance:
    """The instance with the step sizes of a formula, if there is one, in t, what it may be tuned to, and ``more``."""
    if formula is None:
        return instance
    values: dict[str, Any] = {"L": instance.L, "mu": instance.mu, "tau": Fraction(instance.tau), **more}
    values |= {"N": Fraction(instance.N), "T_run": Fraction(instance.total)}
    values |= {"eta_s": instance.server_step, "eta_0": instance.eta[0]}
    names = {symbol.name for symbol in formula.free_symbols}
    with in_bits(ROOT_BITS):  # w* of logistic losses is a ball
        start = at_start(instance.population, array([instance.w0]))
        values |= {name: start[name][0] for name in names & set(start)}
    sizes = [_size(formula, {**values, "t": Fraction(t)}) for t in range(instance.total)]
    radius = max(radius for _, radius in sizes)
    return instance.with_(eta=tuple(size for size, _ in sizes), radius=radius)


def _size(formula: sp.Expr, values: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """A step and how far from it at most the formula is: 0, but of a root that is no fraction; (0, 0) for no step."""
    formula = without_infinite(formula, values)
    exact = None if any(isinstance(value, Ball) for value in values.values()) else rational(formula, values)
    if exact is not None:
        return exact, Fraction(0)
    function = in_intervals(formula)
    if function is None:
        return Fraction(0), Fraction(0)
    with in_bits(ROOT_BITS):
        interval = enclosed(Ball(function({name: enclosed(value) for name, value in values.items()})))
        if not interval.is_finite():
            return Fraction(0), Fraction(0)
        low, high = endpoints(Ball(interval))
    middle = math.floor(low / NEAR) * NEAR
    return middle, max(high - middle, NEAR)


def holds_at_roots(assumption: Assumption, instance: Instance, values: Mapping[str, Fraction]) -> Answer | None:
    """The relation where each step is a root near what is written: the claim's own steps must lie as near."""
    if isinstance(assumption, OwnSteps):
        (part,), r = assumption.parts, sp.Rational(instance.radius.numerator, instance.radius.denominator)
        near = sp.Le(part.left - r, part.right, evaluate=False), sp.Ge(part.left + r, part.right, evaluate=False)
        return in_fractions(replace(assumption, relation=near), steps_of(values, instance.eta))
    if len(set(instance.eta)) == 1 and all(
        p.sign != "<" and (p.left - p.right).subs(eta, eta_0) == 0 for p in assumption.parts
    ):
        return Answer(True, "every step is one number")
    with in_bits(ROOT_BITS):
        return in_fractions(assumption, steps_of(values, step_sizes(instance)))


def before_a_run(instance: Instance, claim: Claim) -> dict[str, Fraction]:
    """The constants that are known before a run, the claim's own of the problem too."""
    server_step = array([instance.server_step])
    with in_bits(BITS[0]):
        sizes = array([step_sizes(instance)])
        setup = Measured(instance.population, (), sizes, instance.tau, (), (), server_step=server_step)
        constants = {name: as_number(setup.constants[name][0]) for name in OF_THE_SETUP}
    constants |= instance.selection
    constants |= {} if any(instance.growth) else {"sigma_sq": max(s**2 for s in instance.noise)}
    constants |= dict.fromkeys(("pi_min", "pi_max"), Fraction(1)) if instance.weighting == "fedavg" else {}
    later = [symbol for symbol in claim.computed if symbol.statistic != "constant"]
    computed = setup.member(claim, "alpha", 0, later).constants if len(later) < len(claim.computed) else {}
    return constants | computed


def step_sizes(instance: Instance) -> list[Any]:
    """The steps of an instance, of roots a ball each, in the bits that are set."""
    if not instance.radius:
        return list(instance.eta)
    around = Ball(arb(0, enclosed(instance.radius).upper()))
    balls = {size: size + around for size in instance.eta}
    return [balls[size] for size in instance.eta]


def as_number(value: Any) -> Fraction:
    """A number as a fraction; a ball, which computes like one, as it is."""
    return value if isinstance(value, Ball) else Fraction(value)  # type: ignore[return-value]
