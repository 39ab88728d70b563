"""Every format that is read back, with a valid example of each and what a command makes of it.

    python -m validate.robustness.formats --seconds 60        # mutations of all formats, until the time is over
    python -m validate.robustness.formats --count 100000 --out validate/results/formats.json

A mutation passes where it is read, or refused in one sentence (InputError, DivergedError). Anything else that is
raised counts as a traceback, and more than PATIENCE processor seconds as a hang.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedbounds.errors import DivergedError, InputError
from fedbounds.io import write_json
from validate.runner import options

PATIENCE = 10
DEEP = 10**5
# Seconds that a format is tried before the next has its turn.
SLICE = 0.3
# What stands in place of a value, or is put beside it.
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**9, 2**63, 10**40, 0.5, -1e308, 1e-320, "", "text", "1/0", "1e100000000", "1e-99999",
    "-3/7", "nan", "inf", "\x1b[2K\rverified", "<script>alert(1)</script>", "javascript:alert(1)", "é" * 20000, "\0",
    "\ud800", [], [[]], {}, {"": None}, [None], [0], ["1/2"], "HOLDS", "empirical", "../../etc/passwd", "9" * 5000,
)  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A kind of file: its name, a function that writes a valid one at a path, and the reader that a command uses."""

    name: str
    read: Callable[[Path], object]
    path: Path
    mutate: Callable[[random.Random, bytes], bytes]

    def tried(self, rng: random.Random, valid: bytes) -> str:
        """How the reader answers one mutation: accepted, refused, or what it raised."""
        self.path.write_bytes(self.mutate(rng, valid))
        return answered(lambda: self.read(self.path))


class Late(BaseException):
    """Raised where patience ends; no reader takes it for an error of a file."""


@contextlib.contextmanager
def limited(patience: float) -> Iterator[None]:
    """Raise Late in what takes longer than so many processor seconds."""

    def late(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def one_line(said: str) -> bool:
    """Whether an answer is one line that a terminal shows as it is."""
    return "\n" not in said and said.isprintable() and len(said) <= 2000


def answered(read: Callable[[], object], patience: int = PATIENCE) -> str:
    try:
        with limited(patience):
            read()
        return "accepted"
    except (InputError, DivergedError) as wrong:
        said = str(wrong)
        return "refused" if all(map(one_line, said.split("\n"))) else f"unreadable sentence: {said[:200]!a}"
    except Late:
        where = traceback.extract_tb(sys.exc_info()[2])
        return f"hang: {next((f'{f.filename}:{f.lineno}' for f in reversed(where) if 'fedbounds' in f.filename), '')}"
    except Exception as wrong:
        where = [f for f in traceback.extract_tb(wrong.__traceback__) if "/fedbounds/" in f.filename]
        at = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
        return f"traceback: {type(wrong).__name__} at {at}: {str(wrong)[:80]!a}"


def flipped(rng: random.Random, valid: bytes) -> bytes:
    """Cut short, bits flipped, a piece doubled, left out or overwritten."""
    made = bytearray(valid)
    for _ in range(rng.randint(1, 3)):
        a = rng.randrange(max(len(made), 1))
        b = min(a + rng.choice((1, 1, 4, 40)), len(made))
        piece = rng.choice(
            (b"", b"\0", b"\xff\xfe", b"[" * DEEP, b"9" * 5000, b"1e400", b"{}", b'"', b"NaN", b"\n\n")
        )
        how = rng.randrange(4)
        if how == 0:
            del made[a:]
        elif how == 1 and made:
            made[a] ^= 1 << rng.randrange(8)
        elif how == 2:
            made[a:b] = piece
        else:
            made[a:a] = made[a:b] * rng.choice((1, 2, 100))
    return bytes(made)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*at, key))


def replaced(rng: random.Random, value: Any) -> Any:
    """The JSON value with one of its parts replaced, left out, doubled or given another name."""
    *at, last = rng.choice(list(places(value))) or (None,)
    if last is None:
        return rng.choice(HOSTILE)
    made = json.loads(json.dumps(value))
    inner = made
    for key in at:
        inner = inner[key]
    how = rng.randrange(5)
    if how == 0:
        del inner[last]
    elif how == 1 and isinstance(inner, list):
        inner.extend([inner[last]] * rng.choice((1, 1000)))
    elif how == 1:
        inner[str(rng.choice(HOSTILE))[:50]] = inner.pop(last)
    else:
        inner[last] = rng.choice(HOSTILE)
    return made


def json_file(rng: random.Random, valid: bytes) -> bytes:
    """A mutation of a JSON file (or of one line of a file of JSON lines)."""
    if rng.random() < 0.25:
        return flipped(rng, valid)
    lines = valid.splitlines() if valid.count(b"\n{") and valid.startswith(b"{") else [valid]
    k = rng.randrange(len(lines))
    value = json.loads(lines[k])
    for _ in range(rng.choice((1, 1, 2))):
        value = replaced(rng, value)
    lines[k] = json.dumps(value).encode()
    return b"\n".join(lines)


def toml_file(rng: random.Random, valid: bytes) -> bytes:
    """A mutation of a study of a sweep."""
    if rng.random() < 0.3:
        return flipped(rng, valid)
    lines = valid.decode().splitlines()
    k = rng.randrange(len(lines))
    name = lines[k].partition("=")[0]
    value = rng.choice((*HOSTILE, 1e400, "quadratics:1e400", [1, 2], ["a", "a"], "theory:1", "fedmax:0"))
    try:
        written = json.dumps(value).replace("null", "nan").replace("{", "[").replace("}", "]").replace(": ", ", ")
    except ValueError:
        written = "inf"
    lines[k] = rng.choice((f"{name}= {written}", "", f"{lines[k]}\n{lines[k]}", f"[{name}]", f"x{lines[k]}"))
    return "\n".join(lines).encode("utf-8", "replace")


def formats(folder: Path) -> list[tuple[Format, bytes]]:
    """Every format, with a valid file of it; ``folder`` is written to."""
    return [
        *_sweeps(folder),
        *_evidence(folder),
        *_referee(folder),
        *_vision(folder),
        *_data(folder),
    ]


def _sweeps(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds.study import study_file, sweep
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
    study = study_file.read_grid(folder / "study.toml")
    failed = study.cells[-1].key

    def compute(cell: study_file.Cell) -> CellResult:
        wrong = cell.key == failed
        return CellResult(cell.settings, () if wrong else (row,), "out of memory" if wrong else None)

    sweep.sweep(study, out, jobs=1, compute=compute)

    def read(path: Path) -> None:
        read_table(out).save(out / "table.csv")

    yield Format("study.toml", study_file.read_grid, folder / "mutant.toml", toml_file), text.encode()
    kept = out / CELLS / f"{study.cells[0].key}.json"
    yield Format("cell.json", read, kept, json_file), kept.read_bytes()


def _evidence(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds.evidence.exact import counterexamples
    from fedbounds.evidence.kernel.rocq_runs import Audited
    from fedbounds.evidence.sdp.one_step.certificate import describe, verified_certificates
    from fedbounds.io import read_json, shaped
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


def _referee(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds import plugins
    from fedbounds.referee.search.candidates import arms
    from fedbounds.referee.search.family import dimension, families
    from fedbounds.referee.search.outcome import Outcome, Task
    from fedbounds.referee.search.populations import BUDGETS
    from fedbounds.referee.search.refute import is_outcome
    from fedbounds.referee.stage_context import WorkItems
    from fedbounds.theory.reading import READINGS

    claim, known = plugins.claim_named("lemma-2"), families()
    tasks = [Task(arm, 0, k, 1) for k, arm in enumerate(arms(claim, READINGS["repaired"], BUDGETS["small"])[:3])]
    state = folder / "search.state"

    def outcome(task: Task) -> dict[str, Any]:
        shape = task.arm.shape
        return asdict(Outcome(task.arm, 0, 10, 0.5, (0.5,) * dimension(shape, known[shape.family])))

    def read(path: Path) -> list[Any]:
        return list(WorkItems({}, path).each("search, rung 0", outcome, tasks, is_outcome))

    read(state)
    yield Format("state of a search", read, state, json_file), state.read_bytes()


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


def _data(folder: Path) -> Iterator[tuple[Format, bytes]]:
    from fedbounds.problems.data import partition, sources

    images = np.random.default_rng(0).integers(0, 255, (4, 3, 3), dtype=np.uint8)
    header = lambda *shape: bytes((0, 0, 8, len(shape))) + b"".join(k.to_bytes(4, "big") for k in shape)  # noqa: E731
    place = folder / "idx"
    place.mkdir()
    (place / "train-labels-idx1-ubyte").write_bytes(header(4) + bytes((0, 1, 2, 3)))
    table = b"1 1:0.5 2:1\n0 1:2 3:4\n1 2:1e5\n"
    hand = folder / "hand.json"
    yield Format("IDX", lambda path: sources.load(f"idx:{place}"), place / "train-images-idx3-ubyte", flipped), (
        header(*images.shape) + images.tobytes())  # fmt: skip
    yield Format("LIBSVM", lambda path: sources.load(f"libsvm:{path}"), folder / "t.svm", flipped), table
    yield (
        Format("partition by hand", lambda path: partition.parse(f"hand:{path}"), hand, json_file),
        b"[[2, 0], [0, 2]]",
    )


def main() -> None:
    chosen = options(None, seconds=float("inf"), count=10**9, seed=0, only="", keep=Path, out=Path)
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", folder)
        all_formats = [pair for pair in formats(Path(folder)) if chosen.only in pair[0].name]
        seen: dict[str, Counter[str]] = {form.name: Counter() for form, _ in all_formats}
        for form, valid in all_formats:
            form.path.write_bytes(valid)
            good = answered(lambda: form.read(form.path), 300)  # noqa: B023
            if good != "accepted":
                print(f"the valid {form.name} is not accepted: {good}")
        rng, total = random.Random(chosen.seed), 0
        started, spent = time.monotonic(), Counter[str]()
        while total < chosen.count and time.monotonic() - started < chosen.seconds:
            # The format that has had the least time is next, so that slow readers do not take it all.
            form, valid = min(all_formats, key=lambda pair: spent[pair[0].name])
            begun = time.monotonic()
            while time.monotonic() - begun < SLICE:
                answer = form.tried(rng, valid)
                seen[form.name][answer] += 1
                total += 1
                if answer not in ("accepted", "refused") and chosen.keep:
                    shutil.copy(form.path, chosen.keep / f"{total}-{form.path.name}")
            spent[form.name] += time.monotonic() - begun
    rows: list[dict[str, Any]] = []
    for name, answers in seen.items():
        tried, refused, read = sum(answers.values()), answers["refused"], answers["accepted"]
        rows.append(
            {"format": name, "tried": tried, "refused": refused, "read": read, "wrong": tried - refused - read}
        )
        print("{format}: {tried} tried, {refused} refused, {read} read, {wrong} wrong".format(**rows[-1]))
        for answer, count in answers.most_common():
            if answer not in ("accepted", "refused"):
                print(f"    {count} x {answer}")
    bad = sum(row["wrong"] for row in rows)
    print(f"{total} mutations, {bad} wrong answers")
    if chosen.out:
        write_json(chosen.out, {"seed": chosen.seed, "seconds": round(time.monotonic() - started), "formats": rows})
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
