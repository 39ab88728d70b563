"""``fedbounds report``: a study as one HTML page that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.options import FRESH, QUIET, Place, SectionedCommand, given, say, settings_options, sounded
from fedbounds.errors import reject

if TYPE_CHECKING:
    from fedbounds.study.result import Result

TRUST = "--trust-plugins"


@click.command(cls=SectionedCommand)
@click.argument("results", required=False, type=Place())
@settings_options
@click.option(
    "--out",
    type=Place(dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option(TRUST, is_flag=True, help="Run the plug-ins saved in RESULTS, to show their claims in full.")
@FRESH
@QUIET
def report(results: Path | None, out: Path, trust_plugins: bool, fresh: bool, quiet: bool, **flags: Any) -> int:
    """Write one self-contained page: the ledger, every claim with its evidence, and the run.

    RESULTS is a folder saved by check --out, or by sweep --out, of which the page counts the verdicts and shows
    what failed. Without it the study that the flags describe is run first.
    """
    import fedbounds
    from fedbounds.io import require_replaceable
    from fedbounds.report.html import study_page
    from fedbounds.report.terminal import progress, working
    from fedbounds.study import store

    chosen = given(flags)
    if results is not None and chosen:
        raise reject("a saved study has its own settings", f"{results} and flags", "give the folder or the flags")
    require_replaceable(out)
    study: Path | Result
    if results is None:
        with progress(not quiet) as bar:
            study = fedbounds.check(progress=bar, **chosen)
    else:
        study = results
    if trust_plugins and results is not None and (results / store.RESULT).is_file():
        for file in store.read(results)[0].plugin_files:
            say(f"Running the plug-in {file.path}, SHA-256 {file.sha256}.")
    with working("page", not quiet):
        page = study_page.report(study, out, trust_plugins=trust_plugins, fresh=fresh)
    if not quiet:
        for file in page.not_run:
            say(f"Not run ({TRUST} does): the plug-in {file.path}, SHA-256 {file.sha256}:\n{file.source}")
        say(f"Wrote {out} ({len(page.html.encode()) / 1e6:.1f} MB).")
    return sounded(page.lines)


COMMANDS = [report]
