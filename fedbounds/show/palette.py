"""Colours, dashes and markers of the pictures, apart in greyscale and for every kind of colour vision."""

from __future__ import annotations

from typing import Any

Style = dict[str, Any]
# (claim, reading) -> label and style of its line.
Lines = dict[tuple[str, str], tuple[str, Style]]

# Okabe and Ito's palette: distinct to every kind of colour vision, and in greyscale with the dashes.
BLACK, BLUE, ORANGE, GREEN, PURPLE, SKY = "#000000", "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9"
BOUNDS: Lines = {
    ("corollary", "repaired"): ("corollary, repaired", {"color": BLUE, "ls": "-", "marker": "s"}),
    ("corollary", "literal"): ("corollary, literal", {"color": ORANGE, "ls": (0, (5, 2)), "marker": "o"}),
    ("sharper-corollary", "repaired"): (
        "sharper corollary",
        {"color": GREEN, "ls": (0, (6, 2, 1, 2)), "marker": "^"},
    ),
    ("li-2020", "literal"): ("Li et al. 2020 (own step size)", {"color": PURPLE, "ls": (0, (1, 1.2)), "marker": "D"}),
    ("cho-2020", "literal"): ("Cho et al. 2020", {"color": SKY, "ls": (0, (3, 1, 1, 1, 1, 1)), "marker": "v"}),
}
STEPS: Lines = {
    ("theorem-1", "literal"): ("Theorem 1, literal", BOUNDS["corollary", "literal"][1]),
    ("theorem-1", "sync"): ("Theorem 1, sync", {"color": PURPLE, "ls": (0, (1, 1.2)), "marker": "D"}),
    ("theorem-1", "repaired"): ("Theorem 1, repaired", BOUNDS["corollary", "repaired"][1]),
    ("sharper-step", "repaired"): ("sharper step", BOUNDS["sharper-corollary", "repaired"][1]),
}
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))
# Six colours and four dashes: twelve clients before a pair repeats.
CLIENTS = (BLACK, ORANGE, SKY, GREEN, PURPLE, BLUE)
# Up to this many clients a legend names each; beyond it a colour bar does.
NAMED_CLIENTS = 12
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
