"""Vectors and scalars about points in Rocq's words: linear forms in inner products of few vectors, and in losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp

from fedbounds.errors import reject
from fedbounds.evidence.kernel.point_statement import ONE_STEP, PointClaim
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, F_MIN, OWN, W_ALPHA, W_STAR, P, X, grad
from fedbounds.theory.normal_form import depends
from fedbounds.theory.points import I, is_vector, weight_ratio
from fedbounds.theory.vectors import Centre, Inner, Loss, Mean

Parts = dict[str, sp.Expr]
# Facts that say nothing once vectors are written in few of them: gradients that vanish, ratios of weights.
VANISH = (
    "attained",
    "own-optimum",
    "optimum",
    "alpha-optimum",
    "weight-ratio",
    "weight-ratio-mean",
    "unbiased",
    "single-step",
    "single-step-gradients",
    "no-noise",
)


@dataclass
class Vectors:
    """Vectors by their texts, clients' first; ``centres`` by (weights, client's vector); ``composed`` means
    of sums, and ``averaged`` clients' vectors whose product with one of all clients is averaged under weights.
    """

    points: PointClaim
    vectors: dict[str, bool] = field(default_factory=dict)
    centres: dict[tuple[str, str], str] = field(default_factory=dict)
    composed: dict[str, tuple[str, list[tuple[sp.Expr, sp.Expr, str]], Parts]] = field(default_factory=dict)
    averaged: dict[tuple[sp.Expr, str], None] = field(default_factory=dict)

    def vector(self, expression: sp.Expr) -> Parts:
        """Texts of vectors with coefficients; what vanishes is left out."""
        total: Parts = {}
        for factor, atom in self._terms(expression):
            if isinstance(atom, Centre):
                parts = self.centre(atom)
            elif atom == grad(OWN):
                parts = {}
            else:
                text = self.points.vector(atom)
                if text.startswith("(centre"):  # the iterate, as the mean of the local models
                    parts = self.centre(Centre(ALPHA, X))
                else:
                    self.vectors[text] = depends(atom, I)
                    parts = {text: sp.Integer(1)}
            add(total, parts, factor)
        return total

    def _terms(self, expression: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
        for term in sp.Add.make_args(sp.expand(expression)):
            atoms = [one for one in sp.Mul.make_args(term) if is_vector(one)]
            if term == 0:
                continue
            if len(atoms) != 1:
                raise no_script(f"the vector {expression}")
            yield term / atoms[0], atoms[0]

    def centre(self, atom: sp.Expr) -> Parts:
        """The mean of clients' vectors in means of single ones."""
        weights, inside = atom.args
        total: Parts = {}
        raw: list[tuple[sp.Expr, sp.Expr, str]] = []
        for factor, one in self._terms(inside):
            number, under = reweighted(factor, weights)
            for text, value in self.vector(one).items():
                part = {self.mean_of(under, text): sp.Integer(1)} if self.vectors[text] else {text: sp.Integer(1)}
                raw.append((factor / number, number * value, text))
                add(total, {key: v for key, v in part.items() if key}, number * value)
        text = self.points.vector(atom)
        if text not in self.centres.values():
            self.composed.setdefault(text, (self.points.weights(weights), raw, dict(total)))
        return total

    def mean_of(self, weights: sp.Expr, text: str) -> str:
        """The mean of one vector of a client; empty where it vanishes."""
        by = self.points.weights(weights)
        name = f"(centre (N P) {by} (fun i => {text}))"
        self.centres[by, text] = name
        self.vectors[name] = False
        return "" if name in self.zeros() else name

    def zeros(self) -> dict[str, str]:
        """Mean gradients that vanish, and why."""
        why = {self.points.vector(Centre(P, grad(W_STAR))): "(still P (p P) (w_star P) L Hp Hopt Hs ltac:(lra))"}
        if any(side.has(W_ALPHA) for side in (self.points.left, self.points.right)):
            by = self.points.weights(ALPHA)
            text = self.points.vector(Centre(ALPHA, grad(W_ALPHA)))
            why[text] = f"(still P {by} w_alpha L {'Ha' if by == 'alpha' else 'Hp'} Hw Hs ltac:(lra))"
        return why

    def inner(self, left: Parts, right: Parts) -> Parts:
        total: Parts = {}
        for u, a in left.items():
            for v, b in right.items():
                first, second = sorted((u, v), key=self.order)
                if self.vectors[first] and not self.vectors[second]:
                    self.averaged |= dict.fromkeys((one, first) for one in (P, ALPHA))
                add(total, {f"ip {first} {second}": a * b}, sp.Integer(1))
        return total

    def order(self, text: str) -> tuple[bool, str]:
        return not self.vectors[text], text

    def of_client(self, expression: sp.Expr) -> dict[tuple[str, bool], sp.Expr]:
        """A scalar of a client: (text, whether times alpha_i/p_i) -> coefficient; the text of a number is 1."""
        total: dict[tuple[str, bool], sp.Expr] = {}
        for term in sp.Add.make_args(sp.expand(expression)):
            atoms = [one for one in sp.Mul.make_args(term) if isinstance(one, Inner | Loss | Mean) or one == F_MIN]
            if term == 0:
                continue
            if len(atoms) > 1 or any(isinstance(one, Mean) for one in atoms):
                raise no_script(f"the product {term}")
            factor = term / sp.Mul(*atoms)
            number, _ = reweighted(factor, P)
            parts = {"1": sp.Integer(1)} if not atoms else self.of_atom(atoms[0])
            add(total, {(text, number != factor): value for text, value in parts.items()}, number)
        return total

    def of_atom(self, atom: sp.Expr) -> Parts:
        if isinstance(atom, Inner):
            return self.inner(*(self.vector(side) for side in atom.args))
        return {self.points.atom(atom)[1:-1]: sp.Integer(1)}


def reweighted(factor: sp.Expr, weights: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """A number without the ratio alpha_i/p_i, and the weights that it makes of p."""
    if not factor.has(weight_ratio):
        return factor, weights
    rest = factor / weight_ratio
    if weights != P or rest.has(weight_ratio):
        raise no_script(f"the weights {factor}")
    return rest, ALPHA


def add(total: dict[Any, sp.Expr], part: dict[Any, sp.Expr], factor: sp.Expr) -> None:
    """total += factor * part."""
    for key, value in part.items():
        result = sp.expand(total.get(key, sp.Integer(0)) + factor * value)
        if result == 0:
            total.pop(key, None)
        else:
            total[key] = result


def at_one_point(fact: d.Fact) -> d.Fact:
    """A fact where local models are the iterate and gradients have no noise."""
    if isinstance(fact, d.Averaged):
        return replace(fact, uses=tuple((m, at_one_point(one)) for m, one in fact.uses))
    if isinstance(fact, d.Premise):
        return replace(fact, points=tuple(sp.sympify(point).xreplace(dict(ONE_STEP)) for point in fact.points))
    return replace(fact, of=sp.expand(fact.of.xreplace(dict(ONE_STEP)))) if isinstance(fact, d.Square) else fact


def means_in(expression: sp.Expr) -> set[sp.Expr]:
    """The means that stand in no other mean."""
    if isinstance(expression, Mean):
        return {expression}
    return set().union(*map(means_in, expression.args)) if expression.args else set()


def says_nothing(fact: d.Fact) -> bool:
    if isinstance(fact, d.Averaged):
        return all(says_nothing(one) for _, one in fact.uses)
    if isinstance(fact, d.Square):
        return bool(fact.of == 0)
    return isinstance(fact, d.Premise) and (fact.key in VANISH or len(set(fact.points)) < len(fact.points))


def no_script(what: str) -> Exception:
    needs = "a script must be of facts about points, gradients and weights, times their multipliers"
    return reject(needs, what, "prove it by hand in derivations/rocq")
