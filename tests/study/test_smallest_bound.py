"""The smallest bound of any claim: closed forms, a brute-force search beside it, and why a claim is left out."""

import json
import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.ball_arithmetic import upper
from fedbounds.evidence.evaluate import evaluate
from fedbounds.plugins import claim_named
from fedbounds.study.objects_from_settings import build_problem
from fedbounds.study.problem_constants import ProblemConstants
from fedbounds.study.settings import Settings
from fedbounds.study.smallest_bound import plan, smallest_bounds
from fedbounds.theory.reading import READINGS

GIVEN = ProblemConstants(L=1.0, mu=0.1, N=10, rounds=100, Delta_0=1.0, zeta_star=0.3)
FLAGS = ["--L", "1", "--mu", "0.1", "--clients", "10", "--zeta-star", "0.3", "--delta0", "1"]


def named(given, key, **more):
    return next(bound for bound in smallest_bounds(given, **more) if bound.claim == key)


@pytest.mark.parametrize("mu", [0.5, 1.0])
def test_without_heterogeneity_it_is_the_contraction_at_its_best_step(mu):
    result = smallest_bounds(replace(GIVEN, mu=mu, zeta_star=0.0, rounds=3, tau=2, measure="distance"))[0]
    rate = max(abs(1 - result.step * mu), abs(1 - result.step)) ** 12
    assert result.bound == pytest.approx(rate, rel=1e-12, abs=1e-30)
    assert result.bound == pytest.approx(((1 - mu) / (1 + mu)) ** 12, rel=1e-3, abs=1e-30)
    assert result.step == pytest.approx(2 / (1 + mu), rel=1e-5)


@pytest.mark.parametrize("key", ["fedavg-rounds", "fedavg-contraction"])
def test_a_search_of_everything_finds_no_less(key):
    rounds = 3
    given = replace(GIVEN, rounds=rounds, sigma_sq=0.2 if key == "fedavg-rounds" else 0.0)
    result = named(given, key)
    rhs = claim_named(key).sides(READINGS["literal"]).rhs
    with np.errstate(all="ignore"):
        taus, steps = np.arange(1.0, 51)[:, None], np.geomspace(1e-4, 2 / 1.1 * (1 - 1e-9), 20000)[None, :]
        all_of_them = 0.5 * evaluate(rhs, {**given.values(), "tau": taus, "T": rounds * taus, "eta_0": steps})
    assert result.bound <= all_of_them.min() * (1 + 1e-4)
    assert result.bound >= all_of_them.min() * (1 - 1e-3)
    assert result.bound == pytest.approx(
        0.5
        * float(evaluate(rhs, {**given.values(), "tau": result.tau, "T": rounds * result.tau, "eta_0": result.step}))
    )


def test_a_claim_with_steps_of_its_own_is_what_its_formula_gives():
    given = replace(GIVEN, G_sq=4.0, tau=3, sigma_sq=0.5)
    result, claim = named(given, "star-corollary"), claim_named("star-corollary")
    known = {**given.values(), "tau": 3.0, "T": 300.0}
    assert (result.support, result.step, result.reading) == ("proved", None, "repaired")
    assert result.bound == pytest.approx(float(evaluate(claim.sides(READINGS["repaired"]).rhs, known)))
    assert named(replace(given, measure="distance"), "star-corollary").bound == pytest.approx(20 * result.bound)


def test_why_a_claim_gives_none():
    own = ModuleType("own")
    own.CLAIMS = (replace(claim_named("fedavg-rounds"), key="own", roles=()),)
    given = replace(GIVEN, sigma_sq=0.5)
    why = {item.claim: item.reason for item in smallest_bounds(given, [own]) if item.bound is None}
    assert why["corollary"] == "needs G_sq" and why["khaled-2020-opt"] == "needs L_sample"
    assert "identical" in why["khaled-2020"] and why["mishchenko-2022"] == "it is about scaffnew"
    assert why["own"] == why["cho-2020"] == "neither proved nor derived in this package"
    assert "allow no step" in why["fedavg-contraction"]
    more = replace(given, L_sample=2.0, assumed=("identical",), zeta_star=0.0)
    assert all(named(more, key).bound for key in ("khaled-2020", "khaled-2020-opt"))
    uneven = replace(more, weights=(0.55, *(0.05,) * 9))
    assert named(uneven, "khaled-2020").bound is None and named(uneven, "fedavg-rounds").bound


def test_a_refuted_claim_is_never_offered():
    """The corollary is false as printed: what is offered is its repaired reading."""
    result = smallest_bounds(replace(GIVEN, G_sq=4.0))
    assert named(replace(GIVEN, G_sq=4.0), "corollary").reading == "repaired"
    assert all(item.support in ("proved", "derived") for item in result if item.bound is not None)


def test_a_plan_needs_all_its_rounds():
    given = replace(GIVEN, sigma_sq=0.5, G_sq=4.0)
    rows = [row for row in plan(given, 0.05) if row.bound is not None]
    assert [row.rounds for row in rows] == sorted(row.rounds for row in rows)
    for row in rows[:2]:
        before = named(replace(given, rounds=row.rounds - 1), row.claim)
        assert row.bound <= 0.05 and (before.bound is None or before.bound > 0.05)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mu": 2.0}, "mu <= L"),
        ({"zeta_star": float("nan")}, "zeta_"),
        ({"N": 0}, "N must be"),
        ({"tau": 0}, "tau must be"),
        ({"weights": (0.5, 0.6)}, "weights"),
    ],
)
def test_constants_no_problem_has_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        replace(GIVEN, **change)
    with pytest.raises(InputError, match="target"):
        plan(GIVEN, 0.0)


def test_data_fill_in_the_constants():
    line = ["plan", "--data", "diabetes", "--clients", "3", "--target", "0.5"]
    result = CliRunner().invoke(main, [*line, "--format", "json"])
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout[result.stdout.index("{") :])
    problem = build_problem(Settings(data="diabetes", clients=3))
    assert value["given"]["L"] == problem.L and value["given"]["N"] == 3
    assert value["given"]["Delta_0"] == pytest.approx((problem.w_star**2).sum())
    more = CliRunner().invoke(main, [*line, "--L", "50", "--format", "json"])
    assert json.loads(more.stdout[more.stdout.index("{") :])["given"]["L"] == 50


def test_the_page_shows_what_is_printed():
    text = (Path(__file__).resolve().parents[2] / "docs/howto/bound.md").read_text()
    for words in (["bounds", "--best", "--rounds", "100", "--sigma-sq", "0.5"], ["plan", "--target", "0.01"]):
        result = CliRunner().invoke(main, [*words, *FLAGS])
        assert result.exit_code == 0 and result.stdout.splitlines()[0] in text
        assert f"fedbounds {' '.join(words)} {' '.join(FLAGS[:4])}" in text
    value = json.loads(CliRunner().invoke(main, ["bounds", "--best", *FLAGS, "--format", "json"]).stdout)
    assert value["bounds"][0]["claim"] in value["answer"] and value["given"]["N"] == 10


@pytest.mark.parametrize(
    "change, true",
    [
        # Two clients F_i = (mu/2) w^2 +- 1e6 w from w_0 = 1 end no nearer than this: the formula was cancelled away.
        ({"mu": 1e-4, "N": 2, "zeta_star": 1e6, "rounds": 40_000, "tau": 2, "measure": "distance"}, 0.99999962),
        # 1 - eta mu is 1 in floats, and then there is no noise.
        ({"mu": 1e-9, "N": 1, "zeta_star": 0.0, "sigma_sq": 1e14, "rounds": 1000, "tau": 50}, 0.557),
    ],
)
def test_no_bound_is_cancelled_away(change, true):
    result = smallest_bounds(replace(GIVEN, **change))
    assert all(item.bound is None or item.bound >= true for item in result)
    assert named(replace(GIVEN, **change), "fedavg-rounds").bound < 1.001 * max(true, 0.5571)


def test_bounds_are_rounded_up_and_never_to_nothing():
    q, T = sp.symbols("q T")
    assert float(upper(q**T, {"q": 0.5, "T": 1e9})) == sys.float_info.min
    third = float(upper(q / 3, {"q": 1.0}))
    assert Fraction(third) > Fraction(1, 3) > Fraction(math.nextafter(third, 0))
    assert np.array_equal(upper(1 - (1 - q) ** T, {"q": np.array([[0.0], [1e-300]]), "T": 1.0}), [[0.0], [1e-300]])
    assert named(replace(GIVEN, L=1e300, mu=1e-300), "fedavg-rounds").bound < math.inf
