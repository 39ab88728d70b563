"""``fedbounds bound`` and ``fedbounds plan``: what the claims say of given constants, without a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.options import PLUGIN, colour, formats, print_json, say
from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.study.smallest_bound import Given, Offer

# What the bounds of one round's theory need, and what the smallest bound of any claim does.
PAPER = ("Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
LEFT = {"gap": "F(w_T) - F*", "distance": "||w_T - w*||^2"}
# With noise, which is unbiased and independent between clients, the bounds are of expectations.
EXPECTED = {"gap": "E[F(w_T)] - F*", "distance": "E||w_T - w*||^2"}


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
            click.option("--measure", type=click.Choice(tuple(LEFT)), help="What is bounded (default: gap)."),
            PLUGIN,
            formats("table", "json"),
        )
    ):
        command = option(command)
    return command


@click.command()
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
    only = ("zeta_star", "weights", "L_sample", "assumed", "measure")
    if best:
        _refuse(constants, ("rho_bar", "rho_tilde", "epsilon", "pi_min", "p_min"), "--best is about FedAvg")
        from fedbounds.study.smallest_bound import offers

        asked = given_from(rounds=rounds, extra=extra, **constants)
        _answer(form, offers(asked, extra), asked, f"after {rounds} rounds")
        return
    _refuse(constants, only, "these are of --best")
    from fedbounds.study.bounds import bounds

    lacking = [name for name in PAPER if constants[name] is None]
    if lacking:
        flag = "--" + lacking[0].replace("_", "-")
        raise click.UsageError(f"Missing option '{flag}'; only --best does without.")
    found = bounds(rounds=rounds, **{name: value for name, value in constants.items() if name not in only})
    if form == "json":
        print_json(found.to_json())
    else:
        _print_bounds(found)
    for warning in found.warnings:
        say(f"Warning: {warning}.")


@click.command()
@problem
@click.option("--target", type=float, required=True, help="What the bound is to come to.")
@click.option("--worst", is_flag=True, help="Also by the certified worst case, for up to 24 steps (a minute).")
def plan(form: str, target: float, worst: bool, extra: tuple[ModuleType, ...], **constants: Any) -> None:
    """The rounds of FedAvg after which a claim's bound is at most TARGET, with the tau and the step to choose."""
    from fedbounds.study import smallest_bound

    asked = given_from(rounds=1, extra=extra, **constants)
    found = smallest_bound.plan(asked, target, extra)
    if worst:
        found = (*found, smallest_bound.by_worst_case(asked, target, extra))
    _answer(form, found, asked, "")


def given_from(
    *,
    rounds: int,
    extra: Sequence[ModuleType] = (),
    N: int | None,
    zeta_star: float | None,
    Delta_0: float | None,
    **constants: Any,
) -> Given:
    """The constants of a command line as those of a problem; InputError where one that is needed is missing."""
    from fedbounds.study.smallest_bound import Given, assumable

    if N is None or zeta_star is None:
        raise reject(
            "the smallest bound needs N and zeta_*", f"N {N}, zeta_* {zeta_star}", "add --clients, --zeta-star"
        )
    if zeta_star < 0:
        raise reject("zeta_* is at least 0", zeta_star, "give the root of a mean of squares")
    known = assumable(extra) if constants["assumed"] else frozenset()
    if foreign := [key for key in constants["assumed"] if key not in known]:
        raise reject("only what no constant shows is assumed", foreign[0], f"choose from {', '.join(sorted(known))}")
    if Delta_0 is None and constants["G_sq"] is None:
        raise reject("the smallest bound needs ||w_0 - w*||^2", "neither it nor G^2", "add --delta0")
    if Delta_0 is None:
        Delta_0 = constants["G_sq"] / constants["mu"] ** 2 if constants["mu"] > 0 else 0.0
    weights = constants.pop("weights")
    try:
        p = tuple(map(float, weights.split(","))) if weights else ()
    except ValueError:
        raise reject("weights are numbers with commas between", repr(weights), "write 0.5,0.25,0.25") from None
    named = ("L", "mu", "tau", "G_sq", "Gamma", "L_sample")
    return Given(
        N=N,
        rounds=rounds,
        delta_0=Delta_0,
        zeta_sq=zeta_star * zeta_star,
        sigma_sq=constants["sigma_sq"] or 0.0,
        p=p,
        assumed=frozenset(constants["assumed"]),
        measure=constants["measure"] or "gap",
        **{name: constants[name] for name in named},
    )


def _refuse(constants: dict[str, Any], names: Sequence[str], why: str) -> None:
    """Refuse options that the other way of asking has; those left are removed."""
    for name in names:
        if constants[name] not in (None, ()):
            raise reject(f"{why} alone", f"--{name.replace('_', '-')}", "leave it out")
    for name in names if why.startswith("--best") else ():
        del constants[name]


def sentence(found: Sequence[Offer], given: Given, when: str) -> str:
    """The answer in one sentence, and in a second one the smallest that a machine proved whole, if it is another."""
    from fedbounds.report.number_format import upward

    left = (EXPECTED if given.sigma_sq else LEFT)[given.measure]

    def told(one: Offer) -> str:
        step = one.steps if one.step is None else f"a constant step {one.step:g}"
        rounds = f"after {one.rounds} rounds" if one.rounds else when
        by = "" if one.standing == "certified" else f"by {one.claim} "
        return f"{left} <= {upward(one.bound or 0.0)} {rounds}, {by}at tau = {one.tau} and {step}"

    some = [one for one in found if one.bound is not None]
    theorems = [one for one in some if one.standing != "certified"]
    if not theorems:
        return "No claim of the ledger gives a bound here; the table says why."
    said = [
        told(theorems[0])
        + (
            " (proved in text; a machine has checked parts of it at most)."
            if theorems[0].standing != "proved"
            else "."
        )
    ]
    proved = next((one for one in theorems if one.standing == "proved"), None)
    if proved is not None and proved is not theorems[0]:
        said.append(f"By machine it is proved that {told(proved)}.")
    said += [f"The certified worst case: {told(one)}." for one in some if one.standing == "certified"]
    return "\n".join(said)


def _answer(form: str, found: Sequence[Offer], given: Given, when: str) -> None:
    from fedbounds.report.number_format import upward
    from fedbounds.report.terminal import plain_table

    answer = sentence(found, given, when)
    if form == "json":
        print_json({"answer": answer, "given": {**asdict(given), "assumed": sorted(given.assumed)},
                    "constants": given.constants(), "offers": [asdict(one) for one in found]})  # fmt: skip
        return
    click.echo(answer)
    body = [
        [one.claim, one.standing or "-", str(one.rounds or "-"), upward(one.bound), str(one.tau), _step(one), ""]
        if one.bound is not None
        else [one.claim, one.standing or "-", "-", "-", "-", "-", one.why]
        for one in found
    ]
    rows = body if any(one.rounds for one in found) else [[*row[:2], *row[3:]] for row in body]
    head = ["claim", "standing", "rounds", "bound", "tau", "step", "why not"]
    click.echo(plain_table(head if rows is body else [*head[:2], *head[3:]], rows, colour=colour()), nl=False)
    if given.Gamma is None:
        click.echo("Note: Gamma was not given: zeta_*^2/(2 mu) bounds it.")


def _step(one: Offer) -> str:
    return one.steps if one.step is None else f"{one.step:g}"


def _print_bounds(found: Any) -> None:
    from fedbounds.report.number_format import number
    from fedbounds.report.terminal import plain_table

    head = ["bound", "reading", "speed", "gamma", "error", f"at T = {found.T}"]
    head += [] if found.epsilon is None else [f"rounds to {found.epsilon:g}"]
    body = []
    for value in found.values:
        row = [value.claim, value.reading, *(number(x) for x in (value.speed, value.gamma, value.error, value.bound))]
        never = f"never: the error term alone is {number(value.error)}"
        rounds = never if value.rounds_to_epsilon is None else str(value.rounds_to_epsilon)
        body.append(row if found.epsilon is None else [*row, rounds])
    click.echo("E[F(w_T)] - F* <= speed/(T + gamma) + error")
    click.echo(plain_table(head, body, colour=colour()), nl=False)
    for note in found.notes:
        click.echo(f"Note: {note}.")


COMMANDS = [bound, plan]
