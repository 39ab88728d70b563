"""Colours, dashes and markers of the pictures, apart in greyscale and for every kind of colour vision."""

import itertools
from typing import Any

from fedbounds.plugins import with_role
from fedbounds.study.bounds import distinct_readings
from fedbounds.theory.claim import Role
from fedbounds.theory.symbols import Scope

Style = dict[str, Any]
# (claim, reading) -> label and style of its line.
Lines = dict[tuple[str, str], tuple[str, Style]]

# Okabe and Ito's palette: distinct to every kind of colour vision, and in greyscale with the dashes.
BLACK, BLUE, ORANGE, GREEN, PURPLE, SKY = "#000000", "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9"
# The first claim drawn has a line a reading; every other one has a style of its own, given from the last one on.
READING_STYLES: dict[str, Style] = {
    "repaired": {"color": BLUE, "ls": "-", "marker": "s"},
    "literal": {"color": ORANGE, "ls": (0, (5, 2)), "marker": "o"},
    "sync": {"color": PURPLE, "ls": (0, (1, 1.2)), "marker": "D"},
}
OTHER_STYLES: tuple[Style, ...] = (
    {"color": GREEN, "ls": (0, (6, 2, 1, 2)), "marker": "^"},
    READING_STYLES["sync"],
    {"color": SKY, "ls": (0, (3, 1, 1, 1, 1, 1)), "marker": "v"},
)
# Lines of the reader's own claims, in this order.
OWN: tuple[Style, ...] = (
    {"color": "#CC0033", "ls": (0, (2, 1)), "marker": "P"},
    {"color": "#666666", "ls": (0, (4, 1, 1, 1)), "marker": "X"},
    {"color": "#8C6D00", "ls": (0, (1, 3)), "marker": "*"},
    {"color": "#004D40", "ls": (0, (8, 3)), "marker": "<"},
    {"color": "#5E35B1", "ls": (0, (3, 3)), "marker": ">"},
)
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
MARKERS = "osD^v<>P"
CLIENTS = (BLACK, ORANGE, SKY, GREEN, PURPLE, BLUE)
PANEL, DPI = (3.4, 2.7), 130
RC: Any = {
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "mathtext.fontset": "stix",
    "svg.hashsalt": "fedbounds",
}


def lines(scope: Scope) -> Lines:
    """The claims to draw against a run over a scope, each in every reading that draws another line."""
    drawn = [claim for claim in with_role(Role.PICTURED) if claim.scope == scope]
    first = max(drawn, key=lambda claim: len(claim.readings))
    readings = distinct_readings(first)[::-1] if scope == "horizon" else first.readings
    result: Lines = {(first.key, name): (f"{first.short}, {name}", READING_STYLES[name]) for name in readings}
    rest = [claim for claim in drawn if claim is not first][::-1]
    for claim, style in zip(rest, itertools.cycle(OTHER_STYLES)):
        result[claim.key, claim.readings[0]] = (claim.short or claim.title, style)
    return result
