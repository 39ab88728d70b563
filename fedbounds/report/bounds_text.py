"""Bounds at given constants as text: the paper's section, and the smallest bound that any claim proves."""

from __future__ import annotations

from collections.abc import Sequence

from fedbounds.report.number_format import number, upward
from fedbounds.report.table import Block, Bullets, Table
from fedbounds.study.bounds import Bounds
from fedbounds.study.problem_constants import ProblemConstants
from fedbounds.study.smallest_bound import SmallestBound

LEFT_SIDE = {"gap": "F(w_T) - F*", "distance": "||w_T - w*||^2"}
# With noise, which is unbiased and independent between clients, bounds are of expectations.
EXPECTATION = {"gap": "E[F(w_T)] - F*", "distance": "E||w_T - w*||^2"}
NO_NOISE = "Exact gradients are assumed, as sigma^2 is 0; --sigma-sq gives the variance of noisy ones."
UNSURE = " (proved in text; a machine has checked parts of it at most)"


def bounds_blocks(bounds: Bounds) -> list[Block]:
    """Every bound with its speed, error, value at T, and the rounds to epsilon if these are wanted."""
    head = ["bound", "reading", "speed", "gamma", "error", f"at T = {bounds.T}"]
    head += [] if bounds.epsilon is None else [f"rounds to {bounds.epsilon:g}"]
    body = []
    for row in bounds.values:
        cells = [row.claim, row.reading, *(number(x) for x in (row.speed, row.gamma, row.error, row.bound))]
        never = f"never: the error term alone is {number(row.error)}"
        rounds = never if row.rounds_to_epsilon is None else str(row.rounds_to_epsilon)
        body.append(cells if bounds.epsilon is None else [*cells, rounds])
    table = Table.of(head, body, "E[F(w_T)] - F* <= speed/(T + gamma) + error")
    return [table, *(["\n".join(f"Note: {note}." for note in bounds.notes)] if bounds.notes else [])]


def answer(rows: Sequence[SmallestBound], constants: ProblemConstants, rounds: int | None = None) -> str:
    """The smallest bound in a sentence, and the smallest that a machine proved where it is another.

    ``rounds`` are those of the question; a plan's rows name their own.
    """
    left = (EXPECTATION if constants.sigma_sq else LEFT_SIDE)[constants.measure]

    def sentence(row: SmallestBound) -> str:
        step = row.step_formula if row.step is None else f"a constant step {row.step:g}"
        after = f"after {row.rounds or rounds} rounds"
        return f"{left} <= {upward(row.bound or 0.0)} {after}, by {row.claim} at tau = {row.tau} and {step}"

    theorems = [row for row in rows if row.bound is not None]
    if not theorems:
        return "No claim of the ledger gives a bound here; the table says why."
    sentences = [f"{sentence(theorems[0])}{'' if theorems[0].support == 'proved' else UNSURE}."]
    proved = next((row for row in theorems if row.support == "proved"), None)
    if proved is not None and proved is not theorems[0]:
        sentences.append(f"By machine it is proved that {sentence(proved)}.")
    return "\n".join(sentences if constants.sigma_sq else [*sentences, NO_NOISE])


def smallest_bound_blocks(
    rows: Sequence[SmallestBound], constants: ProblemConstants, rounds: int | None = None
) -> list[Block]:
    """The answer, a row a claim that gives a bound with its tau and step, and why the others give none."""
    body = [
        (row.claim, row.support or None, None if row.rounds is None else str(row.rounds), *_numbers(row))
        for row in rows
        if row.bound is not None
    ]
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.bound is None:
            reasons.setdefault(row.reason, []).append(row.claim)
    table = [Table.of(("claim", "support", "rounds", "bound", "tau", "step"), body).without_empty()] if body else []
    without = [Bullets("No bound by", tuple(f"{', '.join(keys)}: {why}" for why, keys in reasons.items()))]
    note = [] if constants.Gamma is not None else ["Note: Gamma was not given: zeta_*^2/(2 mu) bounds it."]
    return [answer(rows, constants, rounds), *table, *(without if reasons else []), *note]


def _numbers(row: SmallestBound) -> tuple[str, str, str]:
    step = row.step_formula if row.step is None else f"{row.step:g}"
    return upward(row.bound or 0.0), str(row.tau), step
