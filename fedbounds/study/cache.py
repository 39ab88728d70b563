"""Results that are expensive and always the same: a file each, named by a hash of all that it follows from."""

import contextlib
import functools
import hashlib
import json
import platform
import shutil
import sys
from collections.abc import Callable, Collection
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from fedbounds import io, plugins
from fedbounds.errors import InputError

T = TypeVar("T")
# What the shipped evidence follows from, beside the versions of software, and how it is shown.
HASHED = frozenset({".py", ".json", ".jsonl", ".v", ".jinja", ".css", ".js", ".csv", ".toml", ".npz", ".so"})
# Files of one name that are kept, of a megabyte at most: those of other sources go.
KEPT = 20


def cached(
    name: str,
    make: Callable[[], T],
    read: Callable[[object], T],
    write: Callable[[T], object],
    above: Collection[str] = (),
    of: object = None,
) -> T:
    """The value of ``make``, or of an earlier call that stored it as JSON: ``write`` and ``read`` convert it.

    It follows from ``of``, something that JSON can say, and from the `state`; a damaged file is not believed.
    """
    path = io.cache_folder() / f"{name}-{state(above, of)}.json"
    with contextlib.suppress(InputError):
        digest, _, text = io.read_bytes(path).partition(b"\n")
        if digest.decode(errors="replace") == _digest(text):
            return read(io.parse_json(text, path.name))
    value = make()
    text = io.json_text(write(value)).encode()
    try:
        io.write_bytes(path, f"{_digest(text)}\n".encode() + text)
    except InputError as wrong:
        _warn_unwritable(str(wrong))
    for other in sorted(path.parent.glob(f"{name}-*.json"), key=_written)[:-KEPT]:
        other.unlink(missing_ok=True)
    return value


@functools.cache
def _warn_unwritable(reason: str) -> None:
    """Cached, as every file would have the same reason."""
    print(f"Nothing is kept for the next run, which takes as long again: {reason}", file=sys.stderr, flush=True)


def state(above: Collection[str] = (), of: object = None) -> str:
    """A hash of ``of``, the package's sources but for the folders ``above``, plug-ins, claims and versions."""
    claims = plugins.claims().values()
    stated = [(c.key, str(c.lhs), str(c.terms), str(c.eta), [a.key for a in c.assumptions]) for c in claims]
    total = hashlib.sha256(f"{sys.version} {stated} {json.dumps([of, versions()])}".encode())
    package = Path(__file__).resolve().parent.parent
    sources = (path for path in sorted(package.rglob("*.*")) if path.relative_to(package).parts[0] not in above)
    for path in (*sources, *plugins.installed()):
        if path.suffix in HASHED:
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:32]


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers come from."""
    names = ("fedbounds", "numpy", "scipy", "numba", "sympy", "scikit-learn")
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in names}}


def clear() -> list[Path]:
    """Delete everything that is kept, by earlier versions too; the paths that were there."""
    result = list(io.cache_folder().glob("*-*"))
    for path in result:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return result


def _written(path: Path) -> float:
    with contextlib.suppress(OSError):  # another process may delete it
        return path.stat().st_mtime
    return 0.0


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
