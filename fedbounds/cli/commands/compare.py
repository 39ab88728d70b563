"""``fedbounds compare``: the field's theorems and algorithms on one problem."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fedbounds.cli.adapter import colour, command, say, show, show_json

# What the comparison sets itself: FedAvg's weights, each theorem's last reading, constants of the run.
OWN = ("weightings", "readings", "step", "stride", "constants", "moments", "across", "radius", "sigma_sq", "G_sq")


@command("Study a problem", settings=(), but=(*OWN, "aggregation", "engine"), algorithms="--algorithm")
def compare(
    *,
    algorithms: tuple[str, ...] = (),
    target: float = 0.01,
    out: Path | None = None,
    format: Literal["table", "json", "markdown"] = "table",
    quiet: bool = False,
    **flags: Any,
) -> None:
    """Set every theorem that applies to a problem, and every algorithm, side by side.

    Bound against measured, rounds to the target by theorem and in truth, and whether the theorems rank the algorithms
    as the runs do; each has its own step size. About a minute for 20 clients, 60 rounds and 64 replicates. Of a file
    of many samples take a part with --limit, as w* is found first.

    algorithms: An algorithm or a weighting, such as fedprox:strength=0.5 or fedmax. Repeatable.
    target: Fraction of ||w_0 - w*||^2 to reach.
    out: Folder for compare.json and the picture.
    """
    from fedbounds import io
    from fedbounds.cli.options import given
    from fedbounds.report import comparison_text, table, terminal
    from fedbounds.report.figures import files
    from fedbounds.report.terminal import progress
    from fedbounds.study.compare import compared as run
    from fedbounds.study.settings import Settings

    with io.locked(out) if out is not None else contextlib.nullcontext():
        with progress(not quiet) as bar:
            found = run(Settings.of(given(flags)), target, algorithms, bar)
        if out is not None:
            io.write_json(out / "compare.json", found.to_json())
            files.save(partial(comparison_text.figure, found), out, "compare")
    if format == "json":
        show_json(found.to_json())
    elif format == "markdown":
        show(table.to_markdown(comparison_text.blocks(found)))
    else:
        show(terminal.to_text(comparison_text.blocks(found), colour=colour()))
    if out is not None and not quiet:
        say(f"Saved compare.json, compare.png and compare.svg in {out}.")
