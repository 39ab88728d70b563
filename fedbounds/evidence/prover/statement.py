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
    W_NEXT,
    W_STAR,
    W_T,
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
from fedbounds.theory.normal_form import normal_fraction
from fedbounds.theory.vectors import Centre, Grad, Inner, Loss, Mean, Noise, norm_sq

# Degrees of the multipliers that are tried, the simple first.
DEGREES = (1, 2, 3)
POINTS = {"point": (Y, OWN), "constant": (W_STAR,), "horizon": (W_T, W_STAR), "step": (X, W, W_STAR)}
SAME_STEP = "single-step"


@dataclass(frozen=True)
class Goal:
    """``left`` <= ``right`` of a scope, and what it may rest on: assumptions and definitions by key."""

    left: sp.Expr
    right: sp.Expr
    scope: str
    universe: Mapping[str, Assumption]
    steps: sp.Expr | None = None
    limits: tuple[tuple[d.Condition, sp.Expr], ...] = ()

    @property
    def frame(self) -> Frame:
        """The parameters."""
        return frame(self.universe.values(), self.steps, self.limits)

    @property
    def together(self) -> bool:
        """Whether local models are the virtual iterate."""
        return SAME_STEP in self.universe

    @property
    def meanings(self) -> dict[sp.Basic, sp.Expr]:
        """What symbols stand for, as the checker reads them."""
        return definitions.meanings(True, a.full_participation.key in self.universe)


@dataclass(frozen=True)
class Lines:
    """Steps that show what is needed, the uses of the last one, and the conditions whose symbols they have."""

    steps: tuple[d.Step, ...]
    uses: tuple[d.Use, ...]
    conditions: tuple[d.Condition, ...]


def prove(goal: Goal) -> Lines | None:
    """What shows the goal; None where nothing was found."""
    parameters = goal.frame
    states = {key: value for key, value in goal.meanings.items() if key not in (W, W_NEXT, sy.sigma_p_sq)}
    states[sy.Delta_next] = norm_sq(goal.meanings.get(W_NEXT, W_NEXT) - W_STAR)
    space = forms.Space(parameters.field, dict(parameters.numbers), states, goal.scope == "point", goal.together)
    try:
        left, right = (space.scalar(side) for side in (goal.left, goal.right))
        target = forms.difference(right, left, space.field)
        power = _power(goal)
        read = [(one, space.scalar(one.value)) for one in _candidates(goal, target)]
        attempts = (_attempt(goal, space, parameters, target, read, power, degree) for degree in DEGREES)
        return next((found for found in attempts if found is not None), None)
    except forms.NoForm:  # such as steps that are no quotient of polynomials
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


def _candidates(goal: Goal, target: forms.Form) -> Iterator[facts.Candidate]:
    points = POINTS[goal.scope]
    losses = {key[1] for key in target if key[0] == "loss"}
    used = {
        vector.args[0] if isinstance(vector, Grad) else vector
        for key in target
        if key[0] == "gram"
        for vector in key[2:]
    }
    points = tuple(p for p in points if p in losses | used | {W_STAR, OWN} or (p == W and X not in used))
    keys = set(goal.universe)
    client = facts.of_client(points, keys)
    if goal.scope == "point":
        yield from client
    else:
        needs_minimum = F_MIN in losses
        for one in client:
            if needs_minimum or not one.value.has(F_MIN):
                yield facts.averaged(one)
        if goal.together and W in losses and "strongly-convex" in keys:
            for at, to in ((W, X), (X, W)):
                yield facts.averaged(facts.Candidate(loss(to) - loss(at), 1, (d.as_use(facts.convex(at, to)),)))
        yield from facts.of_noise(goal.universe)
    yield from facts.of_constants({key[1] for key in target if key[0] == "constant"})


def _attempt(
    goal: Goal,
    space: forms.Space,
    parameters: Frame,
    target: forms.Form,
    read: Sequence[tuple[facts.Candidate, forms.Form]],
    power: int,
    degree: int,
) -> Lines | None:
    in_steps = goal.scope == "step" or any(side.has(sy.eta) for side in (goal.left, goal.right))
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
        scale = [unit if isinstance(atom, Grad | Noise) else sp.Integer(1) for atom in atoms]
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
            uses.append((_rational(weight) * kinds[-power][j], _square(blocks[k], scaled, goal.scope == "point")))
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


def _square(block: certificate.Block, coefficients: Sequence[sp.Expr], client: bool) -> d.Fact:
    vector = sp.Integer(0)
    for atom, coefficient in zip(block.vectors, coefficients, strict=True):
        vector += coefficient * _written(atom, block.name, client)
    if block.name in (forms.DEVIATION, forms.NOISY_DEVIATION):
        return d.averaged(P, d.Square(vector, "a square"))
    return d.Square(vector, "a square")


def _written(atom: sp.Expr, block: str, client: bool) -> sp.Expr:
    """A basis vector in the words of a proof."""
    if block in (forms.DEVIATION, forms.NOISY_DEVIATION):
        if atom == X:
            return X - W
        return atom if atom == grad(W_STAR) else atom - Centre(P, atom)
    if isinstance(atom, Grad | Noise):
        return atom if client else Centre(P, atom)
    return atom - (OWN if client else W_STAR)


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
        if weights == ALPHA and unbiased:
            return c, d.premise("unbiased", inside)
        if goal.together and isinstance(inside, Inner) and X in inside.args:
            other = inside.args[1] if inside.args[0] == X else inside.args[0]
            return c, d.averaged(P, d.premise(SAME_STEP, other))
        return None
    for u, v in (atom.args, atom.args[::-1]):
        if isinstance(u, Centre) and u.args[0] == ALPHA and unbiased:
            return c, d.premise("unbiased", Inner(u.args[1], v))
    for u, v in (atom.args, atom.args[::-1]):
        if u == Centre(P, grad(W_STAR)):
            return c, d.premise("optimum", v)
        if u == grad(OWN):
            return c, d.premise("own-optimum", v)
    return None
