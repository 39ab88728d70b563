"""The paper's own reading of rho_bar: where Theorem 1 is proved in it, and instances just beyond that break it."""

from fractions import Fraction as Q

import pytest

from fedbounds.evidence.exact.compare import examine
from fedbounds.evidence.exact.counterexamples import all_files, read
from fedbounds.evidence.exact.instance_json import from_json
from fedbounds.plugins import claim_named
from fedbounds.theory.reading import READINGS
from fedbounds.theory.verdict import Status

SYNC = READINGS["sync"]
# tau -> a step size, times 10^8, with which the instance just breaks Theorem 1; eta mu rho_bar falls as it grows.
STEPS = {2: 1311980, 10: 51880, 100: 520}


def proved_up_to(tau):
    """eta mu rho_bar below which `sync-step` is proved at constant steps and L = mu."""
    return Q(5, 3) * Q(32 * tau**2 - 2 * tau + 1, (tau - 1) ** 2)


def tiny(tau, eta, share=Q(1, 10**12)):
    """(instance, eta mu rho_bar): the client of minimum 1 has next to no share, and FedMax's whole weight."""
    w_0 = Q(3, 5) * (tau - 1) * eta
    data = {"curvatures": [["1"], ["1"]], "minima": [["0"], ["1"]], "p": [str(1 - share), str(share)]}
    instance = from_json({**data, "w0": [str(w_0)], "eta": [str(eta)] * tau, "tau": tau, "weighting": "fedmax"})
    skew = (1 - w_0) ** 2 / ((1 - share) * w_0**2 + share * (1 - w_0) ** 2)
    return instance, eta * skew


@pytest.mark.parametrize("tau", STEPS)
def test_theorem_1_breaks_just_beyond_what_is_proved(tau):
    instance, x = tiny(tau, Q(STEPS[tau], 10**8))
    assert 1 < x / proved_up_to(tau) < Q(1007, 1000)
    assert examine(instance, claim_named("theorem-1"), SYNC).status is Status.REFUTED
    beyond = examine(instance, claim_named("sync-step"), SYNC)
    assert (beyond.status, "32 tau^2" in beyond.detail) == (Status.NOT_APPLICABLE, True)
    instance, x = tiny(tau, Q(11 * STEPS[tau], 10**9))
    assert x < proved_up_to(tau)
    assert examine(instance, claim_named("sync-step"), SYNC).status is Status.HOLDS


def test_from_w_0_equal_to_0_on_the_papers_steps_refutations_begin_at_1103():
    for n, result in ((1102, Status.HOLDS), (1103, Status.REFUTED)):
        data = {"curvatures": [["1"], ["1"]], "minima": [["0"], ["1"]], "p": [str(1 - Q(1, n)), str(Q(1, n))]}
        instance = from_json({**data, "w0": ["0"], "eta": ["1/4", "1/5"], "tau": 2, "weighting": "fedmax"})
        assert examine(instance, claim_named("theorem-1"), SYNC).status is result


def test_the_corollary_holds_in_the_paper_s_reading_once_capped():
    """On the shipped instance that breaks it as written, in this reading too."""
    (document,) = (read(path).document for path in all_files() if path.stem == "corollary-B")
    instance = from_json(document["instance"])
    assert examine(instance, claim_named("corollary"), SYNC).status is Status.REFUTED
    assert examine(instance, claim_named("sync-corollary"), SYNC).status is Status.HOLDS
