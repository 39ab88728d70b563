"""A claim inherits the proof of a shipped claim that says at least as much; and what else would prove an open one.

The difference of the right sides, with the conditions put in as non-negative slacks, must be a quotient of
polynomials all of whose coefficients are non-negative. This is checked each time, never assumed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from fedbounds.errors import InputError
from fedbounds.evidence import kernel
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.prover import automatic
from fedbounds.evidence.symbolic import verified_proofs
from fedbounds.referee.stage_context import Case, StageResult, processor_seconds
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim, Kind, OwnSteps
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

    @cached_property
    def at_random(self) -> dict[object, NDArray[np.float64]]:
        """Its right side at random values, by what else they depend on."""
        return {}


def sources(shipped: Iterable[Claim], lhs: sp.Expr, scope: str) -> Iterator[Source]:
    """Shipped claims about a left side, as they are, and with what others say of a quantity on their right side."""
    inequalities = [item for item in shipped if item.kind is Kind.INEQUALITY and item.on_fedavg]
    for item in inequalities:
        for name in item.readings if (item.lhs, item.scope) == (lhs, scope) else ():
            reading = READINGS[name]
            yield Source(item, reading, (item,))
            for other in inequalities:
                factor = item.rhs.coeff(other.lhs) if isinstance(other.lhs, sp.Symbol) else 0
                if other.scope != scope or name not in other.readings or other.eta is not None or factor == 0:
                    continue
                rest = item.sides(reading).rhs - factor * other.lhs
                if not rest.has(other.lhs) and never_negative(factor, {**conditions(item, reading), **CURVATURES}):
                    terms = {"chained": rest, "bound": factor * other.sides(reading).rhs}
                    assumed = dict.fromkeys((*item.assumptions_in(reading), *other.assumptions_in(reading)))
                    rest_of = tuple(assumption for assumption in assumed if not isinstance(assumption, OwnSteps))
                    both = replace(item, terms=terms, assumptions=rest_of, repair=None, roles=())
                    yield Source(both, reading, (item, other))


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


@cache
def _drawn(name: str) -> NDArray[np.float64]:
    drawn = np.random.default_rng([*name.encode()]).uniform(-2, 2, VALUES)
    return 1 + 10.0**drawn if name == "tau" else np.asarray(10.0**drawn)


def conditions_on_one_symbol(put: Mapping[sp.Symbol, sp.Expr]) -> tuple[tuple[sp.Symbol, sp.Expr], ...]:
    """The conditions that no other symbol is in."""
    return tuple((symbol, value) for symbol, value in put.items() if value.free_symbols <= set(SLACK))


def at_random(claim: Claim, reading: Reading, put: Mapping[sp.Symbol, sp.Expr], steps: sp.Expr | None) -> Any:
    """The right side of a claim at random values of the symbols that meet conditions; infinite where undefined."""
    right = claim.sides(reading).rhs
    names = {symbol.name for side in (right, steps or right) for symbol in side.free_symbols}
    values = {name: _drawn(name) for name in names | {"mu"}}
    values["L"] = values["mu"] * (1 + _drawn("L"))
    values["eta"] = values["eta_0"] = QUARTER / values["L"] / (1 + _drawn("eta"))
    for symbol, value in conditions_on_one_symbol(put):
        drawn = evaluate(value, {slack.name: _drawn(slack.name) for slack in value.free_symbols})
        values[symbol.name] = np.broadcast_to(drawn, VALUES).astype(float)
    if steps is not None:
        values["eta"] = evaluate(steps, values)
    with np.errstate(all="ignore"):
        return np.broadcast_to(evaluate(right, values), VALUES)


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
# Processor seconds after which no further proof is begun.
SECONDS = 20.0
PROVED_IF = "proved if also "

Several = tuple[Assumption, ...]


def neighbours(case: Case) -> StageResult:
    """With which further assumptions an open claim is proved."""
    lines: list[str] = []
    reporting = replace(case, so_far=lambda _: case.so_far(lambda: StageResult(tuple(lines))))
    if not case.proved and case.claim.kind is Kind.INEQUALITY:
        for several in _enough(reporting):
            lines.append(PROVED_IF + " and ".join(item.statement for item in several))
    none = "it is proved as it stands" if case.proved else "no usual assumption more was found that proves it"
    return StageResult(tuple(lines) or (none,))


def _enough(case: Case) -> Iterator[Several]:
    """Further assumptions with which a claim is proved: one client, and few of the usual ones."""
    claim, reading = case.claim, case.reading
    end = processor_seconds() + SECONDS
    stated = {part for item in claim.assumptions_in(reading) for part in item.parts}
    usual = tuple(item for item in USUAL if not stated.issuperset(item.parts))

    def proved(several: Several) -> bool:
        case.so_far(lambda: StageResult(()))
        return processor_seconds() < end and _is_proved(claim, reading, several)

    if not stated.issuperset(a.one_client.parts) and proved((a.one_client,)):
        yield (a.one_client,)
    first: Several | None = next(((item,) for item in usual if proved((item,))), None)
    if first is None and len(usual) > 1 and proved(usual):
        first = usual
        for item in reversed(usual):
            fewer = tuple(other for other in first if other is not item)
            first = fewer if proved(fewer) else first
    if first is not None:
        yield first


def _is_proved(claim: Claim, reading: Reading, several: Several) -> bool:
    """Whether the prover proves a claim with further assumptions, which some known instance meets."""
    words = " and ".join(item.statement for item in several)
    with contextlib.suppress(InputError):  # assumptions that the claim has in other words
        changed = replace(claim, key=f"{claim.key} (if also {words})", assumptions=(*claim.assumptions, *several))
        proof = automatic.examine(changed, reading)
        return proof is not None and verified_proofs.UNMET not in proof.detail
    return False
