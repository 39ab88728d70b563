"""The comment lines that the display and text of an unmarked theorem let one guess, for its author to check."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fedbounds.errors import InputError
from fedbounds.latex.letters import UNKNOWN
from fedbounds.latex.source import Line, Theorem
from fedbounds.latex.tokens import MisreadError, expanded, flat, normal
from fedbounds.latex.unread import in_words

# Letters of a display, and the assumptions that bring them.
BROUGHT_BY = {
    r"\mu": "strongly-convex", r"\sigma": "bounded-variance", "G": "bounded-gradient",
}  # fmt: skip
EXPECTATIONS = {r"\mathbb{E}", r"\mathrm{E}", r"\mathbf{E}"}
# What letters of other papers mostly are here.
USUALLY = {
    "w": ("x", "y", "z", "v", "W", "X", r"\theta", r"\omega"),
    "F": ("f", "J", r"\mathcal{L}", r"\mathcal{F}", r"\ell"),
    "N": ("K", "M", "n"), r"\tau": ("H", "E", "Q"), r"\eta": (r"\alpha", r"\gamma", r"\lambda"),
}  # fmt: skip
OURS = {theirs: ours for ours, letters in USUALLY.items() for theirs in letters}
FONT = re.compile(r"\\(?:mathbf|bm|vec|bar|tilde|hat|mathrm)\{(.*)\}$")
STEP = re.compile(r"\s*\\(?:eta|gamma|alpha)(?:_t|_\{t\})?\s*=\s*([^=<>]+)$")
RESTRICTION = re.compile(r"\s*(?:0\s*<\s*)?(\\eta(?:_t|_\{t\})?\s*\\(?:le|leq|leqslant)\b[^=<>]+)$")


def guessed(theorem: Theorem) -> list[Line]:
    """The assumptions that the letters of a display stand for, and the step size and its limits in the text."""
    texts = [token.text for token in flat(normal(expanded(theorem.display, theorem.macros)))]
    stochastic = any(text in EXPECTATIONS for text in texts)
    assumed = ["smooth", *(key for letter, key in BROUGHT_BY.items() if letter in texts)]
    assumed += [item.key for _, item in in_words(theorem) if item.key]
    assumed += [*([] if stochastic else ["full-gradients"]), "full-participation", "unbiased"]
    assumed += [limit[1].strip() for line in theorem.inline if (limit := RESTRICTION.match(line.text))]
    lines = [Line("assume", ", ".join(dict.fromkeys(assumed)), theorem.line, 1)]
    steps = [match[1].strip() for line in theorem.inline if (match := STEP.match(line.text))]
    return [*lines, *(Line("step", step, theorem.line, 1) for step in steps[:1])]


def other_letters(theorem: Theorem, faults: Iterable[InputError]) -> list[Line]:
    """The line that declares the letters which the table does not have, and gamma where it must be the step size."""
    names = [
        fault.token.text.partition("_{")[0]
        for fault in faults
        if isinstance(fault, MisreadError) and UNKNOWN in str(fault)
    ]
    parts = []
    for name in dict.fromkeys(names):
        plain = name
        while match := FONT.match(plain):
            plain = match[1]
        parts.append(f"{name} = {OURS.get(plain, '...')}")
    letters = [token.text for token in theorem.display]
    parts += [r"\gamma = \eta"] if r"\gamma" in letters and r"\eta" not in letters else []
    return [Line("let", ", ".join(parts), 1, 1)] if parts else []
