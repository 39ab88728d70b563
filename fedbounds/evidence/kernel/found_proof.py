"""What the prover finds, as a script of Rocq, and what Rocq says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import ModuleType

from fedbounds.errors import InputError, reject
from fedbounds.evidence.kernel import (
    claim_statement,
    point_statement,
    run_script,
    step_script,
    step_statement,
)
from fedbounds.evidence.kernel.coqc import available
from fedbounds.evidence.kernel.proof_obligations import Obligation
from fedbounds.evidence.kernel.rocq_runs import Audited, check_script, check_within
from fedbounds.evidence.kernel.rocq_terms import module_name
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.prover.special_cases import restated
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
                return _written(checked, claim, reading)
            except InputError as wrong:
                why = str(wrong)
    raise reject(f"a script for {claim.key} needs a proof that can be one", why, "prove it in derivations/rocq")


def _written(checked: Checked, claim: Claim, reading: Reading) -> str:
    if checked.claim is not None and checked.claim.scope == "horizon":
        return run_script.script(checked, claim, reading)
    return step_script.script(checked, reading, _stated(claim, reading)[0] is point_statement)


def check(claim: Claim, reading: Reading) -> Audited:
    """What Rocq says of that script, compiled with all that it requires."""
    return check_script(_obligation(claim, reading), script(claim, reading))


def _obligation(claim: Claim, reading: Reading) -> Obligation:
    module = f"proof_{module_name(claim.key)}"
    return Obligation(module, claim.key, (reading.name,), Status.HOLDS, statement(claim, reading))


def with_script(verdict: Verdict, proof: Derivation, claim: Claim, reading: Reading) -> Verdict:
    """The verdict on a proof that was found with its script for Rocq, or why it has none."""
    try:
        written = {"script": script(claim, reading, (proof,))}
    except (InputError, KeyError) as wrong:  # a quantity without a word: the proof stands without a script
        inmost = str(wrong).rpartition("but received ")[2].partition(": ")[0]
        written = {"no script": f"was not asked, as no script can be written of {inmost}"}
    return replace(verdict, data={**verdict.data, **written})


def may_ask(verdict: Verdict | None) -> bool:
    """Whether a verdict has a script, and Rocq is installed."""
    return verdict is not None and "script" in verdict.data and available() is not None


def asked(verdict: Verdict, claim: Claim, reading: Reading, seconds: float) -> Verdict:
    """The verdict with Rocq's answer to its script, in at most so many seconds."""
    answer = check_within(seconds, _obligation(claim, reading), str(verdict.data["script"]))
    if answer is None:
        said = {"rocq refused": f"not checked within {seconds:.0f} s (--rocq gives it longer)"}
    elif answer.fault:
        said = {"rocq refused": f"not checked, its script fails: {answer.fault}"}
    else:
        said = {"rocq": answer.statement}
    return replace(verdict, data={**verdict.data, **said})
