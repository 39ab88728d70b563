"""Long lines of Python, folded inside their brackets.

>>> print(folded("total = first + second", width=15))
total = (first
    + second)
"""

from __future__ import annotations

import re

WIDTH = 100


def folded(line: str, width: int = WIDTH) -> str:
    """A line of Python in several where it is too long, its comment above it."""
    if len(line) <= width or line.startswith("#"):
        return line
    code, _, comment = line.partition("  # ")
    above = f"{line[: len(line) - len(line.lstrip())]}# {comment}\n" if comment else ""
    if comment and len(code) <= width:
        return above + code
    assigned = re.fullmatch(r"(\s*[\w, ]+) = (.+)", code)
    rest, parts = f"{assigned[1]} = ({assigned[2]})" if assigned else code, list[str]()
    while len(rest) > width and (end := _break(rest, sum(map(_depth, parts)), width)):
        parts, rest = [*parts, rest[:end]], f"    {rest[end:].lstrip()}"
    return above + "\n".join([*parts, rest])


def _depth(text: str) -> int:
    """How many brackets text leaves open, less how many it closes."""
    return sum((mark in "([") - (mark in ")]") for mark in text)


def _break(text: str, depth: int, width: int) -> int:
    """Where a line is broken: before the last sum or after the last comma in the outermost bracket, else inside."""
    best = (0, 0)
    for k, mark in enumerate(text[:width]):
        depth += (mark in "([") - (mark in ")]")
        if mark == " " and depth > 0 and text[:k].strip():
            good = text[k + 1] in "+-" or text[k - 1] == ","
            best = max(best, (2 * (depth == 1) + good, k))
    return best[1]
