"""The referee's verdict on each theorem that is a claim about FedAvg, kept for docs/theorems.md.

python -m validate.theorem_trials [KEY ...]      # half a minute to ten a theorem
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import fedbounds
from fedbounds.io import write_json
from fedbounds.plugins import claim_named
from fedbounds.report.trial_text import verdict
from fedbounds.theory.verdict import Status, word
from validate.runner import RESULTS
from validate.theorem_runs import ON_FEDAVG

KEPT = RESULTS / "theorem_trials.json"
# One theorem about FedAvg stands among the others on the page.
KEYS = (*(key for _, keys, _ in ON_FEDAVG for key in keys), "pepit-sgd-step")


def trial(key: str) -> dict[str, Any]:
    """`fedbounds referee KEY` in the claim's last reading: its word, its three sentences, how close regimes came."""
    (result,) = fedbounds.referee(key, claim_named(key).readings[-1])
    said = str(result.outcome) if result.proof is None else word(Status.HOLDS, result.proof.evidence)
    near = [line for line in result.lines_of("regimes") if line.startswith("bound over measured")]
    return {"word": said, "said": verdict(result), "near": near}


def kept() -> dict[str, dict[str, Any]]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else {}


def main(keys: Sequence[str]) -> None:
    for key in keys or KEYS:
        write_json(KEPT, {**kept(), key: trial(key)})


if __name__ == "__main__":
    main(sys.argv[1:])
