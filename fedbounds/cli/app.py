"""The command line: parse, call, print. Results go to standard output, everything else to standard error.

Exit codes: 0 done; 1 a verdict that ``--fail-on`` names; 2 bad input or a diverged run; 3 two kinds of evidence
contradict each other; 130 interrupted; 141 nobody read on.
"""

import contextlib
import errno
import importlib
import io
import os
import pkgutil
import signal
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from fedbounds.cli.options import (
    FRESH,
    PLUGIN,
    QUIET,
    Place,
    SectionedCommand,
    colour,
    formats,
    given,
    print_json,
    say,
    settings_options,
    sounded,
)
from fedbounds.errors import DivergedError, InputError, readable, reject

if TYPE_CHECKING:
    from fedbounds.study.result import Result
    from fedbounds.study.settings import Settings

BAD_INPUT, INTERRUPTED, UNREAD = 2, 130, 141
WIDTH = 100


class LazyGroup(click.Group):
    """A group whose further commands are found in ``fedbounds.cli.commands``, imported only when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_discovered()})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        command = super().get_command(ctx, name) or _discovered().get(name)
        if command is None:
            from fedbounds.plugins import nearest

            raise nearest("command", name, self.list_commands(ctx))
        return command

    def main(self, args: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run, and turn every expected failure into one sentence and an exit code."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        _prepare()
        printed = sys.stdout
        try:
            code = super().main(args, standalone_mode=False, **extra) or 0
            sys.stdout.flush()
            sys.exit(code)
        except (InputError, DivergedError) as wrong:
            _stop(str(wrong), BAD_INPUT)
        except ModuleNotFoundError as wrong:
            if wrong.name is None or wrong.name.partition(".")[0] == __name__.partition(".")[0]:
                raise
            _stop(f"This needs {wrong.name}, which is not installed: `make setup` or pip brings it.", BAD_INPUT)
        except MemoryError as wrong:
            _stop(f"The memory is not enough for this: {wrong or 'ask for less'}.", BAD_INPUT)
        except OSError as wrong:
            _unprinted(wrong)
        except SystemExit:
            if sys.stdout is not printed:  # click puts another in its place where nobody reads on, and ends with 1
                sys.exit(UNREAD)
            raise
        except click.exceptions.NoArgsIsHelpError as wrong:
            _stop(wrong.format_message(), BAD_INPUT)
        except click.ClickException as wrong:
            _stop(f"Error: {readable(wrong.format_message())}", wrong.exit_code)
        except (click.Abort, KeyboardInterrupt):
            # Python keeps an interrupt that met the exec of a text (each dataclass is one) as nobody's, and would end
            # the process by a signal in place of the code below; the next text forgets it.
            exec("")
            _stop("Interrupted: nothing further was written.", INTERRUPTED)


def _prepare() -> None:
    """A termination ends like Ctrl-C, cleanly; what is printed is printed as far as there is where, and letters."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _unprinted(wrong: OSError) -> None:
    """End where nobody reads on, or there is no room for what is printed; what is saved was saved before."""
    if wrong.errno not in (errno.EPIPE, errno.ENOSPC):
        _stop(readable(f"The system refused: {wrong}."), BAD_INPUT)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _stop("" if wrong.errno == errno.EPIPE else f"Printing failed: {wrong.strerror}.", UNREAD)


def _stop(sentence: str, code: int) -> None:
    if sentence:
        say(sentence)
    sys.exit(code)


def _discovered() -> dict[str, click.Command]:
    """Name -> command of every module of ``fedbounds.cli.commands``, each of which has a list COMMANDS."""
    import fedbounds.cli.commands as package

    found: dict[str, click.Command] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda item: item.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found |= {str(command.name): command for command in getattr(module, "COMMANDS", ())}
    return found


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH})
@click.version_option(package_name="fedbounds")
def main() -> None:
    """Is this federated-learning convergence theorem true, under which assumptions, and how loose is it?"""


@main.command(cls=SectionedCommand)
@settings_options
@formats("table", "json")
@click.option("--out", type=Place(), help="Folder for result.json, trajectories and pictures.")
@click.option("--config", type=Place(), help="Settings from a TOML file; flags come before it.")
@click.option("--save-config", type=Place(), help="Write the settings of this study as TOML.")
@click.option("--fail-on", type=click.Choice(("refuted",)), help="Exit with code 1 if a claim is refuted.")
@click.option("--verbose", "-v", is_flag=True, help="Also a table a weighting and the grounds of every verdict.")
@click.option("--constants", "table", is_flag=True, help="Print the constants of the problem and of every run alone.")
@FRESH
@QUIET
def check(
    form: str,
    out: Path | None,
    config: Path | None,
    save_config: Path | None,
    fail_on: str | None,
    verbose: bool,
    table: bool,
    fresh: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Does the O(1/T) bound hold under each weighting on a problem, and how loose is it?

    Without flags: the default study of the paper's lemmas, theorem, corollary and rate.

    The TOML file holds a setting a line (tau = 5), or is a pyproject.toml with a table [tool.fedbounds].
    """
    from fedbounds.io import locked, write_text
    from fedbounds.report.check_text import check_blocks, constants_table
    from fedbounds.report.terminal import to_text
    from fedbounds.study.ledger import claims_of, ledger_lines
    from fedbounds.study.settings import Settings
    from fedbounds.study.sweep.grid import settings_from

    chosen = ({} if config is None else settings_from(config)) | given(flags)
    with locked(out) if out is not None else contextlib.nullcontext():
        settings = Settings.of(chosen)
        if save_config is not None:
            write_text(save_config, settings.to_toml())
        result = _checked(settings, out, fresh, quiet)
    lines = ledger_lines(claims_of(result), result.verdicts)
    if form == "json":
        print_json(result.to_json())
    else:
        blocks = [constants_table(result)] if table else check_blocks(result, lines, verbose, out)
        click.echo(to_text(blocks, colour=colour()), nl=False)
    return sounded(lines) or (1 if fail_on == "refuted" and result.refuted else 0)


def _checked(settings: "Settings", out: Path | None, fresh: bool, quiet: bool) -> "Result":
    """The result of a study, saved in ``out``: that of an earlier run of the very same, unless ``fresh``."""
    from fedbounds.study.cached_study import Earlier

    if out is not None and any(out.glob("*.png")):
        from fedbounds.report.figures.study_figures import FIGURES

        for old in (out / f"{stem}{suffix}" for stem in FIGURES for suffix in (".png", ".svg")):
            old.unlink(missing_ok=True)  # those of an earlier study, should this process be killed before it draws
    earlier = Earlier(settings, fresh)
    found = earlier.result(drawn=out is not None)
    if found is None:
        found, written = _run(settings, out, quiet)
        earlier.keep(found, written)
    else:
        written = [] if out is None else earlier.write(out)
        if not quiet:
            say("These numbers were kept from an earlier run with these settings and sources; --fresh runs it again.")
    if out is not None and not quiet:
        pictures = [path.name for path in written if path.suffix == ".png"]
        say(f"Saved result.json, trajectories.npz and {len(pictures)} pictures in {out}:")
        say("  " + ", ".join(pictures) + " (and .svg)")
    return found


def _run(settings: "Settings", out: Path | None, quiet: bool) -> tuple["Result", list[Path]]:
    """The result of a study, and the files that were written beside that in ``out``, if there is one."""
    import fedbounds
    from fedbounds.report.terminal import progress

    with progress(not quiet) as bar:
        result = fedbounds.check(progress=bar, warn=None if quiet else say, **vars(settings))
    if out is None:
        return result, []
    from fedbounds.report.figures import study_figures
    from fedbounds.study import store

    store.save(result, out)
    return result, [out / store.TRAJECTORIES, *study_figures.draw(out, result.claims)]


@main.command()
@click.argument("key", required=False)
@PLUGIN
@formats("table", "json")
def claims(key: str | None, extra: tuple[ModuleType, ...], form: str) -> None:
    """List the claims, or show one: statement, assumptions, source, readings and repair."""
    from fedbounds import plugins
    from fedbounds.report import claim_text
    from fedbounds.report.terminal import plain_table

    known = plugins.claims(extra).values() if key is None else [plugins.claim_named(key, extra)]
    if form == "json":
        told = [claim_text.explain(claim) for claim in known]
        print_json(told if key is None else told[0])
    elif key is not None:
        click.echo(claim_text.to_text(claim_text.explain(*known)), nl=False)
    else:
        body = [[claim.key, claim.title, claim.source] for claim in known]
        click.echo(plain_table(["claim", "says", "source"], body, colour=colour()), nl=False)
        say("fedbounds claims CLAIM shows one in full.")


@main.command()
@click.argument("out", type=Place())
@click.option("--x", metavar="COLUMN", help="Of a sweep: the setting along the axis (default: each that varies).")
@click.option("--y", metavar="COLUMN", help="Of a sweep: what is drawn (default: tightness and floor).")
@click.option("--by", metavar="COLUMN", default="weighting", show_default=True, help="Of a sweep: one line a value.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Of a sweep: only such rows; * and ? allowed.")
def plot(out: Path, x: str | None, y: str | None, by: str, where: tuple[str, ...]) -> None:
    """Redraw the pictures of a study saved in OUT, or draw those of a sweep."""
    from fedbounds.io import require_writable

    if not out.is_dir():
        raise reject("plot needs the folder of a saved study", str(out), "run fedbounds check --out first")
    require_writable(out)
    if (out / "sweep.sqlite").is_file():
        from fedbounds.report.figures import sweep_figures

        pairs = [item.partition("=") for item in where]
        paths = sweep_figures.draw(out, x, y, by, {name: value for name, _, value in pairs})
    elif x or y or where:
        raise reject("--x, --y and --where need a sweep", str(out), "run fedbounds sweep STUDY --out first")
    else:
        from fedbounds.report.figures import study_figures

        paths = study_figures.draw(out)
    for path in paths:
        click.echo(str(path))


if __name__ == "__main__":
    main()
