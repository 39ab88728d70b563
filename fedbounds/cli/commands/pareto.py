"""``fedbounds pareto``: speed against error, the best weights of a known problem, and how far each scheme is."""

from functools import partial
from typing import Any

import click

from fedbounds.cli.options import given, settings_options

# The settings that matter here: the problem, and the protocol of a deterministic run.
USED = ("problem", "data", "partition", "clients", "regularisation", "tau", "rounds", "step", "seed", "plugins")


@click.command()
@partial(settings_options, only=USED)
@click.option("--weighting", "weightings", multiple=True, help="A scheme to place; repeat it. A default set if none.")
@click.option("--horizon", "horizons", type=click.IntRange(1), multiple=True, help="T at which to price speed.")
def pareto(weightings: tuple[str, ...], horizons: tuple[int, ...], **flags: Any) -> None:
    """Speed 1/rho_bar against error rho_tilde/rho_bar - 1: the best weights, and how far each scheme is.

    "cost" is (price + rho_tilde)/rho_bar over that of the hindsight front: the best constant weights over the
    points that FedAvg visits, which no scheme can use, as weights change the points.
    """
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
    click.echo(plain_table(head, rows), nl=False)
    for horizon, price in found.prices.items():
        click.echo(f"price of speed in units of error at T = {horizon}: {price:.4g}")


COMMANDS = [pareto]
