"""Empirical evidence: a claim against a simulated run, with control of the error."""

from fedbounds.evidence.empirical.comparison import (
    Comparison,
    compare,
    decide,
    examine,
    examine_rate,
    failed_assumptions,
    known_columns,
    not_applicable,
)

__all__ = [
    "Comparison",
    "compare",
    "decide",
    "examine",
    "examine_rate",
    "failed_assumptions",
    "known_columns",
    "not_applicable",
]
