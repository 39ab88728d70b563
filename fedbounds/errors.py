"""Errors a user can mend: one clear sentence each, shown by the command line with exit code 2."""

import contextlib
import difflib
import itertools
import re
import traceback
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any

# How the modules of plug-in files are called.
PLUGIN = "fedbounds_plugin_"


class InputError(ValueError):
    """Bad input: the message names what is wrong, the value received and the remedy."""


class StatementWarning(UserWarning):
    """What a claim says may be other than its author means, such as a divisor whose sign is unknown."""


class InputErrors(InputError):
    """Several errors of one input: the message has one sentence a line, in the order in which they stand there.

    >>> print(InputErrors([reject("tau must be positive", 0, "give more"), reject("N must be whole", 2.5, "round")]))
    tau must be positive, but received 0: give more.
    N must be whole, but received 2.5: round.
    """

    faults: tuple[InputError, ...]

    def __init__(self, faults: Iterable[InputError]) -> None:
        every = (part for fault in faults for part in getattr(fault, "faults", (fault,)))
        unique = {str(fault): fault for fault in every}
        self.faults = tuple(sorted(unique.values(), key=lambda fault: getattr(fault, "place", (0, 0))))
        super().__init__("\n".join(map(str, self.faults)))


class Gathered(list[InputError]):
    """Input errors that are kept while the reading goes on, to be raised together.

    >>> faults = Gathered()
    >>> with faults.caught():
    ...     raise reject("tau must be at least 1", 0, "give more")
    >>> len(faults)
    1
    """

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Keep the error that the body raises."""
        try:
            yield
        except InputError as fault:
            self.append(fault)

    def raise_all(self) -> None:
        """Raise what was kept, if anything: a single error as it is."""
        if self:
            several = InputErrors(self)
            raise several.faults[0] if len(several.faults) == 1 else several


class DivergedError(ArithmeticError):
    """A run left the finite numbers: the message names the step and the likely cause."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a long computation: ``partial`` is the result as far as it had come."""

    def __init__(self, partial: Any) -> None:
        super().__init__()
        self.partial = partial


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C within compiled code is a KeyboardInterrupt as elsewhere: numba makes a SystemError of it.

    >>> try:
    ...     with interruptible():
    ...         raise SystemError from KeyboardInterrupt()
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    interrupted
    """
    try:
        yield
    except SystemError as wrong:
        if isinstance(wrong.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


# Characters of each part of a message: a name of thousands of letters is cut.
LONGEST = 300


def reject(what: object, received: object, remedy: object) -> InputError:
    """Build the one sentence an input error shows: what, the value received, the remedy, none with marks unseen.

    >>> raise reject("tau must be at least 1", 0, "give more")
    Traceback (most recent call last):
    fedbounds.errors.InputError: tau must be at least 1, but received 0: give more.
    """
    what, received, remedy = map(readable, (what, received, remedy))
    return InputError(f"{what}, but received {received}: {remedy}.")


def demand(holds: object, what: object, received: object, remedy: object) -> None:
    """Raise the input error of `reject` unless something holds.

    >>> demand(1 > 0, "tau must be at least 1", 1, "give more")
    """
    if not holds:
        raise reject(what, received, remedy)


def nearest(kind: str, name: object, choices: Iterable[str]) -> InputError:
    """The input error for an unknown name, with the nearest known one, or for several names given as one.

    >>> str(nearest("the unit", "metr", ("metre",)))
    "the unit must be a known name, but received 'metr': did you mean 'metre'? Known: metre."
    >>> str(nearest("the unit", "metre,hour", ("metre", "hour")))
    "the unit must be a known name, but received 'metre,hour': give one name at a time, and the option once for each."
    """
    names = sorted(choices)
    parts = re.split(r"[,;\s]+", str(name).strip())
    if len(parts) > 1 and set(parts) & set(names):
        remedy = "give one name at a time, and the option once for each"
    else:
        close = difflib.get_close_matches(str(name), names, n=1, cutoff=0.4)
        remedy = (f"did you mean {close[0]!r}? Known: " if close else "choose one of ") + _listed(names)
    return reject(f"{kind} must be a known name", repr(name), remedy)


def _listed(names: list[str]) -> str:
    """The names, as far as a message has room for whole ones, and how many more there are."""
    ends = itertools.accumulate(len(name) + 2 for name in names)
    shown = sum(end < LONGEST - 80 for end in ends)
    return ", ".join(names) if shown == len(names) else f"{', '.join(names[:shown])} and {len(names) - shown} more"


def explained(wrong: BaseException) -> str:
    """One sentence for bad input, a diverged run or a fault in a plug-in's code; "" for any other exception.

    >>> explained(reject("tau must be at least 1", 0, "give more"))
    'tau must be at least 1, but received 0: give more.'
    """
    if isinstance(wrong, InputError | DivergedError):
        return str(wrong)
    lines = [
        f"{frame.f_code.co_filename}, line {number},"
        for frame, number in traceback.walk_tb(wrong.__traceback__)
        if str(frame.f_globals.get("__name__")).startswith(PLUGIN)
    ]
    what = f"{type(wrong).__name__}: {wrong}".rstrip(": .")
    return readable(f"{lines[-1]} failed with {what}: correct it.") if lines else ""


def of_kind(name: str, value: Any, kinds: Any, words: str) -> Any:
    """The value, if it is of one of these types, else an input error that calls them so in ``words``.

    >>> of_kind("a study", "study.toml", str, "a path")
    'study.toml'
    """
    if not isinstance(value, kinds):
        raise reject(f"{name} must be {words}", quoted(value), f"give {words}")
    return value


def whole(name: str, value: Any, least: int = 0) -> int:
    """The value, if it is a whole number of at least ``least`` and below 2^63.

    >>> whole("tau", 3)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) < 2**63:
        raise reject(f"{name} must be a whole number of at least {least}", quoted(value), "change it")
    return int(value)


def quoted(value: object) -> str:
    """The value as Python writes it, or in words where it is a number too long to be written.

    >>> quoted("tau"), quoted(10**5000)
    ("'tau'", 'a number of thousands of digits')
    """
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"


def readable(value: object) -> str:
    """``value`` as one line for a terminal: cut where it is long, a character that does not print as its code.

    >>> readable("verified\\x1b[2K")
    'verified\\\\x1b[2K'
    """
    try:
        text = str(value)[: LONGEST + 1]
    except ValueError:
        return "a number of thousands of digits"
    text = text if len(text) <= LONGEST else f"{_cut(text)}..."
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in " ".join(text.splitlines()))


def _cut(text: str) -> str:
    """The first LONGEST characters, without the word that they end in unless that is most of them."""
    whole = text[:LONGEST].rpartition(" ")[0]
    return whole if len(whole) > LONGEST // 2 else text[:LONGEST]
