"""``fedbounds bounds`` and ``fedbounds plan``: what the claims say of given constants, without a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import click

from fedbounds.cli.adapter import command, say, show_as
from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.study.problem_constants import ProblemConstants
    from fedbounds.study.smallest_bound import SmallestBound

# What the paper's bounds need, and what the smallest bound of any claim does.
NEEDED = ("L", "mu")
PAPER = (*NEEDED, "Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
FLAGS = {"N": "--clients", "Delta_0": "--delta0", "pi_min": "--pi", "assumed": "--assume"}
ONLY_BEST = ("zeta_star", "weights", "L_sample", "assumed", "measure")


CONSTANTS = "fedbounds.study.problem_constants:ProblemConstants"
# Settings that choose a problem whose constants are filled in.
PROBLEM = ("problem", "data", "partition", "limit", "standardise", "regularisation", "classes", "seed")


@command("Study a problem", settings=PROBLEM, more=CONSTANTS, but=("rounds",), optional=True, **FLAGS)
def bounds(
    *,
    rho_bar: float | None = None,
    rho_tilde: float | None = None,
    rounds: int = 200,
    epsilon: float | None = None,
    pi_min: float | None = None,
    p_min: float | None = None,
    best: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["table", "json"] = "table",
    **constants: Any,
) -> None:
    """Evaluate the bounds without a run: speed, error, value at T, and the rounds to reach epsilon; or --best.

    With --best, which needs --L, --mu, --clients, --zeta-star and --delta0: the smallest bound that a claim of the
    ledger gives after so many rounds of FedAvg, over its step and, unless --tau is given, over tau. --data or
    --problem fills in what is not given of L, mu, Gamma, N, zeta_*, ||w_0 - w*||^2 and the weights, from w_0 = 0.

    rho_bar: Smallest skew rho(t, w_t).
    rho_tilde: Largest skew rho(t, w*).
    rounds: Rounds; T = rounds * tau.
    epsilon: Also print the rounds after which the bound is at most EPSILON.
    pi_min: Smallest alpha_i/p_i, for the final bound.
    p_min: Smallest p_i, for the final bound.
    best: The smallest bound on FedAvg that any claim has, and its step and tau.
    """
    paper = {"rho_bar": rho_bar, "rho_tilde": rho_tilde, "epsilon": epsilon, "pi_min": pi_min, "p_min": p_min}
    constants = _filled(constants | paper, best)
    if best:
        _refuse(constants, tuple(paper), "--best is about FedAvg")
        from fedbounds.study.smallest_bound import smallest_bounds

        of_problem = problem_constants(constants, rounds, plugins)
        _print(format, smallest_bounds(of_problem, plugins), of_problem, rounds)
        return
    _refuse(constants, ONLY_BEST, "these are of --best")
    _require(constants, PAPER, "--best needs others")
    from fedbounds.report.bounds_text import bounds_blocks
    from fedbounds.study.bounds import bounds as evaluate

    result = evaluate(rounds=rounds, **{name: value for name, value in constants.items() if name not in ONLY_BEST})
    show_as(format, result.to_json(), bounds_blocks(result))
    for warning in result.warnings:
        say(f"Warning: {warning}.")


@command("Study a problem", settings=PROBLEM, more=CONSTANTS, but=("rounds",), optional=True, **FLAGS)
def plan(
    *,
    target: float | None = None,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["table", "json"] = "table",
    **constants: Any,
) -> None:
    """Give the rounds of FedAvg after which a claim's bound is at most TARGET, with the tau and the step to choose.

    --data or --problem fills in the constants that are not given, as for bounds.

    target: What the bound is to come to (needed).
    """
    from fedbounds.study import smallest_bound

    of_problem = problem_constants(_filled(constants, True) | {"target": target}, 1, plugins)
    assert target is not None  # problem_constants refuses that
    rows = smallest_bound.plan(of_problem, target, plugins)
    _print(format, rows, of_problem)


def _filled(options: dict[str, Any], all_of_them: bool) -> dict[str, Any]:
    """The constants, those not given taken from the problem that ``options`` name, if they name one."""
    from fedbounds.cli.click_commands import given_settings

    chosen = given_settings({name: options.pop(name) for name in PROBLEM})
    if not chosen:
        return options
    from fedbounds.plugins import modules_from
    from fedbounds.report.number_format import number
    from fedbounds.study.objects_from_settings import build_problem
    from fedbounds.study.problem_constants import constants_of
    from fedbounds.study.settings import Settings

    clients = {} if options["N"] is None else {"clients": options["N"]}
    problem = build_problem(Settings.of({**chosen, **clients}), modules_from(()))
    result = {
        name: value
        for name, value in constants_of(problem).items()
        if options[name] is None and (all_of_them or name not in ONLY_BEST)
    }
    listed = ", ".join(f"{name} = {number(value)}" for name, value in result.items() if name != "weights")
    say(f"From the problem, with w_0 = 0: {listed}.")
    return options | result


def problem_constants(options: dict[str, Any], rounds: int, plugins: Sequence[ModuleType] = ()) -> ProblemConstants:
    """The options of a command line as constants of a problem; one sentence names all that are missing."""
    from fedbounds.cli.click_commands import given_settings
    from fedbounds.study.problem_constants import ProblemConstants
    from fedbounds.study.smallest_bound import unverifiable_assumptions

    start = () if options["G_sq"] is not None else ("Delta_0",)
    also = ("target",) if "target" in options else ()
    _require(options, (*also, *NEEDED, "N", "zeta_star", *start), "the smallest bound needs them")
    unverifiable = unverifiable_assumptions(plugins) if options["assumed"] else frozenset()
    if verifiable := [key for key in options["assumed"] if key not in unverifiable]:
        raise reject(
            "only what no constant shows is assumed", verifiable[0], f"choose from {', '.join(sorted(unverifiable))}"
        )
    names = {field.name for field in fields(ProblemConstants)}
    return ProblemConstants(rounds=rounds, **given_settings({k: v for k, v in options.items() if k in names}))


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


def _print(
    format: str, rows: Sequence[SmallestBound], constants: ProblemConstants, rounds: int | None = None
) -> None:
    from fedbounds.report.bounds_text import answer, smallest_bound_blocks

    value = {
        "answer": answer(rows, constants, rounds),
        "given": asdict(constants),
        "constants": constants.values(),
        "bounds": [asdict(row) for row in rows],
    }
    show_as(format, value, smallest_bound_blocks(rows, constants, rounds))
