"""A round along few outcomes gives what all outcomes give, in fractions."""

from fractions import Fraction

import pytest

from fedbounds.claims.growing_variance import growing_variance
from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import needs_every_outcome, run
from fedbounds.plugins import claim_named
from fedbounds.theory import Claim
from fedbounds.theory import assumptions as a
from fedbounds.theory import symbols as s
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

PLAIN = {"curvatures": [1, 2, 3], "minima": [-1, 1, 0], "p": ["1/2", "1/4", "1/4"], "w0": ["1/3"]}
BENT = {"upper": [[5], [1], [2]], "kinks": [[-1], [1], [0]]}


@pytest.mark.parametrize("more", [{}, BENT, {"growth": ["1/2", 0, 2]}, {"weighting": "fedmax"}])
def test_pairs_give_what_all_outcomes_give(more):
    fields = {"weighting": "fedavg", "noise": [1, 2, 0], "tau": 2, "eta": ["1/2", "1/3"]}
    instance = from_json({**PLAIN, **fields, **more})
    every, few = run(instance), run(instance, most=1)
    assert instance.chance.pairwise and every.enumerable and not few.enumerable
    for name in ("distance_sq", "drift", *(() if more is BENT else ("gap",))):
        assert few.paths["alpha"][name] == every.paths["alpha"][name]
    for name in ("sigma_sq", "G_sq", "sigma_p_sq", "rho_tilde", "pi_max"):
        assert few.values[name] == every.values[name]


def test_what_pairs_do_not_give_is_named():
    claim, reading = claim_named("li-2020"), READINGS["plain"]
    assert needs_every_outcome(claim, reading) == ()
    assert needs_every_outcome(claim, reading, bent=True)


@pytest.mark.parametrize(
    "more, bounds",
    [
        ({"noise": [1, 2, 0]}, (4, 0)),
        ({"growth": ["1/2", 0, 2]}, (0, 4)),
        ({"noise": [1, 0, 0], "growth": [2, 0, 0]}, (2, 8)),
    ],
)
def test_noise_that_grows_with_the_gradient_is_within_its_two_constants(more, bounds):
    record = run(from_json({**PLAIN, "weighting": "fedavg", "eta": ["1/2"], **more}))
    assert (record.values["sigma_0_sq"], record.values["growth"]) == bounds
    sizes, shares = (map(Fraction, more.get(name, (0, 0, 0))) for name in ("noise", "growth"))
    for slope, size, share in zip((-4, 4, -4), sizes, shares, strict=True):
        assert (size + share * slope) ** 2 <= bounds[0] + bounds[1] * slope**2


@pytest.mark.parametrize("forgets, status", [(True, Status.REFUTED), (False, Status.HOLDS)])
def test_a_step_that_forgets_that_noise_grows_is_refuted(forgets, status):
    more = {} if forgets else {"growth": s.growth * s.eta**2 * s.L**2 * s.Delta}
    terms = {"contraction": (1 - s.eta * s.mu) * s.Delta, "noise": s.eta**2 * s.sigma_0_sq, **more}
    assumed = (*a.LOCAL_SGD, a.one_local_step, a.small_steps, growing_variance)
    claim = Claim("forgets", "", "a draft", "step", s.Delta_next, terms, assumptions=assumed)
    one = {"curvatures": [1], "minima": [0], "p": [1], "w0": [1], "weighting": "fedavg"}
    instance = from_json({**one, "growth": [1], "eta": [1]})
    assert examine(instance, claim, READINGS["plain"]).status is status
