"""A theorem file as claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedbounds.errors import Gathered, InputError, InputErrors, reject
from fedbounds.latex.declared_notation import words_of
from fedbounds.latex.hypotheses import in_words
from fedbounds.latex.letter_meanings import UNKNOWN, USUAL, WHOLE
from fedbounds.latex.marked_theorems import Line, Theorem, of_each_relation, text_of, theorems_in, unmarked_in
from fedbounds.latex.statement import claim_of
from fedbounds.latex.tokens import MisreadError, Token, flat, wrong
from fedbounds.theory.claim import Claim

# Letters of a display, and the assumptions that bring them.
BROUGHT_BY = {r"\mu": "strongly-convex", r"\sigma": "bounded-variance", "G": "bounded-gradient"}
GAMMA = r"\gamma"
EXPECTATIONS = {r"\mathbb{E}", r"\mathrm{E}", r"\mathbf{E}"}
FONT = re.compile(r"\\(?:mathbf|bm|vec|bar|tilde|hat|mathrm)\{(.*)\}$")
EQUATION = re.compile(r"\s*([^=<>\s]+)\s*=\s*([^=<>]+?)[\s.,;]*$")
SOME_CLIENTS = re.compile(r"\b(draw|select|sampl|subset|participat)")


def guessed_lines(theorem: Theorem) -> list[Line]:
    """The assumptions that letters and words stand for, and what the text defines: the step size and gamma."""
    texts = [token.text for token in flat(theorem.spelled(theorem.display))]
    assumed = ["smooth", *(key for letter, key in BROUGHT_BY.items() if letter in texts)]
    assumed += [item.assumption for _, item in in_words(theorem.words) if not item.limits_times]
    assumed += [] if any(text in EXPECTATIONS for text in texts) else ["full-gradients"]
    assumed += [] if SOME_CLIENTS.search(theorem.words) else ["full-participation", "unbiased"]
    lines = [*theorem.lines, Line("assume", ", ".join(dict.fromkeys(assumed)), theorem.line, 1)]
    equations = _equations(theorem)
    step = next((equations[name] for name in (r"\eta_t", r"\eta_{t}", r"\eta") if name in equations), "")
    lines += [Line("step", step, theorem.line, 1)] * bool(step)
    needed = GAMMA in equations and GAMMA in [*texts, *re.findall(r"\\[a-z]+", step)]
    return [*lines, *(Line("where", f"{GAMMA} = {equations[GAMMA]}", theorem.line, 1) for _ in range(needed))]


def _equations(theorem: Theorem) -> dict[str, str]:
    """What the text of a theorem defines: the letter and its value."""
    return {result[1]: result[2] for line in theorem.inline if (result := EQUATION.match(line.text))}


def other_letters(theorem: Theorem, faults: Iterable[InputError]) -> list[Line]:
    """The lines that declare the letters which the table does not have, by the text where it defines them."""
    names = [*words_of(theorem, Gathered()).usual]
    names += [
        fault.token.text.partition("_{")[0]
        for fault in faults
        if isinstance(fault, MisreadError) and UNKNOWN in str(fault)
    ]
    parts, lines, equations = [], list[Line](), _equations(theorem)
    for name in dict.fromkeys(names):
        plain = name
        while result := FONT.match(plain):
            plain = result[1]
        if name in equations:
            lines.append(Line("where", f"{name} = {equations[name]}", 1, 1))
        else:
            parts.append(f"{name} = {WHOLE.get(plain) or USUAL.get(plain, '...')}")
    letters = " ".join([*(token.text for token in theorem.display), *(line.text for line in theorem.inline)])
    parts += [r"\gamma = \eta"] if r"\gamma" in letters and r"\eta" not in letters else []
    return [*lines, *([Line("let", ", ".join(parts), 1, 1)] if parts else [])]


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
    return _apart(claims_in_order(path, theorem))


def claims_in_order(path: str | Path, theorem: str | None = None) -> Iterator[Claim | InputError]:
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
    return _of_all(theorems_in(text))


def claims_of(theorem: Theorem) -> list[Claim]:
    """What a marked theorem states, in each relation of its display; all errors are raised together."""
    return [*_of_all([theorem]).values()]


def _of_all(every: Iterable[Theorem]) -> dict[str, Claim]:
    claims, faults = _apart(_each(every))
    faults.raise_all()
    return claims


def _each(every: Iterable[Theorem]) -> Iterator[Claim | InputError]:
    for theorem in every:
        parts = of_each_relation(theorem)
        read = [_claim_or_error(part) for part in parts]
        if any(part.statement is not None for part in parts):
            read = [item for item in read if isinstance(item, InputError)] or _claims_or_errors(read, parts)
        yield from read


def _claim_or_error(theorem: Theorem) -> Claim | InputError:
    try:
        return claim_of(theorem)
    except InputError as fault:
        return fault


def _claims_or_errors(claims: Sequence[Any], parts: Sequence[Theorem]) -> list[Claim | InputError]:
    """The claims of a display of several statements; the errors of those that may be conditions of the others."""
    of_runs = [any(getattr(q, "statistic", "") == "measured" for q in claim.lhs.free_symbols) for claim in claims]
    moving = [any(getattr(q, "scopes", ()) for q in claim.rhs.free_symbols) for claim in claims]
    doubtful = [part for part, sure in zip(parts, moving if all(of_runs) else of_runs, strict=True) if not sure]
    what = "a display must have one statement, or several that bound what a run does by what varies with it"
    remedy = "mark a theorem for each, and assume its conditions"
    return [wrong(part.stated()[0], what, remedy) for part in doubtful] or [*claims]


def _apart(every: Iterable[Claim | InputError]) -> tuple[dict[str, Claim], Gathered]:
    items = list(every)
    faults = Gathered(item for item in items if isinstance(item, InputError))
    return {item.key: item for item in items if isinstance(item, Claim)}, faults


def suggested(theorem: Theorem) -> InputError:
    """The error of a theorem without comment lines, which ends with those that its display lets one guess."""
    lines = guessed_lines(theorem)
    faults = Gathered()
    with faults.caught():
        claim_of(replace(theorem, lines=tuple(lines)))
    lines += other_letters(theorem, InputErrors(faults).faults)
    start = Token(theorem.label, theorem.line, 1)
    remedy = "put what is true of these comment lines, and each hypothesis that they lack, below its \\begin"
    fault = wrong(start, "a theorem must be marked", remedy)
    text = "".join(f"\n% fedbounds: {line.verb} {line.text}" for line in lines)
    return MisreadError(f"{fault}{text}", start)
