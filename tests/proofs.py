"""Small proofs for the tests of the symbolic checker."""

import sympy as sp

from fedbounds.evidence.symbolic import library as symbolic
from fedbounds.evidence.symbolic.derivation import Derivation
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.reading import READINGS


def gives(key, expression, sign="<="):
    """An assumption of that name which gives one fact: the expression is at least zero, positive or zero."""
    return Assumption(key, key, gives=lambda o: Part(sp.Integer(0), sign, expression))


def outcome(*steps, **more):
    """The check of one derivation without a claim."""
    return symbolic.check_all([Derivation("test", "test", tuple(steps), **more)])["test"]


def fault(*steps, **more):
    """Why it does not check, empty where everything does."""
    return outcome(*steps, **more).fault


def checked(derivation, claim, reading="repaired"):
    """The check of a derivation about a claim that no module registers."""
    shelf = symbolic.shelf({derivation.key: derivation}, {derivation.claim: claim})
    return symbolic.check(derivation.key, shelf, READINGS[reading])
