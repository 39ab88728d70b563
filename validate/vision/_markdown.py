"""Markdown from stored numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedbounds.vision import estimates
from fedbounds.vision.estimates import Estimate
from validate.vision._common import Data

# Study -> its stored numbers; absent where it has not been run.
Results = Mapping[str, Data]
NOTHING = "Nothing is stored yet."


def estimate(found: Mapping[str, Any]) -> Estimate:
    """The estimate that a JSON object was made from: null is what was not finite there."""
    unknown = {"value": math.nan, "lower": -math.inf, "upper": math.inf, "least": math.nan}
    unknown["most"] = math.inf if found["kind"] == "median" else math.nan
    known = [other if found[key] is None else found[key] for key, other in unknown.items()]
    value, lower, upper, least, most = known
    counted = (found["count"], found["confidence"], found["note"])
    return Estimate(found["kind"], value, lower, upper, least, most, *counted)


def shown(found: Mapping[str, Any], digits: int, scale: float = 1.0) -> str:
    """``12.4 [11.8, 13.0]``, ``median 12 [11, 14]``."""
    kind = "median " if found["kind"] == "median" else ""
    return kind + estimates.text(estimate(found), digits, scale)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(cell(value) for value in row) + " |" for row in rows)])


def cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("*", "\\*")


def rows_of(data: Data) -> Iterable[tuple[str, str, Data]]:
    """(framework, weighting, row) of cases by framework."""
    for framework, case in data.items():
        for weighting, row in case["weightings"].items():
            yield framework, weighting, row


def sentences(data: Data) -> str:
    """Every case of every claim with its numbers."""
    found = []
    for claim in data["claims"]:
        if claim["cases"]:
            found += ["", f"*{claim['says']}* (rule: {', '.join(claim['rules'])})", ""]
            found += [f"- {case['case']}: **{case['verdict']}**. {cell(case['sentence'])}" for case in claim["cases"]]
    return "\n".join(found).strip()
