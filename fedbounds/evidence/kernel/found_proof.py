"""What the prover finds, as a script of Rocq, and what Rocq says of it."""

from __future__ import annotations

from fedbounds.errors import InputError, reject
from fedbounds.evidence.kernel.claim_statement import statement
from fedbounds.evidence.kernel.derivation_script import script as of_a_point
from fedbounds.evidence.kernel.one_step_script import script as of_one_step
from fedbounds.evidence.kernel.proof_obligations import Obligation
from fedbounds.evidence.kernel.rocq_runs import Audited, check_script
from fedbounds.evidence.prover import automatic
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status


def script(claim: Claim, reading: Reading) -> str:
    """The file that proves a claim's statement, from a proof that the prover finds; InputError where it has none."""
    statement(claim, reading)
    why = "no proof that the prover finds"
    for proposed in automatic.proposals(claim, reading):
        checked = automatic.check(proposed, claim, reading)
        if checked.fault:
            continue
        try:
            return of_a_point(proposed, claim) if claim.scope == "point" else of_one_step(checked)
        except InputError as wrong:
            why = str(wrong)
    raise reject(f"a script for {claim.key} needs a proof that can be one", why, "prove it in derivations/rocq")


def check(claim: Claim, reading: Reading) -> Audited:
    """What Rocq says of that script, compiled with all that it requires."""
    module = f"proof_{claim.key.replace('-', '_')}"
    obligation = Obligation(module, claim.key, (reading.name,), Status.HOLDS, statement(claim, reading))
    return check_script(obligation, script(claim, reading))
