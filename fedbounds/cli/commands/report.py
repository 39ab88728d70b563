"""``fedbounds report``: a study as one HTML page that opens offline."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from fedbounds.cli.options import DEFAULTS, FLAGS, Flag, SectionedCommand, given, settings_options
from fedbounds.errors import reject


@click.command(cls=SectionedCommand)
@click.argument("results", required=False, type=click.Path(path_type=Path))
@settings_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option("--quiet", is_flag=True, help="No progress bar and no remarks on standard error.")
def report(results: Path | None, out: Path, quiet: bool, **flags: Any) -> None:
    """Write one self-contained page: the ledger, every claim with its evidence, and the run.

    RESULTS is a folder saved by check --out, or by sweep --out, of which the page counts the verdicts and shows
    what failed. Without it the study that the flags describe is run first.
    """
    from fedbounds import files

    chosen = given(flags)
    if results is not None and chosen:
        raise reject("a saved study has its own settings", f"{results} and flags", "give the folder or the flags")
    files.require_writable(out.parent)
    html = (
        _sweep_html(results, out)
        if results is not None and _is_sweep(results)
        else _html(results, chosen, out, quiet)
    )
    files.write_text(out, html)
    if not quiet:
        click.echo(f"Wrote {out} ({len(html.encode()) / 1e6:.1f} MB).", err=True)


def _is_sweep(folder: Path) -> bool:
    from fedbounds.study import store
    from fedbounds.study.sweep import table as sweep_table

    sweep = (folder / sweep_table.TABLE).is_file()
    if not sweep and not (folder / store.RESULT).is_file():
        remedy = "give a folder that fedbounds check --out or fedbounds sweep --out wrote"
        raise reject("a study or a sweep must exist in the folder", str(folder), remedy)
    return sweep


def _sweep_html(folder: Path, out: Path) -> str:
    from fedbounds.show.report.sweep import sweep_page

    return sweep_page(folder, out)


def _html(saved: Path | None, chosen: dict[str, Any], out: Path, quiet: bool) -> str:
    from fedbounds.plugins import load_file
    from fedbounds.show.report.page import page
    from fedbounds.study import store

    result, arrays = store.load(saved) if saved is not None else _run(chosen, quiet)
    extra = [load_file(path) for path in result["settings"]["plugins"]]
    return page(result, arrays, command(result, out), extra)


def _run(chosen: dict[str, Any], quiet: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    import fedbounds
    from fedbounds.show import terminal as console
    from fedbounds.study import store

    with console.progress(not quiet and sys.stderr.isatty()) as bar:
        result = fedbounds.check(progress=bar, **chosen)
    return result.to_json(), store.arrays_of(result, store.series(result))


def command(result: Mapping[str, Any], out: Path = Path("report.html")) -> str:
    """The command line that repeats a study, a flag a line, or nothing where its problem was made in Python."""
    settings = result["settings"]
    if result["problem"]["kind"] != settings["problem"]:
        return ""
    flags = [pair for flag in FLAGS for pair in _words(flag, settings[flag.field])]
    return " \\\n  ".join(["fedbounds report", *map(shlex.join, [*flags, ["--out", str(out)]])])


def _words(flag: Flag, value: Any) -> list[list[str]]:
    """One flag with its value, once for each value it repeats; nothing where the value is the default."""
    value = tuple(value) if isinstance(value, list) else value
    if value == DEFAULTS[flag.field]:
        return []
    if flag.field == "batch" and value is None:
        return [[flag.spelling, "full"]]
    if flag.is_flag:
        return [[flag.spelling]]
    if isinstance(value, bool):
        on, _, off = flag.spelling.partition("/")
        return [[on if value else off]]
    if flag.multiple:
        return [[flag.spelling, str(item)] for item in value]
    return [[flag.spelling, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]]


COMMANDS = [report]
