"""What the prover finds, as a script of Rocq, and what Rocq says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType

from fedbounds.errors import InputError, reject
from fedbounds.evidence.kernel import (
    claim_statement,
    point_script,
    point_statement,
    run_script,
    step_script,
    step_statement,
)
from fedbounds.evidence.kernel.coqc import available
from fedbounds.evidence.kernel.derivation_script import script as of_a_client
from fedbounds.evidence.kernel.proof_obligations import Obligation
from fedbounds.evidence.kernel.rocq_runs import Audited, check_script, check_within
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.rounds import restated
from fedbounds.evidence.symbolic.derivation import Derivation
from fedbounds.evidence.symbolic.proof_state import Checked
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import Reading
from fedbounds.theory.verdict import Status, Verdict

# A claim as a proposition: of a step of the algorithm, else of any points, else of a step in its vectors.
FORMS = (claim_statement, point_statement, step_statement)


def statement(claim: Claim, reading: Reading) -> str:
    """The claim as a proposition, in the first of these forms that can say it."""
    return _stated(claim, reading)[1]


def _stated(claim: Claim, reading: Reading) -> tuple[ModuleType, str]:
    """The form of the claim's proposition, and the proposition."""
    whys: list[InputError] = []
    for form in FORMS:
        try:
            return form, form.statement(claim, reading)
        except InputError as wrong:
            whys.append(wrong)
    raise whys[0]


def script(claim: Claim, reading: Reading, proposals: Iterable[Derivation] | None = None) -> str:
    """The file that proves a claim's statement, from a proof that the prover finds; InputError where it has none."""
    statement(claim, reading)
    why = "no proof that the prover finds"
    for stated in (claim, *(one for one, _ in restated(claim))):
        for proposed in automatic.proposals(stated, reading) if proposals is None else proposals:
            checked = automatic.check(proposed, stated, reading)
            if checked.fault:
                continue
            try:
                return _written(proposed, checked, claim, reading)
            except InputError as wrong:
                why = str(wrong)
    raise reject(f"a script for {claim.key} needs a proof that can be one", why, "prove it in derivations/rocq")


def _written(proposed: Derivation, checked: Checked, claim: Claim, reading: Reading) -> str:
    if claim.scope == "point":
        return of_a_client(proposed, claim)
    if checked.claim is not None and checked.claim.scope == "horizon":
        return run_script.script(checked, claim, reading)
    form, _ = _stated(claim, reading)
    write = point_script.script if form is point_statement else step_script.script
    return write(checked, reading)


def check(claim: Claim, reading: Reading, proposals: Iterable[Derivation] | None = None) -> Audited:
    """What Rocq says of that script, compiled with all that it requires."""
    return check_script(*_obligation(claim, reading, proposals))


def _obligation(
    claim: Claim, reading: Reading, proposals: Iterable[Derivation] | None = None
) -> tuple[Obligation, str]:
    module = f"proof_{claim_statement.module_name(claim.key)}"
    text = script(claim, reading, proposals)
    return Obligation(module, claim.key, (reading.name,), Status.HOLDS, statement(claim, reading)), text


def with_rocq(
    verdict: Verdict, proof: Derivation, claim: Claim, reading: Reading, seconds: float | None = None
) -> Verdict:
    """The verdict on a proof that was found, with Rocq's answer where Rocq is installed and it has a script."""
    if available() is None:
        return verdict
    try:
        if seconds is None:
            answer: Audited | None = check(claim, reading, (proof,))
        else:
            answer = check_within(seconds, *_obligation(claim, reading, (proof,)))
    except InputError:  # it has no script
        return verdict
    if answer is None:
        said, digest = f"not checked within {seconds:.0f} s", dict[str, str]()
    elif answer.fault:
        said, digest = f"not checked, its script fails: {answer.fault}", {}
    else:
        said, digest = f"checked, statement {answer.statement[:12]}", {"rocq": answer.statement}
    lines = [*automatic.proof_of(verdict), "", f"  Rocq: {said}"]
    return replace(verdict, data={**verdict.data, "proof": lines, **digest})
