"""Objects of the right classes, into which something was written, or which are another when they are read again."""

from dataclasses import replace

import pytest
import sympy as sp
from proofs import PAPER, checked, fault, gives, refused, toy_claim, verdict
from sympy.core.assumptions import StdFactKB

from fedbounds.evidence.symbolic import verified_proofs as symbolic
from fedbounds.evidence.symbolic.definitions import ALPHA, W_STAR, Formal, W, X
from fedbounds.evidence.symbolic.derivation import (
    ONE,
    Condition,
    Derivation,
    Earlier,
    Induction,
    Premise,
    Square,
    averaged,
    premise,
    step,
)
from fedbounds.evidence.symbolic.untrusted_expressions import clear_sympy_caches
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as sy
from fedbounds.theory.assumption import Assumption, Part
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import Quantity
from fedbounds.theory.reading import READINGS

ZERO, POSITIVE = sp.Integer(0), {"nonnegative": True, "positive": True, "negative": False}
z_0, z_t, z_next, z_T, strict = sp.symbols("z_0 z_t z_next z_T strict", nonnegative=True)
LOSS = sy.L * (sy.mu - sy.L)
BELOW = sp.Min(sy.sigma_sq - sy.G_sq, sy.L)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """What is written into objects that sympy keeps must not reach another test."""
    clear_sympy_caches()
    yield
    clear_sympy_caches()


def signed(expression, **signs):
    """The very object, which says that it has these signs."""
    expression._assumptions = StdFactKB(signs or POSITIVE)
    return expression


def twin(symbol):
    """A quantity that equals another, and is positive."""
    made = sp.Symbol.__xnew__(Quantity, symbol.name, **dict(symbol._assumptions_orig))
    for slot in Quantity.__slots__:
        setattr(made, slot, getattr(symbol, slot))
    return signed(made, real=True, positive=True, nonnegative=True, zero=False, nonzero=True)


def written(one, **methods):
    """The very object, with methods of its own."""
    vars(one).update(methods)
    return one


def cached():
    """A product whose terms, as sympy will find them in its cache, say that they are positive."""
    for term in sp.expand(LOSS).args:
        signed(term)
    return sy.L * (sy.mu - sy.L)


def below(**more):
    return written(sp.Min(sy.sigma_sq - sy.G_sq, sy.L), **more)


class Point:
    """A point that is w where a function is taken, and another in a difference."""

    __sympy__ = True

    def __init__(self, minus):
        self.args, self.minus = (W,), minus

    def func(self, *_):
        return W

    def __sub__(self, other):
        return self.minus

    def xreplace(self, _):
        return self


class Turns(tuple):
    """Points that are others each time they are listed."""

    def __new__(cls, other):
        made = super().__new__(cls, (W, W_STAR))
        made.other, made.listed = other, 0
        return made

    def __iter__(self):
        self.listed += 1
        return iter((W, W_STAR) if self.listed % 3 == 1 else (W, self.other))


class MinusOne(tuple):
    """A sequence that is -1 at every time."""

    def __getitem__(self, place):
        return sp.Integer(-1) if isinstance(place, int) else tuple.__getitem__(self, place)


def of(lhs, rhs, *uses, assumptions=()):
    """The verdict's detail on a claim lhs <= rhs, where it is no proof."""
    claim = toy_claim(sp.sympify(lhs), sp.sympify(rhs), assumptions=(*PAPER, *assumptions))
    result = verdict(claim, *uses)
    return "" if result.status == "HOLDS" else result.detail


def changing_signs():
    """A condition's symbol that is not positive while it is shown, and positive afterwards."""
    symbol, asked = sp.Symbol("once", positive=True), []

    def facts(objects):
        asked.append(1)
        signed(symbol, real=True, **({"nonnegative": True} if len(asked) <= 2 else POSITIVE))
        return Part(ZERO, "<=", sy.G_sq)

    signed(symbol, real=True, nonnegative=True)
    mine = Assumption("mine", "", gives=facts)
    return refused(
        step("again", 0, "<=", sy.G_sq).by(premise("mine")),
        step("end", 0, "<", symbol).by((symbol, ONE)),
        conditions=(Condition(symbol, premise("mine")),),
        assumes=(*PAPER, mine),
    )


def writing_into_the_objects():
    """An assumption whose function changes what other assumptions are made of."""

    def facts(objects):
        objects.norm_sq = lambda vector: sp.Integer(0)
        return Part(ZERO, "<=", sy.G_sq)

    mine = Assumption("mine", "", gives=facts)
    return refused(
        step("mine", 0, "<=", sy.G_sq).by(premise("mine")),
        step("end", 0, "<=", sy.G_sq).by(premise("bounded-gradient", Formal.x)),
        assumes=(*PAPER, mine),
    )


def stated():
    claim = written(toy_claim(sy.G_sq, ZERO), stated=lambda repaired: {"all": sy.G_sq})
    line = step("end", sy.G_sq, "<=", sy.G_sq)
    result = symbolic.judge(checked(Derivation("toy", "toy", (line,), "toy"), claim), claim, READINGS["repaired"])
    return "" if result.status == "HOLDS" else result.detail


def absurd():
    steps = (
        step("base", 0, "<=", 0),
        step("carry", 0, "<=", 0),
        step("all", z_T, "<=", -1).by(Induction("base", "carry")),
        step("end", 1, "<=", 0).by(Earlier("all"), (z_T, ONE)),
    )
    return fault(*steps, sequences={z_T: MinusOne((z_0, z_t, z_next))})


UNITS = Assumption("units", "", sp.Le(sy.L, 1, evaluate=False))
TAMPERED = {
    "a sign written into a number": lambda: refused(step("end", 5, "<=", 0).by((signed(sp.Integer(-5)), ONE))),
    "a quantity that equals Gamma": lambda: of(
        sy.G_sq, 0, (sy.G_sq / twin(sy.Gamma), premise("homogeneous")), assumptions=(a.homogeneous,)
    ),
    "facts of an assumption's own": lambda: of(
        sy.G_sq,
        0,
        premise("big"),
        assumptions=(
            written(
                Assumption("big", "", sp.Ge(sy.G_sq, 0, evaluate=False)), facts=lambda: (Part(ZERO, "<=", -sy.G_sq),)
            ),
        ),
    ),
    "relations of an assumption's own": lambda: of(
        sy.drift,
        0,
        (-1, averaged(ALPHA, premise("single-step", X - W))),
        assumptions=(written(UNITS, _relations=lambda: (sp.Le(sy.N, 1, evaluate=False),)),),
    ),
    "a statement of a claim's own": stated,
    "signs written into sympy's cache": lambda: of(0, LOSS, (cached(), ONE)),
    "a handler of a minimum's own": lambda: of(
        0, BELOW, (below(_prop_handler={"nonnegative": lambda one: True}), ONE)
    ),
    "points that change": lambda: of(
        sy.mu * sy.Delta,
        0,
        *(Premise("strongly-convex", Turns(Point(sign * (W - W_STAR)))) for sign in (1, -1)),
    ),
    "a sequence that changes": absurd,
    "three in the place of a pair": lambda: refused(replace(step("end", 0, "<=", 1), because=((1, ONE, ONE),))),
    "a condition positive only once it is shown": changing_signs,
    "what other assumptions are made of": writing_into_the_objects,
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_written_into_objects_proves_nothing(name):
    assert TAMPERED[name]()


def test_the_claim_that_is_checked_and_printed_is_the_one_made_anew():
    claim = toy_claim(sy.G_sq, sy.G_sq, assumptions=MinusOne(PAPER))
    result = checked(Derivation("toy", "toy", (step("end", sy.G_sq, "<=", sy.G_sq),), "toy"), claim)
    assert not result.fault and type(claim.assumptions) is MinusOne and type(result.claim.assumptions) is tuple


def test_the_same_without_writing_does_check():
    assert not of(0, LOSS + sy.L**2, (sy.L * sy.mu, ONE))
    assert not refused(step("end", 0, "<=", 1).by(ONE), assumes=(*PAPER, gives("mine", sy.G_sq)))
    assert not of(0, sy.Delta, Square(W - W_STAR))
    assert isinstance(toy_claim(sy.G_sq, ZERO), Claim)
