"""``fedbounds bounds``: what the paper's bounds are at given constants, without a run."""

from __future__ import annotations

from typing import Any, Literal

import click

from fedbounds.cli.adapter import command, say, show_as

# What a problem does not say.
NEEDED = ("L", "mu", "Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
FLAGS = {"N": "--clients", "Delta_0": "--delta0", "pi_min": "--pi"}
# Of a problem, constants that the final bound alone takes.
FINAL = ("N", "p_min")
# Settings that choose a problem whose constants are filled in.
PROBLEM = ("problem", "data", "partition", "limit", "standardise", "regularisation", "classes", "seed", "plugins")


@command("Study a problem", settings=PROBLEM, more="fedbounds.study.bounds:bounds", optional=True, **FLAGS)
def bounds(*, format: Literal["table", "json"] = "table", **options: Any) -> None:
    """Evaluate the bounds without a run: speed, error, value at T, and the rounds to reach epsilon.

    --data or --problem fills in what is not given of L, mu, Gamma, ||w_0 - w*||^2, N and the smallest p_i, from
    w_0 = 0.
    """
    from fedbounds.cli.click_commands import given_settings
    from fedbounds.report.bounds_text import bounds_blocks
    from fedbounds.study.bounds import bounds as evaluate

    chosen = given_settings({name: options.pop(name) for name in PROBLEM})
    constants = given_settings(options)
    if chosen:
        constants = _with_problem(chosen, constants)
    missing = [FLAGS.get(name, f"--{name.replace('_', '-')}") for name in NEEDED if name not in constants]
    if missing:
        raise click.UsageError(f"Missing {', '.join(missing)}.")
    result = evaluate(**constants)
    show_as(format, result.to_json(), bounds_blocks(result))
    for warning in result.warnings:
        say(f"Warning: {warning}.")


def _with_problem(chosen: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The constants ``given``, and those that are not of the problem that the settings ``chosen`` name."""
    from fedbounds.plugins import modules_from
    from fedbounds.report.number_format import number
    from fedbounds.study.bounds import constants_of
    from fedbounds.study.objects_from_settings import build_problem
    from fedbounds.study.settings import Settings

    settings = Settings.of({**chosen, **({"clients": given["N"]} if "N" in given else {})})
    result = constants_of(build_problem(settings, modules_from(settings.plugins))) | given
    if "pi_min" not in given:
        result = {name: value for name, value in result.items() if name not in FINAL}
    listed = ", ".join(f"{name} = {number(value)}" for name, value in result.items() if name not in given)
    say(f"From the problem, with w_0 = 0: {listed}.")
    return result
