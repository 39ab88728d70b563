"""When one of the paper's experimental claims counts as reproduced: rules, and the cases that they judge.

Every verdict is of one reading: its step and temperature stand beside it, and the paper prints neither the step that
gave its numbers (1e-4 does not) nor T. So nothing here contradicts the paper; the opposite outcome is just called so.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from validate.vision import paper, statistics
from validate.vision.experiments import BASELINE, FRAMEWORKS, SOFT, TEMPERATURES, WARMER
from validate.vision.measures import Group, Stored, accuracy, paired, rounds, temperature
from validate.vision.statistics import minus, p_value, said

REPRODUCED, NOT, OPPOSITE, UNDECIDED = "REPRODUCED", "NOT REPRODUCED", "OPPOSITE", "UNDECIDED"
# From worst to best: what is said of a claim about several cases.
ORDER = (OPPOSITE, NOT, UNDECIDED, REPRODUCED)
LEVEL = 0.05
# The chance that any interval of a claim misses is kept at LEVEL over the paper's claims (Bonferroni), also over
# those that are not examined here: of weights, stability and the limit of high 1/T.
CLAIMS = 11
CONFIDENCE = 1 - LEVEL / CLAIMS
# With fewer repetitions even a single sign test cannot reach the level: 2 / 2^5 > 0.05.
MIN_PAIRS = statistics.MIN_ORDER
# Margins of what the paper leaves to words.
SAME_ACCURACY = 0.01  # "rather low" and "poor": a percentage point of final accuracy
SAME_ROUNDS = 1.0  # R_90 is a whole number
EARLY = 0.5  # "fast at first": rounds to this accuracy


@dataclass(frozen=True, eq=False)
class Case:
    """One case of a claim: where, at which step and T, and the numbers in a sentence.

    ``decide`` makes the verdict from Holm's p-value; ``p_value`` is the case's own, None where the rule has none.
    An ``extra`` case is not in the paper and does not count.
    """

    claim: str
    where: str
    reading: str
    sentence: str
    p_value: float | None
    decide: Callable[[float], str]
    extra: bool = False


def ends(found: pd.DataFrame) -> tuple[float, float]:
    """The interval at CONFIDENCE, if it is attained; of enough repetitions that are all equal, their value."""
    estimate = statistics.estimate(found, CONFIDENCE)
    if estimate.confidence == 0 and estimate.count >= MIN_PAIRS and math.isfinite(estimate.value):
        return estimate.value, estimate.value
    return (estimate.lower, estimate.upper) if estimate.confidence >= CONFIDENCE else (-math.inf, math.inf)


def directional(found: pd.DataFrame, p: float, sign: int, size: float) -> str:
    """The rule "direction": the claim is that the difference has this ``sign``; ``size`` is how large it says."""
    low, high = sorted(sign * end for end in ends(found))
    if len(found) < MIN_PAIRS:
        return UNDECIDED
    if p <= LEVEL and low > 0:
        return REPRODUCED
    if p <= LEVEL and high < 0:
        return OPPOSITE
    return NOT if high < size else UNDECIDED


def inside(found: pd.DataFrame, lowest: float, highest: float) -> str:
    """REPRODUCED if the interval lies within the ends, NOT REPRODUCED if outside of them."""
    low, high = ends(found)
    if len(found) < MIN_PAIRS or (low < lowest and high >= lowest) or (low <= highest < high):
        return UNDECIDED
    return REPRODUCED if lowest <= low and high <= highest else NOT


def judge(cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The cases with their verdicts, p-values corrected by Holm's method over all that have one."""
    tested = [case for case in cases if case.p_value is not None]
    adjusted = dict(zip(map(id, tested), statistics.holm([case.p_value for case in tested]), strict=True))
    return [(case, case.decide(adjusted.get(id(case), 1.0))) for case in cases]


def overall(outcomes: Sequence[tuple[Case, str]]) -> str:
    """The worst verdict of the cases that the paper speaks about."""
    result = {verdict for case, verdict in outcomes if not case.extra}
    return next((verdict for verdict in ORDER if verdict in result), UNDECIDED)


def cases(stored: Stored) -> list[Case]:
    """Every case of every claim that there are records for."""
    for case in stored.cases.values():
        for group in case.values():
            paired(group, case.get(BASELINE, ()))
    whole = (case for framework, group in stored.whole().items() for case in _of_whole(framework, group))
    return [*_speed(stored.cases), *_more_skew(stored.cases), *_temperatures(stored.cases.get("NIID", {})), *whole]


def reading(group: Group, *names: str) -> str:
    """``step 0.1, T = 0.2``: what the verdict rests on."""
    result = [f"{T:.3g}" for name in names if (T := temperature(name)) is not None and math.isfinite(T)]
    step = next(iter(group.values()))[0].settings["lr"]
    return f"step {step:g}" + (f", T = {' and '.join(result)}" if result else "")


def printed_gain(framework: str) -> float:
    """How many rounds FedSoftMax is ahead of FedAvg in the paper's table."""
    return paper.R_90[framework, "FedAvg"].mean - paper.R_90[framework, "FedSoftMax"].mean


def _direction(
    claim: str, where: str, at: str, words: str, found: pd.DataFrame, sign: int, size: float, extra: bool = False
) -> Case:
    return Case(claim, where, at, words, p_value(found), lambda p: directional(found, p, sign, size), extra)


def _inside(
    claim: str,
    where: str,
    at: str,
    words: str,
    found: pd.DataFrame,
    lowest: float,
    highest: float,
    extra: bool = False,
) -> Case:
    return Case(claim, where, at, words, None, lambda _: inside(found, lowest, highest), extra)


def _gain(case: Group, name: str, level: float = paper.LEVEL) -> pd.DataFrame:
    """R_level of a weighting minus FedAvg's."""
    return minus(rounds(case[name], level), rounds(case[BASELINE], level))


def _speed(cases: Mapping[str, Group]) -> Iterator[Case]:
    for framework, case in cases.items():
        for name in (name for name in (SOFT, WARMER) if {name, BASELINE} <= set(case)):
            found, gain, extra = _gain(case, name), printed_gain(framework), name != SOFT
            at, where = reading(case, name), f"{framework}, {name}"
            words = f"{said(found, ('faster', 'slower'), 'rounds', 1)} (paper: {-gain:+z.1f})"
            if framework == "IID":
                yield _inside("same-iid", where, at, words, found, -SAME_ROUNDS, SAME_ROUNDS, extra)
            else:
                yield _direction("faster", where, at, words, found, -1, gain, extra)


def _more_skew(cases: Mapping[str, Group]) -> Iterator[Case]:
    both = [framework for framework in FRAMEWORKS if {BASELINE, SOFT} <= set(cases.get(framework, ()))]
    for less, more in pairwise(both):
        # FedAvg's rounds minus FedSoftMax's are gained.
        found = minus(_gain(cases[less], SOFT), _gain(cases[more], SOFT))
        size = printed_gain(more) - printed_gain(less)
        words = f"{said(found, ('less', 'more'), 'rounds gained', 1)} (paper: {size:+z.1f})"
        yield _direction("more-skew", f"{more} against {less}", reading(cases[more], SOFT), words, found, 1, size)


def _temperatures(case: Group) -> Iterator[Case]:
    names = [name for name in (SOFT, *TEMPERATURES) if name in case]
    if len(names) < 2:
        return
    found = minus(rounds(case[names[-1]]), rounds(case[names[0]]))
    correlation, p, repetitions = statistics.trend([rounds(case[name]) for name in names])
    high, low = (1 / (temperature(names[k]) or math.nan) for k in (-1, 0))
    words = f"1/T = {high:.3g} against {low:.3g}: {said(found, ('faster', 'slower'), 'rounds', 1)}"
    if math.isfinite(correlation):
        words = f"mean rank correlation of R_90 with 1/T {correlation:.2f}; {words}"

    def decide(p: float) -> str:
        """R_90 falls with 1/T."""
        if repetitions >= MIN_PAIRS and p <= LEVEL:
            return REPRODUCED if correlation < 0 else OPPOSITE
        return directional(found, 1.0, -1, SAME_ROUNDS)

    tested = None if math.isnan(correlation) else p
    yield Case("temperature", "NIID", reading(case, *names), words, tested, decide)


def _of_whole(framework: str, case: Group) -> Iterator[Case]:
    """The claims on runs that did every round; of FedMax(k) that it is fast at first and poorer at the end."""
    if BASELINE not in case:
        return
    points = (("lower", "higher"), "points", 2, 100)
    for name in case:
        found = minus(accuracy(case[name]), accuracy(case[BASELINE]))
        if name == SOFT:
            at = reading(case, SOFT)
            yield _inside("final", framework, at, said(found, *points), found, -SAME_ACCURACY, SAME_ACCURACY)
        elif name.startswith("fedmax"):
            at, where, early = reading(case), f"{framework}, {name}", _gain(case, name, EARLY)
            words = said(early, ("sooner", "later"), f"rounds to {100 * EARLY:g}%", 1)
            yield _direction("fedmax-final", f"{where}, fast at first", at, words, early, -1, SAME_ROUNDS)
            where, words = f"{where}, poorer at the end", said(found, *points)
            yield _inside("fedmax-final", where, at, words, found, -math.inf, -SAME_ACCURACY)
