"""What a page says of the shipped evidence: the same for every study, so that it is made once and `cached`."""

from collections.abc import Mapping

from markupsafe import Markup

from fedbounds.evidence.symbolic import library
from fedbounds.io import shaped
from fedbounds.report.html import exact_instances
from fedbounds.report.html.claim_section import Proof
from fedbounds.report.html.templates import template
from fedbounds.study.cache import cached

# The evidence that is about no claim: steps of proofs, and counterexamples to remarks.
OTHERS = ""


def evidence() -> Mapping[str, Markup]:
    """Claim -> its proofs, counterexamples and tight constants as HTML; OTHERS -> those that are about none.

    Each is checked here or was on this machine, with these very sources.
    """

    def read(found: object) -> dict[str, str]:
        return shaped(found, dict[str, str], "the stored evidence")

    # Unlike verdicts, it follows from how things are shown too.
    found = cached("evidence", _checked, read, dict, {"referee", "cli", "vision"})
    return {key: Markup(html) for key, html in found.items()}


def _checked() -> dict[str, str]:
    proofs = [Proof(checked) for checked in library.check_all().values()]
    examples, tight = exact_instances.examples(), exact_instances.tight_constants()
    part = template("shipped.html.jinja").module
    keys = {*(proof.derivation.claim for proof in proofs), *(example.subject for example in examples), *tight}
    found = {OTHERS: part.others(*_about("", proofs, examples))}  # type: ignore[attr-defined]
    for key in sorted(keys - {"", None}):
        own = tight.get(key, ())
        tables = exact_instances.tight_table(key, own), exact_instances.tight_words(own)
        found[key] = part.about(*_about(key, proofs, examples), *tables)  # type: ignore[attr-defined]
    return {key: str(html) for key, html in found.items()}


def _about(
    key: str, proofs: list[Proof], examples: list[exact_instances.Example]
) -> tuple[list[object], list[object]]:
    return (
        [proof for proof in proofs if (proof.derivation.claim or "") == key],
        [example for example in examples if example.subject == key],
    )
