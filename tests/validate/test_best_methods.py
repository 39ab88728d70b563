"""The table of best step sizes: its gaps, the runs below it, and docs/design.md."""

import re
from pathlib import Path

import pytest
import sympy as sp

from fedbounds.io import read_json
from validate.best_methods import RANDOM, cell

ROOT = Path(__file__).parent.parent.parent
ROWS = read_json(ROOT / "validate" / "results" / "design.json")
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


def test_the_stored_table():
    good = [row for row in ROWS if row["certified"] and row["gap"] < 1e-3]
    runs = sum(row["random"] for row in ROWS)
    assert len(good) >= 100 and runs > 10**5 and all(row["highest"] < row["worst"] for row in ROWS)
    assert f"{len(ROWS)} cells" in PAGE and f"{len(good)} of them" in PAGE and f"{runs:,} random runs" in PAGE


def test_what_was_noticed_in_it():
    away, gained = [], []
    for row in ROWS:
        law = ((row["kappa"] - 1) / (row["kappa"] + 1)) ** (2 * row["rounds"])
        if row["zeta_star"] == 0 and abs(row["worst"] / law ** row["tau"] - 1) > 2e-4:
            away.append((row["kappa"], row["tau"], row["rounds"]))
        if row["zeta_star"] == 1 and row["kappa"] == 100:
            gained.append(1 - row["worst"] / law)
    assert away == [(2, 2, 2)] and max(gained) < 1e-3


def test_the_servers_step_of_the_page():
    """eta_s = 2/(a + b) makes the factors of a round on (mu/2) ||w||^2 and (L/2) ||w||^2 opposite; none is better."""
    a, b, s = sp.symbols("a b s", positive=True)
    assert sp.expand(b * (1 - s * a) - a * (1 - s * b) - (b - a)) == 0
    assert sp.simplify((1 - s * a).subs(s, 2 / (a + b)) - (b - a) / (a + b)) == 0
    off, below = [], []
    for row in ROWS:
        mean, last = (1 - (1 - row["etas"][0] * h) ** row["tau"] for h in (1 / row["kappa"], 1))
        below.append((abs(last - mean) / (mean + last)) ** (2 * row["rounds"]) / row["worst"])
        if row["zeta_star"] == 1 and row["tau"] > 1:
            off.append(abs(row["server"] * (mean + last) / 2 - 1))
    assert len(off) > 25 and 0.005 < max(off) < 0.006 and "within 0.6%" in PAGE
    assert max(below) <= 1 and sorted(below)[len(below) // 2] > 0.7


def test_the_page_has_the_stored_numbers():
    rows = {row["tau"]: row for row in ROWS if (row["rounds"], row["kappa"], row["zeta_star"]) == (3, 10, 1)}
    shown = re.findall(r"^\| (\d) \| ([\d.]+), ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    assert len(shown) == 4
    for tau, *numbers in shown:
        if int(tau) in rows:
            row = rows[int(tau)]
            stored = [row["etas"][0], row["server"], row["worst"], row["usual_worst"]]
            assert [float(item) for item in numbers] == pytest.approx(stored, rel=2e-2, abs=6e-5)


def test_a_cell_is_computed_again():
    again, (row,) = (
        cell(2, 1, 10, 1),
        [r for r in ROWS if (r["tau"], r["rounds"], r["kappa"], r["zeta_star"]) == (2, 1, 10, 1)],
    )
    assert again["worst"] == pytest.approx(row["worst"], rel=2e-4) and again["random"] == RANDOM
    assert again["certified"] and again["lower"] >= row["lower"] * (1 - 4e-4)
