"""``fedbounds bounds`` and ``fedbounds plan``: what the claims say of given constants, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import click

from fedbounds.cli.adapter import colour, command, say, show, show_json
from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.study.bounds import ProblemConstants
    from fedbounds.study.smallest_bound import SmallestBound

# What the paper's bounds need, and what the smallest bound of any claim does.
NEEDED = ("L", "mu")
PAPER = (*NEEDED, "Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
FLAGS = {"N": "--clients", "Delta_0": "--delta0", "pi_min": "--pi", "assumed": "--assume"}
ONLY_BEST = ("zeta_star", "weights", "L_sample", "assumed", "measure")


@dataclass(frozen=True)
class Constants:
    """The constants of a problem.

    L: Smoothness constant of every F_i (needed).
    mu: Strong-convexity constant of every F_i (needed).
    tau: Local steps a round.
    G_sq: Bound on the second moment of gradients.
    sigma_sq: Bound on the variance of gradients.
    Delta_0: ||w_0 - w*||^2 (default: its bound G^2/mu^2).
    Gamma: Heterogeneity F* - sum_i p_i F_i*.
    N: Number of clients N.
    zeta_star: Root mean square of ||grad F_i(w*)||.
    weights: The p_i, with commas (default: 1/N each).
    L_sample: Smoothness of every sample's convex loss.
    assumed: The key of an assumption that no constant shows.
    measure: What is bounded (default: gap).
    """

    L: float | None = None
    mu: float | None = None
    tau: int | None = None
    G_sq: float | None = None
    sigma_sq: float | None = None
    Delta_0: float | None = None
    Gamma: float | None = None
    N: int | None = None
    zeta_star: float | None = None
    weights: str | None = None
    L_sample: float | None = None
    assumed: tuple[str, ...] = ()
    measure: Literal["gap", "distance"] | None = None


# Settings that choose a problem whose constants are filled in.
PROBLEM = ("problem", "data", "partition", "limit", "standardise", "regularisation", "classes", "seed")


@command("Study a problem", settings=PROBLEM, more=Constants, **FLAGS)
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

        known = problem_constants(rounds=rounds, plugins=plugins, **constants)
        _print(format, smallest_bounds(known, plugins), known, rounds)
        return
    _refuse(constants, ONLY_BEST, "these are of --best")
    _require(constants, PAPER, "--best needs others")
    from fedbounds.report.bounds_text import bounds_blocks
    from fedbounds.study.bounds import bounds as evaluate

    result = evaluate(rounds=rounds, **{name: value for name, value in constants.items() if name not in ONLY_BEST})
    _show(format, result.to_json(), bounds_blocks(result))
    for warning in result.warnings:
        say(f"Warning: {warning}.")


@command("Study a problem", settings=PROBLEM, more=Constants, **FLAGS)
def plan(
    *,
    target: float | None = None,
    worst: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["table", "json"] = "table",
    **constants: Any,
) -> None:
    """Give the rounds of FedAvg after which a claim's bound is at most TARGET, with the tau and the step to choose.

    --data or --problem fills in the constants that are not given, as for bounds.

    target: What the bound is to come to (needed).
    worst: Also by the certified worst case, for up to 24 steps (a minute).
    """
    from fedbounds.study import smallest_bound

    constants = _filled(constants, True)
    known = problem_constants(rounds=1, plugins=plugins, also={"target": target}, **constants)
    assert target is not None  # problem_constants refuses that
    rows = smallest_bound.plan(known, target, plugins)
    if worst:
        rows = (*rows, smallest_bound.worst_case_plan(known, target, plugins))
    _print(format, rows, known)


def _filled(options: dict[str, Any], all_of_them: bool) -> dict[str, Any]:
    """The constants, those not given taken from the problem that ``options`` name, if they name one."""
    from fedbounds.cli.builder import given

    chosen = given({name: options.pop(name) for name in PROBLEM})
    if not chosen:
        return options
    from fedbounds.plugins import modules_from
    from fedbounds.report.number_format import number
    from fedbounds.study.bounds import constants_of
    from fedbounds.study.resolve import build_problem
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


def problem_constants(
    *, rounds: int, plugins: Sequence[ModuleType] = (), also: Mapping[str, Any] | None = None, **options: Any
) -> ProblemConstants:
    """The options of a command line as constants of a problem; one sentence names all that are missing.

    ``also``: further options that the command needs.
    """
    from fedbounds.study.bounds import ProblemConstants
    from fedbounds.study.smallest_bound import assumable

    start = () if options["G_sq"] is not None else ("Delta_0",)
    more = also or {}
    _require(options | dict(more), (*more, *NEEDED, "N", "zeta_star", *start), "the smallest bound needs them")
    if options["zeta_star"] < 0:
        raise reject("zeta_* is at least 0", options["zeta_star"], "give the root of a mean of squares")
    known = assumable(plugins) if options["assumed"] else frozenset()
    if foreign := [key for key in options["assumed"] if key not in known]:
        raise reject("only what no constant shows is assumed", foreign[0], f"choose from {', '.join(sorted(known))}")
    delta_0, mu = options["Delta_0"], options["mu"]
    if delta_0 is None:
        if mu > 0 and mu**2 == 0:
            raise reject("mu^2 must be a number above 0", f"mu = {mu}", "give --delta0, or another unit of length")
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


def _print(
    format: str, rows: Sequence[SmallestBound], constants: ProblemConstants, rounds: int | None = None
) -> None:
    from fedbounds.report.bounds_text import answer, smallest_bound_blocks

    value = {
        "answer": answer(rows, constants, rounds),
        "given": {**asdict(constants), "assumed": sorted(constants.assumed)},
        "constants": constants.values(),
        "bounds": [asdict(row) for row in rows],
    }
    _show(format, value, smallest_bound_blocks(rows, constants, rounds))


def _show(format: str, value: Any, blocks: Sequence[Any]) -> None:
    from fedbounds.report.terminal import to_text

    if format == "json":
        show_json(value)
    else:
        show(to_text(blocks, colour=colour()))
