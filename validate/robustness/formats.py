"""Every format that is read back, with a valid example of each and what a command makes of it.

python -m validate.robustness.formats --seconds 60        # mutations of all formats, until the time is over
python -m validate.robustness.formats --count 100000 --out validate/results/formats.json
python -m validate.robustness.formats --only LaTeX --count 100000 --out validate/results/theorem_files.json
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbounds.io import read_json, shaped, write_json
from validate.robustness.damage import answered, json_file, latex, toml_file
from validate.runner import ROOT, options

# Seconds that a format is tried before the next has its turn.
SLICE = 0.3
LATEX = "theorem in LaTeX"
DISPLAYS = ("displays", "collected", "from_memory", "found", "fresh")


@dataclass(frozen=True)
class Format:
    """A kind of file: its name, the reader of a command, the place of its damaged files, and what damages one."""

    name: str
    read: Callable[[Path], object]
    path: Path
    mutate: Callable[[random.Random, bytes], bytes]

    def tried(self, rng: random.Random, valid: bytes) -> str:
        """How the reader answers one mutation: accepted, refused, or what it raised."""
        self.path.write_bytes(self.mutate(rng, valid))
        return answered(lambda: self.read(self.path))


def formats(folder: Path) -> list[tuple[Format, bytes]]:
    """Every format of a file that the package writes, with a valid one; ``folder`` is written to."""
    parts = (_sweeps, _evidence, _vision)
    return [pair for part in parts for pair in part(folder)]


def theorem_files() -> list[str]:
    """Every shipped claim in every reading as a file of LaTeX, and every display of the tests."""
    from fedbounds.latex.writer import write
    from fedbounds.plugins import claims
    from fedbounds.theory.claim import in_readings

    written = [write(claim, reading) for claim, reading in in_readings(claims())]
    for text in ((ROOT / "tests" / "latex" / f"{name}.tex").read_text() for name in DISPLAYS):
        head = text[: text.index("%%%")]
        shown = re.finditer(r"\\begin\{(theorem|lemma|corollary)\}.*?\\end\{\1\}", text, re.DOTALL)
        written += [head + result[0] for result in shown]
    return written


def _theorems(folder: Path) -> tuple[Format, bytes]:
    """Theorem files, each mutation of another one."""
    from fedbounds.latex.reader import read_text

    files = theorem_files()

    def mutate(rng: random.Random, valid: bytes) -> bytes:
        return latex(rng, rng.choice(files)).encode()

    return Format(LATEX, lambda path: read_text(path.read_text("utf-8")), folder / "t.tex", mutate), files[0].encode()


def _sweeps(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds.study import sweep
    from fedbounds.study.sweep import CELLS, MEASURED, CellResult, read_table

    text = """\
[base]
clients = 3
problem = "quadratic"
step = "theory"
[grid]
tau = [1, 2]
batch = [2, "full"]
weightings = [["fedavg", "fedmax"], "fedsoftmax:1"]
"""
    about = ("fedavg", "corollary", "repaired", "empirical", "HOLDS")
    named = dict(zip(("weighting", "claim", "reading", "evidence", "status"), about, strict=True))
    measured = {"tightness": 2.0, "gap_last": 1.0, "floor_low": 0.5, "floor_high": 1.5, "floor": "open", "N": 3}
    row = dict.fromkeys(MEASURED) | named | measured | {"detail": "a"}
    out = folder / "sweep"
    (folder / "study.toml").write_text(text)
    study = sweep.read_grid(folder / "study.toml")
    failed = study[-1].key

    def compute(cell: sweep.Cell) -> CellResult:
        wrong = cell.key == failed
        return CellResult(cell.settings, () if wrong else (row,), "out of memory" if wrong else None)

    sweep.sweep(study, out, jobs=1, compute=compute)

    def read(path: Path) -> None:
        read_table(out).save(out / "table.csv")

    yield Format("study.toml", sweep.read_grid, folder / "mutant.toml", toml_file), text.encode()
    kept = out / CELLS / f"{study[0].key}.json"
    yield Format("cell.json", read, kept, json_file), kept.read_bytes()


def _evidence(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds.evidence.exact import counterexamples
    from fedbounds.evidence.kernel.rocq_runs import Audited
    from fedbounds.evidence.sdp.one_step.certificate import describe, verified_certificates
    from fedbounds.plugins import claims, shipped

    known = claims()

    def certificates(path: Path) -> None:
        for certificate, wrong in verified_certificates([path], known):
            if not wrong:
                describe(certificate)

    lines = next(path for path in shipped("certificates/stated.jsonl")).read_bytes().splitlines(keepends=True)
    yield Format("certificates", certificates, folder / "c.jsonl", json_file), b"".join(lines[:2])
    for path in list(counterexamples.all_files())[::6]:
        where = folder / "counterexample.json"
        reader = lambda path: counterexamples.read(path).verify()  # noqa: E731
        yield Format(f"counterexample {path.stem}", reader, where, json_file), path.read_bytes()
    proofs = next(shipped("rocq/*.json"), None)
    if proofs is not None:
        reader = lambda path: shaped(read_json(path), list[Audited], path.name)  # noqa: E731
        yield Format("audit of the kernel", reader, folder / "audit.json", json_file), proofs.read_bytes()


def _vision(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds.cli.commands.vision import _text
    from fedbounds.vision import records

    record = {
        "settings": {"data": "digits", "partition": "iid", "rounds": 3, "seed": 0, "target": 0.5},
        "weighting": "fedsoftmax:0.2", "repetition": 0, "seed": 0, "p": [0.5, 0.5], "accuracy": [0.1, 0.5, 0.6, 0.7],
        "test_loss": [1.0, 0.5, None, 0.3], "client_losses": [None, [1.0, 2.0], None, [0.5, None]],
        "alpha": [[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]],
    }  # fmt: skip

    def read(path: Path) -> None:
        rows = records.table(records.read(path))
        _text(rows)
        json.dumps(rows, allow_nan=False)

    yield (
        Format("record of a vision run", read, folder / "run-fedavg-000.json", json_file),
        json.dumps(record).encode(),
    )


def run(seconds: float, count: int, seed: int, chosen: list[tuple[Format, bytes]]) -> list[dict[str, Any]]:
    """A row a format: how its mutations were answered, until ``seconds`` or ``count`` are over."""
    seen: dict[str, Counter[str]] = {form.name: Counter() for form, _ in chosen}
    for form, valid in chosen:
        form.path.write_bytes(valid)
        good = answered(lambda form=form: form.read(form.path), 300)
        if good != "accepted":
            print(f"the valid {form.name} is not accepted: {good}")
    rng, total = random.Random(seed), 0
    started, spent = time.monotonic(), Counter[str]()
    while total < count and time.monotonic() - started < seconds:
        # The format that has had the least time is next, so that slow readers do not take it all.
        form, valid = min(chosen, key=lambda pair: spent[pair[0].name])
        begun = time.monotonic()
        while time.monotonic() - begun < SLICE and total < count:
            seen[form.name][form.tried(rng, valid)] += 1
            total += 1
        spent[form.name] += time.monotonic() - begun
    rows = []
    for name, answers in seen.items():
        row = {"format": name, "tried": answers.total(), "refused": answers["refused"], "read": answers["accepted"]}
        rows.append(row | {"wrong": row["tried"] - row["refused"] - row["read"]})
        print("{format}: {tried} tried, {refused} refused, {read} read, {wrong} wrong".format(**rows[-1]))
        others = [(n, answer) for answer, n in answers.most_common() if answer not in ("accepted", "refused")]
        print(*(f"    {n} x {answer}\n" for n, answer in others), sep="", end="")
    return rows


def main() -> None:
    asked = options(__doc__, seconds=float("inf"), count=10**9, seed=0, only="", out=Path)
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", folder)
        every = [*formats(Path(folder)), _theorems(Path(folder))]
        rows = run(asked.seconds, asked.count, asked.seed, [pair for pair in every if asked.only in pair[0].name])
    if asked.out:
        write_json(asked.out, {"seed": asked.seed, "formats": rows})
    print(f"{sum(row['tried'] for row in rows)} mutations, {sum(row['wrong'] for row in rows)} wrong answers")
    sys.exit(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    main()
