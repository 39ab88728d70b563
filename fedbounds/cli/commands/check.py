"""``fedbounds check``, ``report``, ``plot`` and ``cache clear``: a study, its page and its pictures."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fedbounds.cli.adapter import Place, command, say, show, show_as
from fedbounds.cli.interrupt import INTERRUPTED
from fedbounds.errors import Interrupted

if TYPE_CHECKING:
    from fedbounds.study.request import Request
    from fedbounds.study.result import Result, WeightingRun
    from fedbounds.study.saved_study import RunSeries
    from fedbounds.study.settings import Settings


@command("Study a problem", settings=(), show_constants="--constants")
def check(
    *,
    format: Literal["table", "json"] = "table",
    out: Path | None = None,
    config: Path | None = None,
    save_config: Path | None = None,
    fail_on: Literal["refuted"] | None = None,
    show_constants: bool = False,
    fresh: bool = False,
    quiet: bool = False,
    **flags: Any,
) -> int:
    """Say whether the O(1/T) bound holds under each weighting on a problem, and how loose it is.

    Without flags: the default study of the paper's lemmas, theorem, corollary and rate.

    The TOML file holds a setting a line (tau = 5), or is a pyproject.toml with a table [tool.fedbounds].

    out: Folder for result.json, trajectories and pictures.
    config: Settings from a TOML file; flags override it.
    save_config: Write the settings of this study as TOML.
    fail_on: Exit with code 1 if a claim is refuted.
    show_constants: Print the constants of the problem and of every run alone.
    """
    from fedbounds.cli.click_commands import contradiction_code, given
    from fedbounds.io import locked, write_text
    from fedbounds.report.check_text import check_blocks
    from fedbounds.report.verdict_tables import constants_table
    from fedbounds.study.ledger import claims_of, ledger_lines
    from fedbounds.study.settings import Settings
    from fedbounds.study.study_file import settings_from

    chosen = ({} if config is None else settings_from(config)) | given(flags)
    with locked(out) if out is not None else contextlib.nullcontext():
        settings = Settings.of(chosen)
        if save_config is not None:
            write_text(save_config, settings.to_toml())
        try:
            result, code = _checked(settings, out, fresh, quiet), 0
        except Interrupted as stopped:
            result, code = _interrupted(stopped.partial, out), INTERRUPTED
    lines = ledger_lines(claims_of(result), result.verdicts)
    blocks = [constants_table(result)] if show_constants else check_blocks(result, lines, out)
    show_as(format, result.to_json(), blocks)
    return code or contradiction_code(lines) or (1 if fail_on == "refuted" and result.refuted else 0)


def _checked(settings: Settings, out: Path | None, fresh: bool, quiet: bool) -> Result:
    """The result of a study, saved in ``out``: that of an earlier run of the very same, unless ``fresh``."""
    from fedbounds.io import json_text, parse_json, write_bytes
    from fedbounds.study import cache
    from fedbounds.study.result import NAME, Result

    if out is not None and any(out.glob("*.png")):
        from fedbounds.report.figures.study_figures import FIGURES

        for old in (out / f"{stem}{suffix}" for stem in FIGURES for suffix in (".png", ".svg")):
            old.unlink(missing_ok=True)  # those of an earlier study, should this process be killed before it draws
    entry = None if fresh or settings.reads_user_files else cache.entry("study", settings.to_json())
    files = {} if entry is None else cache.load(entry)
    if NAME in files and (out is None or len(files) > 1):
        result = Result.from_json(parse_json(files[NAME], NAME))
        written = [] if out is None else [out / name for name in files]
        for path in sorted(written, key=lambda path: path.name == NAME):  # last the file that makes them a study
            write_bytes(path, files[path.name])
        if not quiet:
            say("These numbers were kept from an earlier run with these settings and sources; --fresh runs it again.")
    else:
        result, written = _run(settings, out, quiet)
        if entry is not None and cache.fits(sum(path.stat().st_size for path in written)):
            text = json_text(result.to_json()).encode()
            cache.store(entry, {NAME: text} | {path.name: path.read_bytes() for path in written})
    if out is not None and not quiet:
        pictures = [path.name for path in written if path.suffix == ".png"]
        say(f"Saved result.json, trajectories.npz and {len(pictures)} pictures in {out}:")
        say("  " + ", ".join(pictures) + " (and .svg)")
    return result


def _interrupted(part: Result, out: Path | None) -> Result:
    """The weightings that were finished, which are a study of their own."""
    done = ", ".join(run.weighting for run in part.runs)
    say(f"Interrupted: the answer is about {done} alone{f', and saved in {out}' if out is not None else ''}.")
    return part


def _run(settings: Settings, out: Path | None, quiet: bool) -> tuple[Result, list[Path]]:
    """The result of a study, and the files that were written beside that in ``out``, if there is one."""
    from itertools import chain

    from fedbounds.report.terminal import progress
    from fedbounds.study import saved_study
    from fedbounds.study.request import resolve
    from fedbounds.study.run_study import run_condensed

    request = resolve(settings.problem, settings.weightings, settings.claims, vars(settings))
    processes, first = _beforehand(request, out is not None)

    def series(run: WeightingRun) -> list[RunSeries]:
        return [] if out is None else [saved_study.run_series(run, request.claims, request.settings)]

    with progress(not quiet, lines=True, first=first) as bar:
        try:
            result, drawn = run_condensed(request, series, bar, processes)
        except Interrupted as stopped:
            part, drawn = stopped.partial
            if out is not None:
                saved_study.keep(part, list(chain(*drawn)), out)
            raise Interrupted(part) from None
    if out is None:
        return result, []
    from fedbounds.report.figures import study_figures

    saved_study.keep(result, list(chain(*drawn)), out)
    return result, [out / saved_study.TRAJECTORIES, *study_figures.draw(out, result.claims)]


# Measured seconds of what does not depend on the study, and of the default runs, of so many steps and clients; a
# logistic step takes so many times as long; the time grows with this power of the number of clients.
EVIDENCE, DEFAULT_RUNS, DEFAULT_STEPS, DEFAULT_CLIENTS, LOGISTIC, GROWTH = 4, 1.2, 320_000, 10, 15, 0.8
LONG = 120  # seconds from which minutes are told


def _beforehand(request: Request, drawn: bool) -> tuple[int, str]:
    """In how many processes runs are made, and how much is run, how long that takes about, in how much memory."""
    from fedbounds.engine.memory import budget, check_peak, size
    from fedbounds.engine.parallel import default_threads
    from fedbounds.report.number_format import counted
    from fedbounds.study.objects_from_settings import GB, build_experiment, streams

    settings, weightings = request.settings, len(request.weightings)
    experiment = build_experiment(settings, request.problem, request.weightings[0])
    streamed = streams(settings, experiment)
    limit = budget() if settings.memory is None else settings.memory * GB
    peaks = {
        processes: check_peak(experiment, streamed, weightings if drawn else 0, processes)
        for processes in range(1, min(default_threads(), weightings) + 1)
    }
    processes = max((count for count, peak in peaks.items() if peak <= limit), default=1)
    steps = settings.tau * settings.rounds
    share = weightings * steps * settings.replicates / DEFAULT_STEPS
    share *= (max(settings.clients or 0, DEFAULT_CLIENTS) / DEFAULT_CLIENTS) ** GROWTH
    share *= LOGISTIC if settings.problem == "logistic" else 1
    seconds = math.ceil((EVIDENCE + DEFAULT_RUNS * share / processes) / 10) * 10
    time = f"{seconds} s" if seconds < LONG else f"{round(seconds / 60)} min"
    runs = f"{counted(weightings, 'weighting')}, {settings.replicates} runs of {steps:,} steps each"
    side = f", {processes} weightings at a time" if processes > 1 else ""
    kept = " Runs keep means and covariances, as a record of each takes more memory." if streamed else ""
    usage = f"up to {size(peaks[processes])}{side}"
    return processes, f"{runs}: about {time}, longer with many samples or on a busy machine; {usage}.{kept}"


@command("Files", settings=())
def report(
    results: Path | None = None,
    *,
    out: Annotated[Path, Place(dir_okay=False)] = Path("report.html"),
    trust_plugins: bool = False,
    quiet: bool = False,
    **flags: Any,
) -> int:
    """Write one self-contained page: the ledger, every claim with its evidence, and the run.

    RESULTS is a folder saved by check --out, or by sweep --out, of which the page counts the verdicts and shows
    what failed. Without it the study that the flags describe is run first.

    out: The page to write.
    trust_plugins: Run the plug-ins saved in RESULTS, to show their claims in full.
    """
    import fedbounds
    from fedbounds.cli.click_commands import contradiction_code, given
    from fedbounds.errors import reject
    from fedbounds.io import require_replaceable
    from fedbounds.report.html import report_page
    from fedbounds.report.terminal import progress, working
    from fedbounds.study import saved_study

    chosen = given(flags)
    if results is not None and chosen:
        raise reject("a saved study has its own settings", f"{results} and flags", "give the folder or the flags")
    require_replaceable(out)
    study: Path | Result
    if results is None:
        with progress(not quiet, lines=True) as bar:
            study = fedbounds.check(progress=bar, **chosen)
    else:
        study = results
    if trust_plugins and results is not None and (results / saved_study.RESULT).is_file():
        for file in saved_study.read(results)[0].plugin_files:
            say(f"Running the plug-in {file.path}, SHA-256 {file.sha256}.")
    with working("page", not quiet):
        page = report_page.report(study, out, trust_plugins=trust_plugins)
    if not quiet:
        for file in page.not_run:
            say(f"Not run (--trust-plugins does): the plug-in {file.path}, SHA-256 {file.sha256}:\n{file.source}")
        say(f"Wrote {out.resolve()} ({len(page.html.encode()) / 1e6:.1f} MB).")
    return contradiction_code(page.lines)


@command("Files")
def plot(out: Path) -> None:
    """Redraw the pictures of a study saved in OUT."""
    from fedbounds.errors import reject
    from fedbounds.io import require_writable

    if not out.is_dir():
        raise reject("plot needs the folder of a saved study", str(out), "run fedbounds check --out first")
    require_writable(out)
    from fedbounds.report.figures import study_figures

    for path in study_figures.draw(out):
        show(str(path))


@command("Files", "cache clear")
def clear() -> None:
    """Delete the studies and checks that are kept on disk, a gigabyte at most.

    Results are computed again after a change of the package, of Python, of a package that it computes with, or of
    the machine. A study that reads files or code of your own is not stored. --fresh, or FEDBOUNDS_FRESH=1, reads and
    stores nothing.
    """
    from fedbounds.study import cache

    gone = cache.clear()
    say(f"Deleted {len(gone)} entries{f' in {gone[0].parent}' if gone else ''}.")
