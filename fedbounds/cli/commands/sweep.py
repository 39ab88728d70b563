"""``fedbounds sweep``: a grid of studies from a TOML file, on all cores or a cluster, continued where it stopped."""

from pathlib import Path

import click

from fedbounds.cli.options import QUIET, Place, say

# Reasons of failure that are printed; the table holds every one.
SHOWN = 5
FAILED = 2


@click.command()
@click.argument("study", type=Place())
@click.option("--out", type=Place(), required=True, help="Folder of the table; also how to continue.")
@click.option("--jobs", type=int, default=-1, show_default=True, help="Processes; -1 is one a core.")
@click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler to use instead, as tcp://host:8786.")
@click.option("--retry-failed", is_flag=True, help="Compute the cells that failed once more.")
@QUIET
def sweep(study: Path, out: Path, jobs: int, scheduler: str | None, retry_failed: bool, quiet: bool) -> int:
    """Examine every cell of the grid in STUDY (TOML) and keep the verdicts in one table under --out.

    The same command goes on where it stopped, however it was stopped. Writes sweep.sqlite and sweep.csv. Exits with 2
    if cells failed.
    """
    import fedbounds
    from fedbounds.report import terminal as console
    from fedbounds.report.html.sweep_page import counts_table
    from fedbounds.study.sweep.table import read_table

    try:
        with console.progress(not quiet, lines=True) as bar:
            found = fedbounds.sweep(
                study, out, jobs=jobs, scheduler=scheduler, retry_failed=retry_failed, progress=bar
            )
    except KeyboardInterrupt:
        say("Every finished cell is kept: the same command goes on from there.")
        raise
    done, counts = found.summary, counts_table(read_table(out, found.keys))
    click.echo(console.plain_table(counts.head, counts.rows), nl=False)
    click.echo(f"{done.total} cells, {done.computed} computed now, {done.failed} failed: {out / 'sweep.csv'}")
    if done.failed:
        say("Failed, the commonest reason first (--retry-failed computes them again):")
        for message, count in found.failures[:SHOWN]:
            say(f"  {count} x {message}")
    return FAILED if done.failed else 0


COMMANDS = [sweep]
