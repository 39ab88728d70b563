"""Do two versions of the package give the same results? Record each, then compare.

    python -m validate.same_results record before/     # in the old checkout
    python -m validate.same_results record after/      # in the new one
    python -m validate.same_results compare before/ after/

Recorded are nine studies (every number and verdict of their JSON), every derivation, every counterexample in
fractions and every certificate. Only the versions of the libraries and words written for people may differ.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SMALL = ["--rounds", "30", "--replicates", "16"]
STUDIES: dict[str, list[str]] = {
    "default": [],
    "logistic-shards": ["--problem", "logistic", "--data", "breast-cancer", "--partition", "shards:30", *SMALL],
    "digits": ["--problem", "logistic", "--data", "digits", "--limit", "400", "--clients", "5", "--rounds", "5",
               "--replicates", "4"],
    "diabetes": ["--data", "diabetes", "--partition", "dirichlet:0.3", *SMALL],
    "quadratic": ["--problem", "quadratic", "--condition", "50", "--imbalance", "2", *SMALL],
    "full-gradients": ["--batch", "full", "--step", "constant:0.02", *SMALL],
    "participation": ["--participation", "0.5", "--stride", "4", *SMALL],
    "all-readings": ["--reading", "literal", "--reading", "sync", "--reading", "all-steps", "--reading", "repaired",
                     "--weighting", "fedsoftmax:0.5", "--weighting", "power-of-choice:4,2", *SMALL],
    "reference-given": ["--engine", "reference", "--sigma-sq", "100", "--G-sq", "1e4", "--without-replacement",
                        "--tau", "3", "--rounds", "10", "--replicates", "8"],
}  # fmt: skip
# Words for people, and what says which software computed a result.
WORDS = {"detail", "versions", "settings", "note"}


def fedbounds(*arguments: str) -> str:
    """Standard output of one command of the package that stands in this folder."""
    code = "import sys; from fedbounds.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"fedbounds {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


def record(folder: Path) -> None:
    """Write what this version gives into ``folder``, one JSON file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, flags in STUDIES.items():
        print(name, flush=True)
        (folder / f"{name}.json").write_text(
            fedbounds("check", "--format", "json", "--quiet", "--claims", "all", *flags)
        )
    (folder / "derivations.json").write_text(fedbounds("derive", "--all", "--format", "json"))
    (folder / "counterexamples.txt").write_text(fedbounds("refute", "--verify"))
    files = sorted(str(path) for path in Path("derivations/certificates").glob("*.json*"))
    (folder / "certificates.txt").write_text(fedbounds("verify-certificate", *files))


def differences(a: Any, b: Any, place: str = "") -> Iterator[str]:
    """Where two JSON values differ, words for people left out."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b} - WORDS):
            if key not in a or key not in b:
                yield f"{place}/{key}: only {'after' if key in b else 'before'}"
            else:
                yield from differences(a[key], b[key], f"{place}/{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            yield from differences(left, right, f"{place}/{index}")
    elif a != b:
        yield f"{place}: {str(a)[:60]} -> {str(b)[:60]}"


def compare(before: Path, after: Path) -> int:
    """Print every difference; the number of files that differ."""
    count = 0
    for path in sorted(before.iterdir()):
        one, two = path.read_text(), (after / path.name).read_text()
        if path.suffix == ".json":
            result = list(differences(json.loads(one), json.loads(two)))
        else:
            result = [f"-{line}" for line in one.splitlines() if line not in two.splitlines()]
            result += [f"+{line}" for line in two.splitlines() if line not in one.splitlines()]
        print(f"{path.name}: {'the same' if not result else f'{len(result)} differences'}")
        for line in result[:20]:
            print("   ", line)
        count += bool(result)
    return count


if __name__ == "__main__":
    if sys.argv[1] == "record":
        record(Path(sys.argv[2]))
    else:
        sys.exit(min(compare(Path(sys.argv[2]), Path(sys.argv[3])), 1))
