"""Files: nothing is ever half-written, and what is read has the form that it must have.

No other module imports msgspec. Writing goes through a temporary name beside the target, then a rename. Reading
refuses, in one sentence, what is no regular file, what is too long or too deep, a key that is given twice, and
whatever differs from the type asked for.
"""

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import msgspec

from fedbounds.errors import InputError, reject

T = TypeVar("T")
Bounds = msgspec.Meta
# No result of a study comes near it; an endless file is refused before it fills the memory.
LONGEST = 2**28


def write(path: str | Path, fill: Callable[[IO[bytes]], object]) -> Path:
    """Call ``fill`` on a temporary binary file, then rename it to ``path``."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as wrong:
        raise _unwritable(path, wrong) from wrong
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes private files; a result is an ordinary one
        os.replace(name, path)
    except BaseException as wrong:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(wrong, OSError):
            raise _unwritable(path, wrong) from wrong
        raise
    return path


def write_text(path: str | Path, text: str) -> Path:
    return write(path, lambda file: file.write(text.encode()))


def write_json(path: str | Path, value: Any) -> Path:
    """Write ``value`` as JSON; a non-finite number is an error, as JSON has none."""
    return write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def require_writable(folder: str | Path) -> Path:
    """Make ``folder`` and try to write in it, so that an unwritable output is said before any long work."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as wrong:
        raise _unwritable(folder, wrong) from wrong


def read_bytes(path: str | Path, longest: int = LONGEST) -> bytes:
    """The content of a regular file, or an input error that names it."""
    path = Path(path)
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise reject(f"{path} must be a regular file", "a folder, a pipe or a device", "give the path of a file")
        if found.st_size > longest:
            raise reject(f"{path.name} must have at most {longest} bytes", found.st_size, "check the path")
        return path.read_bytes()
    except FileNotFoundError:
        raise reject("a file to read must exist", str(path), "check the path") from None
    except InputError:
        raise
    except (OSError, ValueError) as wrong:
        raise reject(f"{path.name} must be readable", f"{type(wrong).__name__}: {wrong}", "check the path") from None


def read_json(path: str | Path) -> Any:
    """The value in a JSON file, or an input error that names it."""
    return parse_json(read_bytes(path), Path(path).name)


def parse_json(text: str | bytes, name: str) -> Any:
    """The value of a JSON ``text``, with neither repeated keys nor infinite numbers; errors speak of ``name``."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise reject(f"{name} must be readable JSON", "too many brackets within brackets", "write it again") from None
    except ValueError as wrong:
        # What Python says is long where the text has an integer of thousands of digits.
        raise reject(f"{name} must be readable JSON", f"{wrong}", "write it again") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} twice")
    return found


def _no_number(word: str) -> float:
    raise ValueError(f"{word}, which JSON does not know")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]}, which no number of double precision reaches")
    return value


class Misshapen(ValueError):
    """A value that is not of the type asked for: the message says what was expected, and where."""


def convert(value: Any, kind: Any) -> Any:
    """``value`` (of JSON or TOML) as ``kind``: scalars, lists, mappings and dataclasses of them, nothing coerced."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise Misshapen(str(wrong)) from None


def shaped(value: Any, kind: type[T], name: str) -> T:
    """The same, or an input error that speaks of ``name``."""
    try:
        return cast(T, convert(value, kind))
    except Misshapen as wrong:
        received = f"one that is not: {wrong}"
        raise reject(f"{name} must be as fedbounds writes it", received, "write it again") from None


def plain(value: Any) -> Any:
    """``value``, of dataclasses and tuples, as the dictionaries, lists and scalars that JSON has."""
    return msgspec.to_builtins(value)


def _unwritable(path: Path, wrong: OSError) -> InputError:
    return reject(f"{path} could not be written", wrong.strerror or str(wrong), "choose a folder you can write to")
