"""Theorem files in LaTeX, damaged and read again.

    python -m validate.robustness.theorem_files --count 20000 --seed 1 --out validate/results/theorem_files.json

A file passes where it is read, or refused in one sentence. Anything else that is raised counts as a traceback, and
more than PATIENCE processor seconds as a hang.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fedbounds.io import read_json, write_json
from fedbounds.latex.reader import read_text
from fedbounds.latex.writer import write
from fedbounds.plugins import claims
from fedbounds.theory.claim import in_readings
from validate.robustness.formats import PATIENCE, answered
from validate.runner import ROOT, options

DISPLAYS = [
    ROOT / "tests" / "latex" / name
    for name in ("displays.tex", "collected.tex", "from_memory.tex", "found.tex", "fresh.tex")
]
# Answers are written after so many files each, so that a run that is ended early counts.
EACH = 1000
PIECE = re.compile(r"\\[A-Za-z]+|[0-9]+|[A-Za-z]|[^\sA-Za-z0-9]")
HOSTILE = (
    "99999999",
    "^{99999}",
    "9^9^9^9",
    "\n",
    "%",
    "{",
    "}",
    "^",
    "_",
    r"\left(",
    r"\frac",
    "((((((((",
    "é",
    "\0",
)


def valid() -> list[str]:
    """Every shipped claim in every reading as a file, and every display of the tests."""
    written = [write(claim, reading) for claim, reading in in_readings(claims())]
    for text in (path.read_text() for path in DISPLAYS):
        head = text[: text.index("%%%")]
        shown = re.finditer(r"\\begin\{(theorem|lemma|corollary)\}.*?\\end\{\1\}", text, re.DOTALL)
        written += [head + result[0] for result in shown]
    return written


def mutated(rng: random.Random, text: str) -> str:
    """One to six pieces left out, put in, replaced, repeated or moved."""
    pieces = [*PIECE.findall(text), *HOSTILE]
    for _ in range(rng.randint(1, 6)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randint(1, 12))
        there = rng.randrange(len(text) + 1)
        new = (
            "",
            rng.choice(pieces),
            text[start:end] * rng.randint(2, 4),
            text[there : there + 20] + text[start:end],
        )
        text = text[:start] + rng.choice(new) + text[rng.choice((start, end)) :]
    return text


def drawn(seed: int, number: int, files: Sequence[str]) -> str:
    """The file of that number, damaged; each is drawn alone, so that one that fails can be had again."""
    rng = random.Random(f"{seed}-{number}")
    return mutated(rng, rng.choice(files))


def main() -> None:
    given = options(__doc__, count=20000, seed=1, out=Path)
    files = valid()
    result: Counter[str] = Counter()
    before = read_json(given.out) if given.out and given.out.exists() else {"count": 0, "seeds": [], "answers": {}}
    for number in range(given.count):
        text = drawn(given.seed, number, files)
        answer = answered(lambda text=text: read_text(text))
        if answer not in ("accepted", "refused"):
            print(f"seed {given.seed}, file {number}: {answer}", flush=True)
        result[answer] += 1
        if given.out and (number % EACH == EACH - 1 or number == given.count - 1):
            total, seeds = Counter(before["answers"]) + result, [*before["seeds"], given.seed]
            count = before["count"] + result.total()
            write_json(given.out, {"count": count, "seeds": seeds, "patience": PATIENCE, "answers": dict(total)})
    print(dict(result))


if __name__ == "__main__":
    main()
