"""Do two versions of the package give the same results? Record each, then compare the folders.

    python -m validate.same_results before/     # in the old checkout
    python -m validate.same_results after/      # in the new one
    diff -r before/ after/

Recorded are nine studies (every number and verdict of their JSON), every derivation, every counterexample in
fractions and every certificate. The versions of the libraries and words written for people are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SMALL = "--rounds 30 --replicates 16"
STUDIES = {
    "default": "",
    "logistic-shards": f"--problem logistic --data breast-cancer --partition shards:30 {SMALL}",
    "digits": "--problem logistic --data digits --limit 400 --clients 5 --rounds 5 --replicates 4",
    "diabetes": f"--data diabetes --partition dirichlet:0.3 {SMALL}",
    "quadratic": f"--problem quadratic --condition 50 --imbalance 2 {SMALL}",
    "full-gradients": f"--batch full --step constant:0.02 {SMALL}",
    "participation": f"--participation 0.5 --stride 4 {SMALL}",
    "all-readings": "--reading literal --reading sync --reading all-steps --reading repaired "
    f"--weighting fedsoftmax:0.5 --weighting power-of-choice:4,2 {SMALL}",
    "reference-given": "--engine reference --sigma-sq 100 --G-sq 1e4 --without-replacement --tau 3 --rounds 10 "
    "--replicates 8",
}
# Words for people, and what says which software computed a result.
WORDS = {"detail", "versions", "settings", "note"}


def fedbounds(*arguments: str) -> str:
    """Standard output of one command of the package that stands in this folder."""
    command = [sys.executable, "-m", "fedbounds.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"fedbounds {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


def numbers(value: Any) -> Any:
    """A JSON value without words for people."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items() if key not in WORDS}
    return list(map(numbers, value)) if isinstance(value, list) else value


def main(folder: Path) -> None:
    """Write what this version gives into ``folder``, a number a line."""
    commands = {name: f"check --format json --quiet --claims all {flags}" for name, flags in STUDIES.items()}
    commands |= {"derivations": "derive --all --format json", "counterexamples": "refute --verify"}
    files = sorted(map(str, Path("derivations/certificates").glob("*.json*")))
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in (commands | {"certificates": " ".join(["verify-certificate", *files])}).items():
        print(name, flush=True)
        said = fedbounds(*words.split())
        if "--format json" in words:
            said = json.dumps(numbers(json.loads(said)), indent=0, sort_keys=True)
        (folder / f"{name}.txt").write_text(said)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
