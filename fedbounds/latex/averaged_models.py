"""Over what \\bar w_T is a mean: the text of a theorem, the text before it, or a line says it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex import formulas
from fedbounds.latex.comment_lines import CommentLines
from fedbounds.latex.letter_meanings import MEANS
from fedbounds.latex.marked_theorems import DISPLAY, INLINE
from fedbounds.latex.sums import ETA_AVERAGE, LATER_AVERAGE, STEP_AVERAGE, STEPS, StepSum
from fedbounds.latex.surrounding_text import DENIED, STOP, sentences
from fedbounds.latex.tokens import Token, one_spelling, scanned, spelled, without_blanks, wrong
from fedbounds.theory.symbols import eta, eta_sum

MEAN = r"\bar{w}_{T}"
# How \bar w_T is written where it is one of these means.
WRITTEN = {STEP_AVERAGE: MEAN, LATER_AVERAGE: r"\bar{w}_{1:T}", ETA_AVERAGE: r"\bar{w}_{T}^{\eta}"}
OTHERWISE = r"the text has another mean for \bar w_T than the line let"
# What else may be such a mean where the text says so: a letter with an accent, or with the index T or a word.
ACCENTED, INDEX = re.compile(r"\\(?:bar|hat|tilde)\{"), re.compile(r"_\{(?:T|\\mathrm\{\w+\}|[a-z]{2,})\}")
# How a sentence says it, with each formula in marks: "let «\bar{w}_{T}» be the mean of «w_{0},\dots,w_{T-1}»".
OF = (
    r"the (?:(?:uniform|plain|simple|arithmetic|unweighted|equally weighted) )?(?:mean|average) (?:of|over) (?:all )?"
    r"(?:the )?(?:(?:iterates?|models?|points?|virtual|averaged|global|server) )*"
)
ENDS = r"(?= ?(?:$|[.;:)]|,? and (?:let|assume|suppose|set|put)\b|, (?:let|assume|suppose|we|it|then)\b))"
WEIGHTED = re.compile(r"(?<!un)(?<!equally )(?<!equal )weigh|exponential|moving|discount|random|suffix|tail")


def of_means(lines: CommentLines, tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a display, its means over steps as those of the table; an InputError where nothing says which."""
    result, values_of_means = list(tokens), dict[str, sp.Expr | None]()
    for k in reversed(range(len(tokens))):
        letter, script, power = (*tokens[k : k + 3], Token("", 1, 1), Token("", 1, 1))[:3]
        indexed, name = script.text in ("_", "^"), letter.text
        if letter.text == r"\bar{w}" and str(script) in ("_{T}", "^{T}"):
            if str(power) != r"^{\eta}":
                result[k : k + 2] = _written(_mean(lines, letter), letter)
        elif INDEX.fullmatch(str(script)) or (ACCENTED.match(name) and not indexed):
            name += str(script) * indexed
            if name not in values_of_means:
                values_of_means[name] = _of_the_text(lines, name)
            if (mean := values_of_means[name]) is not None:
                result[k : k + 1 + indexed] = _written(mean, letter)
    return result


def _written(mean: sp.Expr, place: Token) -> list[Token]:
    return [replace(item, line=place.line, column=place.column) for item in one_spelling(scanned(WRITTEN[mean], 1))]


def _of_the_text(lines: CommentLines, name: str) -> sp.Expr | None:
    """The mean over steps that the text, or else what stands above it, says that a name is; None where it is none."""
    within, before = (list(definitions(lines, text, name)) for text in (lines.theorem.words, lines.theorem.before))
    candidates = set(within or before)
    return candidates.pop() if len(candidates) == 1 and candidates <= WRITTEN.keys() else None


def _mean(lines: CommentLines, bar: Token) -> sp.Expr:
    """What \\bar w_T is."""
    if r"\bar{w}" in lines.let or any(spelled(body) == MEAN for *_, body in lines.declared("let")):
        if any(mean not in (None, STEP_AVERAGE) for mean in definitions(lines, lines.theorem.words, MEAN)):
            raise wrong(bar, OTHERWISE, r"write that of w_1 to w_T as \bar w_{1:T}, or leave let out")
        return STEP_AVERAGE
    mean = _of_the_text(lines, MEAN)
    if mean is None:
        raise wrong(bar, r"is \bar{w}_T the mean over steps or over clients", MEANS.format(bar.text))
    return mean


def defines_mean(lines: CommentLines, tokens: Sequence[Token]) -> bool:
    """Whether a formula of the text says of a name that it is a mean over steps."""
    signs = [k for k, token in enumerate(tokens) if token.text == "="]
    with contextlib.suppress(InputError):
        return bool(signs) and _value(lines, lines.words.of(tokens[signs[0] + 1 :])) in WRITTEN
    return False


def definitions(lines: CommentLines, text: str, name: str) -> Iterator[sp.Expr | None]:
    """What a text defines a mean as, in formulas and words; None where it cannot be read or is denied."""
    values_of_means = list[sp.Expr | None]()

    def shown(formula: re.Match[str]) -> str:
        tokens: list[Token] = []
        with contextlib.suppress(InputError):
            tokens = lines.words.of(lines.theorem.spelled(scanned(formula["a"] or formula["b"] or formula["c"], 1)))
        signs = [k for k, token in enumerate(tokens) if token.text == "="]
        if signs and without_blanks(tokens[: signs[0]]).rstrip(":") == name:
            values_of_means.append(_value(lines, tokens[signs[0] + 1 :]))
        return f"«{without_blanks(tokens)}»"

    text = DISPLAY.sub(lambda m: f"${m['a'] or m['b'] or m['c']}$", text)
    for sentence in (text[first:last] for first, last in sentences(text, STOP)):
        values_of_means.clear()
        words, denied = INLINE.sub(shown, sentence), bool(DENIED.search(sentence))
        yield from (None if denied else mean for mean in values_of_means)
        words = re.sub(r" (?=[,.;])", "", re.sub(r"[~\s]+", " ", words))
        candidates = [mean for pattern, mean in _said_of(lines, name) if pattern.search(words)]
        if candidates or re.search(rf"«{re.escape(name)}»,? (?:be|is|denotes?|stands? for)\b", words):
            yield candidates[0] if len(candidates) == 1 and not denied and not WEIGHTED.search(words) else None


def _value(lines: CommentLines, tokens: Sequence[Token]) -> sp.Expr | None:
    """The mean that a formula of the text is."""
    while tokens and tokens[-1].text in (".", ",", ";"):
        tokens = tokens[:-1]
    for (first, last), mean, point in _ranges(lines):
        listed = rf"{point}_\{{{first}\}}\+(?:{point}_\{{\d\}}\+)*\\dots\+{point}_\{{{last}\}}"
        if re.fullmatch(
            rf"(?:\\frac\{{1\}}\{{T\}}|1/T)[(\[]{listed}[)\]]|\\frac\{{{listed}\}}\{{T\}}", without_blanks(tokens)
        ):
            return mean
    with contextlib.suppress(InputError):
        return formulas.value(tokens, lines.notation).xreplace({StepSum(eta): eta_sum})
    return None


def _ranges(lines: CommentLines) -> Iterator[tuple[tuple[str, str], sp.Expr, str]]:
    """The first and last step of each mean over all steps, with the mean and the pattern of a point."""
    notation = lines.notation
    means = {STEPS[notation.start]: STEP_AVERAGE} | ({STEPS[1]: LATER_AVERAGE} if notation.from_w_0 else {})
    for ends, mean in means.items():
        yield ends, mean, r"(?:w|\\bar\{w\})" if notation.averages else "w"


def _said_of(lines: CommentLines, name: str) -> Iterator[tuple[re.Pattern[str], sp.Expr]]:
    """How a sentence says what a name is, for each mean over all steps."""
    for (first, last), mean, point in _ranges(lines):
        begin, end, any_ = rf"{point}_\{{{first}\}}", rf"{point}_\{{{last}\}}", rf"{point}_\{{t\}}"
        listed = rf"(?:{point}_\{{\d\}},)+\\dots,{end}"
        family = rf"(?:\\\{{|\(){any_}(?:\\\}}|\))_\{{t={first}\}}\^\{{{last}\}}"
        times = rf"t={first}(?:,\d)*,\\dots,{last}" + (r"|(?:0<=)?t<T" if last == "T-1" else "")
        points = rf"(?:«\\?\{{?(?={begin}){listed}(?:\\\}})?»|«{family}»|«{begin}»,? (?:to|through|up to) «{end}»"
        points += rf"|«{any_}» (?:over|for|with) (?:all )?«(?:{times})»)"
        says = rf"«{re.escape(name)}»,? (?:(?:be|is|denotes?|stands? for|for|as) )?{OF}{points}"
        yield re.compile(rf"(?:{says}|{OF}{points} (?:is |be )?(?:denoted )?by «{re.escape(name)}»){ENDS}"), mean
