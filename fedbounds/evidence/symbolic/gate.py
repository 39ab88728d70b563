"""The gate: what a proof may bring. Every expression, symbol, assumption and sign in a derivation passes here.

A symbol of a derivation's own is exactly ``Symbol(name, real | nonnegative | positive)``, has one role, and stands
for one number: neither a client nor a step hides in its meaning. Definitions are granted by the reading alone.
"""

from collections.abc import Iterator
from typing import Any

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.derivation import Cases, Derivation, Step
from fedbounds.evidence.symbolic.proof_objects import SUM_SO_FAR, averaging_weights, summand_of
from fedbounds.evidence.symbolic.proof_state import STRICT, Context, Grounds, Unproved, union
from fedbounds.evidence.symbolic.untrusted_expressions import (
    CANONICAL,
    FUNCTIONS,
    NUMBERS,
    SIGNS,
    in_time,
    indices,
    moving,
    require_exact,
    require_number,
    shown_non_negative,
    shown_positive,
)
from fedbounds.theory import points
from fedbounds.theory import symbols as sy
from fedbounds.theory import vectors as formal
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Quantity, fault

FACTS = [sp.Symbol("x", **{sign: True}).assumptions0 for sign in SIGNS]
VALUES = (definitions.ETA_S, definitions.M_S, definitions.SHARE, definitions.SIGMA_I, definitions.F_MIN)
NAMED = (formal.Vec, formal.Noise, formal.Value, formal.Slack, formal.Ratio, formal.Excess, formal.Positive)


# What a derivation brings with it


def admit_derivation(derivation: Derivation, claim: Claim | None) -> None:
    """Raise Unproved unless every symbol of the derivation's own is declared as one number and has one role."""
    if type(derivation) is not Derivation or not derivation.steps:
        raise Unproved("a derivation is a Derivation with steps")
    if any(type(step) is not Step for step in derivation.steps):
        raise Unproved("the steps of a derivation are Steps")
    if len({step.label for step in derivation.steps}) < len(derivation.steps):
        raise Unproved("a label of a derivation is used twice")
    roles = dict[sp.Basic, str]()
    for symbol, role in _own_symbols(derivation):
        _admit_own(symbol, role)
        if (symbol in roles and role != "case") or roles.setdefault(symbol, role) != role:
            raise Unproved(f"{symbol} has two meanings in one derivation")
    if len({_name(symbol) for symbol in roles}) < len(roles):
        raise Unproved("two symbols of a derivation have one name")
    _admit_abbreviations(derivation)
    sequences = [symbol for symbol, role in roles.items() if role == "sequence"]
    if sequences and derivation.claim:
        raise Unproved("only a result of its own has sequences of its own")
    stated = _admit_claim(claim) if claim is not None else set()
    taken = sorted(str(s) for s in stated & meaningful(derivation))
    if taken:
        raise Unproved(f"{', '.join(taken)} is a symbol of the claim, and gets another meaning in the proof")
    cases = {symbol for symbol, role in roles.items() if role == "case"}
    for step in derivation.steps:
        used = cases & (sp.sympify(step.lhs).free_symbols | sp.sympify(step.rhs).free_symbols)
        if used:
            raise Unproved(f"{', '.join(map(str, used))} means something in its case only, not in step {step.label}")


def _own_symbols(derivation: Derivation) -> Iterator[tuple[Any, str]]:
    """(symbol, role) of each symbol that a derivation gives a meaning, or makes a sequence of."""
    for condition in derivation.conditions:
        yield getattr(condition, "symbol", None), "condition"
    for symbol in derivation.abbreviations:
        yield symbol, "abbreviation"
    for last, three in derivation.sequences.items():
        for symbol in (last, *three):
            yield symbol, "sequence"
    for step in derivation.steps:
        rule = getattr(step, "because", None)
        if isinstance(rule, Cases):
            # Where x = 0 is a case, the second symbol is a claim's, and has the value that makes it so.
            for case in (rule.first,) if rule.zero else (rule.first, rule.second):
                yield getattr(case, "symbol", None), "case"


def _name(symbol: sp.Basic) -> str:
    return str(symbol.args[0] if isinstance(symbol, formal.Value) else symbol)


def _admit_own(symbol: Any, role: str) -> None:
    if role == "condition" and type(symbol) is formal.Slack:
        if symbol in VALUES or not _well_named(symbol):
            raise Unproved(f"{symbol} has a meaning already")
        return
    if type(symbol) is not sp.Symbol or symbol.name in CANONICAL or symbol.name.endswith(SUM_SO_FAR):
        raise Unproved(f"{symbol} has a meaning already, or is no symbol")
    if not _declared(symbol):
        raise Unproved(f"{symbol} must be declared real, nonnegative or positive, and no more")


def _declared(symbol: sp.Symbol) -> bool:
    """Whether a symbol has an identifier for its name, and one sign with what follows from it."""
    return symbol.name.isidentifier() and symbol in [
        sp.Symbol.__xnew__(sp.Symbol, symbol.name, **{s: True}) for s in SIGNS
    ]


def _well_named(atom: sp.Expr) -> bool:
    name, *about = atom.args
    return bool(name == sp.Symbol(getattr(name, "name", "")) and set(about) <= {definitions.I, definitions.S})


def _admit_abbreviations(derivation: Derivation) -> None:
    """Each abbreviates a minimum or maximum of numbers, made of earlier abbreviations."""
    left, conditions = set(derivation.abbreviations), {c.symbol for c in derivation.conditions}
    for symbol, extreme in derivation.abbreviations.items():
        if type(extreme) not in (sp.Min, sp.Max) or extreme.free_symbols & left or extreme.has(*conditions):
            raise Unproved(f"{symbol} cannot abbreviate {extreme}")
        if formal.random(extreme) or indices(extreme):
            raise Unproved(f"{symbol} cannot abbreviate {extreme}, which is not one number")
        left.discard(symbol)


def meaningful(derivation: Derivation) -> set[sp.Basic]:
    """The symbols that a derivation gives a meaning."""
    return {symbol for symbol, role in _own_symbols(derivation) if role != "sequence"}


def _admit_claim(claim: Claim) -> set[sp.Basic]:
    """The symbols that a claim is stated with; Unproved where it is not exact, or one is an object of the proofs."""
    require_exact(*claim.expressions)
    symbols = {symbol for side in claim.expressions for symbol in side.free_symbols}
    extra = claim.repair.assumptions if claim.repair else ()
    related = {
        symbol for item in (*claim.assumptions, *extra) for part in item.facts() for symbol in part.right.free_symbols
    }

    def of_proofs(symbol: sp.Symbol) -> bool:
        return symbol.name.endswith(SUM_SO_FAR) or (type(symbol) is sp.Symbol and symbol in definitions.OWN_SYMBOLS)

    if taken := sorted(map(str, filter(of_proofs, symbols | related))):
        raise Unproved(f"{', '.join(taken)} is an object of the proofs: give the claim's own another name")
    return symbols


# What may be written


def admit(expression: sp.Basic, scope: Context) -> Grounds:
    """What an expression rests on: it must be real, exact and finite, its symbols known and its divisors not zero."""
    kind = type(expression)
    if kind is Quantity and expression.name not in CANONICAL:
        return _written(expression, scope)
    if kind in (sp.Symbol, Quantity):
        return _symbol(expression, scope)
    if kind in NUMBERS:
        return Grounds()
    if kind in NAMED:
        return _named(expression, scope)
    if kind is sp.Pow:
        return _power(expression, scope)
    if kind in (formal.Mean, formal.Centre):
        admit_weights(expression.args[0])
        return admit(expression.args[1], scope)
    if kind in (formal.Grad, formal.Loss):
        if len(expression.args) != 2 or expression.args[1] != definitions.I:
            raise Unproved(f"{expression} belongs to no client")
        return admit(expression.args[0], scope)
    if kind in (sp.Min, sp.Max, sp.exp) and formal.random(expression):
        raise Unproved(f"the mean of {kind.__name__}(...) of a random variable is not that of the variable's mean")
    if kind not in (*FUNCTIONS, formal.Inner):
        raise Unproved(f"{expression} is not exact and real: a proof has rational numbers and known functions only")
    return union(admit(argument, scope) for argument in expression.args)


def admit_weights(weights: sp.Basic) -> None:
    """Raise unless these are weights of the setting, over clients or steps."""
    if type(weights) is not formal.Weights:
        raise Unproved(f"{weights} are no weights of the setting")
    name, index = weights.args
    if index not in (definitions.I, definitions.S) or name not in [sp.Symbol(name_of) for name_of in formal.WEIGHTS]:
        raise Unproved(f"{weights} are no weights of the setting")


def _named(atom: sp.Expr, scope: Context) -> Grounds:
    if not _well_named(atom):
        raise Unproved(f"{atom} is named or indexed otherwise than the setting's objects")
    if atom in scope.slacks:
        return scope.slacks[atom][1]
    if atom in {c.symbol for c in scope.derivation.conditions}:
        raise Unproved(f"what {atom} stands for is not shown yet")
    present = atom == definitions.W_NEXT and definitions.ALL_PRESENT in scope.universe
    return Grounds(frozenset({definitions.ALL_PRESENT})) if present else Grounds()


def _written(quantity: Quantity, scope: Context) -> Grounds:
    """A quantity of the claim's own means the expression of points from which it is computed, and nothing else."""
    meaning = scope.states.get(quantity) if scope is not None else None
    term = summand_of(quantity) if scope is not None and quantity in scope.sums else None
    weighted = averaging_weights(quantity) is not None or term is not None  # F - F* at a mean of iterates, or a sum
    if not weighted and (meaning is None or fault(quantity.expression, quantity.statistic == "constant")):
        raise Unproved(f"{quantity} is not written as an expression of points that this claim speaks of")
    signs = {fact: value for fact, value in dict(quantity._assumptions).items() if value is not None}
    never = term.is_nonnegative if term is not None else weighted or points.never_negative(quantity.expression)
    if signs not in FACTS[: 1 + bool(never)]:
        raise Unproved(f"the sign of {quantity} is declared, and not seen from its expression")
    if weighted:
        return Grounds() if term is None else admit(term, scope)
    stepped = quantity.expression is not None and quantity.expression.has(points.w_i_next)
    if stepped and definitions.ALL_PRESENT not in scope.universe:
        raise Unproved(f"{quantity} speaks of models after a step, which are known where every client takes part")
    return admit(definitions.W_NEXT if stepped else sp.Integer(0), scope) | admit(meaning, scope)


def _symbol(symbol: sp.Symbol, scope: Context) -> Grounds:
    name = symbol.name
    if name in CANONICAL:
        if symbol != CANONICAL[name]:
            raise Unproved(f"{name} is declared otherwise than the claims' {name}")
        keys = definitions.SIGN_OF.get(symbol, ())
        key = next(filter(scope.universe.__contains__, keys), next(iter(keys), None))
        if symbol == sy.Delta_next and definitions.ALL_PRESENT in scope.universe:
            key = definitions.ALL_PRESENT
        if key is not None and key not in scope.universe:
            raise Unproved(f"{name} is positive only under {key}")
        return Grounds(frozenset({key})) if key else Grounds()
    if not _declared(symbol):
        raise Unproved(f"{name} must be declared real, nonnegative or positive, and no more")
    if symbol in scope.slacks:
        return scope.slacks[symbol][1]
    if symbol in {c.symbol for c in scope.derivation.conditions}:
        raise Unproved(f"what {name} stands for is not shown yet")
    return _abbreviated(symbol, scope) if symbol in scope.abbreviations else Grounds()


def _abbreviated(symbol: sp.Symbol, scope: Context) -> Grounds:
    """What the declared sign of an abbreviated extreme rests on."""
    extreme = scope.abbreviations[symbol]
    grounds = union(admit(argument, scope) for argument in extreme.args)
    if not symbol.is_nonnegative:
        return grounds
    signs = [signed(argument, bool(symbol.is_positive), scope) for argument in extreme.args]
    shown = [item for item in signs if item is not None]
    if not shown or (isinstance(extreme, sp.Min) and len(shown) < len(signs)):
        sign = "positive" if symbol.is_positive else "non-negative"
        raise Unproved(f"{symbol} = {extreme} is not shown to be {sign}")
    return grounds | (union(shown) if isinstance(extreme, sp.Min) else shown[0])


def _power(power: sp.Pow, scope: Context) -> Grounds:
    base, exponent = power.args
    grounds = admit(base, scope)
    if in_time(exponent):
        require_number(base, scope)
        if moving(scope.unfolded(base)):
            raise Unproved(f"{power} is a power of what varies in time")
        return grounds
    if not isinstance(exponent, sp.Integer):
        raise Unproved(f"{power} is no integer power")
    if exponent > 0:
        return grounds
    sign = signed(base, True, scope)
    if sign is None:
        raise Unproved(f"the divisor {base} is not shown to be positive")
    return grounds | sign


# Signs


def signed(expression: sp.Expr, strict: bool, scope: Context) -> Grounds | None:
    """What the sign of an expression rests on: nothing on sight, else steps that show it; None where nothing does."""
    enough = shown_positive if strict else shown_non_negative
    if enough(expression):
        return Grounds()
    folded = expression.xreplace({extreme: symbol for symbol, extreme in scope.abbreviations.items()})
    grounds, positive = Grounds(), {}
    for label, outcome in scope.outcomes.items():
        step = scope.step(label)
        if step is None or not outcome.ok or step.relation not in STRICT:
            continue
        large, small = (step.lhs, step.rhs) if step.relation == ">" else (step.rhs, step.lhs)
        if small == 0 and folded.has(large):
            positive[large] = sp.Dummy(positive=True)
            grounds |= outcome.grounds
    grounds |= union(admit(symbol, scope) for symbol in folded.free_symbols - expression.free_symbols)
    return grounds if enough(folded.xreplace(positive)) else None
