"""``fedbounds worst`` and ``design``: the worst case of R rounds over a class, and the steps where it is least."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbounds.cli.adapter import command, given_settings
from fedbounds.cli.commands import say, show, show_json

if TYPE_CHECKING:
    from fedbounds.study.worst_case_and_theorems import Sandwich

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
        _say_weights(weights, p, result[0])
    if any(item.instance_constants for item in result):
        say(
            "No claim does without G^2 and Gamma: the theorem's are the instance's own. The worst case needs neither."
        )
    if any(item.worst is None for item in result):
        say("Not established: the solver came to no bound; fewer rounds or local steps, or longer ones, are easier.")


def _say_weights(weights: str, p: str, row: Sandwich) -> None:
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
        from fedbounds.report.figures.styles import save

        for path in save(lambda: figure(result), out.parent, out.stem):
            say(f"Wrote {path}.")
