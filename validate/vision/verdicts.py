"""When one of the paper's experimental claims counts as reproduced: rules, and the cases that they judge.

Every verdict is of one reading: its step and temperature stand beside it, and the paper prints neither the step that
gave its numbers (1e-4 does not) nor T. So nothing here contradicts the paper; the opposite outcome is just called so.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fedbounds.vision.records import ImageRun
from validate.vision import estimates, measures, paper
from validate.vision.estimates import Estimate, PValue
from validate.vision.experiments import BASELINE, FRAMEWORKS, SOFT, TEMPERATURES, WARMER
from validate.vision.measures import Paired
from validate.vision.stored import Group, Stored

REPRODUCED, NOT, OPPOSITE, UNDECIDED = "REPRODUCED", "NOT REPRODUCED", "OPPOSITE", "UNDECIDED"
# From worst to best: what is said of a claim about several cases.
ORDER = (OPPOSITE, NOT, UNDECIDED, REPRODUCED)
LEVEL = 0.05
# The chance that any interval of a claim misses is kept at LEVEL over the paper's claims (Bonferroni), also over
# those that are not examined here: of weights, stability and the limit of high 1/T.
CLAIMS = 11
CONFIDENCE = 1 - LEVEL / CLAIMS
# With fewer repetitions even a single sign test cannot reach the level: 2 / 2^5 > 0.05.
MIN_PAIRS = estimates.MIN_ORDER
# Margins of what the paper leaves to words.
SAME_ACCURACY = 0.01  # "rather low" and "poor": a percentage point of final accuracy
SAME_ROUNDS = 1.0  # R_90 is a whole number
EARLY = 0.5  # "fast at first": rounds to this accuracy


@dataclass(frozen=True, eq=False)
class Judged:
    """One case of a claim: where, at which step and T, and the numbers in a sentence.

    ``decide`` makes the verdict from Holm's p-value; ``test`` is the case's own, None for rules of intervals alone.
    An ``extra`` case is not in the paper and does not count.
    """

    claim: str
    where: str
    reading: str
    sentence: str
    test: PValue | estimates.Trend | None
    decide: Callable[[float], str]
    extra: bool = False


@dataclass(frozen=True)
class Outcome:
    """A judged case with its verdict and Holm's p-value, if it has a test."""

    case: Judged
    verdict: str
    p_value: float | None


def ends(found: Estimate) -> tuple[float, float]:
    """The interval of an estimate at CONFIDENCE: Student's is wider by the ratio of quantiles.

    Of enough repetitions that are all equal, their value. An interval of order statistics that does not attain
    CONFIDENCE has no ends.
    """
    from scipy.stats import t

    if found.confidence == 0:
        known = found.count >= MIN_PAIRS and math.isfinite(found.value)
        return (found.value, found.value) if known else (-math.inf, math.inf)
    if found.kind == "median":
        return (found.lower, found.upper) if found.confidence >= CONFIDENCE else (-math.inf, math.inf)
    wider = float(t.isf((1 - CONFIDENCE) / 2, found.count - 1) / t.isf((1 - found.confidence) / 2, found.count - 1))
    return found.value - wider * (found.value - found.lower), found.value + wider * (found.upper - found.value)


def directional(difference: Estimate, p_value: float, sign: int, size: float | None) -> str:
    """The rule "direction": the claim is that the difference has this ``sign``; ``size`` > 0 is how large it says."""
    low, high = sorted(sign * end for end in ends(difference))
    if difference.count < MIN_PAIRS:
        return UNDECIDED
    if p_value <= LEVEL and low > 0:
        return REPRODUCED
    if p_value <= LEVEL and high < 0:
        return OPPOSITE
    return NOT if size is not None and high < size else UNDECIDED


def inside(found: Estimate, lowest: float, highest: float) -> str:
    """REPRODUCED if the interval lies within the ends, NOT REPRODUCED if outside of them."""
    low, high = ends(found)
    if found.count < MIN_PAIRS or (low < lowest and high >= lowest) or (low <= highest < high):
        return UNDECIDED
    return REPRODUCED if lowest <= low and high <= highest else NOT


def trending(found: estimates.Trend | None, p_value: float, difference: Estimate) -> str:
    """The rule "trend": R_90 falls with 1/T."""
    if found is not None and found.repetitions >= MIN_PAIRS and p_value <= LEVEL:
        return REPRODUCED if found.correlation < 0 else OPPOSITE
    return directional(difference, 1.0, -1, SAME_ROUNDS)


def judge(cases: Sequence[Judged]) -> list[Outcome]:
    """The verdicts, with p-values corrected by Holm's method over all tests among ``cases``."""
    tested = [case for case in cases if case.test is not None]
    adjusted = estimates.holm([case.test.p_value for case in tested if case.test is not None])
    known = {id(case): p for case, p in zip(tested, adjusted, strict=True)}
    return [Outcome(case, case.decide(known.get(id(case), 1.0)), known.get(id(case))) for case in cases]


def overall(outcomes: Sequence[Outcome]) -> str:
    """The worst verdict of the cases that the paper speaks about."""
    result = {outcome.verdict for outcome in outcomes if not outcome.case.extra}
    return next((verdict for verdict in ORDER if verdict in result), UNDECIDED)


def claims(stored: Stored) -> list[Judged]:
    """Every case of every claim that there are records for."""
    speeds, whole = stored.cases(), stored.whole()
    return [
        *_speed(speeds),
        *_more_skew(speeds),
        *_temperatures(speeds.get("NIID", {})),
        *(case for framework, group in whole.items() for case in _of_whole(framework, group)),
    ]


def reading(run: ImageRun, *names: str) -> str:
    """``step 0.1, T = 0.2``: what the verdict rests on."""
    result = [measures.temperature(name) for name in names]
    said = [f"{T:.3g}" for T in result if T is not None and math.isfinite(T)]
    return f"step {run.settings['lr']:g}" + (f", T = {' and '.join(said)}" if said else "")


def printed_gain(framework: str) -> float:
    """How many rounds FedSoftMax is ahead of FedAvg in the paper's table."""
    return paper.R_90[framework, "FedAvg"].mean - paper.R_90[framework, "FedSoftMax"].mean


def _direction(
    claim: str, where: str, at: str, words: str, found: Paired, sign: int, size: float | None, extra: bool = False
) -> Judged:
    def decide(p_value: float) -> str:
        return directional(found.difference, p_value, sign, size)

    return Judged(claim, where, at, words, found.test, decide, extra)


def _speed(cases: Mapping[str, Group]) -> list[Judged]:
    made = []
    for framework, case in cases.items():
        for name in (SOFT, WARMER):
            if name not in case or BASELINE not in case:
                continue
            result, gain = measures.compare_speed(case[name], case[BASELINE]), printed_gain(framework)
            at, where = reading(case[name][0], name), f"{framework}, {name}"
            words = f"{result.said(('faster', 'slower'), 'rounds', 1)} (paper: {-gain:+z.1f})"
            if framework == "IID":
                margin = (result.difference, -SAME_ROUNDS, SAME_ROUNDS)
                made.append(Judged("same-iid", where, at, words, None, lambda _, m=margin: inside(*m), name != SOFT))
            else:
                made.append(_direction("faster", where, at, words, result, -1, gain, name != SOFT))
    return made


def _more_skew(cases: Mapping[str, Group]) -> list[Judged]:
    made = []
    both = [framework for framework in FRAMEWORKS if {BASELINE, SOFT} <= set(cases.get(framework, ()))]
    for less, more in pairwise(both):
        result = measures.gains(cases[more], cases[less], (BASELINE, SOFT))
        size = printed_gain(more) - printed_gain(less)
        words = f"{result.said(('less', 'more'), 'rounds gained', 1)} (paper: {size:+z.1f})"
        at = reading(cases[more][SOFT][0], SOFT)
        made.append(_direction("more-skew", f"{more} against {less}", at, words, result, 1, size))
    return made


def _temperatures(case: Group) -> list[Judged]:
    names = [name for name in (SOFT, *TEMPERATURES) if name in case]
    if len(names) < 2:
        return []
    result, rank = measures.compare_speed(case[names[-1]], case[names[0]]), measures.trend([case[n] for n in names])
    words = result.said(("faster", "slower"), "rounds", 1)
    high, low = (1 / (measures.temperature(names[k]) or math.nan) for k in (-1, 0))
    words = f"1/T = {high:.3g} against {low:.3g}: {words}"
    if rank is not None:
        words = f"mean rank correlation of R_90 with 1/T {rank.correlation:.2f}; {words}"

    def decide(p_value: float) -> str:
        return trending(rank, p_value, result.difference)

    return [Judged("temperature", "NIID", reading(case[names[0]][0], *names), words, rank, decide)]


def _of_whole(framework: str, case: Group) -> list[Judged]:
    """The claims on runs that did every round."""
    made = []
    if {SOFT, BASELINE} <= set(case):
        soft, base, at = case[SOFT], case[BASELINE], reading(case[SOFT][0], SOFT)
        last = measures.compare(soft, base, measures.last_accuracy)
        margin = (last.difference, -SAME_ACCURACY, SAME_ACCURACY)
        words = last.said(("lower", "higher"), "points", 2, 100)
        made.append(Judged("final", framework, at, words, None, lambda _, m=margin: inside(*m)))
    for name, group in case.items():
        if name.startswith("fedmax"):
            made += _maximum(framework, name, group, case.get(BASELINE, []))
    return made


def _maximum(framework: str, name: str, group: list[ImageRun], base: list[ImageRun]) -> list[Judged]:
    """ "Speeding at the beginning" and "poor results when it comes to the final accuracy"."""
    if not base:
        return []
    early, last = measures.compare_speed(group, base, EARLY), measures.compare(group, base, measures.last_accuracy)
    at, where = reading(group[0], name), f"{framework}, {name}"
    words = early.said(("sooner", "later"), f"rounds to {100 * EARLY:g}%", 1)
    poorer = (last.difference, -math.inf, -SAME_ACCURACY)
    said = last.said(("lower", "higher"), "points", 2, 100)
    return [
        _direction("fedmax-final", f"{where}, fast at first", at, words, early, -1, SAME_ROUNDS),
        Judged("fedmax-final", f"{where}, poorer at the end", at, said, None, lambda _: inside(*poorer)),
    ]
