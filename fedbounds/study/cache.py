"""Results that are expensive and always the same: files on disk, under a hash of all that they follow from.

An entry is a folder of files and a manifest with their digests, written last. It holds for one `state`.
"""

import contextlib
import functools
import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from fedbounds import io, plugins
from fedbounds.errors import InputError

T = TypeVar("T")
# What the shipped evidence follows from, beside the versions of Python and sympy, and how it is shown.
HASHED = frozenset({".py", ".json", ".jsonl", ".v", ".jinja", ".css", ".js", ".csv", ".toml", ".npz", ".so"})
# Variables by which the libraries choose other instructions, and with them other last bits.
INSTRUCTIONS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")
# Bytes on disk in all; the entry that was not read for longest goes first.
CAPACITY = 2**30
MANIFEST, VALUE = "manifest.json", "value.json"


def cached(
    name: str,
    make: Callable[[], T],
    read: Callable[[object], T],
    write: Callable[[T], object],
    above: Collection[str] = (),
    of: object = None,
) -> T:
    """The value of ``make``, or of an earlier call that stored it as JSON: ``write`` and ``read`` convert it."""
    folder = entry(name, of, above)
    if VALUE in (files := load(folder)):
        with contextlib.suppress(InputError):
            return read(io.parse_json(files[VALUE], VALUE))
    value = make()
    store(folder, {VALUE: io.json_text(write(value)).encode()})
    return value


def entry(name: str, of: object = None, above: Collection[str] = ()) -> Path:
    """The folder for files that follow from ``of``, something that JSON can say, and the `state`."""
    return io.cache_folder() / f"{name}-{state(above, of)}"


def fits(size: int) -> bool:
    """Whether an entry of so many bytes is stored."""
    return size <= CAPACITY / 4


def store(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write an entry, unless it is too large; where the folder cannot be written, say so once and go on."""
    if not fits(sum(map(len, files.values()))):
        return
    try:
        for name, content in files.items():
            io.write_bytes(folder / name, content)
        io.write_json(folder / MANIFEST, {name: _digest(content) for name, content in files.items()})
    except InputError as wrong:
        _warn_unwritable(str(wrong))
    total = 0
    for path in _entries()[::-1]:
        with contextlib.suppress(OSError):  # another process may delete it as well
            total += sum(file.lstat().st_size for file in path.iterdir())
            if total > CAPACITY:
                shutil.rmtree(path, ignore_errors=True)


def load(folder: Path) -> dict[str, bytes]:
    """Name -> content of an entry; nothing where there is none, or where it is not as it was written."""
    with contextlib.suppress(InputError):
        digests = io.shaped(io.read_json(folder / MANIFEST), dict[str, str], MANIFEST)
        if any(name != Path(name).name for name in digests):
            return {}  # names that would lead out of a folder
        files = {name: io.read_bytes(folder / name, CAPACITY) for name in digests}
        if digests == {name: _digest(content) for name, content in files.items()}:
            with contextlib.suppress(OSError):  # the cache may be read-only
                (folder / MANIFEST).touch()
            return files
    return {}


@functools.cache
def _warn_unwritable(reason: str) -> None:
    """Cached, as every file would have the same reason."""
    print(f"Nothing is kept for the next run, which takes as long again: {reason}", file=sys.stderr, flush=True)


def state(above: Collection[str] = (), of: object = None) -> str:
    """A hash of ``of`` and of this package's sources but for the folders ``above``, of plug-ins, claims and versions.

    With ``of`` also of the machine and the libraries, on which the last bits of numbers and pictures depend.
    """
    claims = plugins.claims().values()
    stated = [(c.key, str(c.lhs), str(c.terms), str(c.eta), [a.key for a in c.assumptions]) for c in claims]
    total = hashlib.sha256(f"{sys.version} {metadata.version('sympy')} {stated}".encode())
    package = Path(__file__).resolve().parent.parent
    sources = (path for path in sorted(package.rglob("*.*")) if path.relative_to(package).parts[0] not in above)
    for path in (*sources, *plugins.installed()):
        if path.suffix in HASHED:
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    if of is not None:
        chosen = {name: os.environ[name] for name in INSTRUCTIONS if name in os.environ}
        machine = {
            "matplotlib": metadata.version("matplotlib"),
            "node": platform.node(),
            "machine": platform.machine(),
        }
        total.update(json.dumps([of, {**versions(), **machine, **chosen}], sort_keys=True).encode())
    return total.hexdigest()[:32]


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers come from."""
    names = ("fedbounds", "numpy", "scipy", "numba", "sympy", "scikit-learn")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def clear() -> list[Path]:
    """Delete every entry; the paths that were there."""
    result = _entries()
    for path in result:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return result


def _entries() -> list[Path]:
    """The entries, the longest unread first, unfinished ones before all."""

    def read_at(path: Path) -> float:
        with contextlib.suppress(OSError):
            return (path / MANIFEST).stat().st_mtime
        return 0.0

    return sorted(io.cache_folder().glob("*-*"), key=read_at)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
