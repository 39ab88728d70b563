"""A claim inherits the proof of a shipped claim that says at least as much; and what else would prove an open one.

The difference of the right sides, with the conditions put in as non-negative slacks, must be a quotient of
polynomials all of whose coefficients are non-negative. This is checked each time, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.evidence import kernel
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim, Kind, OwnSteps, in_words
from fedbounds.theory.coverage import Span
from fedbounds.theory.quantity import quantities_on_paths
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict, word

# Non-negative slacks of the conditions used below, one each.
SLACK = sp.symbols("s1:9", nonnegative=True)
CURVATURES = {s.L: s.mu + SLACK[0]}


def never_negative(difference: sp.Expr, conditions: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Whether every coefficient of numerator and denominator is non-negative once the conditions are put in."""
    simultaneous = sp.sympify(difference)
    for symbol, value in conditions.items():
        simultaneous = simultaneous.subs(symbol, value)
    numerator, denominator = (_coefficients(part) for part in sp.fraction(sp.together(simultaneous)))
    return not numerator or _sign(numerator) * _sign(denominator) > 0


def _coefficients(polynomial: sp.Expr) -> Sequence[Any]:
    """Those that are not 0; of both signs where none are read off, for a root or a power with T in it."""
    generators = sorted(polynomial.free_symbols, key=str)
    try:
        result = sp.ring(generators, sp.QQ)[0].from_expr(polynomial).values() if generators else [polynomial]
    except (ValueError, sp.CoercionFailed):
        return 1, -1
    return [c for c in result if c != 0]


def _sign(coefficients: Sequence[Any]) -> int:
    """1 or -1 if all coefficients have that sign, else 0."""
    return 1 if all(c > 0 for c in coefficients) else -1 if all(c < 0 for c in coefficients) else 0


# Who may say that a shipped claim is proved.
PROVERS = (verified_proofs.examine, kernel.examine)


def inherited(claim: Claim, reading: Reading, other: Claim) -> Iterator[Verdict]:
    """The proofs of a shipped claim that says at least as much; the last step, to this claim, is our own check."""
    for name in other.readings:
        if follows(claim, reading, other, READINGS[name]):
            for proof in _proofs(other, READINGS[name]):
                detail = f"it follows from {other.key}, which is {word(proof.status, proof.evidence)}"
                yield _as_of(proof, claim, reading, detail)


def _proofs(claim: Claim, reading: Reading) -> Iterator[Verdict]:
    verdicts = (examiner(claim, reading) for examiner in PROVERS)
    return (proof for proof in verdicts if proof is not None and proof.status is Status.HOLDS)


def _as_of(proof: Verdict, claim: Claim, reading: Reading, detail: str) -> Verdict:
    return replace(proof, detail=detail, claim=claim.key, reading=reading.name, evidence=Evidence.SYMBOLIC)


@dataclass(frozen=True)
class Source:
    """A shipped claim in a reading, with that which bounds a quantity on its right side put in, if one is."""

    claim: Claim
    reading: Reading
    of: tuple[Claim, ...]

    def proof(self, claim: Claim, reading: Reading) -> Verdict | None:
        """The proof of a claim that follows from it: that of each shipped claim must cover the whole."""
        covered = claim.coverage(reading)
        proofs = []
        for item in self.of:
            whole = (p for p in _proofs(item, self.reading) if p.coverage is None or p.coverage.includes(covered))
            proofs.append(next(whole, None))
        if None in proofs or not follows(claim, reading, self.claim, self.reading, conditions(claim, reading)):
            return None
        words = f"it follows from {' with '.join(item.key for item in self.of)}, which the checker or Rocq proved"
        return _as_of(proofs[0], claim, reading, words)  # type: ignore[arg-type]

    def with_others(self, inequalities: Iterable[Claim]) -> Iterator[Source]:
        """Itself, then with what each other claim says of a quantity on its right side put in."""
        yield self
        item, reading = self.claim, self.reading
        for other in inequalities:
            factor = item.rhs.coeff(other.lhs) if isinstance(other.lhs, sp.Symbol) else 0
            if (
                other.scope != item.scope
                or reading.name not in other.readings
                or other.eta is not None
                or factor == 0
            ):
                continue
            rest = item.sides(reading).rhs - factor * other.lhs
            if not rest.has(other.lhs) and never_negative(factor, {**conditions(item, reading), **CURVATURES}):
                terms = {"chained": rest, "bound": factor * other.sides(reading).rhs}
                assumed = dict.fromkeys((*item.assumptions_in(reading), *other.assumptions_in(reading)))
                rest_of = tuple(assumption for assumption in assumed if not isinstance(assumption, OwnSteps))
                both = replace(item, terms=terms, assumptions=rest_of, repair=None, roles=())
                yield Source(both, reading, (item, other))


@dataclass
class Shipped:
    """Claims that may prove others, and what they say of a left side."""

    claims: Iterable[Claim]
    about: dict[tuple[sp.Expr, str], list[Source]] = field(default_factory=dict)

    def proof(self, claim: Claim, reading: Reading) -> Verdict | None:
        """The proof of the whole statement by those that imply it on sight."""
        put, mine = conditions(claim, reading), claim.sides(reading).rhs
        for source in self.sources(claim.lhs, claim.scope):
            right = source.claim.sides(source.reading).rhs
            if not exceeds(right, mine, put, claim.steps) and (proof := source.proof(claim, reading)) is not None:
                return proof
        return None

    def sharper(self, claim: Claim, reading: Reading) -> Iterator[str]:
        """The proved ones, or else pairs of them, that imply a claim and are not implied by it."""
        implying, put = dict[str, Source](), conditions(claim, reading)
        for source in self.sources(claim.lhs, claim.scope):
            keys = [item.key for item in source.of]
            if claim.key in keys or (len(keys) > 1 and implying) or source.proof(claim, reading) is None:
                continue
            if not follows(source.claim, source.reading, claim, reading, put):
                implying.setdefault(" with ".join(keys), source)
        for key, source in implying.items():
            others = [item for item in implying.values() if item is not source]
            if not any(follows(source.claim, source.reading, item.claim, item.reading, put) for item in others):
                yield f"{key} is sharper: {in_words(source.claim)}"

    def sources(self, lhs: sp.Expr, scope: str) -> list[Source]:
        """Those about a left side, as they are, and with what others say of a quantity on their right side."""
        if (lhs, scope) not in self.about:
            inequalities = [item for item in self.claims if item.kind is Kind.INEQUALITY and item.on_fedavg]
            same = [item for item in inequalities if (item.lhs, item.scope) == (lhs, scope)]
            read = [(item, READINGS[name]) for item in same for name in item.readings]
            with_others = (Source(item, how, (item,)).with_others(inequalities) for item, how in read)
            self.about[lhs, scope] = [source for sources in with_others for source in sources]
        return self.about[lhs, scope]


def conditions(claim: Claim, reading: Reading) -> dict[sp.Symbol, sp.Expr]:
    """What a claim assumes of single symbols, to be put in: numbers, and a limit over 1 and a slack."""
    result: dict[sp.Symbol, sp.Expr] = {}
    for part in (part for item in claim.assumptions_in(reading) for part in item.parts):
        if part.sign == "=" and part.left.is_Symbol and part.right.is_Rational:
            result[part.left] = part.right
        elif part.left == s.eta_ratio and part.sign == "<=" and part.right.is_positive and part.right.is_Rational:
            result.setdefault(part.left, part.right / (1 + SLACK[3]))
    if claim.steps is None:
        result |= [(s.eta, steps) for steps in limited(claim.assumptions_in(reading))]
    return result


def limited(stated: Iterable[Assumption]) -> Iterator[sp.Expr]:
    """Steps as each of their limits over 1 and a slack."""
    for part in (part for item in stated for part in item.parts):
        factor = sp.cancel(part.left / s.eta)
        if part.sign != "=" and factor.is_positive and not (factor.has(s.eta) or part.right.has(s.eta)):
            yield part.right / factor / (1 + SLACK[2])


# Values at which right sides are compared before signs are looked at, with steps of at most 1/(4 L).
VALUES, QUARTER = 40, 0.25
# Of two right sides at random values the smaller, up to rounding.
ROUNDING = 1e-9


@cache
def _drawn(name: str) -> NDArray[np.float64]:
    drawn = np.random.default_rng([*name.encode()]).uniform(-2, 2, VALUES)
    return 1 + 10.0**drawn if name == "tau" else np.asarray(10.0**drawn)


def exceeds(right: sp.Expr, other: sp.Expr, put: Mapping[sp.Symbol, sp.Expr], steps: sp.Expr | None) -> bool:
    """Whether a right side is above another one at some random values of the symbols that meet conditions."""
    names = {symbol.name for side in (right, other, steps or right) for symbol in side.free_symbols}
    values = {name: _drawn(name) for name in names | {"mu"}}
    values["L"] = values["mu"] * (1 + _drawn("L"))
    values["eta"] = values["eta_0"] = QUARTER / values["L"] / (1 + _drawn("eta"))
    for symbol, value in put.items():
        if value.free_symbols <= set(SLACK):  # no other symbol is in it
            drawn = evaluate(value, {slack.name: _drawn(slack.name) for slack in value.free_symbols})
            values[symbol.name] = np.broadcast_to(drawn, VALUES).astype(float)
    with np.errstate(all="ignore"):
        values |= {} if steps is None else {"eta": evaluate(steps, values)}
        first, second = (np.broadcast_to(evaluate(side, values), VALUES) for side in (right, other))
        return bool(np.any(first > second + ROUNDING * abs(second)))


def follows(
    claim: Claim, reading: Reading, other: Claim, how: Reading, within: Mapping[sp.Symbol, sp.Expr] | None = None
) -> bool:
    """Whether ``other`` implies the claim on sight: same left side, no further assumption, right side no larger.

    The difference of the right sides must be a sum of non-negative terms once L >= mu and tau >= 1 are put in, and
    before them the conditions ``within``.
    """
    stated = claim.assumptions_in(reading)
    alike = _about(claim, reading) == _about(other, how)
    skew = how.skew == reading.skew or not {"rho_bar", "rho_tilde"} & other.symbols
    virtual = how.virtual == reading.virtual or a.unbiased in stated or claim.scope in ("point", "constant")
    steps = other.steps is None or other.steps == claim.steps
    positive = claim.steps is None or claim.steps.is_positive
    if not (alike and skew and virtual and steps and positive) or claim.kind is Kind.RATE:
        return False
    if not all(granted(assumption, claim, stated) for assumption in other.assumptions_in(how)):
        return False
    symbols = {*claim.definitions, *other.definitions}
    apart = {symbol.name for symbol in symbols if claim.definitions.get(symbol) != other.definitions.get(symbol)}
    if any(item.symbols() & apart for item in other.assumptions if not isinstance(item, OwnSteps)):
        return False  # an assumption in the same words says another thing
    difference = claim.sides(reading).rhs - other.sides(how).rhs
    if claim.steps is not None:
        difference = difference.subs(s.eta, claim.steps)
    if claim.coverage(reading).axes.get("tau") == Span(1, 1):
        difference = difference.subs(s.drift, 0)  # a round of one step has no time to drift
    if claim.kind is Kind.IDENTITY:
        return bool(sp.simplify(difference) == 0)
    whole = {item: sp.Dummy(nonnegative=item.is_nonnegative) for item in difference.atoms(sp.Max, sp.Min)}
    difference = difference.xreplace(whole)
    if quantities_on_paths(difference) or not all(symbol.is_nonnegative for symbol in difference.free_symbols):
        return False  # signs are read off coefficients; that of a symbol of one's own is declared, not proved
    return never_negative(difference, {**(within or {}), s.L: s.mu + SLACK[0], s.tau: 1 + SLACK[1]})


def _about(claim: Claim, reading: Reading) -> tuple[object, ...]:
    return claim.sides(reading).lhs, claim.scope, claim.kind, claim.algorithm, claim.by_coins


def granted(assumption: Assumption, claim: Claim, stated: Iterable[Assumption]) -> bool:
    """Whether the claim makes an assumption too, in the same words or relations, or its steps meet it."""
    if isinstance(assumption, OwnSteps) or any(assumption == item for item in stated):
        return True
    parts = assumption.parts
    if parts and any(set(parts) <= set(item.parts) for item in stated):
        return True
    taken = limited(stated) if claim.steps is None else (claim.steps,)
    return bool(parts) and any(all(_met(part, steps) for part in parts) for steps in taken)


def _met(part: Part, steps: sp.Expr) -> bool:
    """Whether steps meet a relation, whatever the slack."""
    return part.sign == "<=" and never_negative((part.right - part.left).subs(s.eta, steps), CURVATURES)


# What authors leave out, the mildest first. An open claim is put to the prover with one of them, then with several.
USUAL = (a.unbiased, a.full_participation, a.constant_steps, a.full_gradients, a.one_local_step, a.homogeneous)
