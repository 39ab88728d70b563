"""``fedbounds cache``: what is kept between runs."""

from fedbounds.cli.adapter import command, say


@command("Files", "cache clear")
def clear() -> None:
    """Delete the studies, pages and checks that are kept on disk, a gigabyte at most.

    All is made anew when the package, Python or another package that computes changes, or the machine. A study that
    reads files or code of your own is not kept. --fresh, or FEDBOUNDS_FRESH=1, runs and keeps nothing.
    """
    from fedbounds.study import cache

    gone = cache.clear()
    say(f"Deleted {len(gone)} entries{f' in {gone[0].parent}' if gone else ''}.")
