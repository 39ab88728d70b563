"""Small proofs for the tests of the symbolic checker."""

from functools import cache

import sympy as sp

from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.derivation import Derivation, step
from fedbounds.plugins import claims
from fedbounds.study.identity import remembered
from fedbounds.study.ledger import verified
from fedbounds.theory import assumptions as a
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Evidence, Status

PAPER = (a.smooth, a.strongly_convex, a.bounded_gradient, a.bounded_variance, a.full_participation)


def gives(key, expression, sign="<=", **more):
    """An assumption of that name which gives one fact: the expression is at least zero, positive or zero."""
    return Assumption(key, key, gives=lambda o: Part(sp.Integer(0), sign, expression), **more)


def outcome(*steps, **more):
    """The check of one derivation without a claim."""
    return symbolic.check_all([Derivation("test", "test", tuple(steps), **more)])["test"]


def fault(*steps, **more):
    """Why it does not check, empty where everything does."""
    return outcome(*steps, **more).fault


def refused(*steps, **more):
    """Why a derivation under the paper's assumptions does not check."""
    return fault(*steps, **{"assumes": PAPER, **more})


def checked(derivation, claim, reading="repaired"):
    """The check of a derivation about a claim that no module registers."""
    shelf = symbolic.shelf({derivation.key: derivation}, {derivation.claim: claim})
    return symbolic.check(derivation.key, shelf, READINGS[reading])


def toy_claim(lhs, rhs, reading="repaired", **more):
    """A claim lhs <= rhs of one step, under the paper's assumptions."""
    stated = {"scope": "step", "assumptions": PAPER, "readings": (reading,), **more}
    return Claim("toy", "toy", "here", lhs=lhs, terms={"all": rhs}, **stated)


def verdict(claim, *uses, right=None, reading="repaired", **more):
    """The verdict on a claim of a derivation whose one line combines these facts."""
    line = step("end", claim.lhs, "<=", claim.rhs if right is None else right).by(*uses)
    proof = Derivation("toy", "toy", (line,), claim="toy", readings=(reading,), **more)
    return symbolic.judge(checked(proof, claim, reading), claim, READINGS[reading])


def citing(lemma, *steps, **more):
    """Why a derivation that cites a lemma does not check, though the lemma does."""
    result = symbolic.check_all([lemma, Derivation("citing", "citing", steps, **more)])
    assert not result["lemma"].fault
    return result["citing"].fault


@cache
def proved():
    """Claims and readings that a derivation proves: discovered, so that a new proof is attacked unlisted."""
    known = claims()
    found = remembered(known)
    held = [v for v in (verified(known) if found is None else found) if v.status is Status.HOLDS]
    return [(known[v.claim], v.reading) for v in held if v.evidence is Evidence.SYMBOLIC]
