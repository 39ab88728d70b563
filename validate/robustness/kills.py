"""Processes killed at random moments: what was finished is kept, and the end is that of an uninterrupted run.

python -m validate.robustness.kills --kills 60 --out validate/results/kills.json      # spread over the commands
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fedbounds.io import read_json, write_json

# Runs begun for each kill asked for, at most: some end before they are killed.
TRIES = 4
STUDY = """\
[base]
clients = 3
dimension = 2
samples = 5
rounds = 3
replicates = 4
claims = ["lemma-1"]
weightings = ["fedavg"]
[grid]
seed = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
"""
SMALL = "--clients 3 --dimension 2 --samples 5 --rounds 40 --replicates 8 --claim lemma-1 --claim corollary"
DIGITS = "--data digits --partition iid --clients 3 --samples 20 --rounds 12 --epochs 1 --batch 8"
# Command -> its arguments, where OUT is a folder and STUDY a file of a sweep; and the files compared.
COMMANDS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "check": (["check", *SMALL.split(), "--out", "OUT"], ("result.json", "trajectories.npz", "*.svg")),
    "sweep": (["sweep", "STUDY", "--jobs", "2", "--out", "OUT"], ("sweep.csv",)),
    "refute": (["refute", "lemma-2", "--out", "OUT/found.json"], ("found.json",)),
    "referee": (["referee", "lemma-2", "--out", "OUT"], ("referee.tex",)),
    "certify --all": (["certify", "--all", "--tau", "2", "--out", "OUT"], ("*.jsonl",)),
    "vision run": (["vision", "run", *DIGITS.split(), "--out", "OUT"], ("run-*.json",)),
}


def digest(out: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    """Name -> SHA-256 of what is compared; the seconds that something took are left out."""
    result = sorted(path for pattern in patterns for path in out.glob(pattern))
    return {path.name: hashlib.sha256(_timeless(path.read_bytes())).hexdigest() for path in result}


def _timeless(content: bytes) -> bytes:
    import re

    return re.sub(rb'"seconds": (?:[\d.e-]+|\[[^]]*\])', b"", re.sub(rb"\d+\.\d+ s\b", b"", content))


def ended(arguments: list[str], out: Path, study: Path, after: float | None = None) -> tuple[int, str]:
    """Exit code and standard error of a command, killed ``after`` seconds if it runs so long."""
    words = [str(study) if word == "STUDY" else word.replace("OUT", str(out)) for word in arguments]
    command = [sys.executable, "-m", "fedbounds.cli", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        _, said = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, said = process.communicate()
    return process.returncode, said


def survived(name: str, kills: int, rng: random.Random, folder: Path) -> tuple[int, bool, float]:
    """Kills that took effect, whether the end is byte for byte that of a run without, and a whole run's seconds."""
    arguments, patterns = COMMANDS[name]
    study = folder / "study.toml"
    study.write_text(STUDY)

    def timed(out: Path, after: float | None = None) -> float | None:
        """Seconds of a run that came to its end, None where it was killed."""
        started = time.monotonic()
        code, said = ended(arguments, out, study, after)
        assert "Traceback" not in said, said
        return None if code == -signal.SIGKILL else time.monotonic() - started

    seconds = timed(folder / "whole") or 0.0
    whole, done = digest(folder / "whole", patterns), 0
    assert whole, f"{name} wrote nothing"
    outs = [folder / f"killed-{k}" for k in range(3)]  # three folders, so that a run is killed several times over
    for k in range(TRIES * kills):
        if done == kills:
            break
        new = not outs[k % 3].exists()
        result = timed(outs[k % 3], rng.uniform(0.1, 1) * seconds)
        done += result is None
        if result is not None:  # what came to its end is begun anew
            shutil.rmtree(outs[k % 3])
            seconds = min(seconds, result) if new else seconds
    same = all(timed(out) and digest(out, patterns) == whole for out in outs)
    return done, same, seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=COMMANDS)
    parser.add_argument("--out", type=Path, help="Write the table as JSON.")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    rows: list[dict[str, Any]] = []
    if chosen.only and chosen.out and chosen.out.exists():  # the other commands' rows stay
        rows = [row for row in read_json(chosen.out) if row["command"] != chosen.only]
    names = [chosen.only] if chosen.only else list(COMMANDS)
    for j, name in enumerate(names):
        kills = chosen.kills // len(names) + (j < chosen.kills % len(names))
        with tempfile.TemporaryDirectory() as folder:
            done, same, seconds = survived(name, kills, rng, Path(folder))
        rows.append({"command": name, "kills": done, "same": same, "seconds": round(seconds, 1)})
        print(rows[-1], flush=True)
        if chosen.out:
            write_json(chosen.out, rows)
    sys.exit(not all(row["same"] for row in rows))


if __name__ == "__main__":
    main()
