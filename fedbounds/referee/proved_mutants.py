"""Mutants that are still theorems: their right side is never below a bound that is proved without the changed part.

The proved bounds are the sharper one-step inequality (derivation sharper-step) and its summation by the paper's
induction. The difference, with the conditions put in as non-negative slacks, must be a quotient of polynomials all of
whose coefficients are non-negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from fedbounds import plugins
from fedbounds.referee.implication import SLACK, never_negative
from fedbounds.referee.mutants import Mutant
from fedbounds.study.bounds import main_bound
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.claim import Claim, Role
from fedbounds.theory.reading import Reading

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
    yardsticks = {claim.lhs: claim.rhs for claim in plugins.with_role(Role.YARDSTICK)}
    worst = yardsticks[s.Delta_next].subs(s.drift, yardsticks[s.drift])
    return Argument(STEP_ARGUMENT, (worst,), conditions | ({s.Gamma: sp.Integer(0)} if homogeneous else {}))


def _summed(skew: sp.Expr, above: sp.Expr, words: str, conditions: Mapping[sp.Symbol, sp.Expr]) -> Argument:
    """The induction's bound (L/2) max(gamma Delta_0, C/(mu^2 c skew))/(T + gamma) + its error.

    It needs 1 + c skew <= gamma, which is where the main bound's repair caps its skew: c is read off there. ``above``
    is rho_tilde - skew. A bound by a maximum follows from a bound by each of its arguments: both are checked.
    """
    repair = main_bound().repair
    assert repair is not None
    (cap,) = (arg for arg in repair.substitutions[s.rho_bar].args if arg != s.rho_bar)
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
