"""Bounds at given constants as text: speed, error, the value at T and the rounds to epsilon."""

from __future__ import annotations

from fedbounds.report.number_format import number
from fedbounds.report.table import Block, Table
from fedbounds.study.bounds import Bounds


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
