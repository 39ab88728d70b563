"""``fedbounds derive``, ``rocq``, ``kernel`` and ``ledger``: proofs, step by step and as Rocq checks them."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Literal

from fedbounds.cli.adapter import command
from fedbounds.cli.commands import contradiction_code, say, show, show_as

# What the modules that Rocq checks are called, by how their names begin.
KINDS = {"proof": "theorems", "not": "negations", "instance": "counterexamples", "certificate": "certificates"}


@command("The paper", every="--all")
def derive(
    name: str | None = None,
    *,
    every: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    format: Literal["text", "json"] = "text",
) -> None:
    """Check the proof of claim or derivation NAME, and print it.

    every: Check every derivation and print the summary table.
    """
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.evidence.symbolic import render

    if every == (name is not None):
        raise reject("derive needs a name, or --all", repr(name), "give the key of one claim or derivation, or --all")
    if every and format == "latex":
        raise reject("LaTeX is a page a derivation", "--all", "name one derivation, or use another format")
    result = [(proof.checked, proof.verdict) for proof in fedbounds.derive(name, plugins=plugins)]
    show(render.table(result, format) if name is None else render.rendered(result[0], format))


@command("The paper")
def rocq(
    claim: str,
    *,
    reading: str | None = None,
    plugins: tuple[ModuleType, ...] = (),
    proof: bool = False,
    check: bool = False,
) -> int:
    """Write CLAIM as a proposition of Rocq (Coq), from its own terms.

    reading: The reading (default: the one with a proof).
    proof: Write the proof that the prover finds, of a point or of one step, as a script instead.
    check: Compile that script with Rocq, and audit its axioms.
    """
    from fedbounds.evidence.kernel import found_proof, reading_of
    from fedbounds.plugins import claim_named, nearest
    from fedbounds.theory.reading import READINGS

    stated = claim_named(claim, plugins)
    if reading is not None and reading not in READINGS:
        raise nearest("reading", reading, READINGS)
    how = READINGS[reading] if reading else reading_of(stated)
    if check:
        answer = found_proof.check(stated, how)
        say(f"{stated.key} [{how.name}]: {answer.fault or 'proved by Rocq, from the axioms of its real numbers'}")
        return int(bool(answer.fault))
    show(found_proof.script(stated, how) if proof else found_proof.statement(stated, how))
    return 0


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
    from fedbounds.theory.verdict import Evidence, word

    start, here = time.perf_counter(), checker.available() is not None
    if out is not None:
        require_replaceable(out)
        if not here:
            raise reject("--out needs Rocq, which checks what is written", "a machine without", "apt-get install coq")
    progress = None if quiet else lambda module: say(f"  {module}")
    result = (
        checker.check(claims, progress, afresh, certificates)
        if here
        else checker.stored(checker.CERTIFIED if certificates else checker.STORED)
    )
    result = [piece for piece in result if not claims or piece.subject in claims]
    if not result:
        raise reject("the kernel must have something to check", ", ".join(claims), "name no claim to see what it has")
    if out is not None:
        checker.store(result, out)
    kind = Evidence.SDP if certificates else Evidence.KERNEL
    for piece in result:
        words = (
            f"{word(piece.status, kind)}, statement {piece.statement[:12]}"
            if not piece.fault
            else f"NOT CHECKED: {piece.fault}"
        )
        show(f"{piece.module} {list(piece.readings)}: {words}" + ("" if here else ", checked at release"))
    sound = [piece for piece in result if not piece.fault]
    where = "here, " if here else "at release; Rocq is not installed here (apt-get install coq); "
    kinds = Counter(KINDS[piece.module.partition("_")[0]] for piece in result)
    show(", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    show(f"{len(sound)} of {len(result)} checked {where}{time.perf_counter() - start:.0f} s; axioms:")
    for name in sorted({name for piece in sound for name in piece.axioms}):
        show(f"  {name}")
    return 0 if len(sound) == len(result) else 1


@command("The paper")
def ledger(*, plugins: tuple[ModuleType, ...] = (), format: Literal["table", "json"] = "table") -> int:
    """Show every claim by every kind of evidence but runs, and the paper's remarks.

    Proofs, counterexamples and certificates are verified again, with no solver and no search. Exits with code 3 if
    two kinds of evidence contradict each other.
    """
    import fedbounds
    from fedbounds.report import verdict_tables as tables
    from fedbounds.report.terminal import working
    from fedbounds.study import ledger as study

    with working("proofs, counterexamples and certificates"):
        lines = fedbounds.ledger(plugins=plugins).items
        remarks = study.remarked()
    blocks = [
        *tables.alarm_blocks(lines),
        tables.ledger_table(lines),
        tables.remark_table(remarks),
    ]
    show_as(format, [*(line.to_json() for line in lines), *(item.to_json() for item in remarks)], blocks)
    return contradiction_code(lines)
