"""``fedbounds pareto``: speed against error, the best weights of a known problem, and how far each scheme is."""

from __future__ import annotations

from typing import Any

import click

# Flags of a study that matter here: the problem, and the protocol of a deterministic run.
FLAGS: tuple[tuple[str, Any, str], ...] = (
    ("problem", str, "least-squares, logistic or quadratic."),
    ("data", str, "diabetes, breast-cancer, digits, ... or a generator."),
    ("partition", str, "Who holds what: iid, shards:SIZE, dirichlet:ALPHA, ..."),
    ("clients", int, "Number of clients N."),
    ("regularisation", float, "L2 regularisation."),
    ("tau", int, "Local steps a round."),
    ("rounds", int, "Rounds."),
    ("step", str, "Step sizes; the corollary's unless given."),
    ("seed", int, "Seed of generated data and partitions."),
)


def _with_flags(command: Any) -> Any:
    for name, kind, text in reversed(FLAGS):
        command = click.option(f"--{name}", type=kind, help=text)(command)
    return command


@click.command()
@_with_flags
@click.option("--weighting", "weightings", multiple=True, help="A scheme to place; repeat it. A default set if none.")
@click.option("--horizon", "horizons", type=click.IntRange(1), multiple=True, help="T at which to price speed.")
def pareto(weightings: tuple[str, ...], horizons: tuple[int, ...], **flags: Any) -> None:
    """Speed 1/rho_bar against error rho_tilde/rho_bar - 1: the best weights, and how far each scheme is.

    "cost" is (price + rho_tilde)/rho_bar over that of the hindsight front: the best constant weights over the
    points that FedAvg visits, which no scheme can use, as weights change the points.
    """
    from fedbounds.show.terminal import plain_table
    from fedbounds.study.pareto import SCHEMES, picture
    from fedbounds.study.settings import Settings

    settings = Settings(**{name: value for name, value in flags.items() if value is not None})
    found = picture(settings, weightings or SCHEMES, horizons)
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
