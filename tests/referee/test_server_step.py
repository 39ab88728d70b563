"""FedAvg with a server step eta_s: w <- w + eta_s (sum_i alpha_i x_i - w) at the end of a round."""

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np

from fedbounds.engine.reference import algorithm_1
from fedbounds.evidence.exact.compare import examine, excluded, violation
from fedbounds.evidence.exact.instance import Instance, array
from fedbounds.evidence.exact.run import run
from fedbounds.evidence.prover import automatic
from fedbounds.referee.search.family import Shape, decode, dimension, families
from fedbounds.referee.search.populations import objectives
from fedbounds.referee.search.shrink import rationalise
from fedbounds.theory import assumptions as a
from fedbounds.theory import quantity
from fedbounds.theory.assumption import Assumption
from fedbounds.theory.claim import Claim, Repair
from fedbounds.theory.points import norm_sq, w_next, w_star
from fedbounds.theory.reading import READINGS
from fedbounds.theory.symbols import Delta, Delta_next, Delta_T, L, eta, eta_s, mu
from fedbounds.theory.verdict import Status

FEDAVG = (a.smooth, a.strongly_convex, a.full_gradients, a.full_participation, a.unbiased, a.one_local_step)
SMALL = Assumption("small-product", "eta_s eta_t <= 2/(L + mu)", eta_s * eta * (L + mu) <= 2)
SMALL_LOCAL = Assumption("small-local", "eta_t <= 2/(L + mu)", eta * (L + mu) <= 2)
KEPT = (1 - eta_s * eta * mu) ** 2 * Delta
TRUE = Claim("server-true", "one step", "a test", "step", Delta_next, {"kept": KEPT}, assumptions=(*FEDAVG, SMALL))
FALSE = Claim(
    "server-false", "one step", "a test", "step", Delta_next, {"kept": KEPT}, assumptions=(*FEDAVG, SMALL_LOCAL)
)
PLAIN = READINGS["plain"]
TWO = Instance(
    curvatures=((Q(1),), (Q(3),)),
    minima=((Q(0),), (Q(1),)),
    p=(Q(1, 3), Q(2, 3)),
    w0=(Q(2),),
    eta=(Q(1, 5),) * 4,
    tau=2,
    weighting="fedavg",
    server_step=Q(3, 2),
)


def by_hand(instance):
    """The global models of an instance, written out."""
    (w,), models = instance.w0, []
    for r in range(instance.rounds):
        models.append(w)
        ends = []
        for (c,), (m,) in zip(instance.curvatures, instance.minima, strict=True):
            x = w
            for t in range(r * instance.tau, (r + 1) * instance.tau):
                x -= instance.eta[t] * c * (x - m)
            ends.append(x)
        mean = sum(p * x for p, x in zip(instance.p, ends, strict=True))
        w += instance.server_step * (mean - w)
    return [*models, w]


def test_a_run_moves_by_the_server_step_and_stays_what_it_was_at_one():
    measured = run(TWO).measured
    assert [step.x[0, 0, 0] for step in measured.steps if step.synchronised] == by_hand(TWO)
    assert measured.constants["eta_s"][0] == Q(3, 2)
    at_one, plain = (
        [step.x.tolist() for step in algorithm_1(TWO.losses, array(TWO.w0), array(TWO.eta), 2, TWO.rule, **more)]
        for more in ({"server_step": array(Q(1))}, {})
    )
    assert at_one == plain


def test_an_instance_with_another_server_step_is_none_of_fedavg():
    about_fedavg = Claim("k", "t", "a test", "horizon", Delta_T, {"b": 0 * L}, assumptions=FEDAVG[:-1])
    assert excluded(TWO, about_fedavg, PLAIN)
    assert examine(TWO, about_fedavg, PLAIN).status is Status.NOT_APPLICABLE
    assert examine(TWO.with_(server_step=Q(1)), about_fedavg, PLAIN).status is Status.REFUTED


def test_a_claim_that_speaks_of_it_is_proved_by_nothing_about_fedavg():
    assert TRUE.has_server_step and not TRUE.on_fedavg
    assert automatic.proved(TRUE, PLAIN) is None and automatic.proved(FALSE, PLAIN) is None


def test_a_claim_speaks_of_it_also_within_a_quantity_or_in_its_repair():
    plain = replace(TRUE, terms={"kept": Delta}, assumptions=FEDAVG)
    within = quantity.measured("scaled", eta_s * norm_sq(w_next - w_star))
    repaired = Repair("shorter steps", assumptions=(SMALL,))
    assert not plain.has_server_step
    assert replace(plain, lhs=within, units="as written").has_server_step
    assert replace(plain, repair=repaired).has_server_step


def population(claim):
    family, shape = families()["diagonal"], Shape("diagonal", 2, 1, 1, 1, "fedavg", "free", server=True)
    cube = np.random.default_rng(0).random((4000, dimension(shape, family)))
    return decode(shape, family, cube, claim)


def test_the_search_finds_the_slip_and_no_violation_of_what_is_true():
    assert objectives(TRUE, PLAIN, population(TRUE)).values.min() > -1e-9
    members = population(FALSE)
    worst = int(objectives(FALSE, PLAIN, members).values.argmin())
    found = rationalise(members.member(worst), FALSE, lambda x: (v := violation(x, FALSE, PLAIN)) and v[1])
    assert found is not None and found.server_step != 1
    assert examine(found, FALSE, PLAIN).status is Status.REFUTED
    assert examine(found, TRUE, PLAIN).status is not Status.REFUTED
