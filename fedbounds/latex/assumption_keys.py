"""Which assumption a comment line names, and what the constants of a theorem need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache

import sympy as sp

from fedbounds.plugins import claims
from fedbounds.theory import assumptions as shipped
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim_validation import NEEDS_VALUE
from fedbounds.theory.protocol_assumptions import WEIGHTING
from fedbounds.theory.symbols import QUANTITIES

SELECTIONS = ("selection-without-replacement", "selection-with-replacement")
# Constants that an assumption must bring.
SKEWED = ("full-participation", "equal-selection", *SELECTIONS)
BROUGHT = {
    "m": ("equal-selection", *SELECTIONS), "rho_pairs": ("positive-rho-pairs",), "L_sample": ("sample-smooth",),
    "q": ("independent-selection",),
    "growth": ("growing-variance",), "sigma_0_sq": ("growing-variance",),
    # Of those drawn alone the skew is another number, which no author means who does not speak of draws.
    "rho_bar": SKEWED, "rho_tilde": SKEWED,
}  # fmt: skip
# What may be a key, not a relation.
KEY = re.compile(r"[^\\<>=]*")
# Letters that often mean something else, which a let must name: let \pi = \pi.
DECLARED = ("pi_min", "C")


def what_constants_lack(
    used: Collection[sp.Symbol],
    defined: Collection[sp.Symbol],
    assumed: frozenset[str],
    let: Collection[str],
    numbers: Collection[sp.Symbol],
) -> Iterator[tuple[str, str]]:
    """What each constant lacks, a value or a meaning, and the remedy."""
    for symbol in set(used) & set(numbers):
        yield f"{symbol} must cancel, as no evidence knows its value", "write it by other symbols"
    for name in sorted({s.name for s in used} - {s.name for s in defined}):
        letter = QUANTITIES[name].latex if name in QUANTITIES else name
        if name in DECLARED and letter not in let:
            what = f"{letter} is the {QUANTITIES[name].meaning} here"
            yield what, f"add % fedbounds: let {letter} = {letter}, or declare it as another"
        if name in NEEDS_VALUE:
            yield f"{letter} needs a value", f"add % fedbounds: where {letter} = ..."
        if name in BROUGHT and not assumed & set(BROUGHT[name]):
            what = f"{letter} is the {QUANTITIES[name].meaning} here"
            yield what, f"assume {BROUGHT[name][0]}, or declare {letter} with let"


@cache
def keys() -> dict[str, Assumption]:
    """Every shipped assumption by its key, and by its name in Python with hyphens."""
    named = {name: item for name, item in vars(shipped).items() if isinstance(item, Assumption)}
    return {name.replace("_", "-"): item for name, item in named.items()} | {
        item.key: item for item in named.values()
    }


@cache
def every_key() -> dict[str, Assumption]:
    """Those, and the assumptions of the shipped claims by their keys."""
    return {assumption.key: assumption for claim in claims().values() for assumption in claim.assumptions} | keys()


def shipped_assumption(key: str) -> Assumption | None:
    """The assumption of that key: of the list, or of a shipped claim, which takes longer to look up."""
    if key.startswith(WEIGHTING):
        return shipped.weighting(key.removeprefix(WEIGHTING))
    return keys().get(key) or (every_key().get(key) if KEY.fullmatch(key) else None)


def states_relation(assumption: Assumption, relation: sp.Rel) -> bool:
    """Whether an assumption says the same relation, up to a positive factor."""
    (part,) = assumption.parts
    if {"<=": sp.Le, "<": sp.Lt, "=": sp.Eq}[part.sign] is not type(relation):
        return False
    ours, theirs = part.left - part.right, relation.lhs - relation.rhs
    if theirs == 0 or ours.free_symbols != theirs.free_symbols:
        return False
    return bool(sp.cancel(ours / theirs).is_positive)
