"""``fedbounds certify``, ``tight``, ``verify-certificate``, ``rocq``, ``kernel``: certificates and Rocq's checks."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

from fedbounds.cli.adapter import command
from fedbounds.cli.commands import say, show

FAILED = 1
# What the modules that Rocq checks are called, by how their names begin.
KINDS = {"proof": "theorems", "not": "negations", "instance": "counterexamples", "certificate": "certificates"}


ONE_STEP = "fedbounds.study.proofs_and_certificates:OneStep"


@command("Judge a theorem", more=ONE_STEP, every="--all", time="--t", alpha="--weights")
def certify(
    claim: str | None = None,
    *,
    every: bool = False,
    plugins: tuple[ModuleType, ...] = (),
    out: Path | None = None,
    rocq: Path | None = None,
    **setting: Any,
) -> None:
    """Decide a one-round CLAIM for every L-smooth mu-strongly convex problem at given parameters.

    HOLDS means a rational certificate, verified exactly; REFUTED an explicit instance, run in the simulator. Over an
    interval of kappa or of --eta, its lower end left out, HOLDS means every value there, by one certificate.

    every: Every one-round claim, in every reading it has.
    out: Folder for the certificates, one a line, in a file a claim.
    rocq: File for the certificates that `coqc` alone checks.
    """
    import fedbounds
    from fedbounds.errors import reject
    from fedbounds.report.terminal import plain_table, progress

    if (claim is None) is not every:
        raise reject("certify needs a claim or --all", claim, "name one claim, or give --all alone")
    if every:
        setting["reading"] = None
    rows = []
    with progress() as bar:
        decided = fedbounds.certify(claim, out=out, plugins=plugins, progress=bar, **setting)
    if rocq is not None:
        write_rocq_file(rocq, [result.certificate for result in decided if result.certificate is not None])
    for result in decided:
        verdict = result.verdict
        ratio = "-" if verdict.tightness is None else f"{verdict.tightness:.4g}"
        rows.append(
            (verdict.claim, verdict.reading, str(result.setting.step), str(verdict.status), ratio, verdict.detail)
        )
    head = ("claim", "reading", "step", "verdict", "bound/worst (solver)", "because")
    show(plain_table(head, rows))


@command("Judge a theorem", more=ONE_STEP, time="--t", alpha="--weights")
def tight(
    claim: str,
    *,
    over: str | None = None,
    term: str | None = None,
    plugins: tuple[ModuleType, ...] = (),
    out: Path | None = None,
    **setting: Any,
) -> None:
    """Find the smallest constants that make a one-round CLAIM true, term by term, the others as stated.

    "contraction" is the largest b in 1 - eta mu (1 + b rho_bar). At the last local step unless --t is given.

    over: Find them along kappa, tau, start or clients.
    term: One term only (default: every term).
    out: Folder for the certificates, one a line, in a file a claim.
    """
    from fedbounds.report.terminal import plain_table, progress
    from fedbounds.study.proofs_and_certificates import tight as tight_constants

    rows = []
    with progress() as bar:
        constants = tight_constants(claim, term, over=over, out=out, plugins=plugins, progress=bar, **setting)
    for result in constants:
        constant = result.constant
        proved = "-" if constant.certified is None else f"{float(constant.certified):.6g}"
        rows.append(("-" if result.value is None else str(result.value), constant.term, *_shown(constant), proved))
    show(_setting(claim, over, setting))
    head = (over or "", "term", "stated", "tight (solver)", "certified")
    show(plain_table(head, rows))
    show(
        "Each row: the constant of one term with which the claim still holds for every problem at this setting, the "
        "others as stated.\n"
        "contraction: larger is stronger; every other term: smaller is stronger. "
        '"not needed": the term may be left out. "0 here, or undecided": the term vanishes at this setting, as noise '
        "does with full gradients, or the solver did not decide.\n"
        f"Bound over measured: fedbounds check --claim {claim}."
    )


def _setting(claim: str, over: str | None, setting: dict[str, Any]) -> str:
    """Where constants are found, with what varies named as such."""
    shown = {**setting, **({over: "varies"} if over else {})}
    weights = ", ".join(f"{name} = {shown.get(name) or 'uniform'}" for name in ("alpha", "p"))
    step = shown.get("eta") or "the claim's own"
    return (
        f"{claim}, reading {shown['reading']}: kappa = {shown['kappa']}, tau = {shown['tau']}, "
        f"clients = {shown['clients']}, start = {shown['start']}, {weights}, step: {step}."
    )


def _shown(constant: Any) -> tuple[str, str]:
    if constant.term == "contraction":
        return f"{constant.stated:.6g}", f"{constant.solver:.6g}"
    if constant.solver != constant.solver:
        return f"{constant.stated:.6g}", "0 here, or undecided"
    needed = f"{constant.solver:.6g}" if constant.needed else "not needed"
    return f"{constant.stated:.6g}", needed


@command("Files")
def verify_certificate(
    files: tuple[Path, ...], *, plugins: tuple[ModuleType, ...] = (), rocq: Path | None = None
) -> int:
    """Verify certificate FILES in exact arithmetic, with no solver and no floating point.

    A certificate proves the inequality that is printed, at the setting that is printed, and nothing else.

    rocq: File for the certificates that `coqc` alone checks.
    """
    from fedbounds.evidence.sdp.one_step.certificate import describe, subject, verified_certificates
    from fedbounds.plugins import claims

    available = claims(plugins)
    count, bad, subjects, valid = 0, 0, set(), []
    for count, (certificate, wrong) in enumerate(verified_certificates(files, available), 1):
        name = certificate.name or f"certificate {count}"
        if wrong:
            bad += 1
            show(f"{name}: REJECTED ({wrong})")
            continue
        subjects.add(subject(certificate))
        valid.append(certificate)
        right = " + ".join(f"({value}) {form}" for form, value in certificate.numbers(certificate.rhs).items()) or "0"
        words = describe(certificate, available.get(certificate.claim or ""))
        show(f"{name}: verified: {words}: {certificate.lhs} <= {right}")
    pairs = len(subjects - {None})
    show(f"{count - bad} verified, {bad} rejected; {pairs} different (claim, setting) pairs proved as stated")
    if rocq is not None:
        write_rocq_file(rocq, valid)
    return FAILED if bad else 0


def write_rocq_file(path: Path, certificates: list[Any]) -> None:
    """Write certificates for Rocq, which proves them about vectors and numbers that meet their constraints."""
    from fedbounds.errors import reject
    from fedbounds.evidence.kernel.gram_certificates import standalone
    from fedbounds.io import write_text

    if not certificates:
        raise reject("a file for Rocq needs a certificate", "none", "ask where the claim holds")
    write_text(path, standalone(certificates))


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
