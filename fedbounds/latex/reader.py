"""A theorem file as claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from fedbounds.errors import Gathered, InputError, InputErrors, reject
from fedbounds.latex.marked_theorems import Theorem, of_each_relation, text_of, theorems_in, unmarked_in
from fedbounds.latex.statement import claim_of
from fedbounds.latex.tokens import MisreadError, Token, wrong
from fedbounds.latex.unmarked import guessed, other_letters
from fedbounds.theory.claim import Claim

# Files that are read as LaTeX.
LATEX = (".tex", ".md")


def read(path: str | Path, theorem: str | None = None) -> dict[str, Claim]:
    """Label -> claim of every marked theorem of a LaTeX file, or of one; all errors are raised together.

    >>> read("draft.tex")["thm:main"].scope
    'step'
    """
    claims, faults = read_each(path, theorem)
    faults.raise_all()
    return claims


def read_each(path: str | Path, theorem: str | None = None) -> tuple[dict[str, Claim], Gathered]:
    """Label -> claim of the marked theorems that can be read, or of one, and the errors of the others."""
    return _apart(in_order(path, theorem))


def in_order(path: str | Path, theorem: str | None = None) -> Iterator[Claim | InputError]:
    """The claim of each marked theorem of a file, or of one, or its error."""
    text = text_of(path)
    without = [item for item in unmarked_in(text) if theorem in (None, item.label)]
    try:
        every = theorems_in(text, str(path))
    except InputError as fault:
        raise InputErrors(map(suggested, without)) if without else fault from None
    labels = [item.label for item in every]
    if theorem is not None and theorem not in labels:
        if without:
            raise suggested(without[0])
        raise reject(f"the marked theorems of {path} are {', '.join(labels)}", repr(theorem), "name one of them")
    return _each(item for item in every if theorem in (None, item.label))


def unmarked(path: str | Path) -> list[str]:
    """The labels of the theorems of a file that have no comment lines, and are left out."""
    return [theorem.label for theorem in unmarked_in(text_of(path))]


def read_text(text: str) -> dict[str, Claim]:
    """Label -> claim of every marked theorem of a text; all errors are raised together."""
    claims, faults = _apart(_each(theorems_in(text)))
    faults.raise_all()
    return claims


def _each(every: Iterable[Theorem]) -> Iterator[Claim | InputError]:
    for theorem in (part for item in every for part in of_each_relation(item)):
        try:
            yield claim_of(theorem)
        except InputError as fault:
            yield fault


def _apart(every: Iterable[Claim | InputError]) -> tuple[dict[str, Claim], Gathered]:
    items = list(every)
    faults = Gathered(item for item in items if isinstance(item, InputError))
    return {item.key: item for item in items if isinstance(item, Claim)}, faults


def suggested(theorem: Theorem) -> InputError:
    """The error of a theorem without comment lines, which ends with those that its display lets one guess."""
    lines = guessed(theorem)
    faults = Gathered()
    with faults.caught():
        claim_of(replace(theorem, lines=tuple(lines)))
    lines += other_letters(theorem, InputErrors(faults).faults)
    start = Token(theorem.label, theorem.line, 1)
    remedy = "put what is true of these comment lines, and each hypothesis that they lack, below its \\begin"
    fault = wrong(start, "a theorem must be marked", remedy)
    text = "".join(f"\n% fedbounds: {line.verb} {line.text}" for line in lines)
    return MisreadError(f"{fault}{text}", start)
