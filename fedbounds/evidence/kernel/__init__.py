"""Kernel evidence: statements written from the claims, proved by files that Rocq's kernel checks."""

from fedbounds.evidence.kernel.claim_statement import digest, statement
from fedbounds.evidence.kernel.coqc import available
from fedbounds.evidence.kernel.proof_obligations import reading_of
from fedbounds.evidence.kernel.release_record import (
    CERTIFIED,
    STORED,
    examine,
    of_certificate,
    of_remark,
    store,
    stored,
)
from fedbounds.evidence.kernel.rocq_runs import Audited, check

__all__ = [
    "CERTIFIED",
    "STORED",
    "Audited",
    "available",
    "check",
    "digest",
    "examine",
    "of_certificate",
    "of_remark",
    "reading_of",
    "statement",
    "store",
    "stored",
]
