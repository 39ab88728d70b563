"""K of N clients a round: exact moments against every draw, and certified bounds above runs."""

import itertools
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

from fedbounds.cli.app import main
from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round import bound, participation_lower_bound
from fedbounds.evidence.sdp.multi_round.participation_lower_bound import _from_wedge, second_moments, with_sets
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.plugins import claim_named
from fedbounds.study.worst_case import worst
from fedbounds.theory import symbols as sy

DOCS = Path(__file__).parents[3] / "docs"


def run_of(rounds, tau, present, eta="1/2"):
    return Run(rounds, tau, Q(1, 10), Q(1), Q(eta), present=present)


def simplex(N):
    """Unit corners u_i (N, N), and w_0 as one more coordinate before them."""
    corners = np.eye(N) - 1 / N
    return np.pad(corners / np.linalg.norm(corners[0]), ((0, 0), (1, 0)))


def hessians(shape, N):
    """Those of the quadratics about a simplex."""
    u, first, H = simplex(N), np.eye(N + 1)[0], []
    for i in range(N):
        c, s = np.cos(shape[0]), np.sin(shape[0])
        low, high = c * first + s * u[i], c * u[i] - s * first
        plane = np.outer(first, first) + np.outer(u[i], u[i])
        H.append(shape[1] * np.outer(low, low) + shape[2] * np.outer(high, high) + shape[3] * (np.eye(N + 1) - plane))
    return H


def ran(rounds, tau, N, gradient):
    """w after rounds of those who take part in each, from a unit vector, with steps of 1/2."""
    w = np.eye(N + 1)[0]
    for those in rounds:
        ends = []
        for i in those:
            x = w
            for _ in range(tau):
                x = x - 0.5 * gradient(i, x)
            ends.append(x)
        w = np.mean(ends, axis=0)
    return w


@pytest.mark.parametrize(
    ("rounds", "tau", "present", "sigma"),
    [(2, 2, (2, 4), 0), (2, 1, (2, 3), 1)],
)
def test_moments_are_the_mean_over_every_draw(rounds, tau, present, sigma):
    """Noise of two signs, along one line of each client's plane, has the variance that is added."""
    (K, N), run, shape = present, run_of(rounds, tau, present), np.array([0.3, 0.2, 0.9, 0.6, 1.1])
    u, H, total, count = simplex(N), hessians(shape, N), 0.0, 0
    along = sigma * (np.cos(1.1) * np.eye(N + 1)[0] + np.sin(1.1) * u)
    draws = list(itertools.product(itertools.combinations(range(N), K), repeat=rounds))
    signs = list(itertools.product((-1, 1), repeat=K * tau * rounds)) if sigma else [(0,) * K * tau * rounds]
    for draw, several in itertools.product(draws, signs):
        left = iter(several)
        w = ran(draw, tau, N, lambda i, x, left=left: H[i] @ x + u[i] + next(left) * along[i])
        total, count = total + w @ w, count + 1
    assert second_moments(run, shape[:, None], 1.0, 1.0, sigma**2)[0] == pytest.approx(total / count, rel=1e-12)


def by_coins(N, q, rounds):
    """(who is present in each round, the probability) of every pattern."""
    for several in itertools.product(itertools.product((0, 1), repeat=N), repeat=rounds):
        count = sum(map(sum, several))
        yield [[i for i in range(N) if one[i]] for one in several], q**count * (1 - q) ** (N * rounds - count)


@pytest.mark.parametrize(("measure", "sigma"), [("gap", 0), ("distance", 0.7)])
def test_moments_by_coins_are_the_mean_over_every_pattern(measure, sigma):
    N, shape, total = 3, np.array([0.3, 0.2, 0.9, 0.6, 1.1]), 0.0
    tau = 1 if sigma else 2
    run, u, H = replace(run_of(2, tau, (Q(2, 5), N)), measure=measure), simplex(N), hessians(shape, N)
    along = sigma * (np.cos(1.1) * np.eye(N + 1)[0] + np.sin(1.1) * u)
    for pattern, share in by_coins(N, 0.4, 2):
        signs = list(itertools.product((-1, 1), repeat=sum(map(len, pattern)))) if sigma else [(0,) * 99]
        for several in signs:
            left = iter(several)
            w = ran(filter(None, pattern), tau, N, lambda i, x, left=left: H[i] @ x + u[i] + next(left) * along[i])
            total += share / len(signs) * (w @ w if measure == "distance" else w @ np.mean(H, axis=0) @ w / 2)
    assert second_moments(run, shape[:, None], 1.0, 1.0, sigma**2)[0] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("rounds", [1, 2])
def test_drawn_runs_by_coins_are_the_mean_over_every_pattern(rounds):
    N, wedge, total = 3, (-0.1, -0.6, 0.4, 0.9), 0.0
    run = run_of(rounds, 2, (Q(2, 5), N))
    for pattern, share in by_coins(N, 0.4, rounds):
        w = ran_of_sets(list(filter(None, pattern)), 2, N, wedge, False, 0.7)
        total += share * (w @ w)
    values = with_sets(run, wedge, False, (1.0, 1.0, 0.49), 20000)
    assert values.mean() == pytest.approx(total, rel=1e-12 if rounds == 1 else 1e-2)


def test_a_round_of_nobody_changes_nothing():
    """At zeta_* = 0 a round keeps its contraction, or with the probability of nobody everything."""
    run = run_of(3, 2, (Q(1, 2), 3))
    contraction, idle = 0.95**4, 0.5**3
    result = bound.upper_bound(run, Q(1), Q(0))
    assert run.idle == Q(1, 8) and result.value == pytest.approx((idle + (1 - idle) * contraction) ** 3, rel=1e-4)
    assert run.contraction is None and result.value >= (idle + (1 - idle) * contraction) ** 3


def test_moments_are_enclosed():
    run, shape = run_of(3, 1, (2, 5)), np.array([0.3, 0.2, 2.0, 0.4, 1.1])
    value = second_moments(run, np.minimum(shape, [9, 1, 1, 1, 9])[:, None], 1.0, 0.1, 0.0)[0]
    assert participation_lower_bound.surely(run, shape, Q(1, 10)) == pytest.approx(value, rel=1e-12)


def test_every_client_present_is_the_run_without_sampling():
    everyone, plain = run_of(2, 3, (5, 5)), run_of(2, 3, None)
    assert bound.upper_bound(everyone).value == pytest.approx(bound.upper_bound(plain).value, rel=1e-6)
    assert run_of(1, 1, (2, 4)).sampling == Q(1, 3) and run_of(1, 1, (2, None)).sampling == Q(1, 2)


def set_gradient(x, u, own, pull, wedge, cone):
    """That of mu/2 ||x||^2 + (L - mu)/2 dist(x, C)^2 + <s, x>; ``own`` are the coordinates of the client's noise."""
    first, z = np.eye(len(x))[0], x @ u
    noise = np.where(own, x, 0)
    aside = np.where(own, 0, x) - z * u if cone else x[0] * first
    p = np.linalg.norm(aside) if cone else x[0]
    r = np.linalg.norm(noise)
    slope = [float(item[0]) for item in _from_wedge(*(np.array([one]) for one in (p, z, r)), wedge)]
    direction = aside / p if cone and p else first
    return 0.1 * x + 0.9 * (slope[0] * direction + slope[1] * u + slope[2] * noise / (r or 1)) + pull * u


def ran_of_sets(rounds, tau, N, wedge, cone, sigma):
    """w after steps of 1/2 of those who take part, with noise of each step in a coordinate of its own."""
    steps = len(rounds) * tau
    u = np.pad(simplex(N), ((0, 0), (0, N * steps)))
    places = 1 + N + np.arange(N * steps).reshape(N, len(rounds), tau)
    own = [np.isin(np.arange(u.shape[1]), places[i]) for i in range(N)]
    w = np.eye(u.shape[1])[0]
    for t, those in enumerate(rounds):
        ends = []
        for i in those:
            x = w
            for k in range(tau):
                noise = sigma * np.eye(len(w))[places[i, t, k]]
                x = x - 0.5 * (set_gradient(x, u[i], own[i], 1.0, wedge, cone) + noise)
            ends.append(x)
        w = np.mean(ends, axis=0)
    return w


SETS = [((-0.3, 0.3 - np.pi, 0, 0), True, 0), ((0.1, -0.6, 0.5, 1.5), False, 0.7), ((-0.4, -2.7, 1.2, 0.1), False, 1)]


@pytest.mark.parametrize(("wedge", "cone", "_"), SETS)
def test_distances_to_wedges_and_cones_are_of_the_class(wedge, cone, _):
    rng, u, own = np.random.default_rng(0), np.pad(simplex(4)[1], (0, 3)), np.arange(8) > 4
    for x, y in rng.normal(size=(200, 2, 8)):
        dx = x - y
        dg = set_gradient(x, u, own, 1.0, wedge, cone) - set_gradient(y, u, own, 1.0, wedge, cone)
        assert (dg - 0.1 * dx) @ (dx - dg) >= -1e-9  # mu-strongly monotone and L-Lipschitz with L = 1
    assert set_gradient(np.zeros(8), u, own, 1.0, wedge, cone) == pytest.approx(u)


@pytest.mark.parametrize(("wedge", "cone", "sigma"), SETS)
@pytest.mark.parametrize("present", [(1, 3)])
def test_drawn_runs_of_wedges_and_cones_are_the_mean_over_every_draw(wedge, cone, sigma, present):
    """Two rounds: every first draw has the same value, the last draw is not sampled, and no sign of noise matters."""
    (K, N), run, total, count = present, run_of(2, 3, present), 0.0, 0
    for draw in itertools.product(itertools.combinations(range(N), K), repeat=2):
        w = ran_of_sets(draw, 3, N, wedge, cone, sigma)
        total, count = total + w @ w, count + 1
    values = with_sets(run, wedge, cone, (1.0, 1.0, sigma**2), 5)
    assert values == pytest.approx(np.full(5, total / count), rel=1e-12)


@pytest.mark.parametrize(("wedge", "cone", "sigma"), SETS)
def test_drawn_runs_of_many_clients_are_near_those_of_any_number(wedge, cone, sigma):
    given = (1.0, 1.0, sigma**2)
    many, every = (with_sets(run_of(3, 3, (2, N)), wedge, cone, given, 20) for N in (3000, None))
    assert many.mean() == pytest.approx(every[0], rel=5e-3)


@pytest.mark.parametrize("tau", [1])
def test_noise_by_coins_is_bounded_above_every_pattern(tau):
    """The bound of clients who come with a probability, against runs of sets in every pattern of presence."""
    N, rounds, rng = 2, 2, np.random.default_rng(2)
    run, patterns = run_of(rounds, tau, (Q(2, 5), N)), list(by_coins(N, 0.4, rounds))
    limit, nearest = bound.upper_bound(run, Q(1), Q(1), Q(1, 2)), 0.0
    for _ in range(60):
        first = rng.uniform(-1, 0.5)
        wedge = (first, first - rng.uniform(0.01, 3), *rng.exponential(size=2))
        ends = [
            (ran_of_sets(list(filter(None, one)), tau, N, wedge, False, 0.5**0.5), share) for one, share in patterns
        ]
        nearest = max(nearest, sum(share * (w @ w) for w, share in ends))
    assert limit.certified and 0.7 * limit.value < nearest < limit.value
    assert bound.verify(limit) and not bound.verify(replace(limit, a=limit.a * Q(99, 100)))
    for present in ((Q(1, 2), N), (Q(3, 10), N), (Q(2, 5), 3), (1, 2)):
        assert not bound.verify(replace(limit, run=replace(run, present=present)))


@pytest.mark.parametrize(("wedge", "cone", "sigma"), SETS)
@pytest.mark.parametrize("measure", ["distance", "gap"])
def test_the_mean_over_all_sequences_of_draws_is_exact(wedge, cone, sigma, measure):
    """F(w) - F* from the gradients of all clients: mu/2 ||w||^2 + (L - mu)/2 of the mean square beyond their sets."""
    (K, N), several = (2, 3), []
    run = replace(run_of(2, 2, (K, N)), measure=measure)
    for draw in itertools.product(itertools.combinations(range(N), K), repeat=2):
        w = ran_of_sets(draw, 2, N, wedge, cone, sigma)
        own = [np.isin(np.arange(len(w)), 1 + N + 4 * i + np.arange(4)) for i in range(N)]
        u = np.pad(simplex(N), ((0, 0), (0, N * 4)))
        beyond = [(set_gradient(w, u[i], own[i], 1.0, wedge, cone) - 0.1 * w - u[i]) / 0.9 for i in range(N)]
        gap = 0.05 * w @ w + 0.45 * np.mean([x @ x for x in beyond])
        several.append(w @ w if measure == "distance" else gap)
    count = 9 if measure == "gap" else 3
    assert participation_lower_bound._sequences(run) == count
    values = with_sets(run, wedge, cone, (1.0, 1.0, sigma**2), count)
    assert values.mean() == pytest.approx(np.mean(several), rel=1e-10)


def test_the_gap_of_everybody_present_is_that_of_the_programme_without_draws():
    for tau in (1, 4):
        plain, everyone = (replace(run_of(1, tau, present), measure="gap") for present in (None, (5, 5)))
        assert bound.upper_bound(everyone).value == pytest.approx(bound.upper_bound(plain).value, rel=1e-4)


NEAR = [
    ("1/2", 3, 4, "1/2", {}, 1.03),
    ("5/10", 2, 4, "1/4", {}, 1.01),
    ("2/10", 5, 1, "1/4", {}, 1.1),
    ("5/10", 2, 2, "1/4", {"sigma": 1}, 1.02),
    ("q=0.2/10", 3, 4, "1/4", {"sigma": 1}, 1.04),
    ("q=0.2/10", 1, 4, "1/2", {"measure": "gap"}, 1.13),
    ("1/10", 1, 4, "1/2", {"measure": "gap"}, 1.1),
    ("1/any", 3, 4, "1/4", {"measure": "gap"}, 1.43),
]


@pytest.mark.parametrize(("present", "rounds", "tau", "step", "more", "most"), NEAR)
def test_the_bound_is_near_an_instance(present, rounds, tau, step, more, most):
    (result,) = worst(rounds=rounds, tau=tau, step=step, participation=present, **more)
    assert result.certified and result.above and 1 <= result.worst / result.lower < most
    if rounds == 3 or (present, more) == ("1/10", {"measure": "gap"}):
        page = (DOCS / "worst.md").read_text(encoding="utf-8")
        assert f"{result.worst / result.lower:.2f} for {present} (R = {rounds}, " in page


@pytest.mark.parametrize(
    ("zeta_sq", "K", "rounds", "eta", "value"),
    [(Q(1, 400), 1, 12, "1.274", 0.0812), (Q(1, 400), 6, 2, "1.818", 0.449), (Q(1, 4), 6, 2, "1.818", 0.559)],
)
def test_the_uploads_of_the_page(zeta_sq, K, rounds, eta, value):
    result = bound.upper_bound(run_of(rounds, 1, (K, 10), eta), zeta_sq=zeta_sq)
    assert result.certified and result.value == pytest.approx(value, rel=2e-3)
    assert str(value) in (DOCS / "design.md").read_text(encoding="utf-8")


def test_theorems_that_do_not_assume_everyone_stand_beside_it():
    """Without that assumption `fedavg-contraction` is false; with zeta_*^2/C added it is not refuted."""
    claim = claim_named("fedavg-contraction")
    assumptions = tuple(one for one in claim.assumptions if one.key != "full-participation")
    more = 2 * sy.eta_0 * sy.sigma_dif_sq / (sy.mu * sy.C)
    for key, terms in (("false", claim.terms), ("weaker", claim.terms | {"drawn": more})):
        own = ModuleType("own")
        own.CLAIMS = (replace(claim, key=key, terms=terms, assumptions=assumptions),)
        (result,) = worst(rounds=2, tau=2, participation="1/10", plugins=[own])
        assert (key in result.refuted) is (key == "false") and (result.theorem == key) is (key == "weaker")
        assert result.bound is None or result.bound >= result.worst


def test_bad_input_is_one_sentence():
    for words in (
        "--participation 3",
        "--participation 3/2",
        "--participation 0/4",
        "--participation 1/1",
        "--participation a/b",
        "--participation q=2/10",
        "--participation q=a/10",
        "--participation q=0.2/any",
        "--participation 1/2 --measure average --tau 2",
        "--participation 1/2 --server 2",
        "--participation 1/2 --weights 1/2,1/2",
    ):
        result = CliRunner().invoke(main, ["worst", "--rounds", "1", "--tau", "1", *words.split()])
        assert result.exit_code == 2 and result.stderr.count("\n") == 1, words
    with pytest.raises(InputError, match="K of N"):
        run_of(1, 1, (3, 2))
    shown = CliRunner().invoke(main, ["worst", "--rounds", "1", "--tau", "1", "--participation", "2/4"])
    assert shown.exit_code == 0 and "2/4 clients" in shown.stdout and "E||w_R" in shown.stdout
