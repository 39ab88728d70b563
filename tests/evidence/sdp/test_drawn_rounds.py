"""The bound that remembers what drawn clients did: its programme against instances, its proofs against exact runs."""

import itertools
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

from fedbounds.evidence.sdp.multi_round import drawn_rounds as rounds
from fedbounds.evidence.sdp.multi_round.bound import verify
from fedbounds.evidence.sdp.multi_round.program import Run

MU = 0.1
SETTINGS = [((1, 2), 2, 3, "1/2"), ((2, 3), 2, 2, "1/4"), ((1, 3), 1, 3, "1"), ((2, 4), 1, 3, "1/2")]


class Instances:
    """c_i(x) = (L - mu) A^T r(A x + shift) + slope, r(t) = max(t, 0) or t, of several problems at once."""

    def __init__(self, rng, several, N, kinked, d=3):
        self.A, self.kinked = rng.normal(size=(several, N, d, d)), kinked
        self.A /= np.linalg.norm(self.A, 2, axis=(2, 3), keepdims=True)
        self.shift, self.slope = rng.normal(size=(several, N, d)) * kinked, np.zeros((several, N, d))
        pull = rng.normal(size=(several, N, d)) * rng.exponential(size=(several, 1, 1))
        zero = np.zeros((several, N, d))
        self.slope = pull - pull.mean(1, keepdims=True) - self.slopes(zero)
        self.w = rng.normal(size=(several, d))
        self.start = self.values(zero)
        self.zeta_sq = (self.slopes(zero) ** 2).sum(2).mean(1)

    def inner(self, x):
        t = np.einsum("bnij,bnj->bni", self.A, x) + self.shift
        return np.maximum(t, 0) if self.kinked else t

    def slopes(self, x):
        return (1 - MU) * np.einsum("bnij,bni->bnj", self.A, self.inner(x)) + self.slope

    def values(self, x):
        return (1 - MU) / 2 * (self.inner(x) ** 2).sum(2) + (self.slope * x).sum(2)

    def round(self, w, tau, eta):
        """(slopes, values above those at w*, the last x) of all clients' local steps from w (several, d)."""
        x, slopes, values = np.repeat(w[:, None], self.A.shape[1], 1), [], []
        for _ in range(tau):
            slopes.append(self.slopes(x))
            values.append(self.values(x) - self.start)
            x = (1 - eta * MU) * x - eta * slopes[-1]
        return slopes, values, x


def draws_of(present):
    return [list(those) for those in itertools.combinations(range(present[1]), present[0])]


def symbols_of(problem, present, tau, eta, w, those):
    """Every vector and value of the programme, in one instance, for one draw: arrays over clients of its group."""
    rest = [i for i in range(present[1]) if i not in those]
    slopes, values, end = problem.round(w, tau, eta)
    second, more, _ = problem.round(end[:, those].mean(1), tau, eta)
    first = [problem.slopes(0 * end), *slopes]
    vectors, scalars = {("x", 0, 0): w[:, None]}, {}
    for k, c in enumerate(first):
        whole = c.mean(1, keepdims=True)
        vectors |= {("x", 0, k): whole} if k else {}
        vectors[("x", 1, k)] = c[:, those].mean(1, keepdims=True) - whole
    for k in range(tau):
        scalars[("f", -1, k)] = values[k].mean(1)
        for group, (letter, own) in enumerate((("y", those), ("z", rest))):
            scalars[("f", group, tau + k)] = more[k][:, own].mean(1)
            vectors[("x", 2 + group, k + 1)] = second[k][:, own].mean(1, keepdims=True)
            vectors[(letter, 1, k + 1)] = second[k][:, own] - second[k][:, own].mean(1, keepdims=True)
    for letter, own in (("y", those), ("z", rest)):
        vectors |= {(letter, 0, k): c[:, own] - c[:, own].mean(1, keepdims=True) for k, c in enumerate(first)}
    return vectors, scalars


def mean_of(expression, known):
    """Its mean over draws (several,)."""

    def term(key, vectors, scalars):
        return scalars[key[0]] if len(key) == 1 else (vectors[key[0]] * vectors[key[1]]).sum(2).mean(1)

    return sum(c * np.mean([term(key, *one) for one in known], axis=0) for key, c in expression.terms.items())


@pytest.mark.parametrize("kinked", [True, False])
@pytest.mark.parametrize(("present", "tau", "_", "eta"), SETTINGS)
def test_every_line_of_the_programme_holds_of_instances(present, tau, _, eta, kinked):
    """Inequalities, equalities, and that a potential after a round is that before the next."""
    problem = Instances(np.random.default_rng(3), 50, present[1], kinked)
    run = Run(2, tau, Q(1, 10), Q(1), Q(eta), present=present)
    program, draws, eta = rounds.links(run, float)[0][0], draws_of(present), float(Q(eta))
    known = [symbols_of(problem, present, tau, eta, problem.w, those) for those in draws]
    for constraint in program.constraints:
        value = mean_of(constraint.expression, known)
        assert (value > -1e-10).all() if constraint.kind == "interpolation" else np.abs(value).max() < 1e-10
    end = problem.round(problem.w, tau, eta)[2]
    starts = [end[:, those].mean(1) for those in draws]
    later = [symbols_of(problem, present, tau, eta, w, those) for w in starts for those in draws]
    for k in range(rounds._length(tau)):
        after = mean_of(program[f"after {k}"], known)
        np.testing.assert_allclose(after, mean_of(program[f"before {k}"], later), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(mean_of(program["before 0"], known), (problem.w**2).sum(1), rtol=1e-10)
    np.testing.assert_allclose(mean_of(program["before 1"], known), problem.zeta_sq, rtol=1e-10)


@pytest.mark.parametrize(("present", "tau", "count", "eta"), SETTINGS)
def test_no_run_has_a_gap_above_the_bound(present, tau, count, eta):
    """F(w_R) - F* of every draw, with F that of all clients."""
    run = Run(count, tau, Q(1, 10), Q(1), Q(eta), present=present, measure="gap")
    bound = rounds.drawn_rounds(run, Q(1), Q(1))
    assert bound is not None and verify(bound)
    nearest = 0.0
    for seed, kinked in itertools.product(range(3), (True, False)):
        problem = Instances(np.random.default_rng(seed), 400, present[1], kinked)
        ends = [problem.w]
        for _ in range(count):
            after = [problem.round(w, tau, float(Q(eta)))[2] for w in ends]
            ends = [end[:, those].mean(1) for end in after for those in draws_of(present)]
        whole = [np.repeat(w[:, None], present[1], 1) for w in ends]
        gaps = [MU / 2 * (x[:, 0] ** 2).sum(1) + (problem.values(x) - problem.start).mean(1) for x in whole]
        ratio = np.mean(gaps, axis=0) / (float(bound.a) * (problem.w**2).sum(1) + float(bound.b) * problem.zeta_sq)
        nearest = max(nearest, ratio.max())
    assert 0.1 < nearest <= 1


def test_a_changed_proof_is_refused():
    bound = rounds.drawn_rounds(Run(3, 2, Q(1, 10), Q(1), Q(1, 2), present=(1, 3)), Q(1), Q(1))
    assert bound is not None and verify(bound)
    less = Q(99, 100)
    (V_1, *more), (first, last, *rest) = bound.potentials, bound.proofs
    label = max(last, key=lambda name: last[name])
    assert verify(replace(bound, proofs=(first, last, *rest)))
    for wrong in (
        replace(bound, a=bound.a * less),
        replace(bound, b=bound.b * less),
        replace(bound, potentials=(tuple(value * less for value in V_1), *more)),
        replace(bound, potentials=(V_1[:-1], *more)),
        replace(bound, potentials=(V_1,)),
        replace(bound, run=replace(bound.run, measure="gap")),
        replace(bound, proofs=(first, last | {label: last[label] * less}, *rest)),
        replace(bound, proofs=(first, last | {label: -last[label]}, *rest)),
        replace(bound, proofs=(first, last | {"interpolation 5 0|1": Q(1)}, *rest)),
        replace(bound, proofs=(last, first, *rest)),
        replace(bound, proofs=(first, last)),
        replace(bound, run=replace(bound.run, present=(1, 4))),
        replace(bound, run=replace(bound.run, eta=Q(3, 4))),
        replace(bound, run=replace(bound.run, rounds=4)),
        replace(bound, run=replace(bound.run, present=(1, None))),
    ):
        assert not verify(wrong)


def test_a_step_for_each_round_is_proved_too():
    run = Run(3, 1, Q(1, 10), Q(1), (Q(1), Q(1, 2), Q(1, 4)), present=(2, 5))
    bound = rounds.drawn_rounds(run, Q(2), Q(1, 3))
    assert bound is not None and verify(bound)
    assert not verify(replace(bound, run=replace(run, eta=(Q(1, 4), Q(1, 2), Q(1)))))
