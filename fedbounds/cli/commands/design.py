"""``fedbounds design``: the step sizes with the least worst case over a class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from fedbounds.cli.adapter import command, say, show, show_json


@command("Study a problem", more="fedbounds.study.best_method:best_method", but=("progress",))
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
    from fedbounds.report.best_method_text import answer, remarks, table
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
        from fedbounds.report.figures.best_method_figure import draw

        for path in draw(result, out):
            say(f"Wrote {path}.")
