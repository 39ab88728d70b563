"""``fedbounds bounds`` and ``fedbounds plan``: what the claims say of given constants, without a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.options import PLUGIN, colour, formats, print_json, say
from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.study.bounds import ProblemConstants
    from fedbounds.study.smallest_bound import SmallestBound

# What the paper's bounds need, and what the smallest bound of any claim does.
PAPER = ("Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
FLAGS = {"N": "--clients", "Delta_0": "--delta0", "pi_min": "--pi"}
ONLY_BEST = ("zeta_star", "weights", "L_sample", "assumed", "measure")


def problem(command: Any) -> Any:
    """The constants that `--best` and `plan` share."""
    for option in reversed(
        (
            click.option("--L", "L", type=float, required=True, help="Smoothness constant of every F_i."),
            click.option("--mu", type=float, required=True, help="Strong-convexity constant of every F_i."),
            click.option("--tau", type=int, help="Local steps a round."),
            click.option("--G-sq", "G_sq", type=float, help="Bound on the second moment of gradients."),
            click.option("--sigma-sq", type=float, help="Bound on the variance of gradients."),
            click.option("--delta0", "Delta_0", type=float, help="||w_0 - w*||^2 (default: its bound G^2/mu^2)."),
            click.option("--Gamma", "Gamma", type=float, help="Heterogeneity F* - sum_i p_i F_i*."),
            click.option("--clients", "N", type=int, help="Number of clients N."),
            click.option("--zeta-star", type=float, help="Root mean square of ||grad F_i(w*)||."),
            click.option("--weights", help="The p_i, with commas (default: 1/N each)."),
            click.option("--L-sample", "L_sample", type=float, help="Smoothness of every sample's convex loss."),
            click.option(
                "--assume", "assumed", multiple=True, metavar="KEY", help="An assumption no constant shows."
            ),
            click.option("--measure", type=click.Choice(("gap", "distance")), help="What is bounded (default: gap)."),
            PLUGIN,
            formats("table", "json"),
        )
    ):
        command = option(command)
    return command


@click.command("bounds")
@problem
@click.option("--rho-bar", type=float, help="Smallest skew rho(t, w_t).")
@click.option("--rho-tilde", type=float, help="Largest skew rho(t, w*).")
@click.option("--rounds", type=int, default=200, show_default=True, help="Rounds; T = rounds * tau.")
@click.option("--epsilon", type=float, help="Say how many rounds bring the bound to EPSILON.")
@click.option("--pi", "pi_min", type=float, help="Smallest alpha_i/p_i, for the final bound.")
@click.option("--p-min", type=float, help="Smallest p_i, for the final bound.")
@click.option("--best", is_flag=True, help="The smallest bound on FedAvg that any claim has, and its step and tau.")
def bound(form: str, best: bool, rounds: int, extra: tuple[ModuleType, ...], **constants: Any) -> None:
    """The bounds without a run: speed, error, value at T, and the rounds to reach epsilon; or --best.

    With --best, which needs --L, --mu, --clients, --zeta-star and --delta0: the smallest bound that a claim of the
    ledger gives after so many rounds of FedAvg, over its step and, unless --tau is given, over tau.
    """
    if best:
        _refuse(constants, ("rho_bar", "rho_tilde", "epsilon", "pi_min", "p_min"), "--best is about FedAvg")
        from fedbounds.study.smallest_bound import smallest_bounds

        known = problem_constants(rounds=rounds, extra=extra, **constants)
        _print(form, smallest_bounds(known, extra), known, rounds)
        return
    _refuse(constants, ONLY_BEST, "these are of --best")
    _require(constants, PAPER, "only --best does without")
    from fedbounds.report.bounds_text import bounds_blocks
    from fedbounds.study.bounds import bounds

    result = bounds(rounds=rounds, **{name: value for name, value in constants.items() if name not in ONLY_BEST})
    _show(form, result.to_json(), bounds_blocks(result))
    for warning in result.warnings:
        say(f"Warning: {warning}.")


@click.command()
@problem
@click.option("--target", type=float, required=True, help="What the bound is to come to.")
@click.option("--worst", is_flag=True, help="Also by the certified worst case, for up to 24 steps (a minute).")
def plan(form: str, target: float, worst: bool, extra: tuple[ModuleType, ...], **constants: Any) -> None:
    """The rounds of FedAvg after which a claim's bound is at most TARGET, with the tau and the step to choose."""
    from fedbounds.study import smallest_bound

    known = problem_constants(rounds=1, extra=extra, **constants)
    rows = smallest_bound.plan(known, target, extra)
    if worst:
        rows = (*rows, smallest_bound.worst_case_plan(known, target, extra))
    _print(form, rows, known)


def problem_constants(*, rounds: int, extra: Sequence[ModuleType] = (), **options: Any) -> ProblemConstants:
    """The options of a command line as constants of a problem; InputError where one that is needed is missing."""
    from fedbounds.study.bounds import ProblemConstants
    from fedbounds.study.smallest_bound import assumable

    start = () if options["G_sq"] is not None else ("Delta_0",)
    _require(options, ("N", "zeta_star", *start), "the smallest bound needs them")
    if options["zeta_star"] < 0:
        raise reject("zeta_* is at least 0", options["zeta_star"], "give the root of a mean of squares")
    known = assumable(extra) if options["assumed"] else frozenset()
    if foreign := [key for key in options["assumed"] if key not in known]:
        raise reject("only what no constant shows is assumed", foreign[0], f"choose from {', '.join(sorted(known))}")
    delta_0, mu = options["Delta_0"], options["mu"]
    if delta_0 is None:
        delta_0 = options["G_sq"] / mu**2 if mu > 0 else 0.0
    try:
        p = tuple(map(float, options["weights"].split(","))) if options["weights"] else ()
    except ValueError:
        raise reject("weights are numbers with commas between", repr(options["weights"]), "write 0.5,0.5") from None
    return ProblemConstants(
        rounds=rounds,
        delta_0=delta_0,
        zeta_sq=options["zeta_star"] * options["zeta_star"],
        sigma_sq=options["sigma_sq"] or 0.0,
        p=p,
        assumed=frozenset(options["assumed"]),
        measure=options["measure"] or "gap",
        **{name: options[name] for name in ("L", "mu", "N", "tau", "G_sq", "Gamma", "L_sample")},
    )


def _require(options: dict[str, Any], names: Sequence[str], why: str) -> None:
    """Refuse with every option that is missing."""
    missing = [FLAGS.get(name, f"--{name.replace('_', '-')}") for name in names if options[name] is None]
    if missing:
        raise click.UsageError(f"Missing {', '.join(missing)}; {why}.")


def _refuse(options: dict[str, Any], names: Sequence[str], why: str) -> None:
    """Refuse options that belong to the other question."""
    for name in names:
        if options[name] not in (None, ()):
            raise reject(f"{why} alone", FLAGS.get(name, f"--{name.replace('_', '-')}"), "leave it out")


def _print(form: str, rows: Sequence[SmallestBound], constants: ProblemConstants, rounds: int | None = None) -> None:
    from fedbounds.report.bounds_text import answer, smallest_bound_blocks

    value = {
        "answer": answer(rows, constants, rounds),
        "given": {**asdict(constants), "assumed": sorted(constants.assumed)},
        "constants": constants.values(),
        "bounds": [asdict(row) for row in rows],
    }
    _show(form, value, smallest_bound_blocks(rows, constants, rounds))


def _show(form: str, value: Any, blocks: Sequence[Any]) -> None:
    from fedbounds.report.terminal import to_text

    if form == "json":
        print_json(value)
    else:
        click.echo(to_text(blocks, colour=colour()), nl=False)


COMMANDS = [bound, plan]
