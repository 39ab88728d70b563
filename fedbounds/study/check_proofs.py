"""Proofs checked step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedbounds.errors import of_kind
from fedbounds.plugins import Plugins, modules_from
from fedbounds.study.result_table import Findings, flat

if TYPE_CHECKING:
    from fedbounds.evidence.symbolic.proof_state import Checked
    from fedbounds.theory.verdict import Verdict


@dataclass(frozen=True)
class Proof:
    """A derivation with every step checked, and the verdict on its claim (None for a result of its own)."""

    checked: Checked
    verdict: Verdict | None

    def __str__(self) -> str:
        from fedbounds.evidence.symbolic.render import render_text

        return render_text(self.checked, self.verdict)


def derive(name: str | None = None, *, plugins: Plugins = ()) -> Findings[Proof]:
    """Check the proof of a claim, or the derivation, of that name (all, if none is given), step by step.

    A plug-in's DERIVATIONS count too. ``print(found[0])`` prints a proof, ``found.to_latex()`` typesets it.

    >>> derive("lemma-1")[0].verdict.status
    <Status.HOLDS: 'HOLDS'>
    """
    from fedbounds.evidence.symbolic.verified_proofs import proofs

    result = proofs(of_kind("a proof", name, str | None, "a name"), modules_from(plugins))
    return Findings(tuple(Proof(*pair) for pair in result), _of_proof)


def _of_proof(proof: Proof) -> list[dict[str, Any]]:
    derivation, outcomes = proof.checked.derivation, proof.checked.outcomes.values()
    data = {"claim": derivation.claim, "derivation": derivation.key, "steps": len(outcomes)}
    verdict = {} if proof.verdict is None else flat(proof.verdict.to_json())
    names = ("reading", "status", "detail")
    message = {key: verdict.get(key) for key in names}
    return [data | {"checked": sum(outcome.ok for outcome in outcomes)} | message]
