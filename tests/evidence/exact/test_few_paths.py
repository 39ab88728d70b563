"""A round along few outcomes gives what all outcomes give, in fractions."""

import pytest

from fedbounds.evidence.exact.chance import needs_every_outcome
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.evidence.exact.run import run
from fedbounds.plugins import claim_named
from fedbounds.theory.reading import READINGS

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
