"""Expressions as terms of Rocq, labels as the names of its modules, and the words of claims about a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.prover.special_cases import of_least
from fedbounds.evidence.symbolic.proof_objects import averaging_weights
from fedbounds.theory import assumptions as assumed
from fedbounds.theory import symbols as sy
from fedbounds.theory.claim import Claim

STEPS = "(M : nat -> Step P)"
PATH = "(n : nat) (odds : nat -> R) (W : nat -> nat -> V P)"
SOME = "(0 < tau)%nat"
FOLLOW = "models_follow"
WORDS = {"Delta_0": "Delta (M 0%nat)", "gap_0": "gap_t (M 0%nat)", "t": "INR t", "eta": "eta (M t)"}
# At time T; at the end of round r, at its start, and after r rounds.
AT_END = {"gap": "gap_t (M T)", "Delta_T": "Delta (M T)", "T": "INR T", "average_gap": "gap_of_mean T n odds W"}
AT_END |= {"gap_sum": "sum T (fun s => gap_t (M s))", "eta_sum": "sum T (fun s => eta (M s))"}
OF_ROUND = {
    "Delta_round_next": "Delta (M ((r + 1) * tau)%nat)",
    "Delta_round": "Delta (M (r * tau)%nat)",
    "gap_round_next": "gap_t (M ((r + 1) * tau)%nat)",
    "gap_round": "gap_t (M (r * tau)%nat)",
    "R": "INR r",
}


def rocq(expression: sp.Expr, words: Mapping[str, str], letter: str = "R") -> str:
    """A sympy expression of rationals, sums, products, whole powers, Max and Min as a term of Rocq.

    ``words`` are its symbols; ``letter`` is R over the real numbers and Q over fractions.
    """
    expression = sp.sympify(expression)
    if isinstance(expression, sp.Symbol):
        if expression.name not in words:
            raise reject(
                f"the kernel must have a word for {expression.name}", f"those for {', '.join(words)}", "leave it"
            )
        return words[expression.name]
    if isinstance(expression, sp.Rational):
        size = str(abs(expression.p)) if expression.q == 1 else f"({abs(expression.p)} / {expression.q})"
        return size if expression >= 0 else f"(- {size})"
    if isinstance(expression, sp.Pow) and isinstance(expression.exp, sp.Integer):
        power = f"{_factor(expression.base, words, letter)} ^ {abs(int(expression.exp))}".removesuffix(" ^ 1")
        return power if expression.exp > 0 else f"/ ({power})"
    if isinstance(expression, sp.Pow) and (times := _natural(expression.exp, words)):
        return f"{_factor(expression.base, words, letter)} ^ {times}"
    if isinstance(expression, sp.Add):
        return " + ".join(rocq(part, words, letter) for part in expression.as_ordered_terms())
    if isinstance(expression, sp.Mul):
        return " * ".join(_factor(part, words, letter) for part in expression.as_ordered_factors())
    if isinstance(expression, sp.Max | sp.Min):
        kind = letter + type(expression).__name__.lower()
        text, *others = (rocq(part, words, letter) for part in sorted(expression.args, key=str))
        for other in others:
            text = f"{kind} ({text}) ({other})"
        return text
    raise reject("a formula must be made of sums, products, whole powers, Max and Min", str(expression), "rewrite it")


def _natural(exponent: sp.Expr, words: Mapping[str, str]) -> str:
    """A sum of products of whole numbers as a natural number of Rocq; empty where it is none."""
    terms = []
    for term in sp.Add.make_args(sp.expand(exponent)):
        number, symbols = term.as_coeff_Mul()
        factors = [words.get(str(one), "") for one in sp.Mul.make_args(symbols)] if symbols != 1 else []
        if not (number.is_Integer and number > 0 and all(one.startswith("INR ") for one in factors)):
            return ""
        terms.append(" * ".join([str(number)] * (number != 1 or not factors) + [one[4:] for one in factors]))
    return f"({' + '.join(terms)})%nat"


def _factor(expression: sp.Expr, words: Mapping[str, str], letter: str) -> str:
    """A factor or base: in brackets unless it has them, is one word, or is a power."""
    text = rocq(expression, words, letter)
    bare = (
        " " not in text
        or isinstance(expression, sp.Rational)
        or (expression.is_Pow and not expression.exp.is_negative)
    )
    return text if bare else f"({text})"


def binder_names(stated: str) -> str:
    """What a proposition binds after its problem and its step."""
    first = stated[: stated.index(",\n")]
    groups = re.findall(r"\(([^:()]+) : (?:R|nat)\)", first)
    return " ".join(groups)


def safe_key(key: str) -> str:
    """A claim's key, which may be any label, as what a comment of Rocq may have.

    >>> safe_key("thm:main-1")
    'thm_main-1'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", key)


def module_name(key: str) -> str:
    """The same as a part of a module's name.

    >>> module_name("thm:main-1")
    'thm_main_1'
    """
    return safe_key(key).replace("-", "_")


# Whole runs, and rounds of one


@dataclass(frozen=True)
class Subject:
    """The steps ``M t`` up to ``last``: what binds them, what else is assumed of them, and the words for them."""

    binders: str
    last: str
    further: tuple[str, ...]
    words: Mapping[str, str]


def subject_of(claim: Claim) -> Subject | None:
    """The run that a claim speaks of; None where it is about one step."""
    subject = _subject_of(claim)
    if subject is None or not of_local_models(claim):
        return subject
    last = subject.last
    whole = f"rounds M {last} tau"
    goes_on = f"(forall t, (t < {last})%nat -> {FOLLOW} (M t) (M (Datatypes.S t)))"
    further = dict.fromkeys((*subject.further, SOME, whole, goes_on))
    return replace(subject, further=tuple(further))


def over_path(quantity: sp.Basic) -> bool:
    """Whether a quantity is of all iterates of a run together: of their mean, or the least over them."""
    return quantity == sy.average_gap or averaging_weights(quantity) is not None or of_least(quantity) is not None


def of_local_models(claim: Claim) -> bool:
    """Whether a proof follows the local models of a run: by the gradients at w*, where clients make several steps."""
    one = any(part == (sy.tau, "=", 1) for item in claim.assumptions for part in item.parts)
    at_rest = assumed.homogeneous in claim.assumptions or "zeta_star_sq" in claim.symbols
    return at_rest and not one and {assumed.unbiased, assumed.strongly_convex} <= set(claim.assumptions)


def _subject_of(claim: Claim) -> Subject | None:
    if claim.lhs in (sy.Delta_round_next, sy.gap_round_next):
        return Subject(
            f"{STEPS} (r : nat)", "((r + 1) * tau)", (SOME, "rounds M ((r + 1) * tau) tau"), WORDS | OF_ROUND
        )
    if claim.scope != "horizon":
        return None
    if claim.lhs in (sy.Delta_round, sy.gap_round):
        return Subject(f"{STEPS} (r : nat)", "(r * tau)", (SOME, "rounds M (r * tau) tau"), WORDS | OF_ROUND)
    words = WORDS | AT_END
    if over_path(claim.lhs):
        whole = (SOME, "(0 < T)%nat", "rounds M T tau", "path M T n odds W")
        return Subject(f"{STEPS} (T : nat) {PATH}", "T", whole, words)
    sides = (sp.sympify(side) for side in (claim.lhs, *claim.terms.values()))
    divides = any(
        one.base in (sy.T, sy.eta_sum) and one.exp.is_negative for side in sides for one in side.atoms(sp.Pow)
    )
    further = (SOME,) * (claim.lhs != sy.gap) + ("(0 < T)%nat",) * divides
    return Subject(f"{STEPS} (T : nat)", "T", further, words)
