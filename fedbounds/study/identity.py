"""What a claim is known by, and what is remembered by it of the shipped proofs, counterexamples and certificates.

A key is no identity, as who mends a theorem mostly keeps it. A release remembers the verdicts that followed from what
is shipped, this machine what was asked of changed claims. They hold while every file that the verification read, and
every statement in question, is as it was then. Whoever doubts them verifies again: `fedbounds ledger`, `derive`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import platform
import re
import sys
import sysconfig
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.io import cache_folder, read_json, shaped, write_json

if TYPE_CHECKING:
    from fedbounds.theory.claim import Claim
    from fedbounds.theory.verdict import Verdict

# Where installed modules lie; numpy's folder is another one after ``pip install --user`` or from a distribution.
NUMPY = str(Path(str(importlib.util.find_spec("numpy").origin)).parents[1])  # type: ignore[union-attr]
LIBRARIES = {*map(sysconfig.get_path, ("purelib", "platlib", "stdlib")), NUMPY}
OURS = ("fedbounds", "fedbounds_derivations")
ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")
RECORD = "verified.json"
# The modules of `study` that decide what a verdict is; the others of that folder are only loaded beside them.
STUDY = ("study/ledger.py",)
# What no evidence may import (a rule of `lint-imports`), so that no verdict follows from it.
ABOVE = ("study/", "referee/", "report/", "cli/", "vision/")
PACKAGE = Path(__file__).resolve().parent.parent
BY = f"Python {sys.version.partition(' ')[0]}, sympy {version('sympy')}"


def statement_digest(claim: Claim) -> str:
    """SHA-256 of all that a claim says: its terms, assumptions and repair, and the files of its functions."""
    return hashlib.sha256(_text(claim).encode()).hexdigest()


def _files(name: str, seen: set[str]) -> list[str]:
    """Digests of the files of a module of the author's, and of those that it takes anything from."""
    module, top = sys.modules.get(name), name.partition(".")[0]
    seen.add(name)
    if module is None or top in OURS or top in sys.stdlib_module_names or not (source := _source(module)):
        return []
    others = [
        getattr(v, "__name__" if isinstance(v, ModuleType) else "__module__", None) for v in vars(module).values()
    ]
    due = sorted({other for other in others if isinstance(other, str)})
    return [
        hashlib.sha256(source).hexdigest(),
        *(file for other in due if other not in seen for file in _files(other, seen)),
    ]


@functools.cache
def _source(module: ModuleType) -> bytes:
    """The file of a module as it was first seen, nothing of an installed one."""
    file = str(getattr(module, "__file__", None))
    installed = any(Path(file).is_relative_to(folder) for folder in LIBRARIES)
    return b"" if installed or not file.endswith(".py") else Path(file).read_bytes()


def _text(thing: Any, above: tuple[object, ...] = ()) -> str:
    """The same text in every process for things that say the same; ``above`` are the functions that it stands in."""
    import sympy as sp

    from fedbounds.theory.quantity import quantities_on_paths

    inside = functools.partial(_text, above=above)
    if isinstance(thing, sp.Basic):
        functions = [f"{s.name} {s.statistic} {inside(s.on_path)}" for s in quantities_on_paths(*thing.free_symbols)]
        return "".join([sp.srepr(thing), *functions])
    if isinstance(thing, Mapping):
        return f"{{{', '.join(f'{inside(key)}: {inside(value)}' for key, value in thing.items())}}}"
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(inside, thing))})"
    if isinstance(thing, (set, frozenset)):
        return f"{{{', '.join(sorted(map(inside, thing)))}}}"
    if isinstance(thing, CodeType):
        return inside([thing.co_code.hex(), thing.co_consts, thing.co_names])
    if isinstance(thing, FunctionType):
        if thing in above:
            return thing.__qualname__
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        parts = [thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells]
        return f"{_home(thing)} {_text(parts, (*above, thing))}"
    if isinstance(thing, functools.partial):
        return inside([thing.func, thing.args, thing.keywords])
    if is_dataclass(thing) and not isinstance(thing, type):
        return f"{type(thing).__qualname__}{inside([getattr(thing, field.name) for field in fields(thing)])}"
    return ADDRESS.sub("", repr(thing))


def _home(function: FunctionType) -> str:
    """Where a function is from; one that no file holds, as in a notebook, is another one each time."""
    if not Path(function.__code__.co_filename).is_file():
        return uuid.uuid4().hex
    return f"{function.__qualname__} {_files(function.__module__, set())}"


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers come from."""
    names = ("fedbounds", "numpy", "scipy", "numba", "sympy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


class Record(TypedDict):
    """``modules``: the package's files that the verification ran, ``digest`` theirs and that of the derivations;
    ``stated``: key -> digest of the claim's statement, ``listed`` its title; ``by``: versions of Python and sympy."""

    by: str
    modules: list[str]
    digest: str
    stated: dict[str, str]
    listed: dict[str, str]
    verdicts: list[object]


def remembered(claims: Mapping[str, Claim]) -> list[Verdict] | None:
    """The verdicts on shipped ``claims`` verified at release, or here; None where anything has changed."""
    from fedbounds.study.result import verdicts_from

    stated = {key: statement_digest(claim) for key, claim in claims.items()}
    for path in (*plugins.shipped(RECORD, own=True), _kept(claims)):
        record = _record(path)
        if record is not None and stated.items() <= record["stated"].items():
            return [verdict for verdict in verdicts_from(record["verdicts"]) if verdict.claim in claims]
    return None


def keep(claims: Mapping[str, Claim], verdicts: Sequence[Verdict]) -> None:
    """Remember on this machine what was just verified of shipped ``claims``."""
    try:
        remember(claims, verdicts, _kept(claims))
    except InputError as wrong:
        _warn_unwritable(str(wrong))


@functools.cache
def _warn_unwritable(reason: str) -> None:
    """Cached, as every file would have the same reason."""
    print(f"Nothing is kept for the next run, which takes as long again: {reason}", file=sys.stderr, flush=True)


def _kept(claims: Collection[str]) -> Path:
    """Where this machine's record of these claims is."""
    about = f"{BY} {PACKAGE} {sorted(claims)}"
    return cache_folder() / f"known-{hashlib.sha256(about.encode()).hexdigest()[:32]}.json"


def titles(extra: Sequence[ModuleType] = ()) -> Mapping[str, str]:
    """Key -> title and source of all claims and ``extra`` ones; none is imported where the record has them all."""
    records = () if extra else map(_record, plugins.shipped(RECORD, own=True))
    return next((record["listed"] for record in records if record), None) or _listed(plugins.claims(extra))


def _listed(claims: Mapping[str, Claim]) -> dict[str, str]:
    return {key: f"{claim.title} ({claim.source})" for key, claim in claims.items()}


def remember(claims: Mapping[str, Claim], verdicts: Sequence[Verdict], path: Path) -> Path:
    """Write the record of a verification of shipped ``claims`` that this process has made."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = {Path(file).resolve() for file in files if file}
    names = (str(path.relative_to(PACKAGE)) for path in paths if path.is_relative_to(PACKAGE))
    used = sorted(name for name in names if name in STUDY or not name.startswith(ABOVE))
    record: Record = {
        "by": BY,
        "modules": used,
        "digest": _digest(used),
        "stated": {key: statement_digest(claim) for key, claim in claims.items()},
        "listed": _listed(claims),
        "verdicts": [verdict.to_json() for verdict in verdicts],
    }
    return write_json(path, record) or path


def _record(path: Path) -> Record | None:
    """The record in a file, if the files that it rests on are those of then."""
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else None


@functools.lru_cache(maxsize=8)
def _read(path: Path, written: int) -> Record | None:
    try:
        record: Record = shaped(read_json(path), Record, path.name)
        return record if record["digest"] == _digest(record["modules"]) else None
    except (InputError, OSError):  # a file that was read then is gone
        return None


def _digest(modules: Collection[str]) -> str:
    """Of the files ``modules``, of which claims there are, and of the files of derivations and plug-ins."""
    total = hashlib.sha256()
    claims = (str(path.relative_to(PACKAGE)) for path in (PACKAGE / "claims").glob("*.py"))
    for name in sorted({*modules, *claims}):
        total.update(name.encode() + hashlib.sha256((PACKAGE / name).read_bytes()).digest())
    for path in plugins.installed():
        if path.name != RECORD and path.is_file() and "__pycache__" not in path.parts:
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
