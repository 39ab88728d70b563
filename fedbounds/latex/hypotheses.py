"""The mathematics of a theorem outside its display: hypotheses, and warnings of what nothing read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import sympy as sp

from fedbounds.errors import InputError
from fedbounds.latex.averaged_models import defines_mean
from fedbounds.latex.comment_lines import CommentLines
from fedbounds.latex.grammar import ORDER, neighbouring_sides
from fedbounds.latex.marked_theorems import Line
from fedbounds.latex.tokens import Token, without_blanks, wrong
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import NOT_READ
from fedbounds.theory.quantity import Scope
from fedbounds.theory.symbols import R, T, tau

Pair = tuple[Sequence[Token], Token, Sequence[Token]]
# What a hypothesis of the text may limit, and by which constants.
LIMITED = frozenset({"eta", "t", "T", "R", "tau", "N"})
CONSTANTS = frozenset({"L", "mu", "gamma", "eta_0"})
LIMIT = re.compile(r"(\\tau|[NTRt]|w_0) *=")
ASSUME = "write it as % fedbounds: assume "
# What every problem and run here is, as `without_blanks` spells it.
SUM, GRADIENT = (
    r"\\sum(_\{[ijkmn](=1)?\})?(\^\{N\})?",
    r"(\\nabla F_\{[ijkmn]\}\(w_\{t\}\^\{[ijkmn]\}[^)]*\)|g_\{t\}\^\{[ijkmn]\})",
)
UPDATE = r"w_\{t\+1\}=w_\{t\}-"
WEIGHED = rf"\\eta(_\{{t\}})?{SUM}p_\{{[ijkmn]\}}"
MEAN = rf"(\\frac\{{\\eta(_\{{t\}})?\}}\{{N\}}|\\eta(_\{{t\}})?\\frac\{{1\}}\{{N\}}){SUM}"
AT_W_T = r"\\nabla F_\{[ijkmn]\}\(w_\{t\}\)"
P_I = r"p_\{[ijkmn]\}"
APART = rf"{SUM}{P_I}<norm{AT_W_T}-\\nabla F\(w_\{{t\}}\)norm>\^\{{2\}}<=\\zeta\^\{{2\}}$"
WEIGHT = r"(p_\{[ijkmn]\}|\\alpha_(\{[ijkmn]\}|\{t\}\^\{[ijkmn]\}))"
STEPS_TO_T = r"\\sum_(\{t=0\}\^\{T-1\}|\{t<T\}|\{0<=t<T\})"
MODEL = re.compile(
    rf"F(\(w\))?={SUM}p_\{{[ijkmn]\}}F_\{{[ijkmn]\}}(\(w\))?$|{SUM}{WEIGHT}=1$|{WEIGHT}>=?0$|(1<=)?m<=?N$|m>=1$|F\^\{{\\star\}}=\\minF$"
    rf"|w_\{{t\+1\}}\^\{{[ijkmn]\}}=w_\{{t\}}\^\{{[ijkmn]\}}-\\eta(_\{{t\}})?{GRADIENT}$|w_\{{0\}}\^\{{[ijkmn]\}}=w_\{{0\}}$"
    rf"|(\\bar\{{w\}}|w)_\{{t\}}={SUM}p_\{{[ijkmn]\}}w_\{{t\}}\^\{{[ijkmn]\}}$|[ijkmn]\\in(I|\[N\]|\\\{{1,.*,N\\\}})$|[ijkmn]=1,(2,)?\\[lc]?dots,N$"
    rf"|{APART}|\\bar\{{w\}}_\{{T\}}(\^\{{\\eta\}})?:?={STEPS_TO_T}\\eta_\{{t\}}w_\{{t\}}/{STEPS_TO_T}\\eta_\{{t\}}$"
    rf"|\\bar\{{w\}}_\{{T\}}(\^\{{\\eta\}})?:?=\\frac\{{{STEPS_TO_T}\\eta_\{{t\}}w_\{{t\}}\}}\{{{STEPS_TO_T}\\eta_\{{t\}}\}}$"
    r"|\\mathbb\{E\}\[?g_\{t\}\^\{[ijkmn]\}\]?=\\nabla F_\{[ijkmn]\}\(w_\{t\}\^\{[ijkmn]\}\)$"
    r"|[wvu,]+\\in\\mathbb\{R\}\^\{d\}$|\\alpha_\{t\}\^\{[ijkmn]\}<=(\\Pip_\{[ijkmn]\}|p_\{[ijkmn]\}\\Pi)$"
)

# How the steps are counted, by the number of the first point.
COUNTED = [re.compile(rf"t={first}(,2)?(,3)?,\\dots(,T(-1)?)?$") for first in ("0(,1)?", "1(?=,2)")]


class Hypothesis(NamedTuple):
    """How texts say it, in words or as a formula that `plain` spells; the assumption; what in comment lines says it
    too; and whether it is assumed without a line, as it limits no more than the times of a claim."""

    pattern: str
    assumption: str
    given: str
    limits_times: bool = False


HYPOTHESES = (
    Hypothesis(r"strongly[ ~-]+convex", "strongly-convex", "strongly-convex"),
    Hypothesis(r"(?:common|same|shared|one) minimi[sz]er", "homogeneous", r"homogeneous|identical|\\Gamma"),
    Hypothesis(r"averag\w+ after every step|one local step", r"\tau = 1", r"\\tau|one-local"),
    Hypothesis(r"positive multiples? of \$?\\tau", r"T \ge 1", "(?!)", limits_times=True),
    Hypothesis(r"multiples? of \$?\\tau", r"T = R\tau", "(?!)", limits_times=True),
    Hypothesis(r"w_\{t\+1\}=w_\{t\}-\\eta(_\{t\})?\\nabla F\(w_\{t\}\)$", r"\tau = 1", r"\\tau|one-local|one-client"),
    # The update of the average of the local models, as far as their weights are p.
    Hypothesis(rf"{UPDATE}{WEIGHED}{GRADIENT}$", "unbiased", "unbiased"),
    Hypothesis(rf"{UPDATE}{MEAN}{GRADIENT}$", "equal-p, unbiased", "equal-p.*unbiased|unbiased.*equal-p"),
    Hypothesis(
        rf"{UPDATE}({WEIGHED}|{MEAN})({AT_W_T}|g_\{{[ijkmn]\}}\(w_\{{t\}}[^)]*\))$",
        r"\tau = 1, unbiased",
        r"\\tau|one-local",
    ),
    Hypothesis(rf"(\\frac\{{1\}}\{{N\}}|1/N){APART.replace(P_I, '', 1)}", "equal-p", "equal-p"),
    Hypothesis(r"F_\{[ijkmn]\}=F$|F_\{1\}=(F_\{2\}=)?\\[lc]?dots=F_\{N\}(=F)?$", "identical", "identical"),
    Hypothesis(
        r"(\\frac\{1\}\{2\}|1/2)?<norm\\nabla F\(w\)norm>\^\{2\}>=2?\\mu[(\[]F\(w\)-F\^\{\\star\}[)\]]$",
        "polyak-lojasiewicz",
        "polyak-lojasiewicz|strongly-convex",
    ),
    Hypothesis(r"\\alpha_\{t\}\^\{[ijkmn]\}=p_\{[ijkmn]\}$", "unbiased", "unbiased"),
    Hypothesis(r"p_\{[ijkmn]\}=(\\frac\{1\}\{N\}|1/N)$", "equal-p", "equal-p"),
    Hypothesis(r"\\mathbb\{E\}.*<norm.*norm>.*<=\\sigma", "bounded-variance", "bounded-variance|growing-variance"),
    Hypothesis(r"(\\mathbb\{E\}\[?)?<norm(\\nabla|g).*norm>(\^\{2\})?\]?<=G", "bounded-gradient", "bounded-gradient"),
)


def in_words(text: str) -> Iterator[tuple[str, Hypothesis]]:
    """The hypotheses that a text names, as it says them."""
    for item in HYPOTHESES:
        if result := re.search(item.pattern, text):
            yield result[0], item


def hypotheses_of_text(
    lines: CommentLines, assumed: Sequence[Assumption], scope: Scope
) -> tuple[list[Assumption], list[str]]:
    """The hypotheses of the text that no line repeats, as far as they are read, and warnings of the others."""
    given = ", ".join(line.text for line in lines.theorem.of("assume"))
    result, warnings = list[Assumption](), list[str]()
    for line in lines.theorem.inline:
        text, tokens = "", list[Token]()
        try:
            tokens = lines.theorem.spelled(line.tokens())
            text = without_blanks(lines.words.of(tokens)).rstrip(".,;")
            pairs = neighbouring_sides(as_relations(tokens))
            every = [_read(lines, [*assumed, *result], scope, pair) for pair in pairs]
            result += _stated(line, [item for item in every if item is not None])
        except InputError:
            item = next((item for item in HYPOTHESES if re.match(item.pattern, text)), None)
            is_read = any(pattern.match(text) for pattern in (MODEL, COUNTED[lines.notation.start]))
            is_read = is_read or defines_mean(lines, tokens)
            if not is_read and not (item and re.search(item.given, given)):
                warnings.append(_warning(line, item))
    remarks = lines.theorem.remarks
    warnings += [f'{NOT_READ}: "{words}": {ASSUME}... where it limits the statement' for words in remarks]
    supposed = [item for _, item in in_words(lines.theorem.supposed)]
    for phrase, item in in_words(lines.theorem.words):
        if item.limits_times and (item in supposed or scope != "horizon"):
            result += lines.assumed(Line("assume", item.assumption, lines.theorem.line, 1)) * (scope == "horizon")
        elif not re.search(item.given, given):
            warnings.append(f'{NOT_READ}: "{phrase}": {ASSUME}{item.assumption}')
    return result, warnings


def as_relations(tokens: Sequence[Token]) -> Sequence[Token]:
    """A letter in an interval, as eta in (0, 1/L], as two relations; other tokens as they are."""
    texts = [token.text for token in tokens]
    if r"\in" not in texts[1:-4] or texts[-1] not in ")]" or texts[texts.index(r"\in") + 1] not in "([":
        return tokens
    middle = texts.index(r"\in")
    lower, upper = (
        replace(tokens[middle], text="<" if mark in "()" else "<=") for mark in (texts[middle + 1], texts[-1])
    )
    commas = [k for k in range(middle + 2, len(tokens) - 1) if texts[k] == ","]
    if len(commas) != 1:
        return tokens
    ends = tokens[middle + 2 : commas[0]], tokens[commas[0] + 1 : -1]
    return [*ends[0], lower, *tokens[:middle], upper, *ends[1]]


def _stated(line: Line, items: list[Assumption]) -> list[Assumption]:
    """The assumptions of a formula, where its place in the text makes them hypotheses."""
    if items and line.verb != "assume":
        raise wrong(line.place, "a hypothesis stands before the display, in a sentence that assumes it", "assume it")
    return items


def _read(lines: CommentLines, assumed: Sequence[Assumption], scope: Scope, pair: Pair) -> Assumption | None:
    """The hypothesis that a relation is; None where it needs none; InputError where it cannot be read as one."""
    if lines.define(*pair):
        return None
    item = lines.relation(*pair)
    if item is None or item in assumed or any(item.relation == other.relation for other in assumed):
        return None
    if item.limits_times and holds_for_every_run(item) and scope != "horizon":
        return None
    names, equal = item.symbols(), any(part.sign == "=" for part in item.parts)
    # One client, one local step or a start at w* would make another theorem of it: they need a line.
    limits = names & LIMITED and names <= {*LIMITED, *CONSTANTS} and (item.limits_times or not equal)
    if limits_unspoken_times(item, scope) or not limits or (equal and "eta" in names):
        raise wrong(pair[1], "a hypothesis limits steps, times or numbers", "write it as an assumption")
    return item


def limits_unspoken_times(item: Assumption, scope: Scope) -> bool:
    """Whether an assumption limits times that a claim of a scope does not speak of."""
    return item.limits_times and bool(item.symbols() & {"t"} if scope == "horizon" else item.symbols() & {"T", "R"})


def holds_for_every_run(item: Assumption) -> bool:
    """Whether a relation between T, R and tau holds for every run of at least one round."""
    rounds, further = (1 + sp.Dummy(nonnegative=True) for _ in range(2))
    put = {R: rounds, tau: further, T: rounds * further}
    rest = [(part.sign, sp.expand((part.right - part.left).xreplace(put))) for part in item.parts]
    return all(slack == 0 if sign == "=" else bool(slack.is_nonnegative) and sign == "<=" for sign, slack in rest)


def _warning(line: Line, item: Hypothesis | None) -> str:
    """That nothing read a formula of the text, and which comment line would say it."""
    text = " ".join(line.text.split())
    equation = "=" in text and not any(mark in text for mark in ("<", ">", r"\le", r"\ge"))
    verb = ("step" if text.startswith(r"\eta") else "let") if equation and not LIMIT.match(text) else "assume"
    remedy = f"{ASSUME}{item.assumption}" if item else f"write it as % fedbounds: {verb} ..."
    remedy = ORDER if text.startswith("=") else remedy
    return f"{NOT_READ}: ${text}$ (line {line.line}): {remedy}"
