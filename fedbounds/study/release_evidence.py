"""What a release remembers of its shipped proofs, counterexamples and certificates: the verdicts that followed.

They hold while every file that the verification read, and every statement in question, is as it was then. Whoever
doubts them verifies again: `fedbounds ledger`, `fedbounds derive`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypedDict

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.io import read_json, shaped, write_json

if TYPE_CHECKING:
    from fedbounds.theory.claim import Claim
    from fedbounds.theory.verdict import Verdict

RECORD = "verified.json"
# The modules of `study` that decide what a verdict is; the others of that folder are only loaded beside them.
STUDY = ("study/ledger.py",)
PACKAGE = Path(__file__).resolve().parent.parent


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
    """The verdicts on shipped ``claims`` of a verification at release; None where anything has changed since."""
    from fedbounds.study.result import verdicts_from

    record = _record()
    if record is None or any(record["stated"].get(key) != _stated(claim) for key, claim in claims.items()):
        return None
    return [verdict for verdict in verdicts_from(record["verdicts"]) if verdict.claim in claims]


def titles(extra: Sequence[ModuleType] = ()) -> Mapping[str, str]:
    """Key -> title and source of all claims and ``extra`` ones; none is imported where the record has them all."""
    record = None if extra else _record()
    return _listed(plugins.claims(extra)) if record is None else record["listed"]


def _listed(claims: Mapping[str, Claim]) -> dict[str, str]:
    return {key: f"{claim.title} ({claim.source})" for key, claim in claims.items()}


def remember(claims: Mapping[str, Claim], verdicts: Sequence[Verdict], folder: Path) -> Path:
    """Write the record after a verification of all shipped ``claims`` in a process that did nothing else."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = {Path(file).resolve() for file in files if file}
    names = (str(path.relative_to(PACKAGE)) for path in paths if path.is_relative_to(PACKAGE))
    used = sorted(name for name in names if name in STUDY or not name.startswith("study/"))
    record: Record = {
        "by": f"Python {sys.version.partition(' ')[0]}, sympy {version('sympy')}",
        "modules": used,
        "digest": _digest(used, folder),
        "stated": {key: _stated(claim) for key, claim in claims.items()},
        "listed": _listed(claims),
        "verdicts": [verdict.to_json() for verdict in verdicts],
    }
    return write_json(folder / RECORD, record) or folder / RECORD


@cache
def _record() -> Record | None:
    """The record of this package's release, if its files are those of then and no other package adds evidence."""
    others = {entry.module for kind in plugins.REGISTERED for entry in plugins.registered(f"fedbounds.{kind}")}
    paths = list(plugins.shipped(RECORD, own=True))
    if len(paths) != 1 or others != {plugins.OWN}:
        return None
    try:
        record: Record = shaped(read_json(paths[0]), Record, RECORD)
        return record if record["digest"] == _digest(record["modules"], paths[0].parent) else None
    except (InputError, OSError):  # a file that was read then is gone
        return None


def _digest(modules: Collection[str], folder: Path) -> str:
    """Of the package's files ``modules``, of which claims there are, and of every file in the ``folder``."""
    total = hashlib.sha256()
    claims = (str(path.relative_to(PACKAGE)) for path in (PACKAGE / "claims").glob("*.py"))
    for name in sorted({*modules, *claims}):
        total.update(name.encode() + hashlib.sha256((PACKAGE / name).read_bytes()).digest())
    for path in sorted(folder.rglob("*.*")):
        if path.name != RECORD and path.is_file() and "__pycache__" not in path.parts:
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _stated(claim: Claim) -> str:
    """A digest of a statement, which a change in memory alone also changes."""
    parts = claim.key, str(claim.lhs), str(claim.terms), str(claim.eta), [item.key for item in claim.assumptions]
    return hashlib.sha256(str(parts).encode()).hexdigest()
