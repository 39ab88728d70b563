"""Bounds with noise: potentials checked in fractions, runs that stay below, and theorems that stay above."""

import dataclasses
import itertools
from fractions import Fraction as Q

import pytest

from fedbounds.errors import InputError
from fedbounds.evidence.sdp.multi_round.bound import upper_bound, verify
from fedbounds.evidence.sdp.multi_round.lower_bound import alike, attained, with_noise
from fedbounds.evidence.sdp.multi_round.program import Run
from fedbounds.plugins import claim_named
from fedbounds.study.worst_case_and_theorems import bounds, scheduled

MU, L, ETA = Q(1, 10), Q(1), Q(1, 2)


def of_corollary(rounds, tau):
    return scheduled(Run(rounds, tau, MU, L, ETA), claim_named("corollary"))


@pytest.mark.parametrize("eta", [Q(1, 2), Q(9, 5)])
@pytest.mark.parametrize(("rounds", "tau"), [(1, 3), (3, 2)])
def test_noise_is_bounded_between_a_run_and_the_theorem(rounds, tau, eta):
    run = Run(rounds, tau, MU, L, eta)
    result = upper_bound(run, Q(1), Q(1), Q(1))
    assert result.certified and verify(result)
    assert Q(result.value) >= result.a + result.b + (result.noise[0] + result.noise[1]) / 2
    lower = max(float(alike(run, Q(1), Q(1, 2))), with_noise(run, attained(run), 1.0))
    assert 0.2 * result.value < lower <= result.value * (1 + 1e-12)
    least = min(bounds(run, Q(1), Q(1), sigma_sq=Q(1)).values())
    assert result.value <= least * (1 + 1e-6)
    assert upper_bound(run).value < result.value


def test_noise_is_exact_for_one_local_step():
    """tau = 1 and steps of at most 2/(L + mu): q^2T and the noise of the mean, which one quadratic attains."""
    for run in (Run(6, 1, MU, L, ETA), of_corollary(6, 1)):
        result = upper_bound(run, Q(2), Q(1), Q(3))
        assert result.value == pytest.approx(float(alike(run, Q(2), Q(3, 2))), rel=1e-5) and result.certified


def test_the_weights_noise_is_theirs():
    p = (Q(1, 2), Q(3, 10), Q(1, 5))
    run = Run(2, 3, MU, L, ETA, p, p)
    result = upper_bound(run, Q(1), Q(1), Q(1))
    c, d = result.noise
    assert (
        Q(result.value) >= result.a + result.b + c * Q(38, 100) + d * Q(62, 100) and run.shares == (Q(38, 100),) * 2
    )
    assert result.value < upper_bound(Run(2, 3, MU, L, ETA), Q(1), Q(1), Q(1)).value


def test_what_is_no_proof_with_noise_is_refused():
    result = upper_bound(of_corollary(2, 3), Q(1), Q(1), Q(1))
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


def test_bad_input_is_refused():
    for match, run, sigma_sq in (
        ("noise needs the measure distance", Run(1, 2, MU, L, ETA, measure="gap"), Q(1)),
        ("weights that are not p", Run(1, 2, MU, L, ETA, (Q(1), Q(0)), (Q(1, 2),) * 2), Q(1)),
        ("sigma\\^2 not negative", Run(1, 2, MU, L, ETA), Q(-1)),
    ):
        with pytest.raises(InputError, match=match):
            upper_bound(run, Q(1), Q(1), sigma_sq)
