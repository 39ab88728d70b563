"""The letters of a formula: quantities of the table, points of a run, and what belongs to a client."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import sympy as sp

from fedbounds.errors import Gathered
from fedbounds.latex.grammar import OVER_CLIENTS, subscript_fault
from fedbounds.latex.sums import (
    ALPHA_I,
    ETA_AVERAGE,
    SIGMA_I,
    SIGMA_STAR,
    STEPS,
    TO_T,
    expected,
    of_clients,
    of_draws,
    range_ends,
)
from fedbounds.latex.tokens import MisreadError, Token, one_spelling, scanned, spelled, wrong
from fedbounds.theory import points as at
from fedbounds.theory.symbols import QUANTITIES, L, eta, mu
from fedbounds.theory.vectors import Vec

# A step size without an index: one for all steps.
CONSTANT_STEP = sp.Symbol("eta", positive=True)
POINTS = {"t": at.w, "t+1": at.w_next, r"\star": at.w_star, r"\alpha": at.w_alpha, "0": at.w_0}
ANY_POINT = Vec(sp.Symbol("w_{}"))
# A client's model after the last local step of the first round.
AFTER_A_ROUND = Vec(sp.Symbol(r"w_{\tau}"), at.I)
ROUND_START = Vec(sp.Symbol(r"w_{r\tau}"))
AFTER_THE_ROUND = Vec(sp.Symbol(r"w_{(r+1)\tau}"), at.I)
LOCAL = {"": at.w_i, "t": at.w_i, "t+1": at.w_i_next, r"\star": at.w_i_star, r"\tau": AFTER_A_ROUND, "0": at.w_0}
LOCAL |= {r"(r+1)\tau": AFTER_THE_ROUND}
# The index of an expectation over who is drawn.
DRAWN = re.compile(r"(S|\\mathcal\{S\})(_\{[tr]\})?")
# The mean of the clients' stochastic gradients by p_i, by what it does to w_t, and its expectation.
GRADIENTS = {"g": (at.w - at.w_next) / eta, r"\bar{g}": at.mean(at.grad(at.w_i))}
MEANS_TO = ("T", "T/2:T", "1:T")
TIMES = (*MEANS_TO, "", r"r\tau", r"(r+1)\tau", r"R\tau")
# Indices of F and F_i that mean the least value, as F_{\inf}.
LEAST_VALUE = {r"\inf", r"\min", r"\mathrm{inf}", r"\mathrm{min}", r"\mathrm{opt}"}
# What a letter of other papers mostly is here; those of the first line whatever their index is.
WHOLE = dict.fromkeys(("x", "W", "X", r"\theta", r"\omega"), "w") | dict.fromkeys((r"\alpha", "h"), r"\eta")
WHOLE |= dict.fromkeys(("f", r"\mathcal{L}", r"\mathcal{F}"), "F")
USUAL = dict.fromkeys(("E", "H"), r"\tau") | {"D": r"\|w_0-w^\star\|"}
COUNTS = ("K", "M", "n")
COUNTED = r"N for all clients, m for those drawn, \tau for the steps of a round or T for all steps"
UNKNOWN = "a symbol must be one of the table, or declared"
AVERAGE = "this may be the average of the local models, by p_i if unbiased, that a run visits"
MEANS = (
    r"add % fedbounds: let {0} = \bar{{w}} for the mean of w_0 to w_{{T-1}} with equal weights, or let {0} = w for "
    r"that over clients; write that of w_1 to w_T as \bar w_{{1:T}}; with other weights, such as t + 1, it is "
    r"neither, and not expressible"
)


@dataclass(frozen=True)
class Notation:
    """What the names of a formula mean: ``names`` (name, index) -> value, and the index of a client that is bound.

    Where ``averages``, what is written as an average over clients is the one that a run visits; where ``of_steps`` a
    line says that a bar is the mean over steps; where ``equal`` all clients have one weight, where ``shared``
    those selected, ``together`` where local models are w_t. ``steps`` are the first
    and last term of sums over all steps: where they end at T itself, the author's T + 1 is the number of steps.
    """

    names: Mapping[tuple[str, str], sp.Expr]
    client: str = "i"
    step: str = "t"
    start: int = 0
    averages: bool = False
    of_steps: bool = False
    equal: bool = False
    shared: bool = False
    from_w_0: bool = False
    together: bool = False
    steps: tuple[str, str] = STEPS[0]
    tokens: Sequence[Token] = field(default=(), repr=False)
    faults: Gathered = field(default_factory=Gathered, repr=False)

    def over_steps(self, scripts: Sequence[Any]) -> Notation | None:
        """The notation inside of a sum or a least value over all steps; None where it is over others."""
        leaves = {str(script): spelled(self.tokens[script.start_pos].inside) for script in scripts}
        name, first, last = range_ends(leaves.get("_", ""), leaves.get("^", ""))
        if (first or self.steps[0], last) != self.steps:
            return None
        return self.at_steps(name)

    def at_steps(self, name: str) -> Notation:
        """The notation where that letter counts steps."""
        return replace(self, step=name, client=" " if name == self.client else self.client)

    def expectation(self, scripts: Sequence[Any], place: Token) -> tuple[Notation, Any]:
        """The notation inside an expectation, and what it is: of one with an index over draws or equal clients."""
        if not scripts:
            return self, expected
        script, *more = (self.tokens[item.start_pos] for item in scripts)
        if DRAWN.fullmatch(spelled(script.inside)) and not more:
            return self, of_draws
        if more or subscript_fault(script) is not OVER_CLIENTS or not self.equal:
            raise wrong(place, *subscript_fault(script))
        return replace(self, client=spelled(script.inside)), of_clients

    def bound(self, index: str, place: Token) -> str:
        """An index of steps as t or t+1, where a sum has bound another letter."""
        if self.step == "t" or index == self.client:
            return index
        if index in ("t", "t+1"):
            raise wrong(place, f"the index of this sum is {self.step}, not t", "use one")
        return {self.step: "t", f"{self.step}+1": "t+1"}.get(index, index)


@cache
def shipped_names() -> dict[tuple[str, str], sp.Expr]:
    """(name, index) -> value of every quantity that is a letter: sigma is the root of sigma^2."""
    names: dict[tuple[str, str], sp.Expr] = {(r"\kappa", ""): L / mu, (r"\eta", ""): CONSTANT_STEP, ("e", ""): sp.E}
    names |= {("v", ""): at.v, ("u", ""): at.u}
    for quantity in QUANTITIES.values():
        first, *scripts = one_spelling(scanned(quantity.latex, 1))
        below = "".join(spelled(script.inside) for script in scripts if script.text == "_")
        above = "".join(spelled(script.inside) for script in scripts if script.text == "^")
        if all(script.text in "^_" for script in scripts) and first.text not in ("<norm", r"\sum", r"\min"):
            names[first.text, below] = sp.sqrt(quantity) if above == "2" else quantity
    return names


@cache
def _shown(notation: tuple[tuple[str, str], ...]) -> list[str]:
    """Each letter as it is written, without the tokens that stand for whole phrases."""
    letters = [name + (f"_{{{below}}}" if below else "") for name, below in notation if " " not in name]
    return [*letters, "w_t", "w_T", r"w^\star", "F"]


def letter(name: Token, scripts: Sequence[Token], notation: Notation) -> tuple[sp.Expr, Sequence[Token]]:
    """A letter with its indices: a quantity, a point, or what belongs to a client; and its powers."""
    below = ",".join(spelled(script.inside) for script in scripts if script.text == "_")
    above = [script for script in scripts if script.text == "^"]
    if name.text in ("w", r"\bar{w}"):
        return _point(name, scripts, notation), ()
    if name.text in GRADIENTS and below == "t" and not above and (name.text, below) not in notation.names:
        if not notation.averages:
            raise wrong(name, "g_t is the mean of the clients' gradients by p_i here", "assume unbiased")
        return GRADIENTS[name.text], ()
    indices = {index for script in scripts for index in spelled(script.inside).split(",")}
    if name.text in GRADIENT and indices - {AT_W_T} in ({notation.client}, {notation.client, "t"}):
        if AT_W_T in indices and not notation.together:
            raise wrong(name, "a run draws gradients at the clients' models", "write g_i(w_t^i), or \\tau = 1")
        return (at.w_i - at.w_i_next) / eta, ()  # by what it does to the model
    if name.text == "F":
        star = {spelled(script.inside) for script in scripts}
        if star & LEAST_VALUE:
            star = {r"\star"}
        if star in ({r"\star"}, {r"\star", notation.client}):
            return (at.F_star if len(star) == 1 else at.F_i_star), ()
    by_client = {("p", notation.client): at.p_i, (r"\sigma", notation.client): SIGMA_I}
    by_client[r"\sigma", rf"{notation.client},\star"] = SIGMA_STAR
    meanings = {**notation.names, **by_client}
    if name.text == r"\alpha" and indices in ({notation.client}, {notation.client, "t"}):
        return ALPHA_I, ()
    below = notation.bound(below, name)
    if (name.text, below) not in meanings:
        raise _unknown(name, below, scripts, notation, meanings)
    return meanings[name.text, below], above


def _unknown(
    name: Token,
    below: str,
    scripts: Sequence[Token],
    notation: Notation,
    meanings: Mapping[tuple[str, str], sp.Expr],
) -> MisreadError:
    """That a letter is none of the table, with those near it and the line that would declare it."""
    letter = name.text + (f"_{{{below}}}" if below else "")
    shown = [item for item in _shown(tuple(meanings)) if item != letter]
    near = difflib.get_close_matches(letter, shown, 3, 0.3) or [r"\sigma^2", "L"]
    body = WHOLE.get(name.text) or (USUAL.get(name.text) if below == "" else None)
    declared = f"{name.text} = {body}" if body else f"{letter} = ..."
    declared = f"{letter} = {COUNTED}" if letter in COUNTS else declared
    remedy = f"nearest: {', '.join(near)}; or add % fedbounds: let {declared}"
    if name.text == "n" and below == notation.client:
        remedy = rf"where the weights are by samples, add % fedbounds: let \frac{{n_{below}}}{{n}} = p_{below}"
    if re.match(r"\\mathrm\{\W*\w{2,}", name.text) and not scripts:
        remedy = f"put words outside of the display, or add % fedbounds: let {letter} = ..."
    if name.text.startswith(r"\bar{"):
        remedy = MEANS.format(name.text)
    elif name.text.startswith((r"\hat{", r"\tilde{")) and scripts:
        remedy = f"add % fedbounds: let {name.text} = w where it is the average of the local models"
    return wrong(replace(name, text=letter), UNKNOWN, remedy)


def _point(name: Token, scripts: Sequence[Token], notation: Notation) -> sp.Expr:
    """The vector of an iterate, a local model or a minimiser."""
    marks = [piece for script in scripts for piece in spelled(script.inside).split(",")]
    client = notation.client in marks
    rest = [piece for piece in marks if piece != notation.client]
    time = rest[0] if rest else ""
    if notation.start == 1 and time == "0":
        remedy = "leave start 1 out, and sum from 0; start 1 is for a paper that starts at w_1"
        raise wrong(replace(name, text=spelled([name, *scripts])), "with start 1 the first point is w_1", remedy)
    time = "0" if notation.start == 1 and time == "1" else time
    if notation.steps == TO_T and time in ("T", "T+1"):
        if time == "T" or name.text != "w":
            what = "beside a sum of T + 1 terms the points end with w_{T+1}"
            raise wrong(replace(name, text=spelled([name, *scripts])), what, r"sum to T - 1, or write the mean out")
        time = "T"
    later = {r"0\tau": "0"}.get(time, notation.bound(time, name))
    steps = (later in POINTS or later in TIMES) and later not in ("", *MEANS_TO, r"\star")
    average = name.text == r"\bar{w}" and steps and not client and len(rest) == 1
    if average and not notation.averages:
        remedy = r"let t = T where \bar{w} is the mean over the steps" if notation.of_steps else r"let \bar{w} = w"
        raise wrong(replace(name, text=spelled([name, *scripts])), AVERAGE, f"add % fedbounds: {remedy}")
    letter = "w" if average else name.text
    if len(rest) <= 1 and len(marks) <= 2:
        if client and letter == "w" and later in LOCAL:
            return LOCAL[later]
        if not client and letter == "w" and later in POINTS:
            return POINTS[later]
        if not client and later in TIMES and (letter == "w" or later in MEANS_TO):
            return Vec(sp.Symbol(f"{letter}_{{{later}}}"))
    if name.text == r"\bar{w}" and sorted(rest) == ["T", r"\eta"]:
        return ETA_AVERAGE
    raise wrong(
        replace(name, text=spelled([name, *scripts])),
        "a point must be one that a run visits",
        _of_points(rest, client),
    )


def _of_points(rest: Sequence[str], client: bool) -> str:
    """Which points there are, or the line by which one with these indices is one of them."""
    time = rest[0] if rest else ""
    if len(rest) > 1 and r"\star" in rest:
        return r"a minimiser is w^\star, or w_i^\star of a client inside a sum over i"
    if "best" in time.lower():
        return r"where it is the best step, add % fedbounds: let f(x_{best}) = \min_{t<T} f(x_t)"
    if time == r"t\tau":
        return "where t counts rounds, add % fedbounds: let t = r"
    if not client and time in ("r", "r+1", "R"):
        return r"where r counts rounds, add % fedbounds: where w_r = w_{r\tau}"
    if time == "1":
        return "where steps count from 1, add % fedbounds: start 1"
    if re.fullmatch("[a-z]", time) and time not in "tr":
        return f"where {time} counts steps, add % fedbounds: let {time} = t"
    if client:
        before = r"w_{t+1}^i, w_{(r+1)\tau}^i before they are averaged"
        return rf"a client's models are w_t^i, {before}, w_\tau^i, w_0^i and w_i^\star"
    return r"steps are t, t+1, T and 0, rounds r\tau; \bar w_T is the mean over steps, and w_t that over clients"


# The letters of stochastic gradients, and of what is drawn for one.
GRADIENT = ("g", r"\tilde{g}", r"\hat{g}")
SAMPLE = re.compile(r"[,;](\\xi|\\zeta|\\mathcal\{B\}|B|b|s|z)(?![A-Za-z])")
SAMPLES = re.compile(SAMPLE.pattern + r"('|[_^]\{[^{}]*\})*")
AT = re.compile(r"w(?P<time>_\{t\})(?:\^\{\(?(?P<client>\w)\)?\})?$|w\^\{(?P<other>\w)\}_\{t\}$")
# What an index says of a gradient that was drawn at w_t and not at the client's model.
AT_W_T = "w_t"


def as_letters(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with g_t^i for the stochastic gradient of client i at its model, or at w_t.

    Unchanged where two samples or two letters are spoken of: they may be two draws.
    """
    texts = {token.text for token in tokens}
    samples = {match[0] for match in SAMPLES.finditer(spelled(tokens))}
    if len(samples) > 1 or len(texts.intersection(GRADIENT)) > 1:
        return list(tokens)
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        end, letter = _gradient(tokens, place)
        result += letter or tokens[place:end]
        place = end
    return result


def _gradient(tokens: Sequence[Token], place: int) -> tuple[int, list[Token]]:
    """The place behind a stochastic gradient and the letter for it; the next place where there is none."""
    exact = [token.text for token in tokens[place : place + 2]] == [r"\nabla", "F"]
    behind = place + 1 + exact
    while behind < len(tokens) and tokens[behind].text in ("_", "^"):
        behind += 1
    scripts = tokens[place + 1 + exact : behind]
    indices = {index for script in scripts for index in spelled(script.inside).split(",")}
    named = exact or tokens[place].text in GRADIENT
    if not named or behind >= len(tokens) or tokens[behind].text != "(":
        return place + 1, []
    closing = next((k for k in range(behind, len(tokens)) if tokens[k].text == ")"), behind)
    inside = spelled(tokens[behind + 1 : closing])
    sample = SAMPLE.search(inside)
    point = AT.match(inside[: sample.start()] if sample else inside)
    if point is None or (exact and sample is None):
        return place + 1, []
    client = point["client"] or point["other"]
    (of,) = indices - {"t"} if len(indices - {"t"}) == 1 else {""}
    if not of or client not in (None, of):
        return place + 1, []
    above = [Token(of, tokens[place].line, tokens[place].column)]
    above += [replace(above[0], text=text) for text in (",", AT_W_T)] if client is None else []
    here = [replace(tokens[place], text=text, inside=()) for text in ("g", "_", "^")]
    here[1], here[2] = replace(here[1], inside=(replace(above[0], text="t"),)), replace(here[2], inside=tuple(above))
    return closing + 1, here
