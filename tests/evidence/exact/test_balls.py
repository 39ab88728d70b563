"""Runs in ball arithmetic: they enclose the run in fractions, and decide nothing that the enclosures do not."""

import math
import sys
from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp
from flint import arb

from fedbounds.evidence.ball_arithmetic import BITS, Ball, Undecided, endpoints, upper
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import MAX_BITS, TooLong, run
from fedbounds.theory import quantity
from fedbounds.theory.claim import Claim
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, Delta_T, T, eta_0, mu
from fedbounds.theory.verdict import Status

PLAIN = READINGS["plain"]
BASE = {"curvatures": [1, "7/3"], "minima": [0, 1], "p": ["1/3", "2/3"], "w0": [5], "eta": ["1/7"] * 6, "tau": 2}
TURNED = {"curvatures": [[1, 3], [2, 1]], "minima": [[0, 1], [1, 0]], "turns": [["3/5", "4/5"], [1, 0]], "w0": [5, 2]}
CASES = {
    "fedavg": {"weighting": "fedavg"},
    "fedmax": {"weighting": "fedmax"},
    "two of two": {"weighting": "fedmax:2"},
    "fixed": {"weighting": "fixed", "weights": [["1/5", "4/5"]]},
    "noise": {"weighting": "fedavg", "noise": ["1/3", 0]},
    "noise along paths": {"weighting": "fedavg", "noise": ["1/3", 0]},
    "growth": {"weighting": "fedmax", "noise": ["1/3", 0], "growth": ["1/2", 0]},
    "two slopes": {"weighting": "fedmax", "upper": [2, 3], "kinks": ["1/2", "3/2"]},
    "turned": {"weighting": "fedmax", **TURNED},
    "absent": {"weighting": "fedmax", "present": 1},
}
# One client whose numbers have 34 bits more after every step: too long for fractions after some 240.
STEP = F(10**8 + 7, 10**10 + 19)
LONG = Instance(((F(1),),), ((F(0),),), p=(F(1),), w0=(F(1),), eta=(STEP,) * 400, weighting="fedavg")


def horizon(rhs, **more):
    return Claim("a", "", "", "horizon", Delta_T, {"bound": rhs}, **more)


@pytest.mark.parametrize("case", CASES)
def test_balls_enclose_every_number_of_the_run_in_fractions(case):
    most = 1 if case == "noise along paths" else 2**15
    instance = from_json({**BASE, **CASES[case]})
    exact, balls = run(instance, most), run(instance, most, BITS[0])
    fields = [(name, exact.values[name], balls.values[name]) for name in exact.values]
    fields += [("rho", exact.rho_all, balls.rho_all), ("rho", exact.rho_sync, balls.rho_sync)]
    for virtual, part in exact.paths.items():
        fields += [(k, x, y) for k in part for x, y in zip(part[k], balls.paths[virtual][k], strict=True)]
    pairs = zip(exact.points, balls.points, strict=True)
    fields += [("point", a[k], b[k]) for a, b in pairs for k in range(4)]
    assert exact.alphas == balls.alphas and exact.ratios == balls.ratios and balls.bits == BITS[0]
    assert any(isinstance(ball, Ball) for _, _, ball in fields)
    for name, fraction, ball in fields:
        low, high = endpoints(ball) if isinstance(ball, Ball) else (ball, ball)
        assert low <= fraction <= high and high - low <= F(1, 2**400), name


def test_a_comparison_that_is_not_certain_is_refused():
    wide, near, far = Ball(arb(1, 0.5)), Ball(arb(1.25, 0.5)), Ball(arb(3))
    assert wide < far and wide <= far and far > 2 and wide != far and wide != 3 and wide < math.inf
    assert wide == wide and wide <= wide and not wide < wide and wide + 0 is wide
    row = np.array([far, wide, near], dtype=object)
    for unsure in (
        lambda: wide < near,
        lambda: wide == near,
        lambda: wide >= 1,
        lambda: bool(wide - 1),
        lambda: 1 / (wide - 1),
        lambda: float(wide),
        lambda: math.floor(wide),
        lambda: row.max() < row[1:].max(),
        lambda: np.sort(row),
        lambda: row == row[[0, 2, 1]],
    ):
        with pytest.raises(Undecided):
            unsure()
    for rounded in (lambda: wide + 0.5, lambda: 0.5 * wide, lambda: wide < 0.5):
        with pytest.raises(TypeError):
            rounded()


def test_a_choice_that_is_not_certain_takes_more_bits_and_a_tie_is_none():
    """At w = 1/2 the losses of clients with minima 0 and 1 are equal; one step leads from 5 to 1/2 + ``beyond``."""

    def instance(beyond):
        eta = (F(9, 10) - beyond / 5,) * 2
        return from_json({"curvatures": [1, 1], "minima": [0, 1], "p": ["1/2"] * 2, "w0": [5], "eta": eta})

    near, tied = instance(F(1, 2**600)), instance(F(0))
    with pytest.raises(Undecided):
        run(near, bits=512)
    assert run(near, bits=1024).alphas == run(near).alphas == {(1, 0)}
    assert run(tied).alphas == {(1, 0), (F(1, 2), F(1, 2))}
    with pytest.raises(Undecided):
        run(tied, bits=BITS[-1])


@pytest.mark.parametrize(
    ("factor", "status"),
    [(1 - F(1, 10**9), Status.REFUTED), (F(1), Status.UNDECIDED), (1 + F(1, 10**9), Status.HOLDS)],
)
def test_a_long_run_is_decided_where_the_sign_is_certain(factor, status):
    """||w_T - w*||^2 = (1 - eta mu)^(2T) ||w_0 - w*||^2 for one client: an equality is never a violation."""
    with pytest.raises(TooLong, match=str(MAX_BITS)):
        run(LONG)
    claim = horizon(sp.Rational(factor) ** T * (1 - eta_0 * mu) ** (2 * T) * Delta_0)
    verdict = examine(LONG, claim, PLAIN)
    assert verdict.status is status
    if status is Status.REFUTED:
        assert verdict.data["bits"] == BITS[0] and f"in ball arithmetic at {BITS[0]} bits" in verdict.detail
        again = examine(from_json(verdict.data["instance"]), claim, PLAIN)
        assert again.data == verdict.data and F(verdict.data["lhs"]) > F(verdict.data["rhs"])


def test_more_bits_are_taken_until_the_sign_is_certain():
    """A relative difference of 2^-700 needs more than 512 bits."""
    factor = 1 - sp.Rational(1, 2**700)
    verdict = examine(LONG, horizon(factor**T * (1 - eta_0 * mu) ** (2 * T) * Delta_0), PLAIN)
    assert verdict.status is Status.REFUTED and verdict.data["bits"] == 1024


@pytest.mark.parametrize(("factor", "status"), [(F(1, 2), Status.REFUTED), (F(1), Status.HOLDS)])
def test_a_quantity_of_ones_own_is_enclosed_too(factor, status):
    """sum_t ||w_t - w*||^2 is below that of a run without end, ||w_0 - w*||^2 / (1 - (1 - eta mu)^2)."""
    total = quantity.measured("total", lambda path: np.cumsum((path.w**2).sum(-1)))
    bound = sp.Rational(factor) * Delta_0 / (eta_0 * mu * (2 - eta_0 * mu))
    claim = Claim("a", "", "", "horizon", total, {"bound": bound})
    assert examine(LONG, claim, PLAIN).status is status


def test_a_root_in_a_quantity_of_ones_own_is_enclosed():
    rooted = quantity.measured("rooted", lambda path: np.sqrt((path.w**2).sum(-1)))
    for factor, status in ((F(1), Status.HOLDS), (F(99, 100), Status.REFUTED)):
        claim = Claim("a", "", "", "horizon", rooted, {"start": sp.Rational(factor) * Delta_0})
        assert examine(LONG, claim, PLAIN).status is status


def test_bounds_are_rounded_up_and_never_to_nothing():
    q, T = sp.symbols("q T")
    assert float(upper(q**T, {"q": 0.5, "T": 1e9})) == sys.float_info.min
    third = float(upper(q / 3, {"q": 1.0}))
    assert F(third) > F(1, 3) > F(math.nextafter(third, 0))
    assert np.array_equal(upper(1 - (1 - q) ** T, {"q": np.array([[0.0], [1e-300]]), "T": 1.0}), [[0.0], [1e-300]])
