"""A claim about a point, constants, one step, or one iterate proved from the class's inequalities, or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from fedbounds.evidence.prover import certificate, facts, forms
from fedbounds.evidence.prover.frame import Frame, frame
from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.assumption_facts import given
from fedbounds.evidence.symbolic.definitions import (
    ALPHA,
    F_MIN,
    OWN,
    W_STAR,
    P,
    W,
    X,
    Y,
    grad,
    loss,
)
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim
from fedbounds.theory.normal_form import normal_fraction
from fedbounds.theory.points import weight_ratio
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Noise, Vec, Weights

# Degrees of the multipliers that are tried, the simple first.
DEGREES = (1, 2, 3)
SAME_STEP = "single-step"


@dataclass(frozen=True)
class Goal:
    """``left`` <= ``right`` of a scope, and what it may rest on: assumptions and definitions by key.

    The ``claim`` says what quantities of its own mean.
    """

    left: sp.Expr
    right: sp.Expr
    scope: str
    universe: Mapping[str, Assumption]
    steps: sp.Expr | None = None
    limits: tuple[tuple[d.Condition, sp.Expr], ...] = ()
    claim: Claim | None = None

    @property
    def frame(self) -> Frame:
        """The parameters."""
        return frame(self.universe.values(), self.steps, self.limits)

    @property
    def client(self) -> bool:
        """Whether it is about one client."""
        return self.scope == "point"

    @property
    def together(self) -> bool:
        """Whether local models are the virtual iterate."""
        return SAME_STEP in self.universe

    @property
    def unbiased(self) -> bool:
        """Whether alpha is p."""
        return a.unbiased.key in self.universe

    @property
    def meanings(self) -> dict[sp.Basic, sp.Expr]:
        """What symbols stand for, as the checker reads them."""
        return definitions.meanings(True, a.full_participation.key in self.universe, self.claim)


@dataclass(frozen=True)
class Lines:
    """Steps that show what is needed, the uses of the last one, and the conditions whose symbols they have."""

    steps: tuple[d.Step, ...]
    uses: tuple[d.Use, ...]
    conditions: tuple[d.Condition, ...]


def prove(goal: Goal) -> Lines | None:
    """What shows the goal; None where nothing was found."""
    parameters = goal.frame
    states = {key: value for key, value in goal.meanings.items() if key not in (W, sy.sigma_p_sq)}
    space = forms.Space(parameters.field, dict(parameters.numbers), states, goal.client, goal.together, goal.unbiased)
    try:
        left, right = (space.scalar(side) for side in (goal.left, goal.right))
        target = forms.difference(right, left, space.field)
        power = _power(goal)
        for points in _points(goal, target):
            read = [(one, space.scalar(one.value)) for one in _candidates(goal, target, points)]
            attempts = (_attempt(goal, space, parameters, target, read, power, degree) for degree in DEGREES)
            found = next((found for found in attempts if found is not None), None)
            if found is not None:
                return found
    except forms.NoForm:  # such as steps that are no quotient of polynomials
        pass
    return None


def _power(goal: Goal) -> int:
    """The power of joule in the claim's first term; a quantity without units counts as a number."""
    for side in (goal.left, goal.right):
        for term in sp.Add.make_args(sp.expand(side)):
            if not term.free_symbols:
                continue
            powers = term.as_powers_dict().items()
            joules = [((getattr(s, "units", None) or (0, 0))[1], n) for s, n in powers if n.is_Integer]
            return sum(int(unit * n) for unit, n in joules)
    return 0


def _points(goal: Goal, target: forms.Form) -> Iterator[tuple[sp.Expr, ...]]:
    """Points whose inequalities may show the target: those that it has, then means of clients' points too."""
    if goal.client:
        yield Y, OWN
        return
    vectors = {forms.middle(vector) for key in target if key[0] == "gram" for vector in key[2:]}
    places = {vector for vector in vectors if isinstance(vector, Vec)}
    chosen = {key[1] for key in target if key[0] == "loss"} - {F_MIN} | places | {W_STAR}
    chosen |= {vector.args[0] for vector in vectors if isinstance(vector, Grad)}
    yield tuple(sorted(chosen, key=sp.default_sort_key))
    means = {Centre(P, place) for place in places & {OWN, X}} - chosen
    if means:
        yield tuple(sorted(chosen | means, key=sp.default_sort_key))


def _candidates(goal: Goal, target: forms.Form, points: tuple[sp.Expr, ...]) -> Iterator[facts.Candidate]:
    losses = {key[1] for key in target if key[0] == "loss"}
    keys = set(goal.universe)
    client = facts.of_client(points, keys)
    if goal.client:
        yield from client
    else:
        by_alpha = not goal.unbiased and any(_speaks_of(key, ALPHA) for key in target)
        for one in client:
            if F_MIN in losses or not one.value.has(F_MIN):
                yield from (facts.averaged(one, weights) for weights in ((P, ALPHA) if by_alpha else (P,)))
        if goal.together and W in losses and "strongly-convex" in keys:
            for at, to in ((W, X), (X, W)):
                one = facts.Candidate(loss(to) - loss(at), 1, (d.as_use(facts.convex(at, to)),))
                yield facts.averaged(one, P)
        yield from facts.of_noise(goal.universe)
    constants = {key[1] for key in target if key[0] == "constant"}
    yield from facts.of_products(constants, goal.meanings)
    yield from facts.of_constants(constants)


def _speaks_of(key: forms.Key, weights: sp.Expr) -> bool:
    if key[0] == "gram":
        return weights == key[1][1] or any(weights in vector.atoms(Weights) for vector in key[2:])
    return key[0] == "loss" and bool(key[2] == weights)


def _attempt(
    goal: Goal,
    space: forms.Space,
    parameters: Frame,
    target: forms.Form,
    read: Sequence[tuple[facts.Candidate, forms.Form]],
    power: int,
    degree: int,
) -> Lines | None:
    in_steps = any(_unfolded(side, goal.meanings).has(sy.eta) for side in (goal.left, goal.right))
    kinds = {p: list(parameters.multipliers(p, degree, in_steps)) for p in range(-3, 4)}
    parts, texts = [], []
    for one, form in read:
        chosen = kinds[one.power - power]
        parts.append(certificate.Part(form, [space.number(m) for m in chosen], one.free))
        texts.append(chosen)
    vectors = forms.basis([target, *(form for _, form in read)])
    unit = sy.eta if in_steps else 1 / (sy.L if "smooth" in goal.universe else sy.mu)
    blocks, scales = [], []
    for name, atoms in vectors.items():
        scale = [unit if isinstance(forms.middle(atom), Grad | Noise) else sp.Integer(1) for atom in atoms]
        blocks.append(
            certificate.Block(name, atoms, [space.number(s) for s in scale], [space.number(m) for m in kinds[-power]])
        )
        scales.append(scale)
    proof = certificate.prove(target, parts, blocks)
    if proof is None:
        return None
    uses: list[d.Use] = []
    for k, j, value in certificate.terms(proof):
        uses += [(_rational(value) * texts[k][j] * m, fact) for m, fact in read[k][0].uses]
    for (k, j), squares in proof.squares.items():
        for weight, coefficients in squares:
            scaled = [_rational(c) * s for c, s in zip(coefficients, scales[k], strict=True)]
            uses.append((_rational(weight) * kinds[-power][j], _square(blocks[k], scaled, goal)))
    steps = {one.label: one for k, _, _ in certificate.terms(proof) for one in read[k][0].steps}
    uses = _merged(uses)
    mended = _mended(goal, parameters, uses, list(steps.values()))
    return None if mended is None else Lines(tuple(steps.values()), (*uses, *mended), parameters.conditions)


def _rational(value: object) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)  # type: ignore[attr-defined]


def _merged(uses: list[d.Use]) -> list[d.Use]:
    """Each fact once, with the sum of its multipliers."""
    total: dict[d.Fact, sp.Expr] = {}
    for multiplier, fact in uses:
        total[fact] = total.get(fact, sp.Integer(0)) + multiplier
    return [(multiplier, fact) for fact, multiplier in total.items()]


def _square(block: certificate.Block, coefficients: Sequence[sp.Expr], goal: Goal) -> d.Fact:
    vector = sp.Integer(0)
    for atom, coefficient in zip(block.vectors, coefficients, strict=True):
        vector += coefficient * _written(atom, block.name, goal)
    weights = block.name[1]
    square = d.Square(vector, "a square")
    return square if weights is None else d.averaged(weights, square)


def _written(atom: sp.Expr, block: forms.Block, goal: Goal) -> sp.Expr:
    """A basis vector in the words of a proof."""
    weights = block[1]
    if weights is not None:
        if atom == X and (goal.unbiased or weights == ALPHA):
            return X - W
        return atom if atom == grad(W_STAR) and weights == P else atom - Centre(weights, atom)
    if isinstance(forms.middle(atom), Grad | Noise):
        return atom
    return atom - (OWN if goal.client else W_STAR)


def _unfolded(side: sp.Expr, meanings: Mapping[sp.Basic, sp.Expr]) -> sp.Expr:
    """A side with what its symbols and the next iterate stand for."""
    for _ in range(2):
        side = sp.sympify(side).xreplace({key: value for key, value in meanings.items() if key != W})
    return side


def _mended(goal: Goal, parameters: Frame, uses: list[d.Use], steps: list[d.Step]) -> list[d.Use] | None:
    """The identities that turn what is left into 0: alpha = p, X = W, the optimum, F_i* attained."""
    lines = {one.label: one.rhs - one.lhs for one in steps}

    def read(fact: d.Premise) -> sp.Expr:
        part = given(goal.universe[fact.key], fact.points)
        return sp.sympify(part.right - part.left)

    meaning = {**goal.meanings, **definitions.OF_A_CLIENT, **parameters.numbers}
    total = sp.Add(*(m * facts.value_of(fact, read, lines) for m, fact in uses))
    found: list[d.Use] = []
    rest = _flat(goal.right - goal.left - total, meaning)
    for _ in range(60):
        use = next((use for atom, c in _terms(rest) if (use := _identity(atom, c, goal)) is not None), None)
        if use is None:
            return found if rest == 0 else None
        if use[1] in [fact for _, fact in found]:
            return None
        found.append(use)
        rest = _flat(rest - use[0] * facts.value_of(use[1], read, lines), meaning)
    return None


def _flat(expression: sp.Expr, meaning: Mapping[sp.Basic, sp.Expr]) -> sp.Expr:
    for _ in range(4):
        expression = expression.xreplace(
            {
                k: v
                for k, v in meaning.items()
                if k.is_Symbol and v.is_number is not None and k in expression.free_symbols and k not in (sy.Delta,)
            }
        )
    return sp.expand(normal_fraction(expression, meaning))


def _terms(expression: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """(atom, coefficient) of a form."""
    atoms = [atom for atom in expression.atoms(Inner, Mean, Loss) if not _inside(atom, expression)]
    for atom in sorted(atoms, key=sp.default_sort_key):
        coefficient = sp.factor(expression.coeff(atom))
        if coefficient != 0:
            yield atom, coefficient


def _inside(atom: sp.Expr, expression: sp.Expr) -> bool:
    return any(other != atom and other.has(atom) for other in expression.atoms(Inner, Mean, Loss))


def _identity(atom: sp.Expr, c: sp.Expr, goal: Goal) -> d.Use | None:
    """The use of a definition that removes an atom from what is left."""
    unbiased = a.unbiased.key in goal.universe
    if isinstance(atom, Loss):
        return (c, d.premise("attained")) if atom == loss(OWN) else None
    if isinstance(atom, Mean):
        weights, inside = atom.args
        own = _identity(inside, sp.Integer(1), goal) if inside.has(OWN) else None
        if own is not None:
            return c, d.averaged(weights, own)
        if weights == P and inside.has(weight_ratio):
            return c, d.premise("weight-ratio-mean", inside / weight_ratio)
        if weights == ALPHA and unbiased:
            return c, d.premise("unbiased", inside)
        if goal.together and isinstance(inside, Inner) and X in inside.args:
            other = inside.args[1] if inside.args[0] == X else inside.args[0]
            return c, d.averaged(P, d.premise(SAME_STEP, other))
        return None
    both = (atom.args, atom.args[::-1])
    for u, v in both:
        if isinstance(u, Centre) and u.args[1] == grad(OWN):
            return c, d.averaged(u.args[0], d.premise("own-optimum", v))
        if isinstance(u, Centre) and u.has(weight_ratio):
            return c, d.premise("weight-ratio", u.args[1] / weight_ratio, v)
    for u, v in both if unbiased else ():
        if isinstance(u, Centre) and u.args[0] == ALPHA:
            return c, d.premise("unbiased", Inner(u.args[1], v))
    return next((use for u, v in both if (use := _optimal(u, v, c)) is not None), None)


def _optimal(u: sp.Expr, v: sp.Expr, c: sp.Expr) -> d.Use | None:
    """The use of a minimiser's gradient being zero."""
    zeros = {
        Centre(P, grad(W_STAR)): "optimum",
        Centre(ALPHA, grad(definitions.W_ALPHA)): "alpha-optimum",
        grad(OWN): "own-optimum",
    }
    return (c, d.premise(zeros[u], v)) if u in zeros else None
