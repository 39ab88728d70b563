"""Formal expressions as linear forms: Gram entries of deviations and of means, mean losses, and constants.

Under weights over the clients every vector of a client splits into its mean and its deviation from it; the two are
orthogonal under that mean, so that a quadratic form in the vectors of any number of clients is one form of the means
and one of the deviations. The weights are p, and alpha too where nothing says that it is p.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic.definitions import ALPHA, F_MIN, OWN, W_ALPHA, W_NEXT, W_STAR, P, W, X, grad, loss
from fedbounds.theory.points import I, is_vector, weight_ratio
from fedbounds.theory.vector_normal_form import depends
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Noise, Value, Vec

Key = tuple[Any, ...]
Form = dict[Key, Any]
# Blocks of Gram entries: of means, and of deviations under weights; noise has its own.
MEAN, DEVIATION, NOISY, NOISY_DEVIATION = "mean", "deviation", "noise", "noise deviation"
Block = tuple[str, sp.Expr | None]
MEANS: tuple[Block, ...] = ((MEAN, None), (NOISY, None))
BLOCKS: tuple[Block, ...] = (*MEANS, *((name, w) for name in (DEVIATION, NOISY_DEVIATION) for w in (P, ALPHA)))
# Noise is orthogonal to what was there before it, not to gradients where its step ends: products with these are of no
# block, so that they must cancel.
NOISE_OF: dict[Block, Block] = {MEANS[0]: MEANS[1], **{(DEVIATION, w): (NOISY_DEVIATION, w) for w in (P, ALPHA)}}
AFTER_NOISE: Block = ("after noise", None)


class NoForm(ValueError):
    """Why an expression is no linear form in what a proof here may speak of."""


@dataclass(frozen=True)
class Space:
    """What expressions are read in: ``field`` of the parameters, ``numbers`` put in for them, ``states`` unfolded.

    ``client`` is a statement about one client, ``together`` one in which local models are the virtual iterate,
    ``unbiased`` one in which alpha is p, ``shared`` one in which w* minimises every F_i, ``identical`` one in which
    they are one function, ``noiseless`` one of full gradients. What was read is ``known``.
    """

    field: Any
    numbers: dict[sp.Basic, sp.Expr]
    states: dict[sp.Basic, sp.Expr] = field(repr=False)
    client: bool = False
    together: bool = False
    unbiased: bool = False
    shared: bool = False
    identical: bool = False
    noiseless: bool = False
    known: dict[tuple[sp.Expr, sp.Expr | None], Form] = field(default_factory=dict, init=False, repr=False)

    def number(self, expression: sp.Expr) -> Any:
        """A coefficient as an element of the field."""
        for _ in self.numbers:
            expression = sp.sympify(expression).xreplace(self.numbers)
        try:
            return self.field.from_expr(expression)
        except (ValueError, sp.CoercionFailed) as fault:
            raise NoForm(f"{expression} is no quotient of polynomials in the parameters") from fault

    def weights(self, given: sp.Expr) -> sp.Expr:
        """The weights, where alpha is p the latter."""
        return P if self.unbiased and given == ALPHA else given

    def vector(self, expression: sp.Expr, weights: sp.Expr | None = None) -> Form:
        """A vector, of each client inside a mean with ``weights``, in the basis: (atom, block) -> coefficient."""
        total: Form = {}
        for term in sp.Add.make_args(sp.expand(expression)):
            atoms = [factor for factor in sp.Mul.make_args(term) if is_vector(factor)]
            if term == 0:
                continue
            if len(atoms) != 1:
                raise NoForm(f"{term} is no number times a vector")
            number, under = self._reweighted(term / atoms[0], weights)
            if under != weights:
                raise NoForm(f"{term} has other weights than the rest")
            _add(total, self._atom(atoms[0], weights), self.number(number))
        return total

    def _reweighted(self, number: sp.Expr, weights: sp.Expr | None) -> tuple[sp.Expr, sp.Expr | None]:
        """A number without the ratio alpha_i/p_i, which makes alpha of the weights p."""
        rest = number / weight_ratio
        moved = weights == P and number.has(weight_ratio) and not rest.has(weight_ratio)
        return (rest, self.weights(ALPHA)) if moved else (number, weights)

    def _atom(self, atom: sp.Expr, weights: sp.Expr | None) -> Form:
        one = self.field.one
        if self.together and atom == grad(W):
            atom = grad(X)
        if isinstance(atom, Centre):
            return self._centre(*atom.args)
        if atom in ((OWN if self.client else W_STAR), grad(OWN)) or (self.shared and atom == grad(W_STAR)):
            return {}
        if self.client and isinstance(atom, Grad):
            return {(atom, (MEAN, None)): one}
        if isinstance(atom, Grad | Noise) or atom in (X, OWN):
            if weights is None:
                raise NoForm(f"{atom} differs from client to client")
            noisy = isinstance(atom, Noise)
            mean, middle = self._middle(atom, weights), (NOISY if noisy else MEAN, None)
            centre = {} if mean is None else {(mean, middle): one}
            if (atom == X and self.together) or (self.identical and is_common_gradient(atom)):
                return centre
            return {**centre, (atom, (NOISY_DEVIATION if noisy else DEVIATION, weights)): one}
        if atom == W_NEXT and atom in self.states:
            return self.vector(self.states[atom])
        if not isinstance(atom, Vec) or atom.args[1:]:
            raise NoForm(f"{atom} is no vector that is known here")
        return {(atom, (MEAN, None)): one}

    def _centre(self, weights: sp.Expr, inside: sp.Expr) -> Form:
        total: Form = {}
        for term in sp.Add.make_args(sp.expand(inside)):
            number, under = self._reweighted(term, self.weights(weights))
            _add(total, self.vector(number, under), self.field.one)
        return {key: value for key, value in total.items() if key[1] in MEANS}

    def _middle(self, atom: sp.Expr, weights: sp.Expr) -> sp.Expr | None:
        """What the mean of a client's vector is called; None where it is 0."""
        if (atom, weights) in ((grad(W_STAR), P), (grad(W_ALPHA), ALPHA)):
            return None
        of_models = atom == X and (weights == ALPHA or self.unbiased or self.together)
        return W if of_models else Centre(weights, atom)

    def inner(self, left: Form, right: Form) -> Form:
        """The inner product of two vectors in Gram entries."""
        total: Form = {}
        for (u, block), a in left.items():
            for (v, other), b in right.items():
                correlated = NOISE_OF.get(block) == other and u.has(W_NEXT)
                correlated |= NOISE_OF.get(other) == block and v.has(W_NEXT)
                if block == other or (correlated and not self.noiseless):
                    first, second = sorted((u, v), key=sp.default_sort_key)
                    name = AFTER_NOISE if correlated else block
                    _add(total, {("gram", name, first, second): a * b}, self.field.one)
        return total

    def scalar(self, expression: sp.Expr, weights: sp.Expr | None = None) -> Form:
        """A scalar, of each client inside a mean with ``weights``, as a form."""
        if (expression, weights) not in self.known:
            self.known[expression, weights] = self._scalar(expression, weights)
        return self.known[expression, weights]

    def _scalar(self, expression: sp.Expr, weights: sp.Expr | None) -> Form:
        total: Form = {}
        for term in sp.Add.make_args(sp.expand(sp.sympify(expression))):
            if term == 0:
                continue
            reweighted, under = self._reweighted(term, weights)
            number, atoms = sp.Integer(1), []
            for factor in sp.Mul.make_args(reweighted):
                if factor in self.states or not self._is_number(factor):
                    atoms.append(factor)
                else:
                    number *= factor
            _add(total, self._product(atoms, under), self.number(number))
        return total

    def _is_number(self, factor: sp.Expr) -> bool:
        known = set(map(sp.sympify, self.field.symbols)) | set(self.numbers)
        return not isinstance(factor, Inner | Mean | Loss | Value) and factor.free_symbols <= known

    def _product(self, atoms: list[sp.Expr], weights: sp.Expr | None) -> Form:
        if all(atom.is_Symbol or atom.is_Pow for atom in atoms) and (len(atoms) != 1 or atoms[0] not in self.states):
            return {("constant", sp.Mul(*atoms)): self.field.one}
        if len(atoms) > 1:
            raise NoForm(f"{sp.Mul(*atoms)} is a product of what varies")
        (atom,) = atoms
        if atom in self.states:
            return self.scalar(self.states[atom], weights)
        if isinstance(atom, Mean):
            return self.scalar(atom.args[1], self.weights(atom.args[0]))
        if isinstance(atom, Inner):
            left, right = (self.vector(side, weights) for side in atom.args)
            return self.inner(left, right)
        if not isinstance(atom, Loss | Value):
            return {("constant", atom): self.field.one}
        if weights is None and not self.client:
            raise NoForm(f"{atom} differs from client to client")
        if atom == loss(OWN):
            return {("loss", F_MIN, weights): self.field.one}
        return {("loss", atom.args[0] if isinstance(atom, Loss) else atom, weights): self.field.one}


def is_common_gradient(atom: sp.Expr) -> bool:
    """Whether it is a gradient at a point that all clients share."""
    return isinstance(atom, Grad) and not depends(atom.args[0], I)


def middle(atom: sp.Expr) -> sp.Expr:
    """A vector itself, or of the mean of a client's vector that vector."""
    return atom.args[1] if isinstance(atom, Centre) else atom


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


def below(form: Form, letter: sp.Symbol) -> int:
    """The largest power of a letter that divides a denominator, at least 1."""
    powers = [1]
    for value in form.values():
        place = value.field.symbols.index(letter)
        powers.append(min(monomial[place] for monomial in value.denom.monoms()))
    return max(powers)


def denominator(form: Form, letters: tuple[sp.Symbol, ...], every: bool) -> tuple[sp.Expr, int]:
    """What divides a form and is made of the letters and positive, and its degree in the first two.

    Powers of these, and of their sum, are left out unless ``every`` divisor is asked for.
    """
    total = sp.Integer(1)
    for value in form.values():
        total = sp.lcm(total, value.denom.as_expr())
    made = [(sp.Poly(item**power, *letters[:2]), item) for item, power in sp.factor_list(total)[1]]
    kept = [poly for poly, item in made if item.has(*letters) and (every or not _plain(poly))]
    if not all(item.is_homogeneous and all(c.is_positive for c in item.coeffs()) for item in kept):
        return sp.Integer(1), 0
    return sp.Mul(*(item.as_expr() for item in kept)), sum(item.total_degree() for item in kept)


def _plain(divisor: sp.Poly) -> bool:
    """Whether a divisor is a power of a letter, or of the letters' sum, times a number."""
    power = sum(divisor.gens) ** divisor.total_degree()
    return divisor.is_monomial or not sp.cancel(divisor.as_expr() / power).free_symbols


def basis(forms: Iterable[Form]) -> dict[Block, list[sp.Expr]]:
    """Block -> the vectors whose Gram entries occur in any of the forms."""
    result: dict[Block, set[sp.Expr]] = {}
    for form in forms:
        for key in form:
            if key[0] == "gram":
                result.setdefault(key[1], set()).update(key[2:])
    return {block: sorted(result[block], key=sp.default_sort_key) for block in BLOCKS if block in result}
