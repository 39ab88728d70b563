"""``fedbounds pareto``: speed against error, the best weights of a known problem, and how far each scheme is."""

from __future__ import annotations

from typing import Annotated, Any

import click

from fedbounds.cli.adapter import command, show

# The settings that matter here: the problem, and the protocol of a deterministic run.
USED = ("problem", "data", "partition", "clients", "regularisation", "tau", "rounds", "step", "seed", "plugins")
COLUMNS = """\
rho_bar: smallest skew along the run; rho_tilde: largest skew at w*.
speed = 1/rho_bar multiplies the noise term of the bound, error = rho_tilde/rho_bar - 1 its error term.
cost: what the weights change of the bound, over that of the best weights in hindsight; 1 is the best."""


@command("Study a problem", settings=USED, weightings="--weighting", horizons="--horizon")
def pareto(
    *, weightings: tuple[str, ...] = (), horizons: tuple[Annotated[int, click.IntRange(1)], ...] = (), **flags: Any
) -> None:
    """Set speed 1/rho_bar against error rho_tilde/rho_bar - 1 of each weighting and of the best weights.

    "cost" is (price + rho_tilde)/rho_bar over that of the hindsight front, the best constant weights at the points
    that FedAvg visits. No scheme attains the front, because other weights visit other points.

    weightings: A scheme to place; repeat it. A default set if none.
    horizons: T at which to price speed.
    """
    from fedbounds.cli.options import given
    from fedbounds.report.terminal import plain_table, working
    from fedbounds.study.pareto import SCHEMES, picture
    from fedbounds.study.settings import Settings

    with working("schemes and the best weights"):
        found = picture(Settings.of(given(flags)), weightings or SCHEMES, horizons)
    head = ["scheme", "rho_bar", "rho_tilde", "speed", "error"]
    head += [f"cost at T={horizon}" for horizon in found.prices]
    rows = []
    for mark in (*found.schemes, *found.front):
        costs = [f"{found.excess_cost(mark, price):.4g}" for price in found.prices.values()]
        numbers = [f"{v:.4g}" for v in (mark.rho_bar, mark.rho_tilde, mark.speed, mark.error)]
        rows.append([mark.name, *numbers, *costs])
    show(plain_table(head, rows))
    show(COLUMNS)
    for horizon, price in found.prices.items():
        cheapest = min(found.schemes, key=lambda mark: found.excess_cost(mark, price))
        show(f"Recommended for T = {horizon}: {cheapest.name}, cost {found.excess_cost(cheapest, price):.3g}.")
    for horizon, price in found.prices.items():
        show(f"price of speed in units of error at T = {horizon}: {price:.4g}")
