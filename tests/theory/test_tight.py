"""The drift with the constants that its steps give: attained by an instance, exceeded by no run, false with noise."""

import itertools
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
import sympy as sp

from fedbounds.engine.simulate import simulate
from fedbounds.evidence.evaluate import evaluate
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.model.experiment import Experiment
from fedbounds.plugins import claim_named
from fedbounds.problems.quadratic import QuadraticProblem
from fedbounds.study.bounds import ProblemConstants
from fedbounds.study.smallest_bound import smallest_bounds
from fedbounds.theory.quantity import Path, largest, measured
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import gone_sq, parting
from fedbounds.theory.verdict import Status
from fedbounds.weightings.fedavg import FedAvg

L, MU = 1.0, 0.2
GAMMA = 4 * L / MU


def rhs(key, **values):
    return evaluate(claim_named(key).sides(READINGS["repaired"]).rhs, {"L": L, "mu": MU, **values})


def full(G_sq, tau, weights, total):
    """The bound of `drift-full` on the corollary's steps."""
    path = Path(tau, 1 / (MU * (np.arange(total) + GAMMA)), SimpleNamespace(mu=MU), alpha=np.array([weights]))
    return rhs("drift-full", gone_sq=gone_sq.on_path(path), parting=max(parting.on_path(path)), G_sq=G_sq)


def ran(problem, start, tau):
    """(drift, G^2) of a run on the corollary's steps."""
    step = lambda t: 1 / (MU * (t + GAMMA))  # noqa: E731
    found = simulate(Experiment(problem, FedAvg(), step, tau=tau, rounds=3, replicates=1, batch_size=None, w0=start))
    return found.paths["alpha"].drift[0], float(found.grad_sq.max())


def two(curvature, d=1):
    H = np.stack([np.eye(d) * curvature] * 2)
    return QuadraticProblem(H, np.array([[1.0] * d, [-1.0] * d]), np.zeros(2), np.full(2, 0.5))


@pytest.mark.parametrize("tau", [2, 3, 7, 30])
def test_two_clients_of_curvature_mu_attain_it(tau):
    drift, G_sq = ran(two(MU), np.zeros(1), tau)
    bound, t = full(G_sq, tau, [0.5, 0.5], len(drift)), tau - 1
    assert drift[:tau] == pytest.approx(bound[:tau], rel=1e-12)
    constant = ((tau - 1) / tau * (t + GAMMA) / (t + GAMMA - 1)) ** 2
    assert bound[t] == pytest.approx(constant * tau**2 * G_sq / (MU * (t + GAMMA)) ** 2, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_no_run_exceeds_it(seed):
    rng = np.random.default_rng(seed)
    frames = np.linalg.qr(rng.standard_normal((3, 2, 2)))[0]
    H = np.einsum("nij,nj,nkj->nik", frames, np.where(rng.random((3, 2)) < 0.5, MU, L), frames)
    H[0] = np.diag([MU, L])
    problem = QuadraticProblem(H, 3 * rng.standard_normal((3, 2)), np.zeros(3), rng.dirichlet(np.ones(3)))
    for tau in (2, 5, 40):
        drift, G_sq = ran(problem, 5 * rng.standard_normal(2), tau)
        t = np.arange(len(drift), dtype=float)
        slow = rhs("drift-on-schedule", eta=1 / (MU * (t + GAMMA)), tau=float(tau), G_sq=G_sq)
        for bound in (slow, full(G_sq, tau, problem.p, len(drift))):
            assert (drift <= bound * (1 + 1e-9)).all()


# Smaller by a millionth, by a part of the step size, and the bracket without its square.
SMALLER = {
    "millionth": lambda stated: stated * (1 - sp.Rational(1, 10**6)),
    "by the step": lambda stated: stated.subs(
        gone_sq, measured("fewer", lambda path: gone_sq.on_path(path) * (1 - path.eta / 9))
    ),
    "no square": lambda stated: stated.subs(parting, largest("flat", lambda path: 2 - 2 * path.alpha.max(axis=-1))),
}


@pytest.mark.parametrize(
    ("p", "pulls"),
    [
        (["3/4", "1/4"], [["1"], ["-1"]]),
        (["3/5", "3/10", "1/10"], [["1"], ["-1"], ["-1"]]),
        (["2/5", "3/10", "3/10"], [["1", "0"], ["-2/3", "s"], ["-2/3", "-s"]]),
    ],
    ids=str,
)
def test_it_is_attained_in_fractions_by_unequal_weights_and_nothing_smaller_holds(p, pulls):
    """Clients of curvature mu, whose pulls of one size sum to as little as they can; steps at random."""
    # sqrt(5)/3 to eight digits, from below: the third case comes within a millionth of the bound.
    pulls = [[pull.replace("s", "745355992/1000000000") for pull in row] for row in pulls]
    data = {"curvatures": [["2"] * len(row) for row in pulls], "minima": pulls, "p": p, "w0": ["0"] * len(pulls[0])}
    instance = from_json({**data, "eta": ["1/9", "1/2", "1/7"], "tau": 3, "weighting": "fedavg"})
    claim, where = claim_named("drift-full"), READINGS["repaired"]
    assert examine(instance, claim, where).status is Status.HOLDS
    for name, smaller in SMALLER.items():
        less = replace(claim, terms={"drift": smaller(claim.terms["drift"])})
        same = name == "no square" and Q(p[0]) <= Q(1, 2)
        assert examine(instance, less, where).status is (Status.HOLDS if same else Status.REFUTED)


def test_with_noise_the_closed_form_is_false():
    """What the claim's remark says: noise that keeps E||g||^2 at G^2, two equal quadratics, the third step."""
    mu, eta = Q(1, 5), Q(1, 20)
    q, G_sq = 1 - eta * mu, mu**2
    way = eta + eta * q  # of the mean, over G: a step of eta G, then one of eta (1 - eta mu) G
    variance = eta**2 * G_sq * (1 - q**2)  # of the second step, whose mean gradient is (1 - eta mu) G
    drift, closed = way**2 * G_sq + variance / 2, G_sq / mu**2 * (1 - q**2) ** 2
    assert drift - closed == eta**2 * G_sq / 2 * (1 - q**2) > 0
    assert drift <= (2 * eta) ** 2 * G_sq


def test_the_corollary_is_smaller_than_the_one_without_its_steps():
    given = ProblemConstants(L=1.0, mu=0.1, N=10, rounds=50, delta_0=1e-3, zeta_sq=0.0, G_sq=4.0, tau=20)
    bounds = {one.claim: one.bound for one in smallest_bounds(given)}
    for key, longer in (("tight-corollary", 19), ("noise-corollary", 2)):
        assert bounds["star-corollary"] / bounds[key] == pytest.approx(16 / (1 + longer / 40) ** 2)


@pytest.mark.parametrize("gamma", [4, 7, 400])
@pytest.mark.parametrize("begun", [0, 5])
def test_with_noise_quadratics_reach_the_closed_form_and_the_bound_is_near_it(gamma, begun):
    """mu = G = 1 and many clients: E d^2 is the mean's way squared and the variance, noise that keeps E||g||^2 at 1.

    Each step's noise has a direction of its own, so that ||grad||^2 is the same on every path, and at most 1.
    """
    way, variance = Q(0), Q(0)
    for n in range(1, 40):
        eta = Q(1, begun + n - 1 + gamma)
        slope = (1 - way) ** 2 + variance
        assert slope <= 1
        way, variance = (1 - eta) * way + eta, (1 - eta) ** 2 * variance + eta**2 * (1 - slope)
        k, spent = begun + n + gamma, sum(Q(1, s + gamma) for s in range(begun, begun + n))
        found = way**2 + variance
        assert found == (n**2 - spent) / ((k - 1) * (k - 2))
        bound = (1 + Q(min(n, 2), gamma)) ** 2 * Q(n, k) ** 2
        assert bound / (1 + Q(2, gamma)) ** 2 < found <= bound
        assert (n, begun) != (1, 0) or found == bound


def test_it_is_false_once_steps_exceed_2_over_L():
    """Two mirrored quadratics of curvatures 1 and 4, steps 14/5 over L: one part of each model swings ever wider."""
    minima = [["84/85", "13/340"], ["-84/85", "-13/340"]]
    data = {"curvatures": [["1", "4"]] * 2, "minima": minima, "p": ["1/2"] * 2, "w0": ["0", "0"], "tau": 4}
    instance = from_json({**data, "eta": ["7/10"] * 4, "weighting": "fedavg"})
    claim, where = claim_named("drift-full"), READINGS["repaired"]
    assert examine(instance, claim, where).status is Status.NOT_APPLICABLE
    free = replace(claim, assumptions=tuple(one for one in claim.assumptions if one.key != "eta-below-2/(L+mu)"))
    assert examine(instance, free, where).status is Status.REFUTED


@pytest.mark.parametrize("mu", [0.02, 0.1])
@pytest.mark.parametrize("steps", [3, 5])
def test_no_worst_case_exceeds_it_up_to_2_over_L(mu, steps):
    """Of one client from 0 with steps of 1.99/L: gradients at most 1, and interpolation of each two points."""
    x = -1.99 * np.tri(steps + 1, steps, -1)
    gram, f = cp.Variable((steps, steps), PSD=True), cp.Variable(steps)
    of = lambda a, b: cp.sum(cp.multiply(gram, np.outer(a, b) + np.outer(b, a))) / 2  # noqa: E731
    g = np.eye(steps) - mu * x[:-1]  # of F - (mu/2)|x|^2, which is convex and (1 - mu)-smooth
    given = [cp.diag(gram) <= 1]
    for i, j in itertools.permutations(range(steps), 2):
        gained = of(g[j], x[i] - x[j]) + of(g[i] - g[j], g[i] - g[j]) / (2 * (1 - mu))
        given.append(f[i] - f[j] - mu / 2 * (of(x[i], x[i]) - of(x[j], x[j])) >= gained)
    worst = cp.Problem(cp.Maximize(of(x[-1], x[-1])), given).solve(solver="CLARABEL")
    assert worst == pytest.approx(((1 - (1 - 1.99 * mu) ** steps) / mu) ** 2, rel=1e-5)


@pytest.mark.parametrize("excess", [Q(1, 100), Q(1, 10), Q(1)])
def test_whatever_the_excess_over_2_over_L_some_round_is_long_enough(excess):
    """Of pulls G cos and G sin along curvatures mu and L the second ends 1 + (eta L - 1)^n, n odd, over L away."""
    L, mu = Q(1), Q(1, 10)
    eta = (2 + excess) / L
    grown, kept = eta * L - 1, 1 - eta * mu
    n = next(n for n in range(1, 2001, 2) if (1 + grown**n) / L > (1 - kept**n) / mu)
    share = (1 - kept ** (2 * n)) / (grown ** (2 * n) - kept ** (2 * n))  # sin^2: the last pull is G too
    assert 0 < share < 1
    assert (1 - share) * ((1 - kept**n) / mu) ** 2 + share * ((1 + grown**n) / L) ** 2 > ((1 - kept**n) / mu) ** 2
