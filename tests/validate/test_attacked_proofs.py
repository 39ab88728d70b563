"""The attack on found proofs: a small one, and what it counts as false."""

import random
from collections import Counter
from pathlib import Path

from fedbounds.theory.reading import READINGS
from validate import attacked_proofs
from validate.attacked_proofs import Theorem, certificates_attacked, proofs_attacked
from validate.outside_theorems.trials import CLAIMS

ROOT = Path(__file__).parents[2]


def test_at_least_a_thousand_were_tried_and_none_false_was_accepted():
    record = attacked_proofs.STUDY.stored()
    rows = record["kinds"]
    rocq = sum(row["tried"] for kind, row in rows.items() if kind.startswith("Rocq"))
    ours = sum(row["tried"] for row in rows.values()) - rocq
    assert ours >= 1000 and not any(row["false"] for row in rows.values())
    page = " ".join((ROOT / "docs" / "robustness.md").read_text().split())
    told = f"{ours:,} changed proofs, certificates and claims of {len(record['theorems'])} proved theorems"
    assert f"{told}, and {rocq} at Rocq, were attacked: none false was accepted" in page


def test_a_small_attack_counts_what_it_tried_and_none_false_is_accepted():
    claim, reading = CLAIMS["ordinary-04a"], READINGS["plain"]
    known = Theorem(claim, reading, attacked_proofs._proof(claim, reading, 20.0))
    assert known.proved_by(known.proof)
    tally = Counter()
    proofs_attacked([known], 12, random.Random(1), tally)
    certificates_attacked(6, random.Random(1), tally)
    assert sum(n for key, n in tally.items() if key.endswith("tried")) == 18
    assert not sum(n for key, n in tally.items() if key.endswith("false"))


def test_what_the_checker_takes_with_another_line_counts_as_false(monkeypatch):
    claim, reading = CLAIMS["ordinary-04a"], READINGS["plain"]
    known = Theorem(claim, reading, attacked_proofs._proof(claim, reading, 20.0))
    monkeypatch.setattr(Theorem, "proved_by", lambda *_: True)
    tally = Counter()
    proofs_attacked([known], 40, random.Random(1), tally)
    assert tally["proof: constant, false"] == tally["proof: constant, tried"] > 0
