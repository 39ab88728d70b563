"""Groups of claims that a study may be asked for by one word: the paper's, the field's, ours, all."""

import re
from collections.abc import Sequence
from types import ModuleType

from fedbounds import plugins
from fedbounds.theory.claim import Claim, Role

# What a study may be asked for in place of keys; a claim's source says who states it.
GROUPS = {
    "paper": "the paper's lemmas, theorem, corollary and rate",
    "field": "theorems of other papers",
    "ours": "what this package proves or proposes",
    "all": "every claim about FedAvg",
}
OURS, YEAR = "This package", re.compile(r"\b(19|20)\d\d\b")


def claims_in(group: str, extra: Sequence[ModuleType] = ()) -> dict[str, Claim]:
    """The claims about FedAvg of one of `GROUPS`; "paper" includes the reader's own, those of ``extra`` modules."""
    every = plugins.on_fedavg(plugins.claims(extra))
    if group == "all":
        return every
    own = {claim.key for module in extra for claim in getattr(module, "CLAIMS", ())}
    ours = {key for key, claim in every.items() if claim.source.startswith(OURS) and key not in own}
    members = {
        "paper": {key for key, claim in every.items() if Role.HEADLINE in claim.roles} | own,
        "field": {key for key, claim in every.items() if YEAR.search(claim.source)} - ours - own,
        "ours": ours,
    }[group]
    return {key: claim for key, claim in every.items() if key in members}
