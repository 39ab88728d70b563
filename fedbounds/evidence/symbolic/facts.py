"""Combinations of facts: what each fact is, looked up where it is owned, and what they make together."""

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic import derivation as d
from fedbounds.evidence.symbolic.gate import admit, admit_weights, meaningful, signed
from fedbounds.evidence.symbolic.permitted_assumptions import given, in_expectation, require_own_words, takes_points
from fedbounds.evidence.symbolic.proof_objects import WEIGHTED_AVERAGE, X_T, WeightedMean
from fedbounds.evidence.symbolic.proof_state import (
    Checked,
    Context,
    Grounds,
    Shown,
    Total,
    Unproved,
    Used,
    earlier,
    excess,
    line,
    union,
)
from fedbounds.evidence.symbolic.untrusted_expressions import (
    CANONICAL,
    degree,
    in_a_round,
    of_models_at_end,
    require_number,
    require_steady,
)
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Sign
from fedbounds.theory.vectors import Centre, Inner, Mean, Slack, norm_sq, random


def combined(uses: tuple[d.Use, ...], scope: Context) -> Total:
    """The combination of facts, with every multiplier checked."""
    value: sp.Expr = sp.Integer(0)
    sign: Sign = "="
    grounds = Grounds()
    for multiplier, fact in uses:
        part = resolve(fact, scope)
        grounds |= admit(multiplier, scope) | part.grounds
        both = degree(multiplier) + degree(part.value) > 1 or (random(multiplier) and part.grounds.total)
        if both and random(part.value):
            raise Unproved(f"the multiplier {multiplier} and its fact are both random")
        if part.sign != "=":
            shown_so = signed(multiplier, False, scope)
            if shown_so is None:
                raise Unproved(f"the multiplier {multiplier} is not non-negative on sight")
            positive = signed(multiplier, True, scope) if part.sign == "<" else None
            grounds |= shown_so | (positive or Grounds())
            strict = sign == "<" or positive is not None
            sign = "<" if strict else "<="
        value += multiplier * part.value
    return Total(value, sign, grounds)


def resolve(fact: object, scope: Context) -> Total:
    """The expression, sign and grounds of a fact: only the kinds of facts below are facts."""
    resolver = RESOLVERS.get(type(fact))
    if resolver is None:
        raise Unproved(f"{type(fact).__name__} is no fact that a proof may use")
    return resolver(fact, scope)


def _square(fact: d.Square, scope: Context) -> Total:
    grounds = admit(fact.of, scope)
    if not fact.vector and random(fact.of):
        raise Unproved("the square of a random variable has no mean that is known")
    return Total(norm_sq(fact.of) if fact.vector else fact.of**2, "<=", grounds)


def _cauchy_schwarz(fact: d.CauchySchwarz, scope: Context) -> Total:
    v, pi = fact.of, sy.pi_min
    squares = Mean(definitions.ALPHA, norm_sq(v)) - pi * Mean(definitions.P, norm_sq(v))
    total = Centre(definitions.ALPHA, v) - pi * Centre(definitions.P, v)
    grounds = admit(v, scope) | Grounds(resting_on("least-ratio", scope))
    return Total((1 - pi) * squares - norm_sq(total), "<=", grounds)


def _mean_cauchy_schwarz(fact: d.MeanCauchySchwarz, scope: Context) -> Total:
    numbers, vectors = (Mean(definitions.P, of) for of in (fact.numbers**2, norm_sq(fact.vectors)))
    total = norm_sq(Centre(definitions.P, fact.numbers * fact.vectors))
    return Total(numbers * vectors - total, "<=", admit(fact.numbers, scope) | admit(fact.vectors, scope))


def _young(fact: d.Young, scope: Context) -> Total:
    bound, sign = earlier(fact.label, scope), signed(fact.c, False, scope)
    require_number(fact.c, scope)
    if sign is None:
        raise Unproved(f"the weight {fact.c} of Young's inequality is not non-negative on sight")
    squares = [Mean(definitions.P, norm_sq(vector)) for vector in (fact.u, fact.v)]
    scope.require_zero(fact.c**2 * fact.s - squares[0] - bound.value, f"step {fact.label} bounds something else:")
    grounds = union(admit(part, scope) for part in (fact.u, fact.v, fact.c, fact.s)) | bound.grounds | sign
    value = 2 * Mean(definitions.P, Inner(fact.u, fact.v)) + fact.c * (fact.s + squares[1])
    return Total(value, "<=", grounds)


def _averaged(fact: d.Averaged, scope: Context) -> Total:
    admit_weights(fact.weights)
    inside = combined(fact.uses, scope)
    if random(fact.weights) and inside.grounds.total:
        raise Unproved("random weights may not average what holds in the whole run's expectation only")
    return Total(Mean(fact.weights, inside.value), inside.sign, inside.grounds)


def _beyond(fact: d.Beyond, scope: Context) -> Total:
    inside = combined(fact.uses, scope)
    if inside.grounds.total:
        raise Unproved("random weights may not average what holds in the whole run's expectation only")
    value = Mean(definitions.ALPHA, inside.value) - sy.pi_min * Mean(definitions.P, inside.value)
    sign: Sign = "=" if inside.sign == "=" else "<="
    return Total(value, sign, inside.grounds | Grounds(resting_on("least-ratio", scope)))


def _extreme(fact: d.Extreme, scope: Context) -> Total:
    extreme = scope.abbreviations.get(fact.symbol)
    if extreme is None or fact.argument not in extreme.args:
        raise Unproved(f"{fact.symbol} does not abbreviate an extreme of {fact.argument}")
    grounds = admit(fact.symbol, scope) | admit(fact.argument, scope)
    low = isinstance(extreme, sp.Min)
    return Total(fact.argument - fact.symbol if low else fact.symbol - fact.argument, "<=", grounds)


def _hypothesis(fact: d.Hypothesis, scope: Context) -> Total:
    shown = scope.outcomes.get(fact.label)
    # Once the induction has shown its line for every T, it says so at t too, and is no hypothesis.
    grounds = shown.grounds if shown is not None and shown.ok else Grounds(open=frozenset({fact.label}), total=True)
    return Total(at_time(fact.label, 1, scope), induction_sign(fact.label, scope), grounds)


def induction_sign(label: str, scope: Context) -> Sign:
    """Whether the line that an induction shows is an identity or an inequality."""
    step = scope.step(label)
    if step is None or type(step.because) is not d.Induction or step.relation not in ("<=", ">=", "="):
        raise Unproved(f"step {label} shows no <=, >= or = by induction")
    return "=" if step.relation == "=" else "<="


def at_time(label: str, place: int, scope: Context) -> sp.Expr:
    """The line of an induction at time 0, t or t + 1 (places 0, 1, 2): its symbols of time T replaced at once."""
    induction_sign(label, scope)
    step = scope.step(label)
    statement = excess(step)  # type: ignore[arg-type]
    if step.because.local:  # type: ignore[union-attr]
        return in_a_round(scope.unfolded(statement), place, scope)
    sequences = {**definitions.SEQUENCES, **scope.sums, **scope.derivation.sequences}
    weighted = getattr(scope.universe.get(WEIGHTED_AVERAGE), "gives", None)
    if type(weighted) is WeightedMean:
        sequences[definitions.WEIGHTED_T] = weighted.sequence
    # A number of its own in the place of each: at 0 what multiplies it would not be looked at.
    apart = statement.xreplace({last: sp.Dummy(real=True) for last in sequences})
    if "first-round" in scope.universe and apart.has(X_T):
        return of_models_at_end(statement, place, scope)
    states = {last: sequence[place] for last, sequence in sequences.items()}
    fixed = [s for sequence in sequences.values() for s in sequence[1:]]
    require_steady(apart, scope, fixed)
    return statement.xreplace({**states, sy.T: (sp.Integer(0), sy.t, sy.t + 1)[place]})


def resting_on(key: str, scope: Context) -> frozenset[str]:
    """The key of an assumption or definition, and of those that it makes sense under."""
    several = (item if isinstance(item, tuple) else (item,) for item in definitions.RESTS_ON.get(key, ()))
    keys = frozenset({key, *(next(filter(scope.universe.__contains__, item), item[0]) for item in several)})
    missing = sorted(keys - scope.universe.keys())
    if missing:
        raise Unproved(f"{key} makes sense only under {', '.join(missing)}")
    return keys


def _premise(fact: d.Premise, scope: Context) -> Total:
    assumption = scope.universe.get(fact.key)
    if assumption is None:
        raise Unproved(f"{fact.key} is no assumption of the claim, nor a definition in reading {scope.reading.name}")
    for point in fact.points:
        admit(sp.Integer(point) if type(point) is int else point, scope)
    part = given(assumption, fact.points)
    expression = sp.sympify(part.right - part.left)
    keys = resting_on(fact.key, scope)
    require_own_words(assumption, fact.points, expression, scope)
    total = in_expectation(assumption, expression)
    free = expression.atoms(sp.Symbol, Slack) - meaningful(scope.derivation)
    used = frozenset({Used(fact.key, expression, part.sign, total, frozenset(free))})
    grounds = Grounds(keys, total=total, used=used) | admit(expression, scope)
    degree(expression)
    return Total(expression, part.sign, grounds)


def _cited(cited: d.Cited, scope: Context) -> Total:
    other = sound(cited.derivation, scope)
    below = other.outcomes[other.derivation.steps[-1].label].grounds
    keys = set(other.assumptions) | set(other.setting)
    grounds = Grounds(total=below.total)
    taken = meaningful(scope.derivation) | scope.slacks.keys()
    _require_free(below.used, taken, other)
    for key, label in dict(cited.discharged).items():
        if key not in keys:
            raise Unproved(f"{cited.derivation} does not need {key}")
        keys.discard(key)
        grounds |= _discharged(other, key, label, below.used, scope)
    for key in keys:
        if scope.universe.get(key, other.universe[key]) != other.universe[key]:
            raise Unproved(f"{cited.derivation} means something else by {key}")
    value, sign = _line_of(other.derivation.steps[-1], other)
    admit(value, scope)
    if named := value.atoms(sp.Symbol, Slack) & taken:
        raise Unproved(f"{cited.derivation} speaks of {', '.join(map(str, named))}, which has another meaning here")
    remaining = frozenset(used for used in below.used if used.key in keys)
    return Total(value, sign, grounds | Grounds(frozenset(keys), used=remaining))


def _require_free(used: frozenset[Used], taken: set[sp.Basic], other: Checked) -> None:
    """Raise where facts that a cited line rests on speak of a symbol with a meaning here, or of a sequence there."""
    sequences = {symbol for last, three in other.derivation.sequences.items() for symbol in (last, *three)}
    for fact in used:
        if named := sorted(map(str, fact.free & taken)):
            raise Unproved(f"{fact.key} speaks of {', '.join(named)}, which has another meaning here")
        if named := sorted(map(str, fact.free & sequences)):
            raise Unproved(
                f"{other.derivation.key} makes a sequence of {', '.join(named)}, of which {fact.key} speaks"
            )


def _line_of(last: Any, other: Checked) -> tuple[sp.Expr, Sign]:
    value, sign = line(last)
    abbreviations = {symbol: value for symbol, value in other.abbreviations.items() if symbol.name not in CANONICAL}
    while value.has(*abbreviations):
        value = value.xreplace(abbreviations)
    foreign_symbols = {condition.symbol for condition in other.conditions} & value.atoms(sp.Symbol, Slack)
    # A plain symbol is the name of an object, or its index.
    foreign_symbols |= {s for s in value.free_symbols if s.name not in CANONICAL and s != sp.Symbol(s.name)}
    if foreign_symbols:
        listed = ", ".join(sorted(map(str, foreign_symbols)))
        raise Unproved(f"the last line of {other.derivation.key} has symbols of its own: {listed}")
    return value, sign


def sound(key: str, scope: Context) -> Checked:
    """A derivation that checks in this reading, and fixes no more than this one does."""
    if key not in scope.shelf.derivations:
        raise Unproved(f"there is no derivation {key}")
    other = scope.shelf.checker(key, scope.shelf, scope.reading)
    if other.fault:
        raise Unproved(f"it rests on {key}: {other.fault}")
    for symbol, value in other.schedule.items():
        scope.require_zero(symbol - value, f"{key} is for {symbol} = {value} only:")
    for symbol, value in other.abbreviations.items():
        if symbol.name in CANONICAL and scope.abbreviations.get(symbol) != value:
            raise Unproved(f"{key} is for {symbol} = {value} only")
    return other


def _discharged(other: Checked, key: str, label: str, used: frozenset[Used], scope: Context) -> Grounds:
    """What the step rests on that shows an assumption of a cited derivation: each fact that was used of it."""
    assumption = other.universe[key]
    if takes_points(assumption):
        raise Unproved(f"{assumption.key} says something at each point, so one step cannot discharge it")
    part, shown = given(assumption, ()), earlier(label, scope)
    if shown.grounds.open:
        raise Unproved(f"step {label} holds under an induction's hypothesis only, {assumption.key} at every time")
    value = sp.sympify(part.right - part.left)
    facts = {Used(assumption.key, value, part.sign, True, frozenset(value.atoms(sp.Symbol, Slack)))}
    _require_free(frozenset(facts), meaningful(scope.derivation) | scope.slacks.keys(), other)
    for fact in facts | {item for item in used if item.key == assumption.key}:
        if fact.value.atoms(sp.Symbol, Slack) != fact.free:
            raise Unproved(f"{assumption.key} was used at a point of the cited derivation's own")
        scope.require_zero(shown.value - fact.value, f"between step {label} and {assumption.key}")
        if fact.sign != "<=" and shown.sign != fact.sign:
            raise Unproved(f"step {label} shows less than {assumption.key}")
        if shown.grounds.total and random(fact.value) and not fact.total:
            raise Unproved(f"step {label} holds in the whole run's expectation only, {assumption.key} in every round")
    return shown.grounds


def shown(condition: d.Condition, scope: Context) -> tuple[Shown, Grounds]:
    """What a condition's symbol stands for, once the premise or step that shows its sign is there."""
    symbol, fact = condition.symbol, condition.shown
    if type(condition) is not d.Condition or type(fact) not in (d.Premise, d.Earlier):
        raise Unproved("a condition is shown by a premise or an earlier step")
    total = resolve(fact, scope)
    require_number(total.value, scope, symbol.args[1:] if type(symbol) is Slack else ())
    if total.value.has(symbol):
        raise Unproved(f"{symbol} cannot stand for {total.value}, which is made of it")
    if symbol.is_positive and total.sign != "<":
        raise Unproved(f"{symbol} is declared positive, but {total.value} is not shown to be")
    why = fact.why or scope.universe[fact.key].statement if isinstance(fact, d.Premise) else f"step {fact.label}"
    return Shown(symbol, total.value, total.sign == "<", why), total.grounds


RESOLVERS: Mapping[type, Callable[[Any, Context], Total]] = {
    d.Premise: _premise,
    d.Square: _square,
    d.CauchySchwarz: _cauchy_schwarz,
    d.MeanCauchySchwarz: _mean_cauchy_schwarz,
    d.Young: _young,
    d.Given: lambda fact, scope: Total(sp.Integer(1), "<"),
    d.Extreme: _extreme,
    d.Hypothesis: _hypothesis,
    d.Earlier: lambda fact, scope: earlier(fact.label, scope),
    d.Cited: _cited,
    d.Averaged: _averaged,
    d.Beyond: _beyond,
}
