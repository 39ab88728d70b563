"""Proofs in links, with noise and drawn clients: every line against instances, the bounds against exact runs."""

import functools
import itertools
from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest

from fedbounds.evidence.sdp.multi_round import links, steps
from fedbounds.evidence.sdp.multi_round.bound import least, verify
from fedbounds.evidence.sdp.multi_round.program import Run

MU = 0.1
SETTINGS = [((2, 3), 2, 2, "1/4"), ((1, 3), 1, 3, "1")]


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
    N = present[1] if present else 2
    return [list(those) for those in itertools.combinations(range(N), present[0] if present else N)]


def paths_of(problem, run, sigma):
    """(x before every step and after the last, gradients, noise, draws) of every sequence of draws and signs."""
    N, d = problem.A.shape[1:3]
    along = sigma * np.random.default_rng(5).normal(size=(N, d))
    signs = itertools.product((-1, 1), repeat=run.T * N) if sigma else [(1,) * run.T * N]
    for sign, draws in itertools.product(signs, itertools.product(draws_of(run.present), repeat=run.rounds)):
        noise = along * np.reshape(sign, (run.T, N, 1))
        x, slopes = [np.repeat(problem.w[:, None], N, 1)], []
        for k, size in enumerate(map(float, run.sizes)):
            slopes.append(problem.slopes(x[-1]))
            after = (1 - size * MU) * x[-1] - size * (slopes[-1] + noise[k])
            if (k + 1) % run.tau == 0:
                after = np.repeat(after[:, draws[k // run.tau]].mean(1)[:, None], N, 1)
            x.append(after)
        yield x, [*slopes, problem.slopes(x[-1])], noise, draws


def symbols_of(problem, run, link, path):
    """Symbol -> its vectors of every client (several, clients, d), or value (several,), of one path."""
    x, slopes, noise, draws = path
    k, N, names = link.k, problem.A.shape[1], {index: name for name, index in link.roles.items()}
    end = (1 - float(run.sizes[k]) * MU) * x[k] - float(run.sizes[k]) * (slopes[k] + noise[k])
    rounds = k // run.tau
    S = draws[rounds - link.grouped] if len(link.inside) > 1 else list(range(N))
    rest = [i for i in range(N) if i not in S]
    known = {
        "s": problem.slopes(0 * end),
        "noise": np.repeat(noise[k][None], len(end), 0),
        "z": x[-1],
        "next": x[k + 1],
    }
    known |= {f"x {j}": x[j] for j in range(k + 1)} | {str(j - k): x[j] for j in range(k + 1)}
    known |= {f"gradient {name}": problem.slopes(at) for name, at in list(known.items())}
    both = {"x": (range(N), S, rest), "y": (S,), "z": (rest,)}

    @functools.cache
    def vector(symbol):
        of, kind = known[names[symbol.client]], symbol.step
        if symbol.letter != "x":
            own = of[:, both[symbol.letter][0]]
            return own - own.mean(1, keepdims=True)
        means = [of[:, list(group)].mean(1, keepdims=True) if len(group) else 0 for group in both["x"]]
        return (means[0], means[1] - means[0], *means[1:])[kind]

    @functools.cache
    def value(symbol):
        name = names[symbol.client]
        if name == "variance":
            own = noise[k] - noise[k].mean(0)
            return np.full(len(end), ((noise[k].mean(0) ** 2).sum(), (own**2).sum(1).mean())[symbol.step])
        f = problem.values(known[name]) - problem.start
        told = len(link.inside) > 1 and (link.grouped or name == "z" or name.startswith("next"))
        return f[:, (S, rest)[symbol.step]].mean(1) if told else f.mean(1)

    return vector, value


def mean_of(expression, several):
    """Its mean over paths (several,)."""
    total = 0
    for vector, value in several:
        for key, c in expression.terms.items():
            total = total + c * (value(key[0]) if len(key) == 1 else (vector(key[0]) * vector(key[1])).sum(2).mean(1))
    return total / len(several)


LINKS = [
    (None, 1, 2, 0, "distance", False),
    (None, 2, 1, 0.3, "distance", True),
    ((1, 2), 2, 3, 0, "distance", True),
    ((1, 2), 1, 2, 0.3, "distance", False),
    ((2, 3), 2, 2, 0, "distance", True),
    ((1, 3), 2, 2, 0, "gap", True),
]


@pytest.mark.parametrize(("present", "tau", "count", "sigma", "measure", "kinked"), LINKS)
def test_every_line_of_the_links_holds_of_instances(present, tau, count, sigma, measure, kinked):
    """Inequalities, equalities, and that a potential after a step is that before the next."""
    problem = Instances(np.random.default_rng(3), 20, present[1] if present else 2, kinked)
    run = Run(count, tau, Q(1, 10), Q(1), Q(1, 2), present=present, measure=measure)
    paths, before = list(paths_of(problem, run, sigma)), None
    for k in range(run.T):
        link = steps.Step(run, float, bool(sigma), k)
        program = link.program()
        known = [symbols_of(problem, run, link, path) for path in paths]
        for row in program.constraints:
            value = np.asarray(mean_of(row.expression, known))
            assert (value > -1e-9).all() if row.kind != "equality" else np.abs(value).max() < 1e-9, row.label
        here = [mean_of(item, known) for item in program.before]
        for mine, other in zip(here, before or [], strict=before is not None):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
        before = [mean_of(item, known) for item in program.after]
    np.testing.assert_allclose(here[0] if run.T == 1 else before[0], measured_of(problem, run, paths), rtol=1e-9)


def of_history(link, problem, w):
    """Symbol -> what it is of a run from w (several, d): (several, 1, d), or a value (several,)."""

    def slopes_and_values(client, history, place, x):
        for drawn in history:
            x = problem.round(x, link.run.tau, float(link.run.sizes[0]))[2][:, drawn]
        slopes, values, _ = problem.round(x, link.run.tau, float(link.run.sizes[0]))
        return slopes[place][:, client], values[place][:, client]

    star = problem.slopes(np.zeros((len(w), 2, w.shape[1])))
    known = {link.vectors[0]: star[:, 0], link.vectors[1]: w}
    slopes = [(s, t) for s, t in zip(link.vectors[2::2], link.vectors[3::2], strict=True)]
    for (x, y), f, (history, k) in zip(slopes, link.values, link.points, strict=True):
        both = (slopes_and_values(0, history, k, w), slopes_and_values(1, links.exchanged(history), k, w))
        (mine, value), (other, value_of_other) = both
        known |= {x: (mine + other) / 2, y: (mine - other) / 2, f: (value + value_of_other) / 2}
    return (lambda symbol: known[symbol][:, None]), known.__getitem__


@pytest.mark.parametrize(("tau", "rounds", "kinked"), [(2, 3, True), (5, 2, False)])
def test_every_line_of_both_outcomes_holds_of_instances(tau, rounds, kinked):
    problem = Instances(np.random.default_rng(4), 20, 2, kinked)
    run, ends, before = Run(rounds, tau, Q(1, 10), Q(1), Q(1, 2), present=(1, 2)), [problem.w], None
    for k in range(rounds - 1):
        link = links.TwoRounds(run, float, run.sizes[: 2 * tau], k == 0, k + 2 == rounds)
        program, known = link.program(), [of_history(link, problem, w) for w in ends]
        for row, of_run in itertools.product(program.constraints, known):
            assert (np.asarray(mean_of(row.expression, [of_run])) > -1e-9).all(), row.label
        here = [mean_of(item, known) for item in program.before]
        for mine, other in zip(here, before or [], strict=before is not None):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
        before = [mean_of(item, known) for item in program.after]
        ends = [w for start in ends for w in np.moveaxis(problem.round(start, tau, 0.5)[2], 1, 0)]
    last = [w for start in ends for w in np.moveaxis(problem.round(start, tau, 0.5)[2], 1, 0)]
    np.testing.assert_allclose(before[0], np.mean([(w**2).sum(1) for w in last], axis=0), rtol=1e-9)


def measured_of(problem, run, paths):
    ends = [path[0][-1] for path in paths]
    gaps = [MU / 2 * (x[:, 0] ** 2).sum(1) + (problem.values(x) - problem.start).mean(1) for x in ends]
    return np.mean([(x[:, 0] ** 2).sum(1) for x in ends] if run.measure == "distance" else gaps, axis=0)


@pytest.mark.parametrize(("present", "tau", "count", "eta"), SETTINGS)
def test_no_run_has_a_gap_above_the_bound(present, tau, count, eta):
    """F(w_R) - F* of every draw, with F that of all clients."""
    run = Run(count, tau, Q(1, 10), Q(1), Q(eta), present=present, measure="gap")
    bound = least(steps.links, run, Q(1), Q(1))
    assert bound is not None and verify(bound)
    nearest = 0.0
    for seed, kinked in itertools.product(range(3), (True, False)):
        problem = Instances(np.random.default_rng(seed), 200, present[1], kinked)
        ends = [problem.w]
        for _ in range(count):
            after = [problem.round(w, tau, float(Q(eta)))[2] for w in ends]
            ends = [end[:, those].mean(1) for end in after for those in draws_of(present)]
        whole = [np.repeat(w[:, None], present[1], 1) for w in ends]
        gaps = [MU / 2 * (x[:, 0] ** 2).sum(1) + (problem.values(x) - problem.start).mean(1) for x in whole]
        ratio = np.mean(gaps, axis=0) / (float(bound.a) * (problem.w**2).sum(1) + float(bound.b) * problem.zeta_sq)
        nearest = max(nearest, ratio.max())
    assert 0.1 < nearest <= 1


@pytest.mark.parametrize(("links", "N"), [(steps.links, 3), (links.both_outcomes, 2)])
def test_a_changed_proof_is_refused(links, N):
    bound = least(links, Run(3, 2, Q(1, 10), Q(1), Q(1, 2), present=(1, N)), Q(1), Q(1))
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
        replace(bound, potentials=()),
        replace(bound, run=replace(bound.run, measure="gap")),
        replace(bound, proofs=(first, last | {label: last[label] * less}, *rest)),
        replace(bound, proofs=(first, last | {label: -last[label]}, *rest)),
        replace(bound, proofs=(first, last | {"interpolation 5 0|1": Q(1)}, *rest)),
        replace(bound, proofs=(last, first, *rest)),
        replace(bound, proofs=(first,)),
        replace(bound, run=replace(bound.run, present=(1, 4))),
        replace(bound, run=replace(bound.run, eta=Q(3, 4))),
        replace(bound, run=replace(bound.run, rounds=5)),
        replace(bound, run=replace(bound.run, present=(1, None))),
    ):
        assert not verify(wrong)


def test_a_step_for_each_round_is_proved_too():
    run = Run(3, 1, Q(1, 10), Q(1), (Q(1), Q(1, 2), Q(1, 4)), present=(2, 5))
    bound = least(steps.links, run, Q(2), Q(1, 3))
    assert bound is not None and verify(bound)
    assert not verify(replace(bound, run=replace(run, eta=(Q(1, 4), Q(1, 2), Q(1)))))
