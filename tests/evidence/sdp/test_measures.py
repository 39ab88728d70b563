"""Worst cases of R rounds at steps that differ, of F at the last iterate and at the mean of all, and with noise."""

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
from fedbounds.evidence.sdp import noisy as noise
from fedbounds.evidence.sdp.attained import alike, attained, experiment, surely, with_noise
from fedbounds.evidence.sdp.horizon import Run, verify
from fedbounds.evidence.sdp.noisy import noisy
from fedbounds.evidence.sdp.path import worst
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.study.worst import bounds, curve, sandwich, scheduled
from validate.horizon import of_measure

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)
HALVES = (Q(1, 2), Q(1, 2))
F_MEASURES = ("gap", "average")


def of_corollary(rounds, tau, **more):
    return scheduled(Run(rounds, tau, MU, L, ETA, **more), claim_named("corollary"))


class Whole(Run):
    """A run with every interpolation inequality."""

    @property
    def pairs(self):
        points = range(self.star + 1)
        return list(dict.fromkeys([*super().pairs, *((a, b) for a in points for b in points if a != b)]))


@pytest.mark.parametrize("measure", ["distance", *F_MEASURES])
@pytest.mark.parametrize("p", [HALVES, (Q(2, 5), Q(2, 5), Q(1, 5))])
@pytest.mark.parametrize("eta", [Q(1, 2), (Q(1), Q(1, 4), Q(1, 3)), (Q(7, 4), Q(1, 10), Q(1))])
def test_it_is_the_worst_case_of_the_programme_with_every_client(measure, p, eta):
    """Two blocks lose nothing at any steps, measure and weights of at most 1/2; fewer inequalities lose little."""
    run = Whole(1, 3, MU, L, eta, p, p, measure=measure)
    found, clients = worst(run), by_clients(run)
    assert found.certified and clients * (1 - 1e-6) < found.value < clients * (1 + 1e-5)
    few = worst(Run(1, 3, MU, L, eta, p, p, measure=measure))
    assert few.certified and found.value <= few.value * (1 + 1e-6) < 1.04 * found.value


@pytest.mark.parametrize(("measure", "loss"), [("gap", 0.013), ("average", 0.012)])
def test_the_inequalities_left_out_cost_little(measure, loss):
    """docs/worst.md: at R = 5, tau = 2."""
    few, whole = (worst(kind(5, 2, MU, L, ETA, measure=measure)) for kind in (Run, Whole))
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
        if (measure, key, rounds) == ("gap", "corollary", 10):
            papers, ours = one["stated"]["corollary"], one["stated"]["tight-corollary"]
            assert f"by {papers:.4g}, which is {papers / one['worst']:.3g} times" in page
            assert f"`tight-corollary` is at {ours / one['worst']:.3g} times" in page


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
    assert verify(run, found.a, found.b, list(found.multipliers)) and Q(found.value) >= found.a


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
    run = of_corollary(2, 2, measure=measure)
    found = worst(run)
    multipliers = list(found.multipliers)
    assert verify(run, found.a, found.b, multipliers)
    assert not verify(run, found.a * Q(999, 1000), found.b, multipliers)
    assert not verify(run, found.a, found.b * Q(99, 100), multipliers)
    assert not verify(dataclasses.replace(run, measure="distance"), found.a, found.b, multipliers[: 4 * run.T - 2])
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
        assert key in found.stated and found.own["G_sq"] > 0.1 and not found.refuted and found.certified
        assert found.lower <= found.worst <= found.bound == min(found.stated.values())
        assert not bounds(of_corollary(2, 2, measure=measure), Q(1), Q(1))
    for measure, key in (("gap", "li-2020"), ("average", "averaged-corollary")):
        away = Run(2, 2, MU, L, ETA, measure=measure)
        assert key not in bounds(away, Q(1), Q(1), own={"G_sq": 9.0, "Gamma": 1.0})


def test_constants_of_the_instance_are_those_of_its_run():
    """The gradient bound of the function on a line is that at its start, and its clients are equal."""
    found = next(curve(Run(2, 2, MU, L, ETA, measure="gap"), None, steps=claim_named("li-2020"), zeta_sq=Q(0)))
    assert found.own["Gamma"] == 0 and 0.01 < found.own["G_sq"] < 1 and found.stated
    assert found.worst == pytest.approx(found.lower, rel=1e-5)


# Noise.


def by_steps(run, proof, sigma_sq, share):
    """The bound added up once more, without the library's sums."""
    paid = zip(run.sizes, proof.potentials[1:], strict=True)
    added = sum(size**2 * sigma_sq * (share * A + (1 - share) * B) for size, (A, B, _, _) in paid)
    return proof.potentials[0][0] + proof.potentials[0][3] + added


@pytest.mark.parametrize("eta", [Q(1, 4), Q(1, 2), Q(1), Q(9, 5)])
@pytest.mark.parametrize(("rounds", "tau"), [(1, 3), (3, 2), (8, 1)])
def test_noise_is_bounded_between_a_run_and_the_theorem(rounds, tau, eta):
    run = Run(rounds, tau, MU, L, eta)
    found = noisy(run, Q(1), Q(1), Q(1))
    assert found.certified and Q(found.value) >= by_steps(run, found, 1, Q(1, 2))
    lower = max(float(alike(run, Q(1), Q(1, 2))), with_noise(run, attained(run), 1.0))
    assert 0.2 * found.value < lower <= found.value * (1 + 1e-12)
    least = min(bounds(run, Q(1), Q(1), sigma_sq=Q(1)).values())
    assert found.value <= least * (1 + 1e-6)
    silent = noisy(run, Q(1), Q(1), Q(0))
    assert worst(run).value * (1 - 1e-5) <= silent.value < found.value


def test_noise_is_exact_for_one_local_step():
    """tau = 1 and steps of at most 2/(L + mu): q^2T and the noise of the mean, which one quadratic attains."""
    for run in (Run(6, 1, MU, L, ETA), of_corollary(6, 1)):
        found = noisy(run, Q(2), Q(1), Q(3))
        assert found.value == pytest.approx(float(alike(run, Q(2), Q(3, 2))), rel=1e-5) and found.certified


def test_without_noise_little_is_lost():
    """docs/worst.md: one point at a time, against both blocks with points joined."""
    for rounds, tau, loss in ((5, 2, 1.00001), (5, 4, 1.0076)):
        run = Run(rounds, tau, MU, L, ETA)
        assert 1 - 1e-5 < noisy(run, Q(1), Q(1), Q(0)).value / worst(run).value < loss


def test_the_weights_noise_is_theirs():
    p = (Q(1, 2), Q(3, 10), Q(1, 5))
    run = Run(2, 3, MU, L, ETA, p, p)
    found = noisy(run, Q(1), Q(1), Q(1))
    assert Q(found.value) >= by_steps(run, found, 1, Q(38, 100)) and noise.shares(run) == (Q(38, 100),) * 2
    assert found.value < noisy(Run(2, 3, MU, L, ETA), Q(1), Q(1), Q(1)).value


@pytest.mark.parametrize("N", [2, 5])
def test_runs_with_noise_stay_below(N):
    """Noise that depends on the past: along the local model, and 0 where that is near; the mean of 4000 runs."""
    rng = np.random.default_rng(N)
    run, count = Run(3, 3, MU, L, ETA), 4000
    frames = np.linalg.qr(rng.standard_normal((N, 2, 2)))[0]
    H = np.einsum("nij,nj,nkj->nik", frames, np.array([[0.1, 1.0]] * N), frames)
    s = rng.standard_normal((N, 2))
    s -= s.mean(axis=0)
    s /= np.sqrt((s**2).sum(axis=1).mean())
    w = np.tile([1.0, 0.0], (count, 1))
    for _ in range(run.rounds):
        X = np.repeat(w[:, None], N, axis=1)
        for _ in range(run.tau):
            away = np.linalg.norm(X, axis=-1, keepdims=True)
            xi = rng.choice([-1.0, 1.0], (count, N, 1)) * X / away * (away > 0.1)
            X = X - 0.5 * (np.einsum("nij,bnj->bni", H, X) + s + xi)
        w = X.mean(axis=1)
    squares = (w**2).sum(axis=1)
    assert squares.mean() + 6 * squares.std() / count**0.5 < noisy(run, Q(1), Q(1), Q(1)).value


def test_the_noisy_instance_is_what_runs_come_to():
    """The mean over runs of two quadratics, with noise along the directions that the closed form takes."""
    run, rng, count = Run(2, 2, MU, L, ETA), np.random.default_rng(5), 200_000
    found = attained(run)
    problem: QuadraticProblem = found.problem
    H, pull = problem.H, -problem.grads(np.zeros(2))
    added = with_noise(run, found, 1.0) - found.value
    total = 0.0
    keep = [np.eye(2) - 0.5 * h for h in H]
    mean = sum(one @ one for one in keep) / 2
    for r, j in itertools.product(range(2), range(2)):
        for one in keep:
            way = np.linalg.matrix_power(mean, 1 - r) @ np.linalg.matrix_power(one, 1 - j)
            total += 0.25**2 * np.linalg.norm(way, 2) ** 2
    assert added == pytest.approx(total)
    w = np.tile([np.cos(found.shape[4]), np.sin(found.shape[4])], (count, 1))
    for _ in range(2):
        X = np.repeat(w[:, None], 2, axis=1)
        for _ in range(2):
            xi = rng.choice([-1.0, 1.0], (count, 2, 1)) * np.array([1.0, 0.0])
            X = X - 0.5 * (np.einsum("nij,bnj->bni", H, X) - pull + xi)
        w = X.mean(axis=1)
    assert (w**2).sum(axis=1).mean() < found.value + added + 0.01


def test_what_is_no_proof_with_noise_is_refused():
    run = of_corollary(2, 3)
    found = noisy(run, Q(1), Q(1), Q(1))
    each, V = found.multipliers, found.potentials
    assert noise.verify(run, each, V)
    assert not noise.verify(run, each[1:], V) and not noise.verify(run, each, V[1:])
    assert not noise.verify(dataclasses.replace(run, mu=MU * Q(9, 10)), each, V)
    for k, entry in itertools.product(range(7), range(4)):
        set_to_0 = entry in (1, 2) and k % 3 == 0
        other = V[k][entry] + (Q(1, 10**9) if set_to_0 else -Q(1, 10**6))
        changed = (*V[k][:entry], other, *V[k][entry + 1 :])
        assert not noise.verify(run, each, (*V[:k], changed, *V[k + 1 :]))
    assert not noise.verify(run, (-each[0], *each[1:]), V)


def test_bad_input_is_refused():
    for match, made in (
        ("one or 4", lambda: Run(2, 2, MU, L, (ETA,) * 3)),
        ("0 < eta < 2/L", lambda: Run(1, 2, MU, L, (ETA, Q(2)))),
        ("F is bounded where", lambda: Run(1, 2, MU, L, ETA, (Q(1), Q(0)), HALVES, measure="gap")),
        ("needs two steps", lambda: Run(1, 1, MU, L, ETA, measure="average")),
        ("noise needs the measure distance", lambda: noisy(Run(1, 2, MU, L, ETA, measure="gap"), Q(1), Q(1), Q(1))),
        ("sigma\\^2 not negative", lambda: noisy(Run(1, 2, MU, L, ETA), Q(1), Q(1), Q(-1))),
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
    assert row["certified"] and row["theorem"] == "li-2020" and row["own"].keys() == {"G_sq", "Gamma"}
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
