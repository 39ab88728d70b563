"""Ways to damage a valid file, and how what is made of it is judged.

Right is a value, or a refusal in one sentence (InputError, DivergedError). Anything else that is raised counts as a
traceback, and more than PATIENCE processor seconds as a hang.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fedbounds.errors import DivergedError, InputError

PATIENCE = 10
DEEP = 10**5
# What stands in place of a value, or is put beside it.
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 10**9, 2**63, 10**40, 0.5, -1e308, 1e-320, "", "text", "1/0", "1e100000000", "1e-99999",
    "-3/7", "nan", "inf", "\x1b[2K\rverified", "<script>alert(1)</script>", "javascript:alert(1)", "é" * 20000, "\0",
    "\ud800", [], [[]], {}, {"": None}, [None], [0], ["1/2"], "HOLDS", "empirical", "../../etc/passwd", "9" * 5000,
)  # fmt: skip


# A piece of LaTeX, and what stands in its place.
PIECE = re.compile(r"\\[A-Za-z]+|[0-9]+|[A-Za-z]|[^\sA-Za-z0-9]")
PIECES = (
    "99999999", "^{99999}", "9^9^9^9", "\n", "%", "{", "}", "^", "_", r"\left(", r"\frac", "((((((((", "é", "\0"
)  # fmt: skip


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


def answered(read: Callable[[], object], patience: float = PATIENCE) -> str:
    """accepted, refused, or what was wrong."""
    try:
        with limited(patience):
            read()
        return "accepted"
    except (InputError, DivergedError) as wrong:
        said = str(wrong)
        return "refused" if all(map(one_line, said.split("\n"))) else f"unreadable sentence: {said[:200]!a}"
    except (Exception, Late) as wrong:
        where = [f for f in traceback.extract_tb(wrong.__traceback__) if "/fedbounds/" in f.filename]
        at = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
        return (
            f"hang: {at}" if isinstance(wrong, Late) else f"traceback: {type(wrong).__name__} at {at}: {wrong!a:.80}"
        )


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


def latex(rng: random.Random, text: str) -> str:
    """One to six pieces left out, put in, replaced, repeated or moved."""
    pieces = [*PIECE.findall(text), *PIECES]
    for _ in range(rng.randint(1, 6)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randint(1, 12))
        there = rng.randrange(len(text) + 1)
        moved, repeated = text[there : there + 20] + text[start:end], text[start:end] * rng.randint(2, 4)
        new = ("", rng.choice(pieces), repeated, moved)
        text = text[:start] + rng.choice(new) + text[rng.choice((start, end)) :]
    return text
