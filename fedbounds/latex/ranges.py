"""Over what a sum or a least value ranges: all steps, all rounds or all clients."""

from __future__ import annotations

import re

# The first and last term of a sum over the steps of a run, by the number of its first step, and over its rounds.
STEPS, ROUNDS = {0: ("0", "T-1"), 1: ("1", "T")}, ("0", "R-1")
TO_T = ("0", "T")
CLIENTS = ("", "1 to N", r"\in I", r"\in\mathcal{I}", r"\in\mathcal{N}")
# How ranges are written: an index with its first and last value, or without the first.
LISTED = re.compile(r"(?P<name>\w)(?:=|\\in\\\{)(?P<first>\d),(?:\d,)*\\dots,(?P<last>[^{}\\]+)(?:\\\})?$")
BETWEEN = re.compile(r"(?:(?P<first>\d)<=)?(?P<name>\w)<(?P<equal>=?)(?P<last>.+)$")
FROM = re.compile(r"(?P<name>\w)=(?P<first>\d)$")
UP_TO = re.compile(r"(?P<name>\w)\\in\[(?P<last>[^,]+)\]$")


def ends(below: str, above: str) -> tuple[str, str, str]:
    """The index of a sum or a least value, its first value, "" where none is written, and its last.

    >>> ends("0<=t<T", ""), ends(r"t\\in[T]", ""), ends("t=0", "T-1")
    (('t', '0', 'T-1'), ('t', '1', 'T'), ('t', '0', 'T-1'))
    """
    if found := LISTED.match(below):
        return found["name"], found["first"], found["last"]
    if found := BETWEEN.match(below):
        return found["name"], found["first"] or "", found["last"] + ("" if found["equal"] else "-1")
    if found := FROM.match(below):
        return found["name"], found["first"], above
    if found := UP_TO.match(below):
        return found["name"], "1", found["last"]
    return "", below, above


def whole_range(first: str, last: str, start: int) -> str:
    """How a sum over part of the steps, or over something else, could be one that is read."""
    if not start and (first, last) == STEPS[1]:
        return "sum from 0 to T-1, or add % fedbounds: start 1 if the run starts at w_1"
    letter = last.removesuffix("-1")
    late = f"add % fedbounds: let {letter} = T where a run has {letter} steps; "
    late *= letter != "T" and bool(re.match(r"\w$", letter))
    steps = r"\sum_{t=1}^T" if start else r"\sum_{t<T}"
    return rf"{late}write \sum_i, {steps} or \sum_{{r<R}}"
