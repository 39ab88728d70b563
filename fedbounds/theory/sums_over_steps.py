"""Sums over the steps or the rounds of a run, as quantities: sum_{t < T} eta_t^2, sum_{r < R} Delta_round.

>>> eta_squares = sum_over_steps(eta**2)
>>> eta_squares.latex
'\\\\sum_{t<T}\\\\eta_t^{2}'
"""

from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory.point_values import StepSum
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.sample_path import Numbers, Path


@cache
def sum_over_steps(term: sp.Expr) -> Quantity:
    """The sum over t < T of a product of quantities of a step, at most one of which is measured."""
    return _sum(StepSum(term), r"\sum_{t<T}", "sum")


@cache
def sum_over_rounds(term: sp.Expr) -> Quantity:
    """The sum over the finished rounds r < R of a product of quantities, each taken at step r tau."""
    return _sum(StepSum(term, of_rounds=True), r"\sum_{r<R}", "sum_of_rounds")


@cache
def least_over_steps(quantity: Quantity) -> Quantity:
    """The expectation of the least value over t < T on a path; at T = 0 the value at step 0."""
    if not isinstance(quantity, Quantity) or quantity.statistic != "measured" or quantity.on_path is None:
        raise reject(
            "a least value must be of what is measured at each step", quantity, "take gap_t or mean_slope_sq"
        )
    values: Any = quantity.on_path

    def least(path: Path) -> Numbers:
        at_steps = values(path)[: max(len(path.eta), 1)]
        return np.concatenate([at_steps[:1], np.minimum.accumulate(at_steps[: len(path.eta)])])

    return Quantity(
        f"least_{quantity.name}",
        least,
        "measured",
        rf"\mathbb{{E}}\min_{{t<T}}{quantity.latex}",
        f"expected least over t < T: {quantity.meaning}",
        quantity.units,
        **_sign([quantity]),
    )


def _sum(total: StepSum, sign: str, suffix: str) -> Quantity:
    term = total.term
    powers = {base: exponent for base, exponent in sp.sympify(term).as_powers_dict().items() if base != 1}
    for factor, power in powers.items():
        varies = isinstance(factor, Quantity) and factor.statistic in ("measured", "scheduled") and factor.on_path
        if (
            not varies
            or "step" not in factor.scopes
            or not power.is_Integer
            or power < 1
            or (factor.statistic == "measured" and power > 1)
        ):
            raise reject(
                "a sum must be of products of what varies from step to step", term, "take constants out of it"
            )
    if sum(factor.statistic == "measured" for factor in powers) > 1:
        raise reject("a sum may have one measured factor", term, "state it of each factor")

    factors = sorted(powers, key=lambda quantity: quantity.name)
    measured = any(factor.statistic == "measured" for factor in factors)
    units = [sum(int(powers[item]) * (item.units or (0, 0))[k] for item in factors) for k in (0, 1)]
    shown = "".join(item.latex + (f"^{{{powers[item]}}}" if powers[item] != 1 else "") for item in factors)
    words = " times ".join(
        item.meaning + (f" to the power {powers[item]}" if powers[item] != 1 else "") for item in factors
    )
    return Quantity(
        "_".join(item.name + ("" if powers[item] == 1 else f"_{powers[item]}") for item in factors) + f"_{suffix}",
        total,
        "measured" if measured else "scheduled",
        sign + shown,
        f"sum over {'t < T' if suffix == 'sum' else 'r < R'}: {words}",
        (units[0], units[1]),
        in_proof=not total.of_rounds and all(item.in_proof or item.recorded for item in factors),
        **_sign(factors),
    )


def _sign(factors: list[Quantity]) -> dict[str, Any]:
    return {"nonnegative": True} if all(factor.is_nonnegative for factor in factors) else {}
