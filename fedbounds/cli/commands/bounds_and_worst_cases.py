"""``fedbounds bounds``, ``compare``, ``sweep``, ``worst`` and ``design``: bounds on a problem and over a class."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from fedbounds.cli.adapter import command, given_settings
from fedbounds.cli.commands import say, show, show_as, show_json

if TYPE_CHECKING:
    from fedbounds.study.worst_case_and_theorems import Sandwich

# What a problem does not say.
NEEDED = ("L", "mu", "Gamma", "rho_bar", "rho_tilde", "tau", "G_sq", "sigma_sq")
FLAGS = {"N": "--clients", "Delta_0": "--delta0", "pi_min": "--pi"}
# Of a problem, constants that the final bound alone takes.
FINAL = ("N", "p_min")
# Settings that choose a problem whose constants are filled in.
PROBLEM = ("problem", "data", "partition", "limit", "standardise", "regularisation", "classes", "seed", "plugins")


@command("Study a problem", settings=PROBLEM, more="fedbounds.study.bounds:bounds", **FLAGS)
def bounds(*, format: Literal["table", "json"] = "table", **options: Any) -> None:
    """Evaluate the bounds without a run: speed, error, value at T, and the rounds to reach epsilon.

    --data or --problem fills in what is not given of L, mu, Gamma, ||w_0 - w*||^2, N and the smallest p_i, from
    w_0 = 0.
    """
    from fedbounds.report.verdict_tables import bounds_blocks
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


BEFOREHAND = "About a minute for 20 clients, 60 rounds and 64 replicates; longer with more, or on a busy machine."
# What the comparison sets itself: FedAvg's weights, each theorem's last reading, constants of the run.
SET_HERE = (
    "weightings",
    "readings",
    "step",
    "stride",
    "sigma_sq",
    "G_sq",
)


@command("Study a problem", settings=(), but=(*SET_HERE, "engine"), algorithms="--algorithm,--weighting")
def compare(
    *,
    algorithms: tuple[str, ...] = (),
    target: float = 0.01,
    out: Path | None = None,
    format: Literal["table", "json"] = "table",
    quiet: bool = False,
    **flags: Any,
) -> None:
    """Set every theorem that applies to a problem, and every algorithm, side by side.

    Prints each bound beside the measured error, the rounds to the target by theorem and in truth, and which rule to
    take. Each has its own step size. A minute for 20 clients, 60 rounds and 64 replicates. The minimiser is computed
    first: of a large file take a part with --limit.

    algorithms: An algorithm or a weighting, such as fedprox:strength=0.5 or fedmax. Repeatable.
    target: Fraction of ||w_0 - w*||^2 to reach.
    out: Folder for compare.json and the picture.
    """
    from fedbounds import io
    from fedbounds.report import comparison_report
    from fedbounds.report import figure_styles as styles
    from fedbounds.report.terminal import progress
    from fedbounds.study.compare import compare_at as run
    from fedbounds.study.settings import Settings

    with io.locked(out):
        with progress(not quiet, lines=True, first=BEFOREHAND) as bar:
            result = run(Settings.of(given_settings(flags)), target, algorithms, bar)
        if out is not None:
            io.write_json(out / "compare.json", result.to_json())
            styles.save(partial(comparison_report.figure, result), out, "compare")
    show_as(format, result.to_json(), comparison_report.blocks(result))
    if out is not None and not quiet:
        say(f"Saved compare.json, compare.png and compare.svg in {out}.")


# Reasons of failure that are printed; the table holds every one.
SHOWN = 5
FAILED = 2


@command("Study a problem")
def sweep(
    study: Path,
    *,
    out: Path,
    jobs: int = -1,
    quiet: bool = False,
) -> int:
    """Examine every cell of the grid in STUDY (TOML) and keep the verdicts under --out.

    The same command continues a sweep that was stopped, and computes cells that failed again. Writes a file a
    cell, and sweep.csv. Exits with 2 if cells failed.

    out: Folder of the results; the same folder continues a sweep.
    jobs: Processes; -1 is one a core.
    """
    import fedbounds
    from fedbounds.report import terminal as console
    from fedbounds.report.number_format import counted
    from fedbounds.report.verdict_tables import counts_table

    try:
        with console.progress(not quiet, lines=True) as bar:
            result = fedbounds.sweep(study, out, jobs=jobs, progress=bar)
    except KeyboardInterrupt:
        say("Every finished cell is kept: the same command goes on from there.")
        raise
    done, counts = result.summary, counts_table(result)
    show(console.plain_table(counts.head, counts.rows))
    show(f"{counted(done.total, 'cell')}, {done.computed} computed now, {done.failed} failed: {out / 'sweep.csv'}")
    if done.failed:
        say("Failed, the commonest reason first (the same command computes them again):")
        for message, count in result.failures[:SHOWN]:
            say(f"  {count} x {message}")
    return FAILED if done.failed else 0


# The table of worst cases, and what a curve runs along.
HEAD = ("instance", "worst case", "", "theorem", "over instance", "seconds")
AXES = ("rounds", "tau", "kappa", "step")


@command("Judge a theorem", more="fedbounds.study.worst_case:worst", but=("progress",))
def worst(*, format: Literal["table", "json"] = "table", quiet: bool = False, **options: Any) -> None:
    """Bound ||w_R - w*||^2 after R rounds of FedAvg, over every problem of a class and every N >= 2.

    --measure takes F(w_R) - F* instead, or F - F* at the mean of the iterates before w_R. --step theory is the
    corollary's 1/(mu (t + 4 kappa)); the key of a claim is the step size that it states. Clients are L-smooth and
    mu-strongly convex. "instance" is a run, or the low end of a band for the mean over draws of clients. "worst case"
    is an upper bound for the whole class; certified means that
    rational multipliers were verified in exact arithmetic. "theorem" is the smallest bound of a claim that this run
    does not exceed.
    """
    import fedbounds
    from fedbounds.evidence.sdp.one_step.coverage import fraction
    from fedbounds.report.terminal import progress
    from fedbounds.study.worst_case import MEASURES, step_claim

    with progress(not quiet) as bar:
        result = list(fedbounds.worst(progress=bar, **given_settings(options)))
    measure, over, step, sigma = (options[name] for name in ("measure", "over", "step", "sigma"))
    weights, p = options["weights"] or "", options["p"] or ""
    if format == "json":
        show_json([asdict(item) for item in result])
        return
    present = options["participation"]
    noisy = fraction(sigma) != 0 or bool(present)
    several = "," in step or step_claim(step, options["plugins"]) is not None
    message = [f"steps {step}"] if several else []
    message += [f"{name} {value}" for name, value in (("weights", weights), ("p", p)) if value]
    message += [f"eta_s = {options['server']}"] if fraction(options["server"]) != 1 else []
    message += [f"{present} clients"] if present else []
    message += [f"sigma = {sigma}"] if fraction(sigma) else []
    message.append("zeta_* = {zeta_star}, ||w_0 - w*||^2 <= {Delta_0}".format(**options))
    measured = f"E{MEASURES[measure]}" if noisy else MEASURES[measure]
    print_table(result, over or "rounds", ", ".join(message), measured)
    if quiet:
        return
    if noisy:
        say("Of a random run the worst case is a bound, step by step or round by round, which need not be attained.")
    else:
        _note_on_weights(weights, p, result[0])
    if any(item.instance_constants for item in result):
        say(
            "No claim does without G^2 and Gamma: the theorem's are the instance's own. The worst case needs neither."
        )
    if any(item.worst is None for item in result):
        say("Not established: the solver came to no bound; fewer rounds or local steps, or longer ones, are easier.")


def _note_on_weights(weights: str, p: str, row: Sandwich) -> None:
    from fedbounds.evidence.sdp.one_step.coverage import fractions

    if weights[:1].isalpha() or ".." in weights:
        say("Weights may be others in every round: the rounds are bounded one by one, and no theorem is asked.")
        if weights != "any" and p:
            say(f"The instance is a run of {weights}, the worst case that of all weights with its ratios to p.")
    elif p and row.above and fractions(p) != fractions(weights):
        say("The server's weights are not p: the worst case is a bound, not exact, and no theorem is asked.")
    elif row.above and weights:
        say("A weight exceeds 1/2: the worst case is that over all weights, which need not be attained at these.")


def print_table(sandwiches: list[Sandwich], over: str, start: str, measured: str = "||w_R - w*||^2") -> None:
    """What is the same in all rows is said above them, so that they fit a terminal."""
    from fedbounds.report.number_format import downward, number, upward
    from fedbounds.report.terminal import plain_table

    rows = []
    for item in sandwiches:
        bounds = ["-" if value is None else upward(value, n) for value, n in ((item.worst, 6), (item.bound, 4))]
        factor = "-" if item.factor is None else number(item.factor, 3)
        row = [f"{getattr(item, over):g}", downward(item.lower), bounds[0], item.mark, bounds[1], factor]
        rows.append([*row, f"{item.seconds:.1f}"])
    same = ", ".join(f"{name} = {getattr(sandwiches[0], name):g}" for name in AXES if name != over)
    by = sorted({item.theorem for item in sandwiches if item.theorem is not None})
    show(f"{measured} with L = 1, {same}, {start}{'; theorem: ' if by else ''}{', '.join(by)}")
    show(plain_table([over, *HEAD], rows))
    for item in sandwiches:
        at = f" at {over} = {getattr(item, over):g}" if len(sandwiches) > 1 else ""
        for key, bound in item.refuted.items():
            show(f"REFUTED by the instance{at}: {key}, {bound:.10g} < {item.lower:.10g}")


@command("Study a problem", more="fedbounds.study.best_method:best_method", but=("progress",))
def design(
    *, out: Path | None = None, format: Literal["table", "json"] = "table", quiet: bool = False, **options: Any
) -> None:
    """Find the local step eta and the server's step eta_s whose worst case over a class of problems is the least.

    Clients are L-smooth and mu-strongly convex; unless --sigma or --participation say otherwise all take part, with
    full gradients. The worst case of the method is certified: it holds for every problem of the class and every
    N >= 2. "No method below" comes from instances that were run in floating point at every method of a grid.

    out: Write a picture over tau here, as PNG and SVG.
    """
    from fedbounds.report.best_method_text import answer, figure, remarks, table
    from fedbounds.report.terminal import progress
    from fedbounds.study.best_method import best_method

    with progress(not quiet) as bar:
        result = list(best_method(progress=bar, **given_settings(options)))
    if format == "json":
        show_json([{"answer": answer(item), **item.row()} for item in result])
    else:
        show(answer(min(result, key=lambda item: item.worst)))
        show(table(result))
        for line in remarks(result):
            say(line)
    if out is not None:
        from fedbounds.report.figure_styles import save

        for path in save(lambda: figure(result), out.parent, out.stem):
            say(f"Wrote {path}.")
