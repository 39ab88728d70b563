"""What follows from what is proved: a theorem restated from a shipped claim, and mutants that are still theorems.

A claim inherits a proof where its right side is on sight no smaller than a proved one's. For mutants the proved
bounds are the sharper one-step inequality (derivation sharper-step) and its summation with the paper's own induction.
Either way the difference, the conditions put in as non-negative slacks, is a quotient of polynomials all of whose
coefficients are non-negative: checked by machine each time, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from fedbounds import plugins
from fedbounds.evidence import kernel
from fedbounds.evidence.symbolic import library
from fedbounds.referee.mutants import Mutant, Part, scaled
from fedbounds.study.bounds import main_bound
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Kind, OwnSteps, Role
from fedbounds.theory.coverage import Span
from fedbounds.theory.labels import word
from fedbounds.theory.quantity import computed_quantities
from fedbounds.theory.reading import READINGS, Reading
from fedbounds.theory.verdict import Evidence, Status, Verdict

# The largest factor tried on a part that may grow, and the bisections between it (or 0) and 1.
LARGEST_PROVED, FACTOR_HALVINGS = 9, 8
# Non-negative slacks of the conditions used below, one each.
SLACK = sp.symbols("s1:9", nonnegative=True)

STEP_ARGUMENT = (
    "Its right-hand side is never below that of the sharper one-step inequality: drift <= 16 eta_t^2 tau^2 G^2 "
    "(Lemma 2), eta_t L <= 1 and tau >= 1 make the difference a sum of non-negative terms."
)
SUM_ARGUMENT = (
    "The sharper one-step inequality summed by the paper's induction (C = (1 + 4 tau^2) G^2, since eta_t L <= 1/4) "
    "is never above it: the difference is a sum of non-negative terms."
)
# The smallest constants of Assumptions 3 and 4 satisfy this; arbitrary bounds need not, so it is used only if needed.
SMALLEST_MOMENTS = {s.G_sq: s.sigma_sq + SLACK[3]}
PI_ARGUMENT = SUM_ARGUMENT[:-1] + ", with pi <= rho_bar and rho_tilde <= Pi <= 1/min p - (N - 1) pi."


@dataclass(frozen=True)
class Argument:
    """A proved bound on a claim's left-hand side, and the claim's conditions as substitutions with slacks."""

    words: str
    bounds: tuple[sp.Expr, ...]
    conditions: Mapping[sp.Symbol, sp.Expr]


def _step(homogeneous: bool) -> Argument:
    conditions = {
        s.L: s.mu + SLACK[0],
        s.eta: 1 / (s.mu + SLACK[0] + SLACK[1]),
        s.tau: 1 + SLACK[2],
    }
    known = {claim.lhs: claim.rhs for claim in plugins.with_role(Role.YARDSTICK)}
    worst = known[s.Delta_next].subs(s.drift, known[s.drift])
    return Argument(STEP_ARGUMENT, (worst,), conditions | ({s.Gamma: sp.Integer(0)} if homogeneous else {}))


def _summed(skew: sp.Expr, above: sp.Expr, words: str, conditions: Mapping[sp.Symbol, sp.Expr]) -> Argument:
    """The induction's bound (L/2) max(gamma Delta_0, C/(mu^2 c skew))/(T + gamma) + its error.

    It needs 1 + c skew <= gamma, which is where the main bound's repair caps its skew: c is read off there. ``above``
    is rho_tilde - skew. A bound by a maximum follows from a bound by each of its arguments: both are checked.
    """
    repair = main_bound().repair
    assert repair is not None
    (cap,) = (one for one in repair.substitutions[s.rho_bar].args if one != s.rho_bar)
    c = sp.cancel((s.gamma - 1) / cap)
    error = s.L * s.Gamma * above / (s.mu * (1 + c * skew))
    either = (s.gamma * s.Delta_0, (1 + 4 * s.tau**2) * s.G_sq / (s.mu**2 * c * skew))
    bounds = tuple(
        (s.L / 2 * value / (s.T + s.gamma) + error).subs(dict(main_bound().definitions)) for value in either
    )
    common = {s.L: s.mu + SLACK[0], s.tau: 1 + SLACK[2]}
    return Argument(words, bounds, common | dict(conditions))


def argument_for(claim: Claim) -> Argument | None:
    """The proof available for a claim's mutants, by its left-hand side and assumptions."""
    repaired = claim.repair.assumptions if claim.repair else ()
    if claim.lhs == s.Delta_next and a.small_steps in repaired and a.slow_decay in repaired:
        return _step(a.homogeneous in claim.assumptions)
    if claim.lhs != s.gap:
        return None
    if a.positive_pi in claim.assumptions:
        above = 1 / s.p_min - s.N * s.pi_min
        return _summed(s.pi_min, above, PI_ARGUMENT, {s.p_min: 1 / (s.N * s.pi_min + SLACK[4])})
    if claim.eta == main_bound().eta and claim.repair and s.rho_bar in claim.repair.substitutions:
        conditions = {s.rho_tilde: s.rho_bar + SLACK[4]} | (
            {s.Gamma: sp.Integer(0)} if a.homogeneous in claim.assumptions else {}
        )
        return _summed(s.rho_bar, s.rho_tilde - s.rho_bar, SUM_ARGUMENT, conditions)
    return None


def why_still_true(mutant: Mutant, reading: Reading) -> str:
    """The argument that a mutant is still a theorem, or "" if it does not follow this way.

    ``rho_bar`` stands for the capped skew of the repair, and ``rho_tilde`` for at least that.
    """
    argument = argument_for(mutant.of) if reading.repaired else None
    unchanged = mutant.claim.lhs == mutant.of.lhs and mutant.claim.eta == mutant.of.eta
    if argument is None or not unchanged:
        return ""
    if mutant.claim.rhs.has(sp.Max, sp.Min):
        return ""
    right = mutant.claim.rhs.subs(dict(mutant.claim.definitions))
    if mutant.change == "condition dropped":
        if mutant.part != a.bounded_variance.statement:
            return ""
        right = right.subs(s.sigma_sq, 0)  # whatever sigma_sq is then, the right-hand side is at least this
    if right.free_symbols & {s.Delta_next} or right.has(sp.Max, sp.Min):
        return ""
    if all(never_negative(right - bound, argument.conditions) for bound in argument.bounds):
        return argument.words
    conditions = {**argument.conditions, **SMALLEST_MOMENTS}
    if all(never_negative(right - bound, conditions) for bound in argument.bounds):
        return f"{argument.words} (With the smallest constants, for which sigma^2 <= G^2.)"
    return ""


def proved_factor(claim: Claim, part: Part, reading: Reading, up: bool) -> float | None:
    """How far a part can be scaled with the claim still proved: the extreme factor in that direction, or None.

    Downwards to 0 at most, upwards to ``LARGEST_PROVED``; bisected ``FACTOR_HALVINGS`` times.
    """

    def proved(factor: sp.Expr) -> bool:
        return bool(why_still_true(scaled(claim, part, factor), reading))

    good, bad = sp.Integer(1), sp.Integer(LARGEST_PROVED if up else 0)
    if argument_for(claim) is None or not reading.repaired:
        return None
    if proved(bad):
        return float(bad)
    if claim.rhs.has(sp.Max, sp.Min):
        return None  # nothing but deletion takes them away
    for _ in range(FACTOR_HALVINGS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if proved(middle) else (good, middle)
    return float(good) if good != 1 else None


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
        found = sp.ring(generators, sp.QQ)[0].from_expr(polynomial).values() if generators else [polynomial]
    except (ValueError, sp.CoercionFailed):
        return 1, -1
    return [c for c in found if c != 0]


def _sign(coefficients: Sequence[Any]) -> int:
    """1 or -1 if all coefficients have that sign, else 0."""
    return 1 if all(c > 0 for c in coefficients) else -1 if all(c < 0 for c in coefficients) else 0


# Who may say that a shipped claim is proved.
PROVERS = (library.examine, kernel.examine)


def inherited(claim: Claim, reading: Reading, other: Claim) -> Iterator[Verdict]:
    """The proofs of a shipped claim that says at least as much; the last step, to this claim, is our own check."""
    for name in other.readings:
        if follows(claim, reading, other, READINGS[name]):
            for examiner in PROVERS:
                proof = examiner(other, READINGS[name])
                if proof is not None and proof.status is Status.HOLDS:
                    detail = f"it follows from {other.key}, which is {word(proof.status, proof.evidence)}"
                    own = {"claim": claim.key, "reading": reading.name, "evidence": Evidence.SYMBOLIC}
                    yield replace(proof, detail=detail, **own)  # type: ignore[arg-type]


def follows(claim: Claim, reading: Reading, other: Claim, how: Reading) -> bool:
    """Whether ``other`` implies the claim on sight: same left side, no further assumption, right side no larger.

    The difference of the right sides must be a sum of non-negative terms once L >= mu and tau >= 1 are put in.
    """
    stated = claim.assumptions_in(reading)
    alike = (claim.lhs, claim.scope, claim.kind) == (other.lhs, other.scope, other.kind)
    skew = how.skew == reading.skew or not {"rho_bar", "rho_tilde"} & other.symbols
    virtual = how.virtual == reading.virtual or a.unbiased in stated or claim.scope in ("point", "constant")
    steps = other.steps is None or other.steps == claim.steps
    positive = claim.steps is None or claim.steps.is_positive
    if not (alike and skew and virtual and steps and positive) or claim.kind is Kind.RATE:
        return False
    if not all(_granted(assumption, claim, stated) for assumption in other.assumptions_in(how)):
        return False
    difference = claim.sides(reading).rhs - other.sides(how).rhs
    if claim.steps is not None:
        difference = difference.subs(s.eta, claim.steps)
    if claim.coverage(reading).axes.get("tau") == Span(1, 1):
        difference = difference.subs(s.drift, 0)  # a round of one step has no time to drift
    if claim.kind is Kind.IDENTITY or difference.has(sp.Max, sp.Min):
        return bool(sp.simplify(difference) == 0)
    if computed_quantities(difference) or not all(symbol.is_nonnegative for symbol in difference.free_symbols):
        return False  # signs are read off coefficients; that of a symbol of one's own is declared, not proved
    return never_negative(difference, {s.L: s.mu + SLACK[0], s.tau: 1 + SLACK[1]})


def _granted(assumption: Assumption, claim: Claim, stated: Iterable[Assumption]) -> bool:
    """Whether the claim makes an assumption too, in the same words or relations, or its step size meets it."""
    if isinstance(assumption, OwnSteps) or any(assumption == one for one in stated):
        return True
    parts = assumption.parts
    if parts and any(set(parts) <= set(one.parts) for one in stated):
        return True
    return (
        bool(parts)
        and claim.steps is not None
        and all(
            part.sign == "<="
            and never_negative((part.right - part.left).subs(s.eta, claim.steps), {s.L: s.mu + SLACK[0]})
            for part in parts
        )
    )
