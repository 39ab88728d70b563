"""``fedbounds worst``: the worst case of R rounds, between an instance that was run and a theorem."""

from __future__ import annotations

from dataclasses import asdict
from types import ModuleType
from typing import TYPE_CHECKING

import click

from fedbounds.cli.options import PLUGIN, QUIET, formats, print_json, say
from fedbounds.study.worst import MEASURES

if TYPE_CHECKING:
    from fedbounds.study.worst_case import Sandwich

HEAD = ("instance", "worst case", "", "theorem", "over instance", "seconds")
AXES = ("rounds", "tau", "kappa", "step")


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True)
@click.option("--tau", type=click.IntRange(1), default=4, show_default=True, help="Local steps a round.")
@click.option("--kappa", default="10", show_default=True, help="L/mu, with L = 1.")
@click.option("--step", default="1/2", show_default=True, help="A constant in units of 1/L, theory, or a claim's.")
@click.option("--measure", type=click.Choice(list(MEASURES)), default="distance", show_default=True)
@click.option("--zeta-star", "zeta", default="1", show_default=True, help="Root mean square of ||grad F_i(w*)||.")
@click.option("--sigma", default="0", show_default=True, help="Root of the largest variance of a client's noise.")
@click.option("--delta0", "delta_0", default="1", show_default=True, help="Largest ||w_0 - w*||^2.")
@click.option("--weights", default="", help="alpha, with commas, or any; equal, and every N, unless given.")
@click.option("--p", default="", help="p, where it is not the weights.")
@click.option("--over", type=click.Choice(AXES), help="A curve along this.")
@click.option("--values", default="", help="Its values, with commas.")
@PLUGIN
@formats("table", "json")
@QUIET
def worst(
    rounds: int,
    tau: int,
    kappa: str,
    step: str,
    measure: str,
    zeta: str,
    sigma: str,
    delta_0: str,
    weights: str,
    p: str,
    over: str | None,
    values: str,
    extra: tuple[ModuleType, ...],
    form: str,
    quiet: bool,
) -> None:
    """||w_R - w*||^2 after R rounds of FedAvg, over every problem of a class and every N >= 2.

    Or F(w_R) - F*, or F - F* at the mean of the iterates before w_R, by --measure. --step theory is the corollary's
    1/(mu (t + 4 kappa)), and the key of a claim the step size that it states. Clients are L-smooth and mu-strongly
    convex, of equal weight or of --weights. "worst case" is proved for all of them where it is marked certified, by
    rational multipliers checked in exact arithmetic, and no run exceeds it; "instance" is a run; "theorem" the
    smallest bound that a claim's formula gives and that this run does not exceed.
    """
    import fedbounds
    from fedbounds.evidence.sdp.one_step.coverage import fraction
    from fedbounds.report.terminal import progress
    from fedbounds.study.worst import step_claim

    with progress(not quiet) as bar:
        found = list(
            fedbounds.worst(
                rounds=rounds,
                tau=tau,
                kappa=kappa,
                step=step,
                measure=measure,
                zeta_star=zeta,
                sigma=sigma,
                Delta_0=delta_0,
                weights=weights,
                p=p,
                over=over,
                values=values,
                plugins=extra,
                progress=bar,
            )
        )
    if form == "json":
        print_json([asdict(one) for one in found])
        return
    noisy = fraction(sigma) != 0
    said = [f"steps {step}"] if step_claim(step, extra) is not None else []
    said += [f"{name} {given}" for name, given in (("weights", weights), ("p", p)) if given]
    said += [f"sigma = {sigma}"] if noisy else []
    said.append(f"zeta_* = {zeta}, ||w_0 - w*||^2 <= {delta_0}")
    measured = f"E{MEASURES[measure]}" if noisy else MEASURES[measure]
    _print(found, over or "rounds", ", ".join(said), measured)
    if quiet:
        return
    if noisy:
        say("With noise the worst case is a bound, of one step after the other, which need not be attained.")
    else:
        _say_weights(weights, p, found[0])
    if any(one.instance_constants for one in found):
        say(
            "No claim does without G^2 and Gamma: the theorem's are the instance's own. The worst case needs neither."
        )
    if any(one.mark == "solver's" for one in found):
        say("A number marked solver's has no verified proof.")
    if any(one.worst is None for one in found):
        say(
            "Not established: the solver came to no bound; take zeta_*^2 nearer to Delta_0, or fewer or longer steps."
        )


def _say_weights(weights: str, p: str, found: Sandwich) -> None:
    from fedbounds.evidence.sdp.one_step.coverage import fractions

    if weights == "any":
        say("Weights may be others in every round: the rounds are bounded one by one, and no theorem is asked.")
    elif p and found.above and fractions(p) != fractions(weights):
        say("The server's weights are not p: the worst case is a bound, not exact, and no theorem is asked.")
    elif found.above:
        say("A weight exceeds 1/2: the worst case is that over all weights, which need not be attained at these.")


def _print(found: list[Sandwich], over: str, start: str, measured: str = MEASURES["distance"]) -> None:
    """What is the same in all rows is said above them, so that they fit a terminal."""
    from fedbounds.report.number_format import downward, number, upward
    from fedbounds.report.terminal import plain_table

    rows = []
    for one in found:
        bounds = ["-" if value is None else upward(value, n) for value, n in ((one.worst, 6), (one.bound, 4))]
        factor = "-" if one.factor is None else number(one.factor, 3)
        row = [f"{getattr(one, over):g}", downward(one.lower), bounds[0], one.mark, bounds[1], factor]
        rows.append([*row, f"{one.seconds:.1f}"])
    same = ", ".join(f"{name} = {getattr(found[0], name):g}" for name in AXES if name != over)
    by = sorted({one.theorem for one in found if one.theorem is not None})
    click.echo(f"{measured} with L = 1, {same}, {start}{'; theorem: ' if by else ''}{', '.join(by)}")
    click.echo(plain_table([over, *HEAD], rows), nl=False)
    for one in found:
        at = f" at {over} = {getattr(one, over):g}" if len(found) > 1 else ""
        for key, bound in one.refuted.items():
            click.echo(f"REFUTED by the instance{at}: {key}, {bound:.10g} < {one.lower:.10g}")


COMMANDS = [worst]
