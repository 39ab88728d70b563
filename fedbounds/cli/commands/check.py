"""``fedbounds check``: a study, its page and its pictures."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fedbounds.cli import INTERRUPTED
from fedbounds.cli.adapter import Place, command, given_settings
from fedbounds.cli.commands import contradiction_code, say, show_as
from fedbounds.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedbounds.study.ledger import Line
    from fedbounds.study.result import Result, WeightingRun
    from fedbounds.study.run_series import RunSeries
    from fedbounds.study.run_study import Request
    from fedbounds.study.settings import Settings


@command("Study a problem", settings=(), show_constants="--constants")
def check(
    *,
    format: Literal["table", "json"] = "table",
    out: Path | None = None,
    report: Annotated[Path | None, Place(dir_okay=False)] = None,
    config: Path | None = None,
    fail_on: Literal["refuted"] | None = None,
    show_constants: bool = False,
    quiet: bool = False,
    **flags: Any,
) -> int:
    """Say whether the O(1/T) bound holds under each weighting on a problem, and how loose it is.

    Without flags: the default study of the paper's lemmas, theorem, corollary and rate.

    out: Folder for result.json, trajectories and pictures.
    report: File for a self-contained page: the ledger, every claim with its evidence, and the run.
    config: Settings from a TOML file, one a line (tau = 5); flags override it.
    fail_on: Exit with code 1 if a claim is refuted.
    show_constants: Print the constants of the problem and of every run alone.
    """
    from fedbounds.io import locked, locked_file
    from fedbounds.report.check_text import check_blocks
    from fedbounds.report.verdict_tables import constants_table
    from fedbounds.study.ledger import ledger_lines
    from fedbounds.study.settings import Settings
    from fedbounds.study.sweep import settings_from

    chosen = ({} if config is None else settings_from(config)) | given_settings(flags)
    with locked(out), locked_file(report):
        try:
            (result, drawn), code = _run(Settings.of(chosen), drawn=bool(out or report), quiet=quiet), 0
        except Interrupted as stopped:
            (result, drawn), code = stopped.partial, INTERRUPTED
            done = ", ".join(run.weighting for run in result.runs)
            say(f"Interrupted: the answer is about {done} alone{f', and saved in {out}' if out is not None else ''}.")
        lines = ledger_lines(result.claims, result.verdicts)
        _write(result, lines, drawn, out, report, quiet)
    blocks = [constants_table(result)] if show_constants else check_blocks(result, lines, out)
    show_as(format, result.to_json(), blocks)
    return code or contradiction_code(lines) or (1 if fail_on == "refuted" and result.refuted else 0)


def _run(settings: Settings, drawn: bool, quiet: bool) -> tuple[Result, list[RunSeries]]:
    """The result of a study, with what its pictures need where they are ``drawn``."""
    from fedbounds.report.terminal import progress
    from fedbounds.study import run_series
    from fedbounds.study.run_study import resolve, run_condensed

    request = resolve(vars(settings))
    processes, first = _estimate_of_work(request, drawn, request.settings.stride > settings.stride)

    def series(run: WeightingRun) -> Any:
        return run_series.run_series(run) if drawn else None

    _compile_ahead(request, quiet)
    with progress(not quiet, lines=True, first=first) as bar:
        return run_condensed(request, series, bar, processes)


def _compile_ahead(request: Request, quiet: bool) -> None:
    """Compile the engine where no cache has it, as in the first run after an installation, and say so."""
    from fedbounds.engine.kernels import cache_seen

    if cache_seen():
        return
    from fedbounds.engine.loop import choose_engine
    from fedbounds.study.objects_from_settings import build_experiment

    engine = choose_engine(build_experiment(request.settings, request.problem, request.weightings[0]))
    if not engine.is_compiled:
        if not quiet:
            say("Compiling the engine, once after an installation: some 10 s.")
        engine.compile_ahead()


def _write(
    result: Result,
    lines: Sequence[Line],
    drawn: Sequence[RunSeries],
    out: Path | None,
    report: Path | None,
    quiet: bool,
) -> None:
    """What is asked for of a study on disk: its folder, its page."""
    if out is not None:
        from fedbounds.report import study_figures
        from fedbounds.study import run_series

        paths = study_figures.draw(result, drawn, out, [partial(run_series.write_study, result, drawn, out)])
        pictures = [path.name for path in paths if path.suffix == ".png"]
        if not quiet:
            say(f"Saved result.json, trajectories.npz and {len(pictures)} pictures in {out}:")
            say("  " + ", ".join(pictures) + " (and .svg)")
    if report is not None:
        from fedbounds.report.html_pages import write_page
        from fedbounds.report.terminal import working

        with working("page", not quiet):
            page = write_page(result, lines, drawn, report)
        if not quiet:
            say(f"Wrote {page.resolve()} ({page.stat().st_size / 1e6:.1f} MB).")


# Measured seconds of what does not depend on the study, and of the default runs, of so many steps and clients; they
# grow with this power of the number of clients. A logistic step passes over all samples, at so much a coordinate.
EVIDENCE, DEFAULT_RUNS, DEFAULT_STEPS, DEFAULT_CLIENTS, GROWTH = 4, 1.2, 320_000, 10, 0.8
LOGISTIC = 3.5e-10
LONG = 120  # seconds from which minutes are told


def _estimate_of_work(request: Request, drawn: bool, thinned: bool) -> tuple[int, str]:
    """In how many processes runs are made, and how much is run, how long that takes about, in how much memory."""
    from fedbounds.engine.memory import budget, check_peak, size
    from fedbounds.engine.parallel import default_threads
    from fedbounds.report.number_format import counted
    from fedbounds.study.objects_from_settings import GB, build_experiment

    settings, weightings = request.settings, len(request.weightings)
    experiment = build_experiment(settings, request.problem, request.weightings[0])
    limit = budget() if settings.memory is None else settings.memory * GB
    peaks = {
        processes: check_peak(experiment, weightings if drawn else 0, processes)
        for processes in range(1, min(default_threads(), weightings) + 1)
    }
    processes = max((count for count, peak in peaks.items() if peak <= limit), default=1)
    steps, problem = settings.tau * settings.rounds, experiment.problem
    a_step = DEFAULT_RUNS / DEFAULT_STEPS * (max(problem.N, DEFAULT_CLIENTS) / DEFAULT_CLIENTS) ** GROWTH
    a_step += LOGISTIC * float(problem.sizes.sum()) * problem.d if settings.problem == "logistic" else 0.0
    seconds = EVIDENCE + a_step * steps * settings.replicates * weightings / processes
    seconds = math.ceil(seconds / 10) * 10
    time = f"{seconds} s" if seconds < LONG else f"{round(seconds / 60)} min"
    runs = f"{counted(weightings, 'weighting')}, {settings.replicates} runs of {steps:,} steps each"
    side = f", {processes} weightings at a time" if processes > 1 else ""
    recording = f" One step in {settings.stride} is recorded, as more take more memory." if thinned else ""
    usage = f"up to {size(peaks[processes])}{side}"
    return processes, f"{runs}: about {time}, longer with many samples or on a busy machine; {usage}.{recording}"
