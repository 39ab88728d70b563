"""The command line: parse, call, print. Results go to standard output, everything else to standard error.

Exit codes: 0 done; 1 a verdict that ``--fail-on`` names; 2 bad input, a diverged run or a fault in the user's code;
3 two kinds of evidence contradict each other; 130 interrupted; 141 nobody reads on.
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
import typing
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import click

from fedbounds.cli import INTERRUPTED
from fedbounds.cli.adapter import Entry, Group, click_command
from fedbounds.cli.commands import say
from fedbounds.errors import DivergedError, InputError, StatementWarning, explained, interruptible, readable
from fedbounds.plugins import nearest

BAD_INPUT, UNREAD = 2, 141
formatted = warnings.formatwarning
WIDTH = 100
# Commands that have commands of their own.
NESTED = {
    "new": "Begin a file of your own.",
    "vision": "Repeat the paper's experiments: a convolutional network on MNIST, Fashion-MNIST or digits.",
}


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Name -> function of every command, from the modules of ``fedbounds.cli.commands``."""
    import fedbounds.cli.commands as package

    result: dict[str, Callable[..., Any]] = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        marked = (value for value in vars(module).values() if isinstance(getattr(value, "entry", None), Entry))
        result |= {function.entry.name: function for function in marked}
    return result


class Commands(click.Group):
    """The commands whose names begin with ``prefix``, each built when it is asked for."""

    prefix = ""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        names = (name.removeprefix(self.prefix) for name in functions() if name.startswith(self.prefix))
        return sorted({name.partition(" ")[0] for name in names})

    def get_command(self, ctx: click.Context | None, name: str) -> click.Command | None:
        available = self.list_commands(ctx)
        if name not in available:
            raise nearest("command", name, available)
        if not self.prefix and name in NESTED:
            nested = Commands(name, help=NESTED[name], short_help=NESTED[name])
            nested.prefix = f"{name} "
            return nested

        return click_command(functions()[self.prefix + name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section a group of commands, each with its first sentence in full."""
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in typing.get_args(Group)}
        for name in self.list_commands(ctx):
            whole = [key for key in functions() if key == self.prefix + name or key.startswith(f"{name} ")]
            text = NESTED.get(name) or (functions()[whole[0]].__doc__ or "").strip().partition("\n")[0]
            groups[functions()[whole[0]].entry.group].append((name, text))  # type: ignore[attr-defined]
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def main(self, args: Any = None, *, standalone_mode: bool = True, **extra: Any) -> Any:  # type: ignore[override]
        """Run, and turn every expected failure into one sentence and an exit code."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        _prepare()
        with _failures(), interruptible():
            code = super().main(args, standalone_mode=False, **extra) or 0
            sys.stdout.flush()
        sys.exit(code)


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Every expected failure as one sentence and an exit code; a fault in the user's code by its line."""
    printed = sys.stdout
    try:
        yield
    except (InputError, DivergedError) as wrong:
        _stop(str(wrong), BAD_INPUT)
    except click.exceptions.NoArgsIsHelpError as wrong:
        _stop(wrong.format_message(), BAD_INPUT)
    except click.ClickException as wrong:
        _stop(f"Error: {readable(wrong.format_message())}", wrong.exit_code)
    except (click.Abort, KeyboardInterrupt):
        # Python keeps an interrupt that met the exec of a text (each dataclass is one) as nobody's, and would end
        # the process by a signal in place of the code below; the next text forgets it.
        exec("")
        _stop("Interrupted: nothing further was written.", INTERRUPTED)
    except ModuleNotFoundError as wrong:
        if wrong.name is None or wrong.name.partition(".")[0] == __name__.partition(".")[0]:
            raise
        _stop(f"This needs {wrong.name}, which is not installed: `make setup` or pip brings it.", BAD_INPUT)
    except MemoryError as wrong:
        _stop(f"The memory is not enough for this: {wrong or 'ask for less'}.", BAD_INPUT)
    except (SystemExit, Exception) as wrong:
        if sentence := explained(wrong):
            _stop(sentence, BAD_INPUT)
        if isinstance(wrong, OSError):
            _unprinted(wrong)
        if isinstance(wrong, SystemExit) and sys.stdout is not printed:
            sys.exit(UNREAD)  # click puts another in its place where nobody reads on, and ends with 1
        raise


def _prepare() -> None:
    """A termination ends like Ctrl-C, cleanly; letters that a stream cannot show are escaped; warnings are lines."""
    warnings.formatwarning = _in_a_line
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _in_a_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning of a statement without the place in our code that gives it."""
    if issubclass(category, StatementWarning):
        return f"Warning: {message}.\n"
    return formatted(message, category, filename, lineno, line)


def _unprinted(wrong: OSError) -> None:
    """End where nobody reads on, or there is no room for what is printed; what is saved was saved before."""
    if wrong.errno not in (errno.EPIPE, errno.ENOSPC):
        _stop(readable(f"The system refused: {wrong}."), BAD_INPUT)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
    _stop("" if wrong.errno == errno.EPIPE else f"Printing failed: {wrong.strerror}.", UNREAD)


def _stop(sentence: str, code: int) -> None:
    if sentence:
        say(sentence)
    sys.exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH})
@click.version_option(package_name="fedbounds")
def main() -> None:
    """Is this federated-learning convergence theorem true, under which assumptions, and how loose is it?"""


if __name__ == "__main__":
    main()
