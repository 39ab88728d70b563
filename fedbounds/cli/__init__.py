"""The command line. Ctrl-C while it still loads ends it at once: an exception could be lost in mid-import."""

import os
import signal

INTERRUPTED = 130


def _leave(*_: object) -> None:
    os.write(2, b"Interrupted: nothing was written.\n")
    os._exit(INTERRUPTED)


def while_loading() -> None:
    """From now on Ctrl-C ends the process at once, unless it is ignored or handled already."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def while_running() -> None:
    """From now on Ctrl-C is a KeyboardInterrupt again: what runs may have something to save."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
