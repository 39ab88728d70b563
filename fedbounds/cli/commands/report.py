"""``fedbounds report``: a study as one HTML page that opens offline."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.options import QUIET, SectionedCommand, given, settings_options, sounded, words
from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.study.result import Result
    from fedbounds.study.store import RunSeries

TRUST = "--trust-plugins"


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
@click.option(TRUST, is_flag=True, help="Run the plug-ins saved in RESULTS, to show their claims in full.")
@QUIET
def report(results: Path | None, out: Path, trust_plugins: bool, quiet: bool, **flags: Any) -> int:
    """Write one self-contained page: the ledger, every claim with its evidence, and the run.

    RESULTS is a folder saved by check --out, or by sweep --out, of which the page counts the verdicts and shows
    what failed. Without it the study that the flags describe is run first.
    """
    from fedbounds import files

    chosen = given(flags)
    if results is not None and chosen:
        raise reject("a saved study has its own settings", f"{results} and flags", "give the folder or the flags")
    files.require_writable(out.parent)
    if results is not None and _is_sweep(results):
        from fedbounds.show.report.grid import sweep_page

        html, code = sweep_page(results, out), 0
    else:
        html, code = _html(results, chosen, out, trust_plugins, quiet)
    files.write_text(out, html)
    if not quiet:
        click.echo(f"Wrote {out} ({len(html.encode()) / 1e6:.1f} MB).", err=True)
    return code


def _is_sweep(folder: Path) -> bool:
    from fedbounds.study import store
    from fedbounds.study.sweep import table as sweep_table

    sweep = (folder / sweep_table.TABLE).is_file()
    if not sweep and not (folder / store.RESULT).is_file():
        remedy = "give a folder that fedbounds check --out or fedbounds sweep --out wrote"
        raise reject("a study or a sweep must exist in the folder", str(folder), remedy)
    return sweep


def _html(saved: Path | None, chosen: dict[str, Any], out: Path, trust: bool, quiet: bool) -> tuple[str, int]:
    """The page of a study and the exit code of its alarms."""
    from fedbounds.plugins import load_plugin
    from fedbounds.show.report.page import page
    from fedbounds.study import store
    from fedbounds.study.ledger import claims_of, ledger

    fresh = saved is None
    result, drawn = store.read(saved) if saved is not None else _run(chosen, quiet)
    if not (fresh or trust or quiet):
        for file in result.plugin_files:
            click.echo(f"Not run: the plug-in {file.path} (SHA-256 {file.sha256}); {TRUST} runs it.", err=True)
    extra = [load_plugin(file) for file in result.plugin_files] if fresh or trust else []
    lines = ledger(claims_of(result, extra), result.verdicts)
    return page(result, lines, drawn, command(result, out)), sounded(lines)


def _run(chosen: dict[str, Any], quiet: bool) -> tuple[Result, tuple[RunSeries, ...]]:
    import fedbounds
    from fedbounds.show.terminal import progress
    from fedbounds.study import store

    with progress(not quiet) as bar:
        result = fedbounds.check(progress=bar, **chosen)
    return result, store.series(result)


def command(result: Result, out: Path = Path("report.html")) -> str:
    """The command line that repeats a study, a flag a line, or nothing where a part of it was made in Python."""
    if result.objects:
        return ""
    return " \\\n  ".join(["fedbounds report", *map(shlex.join, [*words(result.settings), ["--out", str(out)]])])


COMMANDS = [report]
