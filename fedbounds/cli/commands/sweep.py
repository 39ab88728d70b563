"""``fedbounds sweep``: a grid of studies from a TOML file, on all cores or a cluster, continued where it stopped."""

from __future__ import annotations

from pathlib import Path

from fedbounds.cli.adapter import command, say, show

# Reasons of failure that are printed; the table holds every one.
SHOWN = 5
FAILED = 2


@command("Study a problem")
def sweep(
    study: Path,
    *,
    out: Path,
    jobs: int = -1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    quiet: bool = False,
) -> int:
    """Examine every cell of the grid in STUDY (TOML) and keep the verdicts in one table under --out.

    The same command continues a sweep that was stopped. Writes sweep.sqlite and sweep.csv. Exits with 2
    if cells failed.

    out: Folder of the table; the same folder continues a sweep.
    jobs: Processes; -1 is one a core.
    scheduler: A Dask scheduler to use instead, as tcp://host:8786.
    retry_failed: Compute the cells that failed once more.
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
    show(console.plain_table(counts.head, counts.rows))
    show(f"{done.total} cells, {done.computed} computed now, {done.failed} failed: {out / 'sweep.csv'}")
    if done.failed:
        say("Failed, the commonest reason first (--retry-failed computes them again):")
        for message, count in found.failures[:SHOWN]:
            say(f"  {count} x {message}")
    return FAILED if done.failed else 0
