"""A claim as a proposition of Rocq (Coq), from the sympy terms that everything else evaluates.

The statement speaks of one local step of Algorithm 1 (`derivations/rocq/Model.v`, which a reader must read):
N clients in a real inner product space, weights fixed in a round, noise of finite support with conditional mean
zero. Constants are universally quantified; the skews and ratios are *bounds* on products: nothing is divided by 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import sympy as sp

from fedbounds.errors import reject
from fedbounds.theory import symbols
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind
from fedbounds.theory.reading import Reading

# Quantities of the model: their Rocq terms.
MEASURED: Mapping[str, str] = {
    "eta": "eta M",
    "Delta": "Delta M",
    "Delta_next": "Delta_next M",
    "drift": "drift M",
    "gap_t": "gap_t M",
    "Gamma": "Gamma P",
    "grad_sq": "norm_sq (grad P i (x M c k i))",
    "excess": "excess P i (x M c k i)",
    "C": "1",
}
# Constants: what ties them to the model, beside their sign.
TIED: Mapping[str, tuple[str, ...]] = {
    "L": ("smooth P L",),
    "mu": ("strongly_convex P mu",),
    "sigma_sq": ("bounded_variance M sigma_sq",),
    "G_sq": ("bounded_gradient M G_sq",),
    "rho_bar": ("skew_at_least M rho_bar",),
    "rho_tilde": ("star_skew_at_most M rho_tilde",),
    "pi_min": ("ratio_at_least M pi_min",),
    "pi_max": ("ratio_at_most M pi_max",),
    "eta_ratio": ("steps_within M eta_ratio",),
    "tau": ("in_round M tau",),
}
# Assumptions that are the tie of a constant, by their keys; relations are printed, and others cannot be expressed.
OWNED: Mapping[str, str] = {
    "smooth": "L",
    "strongly-convex": "mu",
    "bounded-variance": "sigma_sq",
    "bounded-gradient": "G_sq",
}
NATURAL = ("tau",)
HEADER = "From Coq Require Import Reals.\nRequire Import Space Model.\nOpen Scope R_scope.\n"


def statement(claim: Claim, reading: Reading) -> str:
    """The text of a Rocq file with the definition ``statement : Prop`` of a one-step claim in a reading.

    Raises InputError where the model has no word for the claim: another scope, kind, reading or assumption.
    """
    if claim.scope not in ("step", "point") or claim.kind is not Kind.INEQUALITY:
        raise _cannot(claim, f"a claim of scope {claim.scope} and kind {claim.kind}", "one-step inequalities can be")
    if reading.skew != "all-steps" or reading.virtual != "alpha":
        raise _cannot(claim, f"the reading {reading.name}", "the model weights by alpha and bounds rho at every step")
    left, right = sp.sympify(claim.lhs), list(claim.sides(reading).terms.values())
    assumptions = claim.assumptions_in(reading)
    relations = [line for assumption in assumptions for line in _relations(claim, assumption)]
    used = {s.name for e in (left, *right) for s in sp.sympify(e).free_symbols}
    used |= {OWNED[a.key] for a in assumptions if a.key in OWNED}
    used |= {name for a in assumptions for name in a.symbols() if a.key not in OWNED}
    constants = sorted(used - MEASURED.keys())
    unknown = [name for name in constants if name not in TIED]
    if unknown:
        raise _cannot(claim, f"the symbol {unknown[0]}", f"known are {', '.join([*MEASURED, *TIED])}")
    if {"L", "mu"} <= set(constants):
        relations.insert(0, "mu <= L")
    reals = [name for name in constants if name not in NATURAL]
    naturals = [name for name in constants if name in NATURAL]
    binders = "".join(f" ({' '.join(names)} : {kind})" for names, kind in ((reals, "R"), (naturals, "nat")) if names)
    signs = [f"0 {'<' if getattr(symbols, name).is_positive else '<='} {name}" for name in reals]
    ties = [tie for name in constants for tie in TIED[name]]
    place = "forall c k i, seen M c k -> (i < N P)%nat ->\n  " if claim.scope == "point" else ""
    conditions = "".join(f"  {text} ->\n" for text in ("setting M", *signs, *relations, *ties))
    total = " +\n     ".join(f"({rocq(term)})" for term in right) or "0"
    return (
        f"(* {claim.key} [{reading.name}]: {claim.title}. Written from the claim; do not edit. *)\n{HEADER}\n"
        f"Definition statement : Prop := forall (P : Problem) (M : Step P){binders},\n{conditions}"
        f"  {place}{rocq(left)} <=\n     {total}.\n"
    )


def digest(text: str) -> str:
    """SHA-256 of a statement, what ties a checked proof to the claim."""
    return hashlib.sha256(text.encode()).hexdigest()


def rocq(expression: sp.Expr) -> str:
    """A sympy expression of rationals, sums, products, whole powers, Max and Min as a term over Rocq's reals."""
    expression = sp.sympify(expression)
    if isinstance(expression, sp.Symbol):
        if expression.name in NATURAL:
            return f"INR {expression.name}"
        return MEASURED.get(expression.name, expression.name)
    if isinstance(expression, sp.Integer):
        return str(expression) if expression >= 0 else f"(- {-expression})"
    if isinstance(expression, sp.Rational):
        return (
            f"({expression.p} / {expression.q})" if expression.p >= 0 else f"(- ({-expression.p} / {expression.q}))"
        )
    if isinstance(expression, sp.Pow) and isinstance(expression.exp, sp.Integer):
        power = f"{_factor(expression.base)} ^ {abs(int(expression.exp))}".removesuffix(" ^ 1")
        return power if expression.exp > 0 else f"/ ({power})"
    if isinstance(expression, sp.Add):
        return " + ".join(rocq(part) for part in expression.as_ordered_terms())
    if isinstance(expression, sp.Mul):
        return " * ".join(_factor(part) for part in expression.as_ordered_factors())
    if isinstance(expression, sp.Max | sp.Min):
        name, (first, *rest) = type(expression).__name__.lower(), sorted(expression.args, key=str)
        text = rocq(first)
        for other in rest:
            text = f"R{name} ({text}) ({rocq(other)})"
        return text
    raise reject("a formula must be made of sums, products, whole powers, Max and Min", str(expression), "rewrite it")


def _factor(expression: sp.Expr) -> str:
    """A factor or base: in brackets unless it has them, is one word, or is a power."""
    text = rocq(expression)
    bare = " " not in text or isinstance(expression, sp.Rational) or (expression.is_Pow and expression.exp > 0)
    return text if bare else f"({text})"


def _relations(claim: Claim, assumption: Assumption) -> Iterator[str]:
    """The hypotheses that an assumption adds; a constant's tie stands with the constant."""
    if assumption.key in OWNED:
        return
    if not assumption.parts:
        raise _cannot(claim, f"the assumption {assumption.key}", "give it as a relation between the model's symbols")
    for part in assumption.parts:
        if assumption.symbols() != {"C"} or rocq(part.left - part.right) != "1 + (- 1)":  # C = 1 is the model's
            yield f"{rocq(part.left)} {part.sign} {rocq(part.right)}"


def _cannot(claim: Claim, what: str, remedy: str) -> Exception:
    return reject(f"the kernel's model must express all that {claim.key} says", f"{what}, which it has not", remedy)
