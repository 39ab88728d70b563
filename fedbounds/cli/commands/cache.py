"""``fedbounds cache``: what is kept between runs."""

import click

from fedbounds.cli.options import SectionedCommand, say


@click.group()
def cache() -> None:
    """What is expensive and always the same is kept on disk, a gigabyte at most: studies that were run, their pages,
    tables of mutants, and the checks of what is shipped.

    All is made anew when the package, Python or another package that computes changes, or the machine; a study that
    reads files or code of your own is not kept. --fresh, or FEDBOUNDS_FRESH=1, runs and keeps nothing.
    """


@cache.command(cls=SectionedCommand)
def clear() -> int:
    """Delete what is kept; the next check with --out takes a minute longer."""
    from fedbounds.study.cache import forget

    gone = forget()
    say(f"Deleted {len(gone)} files{f' in {gone[0].parent}' if gone else ''}.")
    return 0


COMMANDS = [cache]
