"""A claim about a point, constants, one step, or one iterate proved from the class's inequalities, or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import sympy as sp

from fedbounds.evidence.prover import certificate_search, draws, facts, forms
from fedbounds.evidence.prover.goal import ELL, Frame
from fedbounds.evidence.prover.goal import SAME_STEP as SAME_STEP
from fedbounds.evidence.prover.goal import Goal as Goal
from fedbounds.evidence.prover.goal import Lines as Lines
from fedbounds.evidence.prover.identities import closing
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.definitions import ALPHA, F_MIN, OWN, W_ALPHA, W_NEXT, W_STAR, P, W, X, Y, grad, loss
from fedbounds.theory import symbols as sy
from fedbounds.theory.point_values import powers
from fedbounds.theory.points import weight_ratio
from fedbounds.theory.vectors import Centre, Grad, Noise, Vec

# Degrees of the multipliers that are tried, the simple first; then with squares of vectors times letters.
ATTEMPTS = ((1, False), (2, False), (3, False), (2, True), (3, True))


def prove(goal: Goal) -> Lines | None:
    """What shows the goal; None where nothing was found."""
    parameters = goal.frame
    states = {key: value for key, value in goal.meanings.items() if key not in (W, sy.sigma_p_sq)}
    about = (goal.client, goal.together, goal.unbiased, goal.shared, goal.identical, "no-noise" in goal.universe)
    space = _space(parameters.field, tuple(parameters.numbers.items()), frozenset(states.items()), about)
    try:
        left, right = (space.scalar(side) for side in (goal.left, goal.right))
        target = forms.difference(right, left, space.field)
        in_steps = any(_unfolded(side, goal.meanings).has(sy.eta) for side in (goal.left, goal.right))
        second = ELL if ELL in space.field.symbols else sy.L
        by, degree = forms.denominator(target, (sy.mu, second, sy.tau), every=in_steps)
        target = {key: value * space.number(by) for key, value in target.items()}
        power, samples = _power(goal) + degree, tuple(parameters.samples())
        tried = ATTEMPTS[:2] if goal.skewed else ATTEMPTS  # one letter more makes the rest slow
        for points in _points(goal, target):
            candidates = (item for item in _candidates(goal, target, points) if item.free or not goal.identity)
            read = [(candidate, space.scalar(candidate.value)) for candidate in candidates]
            usable = [(form, item.free) for item, form in read]
            if any(certificate_search.impossible(target, usable, sample) for sample in samples):
                continue
            attempts = (_attempt(goal, space, parameters, target, read, power, by, *chosen) for chosen in tried)
            result = next((result for result in attempts if result is not None), None)
            if result is not None:
                return result
    except forms.NoForm:  # such as steps that are no quotient of polynomials
        pass
    return None


@lru_cache(maxsize=8)
def _space(
    field: Any,
    numbers: tuple[tuple[sp.Basic, sp.Expr], ...],
    states: frozenset[tuple[sp.Basic, sp.Expr]],
    about: tuple[bool, bool, bool, bool, bool, bool],
) -> forms.Space:
    """One space for the goals of a claim, whose facts it reads once."""
    return forms.Space(field, dict(numbers), dict(states), *about)


def _power(goal: Goal) -> int:
    """The power of joule in the claim's first term; a quantity without units counts as a number."""
    terms = (term for side in (goal.left, goal.right) for term in sp.Add.make_args(sp.expand(side)))
    return next((powers(term)[1] for term in terms if term.free_symbols and not term.has(Noise)), 0)


def _points(goal: Goal, target: forms.Form) -> Iterator[tuple[sp.Expr, ...]]:
    """Points whose inequalities may show the target: those that it has, then means of clients' points too."""
    if goal.client:
        yield Y, OWN
        return
    vectors = {forms.middle(vector) for key in target if key[0] == "gram" for vector in key[2:]}
    places = {vector for vector in vectors if isinstance(vector, Vec)}
    chosen = {key[1] for key in target if key[0] == "loss"} - {F_MIN} | places | {W_STAR}
    chosen |= {vector.args[0] for vector in vectors if isinstance(vector, Grad)}
    if goal.drawn and not any(key[0] == "loss" and key[1] == W_NEXT for key in target):
        chosen -= {W_NEXT}
    curved = facts.curvature_of(set(goal.universe)) is not None
    if goal.together and W_NEXT in chosen and curved:  # a step is along the gradients at the local models
        chosen = (chosen - {W}) | {X}
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
        sides = sp.Tuple(*(_unfolded(side, goal.meanings) for side in (goal.left, goal.right)))
        by_alpha = not goal.unbiased and sides.has(ALPHA, weight_ratio, W_ALPHA)
        every = (P, ALPHA) if by_alpha else (P,)
        for one in client:
            if F_MIN in losses or not one.value.has(F_MIN):
                yield from (facts.averaged(one, weights) for weights in every)
        yield from _of_mean(goal, losses, points)
        if goal.equal:
            yield from (facts.equal_slopes(x, y) for x, y in combinations(points, 2))
        if goal.shared and {F_MIN, W_STAR} <= losses and "strongly-convex" in keys:
            yield facts.averaged(facts.common_minimum(), P)
        if goal.skewed:
            yield facts.least_skew()
        if goal.drawn:
            moved = any(W_NEXT in key[1:] and (key[0] == "loss" or W in key[2:]) for key in target)
            yield from draws.of_draws(goal.universe, (W, W_STAR) if moved else (W_STAR,))
            means = {v.args[1] for key in target if key[0] == "gram" for v in key[2:] if isinstance(v, Centre)}
            yield from draws.of_drawn_vectors(goal.universe, {v for v in means if isinstance(v, Grad)})
        if "drawn-weights-mean" in keys:
            yield from draws.of_drawn_models()
        each = any(key[0] == "gram" and key[1][0] == forms.NOISY_DEVIATION for key in target)
        for weights in every:
            yield from facts.of_noise(goal.universe, weights)
            yield from facts.of_each_noise(goal.universe, weights) if each else ()
    constants = {key[1] for key in target if key[0] == "constant"}
    yield from facts.of_products(constants, goal.meanings)
    yield from facts.of_constants(constants)


def _of_mean(goal: Goal, losses: set[sp.Expr], points: tuple[sp.Expr, ...]) -> Iterator[facts.Candidate]:
    """What is known of F, and not of each client's function."""
    keys = set(goal.universe)
    shared, least = [x for x in points if x in (W, W_NEXT)], facts.curvature_of(keys)
    if "smooth" in keys and least is None:
        yield from map(facts.above_least, shared)
    if "gradient-dominance" in keys:
        yield from map(facts.dominated, shared)
    if goal.together and W in losses and least is not None:
        for at, to in ((W, X), (X, W)):
            one = facts.Candidate(loss(to) - loss(at), 1, (d.as_use(facts.convex(at, to, least)),))
            yield facts.averaged(one, P)


def _attempt(
    goal: Goal,
    space: forms.Space,
    parameters: Frame,
    target: forms.Form,
    read: Sequence[tuple[facts.Candidate, forms.Form]],
    power: int,
    by: sp.Expr,
    degree: int,
    wide: bool,
) -> Lines | None:
    in_steps = any(_unfolded(side, goal.meanings).has(sy.eta) for side in (goal.left, goal.right))
    kinds = {p: list(parameters.multipliers(p, degree, in_steps, forms.below(target, sy.mu))) for p in range(-6, 7)}
    parts, texts = [], []
    for item, form in read:
        chosen = kinds[item.power - power]
        parts.append(certificate_search.Part(form, [space.number(m) for m in chosen], item.free))
        texts.append(chosen)
    vectors = {} if goal.identity else forms.basis([target, *(form for _, form in read)])
    unit = sy.eta if in_steps else 1 / (sy.L if "smooth" in goal.universe else sy.mu)
    blocks, scales = [], []
    letters = parameters.scales(in_steps) if wide else [sp.Integer(1)]
    for name, once in vectors.items():
        atoms = [atom for atom in once for _ in letters]
        scale = [unit if isinstance(forms.middle(atom), Grad | Noise) else sp.Integer(1) for atom in once]
        scale = [item * letter for item in scale for letter in letters]
        blocks.append(
            certificate_search.Block(
                name, atoms, [space.number(s) for s in scale], [space.number(m) for m in kinds[-power]]
            )
        )
        scales.append(scale)
    proof = certificate_search.prove(target, parts, blocks)
    if proof is None:
        return None
    uses: list[d.Use] = []
    for k, j, value in certificate_search.terms(proof):
        uses += [(rational(value) * texts[k][j] * m, fact) for m, fact in read[k][0].uses]
    for (k, j), squares in proof.squares.items():
        for weight, coefficients in squares:
            scaled = [rational(c) * s for c, s in zip(coefficients, scales[k], strict=True)]
            square = square_of(blocks[k].name, blocks[k].vectors, scaled, goal)
            uses.append((rational(weight) * kinds[-power][j], square))
    steps = {step.label: step for k, _, _ in certificate_search.terms(proof) for step in read[k][0].steps}
    uses = [(multiplier / by, fact) for multiplier, fact in merged(uses)]
    mended = closing(goal, parameters, uses, list(steps.values()))
    return None if mended is None else Lines(tuple(steps.values()), (*uses, *mended), parameters.conditions)


def rational(value: object) -> sp.Rational:
    """A fraction as sympy writes it."""
    return sp.Rational(value.numerator, value.denominator)  # type: ignore[attr-defined]


def merged(uses: list[d.Use]) -> list[d.Use]:
    """Each fact once, with the sum of its multipliers."""
    total: dict[d.Fact, sp.Expr] = {}
    for multiplier, fact in uses:
        total[fact] = total.get(fact, sp.Integer(0)) + multiplier
    return [(multiplier, fact) for fact, multiplier in total.items()]


def renamed(fact: d.Fact, put: Mapping[sp.Basic, sp.Expr]) -> d.Fact:
    """A fact with other symbols in what it is used at."""
    if isinstance(fact, d.Averaged):
        return replace(fact, uses=tuple((m.xreplace(put), renamed(item, put)) for m, item in fact.uses))
    if isinstance(fact, d.Square):
        return replace(fact, of=fact.of.xreplace(put))
    return replace(fact, points=tuple(x.xreplace(put) for x in fact.points)) if isinstance(fact, d.Premise) else fact


def square_of(block: forms.Block, vectors: Sequence[sp.Expr], coefficients: Sequence[sp.Expr], goal: Goal) -> d.Fact:
    """The square of a combination of basis vectors, in the mean that the block is of."""
    vector = sp.Integer(0)
    for atom, coefficient in zip(vectors, coefficients, strict=True):
        vector += coefficient * _written(atom, block, goal)
    weights = block[1]
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
