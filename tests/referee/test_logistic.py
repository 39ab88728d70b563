"""Logistic losses, and failures out of the way: floats find, balls or fractions decide, nothing true is refuted."""

from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import mpmath
import numpy as np
import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import BITS
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance import Instance
from fedbounds.evidence.exact.instance_json import from_json, to_json
from fedbounds.evidence.exact.run import runs
from fedbounds.plugins import load_file
from fedbounds.referee import limit_cases
from fedbounds.referee.search.family import families
from fedbounds.referee.search.populations import BUDGETS
from fedbounds.referee.search.refute import refute
from fedbounds.theory import assumptions as a
from fedbounds.theory import path_quantities as pq
from fedbounds.theory.claim import Claim
from fedbounds.theory.points import grad, inner, mean, w, w_star
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, Gamma, L, T, eta_0, gap, gap_t
from fedbounds.theory.verdict import Status

SMALL = replace(BUDGETS["small"], generations=6, population=4, polish=20, shrink=5_000, rungs=2)
LOGISTIC = {"logistic": families()["logistic"]}
QUADRATICS = {"turned": families()["turned"]}
CONVEX = (a.smooth, a.strongly_convex)
FIELDS = ("curvatures", "upper", "kinks", "widths")
DESCENT = (*CONVEX, a.full_gradients, a.full_participation, a.unbiased, a.one_local_step)
along = measured("along", inner(mean(grad(w)), w - w_star))
TWO = Instance(
    ((F(1),), (F(2),)),
    ((F(0),), (F(1),)),
    p=(F(1, 3), F(2, 3)),
    w0=(F(3),),
    eta=(F(1, 10),) * 4,
    tau=2,
    weighting="fedavg",
    upper=((F(5),), (F(9),)),
    kinks=((F(-1),), (F(2),)),
    widths=((F(1, 2),), (F(1, 3),)),
)
# 2 (F(w) - F*) = <grad F(w), w - w*> for quadratics, and for them alone.
OF_QUADRATICS = Claim("twice", "", "", "step", 2 * gap_t, {"along": along}, assumptions=CONVEX)


def test_balls_hold_the_run_and_the_minimiser():
    with mpmath.workdps(60):
        _compare()


def _compare():
    data = list(zip((1, 2), (0, 1), (5, 9), (-1, 2), (mpmath.mpf(1) / 2, mpmath.mpf(1) / 3), strict=True))

    def loss(w):
        logistic = (
            4 * (h - c) * s**2 * (mpmath.log(1 + mpmath.exp((w - b) / s)) - w / s / (1 + mpmath.exp((b - m) / s)))
            for c, m, h, b, s in data
        )
        ridge = (c * (w - m) ** 2 / 2 for c, m, _, _, _ in data)
        return sum(
            p * (x + y) for p, x, y in zip((mpmath.mpf(1) / 3, mpmath.mpf(2) / 3), ridge, logistic, strict=True)
        )

    star = mpmath.findroot(lambda w: mpmath.diff(loss, w), 0.7)
    record = next(runs(TWO))
    assert record.bits == BITS[0]
    enclosed = record.precisely(lambda: record.measured.losses.w_star[0, 0].ball)
    assert abs(float(enclosed.mid()) - float(star)) < 1e-15 and 0 < float(enclosed.rad()) < 1e-100
    gaps = [float(ball) for ball in record.paths["alpha"]["gap"]]
    assert gaps[0] == pytest.approx(float(loss(mpmath.mpf(3)) - loss(star)), rel=1e-12)
    assert gaps == sorted(gaps, reverse=True)


def test_what_is_true_of_quadratics_alone_is_refuted_in_balls():
    few = replace(SMALL, generations=2, polish=1, rungs=1)
    assert refute(OF_QUADRATICS, READINGS["plain"], few, by_family=QUADRATICS).status is Status.UNDECIDED
    verdict = refute(OF_QUADRATICS, READINGS["plain"], SMALL, by_family=LOGISTIC)
    assert verdict.status is Status.REFUTED and verdict.data["bits"] == BITS[0]
    instance = from_json(verdict.data["instance"])
    assert instance.widths and to_json(instance) == verdict.data["instance"]
    assert examine(instance, OF_QUADRATICS, READINGS["plain"]).status is Status.REFUTED
    w, c, h, b, s = (float(row[0]) for row in (instance.w0, *(getattr(instance, n)[0] for n in FIELDS)))
    rise = (lambda z: np.log1p(np.exp(z)), lambda z: 1 / (1 + np.exp(-z)))
    z, at = (w - b) / s, (0 - b) / s
    assert instance.N == 1 and instance.minima == ((F(0),),)
    gap = c * w**2 / 2 + 4 * (h - c) * s**2 * (rise[0](z) - rise[0](at) - rise[1](at) * (z - at))
    slope = c * w + 4 * (h - c) * s * (rise[1](z) - rise[1](at))
    assert 2 * gap > slope * w
    assert 2 * gap == pytest.approx(float(F(verdict.data["lhs"])), rel=1e-2)


@pytest.mark.parametrize(
    ("scope", "lhs", "bound", "given"),
    [
        ("step", pq.slope_sq, 2 * L * (gap_t + Gamma), CONVEX),
        ("horizon", gap, Delta_0 / (4 * eta_0 * T), (*DESCENT, a.small_steps)),
    ],
    ids=["co-coercivity", "rate"],
)
def test_what_is_true_is_not_refuted(scope, lhs, bound, given):
    claim = Claim("true", "", "", scope, lhs, {"bound": bound}, assumptions=given)
    few = replace(SMALL, generations=3, polish=5, rungs=1, seconds=1.0)
    verdict = refute(claim, READINGS["plain"], few, by_family=LOGISTIC)
    assert verdict.status is Status.UNDECIDED and verdict.margin > -1e-7 and "unconfirmed" not in verdict.data


def test_widths_go_with_kinks_and_are_positive():
    for changes in ({"widths": ((F(0),), (F(1),))}, {"widths": ((F(1),),)}, {"upper": (), "kinks": ()}):
        with pytest.raises(InputError):
            TWO.with_(**changes)


SUBTLE = load_file(Path(__file__).parent / "theorems" / "subtle.py")
PLAIN = READINGS["plain"]


@pytest.mark.parametrize("claim", SUBTLE.SEEN, ids=lambda claim: claim.key)
def test_the_battery_meets_it(claim):
    instance = next(item for item, violated in limit_cases.sweep(claim, PLAIN) if violated)
    assert examine(instance, claim, PLAIN).status is Status.REFUTED


@pytest.mark.parametrize("claim", SUBTLE.SOUGHT, ids=lambda claim: claim.key)
def test_the_search_finds_it(claim):
    assert refute(claim, PLAIN, BUDGETS["small"]).status is Status.REFUTED
