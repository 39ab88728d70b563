"""What a release remembers of Rocq's answers, and the verdicts that follow: only of texts that are still the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from fedbounds import plugins
from fedbounds.errors import InputError
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.kernel.certified_inequalities import expressible
from fedbounds.evidence.kernel.claim_statement import statement
from fedbounds.evidence.kernel.gram_certificates import module_of, obligation_of
from fedbounds.evidence.kernel.proof_obligations import Obligation, computed, proved
from fedbounds.evidence.kernel.rocq_runs import Audited, expected_result, matches, source_texts
from fedbounds.evidence.sdp.one_step.certificate import Certificate
from fedbounds.io import read_json, shaped, write_json
from fedbounds.plugins import shipped
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

STORED = "rocq/checked.json"
CERTIFIED = "rocq/certified.json"


def store(proofs: Sequence[Audited], path: Path) -> None:
    """Write what a release remembers; only proofs without fault are kept."""
    write_json(path, [asdict(proof) for proof in proofs if not proof.fault])


@cache
def stored(file: str = STORED) -> tuple[Audited, ...]:
    """What was checked at release; certificates stand apart, as what they prove is in no case a claim.

    Only of this package's own release: whoever ships proofs beside it could as well ship a record of them.
    """
    return tuple(
        proof for path in shipped(file, own=True) for proof in shaped(read_json(path), list[Audited], path.name)
    )


def examine(claim: Claim, reading: Reading) -> Verdict | None:
    """The kernel's word on a claim as far as the release remembers it: of this very statement, from these sources.

    A counterexample in fractions speaks only of the shipped claim, whose terms it was written from.
    """
    about = [proof for proof in stored() if proof.subject == claim.key and _speaks_of(proof, claim, reading)]
    shipped_claim = plugins.claims().get(claim.key) is claim
    for proof in about:
        if (shipped_claim or not _is_instance(proof)) and _unchanged(proof, claim):
            return _verdict(proof, claim.key, reading.name)
    detail = "the claim is not the one whose proof was checked at release: run `fedbounds kernel`"
    stale = Verdict(claim.key, reading.name, Evidence.KERNEL, Status.UNDECIDED, detail=detail)
    return stale if about else None


def _is_instance(proof: Audited) -> bool:
    return proof.module.startswith("instance_")


def _speaks_of(proof: Audited, claim: Claim, reading: Reading) -> bool:
    """Whether a stored proof is of the claim in this reading: its file says so, not what was stored of it."""
    try:
        obligation = _piece(proof, claim)
        if proof.status != obligation.status:
            return False
        if reading.name in obligation.readings or _is_instance(proof):
            return reading.name in obligation.readings
        # Another reading may say the same, word for word.
        return obligation.statement == statement(claim, reading, attained=obligation.negated)
    except (InputError, KeyError):
        return reading.name in proof.readings  # no longer expressed, so stale


def of_remark(key: str) -> list[Verdict]:
    """The kernel's word on the counterexamples to a remark of a paper."""
    return [_verdict(proof, key, "-") for proof in stored() if proof.subject == key and _unchanged(proof, None)]


def of_certificate(certificate: Certificate) -> str:
    """The kernel's word on a shipped certificate: what it has checked of it at release, empty where nothing."""
    proof = next((proof for proof in stored(CERTIFIED) if proof.module == module_of(certificate)), None)
    obligation = obligation_of(certificate)
    if proof is None or not matches(proof, expected_result(obligation, source_texts([obligation]), proof.rocq)):
        return ""
    about = "the functions of every problem of the class" if expressible(certificate) else "inner products"
    return f"checked at release by Rocq {proof.rocq} as a statement about {about}, {proof.statement[:12]}"


def _unchanged(proof: Audited, claim: Claim | None) -> bool:
    """Whether the texts that were checked are those of today."""
    try:
        obligation = _piece(proof, claim)
        return matches(proof, expected_result(obligation, source_texts([obligation]), proof.rocq))
    except (InputError, KeyError):  # not a claim that the model can express, so not the one that was proved
        return False


def _piece(proof: Audited, claim: Claim | None) -> Obligation:
    return _instance(proof.module) if _is_instance(proof) else proved(proof.module, claim)


@cache
def _instance(module: str) -> Obligation:
    (path,) = [path for path in all_files() if module == f"instance_{path.stem.replace('-', '_')}"]
    return computed(read(path))


def _verdict(proof: Audited, key: str, reading: str) -> Verdict:
    rests = f"axioms: {', '.join(proof.axioms) or 'none'}"
    detail = f"checked at release by Rocq {proof.rocq}, statement {proof.statement[:12]}; "
    if proof.status is Status.HOLDS:
        detail += f"noise of finite support; {rests}"
    elif proof.module.startswith("not_"):
        detail += f"its negation is proved; {rests}"
    else:
        detail += f"both sides of a counterexample computed again in fractions; {rests}"
    return Verdict(key, reading, Evidence.KERNEL, proof.status, detail=detail)
