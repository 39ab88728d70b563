"""Rocq run over the shipped proofs, and what a release remembers of it.

A proof of claim ``a-b`` is ``derivations/rocq/proof_a_b.v`` with a theorem ``proof`` of ``statement_a_b.statement``,
a file that is written from the claim each time. Trusted are Rocq's kernel, ``Space.v`` and ``Model.v``, the
statement's text, and the axioms that ``Print Assumptions`` may show: those of the real numbers.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from fedbounds.errors import InputError, reject
from fedbounds.evidence.kernel.statement import digest, statement
from fedbounds.files import read_json, shaped, write_json
from fedbounds.plugins import claim_named, shipped
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

# What the standard library's real numbers rest on.
AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
    }
)
STORED = "rocq/checked.json"
# One file takes seconds; a proof that runs away is stopped.
SECONDS_A_FILE = 600
REQUIRED = re.compile(r"^Require Import ([\w ]+)\.", re.MULTILINE)


@dataclass(frozen=True)
class Audited:
    """What Rocq found of one proof: the claim and reading, SHA-256 of the ``statement`` and of the ``sources``
    that it rests on, Rocq's version, the axioms used, and ``fault``, empty where all is well."""

    claim: str
    reading: str
    statement: str
    sources: str
    rocq: str
    axioms: tuple[str, ...]
    fault: str = ""


def available() -> str | None:
    """The version of Rocq (Coq) on this machine, or None."""
    if shutil.which("coqc") is None:
        return None
    found = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False)
    return found.stdout.split()[0] if found.returncode == 0 else None


def proofs() -> dict[str, Path]:
    """Claim key -> the file of its proof."""
    return {path.stem.removeprefix("proof_").replace("_", "-"): path for path in shipped("rocq/proof_*.v")}


def reading_of(claim: Claim) -> Reading:
    """The reading in which a claim is proved: as repaired, else the plain one."""
    return READINGS["repaired" if "repaired" in claim.readings else "all-steps"]


def check(keys: Sequence[str] = (), progress: Callable[[str], None] | None = None) -> list[Audited]:
    """Compile the proofs of these claims (all, if none is named) from nothing, and audit their axioms.

    Raises InputError where Rocq is not installed or a claim has no proof.
    """
    version, known = available(), proofs()
    if version is None:
        raise reject("checking proofs needs Rocq (Coq) 8.16 or newer", "no coqc", "install it: apt-get install coq")
    for key in keys:
        if key not in known:
            raise reject("a claim must have a kernel proof to be checked", key, f"proved are {', '.join(known)}")
    wanted = list(keys) or list(known)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_sources(folder, known)
        faults: dict[str, str] = {}
        for module in _order(folder, [f"proof_{key.replace('-', '_')}" for key in wanted]):
            if progress:
                progress(module)
            faults[module] = _compile(folder, module, faults)
        return [_audited(folder, key, version, faults) for key in wanted]


def _write_sources(folder: Path, known: Mapping[str, Path]) -> None:
    for path in shipped("rocq/*.v"):
        if path.stem.startswith("statement_"):
            raise reject("no statement may be shipped: it is written from the claim", str(path), "delete the file")
        shutil.copy(path, folder)
    for key in known:
        (folder / f"statement_{key.replace('-', '_')}.v").write_text(_statement(key), encoding="utf-8")


def _needs(folder: Path, module: str) -> list[str]:
    """The modules of this folder that a file requires."""
    named = " ".join(REQUIRED.findall((folder / f"{module}.v").read_text(encoding="utf-8"))).split()
    return [name for name in named if (folder / f"{name}.v").exists()]


def _order(folder: Path, modules: Sequence[str]) -> list[str]:
    graph: dict[str, list[str]] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in graph:
            graph[module] = _needs(folder, module)
            waiting += graph[module]
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as wrong:
        raise reject("proofs must not require each other in a circle", str(wrong.args[1]), "part them") from wrong


def _compile(folder: Path, module: str, faults: Mapping[str, str]) -> str:
    """Compile one file; the first line of Rocq's complaint, or the fault of a file that it needs."""
    for needed in _needs(folder, module):
        if faults.get(needed):
            return f"{needed}: {faults[needed]}"
    return _coqc(folder, module)[0]


def _coqc(folder: Path, module: str) -> tuple[str, str]:
    """Run Rocq on one file: the beginning of its complaint, empty where there is none, and what it printed."""
    command = ["coqc", "-q", f"{module}.v"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS_A_FILE
        )
    except subprocess.TimeoutExpired:
        return f"{module}.v took over {SECONDS_A_FILE} s", ""
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:300], done.stdout


def _audited(folder: Path, key: str, version: str, faults: Mapping[str, str]) -> Audited:
    """The proof with its axioms: it must prove this statement, from the allowed axioms alone."""
    claim = claim_named(key)
    stem = key.replace("-", "_")
    fault = faults[f"proof_{stem}"]
    axioms: tuple[str, ...] = ()
    if not fault:
        text = (
            f"Require statement_{stem} proof_{stem}.\n"
            f"Definition audited : statement_{stem}.statement := proof_{stem}.proof.\nPrint Assumptions audited.\n"
        )
        (folder / f"audit_{stem}.v").write_text(text, encoding="utf-8")
        fault, printed = _coqc(folder, f"audit_{stem}")
        axioms = tuple(sorted(re.findall(r"^(\S+)(?=\s*:|\s*$)", printed, re.MULTILINE)))
        axioms = tuple(name for name in axioms if name not in ("Axioms:", "Axioms", "Closed"))
        foreign = [name for name in axioms if name not in AXIOMS]
        fault = fault or (f"it rests on {', '.join(foreign)}" if foreign else "")
    return Audited(
        key, reading_of(claim).name, digest(_statement(key)), sources(folder, f"proof_{stem}"), version, axioms, fault
    )


def _statement(key: str) -> str:
    claim = claim_named(key)
    return statement(claim, reading_of(claim))


def sources(folder: Path, module: str) -> str:
    """SHA-256 over the hand-written files that a proof needs, in their order."""
    total = hashlib.sha256()
    for name in _order(folder, [module]):
        if not name.startswith("statement_"):
            total.update((folder / f"{name}.v").read_bytes())
    return total.hexdigest()


def store(found: Sequence[Audited], path: Path) -> None:
    """Write what a release remembers; only proofs without fault are kept."""
    write_json(path, [asdict(proof) for proof in found if not proof.fault])


def stored() -> list[Audited]:
    """The proofs checked at release."""
    return [proof for path in shipped(STORED) for proof in shaped(read_json(path), list[Audited], path.name)]


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """The kernel's word on a claim as far as the release remembers it: PROVED only for this very statement."""
    for proof in stored():
        if proof.claim != claim.key or proof.reading != reading.name:
            continue
        try:
            same = digest(statement(claim, reading)) == proof.statement
        except InputError:  # not a claim that the model can express, so not the one that was proved
            same = False
        if not same:
            detail = "the claim is not the one whose proof was checked at release: run `fedbounds kernel`"
            return Verdict(claim.key, reading.name, Evidence.KERNEL, Status.UNDECIDED, detail=detail)
        detail = (
            f"checked at release by Rocq {proof.rocq}, statement {proof.statement[:12]}; noise of finite support; "
            f"axioms: {', '.join(proof.axioms) or 'none'}"
        )
        return Verdict(claim.key, reading.name, Evidence.KERNEL, Status.HOLDS, detail=detail)
    return None
