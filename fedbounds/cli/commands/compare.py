"""``fedbounds compare``: the field's theorems and algorithms on one problem."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

import click

from fedbounds.cli.options import (
    QUIET,
    Place,
    SectionedCommand,
    colour,
    formats,
    given,
    print_json,
    say,
    settings_options,
)
from fedbounds.study.settings import DEFAULTS

# What the comparison sets itself: FedAvg's weights, each theorem's last reading, constants of the run.
OWN = ("weightings", "readings", "step", "stride", "constants", "moments", "across", "radius", "sigma_sq", "G_sq")
USED = tuple(name for name in DEFAULTS if name not in (*OWN, "aggregation", "engine"))


@click.command(cls=SectionedCommand)
@partial(settings_options, only=USED)
@click.option("--algorithm", "wanted", multiple=True, help="An algorithm, such as fedprox:strength=0.5. Repeatable.")
@click.option("--target", type=float, default=0.01, show_default=True, help="Fraction of ||w_0 - w*||^2 to reach.")
@click.option("--out", type=Place(), help="Folder for compare.json and the picture.")
@formats("table", "json", "markdown")
@QUIET
def compare(wanted: tuple[str, ...], target: float, out: Path | None, form: str, quiet: bool, **flags: Any) -> None:
    """Every theorem that applies to a problem and every algorithm, each with its own step size.

    Bound against measured, rounds to the target by theorem and in truth, and whether the theorems rank the algorithms
    as the runs do. About a minute for 20 clients, 60 rounds and 64 replicates; of a file of many samples take a part
    with --limit, as w* is found first.
    """
    from fedbounds import io
    from fedbounds.report import comparison_text, table, terminal
    from fedbounds.report.figures import files
    from fedbounds.report.terminal import progress
    from fedbounds.study.compare import compared as run
    from fedbounds.study.settings import Settings

    with io.locked(out) if out is not None else contextlib.nullcontext():
        with progress(not quiet) as bar:
            found = run(Settings.of(given(flags)), target, wanted, bar, None if quiet else say)
        if out is not None:
            io.write_json(out / "compare.json", found.to_json())
            files.save(partial(comparison_text.figure, found), out, "compare")
    if form == "json":
        print_json(found.to_json())
    elif form == "markdown":
        click.echo(table.to_markdown(comparison_text.blocks(found)), nl=False)
    else:
        click.echo(terminal.to_text(comparison_text.blocks(found), colour=colour()), nl=False)
    if out is not None and not quiet:
        say(f"Saved compare.json, compare.png and compare.svg in {out}.")


COMMANDS = [compare]
