"""``fedbounds design``: the step sizes with the least worst case over a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fedbounds.cli.adapter import command, say, show, show_json

if TYPE_CHECKING:
    from fedbounds.study.design import Design

# A minimax gap that is worth a remark.
LARGE = 1e-3


@command("Study a problem", more="fedbounds.study.design:design", but=("progress",))
def design(
    *,
    out: Path | None = None,
    format: Literal["table", "json"] = "table",
    quiet: bool = False,
    **options: Any,
) -> None:
    """Find the local step eta and the server's step eta_s whose worst case over a class of problems is the least.

    Clients are L-smooth and mu-strongly convex; unless --sigma or --participation say otherwise all take part, with
    full gradients. The worst case of the method is certified: it holds for every problem of the class and every
    N >= 2. "No method below" comes from instances that were run in floating point at every method of a grid.

    out: Write a picture over tau here, as PNG and SVG.
    """
    from fedbounds.cli.click_commands import given_settings
    from fedbounds.report.design_text import answer
    from fedbounds.report.terminal import progress
    from fedbounds.study.design import design

    with progress(not quiet) as bar:
        result = list(design(progress=bar, **given_settings(options)))
    drawn = []
    if out is not None:
        from fedbounds.report.figures.best_method_figure import draw

        drawn = draw(result, out)
    if format == "json":
        show_json([{"answer": answer(item), **asdict(item), "gap": item.gap} for item in result])
    else:
        _print(result)
    for path in drawn:
        say(f"Wrote {path}.")


def _print(result: Sequence[Design]) -> None:
    from fedbounds.report.design_text import answer, choices, commands, over_tau

    first = min(result, key=lambda item: item.worst)
    show(answer(first))
    show(choices(first) if len(result) == 1 else over_tau(result))
    if first.alpha:
        say("Weights are searched for near p and near equal ones: there is no lower bound.")
    elif first.sigma or first.participation:
        say('Of a random run the worst case is a bound: a method may have less, down to "no method below".')
    elif first.gap is not None and first.gap > LARGE:
        say(f"A better method may have {100 * first.gap:.2g}% less: long runs do not use every inequality.")
    if not all(item.certified for item in result):
        say("A worst case without a verified proof is the solver's number.")
    taus = sorted({item.tau for item in result})
    if len(taus) > 1 and first.tau == taus[-1]:
        say(f"The best has the most local steps that were tried: more than {first.tau} may be better still.")
    say("To prove and to run it:" if first.certified else "To look for a proof (none was found here) and to run it:")
    for line in commands(first):
        say(f"  {line}")
