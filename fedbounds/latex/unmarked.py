"""The comment lines that the display and text of an unmarked theorem let one guess, for its author to check."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fedbounds.errors import Gathered, InputError
from fedbounds.latex.declared_notation import words_of
from fedbounds.latex.hypotheses import in_words
from fedbounds.latex.letters import UNKNOWN, USUAL, WHOLE
from fedbounds.latex.marked_theorems import Line, Theorem
from fedbounds.latex.tokens import MisreadError, flat

# Letters of a display, and the assumptions that bring them.
BROUGHT_BY = {r"\mu": "strongly-convex", r"\sigma": "bounded-variance", "G": "bounded-gradient"}
GAMMA = r"\gamma"
EXPECTATIONS = {r"\mathbb{E}", r"\mathrm{E}", r"\mathbf{E}"}
FONT = re.compile(r"\\(?:mathbf|bm|vec|bar|tilde|hat|mathrm)\{(.*)\}$")
EQUATION = re.compile(r"\s*([^=<>\s]+)\s*=\s*([^=<>]+?)[\s.,;]*$")
SOME_CLIENTS = re.compile(r"\b(draw|select|sampl|subset|participat)")


def guessed(theorem: Theorem) -> list[Line]:
    """The assumptions that letters and words stand for, and what the text defines: the step size and gamma."""
    texts = [token.text for token in flat(theorem.spelled(theorem.display))]
    assumed = ["smooth", *(key for letter, key in BROUGHT_BY.items() if letter in texts)]
    assumed += [item.assumption for _, item in in_words(theorem.words) if not item.limits_times]
    assumed += [] if any(text in EXPECTATIONS for text in texts) else ["full-gradients"]
    assumed += [] if SOME_CLIENTS.search(theorem.words) else ["full-participation", "unbiased"]
    lines = [*theorem.lines, Line("assume", ", ".join(dict.fromkeys(assumed)), theorem.line, 1)]
    known = _equations(theorem)
    step = next((known[name] for name in (r"\eta_t", r"\eta_{t}", r"\eta") if name in known), "")
    lines += [Line("step", step, theorem.line, 1)] * bool(step)
    needed = GAMMA in known and GAMMA in [*texts, *re.findall(r"\\[a-z]+", step)]
    return [*lines, *(Line("where", f"{GAMMA} = {known[GAMMA]}", theorem.line, 1) for _ in range(needed))]


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
    parts, lines, known = [], list[Line](), _equations(theorem)
    for name in dict.fromkeys(names):
        plain = name
        while result := FONT.match(plain):
            plain = result[1]
        if name in known:
            lines.append(Line("where", f"{name} = {known[name]}", 1, 1))
        else:
            parts.append(f"{name} = {WHOLE.get(plain) or USUAL.get(plain, '...')}")
    letters = " ".join([*(token.text for token in theorem.display), *(line.text for line in theorem.inline)])
    parts += [r"\gamma = \eta"] if r"\gamma" in letters and r"\eta" not in letters else []
    return [*lines, *([Line("let", ", ".join(parts), 1, 1)] if parts else [])]
