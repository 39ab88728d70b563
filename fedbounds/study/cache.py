"""What is expensive and always the same: kept on disk under a hash of all that it follows from."""

import contextlib
import functools
import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from fedbounds import io, plugins
from fedbounds.errors import InputError

Kept = TypeVar("Kept")
# What the shipped evidence follows from, beside the versions of Python and sympy, and how it is shown.
HASHED = frozenset({".py", ".json", ".jsonl", ".v", ".jinja", ".css", ".js", ".csv", ".toml", ".npz", ".so"})
# Variables by which the libraries choose other instructions, and with them other last bits.
INSTRUCTIONS = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")
# What may be kept on disk, in bytes; what was not looked at for longest goes first.
ROOM = 2**30
# The file of a shelf that is written last: name -> SHA-256 of each of the others.
MANIFEST = "kept.json"


def kept(
    name: str,
    make: Callable[[], Kept],
    read: Callable[[object], Kept],
    write: Callable[[Kept], object],
    above: Collection[str] = (),
    of: object = None,
) -> Kept:
    """What ``make`` gives, as `read` reads it from the file that an earlier call has written with ``write``.

    It holds for one `state`. Where no folder can be written to it is made each time.
    """
    place = io.cache_folder() / f"{name}-{state(above, of)}.json"
    with contextlib.suppress(InputError):
        found = read(io.read_json(place))
        _look_at(place)
        return found
    found = make()
    with _unwritable_said():
        io.write_json(place, write(found))
    _make_room()
    return found


def shelf(name: str, of: object) -> Path:
    """The folder for files that follow from ``of`` and the `state`."""
    return io.cache_folder() / f"{name}-{state(of=of)}"


def shelve(folder: Path, found: Mapping[str, bytes]) -> None:
    """Keep files on a shelf, unless they are too large or it cannot be written to."""
    if not fits(sum(map(len, found.values()))):
        return
    with _unwritable_said():
        for name, content in found.items():
            io.write_bytes(folder / name, content)
        io.write_json(folder / MANIFEST, {name: _digest(content) for name, content in found.items()})
    _make_room()


def shelved(folder: Path) -> dict[str, bytes]:
    """Name -> content of what is on a shelf; nothing where that is none, or not as it was written."""
    with contextlib.suppress(InputError):
        digests = io.shaped(io.read_json(folder / MANIFEST), dict[str, str], "what is kept")
        if any(name != Path(name).name for name in digests):
            return {}  # whoever writes these files elsewhere would leave the folder
        found = {name: io.read_bytes(folder / name, ROOM) for name in digests}
        if digests == {name: _digest(content) for name, content in found.items()}:
            _look_at(folder / MANIFEST)
            return found
    return {}


@contextlib.contextmanager
def _unwritable_said() -> Iterator[None]:
    """Go on where nothing can be kept, and say so."""
    try:
        yield
    except InputError as wrong:
        _say_unwritable(str(wrong))


@functools.cache
def _say_unwritable(reason: str) -> None:
    """Once for each reason, as every file would have the same."""
    print(f"Nothing is kept for the next run, which takes as long again: {reason}", file=sys.stderr, flush=True)


def fits(size: int) -> bool:
    """Whether files of so many bytes in all are kept on a shelf."""
    return size <= ROOM / 4


def state(above: Collection[str] = (), of: object = None) -> str:
    """A hash of ``of``, something that JSON can say, and of what all here follows from.

    These are this package's sources but for the folders ``above``, those of installed plug-ins with what they ship,
    every claim, the versions of Python and sympy, and where ``of`` is given of what numbers and pictures hang on.
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
        total.update(json.dumps([of, _machine()], sort_keys=True).encode())
    return total.hexdigest()[:32]


def versions() -> dict[str, str]:
    """What computes here: Python and the packages that numbers come from."""
    names = ("fedbounds", "numpy", "scipy", "numba", "sympy", "scikit-learn")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def forget() -> list[Path]:
    """Delete what is kept; the files and shelves that were there."""
    found = _entries()
    for path in found:
        _delete(path)
    return found


def _machine() -> dict[str, str]:
    """Whose last bits they are: another processor sums in another order."""
    chosen = {name: os.environ[name] for name in INSTRUCTIONS if name in os.environ}
    drawn = {"matplotlib": metadata.version("matplotlib")}
    return {**versions(), **drawn, **chosen, "node": platform.node(), "machine": platform.machine()}


def _entries() -> list[Path]:
    """What is kept, the longest unseen first."""
    return sorted(io.cache_folder().glob("*-*"), key=_seen)


def _seen(path: Path) -> float:
    """When a file or shelf was looked at last; 0 for a shelf that was never finished, and for what is gone."""
    with contextlib.suppress(OSError):
        return (path / MANIFEST if path.is_dir() else path).stat().st_mtime
    return 0.0


def _look_at(path: Path) -> None:
    with contextlib.suppress(OSError):  # what is kept may be for reading only
        path.touch()


def _make_room() -> None:
    with contextlib.suppress(OSError):  # another process makes room as well
        sizes = {path: _size(path) for path in _entries()}
        for path in sizes:
            if sum(sizes.values()) <= ROOM:
                return
            _delete(path)
            sizes[path] = 0


def _size(path: Path) -> int:
    return sum(file.lstat().st_size for file in (path.iterdir() if path.is_dir() else (path,)))


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
