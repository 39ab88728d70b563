"""What is remembered of the shipped proofs, counterexamples and certificates: the verdicts that followed from them.

A release remembers all of them, this machine what was asked of changed ones. They hold while every file that the
verification read, and every statement in question, is as it was then. Whoever doubts them verifies again:
`fedbounds ledger`, `fedbounds derive`.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypedDict

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.io import cache_folder, read_json, shaped, write_json

if TYPE_CHECKING:
    from fedbounds.theory.claim import Claim
    from fedbounds.theory.verdict import Verdict

RECORD = "verified.json"
# The modules of `study` that decide what a verdict is; the others of that folder are only loaded beside them.
STUDY = ("study/ledger.py",)
# What no evidence may import (a rule of `lint-imports`), so that no verdict follows from it.
ABOVE = ("study/", "referee/", "report/", "cli/", "vision/")
PACKAGE = Path(__file__).resolve().parent.parent
BY = f"Python {sys.version.partition(' ')[0]}, sympy {version('sympy')}"


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

    stated = {key: _stated(claim) for key, claim in claims.items()}
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
        "stated": {key: _stated(claim) for key, claim in claims.items()},
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


def _stated(claim: Claim) -> str:
    """A digest of a statement, which a change in memory alone also changes."""
    parts = claim.key, str(claim.lhs), str(claim.terms), str(claim.eta), [item.key for item in claim.assumptions]
    return hashlib.sha256(str(parts).encode()).hexdigest()
