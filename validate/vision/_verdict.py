"""How the paper's claims are judged: rules stated beforehand, applied to numbers, never to taste.

A verdict speaks about this reading of the paper and these runs. Levels are not corrected for the number of claims.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fedbounds.vision import estimates, paper
from fedbounds.vision.estimates import Estimate, PValue
from fedbounds.vision.measures import Comparison

HOLDS, NOT_SUPPORTED, CONTRADICTED, UNDECIDED = "HOLDS", "NOT SUPPORTED", "CONTRADICTED", "UNDECIDED"
# From worst to best: what is said of a claim about several cases.
ORDER = (CONTRADICTED, NOT_SUPPORTED, UNDECIDED, HOLDS)
LEVEL = 0.05
# With fewer pairs no sign-flip or sign test can reach the level: 2 / 2^5 > 0.05.
MIN_PAIRS = estimates.MIN_ORDER
# Margins of what the paper leaves to words.
SAME_ACCURACY = 0.01  # "rather low" and "poor": a percentage point of final accuracy
SAME_ROUNDS = 1.0  # R_90 is a whole number
FLAT = 0.25  # "fixed limits": a log-log slope this near 0
RATE = 0.5  # "1/t": a log-log slope this near -1
PERSISTENT = 0.5  # a client keeps its own distance: rank correlation of at least this
GROUP = 0.5  # "a small group": this share of the clients at most

RULES = {
    "direction": "HOLDS if the 95% interval of the paired difference lies on the claimed side of 0 and "
    f"p <= {LEVEL}; CONTRADICTED if both say the opposite; otherwise NOT SUPPORTED if the interval excludes a "
    "difference as large as the paper's (or, where it prints none, as the stated size), else UNDECIDED.",
    "trend": f"HOLDS if the mean rank correlation over repetitions has the claimed sign with p <= {LEVEL} "
    "(permutations) and the rule *direction* has nothing against it for the two ends of the range, CONTRADICTED if "
    "the other sign; otherwise NOT SUPPORTED if *direction* has something against it, else UNDECIDED.",
    "margin": "of a difference that is claimed to be small: HOLDS if its 95% interval lies within the stated margin, "
    "CONTRADICTED if outside of it, else UNDECIDED. Of a loss that is claimed: HOLDS if the interval lies beyond the "
    "margin, CONTRADICTED if it is a gain, NOT SUPPORTED if it lies on this side of the margin, else UNDECIDED.",
    "slope": "by the 95% interval of the log-log slope of max_i |alpha_i - p_i| over the last half of the rounds. "
    "Falls: HOLDS if below 0, NOT SUPPORTED if above. Rate 1/t: HOLDS if it lies within "
    f"[{-1 - RATE:g}, {-1 + RATE:g}], NOT SUPPORTED if outside of it. Fixed limits: HOLDS if it lies within "
    f"[{-FLAT:g}, {FLAT:g}] and the clients' distances keep their order (rank correlation above {PERSISTENT:g}), "
    f"NOT SUPPORTED if it lies below {-RATE:g} or above {FLAT:g} or the correlation lies below {PERSISTENT:g}. "
    "Else UNDECIDED. A slope over some rounds is no limit: it neither proves nor contradicts one.",
    "group": f"HOLDS if the 95% interval of the number of clients lies below {GROUP:.0%} of all clients, "
    "CONTRADICTED if it lies above, else UNDECIDED.",
}


@dataclass(frozen=True)
class Case:
    """One case of a claim: where, the verdict, the numbers in a sentence. An ``extra`` case is not in the paper."""

    case: str
    verdict: str
    sentence: str
    extra: bool = False


def ends(found: Estimate) -> tuple[float, float]:
    """The interval of an estimate; of enough repetitions that are all equal, their value.

    Student's interval does not exist for them, but that of order statistics does, and is that point.
    """
    if found.confidence == 0 and found.count >= MIN_PAIRS and math.isfinite(found.value):
        return found.value, found.value
    return found.lower, found.upper


# Of every rule.
FEWEST = f"Fewer than {MIN_PAIRS} repetitions are always UNDECIDED, whatever the rule."


def directional(difference: Estimate, test: PValue, sign: int, size: float | None) -> str:
    """The rule "direction": the claim is that the difference has this ``sign``; ``size`` > 0 is how large it says."""
    if few(difference):
        return UNDECIDED
    low, high = sorted(sign * end for end in ends(difference))
    if test.p_value <= LEVEL and low > 0:
        return HOLDS
    if test.p_value <= LEVEL and high < 0:
        return CONTRADICTED
    return NOT_SUPPORTED if size is not None and high < size else UNDECIDED


def within(difference: Estimate, margin: float) -> str:
    """The rule "margin": the claim is that the difference is at most ``margin`` either way."""
    return _inside(difference, -margin, margin, CONTRADICTED)


def beyond(difference: Estimate, margin: float) -> str:
    """The rule "margin" for the claim that the difference is below -``margin``."""
    low, high = ends(difference)
    if few(difference) or low <= -margin < high:
        return UNDECIDED
    if high <= -margin:
        return HOLDS
    return CONTRADICTED if low > 0 else NOT_SUPPORTED


def few(found: Estimate) -> bool:
    """Whether there are too few repetitions for any verdict."""
    return found.count < MIN_PAIRS


def _inside(found: Estimate, lowest: float, highest: float, otherwise: str) -> str:
    """HOLDS if the interval lies within the ends, ``otherwise`` if outside of them."""
    low, high = ends(found)
    if few(found):
        return UNDECIDED
    if lowest <= low and high <= highest:
        return HOLDS
    return otherwise if high < lowest or low > highest else UNDECIDED


def falls(slope: Estimate) -> str:
    """The rule "slope": the distance from p falls."""
    low, high = ends(slope)
    if few(slope):
        return UNDECIDED
    return HOLDS if high < 0 else NOT_SUPPORTED if low > 0 else UNDECIDED


def rate(slope: Estimate) -> str:
    """The rule "slope": the distance from p falls like 1/t."""
    return _inside(slope, -1 - RATE, -1 + RATE, NOT_SUPPORTED)


def fixed(slope: Estimate, persistence: Estimate) -> str:
    """The rule "slope": alpha_i stays at limits of its own."""
    (low, high), (least, most) = ends(slope), ends(persistence)
    if few(slope) or few(persistence):
        return UNDECIDED
    if high < -RATE or low > FLAT or most < PERSISTENT:
        return NOT_SUPPORTED
    return HOLDS if low >= -FLAT and high <= FLAT and least > PERSISTENT else UNDECIDED


def small_group(count: Estimate, clients: int) -> str:
    """The rule "group": at most a share of ``clients`` is ever used."""
    low, high = ends(count)
    if few(count):
        return UNDECIDED
    return HOLDS if high < GROUP * clients else CONTRADICTED if low > GROUP * clients else UNDECIDED


def overall(cases: Sequence[Case]) -> str:
    """The worst verdict of the cases that the paper speaks about."""
    found = {case.verdict for case in cases if not case.extra}
    return next((verdict for verdict in ORDER if verdict in found), UNDECIDED)


def claim(key: str, rules: tuple[str, ...], cases: Sequence[Case]) -> dict[str, Any]:
    """A claim of the paper with its verdict, as JSON; ``rules`` are keys of RULES."""
    statement = next(found for found in paper.STATEMENTS if found.key == key)
    return {
        "key": key,
        "says": statement.says,
        "lines": list(statement.lines),
        "rules": list(rules),
        "verdict": overall(cases),
        "cases": [asdict(case) for case in cases],
    }


def said(found: Comparison, words: tuple[str, str], unit: str, digits: int, scale: float = 1.0) -> str:
    """``faster on 8 of 10 pairs, slower on 1, equal on 1; mean difference ...``; words: the first is less, more."""
    counts = f"{words[0]} on {found.smaller} of {found.pairs} pairs, {words[1]} on {found.larger}"
    counts += f", equal on {found.equal}" if found.equal else ""
    counts += f", unknown on {found.unknown}" if found.unknown else ""
    return f"{counts}; {difference(found.difference, found.test, unit, digits, scale)}"


def difference(found: Estimate, test: PValue, unit: str, digits: int, scale: float = 1.0) -> str:
    """``mean difference -2.1 [-3.0, -1.2] rounds, p = 0.004``."""
    return f"{found.kind} difference {estimates.text(found, digits, scale)} {unit}, p = {test.p_value:.2g}"
