"""What is shipped as evidence of claims, as a page shows it: proofs step by step, and counterexamples."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from fractions import Fraction

from fedbounds.errors import InputError
from fedbounds.evidence.exact.compare import Sides
from fedbounds.evidence.exact.counterexamples import Counterexample, all_files
from fedbounds.evidence.symbolic import library
from fedbounds.evidence.symbolic.render import render_text
from fedbounds.io import plain, shaped
from fedbounds.report.claim_text import length_note_of
from fedbounds.report.counterexample_script import stored_script
from fedbounds.report.instance_text import fields
from fedbounds.report.number_format import with_decimal
from fedbounds.report.table import Code
from fedbounds.study.cache import cached
from fedbounds.study.ledger import counterexample

# The evidence that is about no claim: steps of proofs, and counterexamples to remarks.
OTHERS = ""


def evidence() -> Mapping[str, list[Code]]:
    """Claim -> its proofs and counterexamples; OTHERS -> those that are about none.

    Each is checked here or was on this machine, with these very sources.
    """

    def read(result: object) -> dict[str, list[Code]]:
        return shaped(result, dict[str, list[Code]], "the stored evidence")

    # Unlike verdicts, it follows from how things are shown too.
    return cached("evidence", _checked, read, plain, {"referee", "cli", "vision"})


def _checked() -> dict[str, list[Code]]:
    result: dict[str, list[Code]] = {}
    for checked in library.check_all().values():
        derivation, good = checked.derivation, sum(outcome.ok for outcome in checked.outcomes.values())
        title = f"Proof: {derivation.title}, {good} of {len(derivation.steps)} steps check"
        text = render_text(checked, library.verdict_of(checked))
        result.setdefault(derivation.claim or OTHERS, []).append(Code(text, title))
    for example, sides in map(counterexample, all_files()):
        document = example.document
        title = f"Counterexample: {document.get('title') or example.name}"
        result.setdefault(document.get("claim") or OTHERS, []).append(Code(_example(example, sides), title))
    return result


def _example(example: Counterexample, sides: Sides) -> str:
    """A counterexample with its sides, computed again in exact arithmetic, its instance, and its script if short."""
    document, apart = example.document, Fraction(sides.lhs) - Fraction(sides.rhs)
    rows = {"left": sides.lhs, "right": sides.rhs, "left - right": apart, "t": document.get("t")}
    lines = list(filter(None, [document.get("why"), length_note_of(example)]))
    lines += [f"Reading {', '.join([example.reading, *document.get('also', ())])}."] * ("claim" in document)
    lines += [f"  {name} = {with_decimal(str(value))}" for name, value in rows.items() if value is not None]
    lines += ["Computed again in fractions on this machine. Instance:"]
    lines += fields(document.get("instance") or document.get("data", {}))
    with contextlib.suppress(InputError):
        lines += ["", "As a script of plain Python:", "", stored_script(example)]
    return "\n".join(lines)
