"""Formal expressions as linear forms: Gram entries of deviations and of means, mean losses, and constants.

With alpha = p every vector of a client splits into its p-mean and its deviation from it; the two are orthogonal under
the p-mean, so that a quadratic form in the vectors of any number of clients is one form of the means and one of the
deviations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import definitions as formal_objects
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Noise, Value, Vec

Key = tuple[Any, ...]
Form = dict[Key, Any]
MEAN, DEVIATION, NOISY, NOISY_DEVIATION = "mean", "deviation", "noise", "noise deviation"
BLOCKS = (MEAN, DEVIATION, NOISY, NOISY_DEVIATION)
ORIGIN = (formal_objects.W_STAR,)


class NoForm(ValueError):
    """Why an expression is no linear form in what a proof here may speak of."""


@dataclass(frozen=True)
class Space:
    """What expressions are read in: ``field`` of the parameters, ``numbers`` put in for them, ``states`` unfolded.

    ``client`` is a statement about one client, ``together`` one in which local models are the virtual iterate.
    """

    field: Any
    numbers: dict[sp.Basic, sp.Expr]
    states: dict[sp.Basic, sp.Expr]
    client: bool = False
    together: bool = False

    def number(self, expression: sp.Expr) -> Any:
        """A coefficient as an element of the field."""
        for _ in self.numbers:
            expression = sp.sympify(expression).xreplace(self.numbers)
        try:
            return self.field.from_expr(expression)
        except (ValueError, sp.CoercionFailed) as fault:
            raise NoForm(f"{expression} is no quotient of polynomials in the parameters") from fault

    def vector(self, expression: sp.Expr) -> Form:
        """A vector in the basis: (atom, block) -> coefficient."""
        total: Form = {}
        for term in sp.Add.make_args(sp.expand(expression)):
            factors = sp.Mul.make_args(term)
            atoms = [factor for factor in factors if isinstance(factor, Vec | Grad | Noise | Centre)]
            if term == 0:
                continue
            if len(atoms) != 1:
                raise NoForm(f"{term} is no number times a vector")
            _add(total, self._atom(atoms[0]), self.number(term / atoms[0]))
        return total

    def _atom(self, atom: sp.Expr) -> Form:
        one = self.field.one
        if isinstance(atom, Centre):
            inside = self.vector(atom.args[1])
            return {key: value for key, value in inside.items() if key[1] in (MEAN, NOISY)}
        if atom == (formal_objects.OWN if self.client else formal_objects.W_STAR):
            return {}
        if isinstance(atom, Noise):
            return {(atom, NOISY): one, (atom, NOISY_DEVIATION): one}
        if atom == formal_objects.X and not self.client:
            apart = {} if self.together else {(atom, DEVIATION): one}
            return {(formal_objects.W, MEAN): one, **apart}
        if isinstance(atom, Grad):
            if self.client:
                return {} if atom.args[0] == formal_objects.OWN else {(atom, MEAN): one}
            centre = {} if atom.args[0] == formal_objects.W_STAR else {(atom, MEAN): one}
            return {**centre, (atom, DEVIATION): one}
        if atom.args[1:]:
            raise NoForm(f"{atom} is no vector that is known here")
        return {(atom, MEAN): one}

    def inner(self, left: Form, right: Form) -> Form:
        """The inner product of two vectors in Gram entries."""
        total: Form = {}
        for (u, block), a in left.items():
            for (v, other), b in right.items():
                if block == other:
                    first, second = sorted((u, v), key=sp.default_sort_key)
                    _add(total, {("gram", block, first, second): a * b}, self.field.one)
        return total

    def scalar(self, expression: sp.Expr, inside: bool = False) -> Form:
        """A scalar as a form; ``inside`` a mean, what differs from client to client may stand."""
        total: Form = {}
        for term in sp.Add.make_args(sp.expand(sp.sympify(expression))):
            if term == 0:
                continue
            number, atoms = sp.Integer(1), []
            for factor in sp.Mul.make_args(term):
                if factor in self.states or isinstance(factor, Inner | Mean | Loss | Value):
                    atoms.append(factor)
                elif factor.free_symbols <= set(map(sp.sympify, self.field.symbols)) | set(self.numbers):
                    number *= factor
                else:
                    atoms.append(factor)
            _add(total, self._product(atoms, inside), self.number(number))
        return total

    def _product(self, atoms: list[sp.Expr], inside: bool) -> Form:
        known = [atom for atom in atoms if atom in self.states or isinstance(atom, Inner | Mean | Loss | Value)]
        if known and len(atoms) > 1:
            raise NoForm(f"{sp.Mul(*atoms)} is a product of what varies")
        if not known:
            return {("constant", sp.Mul(*atoms)): self.field.one}
        (atom,) = atoms
        if atom in self.states:
            return self.scalar(self.states[atom], inside)
        if isinstance(atom, Mean):
            return self.scalar(atom.args[1], True)
        if isinstance(atom, Inner):
            return self._gram(atom, inside)
        if isinstance(atom, Loss) and self.client and atom.args[0] == formal_objects.OWN:
            return {("loss", formal_objects.F_MIN): self.field.one}
        return {("loss", atom.args[0] if isinstance(atom, Loss) else atom): self.field.one}

    def _gram(self, atom: sp.Expr, inside: bool) -> Form:
        left, right = map(self.vector, atom.args)
        if not inside and not self.client:
            both = {block for _, block in left} & {block for _, block in right}
            if both & {DEVIATION, NOISY_DEVIATION}:
                raise NoForm(f"{atom} differs from client to client")
        return self.inner(left, right)


def _add(total: Form, part: Form, factor: Any) -> None:
    """total += factor * part."""
    for key, value in part.items():
        result = total.get(key, 0) + factor * value
        if result == 0:
            total.pop(key, None)
        else:
            total[key] = result


def difference(left: Form, right: Form, field: Any) -> Form:
    """left - right."""
    total = dict(left)
    _add(total, right, -field.one)
    return total


def basis(forms: Iterable[Form]) -> dict[str, list[sp.Expr]]:
    """Block -> the vectors whose Gram entries occur in any of the forms."""
    found: dict[str, set[sp.Expr]] = {}
    for form in forms:
        for key in form:
            if key[0] == "gram":
                found.setdefault(key[1], set()).update(key[2:])
    return {block: sorted(found[block], key=sp.default_sort_key) for block in BLOCKS if block in found}
