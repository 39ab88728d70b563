"""``fedbounds cache``: what is kept between runs."""

from fedbounds.cli.adapter import command, say


@command("Files", "cache clear")
def clear() -> None:
    """Delete the studies, pages and checks that are kept on disk, a gigabyte at most.

    Results are computed again after a change of the package, of Python, of a package that it computes with, or of
    the machine. A study that reads files or code of your own is not stored. --fresh, or FEDBOUNDS_FRESH=1, reads and
    stores nothing.
    """
    from fedbounds.study import cache

    gone = cache.clear()
    say(f"Deleted {len(gone)} entries{f' in {gone[0].parent}' if gone else ''}.")
