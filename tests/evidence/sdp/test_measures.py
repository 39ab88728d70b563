"""Worst cases of R rounds at steps that differ, of F at the last iterate and at the mean of all."""

import dataclasses
import itertools
import json
import re
from fractions import Fraction as Q
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from run_oracle import by_clients

from fedbounds.cli.app import main
from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round import central_path
from fedbounds.evidence.sdp.multi_round.central_path import worst
from fedbounds.evidence.sdp.multi_round.lower_bound import attained, experiment, surely
from fedbounds.evidence.sdp.multi_round.program import Run, verify
from fedbounds.plugins import claim_named
from fedbounds.study.worst_case import bounds, curve, sandwich, scheduled
from validate.horizon import of_measure

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)
HALVES = (Q(1, 2), Q(1, 2))
F_MEASURES = ("gap", "average")


def of_corollary(rounds, tau, **more):
    return scheduled(Run(rounds, tau, MU, L, ETA, **more), claim_named("corollary"))


@pytest.mark.parametrize("measure", ["distance", *F_MEASURES])
@pytest.mark.parametrize("p", [HALVES, (Q(2, 5), Q(2, 5), Q(1, 5))])
@pytest.mark.parametrize("eta", [Q(1, 2), (Q(1), Q(1, 4), Q(1, 3)), (Q(7, 4), Q(1, 10), Q(1))])
def test_it_is_the_worst_case_of_the_programme_with_every_client(measure, p, eta, monkeypatch):
    """Two blocks lose nothing at any steps, measure and weights of at most 1/2; fewer inequalities lose little."""
    run = Run(1, 3, MU, L, eta, p, p, measure=measure)
    found, clients = worst(run), by_clients(run)
    assert found.certified and clients * (1 - 1e-6) < found.value < clients * (1 + 1e-5)
    monkeypatch.setattr(central_path, "ALL_PAIRS", 0)
    few = worst(run)
    assert few.certified and found.value <= few.value * (1 + 1e-6) < 1.04 * found.value


@pytest.mark.parametrize(("measure", "loss"), [("gap", 0.013), ("average", 0.012)])
def test_the_inequalities_left_out_cost_little(measure, loss, monkeypatch):
    """docs/worst.md: at R = 5, tau = 2."""
    run = Run(5, 2, MU, L, ETA, measure=measure)
    whole = worst(run)
    monkeypatch.setattr(central_path, "ALL_PAIRS", 0)
    few = worst(run)
    assert whole.certified and few.value / whole.value - 1 == pytest.approx(loss, abs=5e-4)


def test_the_table_of_the_page():
    """docs/worst.md against the record of `validate.horizon`, whose short rows are computed again."""
    root = Path(__file__).resolve().parents[3]
    page = (root / "docs" / "worst.md").read_text(encoding="utf-8")
    kept = json.loads((root / "validate" / "results" / "horizon.json").read_text(encoding="utf-8"))["measures"]
    rows = [row.strip("| ").split(" | ") for row in page.splitlines() if re.match(r"\| (gap|average|distance) ", row)]
    for row, (measure, key, sigma_sq, rounds, one) in zip(rows, kept, strict=True):
        assert row[:4] == [measure, "theory" if key else "constant", str(sigma_sq), str(rounds)] and one["certified"]
        told = [one["lower"], one["worst"], *([] if one["bound"] is None else [one["bound"]])]
        assert [float(cell.split(",")[0]) for cell in row[4:7] if cell[0].isdigit()] == [
            float(f"{v:.4g}") for v in told
        ]
        if one["bound"] is not None:
            assert row[6].endswith(f"`{one['theorem']}`")
            assert row[7] == f"{one['bound'] / one['worst']:.3g} to {one['bound'] / one['lower']:.3g}"
        if rounds <= 5:
            again = of_measure(measure, key, sigma_sq, rounds)
            assert again.worst == pytest.approx(one["worst"], rel=1e-5)
            assert again.stated.keys() == one["stated"].keys()
            assert again.lower == pytest.approx(one["lower"], rel=1e-6)


@pytest.mark.parametrize("measure", F_MEASURES)
def test_two_rounds_and_a_weight_above_one_half(measure):
    """There it is a bound, which the programme of these clients does not exceed."""
    for p in (HALVES, (Q(9, 10), Q(1, 10))):
        run = Run(2, 2, MU, L, ETA, p, p, measure=measure)
        clients, found, instance = by_clients(run), worst(run), attained(run)
        assert found.value == worst(Run(2, 2, MU, L, ETA, measure=measure)).value and found.certified
        assert instance.value <= clients * (1 + 1e-6) and clients < found.value * (1 + 1e-6)
        assert sandwich(run).above is (p != HALVES)


@pytest.mark.parametrize("measure", F_MEASURES)
def test_without_heterogeneity_too(measure):
    run = Run(1, 3, MU, L, (Q(1, 2), Q(1), Q(1, 3)), HALVES, HALVES, measure=measure)
    found = worst(run, zeta_sq=Q(0))
    assert found.certified and not found.exact
    assert found.value == pytest.approx(by_clients(run, 0), rel=1e-5)
    assert verify(found.run, found.a, found.b, list(found.multipliers)) and Q(found.value) >= found.a


@pytest.mark.parametrize(
    ("rounds", "tau", "h"),
    [
        *itertools.product((1, 3, 10), (1,), (Q(1, 4), Q(1), Q(3, 2))),
        (1, 4, Q(1, 2)),
        (5, 2, Q(1, 4)),
        (5, 4, Q(1, 2)),
    ],
)
def test_the_gap_of_gradient_descent_is_the_known_one(rounds, tau, h):
    """zeta_* = 0: what is proved of gradient descent; with local steps and longer steps there is more."""
    run, N, kappa = Run(rounds, tau, MU, L, h, measure="gap"), rounds * tau, float(MU)
    known = max(kappa / (kappa - 1 + (1 - kappa * float(h)) ** (-2 * N)), (1 - float(h)) ** (2 * N)) / 2
    found, instance = worst(run, zeta_sq=Q(0)), attained(run, 1.0, 0.0)
    assert instance.value == pytest.approx(known, rel=1e-6) and found.certified
    assert known * (1 - 1e-9) <= found.value < known * (1 + 2e-5)


def test_steps_that_differ_without_heterogeneity():
    """Where one curvature is the worst at every step it is a product; where not, a certificate is asked."""
    known = worst(of_corollary(2, 3), zeta_sq=Q(0))
    product = np.prod([(1 - float(size) / 10) ** 2 for size in of_corollary(2, 3).sizes])
    assert known.exact and known.value == pytest.approx(product, rel=1e-12)
    mixed = Run(1, 2, MU, L, (Q(19, 10), Q(1, 10)), HALVES, HALVES)
    found = worst(mixed, zeta_sq=Q(0))
    assert mixed.contraction is None and found.certified and not found.exact
    assert found.value == pytest.approx(by_clients(mixed, 0), rel=1e-5) and found.value < (0.9 * 0.99) ** 2 + 1e-6


def test_free_weights_at_steps_that_differ():
    one = Run(2, 2, MU, L, (Q(1, 2), Q(1, 3), Q(1, 4), Q(1, 5)), (Q(0), Q(1)), (Q(2, 3), Q(1, 3)), True)
    first, last = (dataclasses.replace(one, rounds=1, eta=one.eta[k : k + 2]) for k in (0, 2))
    assert worst(one).value == worst(last, Q(worst(first).value)).value >= attained(one).value


@pytest.mark.parametrize("measure", F_MEASURES)
def test_what_is_no_proof_is_refused(measure):
    found = worst(of_corollary(2, 2, measure=measure))
    run = found.run
    multipliers = list(found.multipliers)
    assert verify(run, found.a, found.b, multipliers)
    assert not verify(run, found.a * Q(999, 1000), found.b, multipliers)
    assert not verify(run, found.a, found.b * Q(99, 100), multipliers)
    distance = dataclasses.replace(run, measure="distance")
    assert not verify(distance, found.a, found.b, multipliers[: len(distance.pairs)])
    other = dataclasses.replace(run, eta=(run.sizes[0] * Q(9, 10), *run.sizes[1:]))
    assert not verify(other, found.a, found.b, multipliers)
    for j, change in ((0, Q(1, 10**12)), (2 * run.T + 1, Q(1, 10**12)), (3, -multipliers[3] - 1)):
        assert not verify(run, found.a, found.b, [*multipliers[:j], multipliers[j] + change, *multipliers[j + 1 :]])


def test_local_steps_are_worse_than_steps_of_one_function():
    """docs/worst.md: from one minimiser, by clients whose curvatures differ."""
    run, kappa = Run(1, 4, MU, L, Q(1), measure="gap"), 0.1
    known = kappa / (kappa - 1 + (1 - kappa) ** -8) / 2
    assert attained(run, 1.0, 0.0).value / known == pytest.approx(1.12, abs=0.005)


@given(st.integers(0, 2**31), st.sampled_from(["distance", *F_MEASURES]))
@settings(max_examples=9, deadline=None)
def test_no_run_exceeds_it(seed, measure):
    """Random quadratics, three clients, steps drawn anew at every step."""
    rng = np.random.default_rng(seed)
    eta = tuple(Q(int(size), 10) for size in rng.integers(1, 19, 6))
    run, count, p = Run(2, 3, MU, L, eta, measure=measure), 400, np.full(3, 1 / 3)
    frames = np.linalg.qr(rng.standard_normal((count, 3, 3, 3)))[0]
    H = np.einsum("bnij,bnj,bnkj->bnik", frames, rng.choice([0.1, 1.0], (count, 3, 3)), frames)
    s = rng.standard_normal((count, 3, 3))
    s -= s.mean(axis=1, keepdims=True)
    s /= np.sqrt((s**2).sum(axis=(1, 2)) / 3)[:, None, None]
    w = rng.standard_normal((count, 3))
    w /= np.linalg.norm(w, axis=1)[:, None]
    visited = []
    for t, size in enumerate(map(float, eta)):
        X = np.repeat(w[:, None], 3, axis=1) if t % 3 == 0 else X  # noqa: F821 - of the step before
        visited.append(np.einsum("n,bni->bi", p, X))
        X = X - size * (np.einsum("bnij,bnj->bni", H, X) + s)
        w = X.mean(axis=1)
    end = np.mean(visited, axis=0) if measure == "average" else w
    values = (end**2).sum(1) if measure == "distance" else np.einsum("bi,bnij,bj->b", end, H, end) / 6
    assert values.max() <= worst(run).value


@pytest.mark.parametrize("measure", ["distance", *F_MEASURES])
@pytest.mark.parametrize("zeta_sq", [Q(1), Q(0)])
def test_the_instance_is_what_was_run_and_enclosed(measure, zeta_sq):
    run = of_corollary(3, 2, measure=measure)
    found = attained(run, 1.0, float(zeta_sq))
    assert surely(run, found, Q(1), zeta_sq) == pytest.approx(found.value, rel=1e-12)
    if found.problem is not None:
        start = np.array([np.cos(found.shape[4]), np.sin(found.shape[4])])
        w = simulate(experiment(run, found.problem, start), record="iterates").w[0]
        end = w[:-1].mean(axis=0) if measure == "average" else w[-1]
        value = end @ end if measure == "distance" else found.problem.gap(end)
        assert found.value == pytest.approx(float(value), rel=1e-12)
    assert found.value <= worst(run, zeta_sq=zeta_sq).value * (1 + 1e-12)


def test_theorems_stand_beside_it():
    """By L/2 or 2/mu times where they bound the other; with G^2 and Gamma of the instance where none is without."""
    plain = Run(2, 2, MU, L, ETA)
    assert {"fedavg-rounds", "fedavg-contraction"} <= bounds(plain, Q(1), Q(1)).keys()
    gap = bounds(dataclasses.replace(plain, measure="gap"), Q(1), Q(1))["fedavg-rounds"]
    assert gap == pytest.approx(bounds(plain, Q(1), Q(1))["fedavg-rounds"] / 2)
    for measure, key in (("distance", "corollary"), ("gap", "corollary"), ("average", "averaged-corollary")):
        found = next(curve(dataclasses.replace(plain, measure=measure), None, steps=claim_named("corollary")))
        assert (
            key in found.stated and found.instance_constants["G_sq"] > 0.1 and not found.refuted and found.certified
        )
        assert found.lower <= found.worst <= found.bound == min(found.stated.values())
        assert not bounds(of_corollary(2, 2, measure=measure), Q(1), Q(1))
    for measure, key in (("gap", "li-2020"), ("average", "averaged-corollary")):
        away = Run(2, 2, MU, L, ETA, measure=measure)
        assert key not in bounds(away, Q(1), Q(1), own={"G_sq": 9.0, "Gamma": 1.0})


def test_constants_of_the_instance_are_those_of_its_run():
    """The gradient bound of the function on a line is that at its start, and its clients are equal."""
    found = next(curve(Run(2, 2, MU, L, ETA, measure="gap"), None, steps=claim_named("li-2020"), zeta_sq=Q(0)))
    assert found.instance_constants["Gamma"] == 0 and 0.01 < found.instance_constants["G_sq"] < 1 and found.stated
    assert found.worst == pytest.approx(found.lower, rel=1e-5)


def test_bad_input_is_refused():
    for match, made in (
        ("one or 4", lambda: Run(2, 2, MU, L, (ETA,) * 3)),
        ("0 < eta < 2/L", lambda: Run(1, 2, MU, L, (ETA, Q(2)))),
        ("F is bounded where", lambda: Run(1, 2, MU, L, ETA, (Q(1), Q(0)), HALVES, measure="gap")),
        ("needs two steps", lambda: Run(1, 1, MU, L, ETA, measure="average")),
        ("must be one in L, mu, tau and t", lambda: scheduled(Run(1, 2, MU, L, ETA), claim_named("fedavg-rounds"))),
    ):
        with pytest.raises(InputError, match=match):
            made()


def test_the_command():
    def told(*words):
        return CliRunner().invoke(main, ["worst", "--rounds", "2", "--tau", "2", *words])

    shown = told("--step", "theory", "--measure", "average")
    assert shown.exit_code == 0 and "steps theory" in shown.stdout and "averaged-corollary" in shown.stdout
    assert "F - F* at the mean" in shown.stdout and "the instance's own" in shown.stderr
    (row,) = json.loads(told("--step", "li-2020", "--measure", "gap", "--format", "json").stdout)
    assert row["certified"] and row["theorem"] == "li-2020" and row["instance_constants"].keys() == {"G_sq", "Gamma"}
    noisily = told("--sigma", "1/2", "--over", "rounds", "--values", "1,3")
    assert noisily.exit_code == 0 and "E||w_R" in noisily.stdout and "need not be attained" in noisily.stderr
    assert noisily.stdout.count("certified") == 2
    for wrong in (
        ["--step", "theory", "--over", "step"],
        ["--step", "nonsense"],
        ["--step", "fedavg-rounds"],
        ["--measure", "gap", "--weights", "1,0", "--p", "1/2,1/2"],
        ["--sigma", "1", "--measure", "gap"],
        ["--sigma", "1", "--weights", "any", "--p", "1/2,1/2"],
    ):
        found = told(*wrong)
        assert found.exit_code == 2 and found.stderr.count("\n") == 1
