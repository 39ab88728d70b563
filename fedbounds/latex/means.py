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
from fedbounds.latex.hypotheses import plain
from fedbounds.latex.letters import MEANS
from fedbounds.latex.marked_theorems import DISPLAY, INLINE
from fedbounds.latex.ranges import STEPS
from fedbounds.latex.sentences import DENIED, STOP, sentences
from fedbounds.latex.sums import ETA_AVERAGE, LATER_AVERAGE, STEP_AVERAGE, StepSum
from fedbounds.latex.tokens import Token, normal, scanned, spelled, wrong
from fedbounds.theory.symbols import eta, eta_sum

MEAN = r"\bar{w}_{T}"
# How \bar w_T is written where it is one of these means.
WRITTEN = {STEP_AVERAGE: MEAN, LATER_AVERAGE: r"\bar{w}_{1:T}", ETA_AVERAGE: r"\bar{w}_{T}^{\eta}"}
OTHERWISE = r"the text has another mean for \bar w_T than the line let"
# How a sentence says it, with each formula in marks: "let «\bar{w}_{T}» be the mean of «w_{0},\dots,w_{T-1}»".
BAR = re.escape(MEAN)
IS = re.compile(rf"«{BAR}»,? (?:be|is|denotes?|stands? for)\b")
OF = (
    r"the (?:(?:uniform|plain|simple|arithmetic|unweighted|equally weighted) )?(?:mean|average) (?:of|over) (?:all )?"
    r"(?:the )?(?:(?:iterates?|models?|points?|virtual|averaged|global|server) )*"
)
ENDS = r"(?= ?(?:$|[.;:)]|,? and (?:let|assume|suppose|set|put)\b|, (?:let|assume|suppose|we|it|then)\b))"
WEIGHTED = re.compile(r"(?<!un)(?<!equally )(?<!equal )weigh|exponential|moving|discount|random|suffix|tail")


def of_means(lines: CommentLines, tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a display, its \\bar w_T as the mean that it is; an InputError where nothing says which."""
    result = list(tokens)
    for k in reversed(range(len(tokens) - 1)):
        bar, time, *further = tokens[k : k + 3]
        weighted = [str(item) for item in further] == [r"^{\eta}"]
        if bar.text == r"\bar{w}" and str(time) in ("_{T}", "^{T}") and not weighted:
            written = normal(scanned(WRITTEN[_mean(lines, bar)], 1))
            result[k : k + 2] = [replace(item, line=bar.line, column=bar.column) for item in written]
    return result


def _mean(lines: CommentLines, bar: Token) -> sp.Expr:
    """What \\bar w_T is."""
    own, before = (list(definitions(lines, text)) for text in (lines.theorem.words, lines.theorem.before))
    if r"\bar{w}" in lines.let or any(spelled(body) == MEAN for *_, body in lines.declared("let")):
        if any(mean not in (None, STEP_AVERAGE) for mean in own):
            raise wrong(bar, OTHERWISE, r"write that of w_1 to w_T as \bar w_{1:T}, or leave let out")
        return STEP_AVERAGE
    said = set(own or before)
    if len(said) != 1 or not said <= WRITTEN.keys():
        raise wrong(bar, r"is \bar{w}_T the mean over steps or over clients", MEANS.format(bar.text))
    return said.pop()


def definitions(lines: CommentLines, text: str) -> Iterator[sp.Expr | None]:
    """What a text defines \\bar w_T as, in formulas and words; None where it cannot be read or is denied."""
    text = DISPLAY.sub(lambda m: f"${m['a'] or m['b'] or m['c']}$", text)
    for sentence in (text[first:last] for first, last in sentences(text, STOP)):
        words, denied = sentence, bool(DENIED.search(sentence))
        for formula in INLINE.finditer(sentence):
            tokens: list[Token] = []
            with contextlib.suppress(InputError):
                written = scanned(formula["a"] or formula["b"] or formula["c"], 1)
                tokens = lines.words.of(lines.theorem.spelled(written))
            signs = [k for k, token in enumerate(tokens) if token.text == "="]
            if signs and plain(tokens[: signs[0]]).rstrip(":") == MEAN:
                yield None if denied else _value(lines, tokens[signs[0] + 1 :])
            words = words.replace(formula[0], f"«{plain(tokens)}»", 1)
        words = re.sub(r" (?=[,.;])", "", re.sub(r"[~\s]+", " ", words))
        said = [mean for pattern, mean in _said_of(lines) if pattern.search(words)]
        if said or IS.search(words):
            yield said[0] if len(said) == 1 and not denied and not WEIGHTED.search(words) else None


def _value(lines: CommentLines, tokens: Sequence[Token]) -> sp.Expr | None:
    """The mean that a formula of the text is."""
    while tokens and tokens[-1].text in (".", ",", ";"):
        tokens = tokens[:-1]
    with contextlib.suppress(InputError):
        return formulas.value(tokens, lines.notation).xreplace({StepSum(eta): eta_sum})
    return None


def _said_of(lines: CommentLines) -> Iterator[tuple[re.Pattern[str], sp.Expr]]:
    """How a sentence says what \\bar w_T is, for each mean over all steps."""
    notation = lines.notation
    means = {STEPS[notation.start]: STEP_AVERAGE} | ({STEPS[1]: LATER_AVERAGE} if notation.from_w_0 else {})
    point = r"(?:w|\\bar\{w\})" if notation.averages else "w"
    for (first, last), mean in means.items():
        begin, end, any_ = rf"{point}_\{{{first}\}}", rf"{point}_\{{{last}\}}", rf"{point}_\{{t\}}"
        listed = rf"(?:{point}_\{{\d\}},)+\\dots,{end}"
        family = rf"(?:\\\{{|\(){any_}(?:\\\}}|\))_\{{t={first}\}}\^\{{{last}\}}"
        times = rf"t={first}(?:,\d)*,\\dots,{last}" + (r"|(?:0<=)?t<T" if last == "T-1" else "")
        points = rf"(?:«\\?\{{?(?={begin}){listed}(?:\\\}})?»|«{family}»|«{begin}»,? (?:to|through|up to) «{end}»"
        points += rf"|«{any_}» (?:over|for|with) (?:all )?«(?:{times})»)"
        says = rf"«{BAR}»,? (?:(?:be|is|denotes?|stands? for|for|as) )?{OF}{points}"
        yield re.compile(rf"(?:{says}|{OF}{points} (?:is |be )?(?:denoted )?by «{BAR}»){ENDS}"), mean
