"""``fedbounds derive``, ``rocq`` and ``kernel``: proofs, step by step and as Rocq checks them."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Literal

from fedbounds.cli.adapter import command, say, show

# What the modules that Rocq checks are called, by how their names begin.
KINDS = {"proof": "theorems", "not": "negations", "instance": "counterexamples", "certificate": "certificates"}


@command("The paper", every="--all")
def derive(
    name: str | None = None,
    *,
    every: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["text", "latex", "json", "markdown", "rocq"] = "text",
) -> None:
    """Check the proof of claim or derivation NAME, and print it.

    --format markdown prints the table of --all. --format rocq prints a script that proves, from the multipliers, the
    statement of a claim about one client at a point.

    every: Check every derivation and print the summary table.
    """
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.evidence.kernel.derivation_script import script
    from fedbounds.evidence.symbolic import render

    if every == (name is not None):
        raise reject("derive needs a name, or --all", repr(name), "give the key of one claim or derivation, or --all")
    if format == "rocq" and name is None:
        raise reject("a script for Rocq is of one derivation", "--all", "name it")
    found = [(proof.checked, proof.verdict) for proof in fedbounds.derive(name, plugins=plugins)]
    if format == "rocq":
        show(script(found[0][0].derivation))
        return
    show(render.table(found, format) if name is None else render.one(found[0], format))


@command("The paper")
def rocq(claim: str, *, reading: str | None = None, plugins: tuple[ModuleType, ...] = ()) -> None:
    """Write CLAIM as a proposition of Rocq (Coq), from its own terms.

    reading: The reading (default: the one with a proof).
    """
    from fedbounds.evidence.kernel import reading_of
    from fedbounds.evidence.kernel import statement as written
    from fedbounds.plugins import claim_named, nearest
    from fedbounds.theory.reading import READINGS

    stated = claim_named(claim, plugins)
    if reading is not None and reading not in READINGS:
        raise nearest("reading", reading, READINGS)
    show(written(stated, READINGS[reading] if reading else reading_of(stated)))


@command("The paper")
def kernel(
    claims: tuple[str, ...] = (),
    *,
    out: Path | None = None,
    afresh: bool = False,
    certificates: bool = False,
    quiet: bool = False,
) -> int:
    """Compile with Rocq what is proved or refuted of CLAIMS (all, if none is named), and audit its axioms.

    Without Rocq it repeats what was checked at release.

    out: JSON file for what was checked.
    afresh: Compile also what was checked before on this machine.
    certificates: Certificates instead of theorems and counterexamples.
    """
    from fedbounds.errors import reject
    from fedbounds.evidence import kernel as checker
    from fedbounds.io import require_replaceable
    from fedbounds.theory.labels import word
    from fedbounds.theory.verdict import Evidence

    start, here = time.perf_counter(), checker.available() is not None
    if out is not None:
        require_replaceable(out)
        if not here:
            raise reject("--out needs Rocq, which checks what is written", "a machine without", "apt-get install coq")
    progress = None if quiet else lambda module: say(f"  {module}")
    found = (
        checker.check(claims, progress, afresh, certificates)
        if here
        else checker.stored(checker.CERTIFIED if certificates else checker.STORED)
    )
    found = [piece for piece in found if not claims or piece.subject in claims]
    if not found:
        raise reject("the kernel must have something to check", ", ".join(claims), "name no claim to see what it has")
    if out is not None:
        checker.store(found, out)
    kind = Evidence.SDP if certificates else Evidence.KERNEL
    for piece in found:
        words = (
            f"{word(piece.status, kind)}, statement {piece.statement[:12]}"
            if not piece.fault
            else f"NOT CHECKED: {piece.fault}"
        )
        show(f"{piece.module} {list(piece.readings)}: {words}" + ("" if here else ", checked at release"))
    sound = [piece for piece in found if not piece.fault]
    where = "here, " if here else "at release; Rocq is not installed here (apt-get install coq); "
    kinds = Counter(KINDS[piece.module.partition("_")[0]] for piece in found)
    show(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    show(f"{len(sound)} of {len(found)} checked {where}{time.perf_counter() - start:.0f} s; axioms:")
    for name in sorted({name for piece in sound for name in piece.axioms}):
        show(f"  {name}")
    return 0 if len(sound) == len(found) else 1
