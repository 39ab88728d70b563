"""The search: it finds what is false, never what is true, continues where it stopped, and says what it spent."""

import contextlib
import json
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import fedbounds
from fedbounds.cli.adapter import click_command
from fedbounds.cli.commands.referee import instance_text, summary
from fedbounds.cli.commands.referee import refute as command
from fedbounds.evidence.ball_arithmetic import Undecided, midpoint
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.counterexamples import Counterexample
from fedbounds.evidence.exact.instance_json import from_json, text
from fedbounds.evidence.exact.run import run
from fedbounds.plugins import claim_named, claims
from fedbounds.referee.search import refute as module
from fedbounds.referee.search.candidates import Arm, arms
from fedbounds.referee.search.family import Population, Shape, decode, dimension, families, quadratics
from fedbounds.referee.search.outcome import Outcome, _approach
from fedbounds.referee.search.populations import BUDGETS, OUTSIDE, objectives, simulate
from fedbounds.referee.search.refute import refute
from fedbounds.referee.search.shrink import AS_THEY_ARE, judge, rationalise, round_to
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.assumptions import (
    full_gradients,
    full_participation,
    homogeneous,
    one_client,
    one_local_step,
    smooth,
    strongly_convex,
    unbiased,
)
from fedbounds.theory.claim import Claim
from fedbounds.theory.quantity import measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta_0, Delta_T, Gamma, L, N, T, drift, eta, eta_0, gap, gap_t, mu, sigma_sq
from fedbounds.theory.verdict import Status

SMALL = replace(BUDGETS["small"], shrink=10_000)
# Enough to find the plainest violations and to leave true claims alone, in a fraction of a second a family.
TINY = replace(SMALL, name="tiny", generations=8, population=4, polish=20, shrink=10_000)
# Populations round every operation a few times more than the exact run does not at all.
ROUNDING = 1e-9
FAMILIES = families()
DIAGONAL = {"diagonal": FAMILIES["diagonal"]}
WITHOUT_CHANCE = {"diagonal": replace(DIAGONAL["diagonal"], noises=("",), absent=False)}


def diagonal(*numbers, **more):
    return Shape("diagonal", *numbers, **more)


def members(shape, cube, claim):
    return decode(shape, FAMILIES[shape.family], cube, claim)


def found(key, reading, budget=SMALL):
    return refute(claim_named(key), READINGS[reading], budget, by_family=DIAGONAL)


def test_finds_lemma_2s_counterexample_and_shrinks_it():
    verdict = found("lemma-2", "literal")
    assert verdict.status is Status.REFUTED
    instance = from_json(verdict.data["instance"])
    assert (instance.N, instance.d, instance.tau, instance.total) == (2, 1, 2, 2)
    assert F(verdict.data["lhs"]) > F(verdict.data["rhs"])
    assert instance.eta[0] > 4 * instance.eta[1]
    assert examine(instance, claim_named("lemma-2"), READINGS["literal"]).data["lhs"] == verdict.data["lhs"]
    assert verdict.data["evaluations"] > 0 and verdict.data["budget"] == "small"


@pytest.mark.parametrize("key, reading", [("error-by-pi", "literal"), ("speed-floor", "literal")])
def test_finds_what_is_false(key, reading):
    verdict = found(key, reading)
    assert verdict.status is Status.REFUTED
    assert F(verdict.data["lhs"]) != F(verdict.data["rhs"])


def forgetful(*left_out, **terms):
    """The one-step inequality for FedAvg with other terms, without some of its assumptions."""
    claim = claim_named("fedavg-step")
    kept = tuple(a for a in claim.assumptions if a.key not in left_out)
    return replace(claim, key="forgetful", terms={**claim.terms, **terms}, assumptions=kept)


@pytest.mark.parametrize(
    ("claim", "forgets"),
    [
        (forgetful(variance=sp.Integer(0)), lambda i: i.stochastic),
        (forgetful(variance=eta**2 * sigma_sq / N), lambda i: i.stochastic and len(set(i.p)) > 1),
        (forgetful("full-participation"), lambda i: i.present < i.N),
    ],
    ids=["the variance", "unequal p", "partial participation"],
)
def test_what_a_claim_forgets_of_chance_is_found_in_fractions(claim, forgets):
    verdict = refute(claim, READINGS["repaired"], TINY, by_family=DIAGONAL)
    assert verdict.status is Status.REFUTED and forgets(from_json(verdict.data["instance"]))
    assert F(verdict.data["lhs"]) > F(verdict.data["rhs"]) == sum(map(F, verdict.data["terms"].values()))
    shown = instance_text(verdict)
    assert all(name in shown for name in ("eta", "Delta", "contraction ="))
    assert not any(name in shown for name in ("G_sq", "rho_bar", "Gamma"))


def test_a_true_claim_survives_chance_and_the_search_says_what_it_tried_and_how_close_it_came():
    few = replace(TINY, generations=2, rungs=1, seconds=1.0)
    verdict = refute(claim_named("fedavg-step"), READINGS["repaired"], few, by_family=DIAGONAL)
    assert verdict.status is Status.UNDECIDED
    assert 0 < verdict.data["closest"] <= 1 + ROUNDING and verdict.data["evaluations"] > 100
    assert "not refuted among" in verdict.detail and verdict.detail.endswith("this proves nothing")
    assert "additive noise T <= 10" in verdict.detail and "(N = 2, d <= 1, T <= " in summary(verdict)[2]
    assert "absent" not in verdict.detail, "the claim assumes that everyone takes part"
    assert verdict.coverage.axes["gradients"] == {"full"} and verdict.coverage.axes["participation"] == {1}


def test_a_bound_with_a_negative_error_is_refuted_at_a_long_horizon():
    """The corollary capped at B <= gamma only: it needs L/mu near 100 and about 2 gamma steps."""
    half = Counterexample("half", {"claim": "corollary", "substitution": "rho_bar"}).claim()
    batch = long_run()
    assert objectives(half, READINGS["literal"], batch).values[0] < 0
    instance = rationalise(batch, half, judge(half, READINGS["literal"]))
    assert instance is not None and instance.total == 800


def long_run():
    """The family of corollary-D: two clients at distance 1, all weight on one of hardly any p near their mean."""
    step = 1 / (np.arange(800) + 4 * 150.0)
    curvatures = np.array([[[1.0, 1.0, 150.0]] * 3])
    minima = np.array([[[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [-0.1, 0.0, 0.0]]])
    weights, p = np.array([[[0.0, 0.0, 1.0]]]), np.array([[0.4995, 0.4995, 0.001]])
    losses = quadratics(curvatures, minima, p)
    shape = diagonal(3, 3, 1, 800, "fixed", "paper")
    return Population(shape, losses, np.array([[1.0, 0.0, 0.0]]), step[None], weights)


# Enough to go through every line of a search, not to find anything.
TINIEST = replace(TINY, name="tiniest", generations=1, population=1, polish=1, shrink=0, rungs=1, seconds=0.3)
OWN = [
    Claim("gap-step", "", "", "step", gap_t, {"start": Delta_0}, readings=("literal",)),
    Claim("constant-steps", "", "", "horizon", gap, {"start": L * Delta_0}, eta=1 / (4 * L), readings=("literal",)),
    Claim("nothing", "", "", "step", drift, {"none": sp.Integer(0)}, eta=eta_0, readings=("literal",)),
]


@pytest.mark.parametrize("claim", [*list(claims().values())[::15], *OWN], ids=lambda claim: claim.key)
def test_no_claim_is_too_odd_to_search(claim):
    for reading in claim.readings:
        verdict = refute(claim, READINGS[reading], TINIEST, by_family=WITHOUT_CHANCE)
        said = summary(verdict)[2] + instance_text(verdict)
        assert verdict.status in ("REFUTED", "UNDECIDED") and "inf" not in said and "nan" not in said


def test_theorem_1_is_refuted_on_the_papers_own_steps_only_without_the_repair():
    stated = {"diagonal": replace(DIAGONAL["diagonal"], schedules=("paper",))}
    verdict = refute(claim_named("theorem-1"), READINGS["sync"], TINY, by_family=stated)
    instance = from_json(verdict.data["instance"])
    L, mu = instance.L, instance.mu
    assert instance.eta == tuple(1 / (mu * (t + 4 * L / mu)) for t in range(instance.total))
    assert min(instance.p) < F(1, 100)


def never(_, values):
    return False, "it never holds"


@pytest.mark.parametrize(
    "claim",
    [
        Claim(
            "never",
            "",
            "",
            "step",
            Delta_0,
            {"none": 0 * L},
            eta=1 / sp.sqrt(L * mu),
            assumptions=(Assumption("n", "", exactly=never),),
        ),
        Claim("undefined", "", "", "step", Delta_0 / Gamma, {"none": 0 * L}, assumptions=(homogeneous,)),
    ],
    ids=["no instance meets it, with irrational steps", "a side is undefined wherever it applies"],
)
def test_what_no_instance_met_was_not_tested(claim):
    verdict = refute(claim, READINGS["plain"], TINIEST, by_family=WITHOUT_CHANCE)
    assert verdict.margin is None and "no instance met its assumptions" in verdict.detail
    assert verdict.data["closest"] is None and verdict.coverage is None
    assert verdict.detail.startswith("nothing was compared: ") and "kappa" not in verdict.detail


def test_bounds_that_are_infinite_at_the_start_are_searched():
    """No term of size infinity at T = 0 makes every other place negligible."""
    alone = (full_participation, unbiased, one_client, one_local_step, full_gradients)
    terms = {"bound": Delta_0 / (6 * eta_0 * T)}  # 4 in place of 6 is true
    claim = Claim("rate", "", "", "horizon", gap, terms, assumptions=(smooth, strongly_convex, *alone), eta=1 / L)
    verdict = refute(claim, READINGS["plain"], TINY, by_family={"two-slope": FAMILIES["two-slope"]})
    assert verdict.status is Status.REFUTED


def test_a_claim_with_an_unknown_assumption_is_not_searched():
    lemma = claim_named("lemma-2")
    odd = replace(lemma, assumptions=(Assumption("odd", "odd", on_run=lambda run: (True, "")),))
    verdict = refute(odd, READINGS["literal"], TINY, by_family=DIAGONAL)
    assert verdict.status is Status.UNDECIDED and "odd" in verdict.detail


def exactly(batch, k):
    """Member k of a population with its doubles taken as exact fractions, weights renormalised."""
    return round_to(batch.member(k), claim_named("theorem-1"), AS_THEY_ARE)


def cube_of(shape, seed, count):
    size = dimension(shape, FAMILIES[shape.family])
    return np.random.default_rng(seed).uniform(0.2, 0.8, (count, size))


def agree(shape, seed):
    """Members of a shape, in floats and in fractions."""
    count = 3 if shape.N < 3 else 1
    batch = members(shape, cube_of(shape, seed, count), claim_named("theorem-1"))
    measured = simulate(batch)
    for k in range(count):
        exact = run(exactly(batch, k))
        for virtual, fields in exact.paths.items():
            for field, row in fields.items():
                values, seen = np.array([*map(midpoint, row)]), measured.paths[virtual][field][k]
                assert np.allclose(seen, values, rtol=1e-8, atol=ROUNDING * max(1, abs(values).max())), field
        for name in exact.values.keys() - (set() if shape.losses == "any" else {"rho_tilde", "Gamma"}):
            with contextlib.suppress(Undecided):  # of two equal balls none is known to be the larger
                value = midpoint(exact.values[name])
                assert measured.constants[name][k] == pytest.approx(value, rel=1e-7, abs=ROUNDING), name
        assert measured.rho_sync[k] == pytest.approx(midpoint(exact.rho_sync), rel=1e-7)
        assert measured.rho_all[k] == pytest.approx(midpoint(exact.rho_all), rel=1e-7)


@pytest.mark.parametrize("key", sorted(FAMILIES))
def test_every_family_runs_in_floats_as_in_fractions(key):
    family = FAMILIES[key]
    N, d = next(iter(family.allowed((1,), (2,))))
    for losses in {family.losses[0], family.losses[-1]}:
        for noise in {"", family.noises[-1]}:
            few = 2 if family.linear else 1  # many noisy clients with bent losses have one round of few paths
            tau, rounds = (1, 3) if N < 5 or not noise else (3 - few, few)
            weighting = "fixed" if N > 1 and not noise else "fedavg"
            shape = Shape(key, N, d + (losses == "one loss" and key == "diagonal"), tau, rounds, weighting, "free",
                          losses=losses, noise=noise, equal=N > 5, linear=family.linear)  # fmt: skip
            agree(shape, 1)


def test_a_violated_assumption_is_outside():
    shape, lemma = diagonal(2, 1, 2, 1, "fedmax", "free"), claim_named("lemma-2")
    batch = members(shape, np.full((1, dimension(shape, FAMILIES["diagonal"])), 0.6), lemma)
    jump = replace(batch, eta=np.array([[1.0, 0.001]]) / batch.losses.L[:, None])
    assert objectives(lemma, READINGS["repaired"], jump).values[0] >= OUTSIDE
    assert objectives(lemma, READINGS["literal"], jump).values[0] < 0


def test_a_search_over_claims_keeps_what_it_found_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setitem(BUDGETS, "small", TINIEST)
    out = tmp_path / "found.json"
    claim = Claim("mine", "", "", "step", L * Delta_0, {"x": L * Delta_0 / 2})
    (verdict,) = fedbounds.refute(claim, out=out)
    assert verdict.status is Status.REFUTED
    assert json.loads(out.read_text())["verdicts"] == {"mine/plain": verdict.to_json()}


def test_a_counterexample_can_be_checked_by_hand():
    verdict = found("theorem-1", "sync", TINY)
    data, shown = verdict.data, instance_text(verdict)
    assert sum(F(value) for value in data["terms"].values()) == F(data["rhs"])
    assert {"G_sq", "sigma_sq", "rho_bar", "rho_tilde", "Gamma"} <= set(data["constants"])
    assert {"Delta", "eta"} <= set(data["varying"]) and data["varying"]["Delta_next"] == data["lhs"]
    assert all(sum(F(a) for a in row) == 1 for row in data["alpha"])
    assert all(value in shown for value in (*data["terms"].values(), data["constants"]["G_sq"], data["lhs"]))


@pytest.mark.parametrize("margin, ratio", [(-2.92e-32, np.inf), (-2.92e-32, 1.0), (-0.1, 2.0), (0.1, np.inf)])
def test_what_is_not_refuted_never_reads_like_a_refutation(margin, ratio):
    outcome = Outcome(Arm(diagonal(2, 1, 1, 1, "fedavg", "free")), 0, 1, margin, ())
    said = _approach(outcome, ratio, margin == -0.1)
    assert "inf" not in said and "margin -" not in said
    assert ("no instance in fractions confirmed" in said) == (margin == -0.1)


def test_command_verifies_the_shipped_files():
    result = CliRunner().invoke(click_command(command), ["--verify"])
    assert result.exit_code == 0, result.output
    assert "corollary-D" in result.output and "1/16" in result.output


def test_square_roots_are_decided_by_enclosures():
    """||w_T - w*|| <= ||w_0 - w*||/3 fails and sqrt(2) ||w_0 - w*|| bounds it, although no side is a fraction."""
    instance = from_json({"curvatures": [1, 2], "minima": [0, 1], "p": ["1/3", "2/3"], "w0": ["2"], "eta": ["1/8"]})
    for factor, status in ((sp.Rational(1, 3), Status.REFUTED), (sp.sqrt(2), Status.HOLDS)):
        claim = Claim("root", "", "", "horizon", sp.sqrt(Delta_T), {"start": factor * sp.sqrt(Delta_0)})
        verdict = examine(instance, claim, READINGS["plain"])
        assert verdict.status is status and verdict.data["lhs"] != verdict.data["rhs"]
        again = examine(from_json(verdict.data["instance"]), claim, READINGS["plain"])
        assert again.data == verdict.data
    assert refute(claim, READINGS["plain"], TINIEST, by_family=DIAGONAL).status is Status.REFUTED, (
        "noise moves w_0 = w*"
    )


def test_functions_of_an_author_may_take_roots():
    """E sqrt(||w_T - w*||^2 + 1) in two coordinates: what is true is not refuted, and half of it is."""

    def length(path):
        return np.sqrt(np.exp(np.log(((path.w - path.losses.w_star) ** 2).sum(-1) + 1)))

    distance = measured("distance", length, units=(1, 0))
    alone = (smooth, strongly_convex, full_gradients, full_participation, unbiased, one_client, one_local_step)
    for factor, status in ((1, Status.UNDECIDED), (sp.Rational(1, 2), Status.REFUTED)):
        bound = {"bound": factor * sp.sqrt(Delta_0 + 1)}
        claim = Claim("root", "", "", "horizon", distance, bound, assumptions=alone, eta=1 / L)
        verdict = refute(claim, READINGS["plain"], TINY, by_family={"single-client": FAMILIES["single-client"]})
        assert verdict.status is status and verdict.margin is not None


def test_numbers_of_many_digits_are_written():
    long = from_json({"curvatures": [1], "minima": [0], "p": [1], "w0": [1], "eta": ["1/2"]})
    long = long.with_(eta=(F(1, 10**1200 + 1),) * 2)
    claim = Claim("long", "", "", "horizon", Delta_T, {"none": sp.Integer(0)})
    assert examine(long, claim, READINGS["plain"]).status is Status.REFUTED
    assert len(text(run(long).paths["alpha"]["distance_sq"][2])) > 4300


def test_a_violation_that_takes_hundreds_of_steps_is_confirmed_in_balls_and_a_true_bound_is_not():
    """Delta_T <= c Delta_0/(T + 1) fails at large T where mu is small, and at no T <= 800 for c = 1000.

    With a step size of many digits, the numbers of hundreds of steps are too long for fractions.
    """
    steps = sp.Rational(10**8 + 7, 10**10 + 19) / L
    plain = {"diagonal": replace(WITHOUT_CHANCE["diagonal"], lengths={"horizon": ((1, 400),)})}
    for c, status in ((300, Status.REFUTED), (1000, Status.UNDECIDED)):
        given_ = (smooth, strongly_convex, full_participation, unbiased)
        claim = Claim("slow", "", "", "horizon", Delta_T, {"b": c * Delta_0 / (T + 1)}, assumptions=given_, eta=steps)
        verdict = refute(claim, READINGS["plain"], replace(TINIEST, shrink=2000), by_family=plain)
        assert verdict.status is status
        if status is Status.REFUTED:
            instance = from_json(verdict.data["instance"])
            assert instance.total >= 300 and f"in ball arithmetic at {verdict.data['bits']} bits" in verdict.detail
            assert examine(instance, claim, READINGS["plain"]).data["lhs"] == verdict.data["lhs"]
            assert verdict.detail in summary(verdict)[2] and "left       >= " in instance_text(verdict)


def test_a_search_that_is_cut_before_it_confirms_a_violation_still_tells_rounding_from_it(monkeypatch):
    claim = claim_named("stich-2019-step")
    chosen = arms(claim, READINGS["plain"], TINIEST, WITHOUT_CHANCE)
    arm, size = chosen[0], dimension(chosen[0].shape, DIAGONAL["diagonal"])
    seeming = Outcome(arm, 0, 1, -1.0, (0.5,) * size)
    monkeypatch.setattr(module, "_outcomes", lambda *_: iter([seeming]))
    cut = []
    found = {"by_family": WITHOUT_CHANCE, "so_far": lambda verdict: cut.append(verdict())}
    refute(claim, READINGS["plain"], TINIEST, **found)
    assert len(cut) == 2 and not any("unconfirmed" in verdict.data for verdict in cut)
