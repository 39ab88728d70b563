"""Bounds with noise: potentials checked in fractions, runs that stay below, and theorems that stay above."""

import dataclasses
import itertools
from fractions import Fraction as Q

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round import noise as noise
from fedbounds.evidence.sdp.multi_round.bound import verify
from fedbounds.evidence.sdp.multi_round.lower_bound import alike, attained, with_noise
from fedbounds.evidence.sdp.multi_round.noise import noisy
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.evidence.sdp.multi_round.upper_bounds import worst
from fedbounds.plugins import claim_named
from fedbounds.study.worst_case_and_theorems import bounds, scheduled

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)


def of_corollary(rounds, tau):
    return scheduled(Run(rounds, tau, MU, L, ETA), claim_named("corollary"))


def by_steps(run, proof, sigma_sq, share):
    """The bound added up once more, without the library's sums: B is 0 at a round's end."""
    paid = zip(run.sizes, (*proof.potentials, (1, 0)), strict=True)
    added = sum(size**2 * sigma_sq * (share * V[0] + (1 - share) * (*V, 0)[2]) for size, V in paid)
    return proof.a + proof.b + added


@pytest.mark.parametrize("eta", [Q(1, 2), Q(9, 5)])
@pytest.mark.parametrize(("rounds", "tau"), [(1, 3), (3, 2)])
def test_noise_is_bounded_between_a_run_and_the_theorem(rounds, tau, eta):
    run = Run(rounds, tau, MU, L, eta)
    result = noisy(run, Q(1), Q(1), Q(1))
    assert result.certified and Q(result.value) >= by_steps(run, result, 1, Q(1, 2))
    lower = max(float(alike(run, Q(1), Q(1, 2))), with_noise(run, attained(run), 1.0))
    assert 0.2 * result.value < lower <= result.value * (1 + 1e-12)
    least = min(bounds(run, Q(1), Q(1), sigma_sq=Q(1)).values())
    assert result.value <= least * (1 + 1e-6)
    silent = noisy(run, Q(1), Q(1), Q(0))
    assert worst(run).value * (1 - 1e-5) <= silent.value < result.value


def test_noise_is_exact_for_one_local_step():
    """tau = 1 and steps of at most 2/(L + mu): q^2T and the noise of the mean, which one quadratic attains."""
    for run in (Run(6, 1, MU, L, ETA), of_corollary(6, 1)):
        result = noisy(run, Q(2), Q(1), Q(3))
        assert result.value == pytest.approx(float(alike(run, Q(2), Q(3, 2))), rel=1e-5) and result.certified


def test_without_noise_little_is_lost():
    """docs/worst.md: one point at a time, against both blocks with points joined."""
    for rounds, tau, loss in ((5, 2, 1.0018), (5, 4, 1.0076)):
        run = Run(rounds, tau, MU, L, ETA)
        assert 1 - 1e-5 < noisy(run, Q(1), Q(1), Q(0)).value / worst(run).value < loss


def test_the_weights_noise_is_theirs():
    p = (Q(1, 2), Q(3, 10), Q(1, 5))
    run = Run(2, 3, MU, L, ETA, p, p)
    result = noisy(run, Q(1), Q(1), Q(1))
    assert Q(result.value) >= by_steps(run, result, 1, Q(38, 100)) and noise.shares(run) == (Q(38, 100),) * 2
    assert result.value < noisy(Run(2, 3, MU, L, ETA), Q(1), Q(1), Q(1)).value


def test_what_is_no_proof_with_noise_is_refused():
    result = noisy(of_corollary(2, 3), Q(1), Q(1), Q(1))
    each, V = result.proofs, result.potentials
    assert verify(result)
    wrong = [{"proofs": each[1:]}, {"potentials": V[1:]}, {"run": dataclasses.replace(result.run, mu=MU * Q(9, 10))}]
    wrong += [{"a": result.a - Q(1, 1000)}, {"b": result.b - Q(1, 1000)}, {"potentials": (V[0][:2], *V[1:])}]
    for k, entry in itertools.product(range(5), range(3)):
        if entry < len(V[k]):
            changed = (*V[k][:entry], V[k][entry] - Q(1, 1000), *V[k][entry + 1 :])
            wrong.append({"potentials": (*V[:k], changed, *V[k + 1 :])})
    wrong.append({"proofs": ({"convexity": -each[0]["convexity"]}, *each[1:])})
    assert not any(verify(dataclasses.replace(result, **change)) for change in wrong)


def test_bad_input_is_refused():
    for match, run, sigma_sq in (
        ("noise needs the measure distance", Run(1, 2, MU, L, ETA, measure="gap"), Q(1)),
        ("weights that are not p", Run(1, 2, MU, L, ETA, (Q(1), Q(0)), (Q(1, 2),) * 2), Q(1)),
        ("sigma\\^2 not negative", Run(1, 2, MU, L, ETA), Q(-1)),
    ):
        with pytest.raises(InputError, match=match):
            noisy(run, Q(1), Q(1), sigma_sq)
