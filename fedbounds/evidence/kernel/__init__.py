"""Kernel evidence: statements written from the claims, proved by files that Rocq's kernel checks."""

from fedbounds.evidence.kernel.audit import Audited, available, check, examine, stored
from fedbounds.evidence.kernel.statement import digest, statement

__all__ = ["Audited", "available", "check", "digest", "examine", "statement", "stored"]
