"""Worst cases of R rounds: certificates against an independent programme, closed forms and random runs."""

import dataclasses
import itertools
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from run_oracle import by_clients

from fedbounds.engine.simulate import simulate
from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round import bound, program
from fedbounds.evidence.sdp.multi_round.bound import _positive, above, verify
from fedbounds.evidence.sdp.multi_round.bound import upper_bound as worst
from fedbounds.evidence.sdp.multi_round.lower_bound import alike, attained, experiment, surely, with_noise
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.program import exact
from fedbounds.evidence.sdp.verification import is_psd
from fedbounds.plugins import claim_named
from fedbounds.report.number_format import downward, upward
from fedbounds.study.worst_case_and_theorems import bounds, scheduled
from fedbounds.theory.reading import READINGS

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)
HALVES = (Q(1, 2), Q(1, 2))
MEASURES = ("distance", "gap", "average")


def rounds_of(rounds, tau, mu=MU, eta=ETA, **more):
    return Run(rounds, tau, mu, L, eta, **more)


def of_corollary(rounds, tau, **more):
    return scheduled(rounds_of(rounds, tau, **more), claim_named("corollary"))


def weighted(rounds, tau, alpha, p=None):
    alpha, p = (tuple(map(Q, given.split(","))) for given in (alpha, p or alpha))
    return rounds_of(rounds, tau, alpha=alpha, p=p)


@pytest.mark.parametrize(("tau", "value"), [(1, 0.902500), (3, 0.938662)])
def test_one_round_is_known(tau, value):
    result = worst(rounds_of(1, tau))
    assert result.certified and result.value == pytest.approx(value, abs=2e-6) and result.value >= value - 5e-7


@pytest.mark.parametrize("measure", MEASURES)
def test_it_is_the_worst_case_of_the_programme_with_every_client(measure, monkeypatch):
    """Two blocks lose nothing at any steps, measure and weights of at most 1/2; fewer inequalities lose little."""
    p = Q(2, 5), Q(2, 5), Q(1, 5)
    run = rounds_of(1, 3, eta=(Q(7, 4), Q(1, 10), Q(1)), alpha=p, p=p, measure=measure)
    result, clients = worst(run), by_clients(run)
    assert result.certified and clients * (1 - 1e-6) < result.value < clients * (1 + 1e-5)
    monkeypatch.setattr(program, "ALL_PAIRS", 0)
    few = worst(run)
    assert few.certified and result.value <= few.value * (1 + 1e-6) < 1.04 * result.value


@pytest.mark.parametrize("eta", [ETA, Q(9, 5)])
def test_without_heterogeneity_it_is_the_contraction(eta):
    result = worst(rounds_of(3, 2, eta=eta), zeta_sq=Q(0))
    assert result.a == max(abs(1 - eta * MU), abs(1 - eta * L)) ** 12 and result.exact and not result.certified
    assert worst(rounds_of(3, 2, eta=eta), zeta_sq=Q(1, 10**9)).value == pytest.approx(float(result.a), rel=1e-4)


@pytest.mark.parametrize(
    ("rounds", "tau", "kappa", "eta"),
    [(2, 1, 10, Q(1)), (2, 1, 2, Q(19, 10)), (2, 2, 10, Q(1, 4))],
)
def test_the_gap_from_a_common_minimiser_is_that_of_gradient_descent(rounds, tau, kappa, eta):
    """(L/2) max(1/(1 + kappa ((1 - eta mu)^(-2T) - 1)), (1 - eta L)^(2T)) (arXiv 2412.04427)."""
    run, T, h = rounds_of(rounds, tau, Q(1, kappa), eta, measure="gap"), rounds * tau, float(eta)
    law = max(1 / (1 + kappa * ((1 - h / kappa) ** (-2 * T) - 1)), (1 - h) ** (2 * T)) / 2
    result = worst(run, zeta_sq=Q(0))
    assert result.certified and law * (1 - 1e-9) <= result.value <= law * (1 + 2e-5)
    assert attained(run, 1.0, 0.0).value == pytest.approx(law, rel=1e-4)
    if tau == 1:
        stated = bounds(run, Q(1), Q(0))
        assert min(stated.values()) == stated["gradient-descent"] == pytest.approx(law, rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_is_no_proof_is_refused(measure):
    result = worst(rounds_of(2, 3, eta=(ETA, Q(1, 3), Q(1), Q(1, 4), ETA, Q(1, 5)), measure=measure))
    run, (multipliers,) = result.run, result.proofs
    refused = [{"a": result.a * Q(999, 1000)}, {"b": result.b * Q(99, 100)}, {"proofs": ({"no pair": Q(1)},)}]
    refused += [{"run": replace(run, **change)} for change in ({"mu": MU * Q(99, 100)}, {"eta": ETA})]
    refused += [{"run": replace(run, measure="gap" if measure == "distance" else "distance")}]
    labels = list(multipliers)
    changes = [(labels[k], Q(1, 10**12)) for k in (0, 2 * run.T + 1)] + [(labels[3], -multipliers[labels[3]] - 1)]
    refused += [{"proofs": ({**multipliers, label: multipliers[label] + by},)} for label, by in changes]
    assert verify(result) and not any(verify(replace(result, **change)) for change in refused)


def test_definite_agrees_with_elimination():
    rng = np.random.default_rng(3)
    for shift in (Q(0), Q(1, 10**6), Q(-1, 10**6)):
        half = rng.integers(-9, 10, (6, 5))
        S = [[exact(Q(int(v)) + shift * (i == j)) for j, v in enumerate(row)] for i, row in enumerate(half @ half.T)]
        assert is_psd(S) is (shift >= 0) and _positive(S) is (shift > 0)


@pytest.mark.parametrize("eta", [Q(1, 10), Q(5, 4)])
def test_the_sandwich_is_in_order(eta):
    run = rounds_of(7, 2, eta=eta)
    result, instance, proved = worst(run, zeta_sq=Q(4)), attained(run, 1.0, 4.0), bounds(run, Q(1), Q(4))
    assert {"fedavg-rounds", "fedavg-contraction"} <= proved.keys() and ("fedavg-push" in proved) is (eta <= 1)
    assert result.certified and 0.5 * result.value < instance.value <= result.value <= min(proved.values())


def test_a_bound_needs_its_assumptions():
    assert not bounds(rounds_of(2, 2, eta=Q(19, 10)), Q(1), Q(1))
    assert "gradient-descent" not in bounds(rounds_of(2, 2, measure="gap"), Q(1), Q(1))
    assert "fedavg-rounds" not in bounds(rounds_of(2, 2, eta=2 / (L + MU)), Q(1), Q(1))


def test_the_claims_at_their_limits():
    """At L = mu: the contraction, nothing is divided by L - mu. At tau = 1: what the mean's own recursion adds."""
    half = {"L": 1, "eta_0": sp.Rational(1, 2), "sigma_sq": 0, "sigma_p_sq": 0}
    equal = half | {"mu": 1, "tau": 3, "T": 6, "Delta_0": 1, "sigma_dif_sq": 5}
    noisy = half | {"mu": sp.Rational(1, 10), "tau": 1, "T": 5, "Delta_0": 0, "sigma_dif_sq": 7, "sigma_p_sq": 2}
    added = sum(sp.Rational(19, 20) ** (2 * t) for t in range(5)) / 2
    keys = ("fedavg-rounds", "fedavg-contraction", "fedavg-push")
    cases = [(key, equal, sp.Rational(1, 2**12)) for key in keys]
    for key, known, value in [*cases, ("fedavg-rounds", noisy | {"sigma_sq": 3}, added)]:
        rhs = claim_named(key).sides(READINGS["literal"]).rhs
        assert rhs.subs({s: known[s.name] for s in rhs.free_symbols}) == value


@pytest.mark.parametrize("alpha", ["1/2,3/10,1/5", "7/10,3/10"])
def test_the_worst_case_is_that_of_all_weights(alpha):
    """It is attained where no weight exceeds 1/2, and nearly so elsewhere; the instance never exceeds either."""
    run = weighted(2, 2, alpha)
    result, clients, instance, every = worst(run), by_clients(run), attained(run), worst(rounds_of(2, 2)).value
    assert result.certified and result.attained and run.exact is (alpha[:3] == "1/2")
    assert instance.value < clients < result.value < clients * (1 + 1e-5)
    assert result.value == every if run.exact else 0.98 * every < result.value < every * (1 - 1e-4)
    assert min(bounds(run, Q(1), Q(1)).values()) >= result.value
    assert surely(run, instance, Q(1), Q(1)) == pytest.approx(instance.value, rel=1e-12)


def test_a_server_with_other_weights_is_bounded(monkeypatch):
    """Exactly where every client has its gradients in the programme, and by two blocks up to a tenth above."""
    for rounds, tau, more in ((3, 1, 1e-6), (2, 2, 0.09)):
        run = weighted(rounds, tau, "7/10,3/10", "1/2,1/2")
        whole, clients, instance = worst(run), by_clients(run), attained(run)
        assert whole.certified and whole.attained and clients < whole.value < clients * (1 + 1e-5)
        with monkeypatch.context() as patched:
            patched.setattr(bound, "EVERY_CLIENT", 0)
            result = worst(run)
        assert result.certified and instance.value <= clients * (1 + 1e-6)
        assert clients < result.value * (1 + 1e-6) < clients * (1 + more) * (1 + 1e-5)
        assert verify(result) and not verify(replace(result, bias=result.bias * Q(99, 100)))
        assert not bounds(run, Q(1), Q(1))


def test_short_runs_of_a_few_clients_lose_nothing(monkeypatch):
    """Two blocks, the bound for longer runs, are 34% above; no proof is one of less, or of another run."""
    run = replace(weighted(2, 3, "7/10,3/10", "2/5,3/5"), eta=Q(13, 10))
    result = worst(run)
    assert result.value == pytest.approx(18.247, rel=1e-4) and attained(run).value <= result.value
    monkeypatch.setattr(bound, "EVERY_CLIENT", 0)
    assert worst(run).value / result.value - 1 == pytest.approx(0.34, abs=5e-3)
    assert result.attained and result.certified
    assert verify(result) and not verify(replace(result, a=result.a - Q(1, 100)))
    assert not verify(replace(result, run=replace(run, alpha=(Q(1), Q(0)))))


def quadratics(rng, count, p, d=3):
    """Hessians of curvatures mu and L, and gradients at w* with zeta_* = 1, of many sets of clients."""
    frames = np.linalg.qr(rng.standard_normal((count, len(p), d, d)))[0]
    H = np.einsum("bnij,bnj,bnkj->bnik", frames, rng.choice([0.1, 1.0], (count, len(p), d)), frames)
    s = rng.standard_normal((count, len(p), d)) * rng.choice([0.3, 1.0, 3.0], (count, len(p), 1))
    s -= np.einsum("n,bni->bi", p, s)[:, None]
    return H, s / np.sqrt(np.einsum("n,bni->b", p, s**2))[:, None, None]


def run_through(run, H, s, w, average):
    """What is measured of every set of clients, ``average`` making a global model of the local ones."""
    visited = []
    for t, size in enumerate(map(float, run.sizes)):
        X = np.repeat(w[:, None], H.shape[1], axis=1) if t % run.tau == 0 else X  # noqa: F821 - of the step before
        visited.append(average(X))
        X = X - size * (np.einsum("bnij,bnj->bni", H, X) + s)
        w = average(X) if (t + 1) % run.tau == 0 else w
    end = np.mean(visited, axis=0) if run.measure == "average" else w
    return (end**2).sum(1) if run.measure == "distance" else np.einsum("bi,bnij,bj->b", end, H, end) / H.shape[1] / 2


def test_weights_may_be_others_in_every_round():
    """Round by round. An adversary who takes the farthest local model is an instance of it."""
    free = replace(weighted(4, 2, "0,0,1", "1/2,3/10,1/5"), ratios=(Q(0), Q(5)))
    result, instance = worst(free), attained(free)
    assert result.certified and (downward(instance.value), upward(result.value, 4)) == ("54.68", "55.08")
    delta = Q(1)
    for _ in range(4):
        delta = Q(worst(replace(free, rounds=1), delta).value)
    assert result.value == delta
    H, s = quadratics(np.random.default_rng(0), 4000, np.array([0.5, 0.3, 0.2]), 2)
    start = -s[:, 2] / np.linalg.norm(s[:, 2], axis=1)[:, None]
    farthest = lambda X: X[np.arange(len(X)), (X**2).sum(axis=-1).argmax(axis=1)]  # noqa: E731
    assert 0.85 * result.value < run_through(free, H, s, start, farthest).max() <= result.value
    one = Run(2, 2, MU, L, (ETA, Q(1, 3), Q(1, 4), Q(1, 5)), (Q(0), Q(1)), (Q(2, 3), Q(1, 3)), (Q(0), Q(3)))
    first, last = (dataclasses.replace(one, rounds=1, eta=one.eta[k : k + 2]) for k in (0, 2))
    assert worst(one).value == worst(last, Q(worst(first).value)).value >= attained(one).value
    assert replace(free, alpha=(Q(0), Q(1)), p=HALVES, ratios=(Q(0), Q(2))).permuted and not free.permuted
    assert not replace(free, alpha=HALVES, p=HALVES, ratios=(Q(0), Q(2))).permuted


@pytest.mark.parametrize(("measure", "zeta_sq"), [("distance", Q(1)), ("gap", Q(0)), ("average", Q(1))])
def test_the_instance_is_what_was_run_and_enclosed(measure, zeta_sq):
    run = of_corollary(3, 2, measure=measure)
    result = attained(run, 1.0, float(zeta_sq))
    assert surely(run, result, Q(1), zeta_sq) == pytest.approx(result.value, rel=1e-12)
    if result.problem is not None:
        start = np.array([np.cos(result.shape[4]), np.sin(result.shape[4])])
        w = simulate(experiment(run, result.problem, start), record="iterates").w[0]
        end = w[:-1].mean(axis=0) if measure == "average" else w[-1]
        value = end @ end if measure == "distance" else result.problem.gap(end)
        assert result.value == pytest.approx(float(value), rel=1e-12)
    assert result.value <= worst(run, zeta_sq=zeta_sq).value * (1 + 1e-12)


def test_at_the_end_of_a_doubles_digits_it_is_proved_still():
    """An unproved number here was 0.00144 once, below an instance's 0.00173."""
    run = Run(2, 4, Q(1000, 1001), L, Q(7, 5))
    result = worst(run, zeta_sq=Q(3600))
    assert verify(result) and attained(run, 1.0, 3600.0).value <= result.value < 0.00174
    known = worst(rounds_of(3, 4, eta=Q(1)), zeta_sq=Q(1, 10**12))
    assert known.certified and known.value == pytest.approx(0.9**24, rel=1e-4)


@given(st.fractions(Q(1, 10**6), Q(10**6)))
def test_an_upper_bound_is_rounded_up(value):
    assert value <= Q(above(value)) and Q(np.nextafter(above(value), 0)) < value
    assert value <= Q(upward(above(value), 6)) <= value * (1 + Q(2, 10**5))


@pytest.mark.parametrize(
    ("match", "made"),
    [
        ("0 <= mu < L", lambda: Run(1, 1, Q(1), Q(1), ETA)),
        ("0 < eta < 2/L", lambda: rounds_of(1, 1, eta=Q(2))),
        ("0 < eta < 2/L", lambda: rounds_of(1, 2, eta=(ETA, Q(2)))),
        ("400 steps", lambda: rounds_of(401, 1)),
        ("one or 4", lambda: rounds_of(2, 2, eta=(ETA,) * 3)),
        ("F is bounded where", lambda: rounds_of(1, 2, alpha=(Q(1), Q(0)), p=HALVES, measure="gap")),
        ("needs two steps", lambda: rounds_of(1, 1, measure="average")),
        ("both sides of 1", lambda: replace(weighted(1, 1, "1,0", "2/3,1/3"), ratios=(Q(2), Q(3)))),
        ("needs p and ratios", lambda: replace(weighted(1, 1, "1,0", "2/3,1/3"), ratios=(Q(1, 2), Q(2)))),
        ("must be positive", lambda: worst(rounds_of(1, 1), delta_0=Q(0))),
        ("not negative", lambda: worst(rounds_of(1, 1), zeta_sq=Q(-1, 2))),
        ("noise needs the measure distance", lambda: worst(rounds_of(1, 2, measure="gap"), sigma_sq=Q(1))),
        ("weights that are not p", lambda: worst(weighted(1, 2, "1,0", "1/2,1/2"), sigma_sq=Q(1))),
        ("sigma\\^2 not negative", lambda: worst(rounds_of(1, 2), sigma_sq=Q(-1))),
    ],
)
def test_bad_input_is_refused(match, made):
    with pytest.raises(InputError, match=match):
        made()


@pytest.mark.parametrize(("rounds", "tau", "eta"), [(1, 3, Q(1, 2)), (2, 2, Q(9, 5))])
def test_noise_is_bounded_between_a_run_and_the_theorem(rounds, tau, eta):
    run = Run(rounds, tau, MU, L, eta)
    result = worst(run, Q(1), Q(1), Q(1))
    assert result.certified and verify(result)
    assert Q(result.value) >= result.a + result.b + (result.noise[0] + result.noise[1]) / 2
    lower = max(float(alike(run, Q(1), Q(1, 2))), with_noise(run, attained(run), 1.0))
    assert 0.2 * result.value < lower <= result.value * (1 + 1e-12)
    least = min(bounds(run, Q(1), Q(1), sigma_sq=Q(1)).values())
    assert result.value <= least * (1 + 1e-6)
    assert worst(run).value < result.value


def test_noise_is_exact_for_one_local_step():
    """tau = 1 and steps of at most 2/(L + mu): q^2T and the noise of the mean, which one quadratic attains."""
    for run in (Run(6, 1, MU, L, ETA), of_corollary(6, 1)):
        result = worst(run, Q(2), Q(1), Q(3))
        assert result.value == pytest.approx(float(alike(run, Q(2), Q(3, 2))), rel=1e-5) and result.certified


def test_the_weights_noise_is_theirs():
    p = (Q(1, 2), Q(3, 10), Q(1, 5))
    run = Run(2, 3, MU, L, ETA, p, p)
    result = worst(run, Q(1), Q(1), Q(1))
    c, d = result.noise
    assert (
        Q(result.value) >= result.a + result.b + c * Q(38, 100) + d * Q(62, 100) and run.shares == (Q(38, 100),) * 2
    )
    assert result.value < worst(Run(2, 3, MU, L, ETA), Q(1), Q(1), Q(1)).value


def test_what_is_no_proof_with_noise_is_refused():
    result = worst(of_corollary(2, 3), Q(1), Q(1), Q(1))
    each, V = result.proofs, result.potentials
    assert verify(result)
    wrong = [{"proofs": each[1:]}, {"potentials": V[1:]}, {"run": dataclasses.replace(result.run, mu=MU * Q(9, 10))}]
    wrong += [{"a": result.a - Q(1, 1000)}, {"b": result.b - Q(1, 1000)}, {"potentials": (V[0][:2], *V[1:])}]
    wrong += [{"noise": (result.noise[0] - Q(1, 1000), result.noise[1])}, {"noise": ()}]
    for k, entry in itertools.product(range(5), range(3)):
        changed = (*V[k][:entry], V[k][entry] - Q(1, 1000), *V[k][entry + 1 :])
        wrong.append({"potentials": (*V[:k], changed, *V[k + 1 :])})
    for label in ("noise 0", "interpolation 0|*"):
        wrong += [{"proofs": ({**each[0], label: factor * each[0][label]}, *each[1:])} for factor in (-1, Q(1, 2))]
    assert not any(verify(dataclasses.replace(result, **change)) for change in wrong)
