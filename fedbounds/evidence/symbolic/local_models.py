"""A line about the local models of a round, at its start, at a step, and after the step."""

from __future__ import annotations

import sympy as sp

from fedbounds.evidence.symbolic import definitions
from fedbounds.evidence.symbolic.expressions import moving
from fedbounds.evidence.symbolic.proof_state import Context, Unproved
from fedbounds.theory import symbols as sy
from fedbounds.theory.vectors import Excess, Noise, Positive, Ratio, Slack, Value, Vec, Weights

X, k = definitions.X, sy.local_step
# What such a line may speak of.
NAMED = {
    X,
    definitions.START,
    definitions.W_STAR,
    definitions.OWN,
    definitions.P,
    definitions.SHARE,
    definitions.F_MIN,
}


def in_a_round(line: sp.Expr, place: int, scope: Context) -> sp.Expr:
    """A line in the local models at a round's start, at t, and after the step from t."""
    named = line.atoms(Vec, Noise, Weights, Value, Slack, Ratio, Excess, Positive)
    if definitions.ALL_PRESENT not in scope.universe or moving(line) - {k.name} or not named <= NAMED:
        raise Unproved(f"an induction over local steps speaks of local models, their start and k alone: {line}")
    places: tuple[dict[sp.Basic, sp.Expr], ...]
    places = ({X: definitions.START, k: sp.Integer(0)}, {}, {X: X - sy.eta * definitions.G, k: k + 1})
    return line.xreplace(places[place])
