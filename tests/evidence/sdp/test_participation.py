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
from fedbounds.evidence.sdp.multi_round import noise, sampled_clients
from fedbounds.evidence.sdp.multi_round.lower_bound import alike
from fedbounds.evidence.sdp.multi_round.noise import noisy
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.sampled_clients import groups, orthogonal, second_moments
from fedbounds.plugins import claim_named
from fedbounds.study.worst import worst
from fedbounds.theory import symbols as sy


def run_of(rounds, tau, present, eta="1/2"):
    return Run(rounds, tau, Q(1, 10), Q(1), Q(eta), present=present)


def hessian(angle, high):
    axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return axes.T @ np.diag([0.1, high]) @ axes


@pytest.mark.parametrize(
    ("rounds", "tau", "present", "sigma"),
    [(2, 2, (2, 4), 0), (2, 1, (2, 3), 0), (1, 2, (1, 2), 0.7), (2, 2, (2, None), 0)],
)
def test_moments_are_the_mean_over_every_draw(rounds, tau, present, sigma):
    """Noise of two signs, along one line, has the variance that is added; of any number: with replacement."""
    (K, of), run, shape = present, run_of(rounds, tau, present), np.array([0.3, -0.8, 0.7, 0.9, 0.4, 1.1])
    p, N = groups(run), of or 2
    of_group = [0] * round(p[0] * N) + [1] * round(p[1] * N)
    s = [-((p[1] / p[0]) ** 0.5), (p[0] / p[1]) ** 0.5]
    H = [hessian(shape[g], shape[2 + g]) for g in (0, 1)]
    along, total, count = sigma * np.array([np.cos(1.1), np.sin(1.1)]), 0.0, 0
    of_round = itertools.combinations(range(N), K) if of else itertools.product(range(N), repeat=K)
    draws = list(itertools.product(of_round, repeat=rounds))
    signs = list(itertools.product((-1, 1), repeat=K * tau * rounds)) if sigma else [(0,) * K * tau * rounds]
    for draw, several in itertools.product(draws, signs):
        w, left = np.array([np.cos(0.4), np.sin(0.4)]), iter(several)
        for those in draw:
            ends = []
            for i in those:
                x, g = w, of_group[i]
                for _ in range(tau):
                    x = x - 0.5 * (H[g] @ x + np.array([0, s[g]]) + next(left) * along)
                ends.append(x)
            w = np.mean(ends, axis=0)
        total, count = total + w @ w, count + 1
    assert second_moments(run, shape[:, None], 1.0, 1.0, sigma**2)[0] == pytest.approx(total / count, rel=1e-12)


@pytest.mark.parametrize(("present", "tau"), [((1, 2), 3), ((2, 5), 1)])
def test_moments_in_fractions_are_those_of_a_problem_near_by(present, tau):
    run, shape = run_of(3, tau, present), np.array([0.3, -0.8, 0.7, 2.0, 0.4, 1.1])
    value, zeta_sq = sampled_clients.in_fractions(run, shape, Q(1, 10))
    assert isinstance(value, Q) and 0 <= Q(1, 10) - zeta_sq < Q(1, 10**5)
    clipped = np.minimum(shape, [9, 9, 1, 1, 9, 9])[:, None]
    assert second_moments(run, clipped, 1.0, float(zeta_sq), 0.0)[0] == pytest.approx(float(value), rel=1e-5)


def test_every_client_present_is_the_run_without_sampling():
    everyone, plain = run_of(2, 3, (5, 5)), run_of(2, 3, None)
    assert noisy(everyone, Q(1), Q(1), Q(0)).value == noisy(plain, Q(1), Q(1), Q(0)).value
    assert run_of(1, 1, (2, 4)).sampling == Q(1, 3) and run_of(1, 1, (2, None)).sampling == Q(1, 2)


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize("present", [(1, 5), (2, 5), (2, None)])
def test_random_clients_stay_below(tau, present):
    """The exact second moments of five clients, by a recursion over whole clients."""
    run, rng, sigma_sq = run_of(3, tau, present), np.random.default_rng(7), 0.5
    bound = noisy(run, Q(1), Q(1), Q(1, 2))
    assert bound.certified
    K, N, count, d = present[0], 5, 1000, 3
    v = (N - K) / (K * (N - 1))
    frames = np.linalg.qr(rng.normal(size=(count, N, d, d)))[0]
    H = np.einsum("bnij,bnj,bnkj->bnik", frames, 0.1 + 0.9 * rng.beta(0.3, 0.3, (count, N, d)), frames)
    s = rng.normal(size=(count, N, d))
    s -= s.mean(axis=1, keepdims=True)
    s /= np.sqrt((s**2).sum(axis=2).mean(axis=1))[:, None, None]
    m = rng.normal(size=(count, d))
    m /= np.linalg.norm(m, axis=1, keepdims=True)
    M, step = m[:, :, None] * m[:, None, :], np.eye(d) - 0.5 * H
    P, q, C = np.broadcast_to(np.eye(d), H.shape), np.zeros_like(s), np.zeros_like(H)
    for _ in range(tau):
        P, q = step @ P, np.einsum("bnij,bnj->bni", step, q) - 0.5 * s
        C = step @ C @ step + 0.25 * sigma_sq / d * np.eye(d)
    for _ in range(3):
        Pm = np.einsum("bnij,bj->bni", P, m)
        cross = Pm[..., :, None] * q[..., None, :]
        each = (
            P @ M[:, None] @ P.swapaxes(-1, -2) + cross + cross.swapaxes(-1, -2) + q[..., :, None] * q[..., None, :]
        )
        mean, bar, shift = P.mean(axis=1), (Pm + q).mean(axis=1), q.mean(axis=1)
        mixed = np.einsum("bij,bj->bi", mean, m)[:, :, None] * shift[:, None, :]
        whole = mean @ M @ mean.swapaxes(-1, -2) + mixed + mixed.swapaxes(-1, -2)
        whole = whole + shift[:, :, None] * shift[:, None, :]
        M, m = (1 - v) * whole + v * each.mean(axis=1) + C.mean(axis=1) / K, bar
    highest = np.einsum("bii->b", M).max()
    assert 0.3 * bound.value < highest < bound.value


def cone_gradient(x, s, angle, high):
    """That of mu/2 ||x||^2 + (h - mu)/2 dist(x, C)^2 + <s, x>, by the projection on the circular cone C."""
    axis = s / np.linalg.norm(s)
    z, aside = x @ axis, x - (x @ axis) * axis
    rho, ray = np.linalg.norm(aside), np.array([np.sin(angle), -np.cos(angle)])  # C is below this ray of its boundary
    if np.cos(angle) * rho + np.sin(angle) * z <= 0:
        nearest = x
    else:
        length = max(ray @ [rho, z], 0)
        nearest = length * ray[0] * aside / (rho or 1) + length * ray[1] * axis
    return 0.1 * x + (high - 0.1) * (x - nearest) + s


def test_cones_of_many_clients(monkeypatch):
    """Two rounds of two new clients each, in six dimensions; the gradients are of the class."""
    rng, angle, high, eta = np.random.default_rng(0), 0.9, 0.8, 0.5
    s, run = np.eye(6), run_of(2, 3, (2, None))
    for x, y in rng.normal(size=(300, 2, 6)):
        dx, dg = x - y, cone_gradient(x, s[1], angle, high) - cone_gradient(y, s[1], angle, high)
        assert (dg - 0.1 * dx) @ (dx - dg) >= -1e-9  # mu-strongly monotone and L-Lipschitz with L = 1
    w = s[0]
    for present in ((1, 2), (3, 4)):
        ends = []
        for i in present:
            x = w
            for _ in range(3):
                x = x - eta * cone_gradient(x, s[i], angle, high)
            ends.append(x)
        w = np.mean(ends, axis=0)
    monkeypatch.setattr(sampled_clients, "ANGLES", 1)
    monkeypatch.setattr(np, "linspace", lambda low, up, count: np.array([angle if count == 1 else high]))
    assert orthogonal(run, 1.0, 1.0) == pytest.approx(w @ w, rel=1e-12)


@pytest.mark.parametrize(
    ("present", "tau", "eta", "most"), [("1/any", 4, "1/4", 1.04), ("2/any", 4, "1/2", 1.05), ("1/any", 1, "1", 1.01)]
)
def test_many_clients_come_near_the_bound(present, tau, eta, most):
    (result,) = worst(rounds=5, tau=tau, step=eta, participation=present)
    assert result.certified and 1 <= result.worst / result.lower < most


def test_one_local_step_of_one_present_client_is_exact():
    """tau = 1, one round: (1 - eta mu)^2 + v eta^2 zeta_*^2 at equal curvature is below, and near, the bound."""
    run = run_of(1, 1, (1, 10), "1/4")
    (result,) = worst(rounds=1, tau=1, step="1/4", participation="1/10")
    assert result.certified and result.lower <= result.worst <= result.lower * 1.00001
    assert result.lower > float(alike(run, Q(1), Q(1)))


@pytest.mark.parametrize(("present", "tau", "rounds"), [("2/10", 1, 10), ("2/10", 4, 5), ("1/10", 1, 5)])
def test_the_bound_is_near_an_instance(present, tau, rounds):
    (result,) = worst(rounds=rounds, tau=tau, step="1/4", participation=present)
    assert result.certified and result.above and not result.stated and 1 <= result.worst / result.lower < 1.1


@pytest.mark.parametrize(
    ("zeta", "present", "rounds", "eta", "value"),
    [
        ("1/20", "1/10", 12, "1.267", 0.0835),
        ("1/20", "6/10", 2, "1.818", 0.449),
        ("1/2", "1/10", 12, "0.2662", 0.707),
        ("1/2", "6/10", 2, "1.818", 0.559),
    ],
)
def test_the_uploads_of_the_page(zeta, present, rounds, eta, value):
    (item,) = worst(rounds=rounds, tau=1, step=eta, zeta_star=zeta, participation=present)
    page = (Path(__file__).parents[3] / "docs" / "design.md").read_text(encoding="utf-8")
    assert item.certified and item.worst == pytest.approx(value, rel=2e-3) and str(value) in page


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


def test_a_proof_for_more_present_is_none_for_fewer():
    run = run_of(2, 2, (3, 6))
    proof = noisy(run, Q(1), Q(1), Q(1))
    assert noise.verify(run, proof.steps, proof.potentials)
    assert not noise.verify(replace(run, present=(2, 6)), proof.steps, proof.potentials)


def test_bad_input_is_one_sentence():
    for words in (
        "--participation 3",
        "--participation 3/2",
        "--participation 0/4",
        "--participation 1/1",
        "--participation a/b",
        "--participation 1/2 --measure gap",
        "--participation 1/2 --server 2",
        "--participation 1/2 --weights 1/2,1/2",
    ):
        result = CliRunner().invoke(main, ["worst", "--rounds", "1", "--tau", "1", *words.split()])
        assert result.exit_code == 2 and result.stderr.count("\n") == 1, words
    with pytest.raises(InputError, match="K of N"):
        run_of(1, 1, (3, 2))
    shown = CliRunner().invoke(main, ["worst", "--rounds", "1", "--tau", "1", "--participation", "2/4"])
    assert shown.exit_code == 0 and "2/4 clients" in shown.stdout and "E||w_R" in shown.stdout
