"""Wrong words on the command line: every parameter of every command with values that no study has.

    python -m validate.robustness.inputs

An answer is right where it is one sentence and the exit code 2. What is accepted runs, to its end or for PATIENCE
processor seconds; anything else that is raised, and a sentence of several lines, is wrong.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from fedbounds.cli.app import main as fedbounds
from validate.robustness.damage import Late, limited, one_line
from validate.runner import Study

PATIENCE = 2
# Imported, and compiled, first: where patience ends within, half a module stays behind for the calls that follow.
HEAVY = ("matplotlib.pyplot", "clarabel", "sklearn.datasets", "joblib", "rich.progress", "scipy.optimize", "torch")
# In place of any value: DEVICE, PIPE and FOLDER stand for such a file.
WORDS = (
    "", "nan", "-1", "1e400", "9" * 5000, "1e100000000", "1/0", "\x1b[2K\rverified", "é" * 10000, "[" * 10000,
    "fedavg,", "\udce9", "DEVICE", "PIPE", "/proc/x/y",
)  # fmt: skip
# Command -> the words that make it complete and small, before the parameter that is wrong.
BEFORE = {
    "bounds": "--L 10 --mu 1 --Gamma 1 --rho-bar 1 --rho-tilde 1 --tau 4 --G-sq 1 --sigma-sq 1",
    "certify": "star-step --tau 1 --kappa 4",
    "check": "--clients 3 --dimension 2 --samples 5 --rounds 4 --replicates 8 --claim lemma-1 --weighting fedavg",
    "design": "--rounds 1 --tau 1",
    "compare": "--clients 3 --dimension 2 --samples 5 --rounds 4 --replicates 8 --claim li-2020 --algorithm fedavg",
    "referee": "lemma-2",
    "refute": "lemma-1",
    "sharpen": "lemma-1 --seconds 1",
    "sweep": "FOLDER/study.toml --out FOLDER/sweep",
    "tight": "lemma-2 --tau 2 --kappa 4",
    "worst": "--rounds 1 --tau 1 --kappa 4",
    "vision run": "--data digits --partition iid --clients 3 --samples 20 --rounds 1 --epochs 1 --out FOLDER/vision",
}
STUDIES = (
    "--dimension 10000000", "--problem quadratic --dimension 10000000", "--problem logistic --dimension 1000000000",
    "--samples 1000000000", "--clients 1000000", "--rounds 1000000000", "--rounds 1000000000 --tau 1000000000",
)  # fmt: skip
RUNS = ("--replicates 1000000000", "--replicates 100000000000", "--batch 1000000000", "--batch 100000000000")
# Command -> sizes that no machine holds, alone.
SIZES = {
    "check": (*STUDIES, *RUNS),
    "compare": (*STUDIES, *RUNS),
    "certify": ("star-step --clients 1000000", "lemma-2 --tau 1000000", "lemma-2 --kappa 1e100000000"),
    "tight": ("lemma-2 --clients 1000000", "lemma-2 --tau 1000000"),
    "vision run": ("--data digits --clients 1000000", "--data digits --samples 1000000000"),
}


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command, with the words that name it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        elif command is not None:
            yield " ".join((*before, name)), command


def wrong_words(name: str, command: click.Command) -> Iterator[list[str]]:
    """The words of every call that is tried."""
    base = BEFORE.get(name, "").split()
    for parameter in command.params:
        for word in WORDS:
            if isinstance(parameter, click.Argument):
                yield [word]
            elif not getattr(parameter, "is_flag", False):
                yield [*base, f"{max(parameter.opts, key=len)}={word}"]
    yield [*base, "--no-such-flag"]
    for sizes in SIZES.get(name, ()):
        yield sizes.split()


def answer(name: str, words: list[str]) -> tuple[str, float]:
    """How a call is answered, and in how many processor seconds."""
    begun = time.process_time()
    try:
        with limited(PATIENCE):
            result = CliRunner().invoke(fedbounds, [*name.split(), *words])
    except Late:
        return "accepted", time.process_time() - begun
    spent, said = time.process_time() - begun, result.stderr.strip()
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        kind = "accepted" if isinstance(result.exception, Late) else f"traceback: {result.exception!r:.150}"
        return kind, spent
    if result.exit_code != 2:
        return "accepted", spent
    return ("refused" if said and one_line(said) else f"unreadable: {said[:150]!a}"), spent


def files(folder: Path) -> dict[str, str]:
    """What the words for files stand for."""
    places = {"DEVICE": folder / "device", "PIPE": folder / "pipe", "FOLDER": folder}
    os.mkfifo(places["PIPE"])
    try:
        os.mknod(places["DEVICE"], 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        places["DEVICE"] = places["PIPE"]
    (folder / "study.toml").write_text("[base]\nclients = 3\n[grid]\ntau = [1, 2]\n")
    return {word: str(path) for word, path in places.items()}


def tried(name: str, command: click.Command, places: dict[str, str]) -> dict[str, Any]:
    """The row of a command; what was wrong is printed."""
    answers, slowest = Counter[str](), 0.0
    for words in wrong_words(name, command):
        given = [functools.reduce(lambda part, pair: part.replace(*pair), places.items(), word) for word in words]
        result, spent = answer(name, given)
        answers[result] += 1
        slowest = max(slowest, round(spent, 2)) if result == "refused" else slowest
        if result not in ("refused", "accepted"):
            print(f"  {name} {' '.join(words)[:120]!a}: {result}", flush=True)
    row = {"command": name, "tried": answers.total(), "refused": answers["refused"], "accepted": answers["accepted"]}
    return row | {"wrong": row["tried"] - row["refused"] - row["accepted"], "slowest": slowest}


def compute(only: str = "") -> list[dict[str, Any]]:
    """A row a command; with ``only``, those recorded of other commands stay."""
    for name in HEAVY:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    CliRunner().invoke(fedbounds, ["check", *BEFORE["check"].split()])
    kept = {row["command"]: row for row in STUDY.stored()} if only else {}
    rows, here = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        places = files(Path(folder))
        for name, command in commands(fedbounds):
            os.chdir(tempfile.mkdtemp(dir=folder))  # what another command wrote by a wrong name is not there
            rows.append(tried(name, command, places) if name.startswith(only) else kept[name])
            print(rows[-1], flush=True)
        os.chdir(here)
    return rows


STUDY = Study(__doc__, "inputs", compute, lambda rows: f"{sum(row['wrong'] for row in rows)} wrong answers")

if __name__ == "__main__":
    sys.exit(any(row["wrong"] for row in STUDY.main()))
