"""Files: nothing is ever half-written, and what is read has the form that it must have.

No other module imports msgspec. Writing goes through a temporary name beside the target, then a rename, and never
replaces what is no regular file. Reading refuses, in one sentence, what is no regular file, what is too long or too
deep, a key that is given twice, text that a terminal would obey, and whatever differs from the type asked for.
"""

import bz2
import contextlib
import gzip
import io
import json
import os
import re
import sqlite3
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar, cast

import msgspec

from fedbounds.errors import InputError, quoted, reject

T = TypeVar("T")
Bounds = msgspec.Meta
# No result of a study comes near it; an endless file is refused before it fills the memory.
LONGEST = 2**28
# The text of the largest table of data that is taken, unpacked or not.
LONGEST_DATA = 2**31
# What a rational number is written as; certificates need a hundred digits and no exponent.
DIGITS = 400
NUMBER = rf"^-?[0-9]{{1,{DIGITS}}}(/[0-9]{{1,{DIGITS}}}|(\.[0-9]{{1,{DIGITS}}})?([eE][-+]?[0-9]{{1,3}})?)\Z"
Rational = Annotated[str, Bounds(pattern=NUMBER)]
# What a terminal would obey, other than line breaks and tabs.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
LOCK = ".fedbounds.lock"


def write(path: str | Path, fill: Callable[[IO[bytes]], object]) -> Path:
    """Call ``fill`` on a temporary binary file, then rename it to ``path``, or to where a link there leads."""
    path = require_replaceable(path)
    try:
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


def write_bytes(path: str | Path, content: bytes) -> Path:
    return write(path, lambda file: file.write(content))


def write_text(path: str | Path, text: str) -> Path:
    # A file name that is no text may stand in a page; a page of its escape is better than none.
    return write_bytes(path, text.encode(errors="backslashreplace"))


def json_text(value: Any) -> str:
    """``value`` as the JSON of a file; a non-finite number is an error, as JSON has none."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def write_json(path: str | Path, value: Any) -> Path:
    """Write ``value`` as `json_text`."""
    return write_text(path, json_text(value))


def require_replaceable(path: str | Path) -> Path:
    """Where an output goes: ``path`` without links, which must be new or a regular file, in a folder that exists."""
    path = Path(os.path.realpath(path))
    require_writable(path.parent)
    if path.exists() and not path.is_file():
        raise reject(
            "an output must be a new file or a regular one", f"{path}, which is neither", "name another file"
        )
    return path


@contextlib.contextmanager
def locked(folder: str | Path | None) -> Iterator[Path | None]:
    """Make ``folder`` and keep other processes out of it, until the block or this process ends, in whatever way.

    Nothing where no folder is asked for.
    """
    if folder is None:
        yield None
        return
    folder = require_writable(folder)
    with contextlib.ExitStack() as held:
        try:
            lock = held.enter_context(contextlib.closing(sqlite3.connect(folder / LOCK, timeout=0)))
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as wrong:
            remedy = "wait for it to end, or choose another folder"
            raise reject(f"one process at a time writes in {folder}", f"a second one ({wrong})", remedy) from None
        yield folder


def cache_folder() -> Path:
    """Where what is expensive and always the same is kept: `fedbounds` in XDG_CACHE_HOME, else in ~/.cache.

    For a user without a home it is where nothing can be written.
    """
    home = os.path.expanduser("~")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(os.devnull if home == "~" else home, ".cache")) / "fedbounds"


def locked_file(path: Path | None) -> contextlib.AbstractContextManager[object]:
    """The same for the folder of an output that may be replaced."""
    return locked(None if path is None else require_replaceable(path).parent)


def require_writable(folder: str | Path) -> Path:
    """Make ``folder`` and try to write in it, so that an unwritable output is said before any long work."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as wrong:
        raise _unwritable(folder, wrong) from wrong


def read_bytes(path: str | Path, longest: int = LONGEST, what: str = "a file to read") -> bytes:
    """The content of a regular file, or an input error that names it and says ``what`` it is."""
    path = Path(path)
    try:
        result = path.stat()
        if not stat.S_ISREG(result.st_mode):
            raise reject(f"{path} must be a regular file", "a folder, a pipe or a device", "give the path of a file")
        if result.st_size > longest:
            raise reject(f"{path.name} must have at most {longest} bytes", result.st_size, "check the path")
        return path.read_bytes()
    except FileNotFoundError:
        raise reject(f"{what} must exist", str(path), "check the path") from None
    except InputError:
        raise
    except (OSError, ValueError) as wrong:
        raise reject(f"{path.name} must be readable", f"{type(wrong).__name__}: {wrong}", "check the path") from None


def unpacked(content: bytes, name: object, longest: int = LONGEST_DATA) -> bytes:
    """``content`` without its wrapper of gzip or bzip2, if it has one, or an input error that speaks of ``name``."""
    kinds: dict[bytes, tuple[str, Callable[[IO[bytes]], Any]]]
    kinds = {b"\x1f\x8b": ("gzip", gzip.open), b"BZh": ("bzip2", bz2.open)}
    kind, opener = next((kind for magic, kind in kinds.items() if content.startswith(magic)), ("", None))
    if opener is None:
        return content
    try:
        with opener(io.BytesIO(content)) as file:
            result = bytes(file.read(longest + 1))
    except (OSError, EOFError, zlib.error) as wrong:
        remedy = "the file is truncated or damaged: download it again"
        raise reject(f"{name} must hold a valid {kind} stream", str(wrong), remedy) from wrong
    if len(result) > longest:
        raise reject(f"{name} must have at most {longest} bytes when unpacked", "more", "check the path")
    return result


def read_json(path: str | Path) -> Any:
    """The value in a JSON file, or an input error that names it."""
    return parse_json(read_bytes(path), Path(path).name)


def parse_json(text: str | bytes, name: str) -> Any:
    """The value of a JSON ``text`` without characters that a terminal would obey; errors speak of ``name``."""
    try:
        value = msgspec.json.decode(text)
        json.loads(text, object_pairs_hook=_require_distinct)  # msgspec takes the last of two equal keys
        _require_printable(value)
    except (msgspec.DecodeError, RecursionError, UnicodeError, ValueError) as error:
        raise reject(f"{name} must be readable JSON", f"{error}", "write it again") from None
    return value


def _require_distinct(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} twice")


def _require_printable(value: Any) -> None:
    if isinstance(value, dict):
        for key, part in value.items():
            _require_printable(key)
            _require_printable(part)
    elif isinstance(value, list):
        for part in value:
            _require_printable(part)
    elif isinstance(value, str) and (control := CONTROL.search(value)):
        raise ValueError(f"the control character {control[0]!a}")


class Misshapen(ValueError):
    """A value that is not of the type asked for: the message says what was expected, and where."""


def convert(value: Any, kind: Any) -> Any:
    """``value`` (of JSON or TOML) as ``kind``: scalars, lists, mappings and dataclasses of them, nothing coerced."""
    try:
        return msgspec.convert(value, kind, dec_hook=_decoded)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError) as wrong:
        raise Misshapen(str(wrong)) from None


def shaped(value: Any, kind: type[T], name: str) -> T:
    """The same, or an input error that speaks of ``name``."""
    try:
        return cast(T, convert(value, kind))
    except Misshapen as wrong:
        received = f"one that is not: {wrong}"
        raise reject(f"{name} must be as fedbounds writes it", received, "write it again") from None


def _decoded(kind: type, value: Any) -> Any:
    """A fraction from its text; of other types that msgspec does not know a value is one already."""
    return as_fraction(value) if kind is Fraction else value


def as_fraction(text: object) -> Fraction:
    """The number as written (3/8, 0.375, 1e-3 or 2), not rounded; InputError where it is none, or has many digits."""
    if isinstance(text, Fraction):
        return text
    try:
        if isinstance(text, str | int) and not isinstance(text, bool) and re.match(NUMBER, str(text).strip()):
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        pass
    raise reject("a rational number was expected", quoted(text), f"write 3/8 or 0.375, of at most {DIGITS} digits")


def plain(value: Any) -> Any:
    """``value``, of dataclasses, tuples and fractions, as the dictionaries, lists and scalars that JSON has."""
    return msgspec.to_builtins(value, enc_hook=lambda item: item.to_json() if hasattr(item, "to_json") else str(item))


def _unwritable(path: Path, wrong: OSError) -> InputError:
    return reject(f"{path} could not be written", wrong.strerror or str(wrong), "choose a folder you can write to")
